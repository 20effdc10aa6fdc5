#!/bin/sh
# check_format.sh ROOT: every C and C++ file is as clang-format 14 leaves it, and no line is longer than 100 columns.
# Exit status 77: clang-format 14 is not installed.
cd "$1"
format=
for candidate in clang-format-14 clang-format; do
    $candidate --version 2>/dev/null | grep -q 'version 14\.' && { format=$candidate; break; }
done
sources=$(find include graph ops autograd backends models decode files text train measure cli bench examples tests \
    -name '*.[ch]' -o -name '*.cc')
[ -n "$sources" ] || { echo "no sources"; exit 1; }
long=$(awk 'length > 100 && !/clang-format|"/ { print FILENAME ":" FNR ": " length " columns" }' $sources)
[ -z "$long" ] || { echo "$long"; echo "lines longer than 100 columns"; exit 1; }
[ -n "$format" ] || { echo "clang-format 14 is not installed: not checked"; exit 77; }
$format --dry-run -Werror $sources || { echo "run: $format -i FILE..."; exit 1; }
echo "$(echo "$sources" | wc -l) files are formatted"
