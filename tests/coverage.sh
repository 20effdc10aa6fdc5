#!/bin/sh
# coverage.sh SOURCE BUILD: what was run of the library and the program since the counters of a build with --coverage
# were last removed, by file, and the page BUILD/coverage/index.html.  Fails below these percentages:
min_lines=95
min_branches=90
min_branches_of_parsers=100

# Every room of the library and the program, with nothing left out of it.
rooms="include graph ops autograd backends distributed models decode files text train translate onnx measure paper cli"
# What reads bytes that a stranger may have written: files, texts, settings, command lines.
parsers="
files/header.c files/safetensors.c files/sums.c files/checksum.c files/read.c files/json_cursor.c
graph/file/attributes.c graph/file/numbers.c graph/file/parse.c graph/file/tokens.c ops/parse.c
text/file.c text/text.c text/lists.c text/token_table.c text/vocabulary.c text/vocabulary_file.c text/corpus.c text/unicode/unicode.c
text/charsmap.c
translate/options.c translate/presets.c translate/settings.c translate/settings_text.c translate/settings_yaml.c
train/progress.c train/json.c
translate/foreign/facts.c onnx/file.c onnx/condense.c onnx/external.c onnx/tensor.c
cli/values.c cli/settings_args.c cli/lines.c cli/metrics.c
"

cd "$1" || exit 1
build=$2
if ! command -v gcovr >/dev/null; then
    echo "coverage.sh: needs gcovr: scripts/install-needs gcovr" >&2
    exit 2
fi
mkdir -p "$build/coverage"

# report OPTION...: gcovr on what was counted
report() {
    gcovr --root . --add-tracefile "$build/coverage/counted.json" --sort-percentage --print-summary "$@"
}

# Branches that a compiler of C++ adds for exceptions are no branches of the source.
set --
for room in $rooms; do
    set -- "$@" --filter "$room/"
done
gcovr --root . --object-directory "$build" "$@" --exclude-directories '.*CompilerId.*' --exclude-throw-branches --gcov-ignore-parse-errors \
    --json "$build/coverage/counted.json" "$build" || exit 1

failed=0
echo "== all files"
report --branches --html-details "$build/coverage/index.html" \
    --fail-under-line $min_lines --fail-under-branch $min_branches || failed=1

set --
for file in $parsers; do
    [ -e "$file" ] || { echo "coverage.sh: no file $file" >&2; failed=1; }
    set -- "$@" --filter "$file\$"
done
echo "== parsers"
report --branches "$@" --fail-under-branch $min_branches_of_parsers || failed=1

# shellcheck disable=SC2086
echo "lines excluded, each with its reason: $(grep -rhE 'GCOVR_EXCL_(BR_)?LINE' $rooms | wc -l)"
# shellcheck disable=SC2086
if grep -rnE '(GCOVR|LCOV|GCOV)_EXCL' $rooms | grep -vE 'GCOVR_EXCL_(BR_)?LINE'; then
    echo "only single lines are excluded, by GCOVR_EXCL_LINE or GCOVR_EXCL_BR_LINE" >&2
    failed=1
fi
[ $failed -eq 0 ] || echo "coverage is below: lines $min_lines %, branches $min_branches %, of parsers $min_branches_of_parsers %"
exit $failed
