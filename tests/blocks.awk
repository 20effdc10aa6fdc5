# The C blocks of pages as a program: each becomes the body of a function.
#
#     awk -f tests/blocks.awk docs/layers.md docs/recipes.md > layers_page.c
FNR == 1 { page = FILENAME; sub(/.*\//, "", page) }
BEGIN { print "#include \"tests/page.h\"\n" }
/^```c$/ { inside = 1; printf "static void block%d(PAGE_VALUES)\n{\n#line %d \"%s\"\n", ++blocks, FNR + 1, page; next }
/^```$/ && inside { inside = 0; print "}\n"; next }
inside { print }
END {
    print "const page_block page_blocks[] = {"
    for (i = 1; i <= blocks; i++) printf "    block%d,\n", i
    print "    NULL};"
}
