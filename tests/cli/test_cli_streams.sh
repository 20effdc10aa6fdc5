#!/bin/sh
# test_cli_streams.sh WENGERT [EARLY_THREAD]: signals at any time, streams that are closed, full or gone, lines that are too long, names
# that a plotting program could misread.
wengert=$1
. "$(dirname "$0")/checks.sh"
export OMP_NUM_THREADS=1
small_settings 1u >small.yml

# exits EXPECTED WHAT: the exit code of what ran last
exits() {
    got=$?
    checks=$((checks + 1))
    [ $got -eq "$1" ] || fail "$2: exit code $got, expected $1"
}

# until_says FILE TEXT: waits until the file has it, at most a minute
until_says() {
    tries=0
    until grep -qF -- "$2" "$1" || [ $tries -ge 240 ]; do
        tries=$((tries + 1))
        sleep 0.25
    done
    says "$1" "$2"
}

# start IGNORED ARGUMENT...: runs the program in the background, with that signal ignored (or none: "")
start() {
    # a shell lets the background ignore SIGINT, and nohup all of it SIGHUP
    case $1 in INT) others=HUP ;; HUP) others=INT ;; *) others=INT,HUP ;; esac
    ignored=$1
    shift
    : >err
    (
        [ -z "$ignored" ] || trap '' $ignored
        exec env --default-signal=$others "$wengert" "$@" <input >out 2>err
    ) &
    child=$!
}

# stopped SIGNAL CODE WHAT: sends it, and expects the program to end with that code, before it is killed
stopped() {
    kill -"$1" $child
    (sleep 60; kill -KILL $child) >watchdog 2>&1 &
    watchdog=$!
    wait $child
    exits "$2" "$3 and SIG$1"
    kill $watchdog
}

# closed descriptors
"$wengert" train --config small.yml --model closed --after 3u 2>&-
exits 0 "train without standard error"
holds "records alone in the metrics" -z "$(grep -v '^{.*}$' closed/metrics.jsonl)"
holds "records in the metrics" "$(lines closed/metrics.jsonl)" -ge 3
"$wengert" train --config small.yml --model closed --after 4u <&- >&- 2>&-
exits 0 "train without any stream"
"$wengert" train --config small.yml --model closed --after 5u >&- 2>err
exits 0 "train without standard output, to which it writes nothing"
model="--model closed --threads 1 --max-output-length 6 --beam-size 1"
"$wengert" translate $model <&- >out 2>err
exits 4 "translate without standard input"; says err "standard input: Bad file descriptor"
echo seven >input
"$wengert" translate $model <input >&- 2>err
exits 4 "translate without standard output"; says err "standard output: Bad file descriptor"

# full disks
"$wengert" translate $model <input >/dev/full 2>err
exits 4 "translate to a full disk"; says err "standard output: No space left on device"
holds "one message" "$(lines err)" -eq 1
sizes="1 8 16 32"
ldd "$wengert" | grep -q libomp && sizes="8 16 32" # LLVM's OpenMP needs a page of shared memory as it is loaded
least=90
grep -q __tsan_init "$wengert" && sizes="" least=80 # ThreadSanitizer writes a larger file as it starts
for blocks in $sizes; do
    (ulimit -f $blocks; "$wengert" train --config small.yml --model limited --after 3u --save-freq 1u >out 2>err)
    exits 4 "train with files of at most $blocks blocks"; says err "File too large"
    holds "no temporary file" -z "$(find limited -name '*.tmp-*' 2>/dev/null)"
    rm -rf limited
done

# signals while a vocabulary is made
: >input
awk 'BEGIN { for (i = 0; i < 400000; i++) print i * 7919, i * 104729 }' >many
for signal in INT:130 TERM:143 HUP:129; do
    start "" train --model never --train-sets many many --after 1u
    sleep 1
    stopped "${signal%:*}" "${signal#*:}" "a vocabulary in the making"
    says err "before the first update"
    holds "nothing was saved" ! -e never/progress.json
done

# signals within an update of very many batches, and later
start "" train --config small.yml --model within --numbers 20000 --mini-batch-words 128 --optimizer-delay 1000000
until_says err "training pairs"
sleep 1
stopped TERM 143 "an update of many batches"; says err "run the same command to resume"
start "" train --config small.yml --model hangup --after 1000000u
until_says err "cost "
stopped HUP 129 "a training"
says err "run the same command to resume"; says err "saved"
code 0 train --model hangup --after 1u; says err "resuming after update"

# signals that reach a thread of a library
if [ -n "${2:-}" ]; then
    for signal in INT:130 TERM:143; do
        export LD_PRELOAD="$2"
        start "" train --config small.yml --model early --after 1000000u
        unset LD_PRELOAD
        until_says err "cost "
        holds "threads" "$(ls /proc/$child/task | wc -l)" -ge 3
        stopped "${signal%:*}" "${signal#*:}" "a training with a thread that was there first"
        says err "run the same command to resume"; says err "saved"
    done
    export LD_PRELOAD="$2" LATE=yes # its work done, it waits at its exit
    start "" train --config small.yml --model late --after 1u
    unset LD_PRELOAD LATE
    until_says err "update 1: saved"
    sleep 0.5
    stopped TERM 143 "a training that is done"
