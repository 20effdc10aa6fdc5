#!/bin/sh
# check_man.sh WENGERT FOLDER: each command has a manual page in FOLDER, with each of its options, of which groff and
# mandoc have nothing to warn.  Exit status 77: neither of the two is installed; the rest has been checked all the same.
wengert=$1 folder=$2
cd "$folder" || exit 1
tools=0 failed=0
fail() { echo "$*"; failed=1; }

words() { "$wengert" "$@" | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'; }
count=0
for command in $(words help | grep -vx help) $(words bench --help | sed 's/^/bench-/'); do
    page=wengert-$command.1
    [ -s "$page" ] || { fail "no page $page"; continue; }
    # shellcheck disable=SC2046  # bench-train-step is: bench train-step
    expected=$(ARGP_HELP_FMT=rmargin=3000 "$wengert" $(echo "$command" | sed 's/-/ /') --help | grep -c '^ *-')
    found=$(grep -c '^\.B \\-' "$page")
    [ "$expected" -eq "$found" ] || fail "$page has $found options, $command --help has $expected"
    count=$((count + found))
    grep -q "^.BR wengert\\\\-$(echo "$command" | sed 's/-.*//') (1)" wengert.1 || fail "wengert.1 does not name $command"
done
[ "$count" -ge 60 ] || fail "only $count options in all pages"

# lint TOOL COMMAND...: no page makes it say anything
lint() {
    command -v "$1" >/dev/null || return
    tools=$((tools + 1))
    for page in *.1; do
        said=$("$@" "$page" 2>&1 >/dev/null) || true
        [ -z "$said" ] || fail "$1: $said"
    done
}
lint groff -man -Tutf8 -ww -z
if command -v mandoc >/dev/null; then
    tools=$((tools + 1))
    for page in *.1; do
        said=$(mandoc -T lint -W warning "$page") || fail "mandoc: $said"
    done
fi
[ $failed -eq 0 ] || exit 1
echo "$(ls ./*.1 | wc -l) pages with $count options"
[ $tools -gt 0 ] || { echo "groff and mandoc are not installed: form not checked"; exit 77; }
