#!/bin/sh
# test_cli_bleu.sh WENGERT: `wengert bleu` as a person runs it.
wengert=$1
. "$(dirname "$0")/checks.sh"

printf "The dog bit the man.\nIt wasn't surprising.\nThe man had just bitten him.\n" >hyp
printf 'The dog bit the man.\r\nIt was not unexpected.\r\nThe man bit him first.\r\n' >ref1
printf 'The dog had bit the man.\nNo one was surprised.\nThe man had bitten the dog.' >ref2

code 0 bleu ref1 ref2 -i hyp
has_line out "BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)"
says out "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:wengert-"
cp hyp input
code 0 bleu ref1 ref2;                                                  says out "BLEU = 48.53"
: >input
code 0 bleu ref1 ref2 -i hyp --score-only --width 6;                    has_line out 48.530827
code 0 bleu ref1 ref2 -i hyp --score-only --tokenize none --width 7;    has_line out 49.1919566
code 0 bleu ref1 ref2 -i hyp --score-only --tokenize intl --width 8;    has_line out 43.91623493
code 0 bleu ref1 ref2 -i hyp --tokenize char --lowercase --smooth floor --smooth-value 0.5
says out "nrefs:2|case:lc|eff:no|tok:char|smooth:floor[0.50]|"
code 0 bleu hyp -i hyp --sentences --score-only;                        has_line out 100.00
holds "a line each and their score" "$(lines out)" -eq 4
code 0 bleu hyp -i hyp --chrf;                                          has_line out "chrF2 = 100.00"
says out "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|"
code 0 bleu ref1 -i hyp --word-order 2 --blanks;                        says out "chrF2++ = "
says out "nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:yes|"
printf '\357\273\277The dog bit the man.\n' >marked
printf 'The dog bit the man.\n' >plain
code 0 bleu marked -i plain;                                            says out "BLEU = 100.00"
cp marked input
code 0 bleu plain;                                                      says out "BLEU = 100.00"
printf 'a\0b c d e\n' >nul
code 0 bleu nul -i nul;                                                 says out "BLEU = 100.00"
: >empty
code 0 bleu empty -i empty;                                             says out "BLEU = 0.00"

code 2 bleu;                                                            says err "no references given"
code 2 bleu ref1 -i hyp --tokenize 14a;                                 has_line err "wengert bleu: --tokenize: expected one of 13a, none, intl, char, got '14a'"
code 2 bleu ref1 -i hyp --smooth-value 0
code 2 bleu ref1 -i hyp --chrf --tokenize none
has_line err "wengert bleu: --tokenize applies to BLEU, not to chrF"
code 2 bleu ref1 -i hyp --smooth floor --word-order 2;                  says err "--smooth applies to BLEU"
code 2 bleu ref1 -i hyp --word-order 17
code 3 bleu ref1 empty -i hyp
has_line err "wengert: empty: expected 3 lines, as many as there are translations; got 0"
code 4 bleu ref1 -i nowhere;                                            says err "nowhere: No such file"
code 4 bleu . -i hyp;                                                   says err "Is a directory"

# packed files, also as they come through a pipe
for file in hyp ref1 ref2; do gzip -c $file >$file.gz; done
code 0 bleu ref1.gz ref2.gz -i hyp.gz --score-only --width 6;           has_line out 48.530827
head -c 40 ref1.gz >cut.gz; cp ref1 plain.gz
code 3 bleu cut.gz -i hyp;                                              says err "cut.gz: gzip: unexpected end of file"
code 3 bleu plain.gz -i hyp;                                            says err "plain.gz: named .gz, but it is not"
cp hyp.gz input
code 3 bleu ref1;                                                       says err "standard input: expected plain text, got gzip"
mkfifo pipe; cat ref1 >pipe &
code 0 bleu pipe ref2 -i hyp --score-only --width 6;                    has_line out 48.530827

finish 46
