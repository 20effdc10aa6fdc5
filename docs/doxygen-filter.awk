# What Doxygen reads of a public header, so that the header itself needs no markup: the comment at its top is the file's;
# a comment behind a declaration is that declaration's; one before several is that of all up to the next empty line.
NR == 1 && /^\/\* / { sub(/^\/\* /, "/** @file\n * ") }
/^#define wg_[a-z0-9_]+\(\.\.\.\) / { next } # hides the argument `at`, as follows
{
    gsub(/\(wg_[a-z0-9_]+\)\(const char \*at, /, "&"); while (match($0, /\(wg_[a-z0-9_]+\)\(const char \*at, /)) {
        name = substr($0, RSTART + 1, RLENGTH); sub(/\).*/, "", name)
        $0 = substr($0, 1, RSTART - 1) name "(" substr($0, RSTART + RLENGTH)
    }
}
/^\/\*\*/ { comment = ""; collecting = 1 }
collecting { comment = comment $0 "\n"; if (/\*\/ *$/) { collecting = 0; fresh = 1 } print; next }
/^[ \t]*$/ { comment = "" }
/^WG_API|^extern|^typedef [^{]*;/ { if (comment != "" && !fresh) printf "%s", comment; fresh = 0 }
{
    if (!/^[ \t]*\/[*\/]/ && match($0, /[^ \t][ \t]+\/\* /))
        $0 = substr($0, 1, RSTART) " /**< " substr($0, RSTART + RLENGTH)
    print
}
