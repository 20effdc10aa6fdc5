# Repeated code: runs of 8 or more equal lines that stand in two places.
#
#     awk -f tests/repeats.awk FILE...
#
# Indentation, empty lines, comments, includes, and lines of punctuation alone do not count.  Prints each run once and
# fails if there are more than `limit`: what a change writes again belongs in one function.
BEGIN { length_of_run = 8; limit = 0 }

FNR == 1 { lines = 0; in_comment = 0; last_end = 0; delete text; delete number }

{
    line = $0
    gsub(/^[ \t]+|[ \t]+$/, "", line)
    if (in_comment) { if (line ~ /\*\//) in_comment = 0; next }
    if (line ~ /^\/\*/) { if (line !~ /\*\//) in_comment = 1; next }
    if (line ~ /^#include/ || line !~ /[A-Za-z0-9]/) next
    text[++lines] = line
    number[lines] = FNR
    if (lines < length_of_run) next
    run = ""
    for (i = lines - length_of_run + 1; i <= lines; i++) run = run "\n" text[i]
    here = FILENAME ":" number[lines - length_of_run + 1]
    if (run in first) {
        if (number[lines - length_of_run + 1] > last_end) {
            print first[run] " ~ " here
            repeats++
        }
        last_end = FNR
    } else first[run] = here
    windows++
}

END {
    printf "%d repeated runs of %d lines in %d windows; at most %d are allowed\n", repeats, length_of_run, windows, limit
    if (windows < 10000) { print "error: too few lines to be the whole source"; exit 1 }
    exit repeats > limit
}
