#!/bin/sh
# test_cli_diff.sh WENGERT [pictures]: where the numbers of two runs part, on graphs whose numbers are odd; and the options
# that every command takes for a graph.
wengert=$1 pictures=$2
. "$(dirname "$0")/checks.sh"

# Infinite in one dtype, finite in the other; the same NaN and infinity in both; no elements at all; two results.
cat >odd.wg <<'END'
wengert-graph 1
%x = constant {data=f32[1, -1, 0, 70000]} : f32[4]
%l = log(%x)
%d = add(%x, %x)
%v, %i = topk(%d) {k=2, axis=0}
%e = slice(%x) {start=[1], size=[0], step=[1]}
%z = neg(%e)
output 'l' = %l
output 'v' = %v
output 'z' = %z
END
code 1 diff odd.wg --dtypes f32,f16
says out "7 values compared, 3 of them equal in every element; 4 lost more than 2 of 3.3 digits"
says out "the results diverge at %0: constant(): 3.3 of 3.3 digits lost, its operands 0.0; 1 of 4 elements (odd.wg:2)"
says out "[3]                  70000             inf"
code 1 diff odd.wg --dtypes f16,f32; says out "[3]                    inf           70000"
code 0 diff odd.wg --dtypes f32,f32; says out "7 of them equal"

# A mask makes the operand of softmax large, and its small results are no zeros for that: 2050 is 2048 in bf16.
cat >mask.wg <<'END'
wengert-graph 1
%x = constant {data=f32[-60000, 0, 2049, 2050]} : f32[4]
%s = softmax(%x) {axis=0}
output 's' = %s
END
code 1 diff mask.wg --dtypes f16,bf16; says out "the results diverge at %1: softmax(%0)"
code 1 diff odd.wg --dtypes f32,f16 --worst 0
checks=$((checks + 1)); [ "$(lines out)" = 3 ] || fail "--worst 0 lists values"
code 0 diff odd.wg --dtypes f32,f16 --digits 4; says out "0 lost more than 4 of 3.3 digits"
code 0 diff odd.wg --dtypes f64,bf16            # 70000 is no integer of bf16, but 2 digits are left
if [ -n "$pictures" ]; then
    code 1 diff odd.wg --dtypes f32,f16 --svg odd.svg; says odd.svg "3.3 digits lost"
fi

# Whole numbers have no digits: they are the same or all is lost.
cat >near.wg <<'END'
wengert-graph 1
%x = constant {data=f32[1, 1.0001, 0.9]} : f32[3]
%i = argmax(%x) {axis=0}
%s = sub(%x, %x)
output 'i' = %i
output 's' = %s
END
code 1 diff near.wg --dtypes f32,bf16
says out "the results diverge at %1: argmax(%0): all of 2.4 digits lost, its operands 0.0; 1 of 1 elements"
code 1 diff near.wg --dtypes bf16,f32 --bits; says out ", 2 not"
if [ -n "$pictures" ]; then
    code 1 diff near.wg --dtypes f32,bf16 --png near.png --svg near.svg; says near.svg "all digits lost"
    code 4 diff near.wg --dtypes f32,bf16 --png /nonexistent/near.png
fi
printf "wengert-graph 1\n%%x = input : i64[3] 'x'\noutput 'y' = %%x\n" >ids.wg
code 0 diff ids.wg --dtypes f64,f32; says out "1 values compared, 1 of them equal in every element"

# What a fused kernel does not write cannot be compared, unless nothing is fused.
code 0 diff encoder --grad --backends simd,cpu --digits 4; says out "values are inside fused kernels of a run and not compared; see"
hidden=$(sed -n 's/ values are inside fused kernels.*//p' out)
compared=$(sed -n 's/ values compared.*//p' out)
code 0 diff encoder --grad --backends simd,cpu --digits 4 --no-fuse
checks=$((checks + 1)); ! grep -q "inside fused" out || fail "--no-fuse hides values"
holds "with --no-fuse all are compared" "$(sed -n 's/ values compared.*//p' out)" -ge $((hidden + compared))

# Leaves that differ in what they hold or in their shapes.
leaves() {
    printf "wengert-graph 1\n%%x = input : f32[2] 'x'\n$1\n%%y = add(%%x, %%c)\noutput %%y\n"
}
leaves "%%c = constant {data=f32[1, 2]} : f32[2]" >a.wg
leaves "%%c = constant {data=f32[1, 3]} : f32[2]" >b.wg
code 1 diff a.wg b.wg; says out "differ at node 1: attribute data="
leaves "%%c = state : f64[2] 'c'" >b.wg
code 3 diff a.wg b.wg; says err "b.wg:4"            # f32 plus f64
printf "wengert-graph 1\n%%x = input : f32[2] 'x'\noutput %%x\n" >a.wg
printf "wengert-graph 1\n%%x = input : f32[3] 'x'\noutput %%x\n" >b.wg
code 1 diff a.wg b.wg; says out "differ at node 0: "

# Options of the graph
many() {
    i=0
    while [ $i -lt 40 ]; do
        printf '%s ' "$1"
        i=$((i + 1))
    done
}
# shellcheck disable=SC2046
code 2 gradcheck mlp $(many "--range labels=3"); says err "--range given more than 32 times"
# shellcheck disable=SC2046
code 2 graph mlp $(many "--dim N=3");            says err "--dim given more than 32 times"
for command in "graph mlp" "gradcheck mlp" "bench mlp" "diff mlp mlp"; do
    # shellcheck disable=SC2086
    code 2 $command --dim N=3;                   says err "--dim: only a FILE.onnx has symbolic dimensions"
    # shellcheck disable=SC2086
    code 2 $command --ops x.so;                  says err "--ops: only a FILE.wg is read with the ops of a shared object"
done
code 2 graph mlp --dim =3;                       says err "--dim: expected NAME=N, got '=3'"
code 2 graph mlp --dim N;                        says err "--dim: expected NAME=N, got 'N'"
code 2 graph mlp --dim N=x;                      says err "--dim: expected a whole number from 0 to 2147483647, got 'x'"
code 2 gradcheck mlp --range =3;                 says err "--range: expected NAME=N, got '=3'"
code 2 gradcheck mlp --range x=3;                says err "--range: mlp has no input 'x' of integers"
code 2 ops exp --details;                        says err "--details prints all ops and takes no name"
code 2 ops exp --markdown;                       says err "--markdown prints all ops and takes no name"

finish 40
