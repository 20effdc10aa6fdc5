#!/bin/sh
# test_mpi.sh WENGERT EXAMPLE ENGINE LONG MPIRUN...: `wengert train --distributed ENGINE` on several processes of this
# machine, started by MPIRUN.  LONG is "all", or "bits" for the number of ranks alone.
wengert=$1 example=$2 engine=$3 long=$4
shift 4
. "$(dirname "$0")/../cli/checks.sh"
launcher=$*
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_btl_base_warn_component_unused=0 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
    OMP_WAIT_POLICY=passive
# What the libraries of an MPI say where there is no /sys, as in a container, is not the program's.
export HWLOC_HIDE_ERRORS=2 UCX_LOG_LEVEL=fatal

settings="--numbers 300 --vocab-kind chars --d-model 16 --d-ff 32 --heads 2 --encoder-layers 1 --decoder-layers 1
    --dropout 0.1 --mini-batch-words 512 --length-multiple 16 --optimizer-delay 4 --clip-norm 1 --lr-warmup 4
    --learn-rate 0.01 --lr-schedule inverse-sqrt --exponential-smoothing 0.1 --threads 1 --disp-freq 5u
    --save-freq 10u --valid-freq 0"

# alone FOLDER OPTION...: one process, without MPI
alone() {
    folder=$1
    shift
    # shellcheck disable=SC2086 # options
    code 0 train "$folder" $settings --quiet "$@"
}

# together EXPECTED RANKS FOLDER OPTION...: several; the expected exit code is 0 or "not 0"
together() {
    expected=$1 ranks=$2 folder=$3
    shift 3
    # shellcheck disable=SC2086
    $launcher -n "$ranks" "$wengert" train --distributed "$engine" "$folder" $settings "$@" <input >out 2>err
    got=$?
    checks=$((checks + 1))
    case $expected in
    0) [ $got -eq 0 ] || fail "$ranks ranks: exit code $got" ;;
    *) [ $got -ne 0 ] || fail "$ranks ranks: exit code 0" ;;
    esac
}

# in_background RANKS FOLDER OPTION...: the same, with its output in `said`, until it has reported; $launched is the launcher
in_background() {
    ranks=$1 folder=$2
    shift 2
    # shellcheck disable=SC2086
    $launcher -n "$ranks" "$wengert" train --distributed "$engine" "$folder" $settings "$@" <input >said 2>&1 &
    launched=$!
    for _ in $(seq 600); do
        [ "$(cat "$folder/metrics.jsonl" 2>/dev/null | wc -l)" -ge 4 ] && return
        sleep 0.1
    done
    fail "no progress in $folder"
}

# updates FOLDER: those of its checkpoint
updates() {
    sed -n 's/.*"update": *\([0-9]*\).*/\1/p' "$1/progress.json" | head -1
}

# same FOLDER FOLDER: the same parameters, averages and moments, bit for bit
same() {
    for file in model average optimizer; do
        checks=$((checks + 1))
        cmp -s "$1/$file.safetensors" "$2/$file.safetensors" || fail "$file of $1 and $2 differ"
    done
}

# any number of ranks gives the same bits
alone one --after 30u
together 0 2 two --after 30u
holds "nothing on standard output" ! -s out
same one two
together 0 4 four --after 30u
same one four

# each with a part of the moments; with them resumed by one process
together 0 4 parts --after 15u --shard-optimizer
says err "each of 4 ranks has a part of the optimizer's moments"
code 0 train parts --after 30u --shard-optimizer=false --quiet
same one parts

if [ "$long" = all ]; then
    # messages of bf16: the same bits in any buckets, and others than those of f32
    together 0 2 rounded --after 10u --wire bf16
    together 0 2 rounded_again --after 10u --wire bf16 --bucket-size 4K
    same rounded rounded_again
    alone exact --after 10u
    cmp -s rounded/model.safetensors exact/model.safetensors
    holds "numbers of 16 bits are rounded" $? -ne 0
    together "not 0" 2 coarse --after 10u --wire f16
    says err "--wire"

    # stopped on 4, resumed on 2, as if it had never stopped; only one process prints
    in_background 4 stopped --after 1000000u
    code 0 stop stopped
    wait $launched
    holds "a stopped training ends well" $? -eq 0
    says said "as its file stop asked"
    n=$(updates stopped)
    holds "updates before the stop" "$n" -ge 10
    holds "reports of one update" "$(grep -c 'update 5:' said)" -eq 1
    code 2 stop stopped
    says err "no training runs in this folder"
    together 0 2 stopped --after $((n + 10))u
    alone never --after $((n + 10))u
    same never stopped

    # a rank that is killed ends the job, and the same command goes on
    in_background 2 killed --after 1000000u
    for child in $(cat /proc/$launched/task/*/children); do
        victim=$child
    done
    begin=$(date +%s)
    kill -KILL "$victim"
    wait $launched
    holds "a job whose rank was killed fails" $? -ne 0
    holds "seconds until it ends" $(($(date +%s) - begin)) -le 30
    n=$(updates killed)
    together 0 2 killed --after $((n + 10))u
    alone never_killed --after $((n + 10))u
    same never_killed killed

    # what differs is found before the first update; not by the colon of mpirun, at which Open MPI 5.0.7 breaks down
    # shellcheck disable=SC2016,SC2086
    $launcher -n 2 sh -c '"$@" --seed "$((1 + ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}))"' - \
        "$wengert" train --distributed "$engine" other $settings <input >out 2>err
    holds "ranks of different settings fail" $? -ne 0
    says err "has another seed than rank 0"
    holds "nothing was trained" ! -e other/progress.json
    together "not 0" 3 odd --after 30u
    says err "--optimizer-delay: expected a multiple of 3"

    # BLEU of translations that are shared out
    alone bleu --after 5u --valid-freq 5u --valid-metrics "bleu cross-entropy"
    together 0 2 shared --after 5u --valid-freq 5u --valid-metrics "bleu cross-entropy"
    sed -n 's/"seconds":[^,]*,//; /"valid"/p' bleu/metrics.jsonl >expected
    sed -n 's/"seconds":[^,]*,//; /"valid"/p' shared/metrics.jsonl >got
    holds "one validation" "$(lines got)" -eq 1
    cmp -s expected got || fail "validation on 2 ranks: $(cat got), on one: $(cat expected)"
    same bleu shared
fi

# a program of one's own
$launcher -n 3 "$example" "$engine" <input >out 2>err
holds "the example" $? -eq 0
has_line out "$(grep '3 processes of 80 points' out)"
holds "only one process prints" "$(lines out)" -eq 1

echo "$checks checks, $failures failures"
[ "$failures" -eq 0 ]