fi

# signals that the parent ignores stay ignored
for signal in INT HUP; do
    start $signal train --config small.yml --model "on$signal" --after 1000000u
    until_says err "cost "
    kill -$signal $child
    sleep 0.5
    before=$(lines err)
    sleep 0.5
    holds "it goes on after SIG$signal" "$(lines err)" -gt "$before"
    stopped TERM 143 "a training that ignores SIG$signal"
done

# other commands end at once
mkfifo pipe
start "" gradcheck --all --order 2 --seeds 1000
until_says out "compared"
stopped TERM 143 gradcheck
"$wengert" translate $model <pipe >out 2>err &
child=$!
exec 3>pipe
stopped TERM 143 translate
exec 3>&-

# a line that is too long is cut, and the others are translated
words() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s", "a"; print "" }'
}
{ echo seven; words 3000; echo seven; } >input
code 0 translate $model; holds "a line for a line" "$(lines out)" -eq 3
holds "the others are translated" "$(sed -n 1p out)" = "$(sed -n 3p out)"
has_line err "wengert: line 2 is too long: its last 2000 tokens are left out; the limit, --max-input-length, is 1000 tokens"
holds "one warning" "$(lines err)" -eq 1
cp out cut
{ echo seven; words 1000; echo seven; } >input
code 0 translate $model; holds "what is left is translated" -z "$(diff cut out)"; holds "no warning" ! -s err
code 0 translate $model --max-input-length 0; holds "the same" -z "$(diff cut out)"
code 0 translate $model --max-length 3; holds "two warnings" "$(lines err)" -eq 3
code 0 translate $model --max-length 3 --quiet; holds "no warning" ! -s err
{ for i in 1 2 3 4 5 6 7; do seq 1 150; done; words 1001; } >input
code 0 translate $model --max-output-length 1; says err "line 1051 is too long: its last 1 token is"
{ words 1200; echo seven; } >source; { echo sieben; words 1100; } >target
code 0 score --model closed --threads 1 source target; holds "scores" "$(lines out)" -eq 2
says err "line 1 is too long: its last 200 tokens"; says err "line 2 is too long: its last 100 tokens"
code 0 evaluate $model source target; says out "BLEU"; says err "line 2 is too long"
code 0 train --config small.yml --model learned --positions learned --max-positions 60 --max-length 40 --after 1u
code 0 translate --model learned --threads 1 --max-output-length 1
left="the limit, by the learned positions of the model, is"
has_line err "wengert: line 1051 is too long: its last 942 tokens are left out; $left 59 tokens"
code 0 translate --model learned --threads 1 --max-output-length 1 --max-input-length 59
has_line err "wengert: line 1051 is too long: its last 942 tokens are left out; the limit, --max-input-length, is 59 tokens"
code 2 train --config small.yml --model m --max-input-length 5; says err "unrecognized option"

# more threads than there is memory for; a sanitizer does not run with so little
if (ulimit -v 3000000 && "$wengert" --version) >out 2>err; then
    (ulimit -v 3000000; "$wengert" train --config small.yml --model crowd --after 1u --threads 1024 >out 2>err)
    exits 1 "too many threads to train"; says err "of 1024 threads can be started: "
    (ulimit -v 3000000; "$wengert" devices --no-limits --threads 1024 >out 2>err)
    exits 1 "too many threads of a device"; says err "of 1024 threads can be started: "
fi
code 2 train --config small.yml --model crowd --threads 1025; says err "--threads: expected a whole number from 0 to 1024"

# names in pictures: a program in the place of gnuplot keeps what it is given
cat >odd <<'END'
the dog 's tail ''' " "q" back\slash `touch`stolen $(x) %d @a {^_} <&> # é
END
cat >odd.yml <<'END'
vocab-kind: words
d-model: 8
d-ff: 8
heads: 2
encoder-layers: 1
decoder-layers: 1
valid-freq: 0
threads: 1
END
code 0 train --config odd.yml --model odd-model --train-sets odd odd --after 1u
mkdir bin
printf '#!/bin/sh\ncat >"%s/script"\necho "<svg></svg>"\n' "$work" >bin/gnuplot
chmod +x bin/gnuplot
cp odd input
odd="translate --model odd-model --threads 1 --beam-size 1 --max-output-length 3 --attention-plot map.svg"
checks=$((checks + 1))
PATH="$work/bin:$PATH" "$wengert" $odd <input >out 2>err || fail "a plot of odd names: exit code $?"
says script 'set label "\047s" at'
says script 'set label "\047\047\047" at'
says script 'set label "\042" at'
says script 'set label "back\134slash" at'
says script 'set label "\140touch\140stolen" at'
says script 'set label "é" at'
holds "no quote that is not an end" -z "$(grep "^set label" script | grep -v '^set label "[^"'"'"'`$@]*" at')"
if command -v gnuplot >which; then
    code 0 $odd; says map.svg "</svg>"; says map.svg "back\\slash"; says map.svg "{^_}"
    holds "no command was run" ! -e stolen
fi

finish $least
