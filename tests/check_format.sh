#!/bin/sh
# check_format.sh ROOT: no line of C or C++ is longer than 100 characters, and clang-format 14 leaves every file as it is.
# The exit status 77 says that clang-format 14 is not installed; the lengths have then been checked all the same.
cd "$1"
format=
for candidate in clang-format-14 clang-format; do
    $candidate --version 2>/dev/null | grep -q 'version 14\.' && { format=$candidate; break; }
done
# Every folder but these, so that a new room is not forgotten.
rooms=$(ls -d */ | grep -vE '^(build|cmake|docs|scripts)[^/]*/')
# shellcheck disable=SC2086 # a list of folders
sources=$(find $rooms -name '*.[ch]' -o -name '*.cc' -o -name '*.def')
[ -n "$sources" ] || { echo "no sources"; exit 1; }
# In the C locale awk counts bytes.  A character of UTF-8 is one byte and its continuation bytes, which are dropped.
long=$(LC_ALL=C awk '{ text = $0; gsub(/[\200-\277]/, "", text) }
    length(text) > 100 { print FILENAME ":" FNR ": " length(text) " characters" }' $sources)
[ -z "$long" ] || { echo "$long"; echo "lines longer than 100 characters"; exit 1; }
formatted=$(echo "$sources" | grep -v '\.def$') # a .def is a table, not C that clang-format knows
[ -n "$format" ] || { echo "clang-format 14 is not installed: not checked"; exit 77; }
$format --dry-run -Werror $formatted || { echo "run: $format -i FILE..."; exit 1; }
echo "$(echo "$formatted" | wc -l) files are formatted"
