#!/bin/sh
# test_cli_folder.sh WENGERT CC OLD_MODEL [BACKEND]: a model's folder loses nothing and lets nothing in.  Code in a
# folder is not run, two trainings do not meet in one, copies without their state are not overwritten, damage is named.
wengert=$1 cc=$2 old_model=$3 backend=$4
. "$(dirname "$0")/checks.sh"
export OMP_NUM_THREADS=1
cat >small.yml <<'END_OF_SETTINGS'
vocab-kind: chars
numbers: 200
d-model: 8
d-ff: 8
heads: 2
encoder-layers: 1
decoder-layers: 1
mini-batch-words: 1024
valid-freq: 0
save-freq: 1u
disp-freq: 0
threads: 1
END_OF_SETTINGS
code 0 train --config small.yml --model model --after 3u
printf 'forty-two\nseven\n' >input
translate="--threads 1 --max-output-length 6 --beam-size 2 --scores"
code 0 translate --model model $translate; cp out before
printf 'zweiundvierzig\nsieben\n' >target

# unchanged MODEL OPTION...: it still translates as the first model did
unchanged() {
    code 0 translate --model "$@" $translate
    holds "translations of $1" -z "$(diff before out)"
}

# flip FILE BYTE: changes one bit of that byte, counted from 0
flip() {
    old=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    printf "\\$(printf %o $((old ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# code in a folder: an object whose loading leaves a trace
printf '#include <stdio.h>\n__attribute__((constructor)) static void run(void)\n{\n    fclose(fopen("trace", "w"));\n}\n' >evil.c
checks=$((checks + 1))
$cc -shared -fPIC -o evil.so evil.c 2>err || fail "evil.so is not built"
for path in ./evil.so "$work/evil.so" cpu,./evil.so evil.so; do
    rm -rf evil; cp -r model evil
    sed -i -e 1d -e "s#^backend:.*#backend: \"$path\"#" evil/config.yml
    for command in "translate --model evil" "score --model evil input target" "evaluate --model evil input target" \
        "train --model evil --after 4u" "gradcheck evil" "info evil" "graph evil"; do
        "$wengert" $command <input >out 2>err
        got=$?
        checks=$((checks + 2))
        [ $got -ne 0 ] || fail "wengert $command with a shared object in config.yml: exit code 0"
        cat err >>out
        grep -q "config.yml:[0-9]*: backend: expected built-in backends, got the shared object '$path'" out ||
            fail "wengert $command: no such message"
    done
done
code 3 train --config evil/config.yml --model other; says err "only the command line may name one, by --backend"
holds "no code was run" ! -e trace
code 2 translate --model model --backend ./evil.so # which is no backend, but was asked for
holds "the command line may load code" -e trace

# the list of backends in config.yml
says model/config.yml "backend: \"\""
code 0 train --config small.yml --model named --after 1u --backend cpu; says named/config.yml "backend: cpu "
if [ -n "$backend" ]; then
    code 0 train --config small.yml --model named --after 2u --backend "$backend,cpu"
    says err "backend $backend,cpu has a shared object, which config.yml does not keep"
    says named/config.yml 'backend: "" '
    code 0 train --model named --after 3u; says err "resuming after update 2"
    code 0 train --config small.yml --backend "$backend" --dump-config; says out 'backend: "" '
fi

# config.yml is changed: by accident or on purpose
rm -rf edited; cp -r model edited
sed -i 's/^beam-size: 4/beam-size: 3/' edited/config.yml
for command in translate "train --after 4u"; do
    code 3 $command --model edited; says err "edited/config.yml: it does not match the checksum in its first line"
done
sed -i 1d edited/config.yml
unchanged edited
code 0 train --model edited --after 4u; says err "resuming after update 3"
says edited/config.yml "# xxh64 "; says edited/config.yml "beam-size: 3 "

# a list of differences that has no room for all ends with their number
rm -rf emptied; cp -r model emptied; : >emptied/config.yml
code 3 translate --model emptied; says err "emptied/model.safetensors: tensor "
holds "the end of a long list" -n "$(tail -n 1 err | grep -x 'and [1-9][0-9]* more')"

# a pipe in the place of a file is not waited for
rm -rf piped; cp -r model piped; rm piped/config.yml; mkfifo piped/config.yml
for command in translate info train; do
    checks=$((checks + 1))
    timeout 20 "$wengert" $command --model piped <input >out 2>err
    got=$?
    [ $got -eq 4 ] || fail "$command with a FIFO as config.yml: exit code $got"
    says err "piped/config.yml: expected a regular file, got a FIFO"
done

# damaged weights, and the vocabulary of another model
rm -rf hurt; cp -r model hurt
flip hurt/model.safetensors $(($(wc -c <hurt/model.safetensors) - 3))
for command in translate "score input target" "evaluate input target"; do
    code 3 ${command%% *} --model hurt ${command#"${command%% *}"}
    says err "hurt/model.safetensors: tensor "; says err " is damaged: expected the checksum "
done
code 3 average mean.safetensors model/model.safetensors hurt/model.safetensors
says err "hurt/model.safetensors: tensor "; holds "no mean of damaged weights" ! -e mean.safetensors
rm -rf hurt; cp -r model hurt
sed -i 's/^x$/X/' hurt/vocab.txt
for command in translate "train --after 4u"; do
    code $([ "$command" = translate ] && echo 3 || echo 2) $command --model hurt
done
code 3 translate --model hurt; says err "hurt: its vocabulary is not the one that hurt/model.safetensors was trained with"
code 0 average mean.safetensors model/model.safetensors model/model.safetensors
code 3 translate --model hurt --weights "$work/mean.safetensors"; says err "its vocabulary is not the one"

# damaged best weights, when the run is resumed: made again from a checkpoint with the same weights
for average in 0 0.1; do
    rm -rf kept; from=model; [ $average = 0 ] || from=average
    code 0 train --config small.yml --model kept --after 4u --valid-freq 2u --save-freq 2u --keep 5 \
        --exponential-smoothing $average
    best=kept/best-cross-entropy.safetensors
    at=$(sed -n '/"best"/,$s/.*"update": \([0-9]*\).*/\1/p' kept/progress.json | head -1)
    from=kept/checkpoints/$from-0000000$at.safetensors
    cp $best whole; last=$(($(wc -c <whole) - 3))
    flip $best $last
    code 3 translate --model kept; says err "$best: tensor "
    code 0 train --model kept --after 4u; says err "$best: tensor "
    says err "; it is made again from $from"; holds "the best" -z "$(cmp whole $best 2>&1)"
    code 0 train --model kept --after 4u; holds "no word of it" -z "$(grep best err)"
    rm $best
    code 0 train --model kept --after 4u; says err "$best: it is missing; it is made again from $from"
    holds "the best" -z "$(cmp whole $best 2>&1)"
done
# ... or else set aside
code 0 train --config small.yml --model kept --after 4u --valid-freq 3u --save-freq 2u --overwrite
lost="; no checkpoint has its weights, those of update 3, so the best model is looked for again"
holds "no such checkpoint" -z "$(ls kept/checkpoints | grep 3)"
code 0 train --model kept --after 4u; holds "no word of it" -z "$(grep best err)"
flip $best $last; cp $best damaged
code 0 train --model kept --after 5u; says err "$best: tensor "
says err "$lost; the file is now in checkpoints/damaged/"
holds "the damaged file" -z "$(cmp damaged kept/checkpoints/damaged/best-cross-entropy.safetensors 2>&1)"
code 0 translate --model kept
code 0 train --model kept --after 6u; holds "it counts no longer" -z "$(grep missing err)"
holds "another best" -s $best; code 0 info kept; says out cross-entropy
code 0 train --config small.yml --model kept --after 1u --overwrite
holds "what is overwritten" -z "$(ls kept/checkpoints/damaged 2>/dev/null)"

# weights that are no numbers: a file of another program, without checksums
python=$(command -v python3)
if [ -n "$python" ]; then
    cp -r model nan
    "$python" - nan/model.safetensors <<'END_OF_PROGRAM'
import json, struct, sys
data = open(sys.argv[1], 'rb').read()
n, = struct.unpack('<Q', data[:8])
header, body = json.loads(data[8:8 + n]), bytearray(data[8 + n:])
del header['__metadata__']
first, last = sorted((v['data_offsets'], k) for k, v in header.items())[::len(header) - 1]
struct.pack_into('<f', body, first[0][0] + 8, float('nan'))
struct.pack_into('<f', body, last[0][0], float('-inf'))
open('first', 'w').write(first[1])
text = json.dumps(header).encode()
text += b' ' * (-len(text) % 8)
open(sys.argv[1], 'wb').write(struct.pack('<Q', len(text)) + text + body)
END_OF_PROGRAM
    for command in translate "score input target" "evaluate input target"; do
        code 1 ${command%% *} --model nan ${command#"${command%% *}"}
        says err "nan/model.safetensors: tensor $(cat first): element 2 is NaN"; says err ": element 0 is infinite"
        holds "no line of results" ! -s out
    done
fi

# a copy without the state of its run is not trained over
for weights in model.safetensors average.safetensors best-bleu.safetensors average-10.safetensors mine.safetensors; do
    rm -rf copy; mkdir copy
    cp model/config.yml model/vocab.txt copy
    cp model/model.safetensors copy/$weights
    unchanged copy --weights $weights
    code 2 train --model copy --after 1u
    says err "copy: it has weights ($weights), but no progress.json"; says err "--overwrite"
    checks=$((checks + 1)); cmp -s model/model.safetensors copy/$weights || fail "the weights of a copy are lost"
    unchanged copy --weights $weights
done
rm -rf copy; mkdir copy; cp model/config.yml model/vocab.txt model/optimizer.safetensors copy
code 2 train --model copy --after 1u; says err "copy: it has moments (optimizer.safetensors), but no progress.json"
# ... unless its training is to start from them: with a rate of 0 they stay as they are
for average in 0 0.1; do
    rm -rf start; mkdir start; cp model/config.yml model/vocab.txt model/model.safetensors start
    sed -i -e 1d -e "s/^exponential-smoothing: 0 /exponential-smoothing: $average /" \
        -e 's/^learn-rate: .*/learn-rate: 0/' -e 's/^lr-warmup: .*/lr-warmup: 0/' start/config.yml
    code 0 train --model start --after 2u --pretrained-model start/model.safetensors
    says err "starting from "; says err " tensors of start/model.safetensors"; says err "update 2: saved"
    unchanged start --weights model.safetensors
    # an average of equal numbers differs from them by its rounding
    code 0 translate --model start $translate
    holds "their average" "$(sed 's/\(\.[0-9]\{3\}\)[0-9]*$/\1/' out)" = "$(sed 's/\(\.[0-9]\{3\}\)[0-9]*$/\1/' before)"
    [ $average = 0 ] || holds "an average" -s start/average.safetensors
    code 0 train --model start --after 3u --pretrained-model start/model.safetensors
    says err "start has begun: --pretrained-model is not read again"; says err "resuming after update 2"
    says start/config.yml 'pretrained-model: "" '
done
sed '$d' model/vocab.txt >words.txt
code 0 train --config small.yml --model fresh --after 1u --vocabs model/vocab.txt --pretrained-model model/model.safetensors
code 3 train --config small.yml --model other --vocabs model/vocab.txt --d-ff 16 --pretrained-model model/model.safetensors
says err "model/model.safetensors: tensor encoder/layer0/ff/inner/weight: expected F32 [16,8], got F32 [8,8]"
code 3 train --config small.yml --model other --numbers 250 --vocab-kind words --pretrained-model model/model.safetensors
says err "trained with another vocabulary than the one made here; give theirs by --vocabs"
code 3 train --config small.yml --model other --vocabs words.txt --pretrained-model model/model.safetensors
says err "trained with another vocabulary than that of --vocabs; give theirs by --vocabs"
code 4 train --config small.yml --model other --pretrained-model nothing.safetensors; says err "nothing.safetensors: open"
[ -z "$python" ] || code 1 train --config small.yml --model other --vocabs model/vocab.txt --pretrained-model nan/model.safetensors
code 3 train --config small.yml --model other --vocabs hurt/vocab.txt --pretrained-model model/model.safetensors
says err "trained with another vocabulary than that of --vocabs"
holds "what failed left no folder" ! -e other

code 0 train --model copy --after 1u --overwrite; says err "update 1: saved"
rm -rf copy; cp -r model copy; rm -r copy/checkpoints
code 3 train --model copy --after 4u; says err "expected checkpoints beside progress.json"
rm -rf copy; cp -r model copy
code 0 train --model copy --after 4u; says err "resuming after update 3"
# best weights of a training that was killed before its first checkpoint are no reason to refuse
rm -rf killed; mkdir -p killed/checkpoints; cp model/config.yml model/vocab.txt killed
cp model/model.safetensors killed/best-bleu.safetensors
code 0 train --model killed --after 1u; says err "update 1: saved"

# other people's files stay
echo mine >model/notes.tmp-2024.txt; echo mine >model/best-friends.txt
code 0 train --model model --after 4u
code 0 train --config small.yml --model model --after 2u --overwrite
holds "a note stays" -s model/notes.tmp-2024.txt
holds "friends stay" -s model/best-friends.txt

# two trainings in one folder; a mean while one runs; the lock goes with its process
"$wengert" train --config small.yml --model busy --after 1000000u --keep 3 >out2 2>err2 &
child=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    grep -q "update 5: saved" err2 && break
    sleep 0.5
done
for command in "" --overwrite "--overwrite --d-model 16"; do
    code 4 train --model busy --after 9u $command
    says err "busy: process $child is training in this folder"
done
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    code 0 average --last 3 busy/average-3.safetensors busy
    holds "means" "$(lines err)" -eq 3
done
kill -KILL $child
wait $child 2>err
code 0 translate --model busy --weights average-3.safetensors $translate
code 0 train --model busy --after 1u; says err "resuming after update"
holds "no temporary file is left" -z "$(ls -A busy busy/checkpoints | grep '^\.wengert')"

# the folder of a version without checksums
cp -r "$old_model" old
cp old/checkpoints/stopped-00000002.safetensors old/model.safetensors
code 0 translate --model old $translate; holds "lines" "$(lines out)" -eq 2
code 0 info old; says out "update                   2"
code 0 train --model old --after 3u; says err "resuming after update 2"; says err "update 3: saved"
says old/progress.json '"xxh64": "'; says old/config.yml "# xxh64 "; says old/model.safetensors wengert-xxh64
code 0 train --model old --after 4u; says err "resuming after update 3"

# a training that diverges before its first checkpoint does not speak of others
code 1 train --model wild --overwrite --config small.yml --after 1000u --save-freq 0 --learn-rate 1e30 --lr-warmup 0
says err "training stopped; nothing was saved yet"

# a checkpoint that cannot be written: what is left is told, and it is
rm -rf full; cp -r model full
at=$(ls full/checkpoints | sed -n 's/^model-0*\([1-9][0-9]*\).*/\1/p' | sort -n | tail -1)
(ulimit -f 24; exec "$wengert" train --model full --after 1000000u --save-freq 1u >out 2>err)
holds "exit code" $? -eq 4
says err "File too large"; says err "the checkpoint of update $at is intact; the run resumes from it"
code 0 train --model full --after $((at + 1))u --save-freq 1u; says err "resuming after update $at"

# ... also if only config.yml cannot be written, and before there is a checkpoint
cp full/config.yml before; at=$((at + 1))
(ulimit -f 4; exec "$wengert" train --model full --after $((at + 1))u --save-freq 1u >out 2>err)
holds "exit code" $? -eq 4
says err "full/config.yml: write: File too large"; says err "the checkpoint of update $at is intact; the run resumes from it"
(ulimit -f 24; exec "$wengert" train --config small.yml --model anew --after 2u >out 2>err)
holds "exit code" $? -eq 4
says err "File too large"; has_line err "nothing was saved yet"

# until_says TEXT: waits, at most a minute, until the training has said that
until_says() {
    tries=0
    until grep -q "$1" err || [ $tries -ge 240 ]; do
        tries=$((tries + 1))
        sleep 0.25
    done
}

# meanwhile FOLDER COMMAND: a training in the folder is held, anywhere, which most of the time is where it saves, while
# the command runs
meanwhile() {
    rm -rf $1 out err # which said what the training before it did
    "$wengert" train --config small.yml --model $1 --after 1000000u --save-freq 1u >out 2>err &
    child=$!
    until [ -e err ]; do sleep 0.01; done
    until_says "update 3: saved"
    kill -STOP $child
    until grep -q '^State:.[TZ]' /proc/$child/status; do sleep 0.01; done # a call goes on until it ends
    eval "$2"
    kill -CONT $child
}

# a folder that is renamed or removed while it trains is not made anew
for how in "mv gone went" "rm -rf gone"; do
    rm -rf went
    meanwhile gone "$how"
    wait $child
    holds "exit code after $how" $? -eq 4
    holds "no folder after $how" ! -e gone
    says err "gone: it was renamed or removed while this process trained in it"
done

# what a model needs beside its weights is written again if it is removed while it trains
for what in config.yml vocab.txt metrics.jsonl "config.yml kept/vocab.txt"; do
    meanwhile kept "rm kept/$what"
    until_says "removed during training"
    kill $child; wait $child
    says err "removed during training, and "
    holds "a log" -s kept/metrics.jsonl
    code 0 translate --model kept
    code 0 info kept
done

# checkpoints/ becomes a link while it trains: nothing is written or removed where it leads
mkdir elsewhere; echo mine >elsewhere/model-00000001.safetensors; cp -r elsewhere as_it_was
meanwhile linked "mv linked/checkpoints moved; ln -s ../elsewhere linked/checkpoints"
wait $child; holds "exit code" $? -eq 4
says err "wengert: linked" # with the link, unless what was there is missed first
holds "what is elsewhere" -z "$(diff -r elsewhere as_it_was)"

# what is lost is not promised
meanwhile lost "rm -r lost/checkpoints; echo mine >lost/checkpoints"
wait $child; holds "exit code" $? -eq 4
says err "wengert: lost" # that it is a file, unless what was there is missed first
holds "no promise" "$(grep -c 'is intact' err)" -eq 0

# a checkpoint that is complete, but not made the folder's own, is what the run resumes from
meanwhile blocked "rm blocked/model.safetensors; mkdir -p blocked/model.safetensors/inside"
wait $child; holds "exit code" $? -eq 4
at=$(sed -n 's/^the checkpoint of update \([0-9]*\) is intact; the run resumes from it$/\1/p' err)
[ -n "$at" ] || at=none
rm -r blocked/model.safetensors
"$wengert" train --model blocked --after 1u >out 2>err
says err "resuming after update $at"

# a copy by hard links is a run of its own
rm -rf original linked; cp -r model original; cp -rl original linked
cp original/metrics.jsonl log
code 0 train --model linked --after 9u --disp-freq 1u
holds "the log of the original" -z "$(diff log original/metrics.jsonl)"
holds "the log of the copy" "$(lines linked/metrics.jsonl)" -gt "$(lines log)"

# what is missing or damaged is named, not what does not fit to it
rm -rf copy; cp -r model copy; rm copy/config.yml
"$wengert" train --model copy --after 9u >out 2>err
says err "copy has a training run, but no config.yml"
rm -rf copy; cp -r model copy; sed '$d' model/vocab.txt >copy/vocab.txt
code 2 train --model copy --after 9u; says err "was a file vocab.* changed or damaged?"

# what cannot be told is not missing: a folder that cannot be looked into
ln -s circle circle
code 4 train --model circle --after 1u --config small.yml; says err "Too many levels of symbolic links"
code 4 translate --model circle; says err "circle/config.yml: look for it: Too many levels"

finish 350
