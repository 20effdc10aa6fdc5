#!/bin/sh
# commands.sh WENGERT LIBRARY memory|files MOST: commands of the program while memory, or a system call of files, fails.
#
# LIBRARY (memory.c, files.c) is preloaded.  Of each command and each way to fail, at most MOST points fail, equally
# far apart: each once, and with all after it.  Then the program either says why it failed and exits with another code
# than 0, or does what it does otherwise.  A model's folder is as good as before: the same training goes on after the
# last update that was saved, and ends with the same tensors to the last bit.
wengert=$1 library=$2 what=$3 most=$4
. "$(dirname "$0")/../cli/checks.sh"
points=0 failed=0 crashed=0
export LC_ALL=C OMP_NUM_THREADS=1

# ---- what there is to work with ----
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    echo "one$((i % 5)) two$((i % 3))" >&3
    echo "eins$((i % 5)) zwei$((i % 3))" >&4
done 3>train.en 4>train.de
head -n 3 train.en >valid.en
head -n 3 train.de >valid.de
cat >tiny.yml <<'YML'
vocab-kind: words
train-sets: [train.en, train.de]
valid-sets: [valid.en, valid.de]
d-model: 8
d-ff: 8
heads: 2
encoder-layers: 1
decoder-layers: 1
mini-batch-words: 16
exponential-smoothing: 0.1
valid-freq: 2u
valid-metrics: [cross-entropy, bleu]
beam-size: 2
max-output-length: 8
save-freq: 1u
disp-freq: 1u
threads: 1
YML
echo "backend: cpu" | cat tiny.yml - >cpu.yml
sed 's/vocab-kind: words/vocab-kind: bpe/' cpu.yml >bpe.yml
echo "vocab-size: 40" >>bpe.yml
sed 's/^\(d-model\|d-ff\): 8/\1: 64/' cpu.yml >large.yml # whose files a thread of their own computes checksums of
{
    sed -e '/^\(encoder\|beam\|max-output\)-/d' -e 's/-sets: .\(.*\), .*/-set: \1/' -e 's/bleu/perplexity/' tiny.yml
    echo "type: lm"
} >lm.yml
ymls="tiny cpu large lm"
if "$wengert" train --config bpe.yml --model bpe.2 --after 1u 2>err; then
    rm -r bpe.2
    ymls="$ymls bpe"
else
    says err "without SentencePiece"
fi
for yml in $ymls; do
    code 0 train --config $yml.yml --model $yml.2 --after 2u
    cp -a $yml.2 $yml.4
    code 0 train --model $yml.4 --after 4u; says err "resuming after update 2"
done
head -n 2 train.en >input
head -n 2 train.de >references
[ $failures -eq 0 ] || exit 1

# ---- one point ----
# attempt FAILURE: the command in $command, in a fresh copy m of the folder $from
attempt() {
    rm -rf m log
    [ -z "$from" ] || cp -a $from m
    timeout 60 env WENGERT_FAIL="$1" WENGERT_FAIL_LOG="$work/log" LD_PRELOAD="$library" \
        "$wengert" $command <input >out 2>err
    got=$?
}

# crashed_in_a_library: it did, in one that docs/reliability.md names
crashed_in_a_library() {
    [ $got -eq 86 ] && grep -qE '/lib(dnnl|sentencepiece|protobuf-lite|protobuf)\.so' log
}

