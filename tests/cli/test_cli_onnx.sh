#!/bin/sh
# test_cli_onnx.sh WENGERT: sizes and numbers that a command gives to an ONNX file, and exit codes of files that are wrong.
wengert=$1
. "$(dirname "$0")/checks.sh"

# Messages of the format, all shorter than 128 bytes and without the byte 0, into $m.
newline='
'
character() {
    case $1 in
    10) c=$newline ;; # which $() would cut off
    *) c=$(printf "\\$(printf %03o "$1")") ;;
    esac
}
# message FIELD BYTES
message() {
    character $(($1 * 8 + 2))
    tag=$c
    character ${#2}
    m=$tag$c$2
}
# number FIELD N
number() {
    character $(($1 * 8))
    tag=$c
    character "$2"
    m=$tag$c
}
# value FIELD NAME TYPE [SIZE...]: an input (field 11) or output (12); without sizes its shape is unknown
value() {
    field=$1 name=$2 type=$3 dims=
    shift 3
    for size; do
        case $size in
        [0-9]*) number 1 "$size" ;;
        *) message 2 "$size" ;;
        esac
        message 1 "$m"
        dims=$dims$m
    done
    number 1 "$type"
    all=$m
    [ $# -eq 0 ] || { message 2 "$dims"; all=$all$m; }
    message 1 "$all"
    message 2 "$m"
    all=$m
    message 1 "$name"
    message "$field" "$m$all"
}
# model FILE OP OPERAND...: y = OP(operands), with the values in $values and an output y of unknown shape
model() {
    file=$1 op=$2 node=
    shift 2
    for operand; do
        message 1 "$operand"
        node=$node$m
    done
    message 2 y
    node=$node$m
    message 4 "$op"
    message 1 "$node$m"
    graph=$m
    value 12 y 1
    message 7 "$graph$values$m"
    graph=$m
    number 2 17 # opset
    message 8 "$m"
    opset=$m
    number 1 8 # IR version
    printf '%s' "$m$opset$graph" >"$file"
}

# Numbers that must be known
value 11 x 1 2 3; values=$m
value 11 s 7 2;   values=$values$m
model known.onnx Reshape x s
asked="must be known while the file is read, and depends on 's': give its numbers as a known input (--known"
code 1 graph known.onnx;                         says err "$asked"
code 0 onnx known.onnx
says out "the only kind of op is supported, where the numbers of 's' are known (--known)"
code 0 graph known.onnx --known s=3,2;           says out "f32[3,2] 'y'"
code 0 onnx known.onnx --graph --known s=6,1;    says out "f32[6,1] 'y'"
code 0 diff known.onnx known.onnx --known s=3,2
code 0 export known.onnx out.onnx --known s=-1,1
code 0 onnx out.onnx;                            says out "float [6,1]"
code 3 graph known.onnx --known s=4,2;           says err "[2,3] has 6 elements, [4,2] has 8"
code 2 graph known.onnx --known s=3,2,1;         says err "known input 's': expected numbers for [2], got 3"
code 2 graph known.onnx --known s=3,0.5;         says err "known input 's': int64 cannot hold 0.5"
code 2 graph known.onnx --known q=3;             says err "no input 'q'; did you mean 'x'?"
for wrong in s =3 s=x s=3, s=,3 "s=3 2"; do
    code 2 graph known.onnx --known "$wrong";    says err "--known: expected NAME=N,..., got '$wrong'"
done
for command in "graph mlp" "run mlp" "gradcheck mlp" "bench mlp" "diff mlp mlp"; do
    # shellcheck disable=SC2086
    code 2 $command --known s=3;                 says err "--known: only a FILE.onnx has inputs to be known"
