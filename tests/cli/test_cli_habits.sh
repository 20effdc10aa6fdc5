#!/bin/sh
# test_cli_habits.sh WENGERT: what people do in the days after the first: settings in files, other validation data, blank
# lines, folders in unusual places, models that go to another program and come back.
wengert=$1
. "$(dirname "$0")/checks.sh"
export OMP_NUM_THREADS=1
printf 'a b c\nb c d\nc d a\nd a b c b a d c\na\n' >en
printf 'x y z\ny z w\nz w x\nw x y z y x w z\nx\n' >de
small="--vocab-kind words --d-model 8 --d-ff 8 --heads 2 --encoder-layers 1 --decoder-layers 1 --threads 1 --disp-freq 0"
code 0 train --model model -t en de $small --after 2u
printf 'a b\nc\n' >input

# ---- a source without tokens is scored like any other
code 0 train --model bare -t en de $small --after 2u --source-marks none
printf '\na\n' >blank; printf 'x\ny\n' >two
code 0 score --model bare blank two --word-scores; says out "x -"
holds "a score for each" "$(grep -c '||| -[0-9]' out)" -eq 2
head -1 blank >one; head -1 two >other
code 0 score --model bare one other; says err "cross-entropy"
holds "not certain" "$(cut -c 1 out)" = "-"
code 0 evaluate --model bare blank two; says out "target tokens  4"

# ---- settings in a file are those of flags
printf 'model: model\nbeam-size: 3\nn-best: 2\nmax-output-length: 3\n' >settings.yml
code 0 translate --config settings.yml --threads 1
holds "ids of n-best lists" "$(grep -c '^[01] |||' out)" -eq 4
code 2 translate --threads 1; says err "no model given"

code 0 train --type lm --model lm --train-set en $small --encoder-layers 0 --after 1u
printf 'model: lm\n' >lm.yml
code 0 generate --config lm.yml --length 5 --threads 1 "a b"
holds "one text" "$(lines out)" -eq 1

# ---- one folder, however it is named
for command in translate train; do
    code 2 $command model --model bare; says err "expected one folder, got 'model' and --model bare"
done
code 0 bench ./model --threads 1 --runs 1; says out "memory of a run"

# ---- other settings need all settings
cp -r model old
code 2 train old --d-model 16; says err "use --overwrite with all settings to train from scratch"
code 2 train old --d-model 16 --overwrite; says err "got no --train-sets, which was en"
code 0 translate --model old --threads 1 --max-output-length 3
code 0 train old -t en de $small --after 1u --overwrite

# ---- a run that goes on in another folder than it began in
mkdir away; cd away || exit 1; cp ../input .
code 4 train ../model --after 3u; says err "en is looked for from the current folder"
cd ..

# ---- validation: what is left out, what is compared
code 0 train --model short -t en de $small --after 1u --valid-freq 1u --valid-sets en de --positions learned \
    --max-positions 4 --max-length 3
says err "1 validation text is left out: longer than the 3 tokens"
code 2 train --model twice -t en de $small --after 1u --valid-freq 1u --valid-sets en de --valid-metrics bleu bleu
says err "got 'bleu' twice"
code 0 train --model best -t en de $small --after 2u --valid-freq 1u --valid-sets other other
code 0 train best --after 3u; grep -q "looked for again" err && fail "the best of the same validation was forgotten"
code 0 train best --after 4u --valid-freq 0; grep -q "looked for again" err && fail "without validation, the best was forgotten"
code 0 train best --after 5u --valid-freq 1u --valid-sets en de; says err "the best model is looked for again"
says err "new best cross-entropy"
code 0 train --model bleu -t en de $small --after 1u --valid-freq 1u --valid-sets en de --valid-metrics bleu
code 0 train bleu --after 2u --beam-size 3; says err "the best model is looked for again"

# ---- there and back: networks that can be described in two ways
back() {
    rm -rf there again
    code 0 export --to "$1" "$2" there
    code 0 import --from "$1" there --model again
    code 0 translate --model "$2" --threads 1 --max-output-length 4; mv out expected
    code 0 translate --model again --threads 1 --max-output-length 4
    cmp -s out expected || fail "another translation after $1"
}
code 0 train --model unbiased -t en de $small --after 2u --attention-bias=false
back torch unbiased
code 0 train --model never -t en de $small --after 2u --positions paper-halves --first-position 0 --source-marks end \
    --decoder-start pad --unscaled-embeddings --final-norm never --output-bias
back marian never
back torch never

# ---- pictures
if command -v gnuplot >/dev/null; then
    printf 'a b\n' >input
    code 0 translate --model model --threads 1 --max-output-length 1 --attention-plot row.svg
    holds "no complaint of gnuplot" ! -s err
    cp -r best torn; printf '{"kind": "train", "upda' >>torn/metrics.jsonl
    code 0 plot torn -o torn.svg
fi
finish 60
