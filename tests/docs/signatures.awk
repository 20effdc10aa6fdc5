# The signatures of docs/ops.md as a C program that compiles only if the headers declare the same: a pointer to each
# function, of the type that the page shows.  A builder takes the caller's place as a hidden first argument.
BEGIN { print "#include \"tests/docs/signatures.h\"\n" }
/^#### wg_/ { name = $2; next }
/^`/ && name != "" {
    text = substr($0, 2, length($0) - 2)
    at = index(text, name "(")
    type = substr(text, 1, at - 1)
    arguments = substr(text, at + length(name) + 1)
    print "#ifdef " name
    print "static " type "(*const page_" name ")(const char *at, " arguments " = (" name ");"
    print "#else"
    print "static " type "(*const page_" name ")(" arguments " = (" name ");"
    print "#endif"
    names[++n] = name
    name = ""
}
{ if ($0 != "") name = "" }
END {
    print "\nint page_signatures(const char *const **shown)\n{"
    print "    static const char *names[" n "];\n    int count = 0;"
    for (i = 1; i <= n; i++)
        print "    names[count++] = page_" names[i] " ? \"" names[i] "\" : 0;"
    print "    *shown = names;\n    return count;\n}"
}
