#!/bin/sh
# test_cli_train.sh WENGERT: trains a very small model and uses it, as a person would; every line of output and exit
# code that is promised is looked at.
wengert=$1
. "$(dirname "$0")/checks.sh"
export OMP_NUM_THREADS=1
small_settings 4u >small.yml

# usage
code 0 train --help; says out "--train-sets=SOURCE TARGET"; says out "--learn-rate=RATE"
for command in train translate score evaluate average info plot; do
    code 0 help $command; says out "Usage: wengert $command"
done
code 0 train --dump-config
for command in train translate generate; do "$wengert" $command --help; done >help
for option in $(sed -n 's/^\([a-z0-9-]*\): .*/\1/p' out); do
    says help "--$option"
done
holds "options in the dump" "$(grep -c '^[a-z]' out)" -gt 60
code 2 train; says err "no model folder given; use --model FOLDER"
code 2 train --model m extra; says err "expected one folder, got 'm' and 'extra'"
code 2 train --model m --heads x; says err "--heads: expected a whole number from 1 to 10000, got 'x'"
code 2 train --model m --nonsense 1
code 2 train --model m --train-sets a
says err "--train-sets: expected the files of source and target (type lm has one text: train-set, valid-set), got 'a'"
code 4 train --model m --train-sets a b; says err "a: open: No such file or directory"
code 4 train --model m --train-sets . .; says err "a directory"
code 4 train --model m --config missing.yml; says err "missing.yml"
code 2 train --model m --d-model 30 --heads 4 --train-sets a b
says err "heads is 4, must divide d-model, which is 30, unless d-k and d-v are given"
code 2 train --model m --positions learned --max-positions 20 --train-sets a b
says err "max-length is 200, must be from 1 to 19"
holds "what failed left no folder" ! -e m
echo "lern-rate: 1" >bad.yml
code 3 train --model m --config bad.yml; says err "bad.yml:1: no option 'lern-rate'; did you mean 'learn-rate'?"
printf 'one\ntwo\n' >two; echo eins >one
code 3 train --model m --vocab-kind words --train-sets two one; says err "expected equally many lines, got 2 and 1"
code 4 train --model /dev/null/m --config small.yml

code 3 train --model m --vocab-kind chars --train-sets two two --mini-batch-words 3
says err "expected at most 3 tokens with padding, as a batch has, got 4; a larger mini-batch-words has room for it, and max-length 1 would skip such pairs"
holds "what failed left no folder" ! -e m

# configuration: flags over files, whatever the order; the dump read back is the same
code 0 train --heads 4 --config small.yml --lr 0.5 --dump-config
says out "heads: 4 "; says out "d-model: 16 "; says out "learn-rate: 0.5 "
cp out dumped.yml
code 0 train --config dumped.yml --dump-config
holds "the dump of a dump" -z "$(diff dumped.yml out)"
code 0 train --preset base --d-model=64 --train-sets a b --valid-metrics bleu cross-entropy --normalize --dump-config
says out "d-model: 64 "; says out "d-ff: 2048 "; says out "train-sets: [a, b]"
says out "valid-metrics: [bleu, cross-entropy]"
says out "normalize: 1 "
code 0 train --dump-config; says out "vocab-tokenized: false "
code 0 train --vocab-tokenized --dump-config; says out "vocab-tokenized: true "
cp out tokenized.yml
code 0 train --config tokenized.yml --dump-config; says out "vocab-tokenized: true "
code 0 train --config tokenized.yml --vocab-tokenized=false --dump-config; says out "vocab-tokenized: false "

# training; the same in two parts
code 0 train --config small.yml --model whole --after 12u
says err "300 training pairs"; says err "update 12: saved"; says err "cost "
holds "nothing on standard output" ! -s out
for file in config.yml model.safetensors optimizer.safetensors progress.json metrics.jsonl vocab.txt; do
    holds "$file" -s whole/$file