done
code 2 onnx known.onnx --known s=3,2;            says err "--known has no effect without --graph or --svg"
many=
while [ ${#many} -lt 900 ]; do many="$many --known s=3"; done
# shellcheck disable=SC2086
code 2 graph known.onnx $many;                   says err "--known given more than 32 times"
# shellcheck disable=SC2086
code 2 onnx known.onnx --graph $many;            says err "--dim and --known given more than 64 times"

# The command run takes numbers of the other inputs from files.
one='\0\0\200\077' two='\0\0\0\100'
npy x.npy '<f4' '(2, 3)' "$one$two$one$two$one$two"
npy s.npy '<i8' '(2,)' '\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0'
code 0 run known.onnx --input x=x.npy --known s=3,2
row="y      f32   [3,2]                     1            2          1.5  1 2 1 2 1 2"
has_line out "$row"
# what must be known is taken from them too
code 0 run known.onnx --input x=x.npy --input s=s.npy; has_line out "$row"; holds "no message" ! -s err
npy four.npy '<i4' '(2,)' '\3\0\0\0\2\0\0\0'
code 0 run known.onnx --input x=x.npy --input s=four.npy; has_line out "$row"
npy wrong.npy '<i4' '(2,)' '\4\0\0\0\2\0\0\0'
code 3 run known.onnx --input x=x.npy --input s=wrong.npy; says err "[2,3] has 6 elements, [4,2] has 8"
npy wrong.npy '<f4' '(2,)' "$one\0\0\0\077"
code 2 run known.onnx --input x=x.npy --input s=wrong.npy; says err "known input 's': int64 cannot hold 0.5"
npy wrong.npy '<i8' '(3,)' '\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0'
code 2 run known.onnx --input x=x.npy --input s=wrong.npy; says err "input 's', axis 0: expected the size 2, got 3"
npy wrong.npy '<i8' '(2,)' '\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\100'
code 1 run known.onnx --input x=x.npy --input s=wrong.npy; says err "$asked"
kept="wengert: wrong.npy: the numbers of 's' are needed while known.onnx is read; for that an array may have up to "
has_line err "${kept}65536, and integers up to 2^53"
code 2 run known.onnx --input x=x.npy --input s=s.npy --known s=3,2
says err "s.npy: expected the numbers of 's' once, got them by --known too"

# A shape that is unknown
value 11 x 1; values=$m
model shapeless.onnx Relu x
code 0 onnx shapeless.onnx;                      says out "float of unknown shape"; says out "x:0, x:1, ..."
code 2 graph shapeless.onnx;                     says err "input 'x': the file does not say how many axes it has"
code 0 graph shapeless.onnx --dim x:0=2 --dim x:1=3; says out "f32[2,3] 'y'"
code 0 run shapeless.onnx --input x=x.npy;       says out "y      f32   [2,3] "
code 0 run shapeless.onnx --input x=x.npy --dim x:1=3
code 2 run shapeless.onnx --input x=x.npy --dim x:1=2
says err "input 'x', axis 1: expected the size 2, got 3"
code 2 run shapeless.onnx --input x=x.npy --dim x:2=1
says err "input 'x': expected 3 axes, got the shape [2,3]"

# What is wrong in a file is bad data, whichever command reads it.
value 11 x 1 2 3; values=$m
value 11 w 1 4 5; values=$values$m
model matmul.onnx MatMul x w
value 11 x 99 2 3; values=$m
model dtype.onnx Relu x
value 11 x 1 2 3; values=$m
model attribute.onnx Concat x x
for command in "graph" "gradcheck" "bench" "diff matmul.onnx" "onnx --graph"; do
    # shellcheck disable=SC2086
    code 3 $command matmul.onnx;                 says err "[2,3] times [4,5]: inner sizes 3 and 4 differ"
done
code 3 export matmul.onnx out.onnx;              says err "inner sizes 3 and 4 differ"
code 3 graph dtype.onnx;                         says err "elements of type unknown (99) are not supported"
code 3 graph attribute.onnx;                     says err "attribute 'axis' is missing"

finish 80
