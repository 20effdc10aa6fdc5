#!/bin/sh
# test_cli_language.sh WENGERT: a language model from a text to texts that are drawn.
wengert=$1
. "$(dirname "$0")/checks.sh"
: >input
small="--type lm --vocab-kind words --d-model 16 --d-ff 32 --heads 2 --decoder-layers 1 --mini-batch-words 256
    --lr-warmup 5 --disp-freq 0 --threads 1 --quiet"

# a text of 16 different lines, without a newline at its end
for s in cat dog; do for v in sees likes; do for o in mice stars; do for e in . !; do
    echo "$s $v $o $e"
done; done; done; done >lines
for i in 1 2 3 4 5 6 7 8; do cat lines; done >text
printf 'cat sees stars .' >>text

code 0 generate --help; says out "--temperature=T"; says out "--top-p=P"; says out "FOLDER [PROMPT]"
code 0 train --help; says out "--train-set=FILE"; says out "--type=transformer|lm"
code 0 train --type lm --train-set text --dump-config
says out "encoder-layers: 0 "; says out "label-smoothing: 0 "; says out "train-set: text"
code 0 train --type lm --preset base --train-set text --dropout 0 --dump-config
says out "d-model: 512 "; says out "dropout: 0 "; says out "valid-metrics: [perplexity]"

# what does not go together
code 2 train --type lm --model m; says err "train-set must be given where type is lm"
code 2 train --model m --train-set text; says err "train-set and valid-set are for type lm"
code 2 train --type lm --model m --train-sets text text; says err "but type lm has one text"
code 2 train --type lm --model m --train-set text --valid-metrics bleu; says err "valid-metrics are bleu"
code 4 train --type lm --model m --train-set nothing; says err "nothing: open"
: >empty
code 3 train --type lm --model m --train-set empty --vocab-kind chars; says err "empty"
holds "nothing was trained" ! -e m/model.safetensors

# shellcheck disable=SC2086  # each option is a word
{
    code 0 train $small --model whole --train-set text --valid-set lines --after 4e
    [ -e whole/model.safetensors ] || finish 1000 || exit # what follows needs a model, or would train a large one
    code 0 train $small --model parts --train-set text --valid-set lines --after 2e
}
code 0 train --model parts --after 4e --quiet
checks=$((checks + 1)); cmp -s whole/model.safetensors parts/model.safetensors || fail "a resumed run has other bits"
code 2 train --model whole --join-lines; says err "join-lines: expected false, as in the model, got true"

code 0 evaluate --model whole lines; says out "texts          16"; says out "tokens         80"; says out "perplexity"
code 2 evaluate --model whole lines lines; says err "on one file"
code 2 evaluate --model whole; says err "on one file"
code 3 evaluate --model whole empty; says err "without a token"
code 2 translate --model whole; says err "got a language model"
code 0 info whole; says out "train-set"
code 0 gradcheck whole; says out "1 passed, 0 failed"

code 0 generate whole --samples 5 --seed 3
holds "five texts" "$(wc -l <out)" -eq 5
cp out first
code 0 generate --model whole --samples 5 --seed 3
checks=$((checks + 1)); cmp -s first out || fail "the same seed drew other texts"
code 0 generate whole --samples 5 --seed 4
checks=$((checks + 1)); ! cmp -s first out || fail "another seed drew the same texts"
code 0 generate whole "dog likes" --temperature 0 --samples 2
says out "dog likes "
holds "greedy texts are the same" "$(sort -u out | wc -l)" -eq 1
code 0 generate whole "dog xyzzy" --length 2 --quiet=false; says err "tokens of the prompt that are not in the vocabulary: 1"
code 0 generate whole "dog xyzzy" --length 2 --quiet; holds "quiet" ! -s err

for bad in "--temperature -1" "--temperature nan" "--top-p 0" "--top-p 1.5" "--top-p nan" "--top-k -1" "--length 0" \
    "--samples 0" "--seed x"; do
    # shellcheck disable=SC2086  # an option and its value
    code 2 generate whole $bad
    says err "expected a"
done
code 2 generate whole dog cat; says err "use quotes around a prompt"
code 2 generate; says err "no model given"
code 4 generate nowhere; says err "nowhere"

# learned positions are a limit
# shellcheck disable=SC2086  # each option is a word
code 0 train $small --model learned --train-set text --positions learned --max-positions 8 --max-length 8 --after 1u
code 3 generate learned "cat sees mice . cat sees mice ."; says err "must be at most 7"
code 0 generate learned "cat sees mice" --length 100

finish 80