done
code 0 train --config small.yml --model parts --after 7u
code 0 train --model parts --after 12u; says err "resuming after update 7"
checks=$((checks + 1)); cmp -s whole/model.safetensors parts/model.safetensors || fail "training in parts differs"
code 0 train --model whole; says err "resuming after update 12" # nothing is left to do
code 2 train --config small.yml --model whole --d-model 32
says err "d-model: expected 16, as in the model, got 32"; says err "--overwrite"
code 0 train --config small.yml --model whole --d-model 32 --after 2u --overwrite --quiet
holds "quiet" ! -s err
code 0 train --config small.yml --model whole --vocab-kind words --tying none --after 1u --overwrite
code 0 info whole; says out "tokens (words)"; says out "output"; holds "the old vocabulary is gone" ! -e whole/vocab.txt
code 0 graph whole; says out "cross_entropy"
code 2 graph nowhere; says err "no model 'nowhere'"

# the gradient at these weights
code 0 gradcheck parts --order 2 --seeds 2; says out "parts "; says out "1 passed, 0 failed"
code 0 gradcheck --model parts mlp --elements 1; says out "model mlp"; says out "2 passed, 0 failed"
code 2 run parts; says err "parts: expected a model of numbers, got a folder of \`wengert train\`"
code 1 gradcheck --model nowhere; says out "nowhere: not a model folder"
cp parts/model.safetensors kept; : >parts/model.safetensors
code 1 gradcheck parts; says out "FAIL: parts/model.safetensors"
mv kept parts/model.safetensors

# vocabularies: those of the folder stay, and others are refused
code 0 train --config small.yml --model given --vocabs parts/vocab.txt --after 1u
checks=$((checks + 1)); cmp -s parts/vocab.txt given/vocab.txt || fail "the vocabulary given was not taken"
code 0 train --model given --vocabs parts/vocab.txt --after 2u; says err "resuming after update 1"
sed 's/$/\r/' given/vocab.txt >crlf.txt # the same, written otherwise
code 0 train --model given --vocabs crlf.txt crlf.txt --after 2u
sed 's/^x$/X/' given/vocab.txt >other.txt
code 2 train --model given --vocabs other.txt --after 3u
says err "--vocabs: other.txt: expected the source vocabulary that given has, got another; use --overwrite to train from scratch"
code 2 train --model given --vocabs given/vocab.txt other.txt; says err "other.txt: expected the target vocabulary"
code 4 train --model given --vocabs missing.txt; says err "--vocabs: missing.txt: open: No such file"
code 3 train --model given --vocabs small.yml; says err "--vocabs: small.yml: expected a vocabulary"
holds "the vocabulary stays" -z "$(diff parts/vocab.txt given/vocab.txt)"
rm given/config.yml
code 2 train --config small.yml --model given --vocabs other.txt; says err "other.txt: expected the source vocabulary"
code 0 train --config small.yml --model given --vocabs other.txt --after 1u --overwrite
holds "the new vocabulary" -z "$(diff other.txt given/vocab.txt)"

cp whole/model.safetensors before
code 4 train --model whole --train-sets a b --overwrite; says err "a: open"
code 2 train --model whole --heads 3 --overwrite; says err "heads is 3"
checks=$((checks + 1)); cmp -s before whole/model.safetensors || fail "the old model is gone before there is a new one"

# on a terminal: one line that is rewritten, no wider than the terminal, and taken away before other lines and at the end
if script -qc true tty </dev/null >out 2>err; then # not where there are no pseudo-terminals
    TERM=xterm script -qc "stty cols 30; '$wengert' train --config small.yml --model wide --after 12u" tty </dev/null >out 2>err
    tr -d '\n' <tty | tr '\r' '\n' | sed "s/$(printf '\033')\[K/|/" >drawn
    says drawn " %  ETA "; says tty "saved"
    holds "a bar wider than the terminal" -z "$(grep ETA drawn | grep -v '^[^|]\{1,29\}|$')"
    says drawn "|epoch 1 (batch 4 of" # the bar is taken away, then the line is written
    TERM=dumb script -qc "'$wengert' train --config small.yml --model dumb --after 2u" tty </dev/null >out 2>err
    holds "no bar without a cursor" -z "$(grep ETA tty)"
fi

