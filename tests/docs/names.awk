# Every name of the library that a page mentions exists: wg_..., WG_..., wgi_....
#
#     awk -v root=FOLDER -f names.awk PAGE...
#
# Names with an ellipsis, such as wg_need_..., stand for the names that begin so.

BEGIN {
    list = "cd " root " && find CMakeLists.txt CMakePresets.json cmake */ -name '*.md' -prune -o -path 'build*' -prune -o" \
        " -type f \\( -name '*.[ch]' -o -name '*.cc' -o -name '*.def' -o -name '*.cmake' -o -name CMakeLists.txt" \
        " -o -name '*.in' \\) -print"
    known["wg_softsign"] = known["wg_op_softsign"] = 1 # docs/adding-an-op.md adds it
    while ((list | getline file) > 0)
        while ((getline line < (root "/" file)) > 0)
            while (match(line, /(wg|WG|wgi)_[A-Za-z0-9_]+/)) {
                known[substr(line, RSTART, RLENGTH)] = 1
                line = substr(line, RSTART + RLENGTH)
            }
}
FILENAME !~ /CHANGELOG.md$/ { # which tells what is gone
    line = $0
    while (match(line, /(wg|WG|wgi)_[A-Za-z0-9_]+/)) {
        name = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        names++
        if (!(name in known) && line !~ /^\.\.\.|^\*/ && name !~ /_NAME$|_$/) {
            print FILENAME ":" FNR ": no " name " in the source"
            wrong++
        }
    }
}
END {
    print names + 0 " names, " wrong + 0 " unknown"
    exit wrong > 0 || !names
}
