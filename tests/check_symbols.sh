#!/bin/sh
# check_symbols.sh STATIC SHARED INCLUDE CC...: what the libraries define.
#   - the shared library exports names that begin with wg_ and stand in a public header, and nothing else;
#   - the static one defines no others but private ones, which begin with wgi_;
#   - a private function is called by another file than its own (else it is static);
#   - a program may define a function under the bare name of any private one and still link with the static library.
set -eu
static=$1 shared=$2 include=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*" >&2; exit 1; }

# Names of the C++ runtime and of SentencePiece's templates are not ours.
defined() { nm "$@" | awk 'NF == 3 && $2 ~ /^[A-Z]$/ && $2 != "U" { print $3 }' | grep -vE '^(_Z|DW\.ref\.|__)' | sort -u; }
defined -D --defined-only "$shared" >"$work/shared"
defined -g --defined-only "$static" >"$work/static"
[ "$(wc -l <"$work/shared")" -gt 400 ] || fail "only $(wc -l <"$work/shared") exported symbols"

grep -rhoE '\bwg_[a-z0-9_]+' "$include" | sort -u >"$work/written"
sed -nE 's/^WG_OP\([A-Z]+, *([a-z0-9_]+)\).*/wg_op_\1/p' "$include/wengert/ops/ops.def" >>"$work/written"
sort -u -o "$work/written" "$work/written"
undocumented=$(comm -23 "$work/shared" "$work/written")
[ -z "$undocumented" ] || fail "exported, but in no public header: $undocumented"

unmarked=$(comm -23 "$work/static" "$work/shared" | grep -vE '^(\.|wgi_)' || true)
[ -z "$unmarked" ] || fail "private without the mark wgi_: $unmarked"

# "lib.a:shape.c.o:0000 T wgi_name" or "... U wgi_name": what no other object of the library uses.  A test may, or a part
# that is not built.  protoc-c makes functions that nobody needs, wgi_onnx__....
nm -A -g "$static" 2>/dev/null | awk '$NF ~ /^wgi_/ && $NF !~ /^wgi_onnx__/ { if ($(NF - 1) == "U") used[$NF]; else defined[$NF] }
    END { for (name in defined) if (!(name in used)) print name }' >"$work/unused"
[ "$(wc -l <"$work/unused")" -lt "$(wc -l <"$work/static")" ] || fail "no private symbol is used by another object"
rooms=$(for room in graph ops autograd backends distributed models decode files onnx text train translate measure paper cli bench tests; do
    echo "${include%/include}/$room"
done)
while read -r name; do
    files=$(grep -rlw --include='*.c' --include='*.cc' "$name" $rooms | wc -l)
    [ "$files" -ge 2 ] || fail "$name is used by no file but its own: it should be static"
done <"$work/unused"

sed -n 's/^wgi_//p' "$work/static" >"$work/bare"
[ "$(wc -l <"$work/bare")" -gt 100 ] || fail "only $(wc -l <"$work/bare") private symbols"
{
    # as they would be called without the mark, but for names that are public besides or reserved by C
    sed 's/^/wg_/' "$work/bare" | comm -23 - "$work/written" | sed 's/.*/void &(void);\nvoid &(void) { }/'
    printf 'struct wg_graph;\nstruct wg_graph *wg_graph_new(void);\nint main(void) { return !wg_graph_new(); }\n'
} >"$work/program.c"
"$@" -std=c11 -c "$work/program.c" -o "$work/program.o"
nm -g --defined-only "$work/program.o" | awk '{ print $3 }' | sort >"$work/own"
[ -z "$(comm -12 "$work/own" "$work/static" | grep -v '^main$')" ] || fail "a name is defined twice"
echo "$(wc -l <"$work/shared") exported symbols, all in public headers; $(wc -l <"$work/bare") private ones, all marked;" \
    "$(grep -c '^void.*{' "$work/program.c") of them defined by a program under their bare names"