# signals
for signal in INT:130 TERM:143; do
    # a shell lets the background ignore SIGINT
    env --default-signal=INT "$wengert" train --config small.yml --model "stop${signal%:*}" --after 1000000u \
        --save-freq 0 >out 2>err &
    child=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -q "cost " err && break
        sleep 0.5
    done
    kill -"${signal%:*}" $child
    wait $child
    got=$?
    holds "exit code after SIG${signal%:*}" $got -eq "${signal#*:}"
    says err "run the same command to resume"; says err "saved"
    code 0 train --model "stop${signal%:*}" --after 1u; says err "resuming after update"
done

# translating: a line for a line
model="--model parts --threads 1 --max-output-length 6 --beam-size 2"
printf 'forty-two\n\nseven\r\n\377 nine' >input
code 0 translate $model; holds "lines" "$(lines out)" -eq 4
holds "an empty line stays empty" -z "$(sed -n 2p out)"
says err "standard input: 1 line is not UTF-8, the first of them line 4: each wrong byte is read as U+FFFD"
cp out first
printf '\303\251 \357\277\277\nse\0ven\n\303\n' >input
code 0 translate $model; says err "2 lines are not UTF-8, the first of them line 2"
code 0 translate $model --quiet; holds "no warning" ! -s err
printf 'seven\n' >input
code 0 translate $model; holds "alone or in company" "$(cat out)" = "$(sed -n 3p first)"
code 0 translate parts ${model#--model parts}; holds "without --model" "$(cat out)" = "$(sed -n 3p first)"
: >input
code 0 translate $model; holds "no line" ! -s out
printf 'forty-two\nseven\n' >input
code 0 translate $model --n-best; says out "0 ||| "; says out "1 ||| "; holds "n-best" "$(lines out)" -eq 4
code 0 translate $model --n-best=1 --scores; says out " ||| -"
code 0 translate $model --word-scores; says out " ||| "
code 0 translate $model --scores; cp out scores
code 0 translate $model --scores --int8; holds "in 8 bits" "$(lines out)" -eq 2
holds "rounded weights score otherwise" "$(cat out)" != "$(cat scores)"
cp out scores
code 0 translate $model --scores --int8; holds "the same again" "$(cat out)" = "$(cat scores)"
code 2 translate $model --int8=perhaps; says err "int8: expected true or false"
code 2 translate $model --n-best 3; says err "--n-best: expected at most the beam size, 2, got 3"
code 2 translate; says err "no model given"
code 2 translate --model ""; says err "no model given"
code 2 translate $model words; says err "expected one folder"
code 2 translate $model --beam-size 0
code 2 translate $model --attention-plot map.jpg; says err ".svg or .png"
code 2 translate $model --heads all; says err "expected --attention-plot as well"
code 2 translate $model --attention-plot map.svg --heads 3; says err "--heads: expected mean or all, got '3'"
code 2 translate $model --attention-plot map.svg --attention-of encoder/layer9
says err "there is no attention 'encoder/layer9', only encoder/layer0"
code 4 translate --model nowhere; says err "nowhere"
code 4 translate --model parts --weights nothing.safetensors
says err "nothing.safetensors: expected a file in the model's folder parts, or at this path; got neither"
checks=$((checks + 1)); "$wengert" translate $model <input >/dev/full 2>err
[ $? -eq 4 ] || fail "translate to a full disk: not exit code 4"
checks=$((checks + 1)); "$wengert" translate $model <input >&- 2>err
[ $? -eq 4 ] || fail "translate to a closed output: not exit code 4"
checks=$((checks + 1)); "$wengert" translate $model <. >out 2>err
[ $? -eq 4 ] || fail "translate a folder: not exit code 4"
# a line at a time is answered at once
mkfifo pipe
"$wengert" translate $model <pipe >out 2>err &
child=$!
exec 3>pipe
echo seven >&3
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s out ] && break
    sleep 0.5
done
holds "an answer before the end of input" "$(lines out)" -eq 1
exec 3>&-
wait $child