# says_why FAILURE: a message, for files with the cause and the file
says_why() {
    [ -s err ] || grep -q FAIL out || return 1
    [ $what = files ] || return 0
    case $1 in
    EIO*) cause="Input/output error" ;;
    ENOSPC*) cause="No space left on device" ;;
    EMFILE*) cause="Too many open files" ;;
    *) cause="Interrupted system call" ;;
    esac
    grep -qF "$cause" err || return 1
    case $1 in *+) return 0 ;; esac # another call may have failed for good
    read -r _ path _ <log
    file=${path##*/}
    folder=${path%/*}
    folder=${folder#"$work"/}
    case $file in
    .wengert-*.tmp) grep -q "wengert: $folder/[a-z0-9.-]*: " err ;; # the file that it would have become
    out) grep -qF "standard output" err ;;
    *) grep -qF -- "$file" err || { [ "$file" = input ] && grep -qF "standard input" err; } ;;
    esac
}

# same_tensors A B
same_tensors() {
    for file in model average optimizer; do
        cmp -s "$1/$file.safetensors" "$2/$file.safetensors" || return 1
    done
}

# judge FAILURE: what the attempt has left
judge() {
    points=$((points + 1))
    checks=$((checks + 1))
    if [ $got -eq 0 ]; then
        unchanged || fail "$command, $1: exit code 0, and not what it does otherwise"
    elif crashed_in_a_library; then
        crashed=$((crashed + 1))
        cat log >>crashes
    elif [ $got -ge 86 ]; then
        fail "$command, $1: exit code $got: $(cat log)"
    else
        failed=$((failed + 1))
        says_why "$1" || fail "$command, $1: exit code $got, and not why: $(cat log)"
    fi
    usable "$1" || fail "$command, $1: the folder: $(cat log)"
}

# ---- all points ----
# fail_all KIND WAYS: KIND is empty for memory; WAYS are "" for once and "+" for all after
fail_all() {
    attempt "$1${1:+:}0"
    [ $got -eq 77 ] && exit 77
    [ $got -eq 0 ] && unchanged || { fail "$command"; return; }
    total=$(cat log)
    step=$(((total + most - 1) / most))
    [ $step -gt 0 ] || step=1
    at=$((1 + step / 2))
    while [ $at -le "$total" ]; do
        for way in $2; do
            attempt "$1${1:+:}$at${way#once}"
            judge "$1 $at${way#once}"
        done
        at=$((at + step))
    done
    echo "${from:-no folder}: $command: $1 $total calls; $points points so far"
}

# work FROM COMMAND...: what `unchanged` and `usable` say, they say of this command
work() {
    from=$1
    shift
    command=$*
    if [ $what = memory ]; then
        fail_all "" "once +"
        return
    fi
    for kind in EIO ENOSPC EMFILE; do
        fail_all $kind "once +"
    done
    fail_all EINTR once
    fail_all SHORT "once +"
}

# ---- training: from nothing, and resumed ----
train() {
    yml=$1 from=$2
    unchanged() {
        same_tensors m $yml.4 && { [ -z "$from" ] || grep -q "resuming after update 2" err; }
    }
    usable() {
        "$wengert" train --config $yml.yml --model m --after 4u >again 2>&1 || return 1
        [ -z "$from" ] || grep -q "resuming after update [234]" again || return 1
        same_tensors m $yml.4 && "$wengert" info m >again 2>&1
    }
    work "$from" train --config $yml.yml --model m --after 4u
}
train cpu ""
train cpu cpu.2
if [ $what = memory ]; then
    train tiny ""
    train tiny tiny.2
    train lm ""
    train large large.2
fi
[ ! -e bpe.4 ] || train bpe ""

# ---- what only reads a folder ----
reads() {
    unchanged() { cmp -s out expected; }
    usable() { [ -z "$from" ] || diff -r $from m >again; }
    from=$1
    shift
    rm -rf m
    [ -z "$from" ] || cp -a $from m
    "$wengert" "$@" <input >expected 2>err || fail "$*"
    work "$from" "$@"
}
reads cpu.4 translate --model m
reads cpu.4 score --model m input references
reads cpu.4 info m
reads "" bleu references
if [ $what = memory ]; then
    reads tiny.4 translate --model m
    reads tiny.4 score --model m input references
    reads tiny.4 evaluate --model m input references
    reads cpu.4 evaluate --model m input references
    reads lm.4 evaluate --model m input
    reads lm.4 generate --model m --length 8
    reads lm.4 generate --model m --length 8 --backend cpu
    [ ! -e bpe.4 ] || reads bpe.4 translate --model m
    reads "" graph mlp --grad
    reads "" graph mlp --plan --backend cpu
    reads "" graph mlp --plan
    reads "" gradcheck mlp --elements 1
    reads "" ops
    reads "" graph mlp --costs
    reads "" graph mlp --step --html /dev/stdout
    "$wengert" graph mlp --grad -o mlp.wg
    reads "" graph mlp.wg
    reads "" diff mlp.wg mlp.wg
    reads "" diff mlp --dtypes f64,f32 --backend cpu
    reads "" diff mlp --backends cpu,cpu --grad
    reads "" devices --no-limits --json
    "$wengert" export mlp mlp.onnx && reads "" onnx mlp.onnx
    printf "wengert-graph 1\n%%x = input : f32[2,1] 'x'\n%%y = neg(%%x)\noutput 'y' = %%y\n" >neg.wg
    header="{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1)}"
    printf "\\223NUMPY\\1\\0\\$(printf %03o ${#header})\\0%s\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0" "$header" >x.npy
    reads "" run neg.wg --input x=x.npy --backend cpu
fi

# ---- what makes a file or a folder ----
makes() {
    unchanged() { diff -r made expected; }
    usable() {
        rm -rf made
        [ -z "$from" ] || diff -r $from m >again
    }
    from=$1
    shift
    rm -rf m made expected
    [ -z "$from" ] || cp -a $from m
    "$wengert" "$@" <input >out 2>err || fail "$*"
    mv made expected
    work "$from" "$@"
}
if [ $what = memory ]; then
    makes "" export mlp made
    makes tiny.4 export m made
    makes tiny.4 export --to torch m made
    mv expected torch
    makes "" import --from torch torch --model made
    rm -r expected
fi

# ---- what prints times: the same but for the numbers, and in any order ----
without_numbers() { sed 's/: [-+.e0-9]*//g' | tr ',{}[]' '\n\n\n\n\n' | sort; }
timed() {
    unchanged() { without_numbers <out | cmp -s - expected; }
    usable() { :; }
    "$wengert" "$@" <input >out 2>err || fail "$*"
    without_numbers <out >expected
    work "" "$@"
}
if [ $what = memory ]; then
    timed bench op matmul --no-limits --runs 1 --shape 5x6,6x7 --grad --backend cpu --json
    timed bench mlp --runs 1 --step --profile --nodes 1000 --backend cpu --json
    timed bench mlp --runs 1 --step --profile --nodes 1000 --json
    timed bench train-step --preset tiny --batch 2 --length 5 --vocabulary 50 --layers 1 --no-limits --runs 1 --profile \
        --backend cpu --json
fi

# ---- pictures, by a program in the place of gnuplot that writes what it is given ----
if [ $what = memory ]; then
    mkdir bin
    printf '#!/bin/sh\necho "<svg/>"\nexec cat\n' >bin/gnuplot # only what begins like a picture is replaced
    chmod +x bin/gnuplot
    PATH=$work/bin:$PATH
    draws() {
        unchanged() { cmp -s picture.svg expected; }
        usable() { rm -f picture.svg && diff -r $from m >again; }
        from=cpu.4
        rm -rf m
        cp -a $from m
        "$wengert" "$@" <input >out 2>err && [ -s picture.svg ] || fail "$*"
        mv picture.svg expected
        work $from "$@"
    }
    draws plot m -o picture.svg
    draws translate --model m --attention-plot picture.svg
fi

# ---- average: the old file or the new one ----
cp -a cpu.4 averaged
of_cpu=cpu.4/checkpoints/model
"$wengert" average new.safetensors $of_cpu-00000003.safetensors $of_cpu-00000004.safetensors >out
"$wengert" average averaged/average-2.safetensors $of_cpu-00000003.safetensors >out # only a mean is replaced
unchanged() { cmp -s m/average-2.safetensors new.safetensors; }
usable() {
    unchanged || cmp -s m/average-2.safetensors averaged/average-2.safetensors || return 1
    rm m/average-2.safetensors
    case $1 in *+) rm -f m/.wengert-*.tmp ;; esac # it could not be removed either
    diff -r m cpu.4 >again
}
work averaged average --last 2 m/average-2.safetensors m

# ---- average over weights that are no mean: they stay, whatever fails ----
if [ $what = files ]; then
    from=cpu.4 command="average m/model.safetensors $of_cpu-00000003.safetensors"
    attempt EIO:0
    [ $got -eq 2 ] && says err "weights, but no mean" || fail "$command: exit code $got"
    total=$(cat log) at=1
    while [ $at -le "$total" ]; do
        for way in "" +; do
            attempt EIO:$at$way
            points=$((points + 1)) failed=$((failed + 1)) checks=$((checks + 1))
            [ $got -ne 0 ] && [ -s err ] && cmp -s m/model.safetensors cpu.4/model.safetensors ||
                fail "$command, EIO:$at$way: exit code $got: $(cat log)"
        done
        at=$((at + 1))
    done
    [ $at -gt 3 ] || fail "$command: $total calls"
fi

[ ! -e crashes ] || sort crashes | uniq -c
echo "$points points, $failed failed, $crashed crashed in a library"
[ $failed -gt $((points / 4)) ] || fail "too few points failed"
finish 50
