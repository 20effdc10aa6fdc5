# The blocks of code in pages of Markdown.
#
#     awk -v mode=list -f blocks.awk PAGE...     each block as a line "PAGE:LINE: KIND LANGUAGE: ...", then the counts;
#                                                fails if a block is of no kind
#     awk -v mode=c -f blocks.awk PAGE           the C blocks of a page as a program: tests/docs/test_pages.c
#     awk -v mode=sh -f blocks.awk PAGE          its commands as a script: tests/docs/commands.sh
#
# Kinds, and the comments of Markdown, directly before a block, that choose them:
#
#     run         a block of c or sh that no comment exempts
#     compiled    <!-- compiled, not run: REASON -->
#     file        <!-- PATH -->                       is that file: tests/docs/check_files.cmake compares them
#     not run     <!-- not run: REASON -->
#     output      a block of text, or an indented one: what programs print, formulas.  No command, no C
#
# What a reader need not see, and the block needs, stands before it in one more comment, and what checks it in another:
#
#     <!-- given
#     wg_value *loss = wg_sum(x, WG_ALL_AXES, WG_DROP);
#     -->
#     <!-- then
#     check(value == 3);
#     -->
#
# A block that needs an optional part of the build says so: <!-- needs: graphviz onednn training -->.  Without one of
# them, commands are skipped, and C is left out.
#
# A table after the comment <!-- C in the last column --> is a C block too: each piece of code with a bracket in its last
# column is a statement.
#
# A C block that has a { at the beginning of a line is one of functions, which later blocks of the page may call; every
# other one becomes the body of a function with the parameters of tests/docs/page.h.

function basename_of(path) {
    sub(/.*\//, "", path)
    return path
}

function complain(what) {
    print basename_of(FILENAME) ":" FNR ": " what > "/dev/stderr"
    failed = 1
}

function forget() {
    given = then = exempt = why = file = needs = rows = ""
}

# ---- a block that is complete ----------------------------------------------------------------------------------------

function kind_of(language) {
    if (file != "")
        return "file"
    if (exempt != "")
        return exempt
    if (language == "c" || language == "sh")
        return "run"
    return language == "text" ? "output" : ""
}

# PAGE_GRAPHVIZ && PAGE_TRAINING
function condition(    text) {
    text = toupper(needs)
    gsub(/[A-Z]+/, "PAGE_&", text)
    gsub(/ /, " \\&\\& ", text)
    return text
}

function put_c(kind) {
    if (needs != "")
        print "#if " condition()
    put_c_block(kind)
    if (needs != "")
        print "#endif"
}

function put_c_block(kind,    name) {
    print "#line 1 \"given of " page "\""
    if (rows == "" && body ~ /\n\{\n/) {
        print given "\n#line " first " \"" page "\"\n" body then
        return
    }
    name = "block" ++functions
    lines[functions] = first
    runs[functions] = kind == "run"
    conditions[functions] = needs == "" ? 1 : condition()
    print "static int " name "(PAGE_VALUES)\n{\n    {\n" given
    print "#line " first " \"" page "\"\n" body
    print "#line 1 \"then of " page "\"\n" then "    }\n    return 0;\n}\n"
}

function put_sh() {
    print "echo '# " page ":" first "'"
    if (needs != "")
        print "if has " needs "; then"
    print given body then
    if (needs != "")
        print "fi"
}

function finish(language,    kind) {
    kind = kind_of(language)
    if (kind == "")
        complain("a block of '" language "' that is neither a file nor marked <!-- not run: REASON -->")
    blocks++
    count[kind]++
    if (mode == "list")
        print page ":" first ": " kind " " language (why != "" ? ": " why : "")
    else if (mode == "c" && language == "c" && (kind == "run" || kind == "compiled"))
        put_c(kind)
    else if (mode == "sh" && language == "sh" && kind == "run")
        put_sh()
    forget()
}

# An indented block must be neither a command nor C: those are fenced, so that they are run.
function check_indented(line) {
    if (line ~ /^    +(wengert|cmake|ctest|ninja|cc|gcc|sudo|scripts\/|python3|\.\/|echo|printf|pkg-config) /)
        complain("a command: make it a block of sh")
    else if (line ~ /;$|;  +\/\*.*\*\/$|^    +(static|const|return|if|for) .*[{(]/)
        complain("C: make it a block of c")
}

# The pieces of code in the last cell of a row that call something, each as a statement with its line.
function statements(row,    cell, parts, n, i, out) {
    cell = row
    sub(/ *\| *$/, "", cell)
    sub(/.* \| /, "", cell)
    n = split(cell, parts, "`")
    for (i = 2; i <= n; i += 2)
        if (parts[i] ~ /\(/)
            out = out "#line " FNR " \"" page "\"\n    " parts[i] ";\n"
    return out
}

# ---- lines -----------------------------------------------------------------------------------------------------------

BEGIN {
    if (mode == "c")
        print "#include \"tests/docs/page.h\"\n"
}
FNR == 1 { page = basename_of(FILENAME); forget(); previous = "" }
inside && /^ *```$/ { inside = 0; finish(language); previous = $0; next }
inside { body = body $0 "\n"; next }
hidden != "" && /^-->$/ { hidden = ""; next }
hidden == "given" { given = given $0 "\n"; next }
hidden == "then" { then = then $0 "\n"; next }
/^<!-- (given|then)$/ { hidden = $2; next }
/^<!-- not run: .* -->$/ { exempt = "not run"; why = substr($0, 15, length($0) - 18); next }
/^<!-- compiled, not run: .* -->$/ { exempt = "compiled"; why = substr($0, 25, length($0) - 28); next }
/^<!-- C in the last column -->$/ { rows = "expected"; body = ""; next }
rows != "" && /^\|/ {
    if (rows == "expected")
        first = FNR
    rows = "read"
    body = body statements($0)
    next
}
rows == "read" { finish("c") }
/^<!-- needs: [a-z ]+ -->$/ { needs = substr($0, 13, length($0) - 16); next }
/^<!-- [a-zA-Z0-9_\/.-]+ -->$/ { file = $2; next }
/^<!--/ { complain("a comment that says nothing about a block"); next }
/^ *```/ {
    language = $0
    sub(/^ *```/, "", language)
    body = ""
    first = FNR + 1
    inside = 1
    next
}
/^    / && (previous == "" || indented) {
    if (!indented) {
        first = FNR
        finish("text")
    }
    indented = 1
    check_indented($0)
    previous = $0
    next
}
{ indented = indented && /^$/; previous = $0 }
/[^ ]/ && (given then exempt file needs rows) != "" { complain("a comment about a block, and no block"); forget() }

END {
    if (mode == "c") {
        print "const page_block " table "[] = {"
        for (i = 1; i <= functions; i++)
            print "#if " conditions[i] "\n    {\"" page "\", " lines[i] ", " (runs[i] ? "true" : "false") ", block" i "},\n#endif"
        print "    {0}};"
    }
    if (mode == "list") {
        for (kind in count)
            printf "%d %s, ", count[kind], kind
        print blocks + 0 " blocks"
    }
    if (inside || hidden != "")
        complain("the last block has no end")
    if (failed || (mode == "list" && !blocks))
        exit 1
}