# scores and evaluation
printf 'forty-two\nse\303ven\n' >source; printf 'zweiundvierzig\nsieben\n' >target
for command in score evaluate; do
    code 0 $command --model parts source target
    not_utf8="is not UTF-8, the first of them line 2 of source: each wrong byte and NUL is read as U+FFFD"
    has_line err "wengert: 1 line of source and target $not_utf8"
    code 0 $command --model parts --quiet source target; holds "no warning" ! -s err
done
printf 'forty-two\nseven\n\n' >source; printf 'zweiundvierzig\nsieben\n\n' >target
for command in translate "evaluate source target"; do
    code 2 $command --model parts --threads 1 --max-length-factor 0 --max-length-extra 0
    says err "--max-length-factor and --max-length-extra are both 0: no translation would have a token"
    code 0 $command --model parts --threads 1 --max-length-factor 0 --max-length-extra 1
done
code 0 score --model parts --threads 1 source target
holds "scores" "$(lines out)" -eq 3; says err "3 pairs: cross-entropy"
code 0 score --model parts --threads 1 --word-scores --normalize 1 source target; says out "||| -"
code 0 score --model parts --threads 1 --length-penalty length --normalize 0 source target; cp out plain
code 0 score --model parts --threads 1 source target; holds "no penalty" -z "$(diff plain out)"
code 0 score --model parts --threads 1 --length-penalty length source target
holds "the model's penalty" "$(sed -n 1p out)" != "$(sed -n 1p plain)"
code 2 score --model parts source; says err "expected two files, SOURCE TARGET"
code 3 score --model parts two one
code 4 score --model parts nothing one
code 0 evaluate $model source target --output hypotheses
says out "sentences      3"; says out "cross-entropy"; says out "accuracy"; says out "BLEU = "; says out "chrF2 = "
says out "tok:char"; holds "translations" "$(lines hypotheses)" -eq 3
cp hypotheses before
code 4 evaluate $model source target --output nowhere/hypotheses
says err "nowhere/hypotheses: cannot be written: No such file"
holds "nothing was evaluated" ! -s out
checks=$((checks + 1)); "$wengert" evaluate $model source target --output /dev/full >out 2>err
[ $? -eq 4 ] || fail "evaluate with its translations on a full disk: not exit code 4"
code 4 evaluate $model source target --output .; says err ".: cannot be written: Is a directory"
code 2 evaluate $model source; says err "expected two files, SOURCE TARGET; one is for a language model"
code 0 evaluate $model; says out "sentences      1000"; says out "BLEU = " # numbers that it was not trained on
code 4 evaluate $model source nothing --output hypotheses --overwrite
holds "what was there stays" -z "$(diff before hypotheses)"
code 4 evaluate $model source nothing --output new; holds "no new file" ! -e new
mkfifo output # is not opened before there is something to write
cat output >through & child=$!
code 0 evaluate $model source target --output output
[ $got -eq 0 ] || kill $child
wait $child
holds "through a pipe" -z "$(diff before through)"
# no command takes what it has no use for, but a configuration file may have it
for option in beam-size max-output-length max-length-factor max-length-extra n-best search-words bleu-tokenizer; do
    code 2 score --model parts --$option 1 source target; says err "unrecognized option '--$option'"
done
code 2 score --model parts -b 1 source target
code 2 evaluate --model parts --n-best 1 source target; says err "unrecognized option '--n-best'"
code 2 train --model parts --int8; says err "unrecognized option '--int8'"
code 2 translate --model parts --bleu-tokenizer none; says err "unrecognized option '--bleu-tokenizer'"
echo "n-best: 900" >many.yml
code 0 score --model parts --config many.yml --threads 1 source target; holds "scores" -z "$(diff plain out)"
code 0 evaluate $model --config many.yml source target
code 0 evaluate $model --bleu-tokenizer none --lowercase source target; says out "case:lc"; says out "tok:none"

# the built-in corpus with validation texts of one's own
code 0 train --config small.yml --model parted --after 1u --valid-freq 1u --valid-sets source target
says err " $(lines source) validation pairs"

