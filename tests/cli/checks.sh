# What the tests of the program share.  They source it:
#
#     wengert=$1
#     . "$(dirname "$0")/checks.sh"
#
# The test then is in an empty folder, which is removed when it ends, and the file `input` in it is empty.
case $wengert in
/*) ;;
*) wengert=$PWD/$wengert ;;
esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
checks=0 failures=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    sed 's/^/    /' out err | head -20
}

# code EXPECTED ARGUMENT...: runs the program with `input` as its standard input; its output is then in out and err
code() {
    expected=$1
    shift
    "$wengert" "$@" <input >out 2>err
    got=$?
    checks=$((checks + 1))
    [ $got -eq "$expected" ] || fail "wengert $*: exit code $got, expected $expected"
}

# says FILE TEXT: the file has that text
says() {
    checks=$((checks + 1))
    grep -qF -- "$2" "$1" || fail "no '$2' in $1"
}

# has_line FILE LINE: one of its lines is that and no more
has_line() {
    checks=$((checks + 1))
    grep -qxF -- "$2" "$1" || fail "no line '$2' in $1"
}

# holds TEXT CONDITION...: `test` holds
holds() {
    what=$1
    shift
    checks=$((checks + 1))
    test "$@" || fail "$what: not $*"
}

# lines FILE: how many it has
lines() {
    wc -l <"$1" | tr -d ' '
}

# small_settings DISP_FREQ: those of a very small training
small_settings() {
    cat <<END
vocab-kind: chars
numbers: 300
d-model: 16
d-ff: 16
heads: 2
encoder-layers: 1
decoder-layers: 1
mini-batch-words: 1024
valid-freq: 0
save-freq: 0
disp-freq: $1
threads: 1
END
}

# npy FILE DESCR SHAPE BYTES [ORDER]: an array of NumPy, whose bytes are in the form of printf
npy() {
    header="{'descr': '$2', 'fortran_order': ${5:-False}, 'shape': $3, }"
    printf "\\223NUMPY\\1\\0\\$(printf %03o ${#header})\\0%s$4" "$header" >"$1"
}

# finish LEAST: the test passes if at least that many checks were made and none failed
finish() {
    echo "$checks checks, $failures failures"
    [ $checks -ge "$1" ] && [ $failures -eq 0 ]
}

cd "$work" || exit 1
: >input
: >out
: >err
