#!/bin/sh
# test_cli_bleu.sh WENGERT: `wengert bleu` as a person runs it.
wengert=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0 failures=0

# code EXPECTED ARGUMENT...: runs the program; its output is then in out and err
code() {
    expected=$1
    shift
    "$wengert" bleu "$@" >out 2>err
    got=$?
    checks=$((checks + 1))
    [ $got -eq "$expected" ] && return
    failures=$((failures + 1))
    echo "FAILED: wengert bleu $*: exit code $got, expected $expected"
    cat err
}

# says FILE LINE: the file has that line
says() {
    checks=$((checks + 1))
    grep -qxF -- "$2" "$1" && return
    failures=$((failures + 1))
    echo "FAILED: no line '$2' in $1:"
    cat "$1"
}

# begins FILE TEXT: a line of the file begins so
begins() {
    checks=$((checks + 1))
    grep -qF -- "$2" "$1" && return
    failures=$((failures + 1))
    echo "FAILED: no '$2' in $1:"
    cat "$1"
}

printf "The dog bit the man.\nIt wasn't surprising.\nThe man had just bitten him.\n" >hyp
printf 'The dog bit the man.\r\nIt was not unexpected.\r\nThe man bit him first.\r\n' >ref1
printf 'The dog had bit the man.\nNo one was surprised.\nThe man had bitten the dog.' >ref2

code 0 ref1 ref2 -i hyp
says out "BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)"
begins out "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:wengert-"
code 0 ref1 ref2 <hyp;                                             begins out "BLEU = 48.53"
code 0 ref1 ref2 -i hyp --score-only --width 6;                    says out 48.530827
code 0 ref1 ref2 -i hyp --score-only --tokenize none --width 7;    says out 49.1919566
code 0 ref1 ref2 -i hyp --score-only --tokenize intl --width 8;    says out 43.91623493
code 0 ref1 ref2 -i hyp --tokenize char --lowercase --smooth floor --smooth-value 0.5
begins out "nrefs:2|case:lc|eff:no|tok:char|smooth:floor[0.50]|"
code 0 hyp -i hyp --sentences --score-only;                        says out 100.00
[ "$(wc -l <out)" -eq 4 ] || { failures=$((failures + 1)); echo "FAILED: a line each and their score"; }
code 0 hyp -i hyp --chrf;                                          says out "chrF2 = 100.00"
begins out "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|"
code 0 ref1 -i hyp --word-order 2 --blanks;                        begins out "chrF2++ = "
begins out "nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:yes|"
printf 'a\0b c d e\n' >nul
code 0 nul -i nul;                                                 begins out "BLEU = 100.00"
: >empty
code 0 empty -i empty;                                             begins out "BLEU = 0.00"

code 2;                                                            begins err "no references given"
code 2 ref1 -i hyp --tokenize 14a;                                 says err "wengert bleu: --tokenize: expected one of 13a, none, intl, char, got '14a'"
code 2 ref1 -i hyp --smooth-value 0
code 2 ref1 -i hyp --chrf --tokenize none
says err "wengert bleu: --tokenize applies to BLEU, not to chrF"
code 2 ref1 -i hyp --smooth floor --word-order 2;                  begins err "--smooth applies to BLEU"
code 2 ref1 -i hyp --word-order 17
code 3 ref1 empty -i hyp
says err "wengert: empty: expected 3 lines, as many as there are translations; got 0"
code 4 ref1 -i nowhere;                                            begins err "nowhere: No such file"
code 4 . -i hyp;                                                   begins err "Is a directory"

echo "$checks checks, $failures failures"
[ $checks -gt 35 ] && [ $failures -eq 0 ]