# bytes that are not UTF-8 are counted, and a run that has ended says so
printf 'one \377\ntwo\n' >odd.source; printf 'eins\nzwei \303\n' >odd.target
code 0 train --config small.yml --model odd --after 1u --train-sets odd.source odd.target
not_utf8="each wrong byte and NUL is read as U+FFFD"
has_line err "2 lines of the training texts are not UTF-8, the first of them line 1 of odd.source: $not_utf8"
holds "no other note" "$(grep -c 'same text' err)" = 0
printf 'eins\nzwei\n' >good
code 0 train --config small.yml --model odd --overwrite --after 1u --train-sets good odd.target --valid-sets odd.target odd.target
has_line err "1 line of the training texts is not UTF-8, the first of them line 2 of odd.target: $not_utf8"
has_line err "2 lines of the validation texts are not UTF-8, the first of them line 2 of odd.target: $not_utf8"
has_line err "both sides of the validation pairs are the same text: odd.target and odd.target"
code 0 train --config small.yml --model odd --overwrite --after 1u --train-sets good good
has_line err "both sides of the training pairs are the same text: good and good"
code 0 train --config small.yml --model odd --overwrite --after 1u --train-sets odd.source odd.target

# pairs with an empty side, and sides that are exchanged, are told
awk 'BEGIN {
    split("one two three four five six seven eight nine ten", en, " ")
    split("eins zwei drei vier funf sechs sieben acht neun zehn", de, " ")
    for (i = 0; i < 60; i++) {
        s = t = ""
        for (k = 1; k <= 4; k++) { n = (7 * i + 3 * k * k) % 10 + 1; s = s en[n] " "; t = t de[n] " " }
        print s >"pairs.en"; print t >"pairs.de"
    }
}'
awk '{ print NR % 3 ? $0 : "" }' pairs.en >third.en
whole="line by line translations of each other?"
code 0 train --config small.yml --model slips --after 1u --train-sets pairs.en pairs.de --valid-sets pairs.de pairs.en
said="source and target of the validation seem to be exchanged: pairs.de is like the target texts of the training, and"
has_line err "$said pairs.en like the source texts"
code 0 train --config small.yml --model slips --overwrite --after 1u --train-sets third.en pairs.de \
    --valid-sets third.en pairs.de
has_line err "20 of 60 training pairs have an empty side: are third.en and pairs.de whole, and $whole"
has_line err "20 of 60 validation pairs have an empty side: are third.en and pairs.de whole, and $whole"
holds "sides in their order" "$(grep -c exchanged err)" = 0
code 0 train --config small.yml --model slips --overwrite --after 1u --train-sets pairs.en pairs.de \
    --valid-sets pairs.en pairs.de --vocab-kind words
holds "pairs in order" "$(grep -c 'exchanged\|empty side' err)" = 0
code 0 train --config small.yml --model slips --overwrite --after 1u --train-sets pairs.en pairs.de \
    --valid-sets pairs.de pairs.en --vocab-kind words
has_line err "$said pairs.en like the source texts"

# a line of progress has the place in the epoch, in updates where they take several batches
for delay in "1:batch 1 of 2" "2:update 1 of 1"; do
    code 0 train --config small.yml --model odd --overwrite --after 1u --train-sets good good --disp-freq 1u \
        --mini-batch 1 --optimizer-delay ${delay%:*}
    says err "epoch 1 (${delay#*:}), update 1: cost "
done
code 0 train --config small.yml --model odd --overwrite --after 1u --train-sets odd.source odd.target

# what is not UTF-8 at all, or has no lines
for encoding in UTF-16 UTF-16LE UTF-16BE UTF-32 UTF-32LE UTF-32BE; do
    iconv -f UTF-8 -t $encoding good >utf16 || break
    wide="expected text in UTF-8, got $encoding; \`iconv -f $encoding -t UTF-8' converts it"
    code 3 train --config small.yml --model none --train-sets utf16 good; has_line err "wengert: utf16: $wide"
    code 3 score --model odd good utf16; has_line err "wengert: utf16: $wide"
    code 3 train --config small.yml --model none --type lm --encoder-layers 0 --train-set utf16; has_line err "wengert: utf16: $wide"
    "$wengert" translate --model odd <utf16 >out 2>err; got=$?
    holds "exit code" $got -eq 3; has_line err "wengert: standard input: $wide"; holds "no translation" ! -s out
