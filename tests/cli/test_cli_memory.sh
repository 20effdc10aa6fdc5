#!/bin/sh
# test_cli_memory.sh WENGERT: limits of memory, of each command that has one: what they take and refuse, that plans keep to
# them, that a limit that is too small names one that will do, and that results do not depend on it.
wengert=$1
. "$(dirname "$0")/checks.sh"
export OMP_NUM_THREADS=1

# What follows the last "are enough" limit's words in err: the bytes that would do.
enough() {
    sed -n 's/.*with recomputation \([0-9]*\) bytes are enough.*/\1/p' err
}

# limits OPTION SHAPES SLACK COMMAND...: the option of a command that plans and says what is computed again.  With it,
# bytes that are none are refused; those that are too few, with the number that would do; that number and any above it do.
# A command that plans for two shapes may name another number for the second; one that counts its process, whose size is
# rounded to 4 MiB and differs from run to run, may need as much more.
limits() {
    option=$1 shapes=$2 slack=$3
    shift 3
    for value in "" x -1 512X "512 M" M 0x10 1e30 5MBs . .x; do
        code 2 "$@" "$option" "$value"
        says err "$option: expected bytes, such as 512M or 2G, got '$value'"
    done
    code 1 "$@" "$option" 1000
    says err "a memory limit of 1000 bytes is too small: with recomputation "
    says err "for parameters, states, inputs and constants, "
    says err ".  The largest of these: "
    least=$(enough)
    holds "$*: a number that would do" "${least:-0}" -gt 1000
    if [ "$shapes" = 2 ] && ! "$wengert" "$@" "$option" "$least" >out 2>err; then
        second=$(enough)
        holds "$*: the second shape needs more" "${second:-0}" -gt "$least"
        least=$second
    fi
    least=$((least + slack))
    code 0 "$@" "$option" "$least"
    says out "again"
    code 0 "$@" "$option" "$((least / 1024 + 1))K"; says out "again"
    code 1 "$@" "$option" "$((least / 2))"; says err "a memory limit of $((least / 2)) bytes is too small"
    for value in 0 4G 4g 4GiB 4GB 1.5T .5t; do # 0: no limit
        code 0 "$@" "$option" $value
        holds "$*: $value is plenty" -z "$(grep again out)"
    done
}

limits --memory-limit 1 0 graph encoder --step --memory-timeline
least=$("$wengert" graph transformer --step --memory-limit 1 2>&1 | sed -n 's/.*with recomputation \([0-9]*\) bytes.*/\1/p')
code 0 graph transformer --step --memory-timeline --memory-limit "$least" # of whose scopes the order is not that of the peak
sed -n '/^computed again/,$p' out | sed -n '2,$s/^ *\([0-9.]*\) MiB  .*[^s]$/\1/p' >again
holds "scopes of what is computed again" "$(wc -l <again)" -gt 3
checks=$((checks + 1)); sort -rn again | cmp -s - again || fail "what is computed again: not the most first"
{
    echo "wengert-graph 1
%t0 = input {shape=[8192,128]} : f32[8192,128] 'x'"
    for i in 1 2 3 4 5 6; do
        echo "%w$i = parameter {shape=[128,128], init=xavier, scale=1} : f32[128,128] 'w$i'
%m$i = matmul(%t$((i - 1)), %w$i) : f32[8192,128]
%t$i = tanh(%m$i) : f32[8192,128]"
    done
    echo "%loss = mean(%t6) : f32[]
output 'loss' = %loss"
} >deep.wg # which could be computed again: 24 MiB
limits --memory 1 $((4 << 20)) bench deep.wg --step --runs 1

# what the table counts is within the limit
least=$("$wengert" graph encoder --step --memory-limit 1 2>&1 | sed -n 's/.*with recomputation \([0-9]*\) bytes.*/\1/p')
code 0 graph encoder --step --memory-limit "$least" --memory-timeline
kib=$(sed -n 's/^memory of a run: \([0-9]*\)\.\([0-9]*\) MiB/\1 \2/p' out | awk '{ print int(($1 + $2 / 100) * 1024) }')
holds "the memory of a run" "$kib" -gt 0
holds "the memory of a run is within its limit" "$kib" -le "$((least / 1024 + 6))"

