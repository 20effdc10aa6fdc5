#!/bin/sh
# test_cli_paper.sh WENGERT: wengert paper, by its fastest experiment.
wengert=$1
. "$(dirname "$0")/checks.sh"
: >input

code 0 paper
for name in scale heads additive positions table1 warmup norm dropout smoothing averaging beam size visualise parsing lm; do
    checks=$((checks + 1))
    grep -q "^$name  *[A-Z]" out || fail "$name is not listed"
done
code 2 paper scales; says err "no experiment 'scales'; did you mean 'scale'?"
code 2 paper scale --plot figure.gif; says err "expected a file named .svg or .png"
code 2 paper scale --threads 0
code 2 paper scale warmup
code 4 paper scale --small --plot nowhere/figure.svg

# the report, and the figure where gnuplot is installed
drawn=0
command -v gnuplot >/dev/null || drawn=1
code $drawn paper scale --small
says out "claim: Section 3.2.1"; says out "This is the small form"; says out "agrees:"
says err "d_k4/seed1:"
says paper-scale-small/report.json '"verdict": "agrees"'
if [ $drawn -eq 0 ]; then says paper-scale-small/figure.svg "variance of q.k"; else says err "gnuplot not found"; fi
cp out first

# the same again: nothing is done anew
code $drawn paper scale --small --plot figure.svg
says err "(kept)"
holds "every line is kept" "$(grep -c '^d_k' err)" -eq "$(grep -c '(kept)' err)"
checks=$((checks + 1)); cmp -s first out || fail "another report"
code $drawn paper scale --small --quiet
holds "quiet" "$(grep -c '^d_k' err)" -eq 0
code 2 paper scale --folder paper-scale-small; says err "give the experiment another folder"

finish 20