done
tr '\n' '\r' <good >returns
returns="returns has carriage returns, but no newlines: tr '\r' '\n' makes lines of it"
code 3 train --config small.yml --model none --train-sets good returns
has_line err "wengert: good and returns: expected equally many lines, got 2 and 1; $returns"
code 3 train --config small.yml --model none --train-sets returns returns --max-length 3
got="got none of 1 (0 with an empty side, 1 longer than 3 tokens)"
has_line err "wengert: returns and returns: expected at least one pair of sentences to use, $got; $returns"
cp good words.txt
code 3 train --config small.yml --model none --train-sets good good --vocabs words.txt
unknown="words.txt: expected a vocabulary or a SentencePiece model, got something else or a damaged one"
has_line err "wengert: $unknown; a list of words, one a line, must have </s> and <unk> among them"
holds "no folder" ! -e none
printf '<s>\n</s>\n<unk>\neins\nzwei\n' >words.txt
code 0 train --config small.yml --model listed --train-sets good good --vocabs words.txt --after 1u
ln -s nothing dangling
code 4 train --config small.yml --model dangling --after 1u; has_line err "wengert: dangling: expected a folder, got a link to nothing"
code 4 translate --model dangling; has_line err "wengert: dangling: not a model folder: a link to nothing"
holds "nothing there" ! -e nothing
code 0 train --model odd --after 1u --threads 1; says err "nothing is left to train: 'after' ended the run, at update 1"

# averaging
code 0 train --config small.yml --model kept --after 6u --save-freq 2u --keep 3 --quiet
code 0 average --last 3 mean.safetensors kept; holds "files" "$(lines err)" -eq 3
code 0 average same.safetensors kept/model.safetensors kept/model.safetensors
holds "config.yml does not ask for quiet" "$(grep -c "^quiet: true" kept/config.yml)" -eq 0
code 0 translate --model kept --max-output-length 4 --weights "$work/mean.safetensors"
code 0 average --last 3 --model kept mean.safetensors; holds "files" "$(lines err)" -eq 3
code 2 average --model kept mean.safetensors; says err "expected OUTPUT FILE"
code 3 average --last 9 mean.safetensors kept; says err "expected 9 checkpoints of --save-freq, got 3"
code 4 average --last 2 mean.safetensors nowhere; says err "nowhere: not a model"
code 4 average --last 2 mean.safetensors parts; says err "the one at the end of a run does not count"
code 2 average mean.safetensors
sed '$d' parts/vocab.txt >other.txt; tail -n 1 parts/vocab.txt | sed 's/^[^\t]*/unheard/' >>other.txt
code 3 train --config small.yml --model other --tying all --vocabs parts/vocab.txt other.txt; says err "got two that differ"
code 2 train other --config small.yml --exponential-smoothing 1; says err "exponential-smoothing is 1, must be below 1"
code 2 train other --config small.yml --clip-norm 1e-300; says err "clip-norm is 1e-300, must be 0 or at least 1.17549e-38"
code 0 train sharded --config small.yml --after 2u --shard-optimizer # of which one process keeps all
mkdir fifo-inside; cp kept/config.yml fifo-inside; mkfifo fifo-inside/metrics.jsonl
code 4 plot fifo-inside; says err "fifo-inside/metrics.jsonl: expected a regular file, got a FIFO"
code 4 average nowhere/mean.safetensors nothing.safetensors nothing.safetensors
says err "nowhere/mean.safetensors: cannot be"
mkfifo special # which a rename would remove
code 4 average special kept/model.safetensors
says err "special: expected a regular file to replace, or none, got a FIFO"
holds "a pipe stays one" -p special
code 3 average mixed.safetensors kept/model.safetensors whole/model.safetensors
code 4 average mixed.safetensors nothing.safetensors nothing.safetensors
holds "no mean of different models" ! -e mixed.safetensors

# files that are damaged
cp -r kept hurt
for file in hurt/checkpoints/progress-*; do echo '{' >"$file"; done
head -c 100 kept/model.safetensors >hurt/model.safetensors
code 3 train --model hurt --after 9u; says err "hurt/checkpoints/progress-00000006.json:"; says err "progress-00000006.json: byte 2: expected a string, got its end"
: >input
code 3 translate --model hurt; says err "hurt/model.safetensors: expected a header of at most 92 bytes, got "
says err "the file is truncated or not a safetensors file"