# the same as a picture, where gnuplot is installed
code 2 graph encoder --step --memory-plot memory.gif; says err "expected a file named .svg or .png"
if command -v gnuplot >/dev/null; then
    code 0 graph encoder --step --memory-plot memory.svg; says memory.svg "</svg>"; says memory.svg "encoder"
    code 0 graph encoder --step --memory-plot memory.png; says memory.png "PNG"
    code 4 graph encoder --step --memory-plot nowhere/memory.svg
    cat >far.wg <<'END' # whose scope has too long a name for the legend
wengert-graph 1
%x = input {shape=[64,64]} : f32[64,64] 'x'
%a = exp(%x) : f32[64,64] in a_scope_whose_name_goes_on_and_on_until_there_is_no_room/the_end_of_it
%b = sum(%a) : f32[]
output 'b' = %b
END
    code 0 graph far.wg --memory-plot memory.svg; says memory.svg "_no_room/the_end_of_it<"
    holds "a long name is shortened in the legend" "$(grep -c a_scope_whose memory.svg)" -eq 0
else
    code 1 graph encoder --step --memory-plot memory.svg; says err "gnuplot not found"
fi

if "$wengert" train --help >out 2>err; then # built with training
    limits --memory 2 $((4 << 20)) bench train-step --preset tiny --batch 16 --length 24 --vocabulary 50 --no-limits --runs 1
    code 0 bench train-step --preset tiny --batch 16 --length 24 --vocabulary 50 --no-limits --runs 1 --memory "$least" --json
    again=$(sed -n 's/.*"again_nodes": *\([0-9]*\).*/\1/p' out | head -1)
    holds "nodes that are computed again, in JSON" "${again:-0}" -gt 0
    if (ulimit -v 4000000 && "$wengert" --version) >/dev/null 2>&1; then # not so with sanitizers, which shadow memory
        peak=$(sed -n 's/.*"resident_peak_bytes": *\([0-9]*\).*/\1/p' out | head -1)
        holds "the peak of the process" "${peak:-0}" -gt 1000000
        holds "the peak of the process is within the limit" "${peak:-0}" -le "$least"
    fi

    small_settings 0u >small.yml
    for value in x -1 512X; do
        code 2 train --model m --config small.yml --memory $value
        says err "--memory: expected bytes, such as 512M or 2G, got '$value'"
    done
    code 0 train --memory 1536M --dump-config; says out "memory: 1536M "
    code 0 train --memory 2GiB --dump-config;  says out "memory: 2G "
    code 0 train --memory .5g --dump-config;   says out "memory: 512M "
    code 0 train --memory 2MB --dump-config;   says out "memory: 2000000 "
    code 0 train --dump-config;                says out "memory: 0 "
    code 1 train --model m --config small.yml --after 3u --memory 1000 --threads 64
    says err "; fewer threads than 64 may need less scratch.  The largest of these: "
    code 1 train --model m --config small.yml --after 3u --memory 1000
    says err "a memory limit of "; says err " is too small: with recomputation "
    holds "threads are no reason" -z "$(grep threads err)"
    rm -rf m

    # the parameters of a run are those of one without a limit; the limit may change when it is resumed
    least=$(enough)
    holds "a limit for training" "${least:-0}" -gt 1000
    limit=$((2 * least)) # another shape may need more
    code 0 train --model whole --config small.yml --after 3u
    code 0 train --model small --config small.yml --after 3u --memory $limit
    holds "equal weights" -s whole/model.safetensors
    cmp whole/model.safetensors small/model.safetensors >out 2>&1; is_equal=$?
    holds "equal weights after 3 updates" $is_equal -eq 0
    code 0 train --model whole --after 6u --memory $limit
    code 0 train --model small --after 6u --memory 0
    cmp whole/model.safetensors small/model.safetensors >out 2>&1; is_equal=$?
    holds "equal weights after 6 updates" $is_equal -eq 0
    code 1 train --model other --config small.yml --after 1u --memory $((least / 2))
    says err "a memory limit of $((least / 2)) bytes is too small"
fi

finish 90
