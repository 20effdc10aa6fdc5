#!/bin/sh
# test_cli_shared.sh WENGERT SECONDS: two processes that train and one that averages work in one folder at the same time,
# for so long, and until each of them has done something.  Each run either does its work or is refused with a message; then the folder holds what one undisturbed
# training of as many updates makes, to the last bit.  Now and then a training is killed.
wengert=$1 seconds=$2
. "$(dirname "$0")/checks.sh"
export LC_ALL=C
{
    small_settings 1u | grep -v save-freq
    echo "save-freq: 1u"
    echo "lr-updates: 100000" # not the limit, which each run has set anew
    echo "keep: 3"
} >small.yml
until=$(($(date +%s) + seconds))
count() { # WORD LOG...: outcomes of that kind
    word=$1
    shift
    cat "$@" 2>/dev/null | grep -c "$word"
}
going() {
    [ "$(date +%s)" -lt $until ] || [ "$(count trained first second)" -lt 3 ] ||
        [ "$(count refused first second)" -lt 1 ] || [ "$(count averaged mean)" -lt 1 ]
}

# note LOG GOT DONE REFUSAL...: counts an outcome: done, refused with one of these messages, or anything else
note() {
    log=$1 got=$2 done=$3
    shift 3
    case $got in
    0) echo "$done" >>"$log"; return ;;
    137) echo killed >>"$log"; return ;;
    esac
    for refusal in "$@"; do
        grep -qF -- "$refusal" "err.$log" && echo refused >>"$log" && return
    done
    { echo "unclear: exit code $got"; cat "err.$log"; } >>"$log"
}

# trains LOG: to the next update but one or two, again and again; every seventh run is killed at some moment
trains() {
    runs=0
    while going; do
        runs=$((runs + 1))
        at=$(sed -n 's/.*"update": *\([0-9]*\).*/\1/p' shared/progress.json 2>/dev/null | head -n 1)
        "$wengert" train --config small.yml --model shared --after $((${at:-0} + 1 + runs % 2))u >out.$1 2>err.$1 &
        child=$!
        [ $((runs % 7)) -ne 0 ] || { sleep 0.0$((runs % 10)); kill -KILL $child 2>/dev/null; }
        wait $child 2>/dev/null
        note $1 $? trained "is training in this folder"
    done
}

# averages LOG: the mean of the last two checkpoints, again and again
averages() {
    while going; do
        "$wengert" average --last 2 shared/average-2.safetensors shared >out.$1 2>err.$1
        note $1 $? averaged "not a model folder" "checkpoint" "No such file or directory"
    done
}

trains first & one=$!
trains second & two=$!
averages mean & three=$!
wait $one $two $three
for log in first second mean; do
    checks=$((checks + $(lines $log)))
    if grep -A9 unclear $log >out; then
        fail "$log: an outcome that says nothing"
    fi
done
trained=$(count trained first second) refused=$(count refused first second) averaged=$(count averaged mean)

code 0 info shared
updates=$(sed -n 's/^ *update  *//p' out)
code 0 train --model shared --after $((updates + 1))u; says err "resuming after update $updates"
code 0 train --config small.yml --model alone --after $((updates + 1))u
for file in model optimizer; do
    checks=$((checks + 1))
    cmp shared/$file.safetensors alone/$file.safetensors >out 2>&1 || fail "$file.safetensors after $updates updates"
done
code 0 translate --model shared --weights average-2.safetensors
holds "no temporary file is left" -z "$(ls -A shared shared/checkpoints | grep '^\.wengert.*tmp$')"
echo "$updates updates: $trained trainings, $refused refused, $(count killed first second) killed; $averaged means, $(count refused mean) refused"
holds "trainings" "$trained" -ge 3
holds "refusals" "$refused" -ge 1
holds "means" "$averaged" -ge 1
finish 12