# info, plot
code 0 info parts; says out "parameters"; says out "encoder"; says out "tokens (characters)"; says out "update "
says out "d-model"; says out "model.safetensors"
code 4 info nowhere; says err "nowhere: not a model"
code 0 info --model parts; says out "parameters"
code 0 graph --model parts --print; says out "encoder"
code 4 graph --model mlp --print; says err "mlp: not a model"
code 2 info
# export: encoder, decoder and tokens, where ONNX is built
if "$wengert" onnx --ops >which 2>&1; then
    code 2 onnx others/encoder.onnx --ops;    says err "give a FILE or --ops"
    code 2 onnx others/encoder.onnx --dim N=3; says err "--dim has no effect without --graph or --svg"
    code 0 export parts --length 8 --sentences 2 others
    code 0 onnx others/encoder.onnx; says out "memory"; says out "int32 [2,8]"
    code 0 onnx others/decoder.onnx; says out "target_in"; says out "logits"; says out "ops are supported"
    says others/model.json '"target_begin"'; says others/model.json '"</s>"'
    code 2 export parts --training-step step.onnx; says err "a model in a folder cannot be exported"
    code 4 export parts /dev/null/others
fi
code 4 plot nowhere -o curves.svg
code 2 plot parts -o curves.pdf
if command -v gnuplot >which; then
    code 0 plot parts; says parts/curves.svg "</svg>"
    code 0 plot parts -o curves.png; says curves.png PNG
    printf "it's \`touch stolen\` \$(x) \\\\ %%d\nseven\n" >input
    code 0 translate $model --attention-plot map.svg; says map.svg "</svg>"; says map-2.svg "</svg>"
    says map.json '"attention"'; says map.json '"</s>"'
    holds "no command was run" ! -e stolen
    for of in encoder/layer0 decoder/layer0/self_attn decoder/layer0/cross_attn; do
        code 0 translate $model --attention-plot heads.svg --attention-of $of --heads all
        says heads.svg "head 1"; says heads.json '"heads"'
    done
    says heads.json '"target"'
    code 0 translate $model --attention-plot heads.svg --attention-of encoder
    says heads.json '"queries"'; says heads.json '"attention"'
    code 4 translate $model --attention-plot /nonexistent/map.png; holds "nothing was translated" ! -s out
    code 4 plot parts -o /nonexistent/curves.svg; says err "cannot be written"
fi
checks=$((checks + 1)); PATH=/nonexistent "$wengert" plot parts -o none.png 2>err
[ $? -eq 1 ] || fail "plot without gnuplot: not exit code 1"
says err "gnuplot-nox"

# several processes: an engine that is not there, which the copy of the program cannot find; and a run stopped from outside
built=$wengert
mkdir elsewhere
cp "$wengert" elsewhere/
wengert=$work/elsewhere/wengert
code 1 train many --distributed openmpi --config small.yml
says err "--distributed: the engine openmpi was not built: install libopenmpi-dev"
code 2 train many --distributed pvm --config small.yml; says err "engine pvm: expected mpi, openmpi, mpich"
holds "nothing was made" ! -e many
wengert=$built
code 2 stop; says err "no folder given"
code 4 stop nowhere; says err "nowhere: no such folder"
code 4 stop small.yml; says err "small.yml: a file, not a folder"
code 4 info small.yml; says err "small.yml: not a model folder: a file, not a folder"
code 4 info ''; says err ": not a model folder: the name is empty"
"$wengert" train asked --config small.yml --after 1000000u --quiet <input >said 2>&1 &
training=$!
for _ in $(seq 600); do
    [ -s asked/metrics.jsonl ] && break
    sleep 0.1
done
code 0 stop asked
wait $training
holds "a run that is stopped from outside ends well" $? -eq 0
holds "it was saved" -s asked/progress.json
holds "the request is gone" ! -e asked/stop

finish 520
