#!/bin/sh
# test_cli_run.sh WENGERT [onnx]: models on numbers of files: safetensors and arrays of NumPy, exactly; and each message.
wengert=$1 onnx=$2
. "$(dirname "$0")/checks.sh"
export LC_ALL=C

# tensors FILE HEADER BYTES: a safetensors file without checksums
tensors() {
    printf "\\$(printf %03o ${#2})\\0\\0\\0\\0\\0\\0\\0%s$3" "$2" >"$1"
}
# numbers FILE TYPE EXPECTED: those of an array, as od prints them
numbers() {
    found=$(od -An -v -t "$2" -j 128 "$1" | tr -s ' \n' ' ')
    holds "the numbers of $1" "$found" = " $3 "
}
# same FILE FILE: the same bytes
same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}
f0='\0\0\0\0' f1='\0\0\200\077' f2='\0\0\0\100' f3='\0\0\100\100' f4='\0\0\200\100' f_2='\0\0\0\300' half='\0\0\0\077'

# ---- numbers ---------------------------------------------------------------------------------------------------------

cat >scale.wg <<'END'
wengert-graph 1
%x = input : f32[2,3] 'x'
%ids = input : i64[2] 'ids'
%w = parameter {init=constant, scale=2} : f32[3] 'w'
%y = mul(%x, %w)
%rows = take(%y, %ids) {axis=0}
%k = argmax(%x) {axis=1}
output 'y' = %y
output 'rows' = %rows
output 'k' = %k
END
npy x.npy '<f4' '(2, 3)' "$f1$f_2$f3$half$f4$f0"
npy ids.npy '<i8' '(2,)' '\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0'
code 0 run scale.wg --input x=x.npy --input ids=ids.npy
has_line out "output dtype shape               minimum      maximum         mean  first numbers"
has_line out "y      f32   [2,3]                    -4            8      2.16667  2 -4 6 1 8 0"
has_line out "rows   f32   [2,3]                     0            8            3  1 8 0 1 8 0"
has_line out "k      i64   [2]                       1            2          1.5  2 1"
code 0 run scale.wg --input x=x.npy --input ids=ids.npy --output y=y.npy --output k=k.npy --backend cpu --threads 2
holds "a table beside files" ! -s out
numbers y.npy f4 "2 -4 6 1 8 0"
numbers k.npy d8 "2 1"
says y.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"

# Every form of the same numbers: other dtypes, Fortran's order, safetensors.
npy x64.npy '<f8' '(2, 3)' '\0\0\0\0\0\0\360\077\0\0\0\0\0\0\0\300\0\0\0\0\0\0\010\100\0\0\0\0\0\0\340\077\0\0\0\0\0\0\020\100\0\0\0\0\0\0\0\0'
npy x16.npy '<f2' '(2, 3)' '\0\074\0\300\0\102\0\070\0\104\0\0'
npy xt.npy '<f4' '(2, 3)' "$f1$half$f_2$f4$f3$f0" True
npy ids32.npy '<i4' '(2,)' '\1\0\0\0\1\0\0\0'
npy ids8.npy '|u1' '(2,)' '\1\1'
tensors both.safetensors '{"ids":{"dtype":"I64","shape":[2],"data_offsets":[24,40]},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}' \
    "$f1$f_2$f3$half$f4$f0"'\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0'
for x in x64 x16 xt; do
    for ids in ids32 ids8; do
        code 0 run scale.wg --input x=$x.npy --input ids=$ids.npy --output y=again.npy --output k=k2.npy
        same y.npy again.npy
        same k.npy k2.npy
    done
done
code 0 run scale.wg --inputs both.safetensors --output y=again.npy; same y.npy again.npy
tensors x.safetensors '{"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}' "$f1$f_2$f3$half$f4$f0"
code 0 run scale.wg --inputs x.safetensors --input ids=ids8.npy --output y=again.npy; same y.npy again.npy

# All outputs in one file are the inputs of another model, or its weights.
printf "wengert-graph 1\n%%x = input : f64[2] 'x'\n%%w = neg(%%x)\noutput 'w' = %%w\noutput %%x\n" >neg.wg
npy two.npy '<f4' '(2,)' "$f1$f_2"
code 0 run neg.wg --input x=two.npy --outputs w.safetensors; holds "a table beside a file" ! -s out
says w.safetensors '"w":{"dtype":"F64","shape":[2]'; says w.safetensors '"output1":{"dtype":"F64","shape":[2]'
code 0 run neg.wg --input x=two.npy --outputs w.safetensors                    # its own may be replaced
code 0 run neg.wg --input x=two.npy --output output1=x1.npy; numbers x1.npy f8 "1 -2"
printf "wengert-graph 1\n%%x = input : f64[2] 'output1'\n%%w = input : f64[2] 'w'\n%%y = sub(%%x, %%w)\noutput 'y' = %%y\n" >sub.wg
code 0 run sub.wg --inputs w.safetensors --output y=sub.npy; numbers sub.npy f8 "2 -4"
printf "wengert-graph 1\n%%w = parameter : f64[2] 'w'\n%%y = add(%%w, %%w)\noutput 'y' = %%y\n" >weights.wg
code 0 run weights.wg --weights w.safetensors --output y=weights.npy; numbers weights.npy f8 "-2 4"
code 3 run weights.wg --weights x.safetensors; says err "w"

# What a row says of numbers that are none, of no numbers, of bools and of half precision.
cat >odd.wg <<'END'
wengert-graph 1
%x = input : f32[8] 'x'
%l = log(%x)
%e = slice(%x) {start=[1], size=[0], step=[1]}
%p = less(%x, %l)
%h = cast(%x) {dtype=bf16}
%n = sub(%l, %l)
output 'l' = %l
output 'e' = %e
output 'p' = %p
output 'h' = %h
output 'n' = %n
END
npy eight.npy '<f4' '(8,)' "$f1$f_2$f0$f1$f1$f1$f1$f1"
code 0 run odd.wg --input x=eight.npy
has_line out "l      f32   [8]                    -inf            0         -inf  0 nan -inf 0 0 0 ...  (NaN: 1 of 8)"
has_line out "e      f32   [0]                       -            -            -"
has_line out "p      bool  [8]                       0            0            0  0 0 0 0 0 0 ..."
has_line out "h      bf16  [8]                      -2            1          0.5  1 -2 0 1 1 1 ..."
has_line out "n      f32   [8]                       0            0            0  0 nan nan 0 0 0 ...  (NaN: 2 of 8)"
code 1 run odd.wg --input x=eight.npy --output h=h.npy; says err "h.npy: expected a dtype that NumPy has, got bf16"
code 0 run odd.wg --input x=eight.npy --output e=e.npy --output p=p.npy --outputs h.safetensors
says e.npy "'shape': (0,)"; says p.npy "'descr': '|b1'"; says h.safetensors '"h":{"dtype":"BF16"'

# An input that nothing reads, and one without elements.
printf "wengert-graph 1\n%%x = input : f32[2] 'x'\n%%e = input : f32[0,3] 'e'\n%%y = neg(%%x)\noutput 'y' = %%y\n" >unread.wg
npy empty.npy '<f4' '(0, 3)' ''
code 0 run unread.wg --input x=two.npy --input e=empty.npy; says out "  -1 2"
npy empty.npy '<f8' '(0, 3)' ''
code 0 run unread.wg --input x=two.npy --input e=empty.npy; says out "  -1 2"
printf "wengert-graph 1\n%%e = input : f32[0,3] 'e'\n%%y = neg(%%e)\noutput 'y' = %%y\n" >empty.wg
code 0 run empty.wg --input e=empty.npy --output y=e.npy; says e.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }"

# A built-in model: with zeros as its input, the loss is that of ten equal probabilities, log 10.
head -c 4096 /dev/zero >zeros
npy zeros.npy '<f4' '(16, 64)' ''; cat zeros >>zeros.npy
npy labels.npy '|u1' '(16,)' '\0\1\2\3\4\5\6\7\10\11\0\1\2\3\4\5'
code 0 run mlp --input x=zeros.npy --input labels=labels.npy --output loss=loss.npy; numbers loss.npy f4 "2.3025851"
head -c 4096 /dev/zero | tr '\0' '\077' >ones # 0.746
npy ones.npy '<f4' '(16, 64)' ''; cat ones >>ones.npy
code 0 run mlp --input x=ones.npy --input labels=labels.npy --backend cpu --output loss=loss.npy
code 0 run mlp --input x=ones.npy --input labels=labels.npy --backend cpu --output loss=seed.npy --seed 1
checks=$((checks + 1)); ! cmp -s loss.npy seed.npy || fail "--seed has no effect"
code 0 graph mlp -o mlp.wg
code 0 run mlp.wg --input x=ones.npy --input labels=labels.npy --backend cpu --output loss=again.npy
same loss.npy again.npy
code 0 run mlp --input x=ones.npy --input labels=labels.npy --profile
says out "loss "; says out "cross_entropy"; says out "kernel"

# ---- what is given and what is expected ------------------------------------------------------------------------------

given="--input x=x.npy --input ids=ids.npy"
code 2 run scale.wg
says err "scale.wg: no numbers for 'x' f32 [2,3], 'ids' i64 [2]; give them by --inputs FILE or --input NAME=FILE.npy"
code 2 run scale.wg --input x=x.npy;          says err "scale.wg: no numbers for 'ids' i64 [2]; give them"
code 2 run scale.wg $given --input idx=x.npy; says err "scale.wg: no input 'idx'; did you mean 'ids'?"
code 2 run scale.wg $given --input other=x.npy; says err "scale.wg: no input 'other', only 'x', 'ids'"
code 2 run weights.wg --input other=x.npy;    says err "weights.wg: no input 'other', only none at all"
code 2 run scale.wg $given --input w=x.npy
says err "scale.wg: 'w' is a parameter, not an input; --weights gives the numbers of parameters"
code 2 run scale.wg $given --input x=x64.npy; says err "x64.npy: expected the numbers of 'x' once, got them in x.npy too"
code 2 run scale.wg --inputs both.safetensors --input x=x.npy
says err "x.npy: expected the numbers of 'x' once, got them in both.safetensors too"
code 3 run scale.wg --input x=two.npy --input ids=ids.npy; says err "two.npy: input 'x': expected f32 [2,3], got f32 [2]"
code 3 run scale.wg --input x=x.npy --input ids=two.npy;   says err "two.npy: input 'ids': expected i64 [2], got f32 [2]"
npy bool.npy '|b1' '(2,)' '\1\0'
code 3 run scale.wg --input x=x.npy --input ids=bool.npy;  says err "bool.npy: input 'ids': expected i64 [2], got bool [2]"
tensors u16.safetensors '{"ids":{"dtype":"U16","shape":[2],"data_offsets":[0,4]}}' '\1\0\1\0'
code 3 run scale.wg --input x=x.npy --inputs u16.safetensors
says err "u16.safetensors: input 'ids': expected i64 [2], got U16 [2]"
npy tenth.npy '<f8' '(2, 3)' '\0\0\0\0\0\0\360\077\0\0\0\0\0\0\360\077\0\0\0\0\0\0\360\077\0\0\0\0\0\0\360\077\232\231\231\231\231\231\271\077\0\0\0\0\0\0\360\077'
code 3 run scale.wg --input x=tenth.npy --input ids=ids.npy
says err "tenth.npy: input 'x': expected f32, got f64 that f32 cannot hold exactly: 0.10000000000000001 at [1,1]"
printf "wengert-graph 1\n%%x = input : i32[2] 'x'\n%%b = input : u8[2] 'b'\noutput 'x' = %%x\noutput 'b' = %%b\n" >ints.wg
npy wide.npy '<i8' '(2,)' '\377\377\377\177\0\0\0\0\0\0\0\200\0\0\0\0'
code 3 run ints.wg --input x=wide.npy --input b=ids8.npy
says err "wide.npy: input 'x': expected i32, got i64 that i32 cannot hold exactly: 2147483648 at [1]"
npy least.npy '<i8' '(2,)' '\377\377\377\177\0\0\0\0\0\0\0\200\377\377\377\377'
code 0 run ints.wg --input x=least.npy --input b=ids32.npy --output x=i.npy; numbers i.npy d4 "2147483647 -2147483648"
npy minus.npy '|i1' '(2,)' '\0\377'
code 3 run ints.wg --input x=least.npy --input b=minus.npy
says err "minus.npy: input 'b': expected u8, got i8 that u8 cannot hold exactly: -1 at [1]"
npy nan.npy '<f8' '(2,)' '\0\0\0\0\0\0\370\177\0\0\0\0\0\0\360\377' # NaN and an infinity are in every float dtype
printf "wengert-graph 1\n%%x = input : f32[2] 'x'\noutput 'x' = %%x\n" >same.wg
code 0 run same.wg --input x=nan.npy --output x=nan4.npy; numbers nan4.npy f4 "nan -inf"
npy far.npy '<i8' '(2,)' '\1\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0'
code 3 run scale.wg --input x=x.npy --input ids=far.npy; says err "scale.wg: "; says err "take"

printf "wengert-graph 1\n%%x = input : f32[2]\noutput 'x' = %%x\n" >nameless.wg
code 2 run nameless.wg;                            says err "nameless.wg: expected inputs with names, got %0 without one"

# Damaged files.
head -c 40 x.npy >cut.npy
code 3 run same.wg --input x=cut.npy;              says err "cut.npy: expected a header of at most 30 bytes, got "
npy short.npy '<f4' '(2,)' "$f1"
code 3 run same.wg --input x=short.npy;            says err "short.npy: expected 8 bytes of data for '<f4' [2], got 4"
npy big.npy '>f4' '(2,)' "$f1$f1"
code 1 run same.wg --input x=big.npy;              says err "big.npy: descr: expected little-endian numbers, '<f4', got '>f4'"
code 3 run same.wg --input x=same.wg;              says err "same.wg: expected an array of NumPy (.npy), got other bytes"
code 4 run same.wg --input x=none.npy;             says err "none.npy: open: No such file"
code 3 run same.wg --inputs x.npy;                 says err "x.npy: expected a header of at most"
code 4 run same.wg --inputs none.safetensors;      says err "none.safetensors: open: No such file"

# ---- options and files that are written ------------------------------------------------------------------------------

code 2 run;                                        says err "no model given"
code 2 run mlp mlp;                                says err "expected one model"
code 2 run mpl;                                    says err "did you mean 'mlp'?"
code 2 run same.wg --input x.npy;                  says err "--input: expected NAME=FILE.npy, got 'x.npy'"
code 2 run same.wg --input =x.npy;                 says err "--input: expected NAME=FILE.npy, got '=x.npy'"
code 2 run same.wg --input x=;                     says err "--input: expected NAME=FILE.npy, got 'x='"
code 2 run same.wg --output x;                     says err "--output: expected NAME=FILE.npy, got 'x'"
code 2 run same.wg --output x=x.bin;               says err "--output: expected a file named .npy, got 'x.bin'"
code 2 run same.wg --output x=.npy;                says err "--output: expected a file named .npy, got '.npy'"
code 2 run mlp --range labels=3;                   says err "--range has no effect"
code 2 run mlp --dim batch=3;                      says err "--dim: only a FILE.onnx has symbolic dimensions"
many=$(i=0; while [ $i -lt 65 ]; do printf ' --input a%d=x.npy' $i; i=$((i + 1)); done)
# shellcheck disable=SC2086
code 2 run same.wg $many;                          says err "--input given more than 64 times"
in="--input x=two.npy"
code 2 run same.wg $in --output z=z.npy;           says err "same.wg: no output 'z'; did you mean 'x'?"
code 2 run same.wg $in --output other=z.npy;       says err "same.wg: no output 'other', only 'x'"
holds "a file was written" ! -e z.npy
code 2 run same.wg $in --output x=two.npy;         says err "two.npy: the output would overwrite the input two.npy"
code 2 run same.wg $in --output x=a.npy --output x=a.npy; says err "a.npy: two outputs would be this file"
code 2 run same.wg $in --outputs x.safetensors;    says err "x.safetensors: there is a file already, weights"
head -c 64 "$wengert" >program.npy
code 2 run same.wg $in --output x=program.npy;     says err "neither text nor an array of NumPy"
code 2 graph mlp --svg y.npy;                      says err "neither text nor a picture"
code 4 run same.wg $in --output x=missing/a.npy;   says err "missing/a.npy"
code 4 run same.wg $in --outputs missing/a;        says err "missing/a"
printf "wengert-graph 1\n%%x = input : f32[2] 'x'\n" >none.wg
code 2 run none.wg $in;                            says err "none.wg: it has no outputs"

# ---- ONNX ------------------------------------------------------------------------------------------------------------

if [ -n "$onnx" ]; then
    code 0 export mlp mlp.onnx
    code 0 run mlp.onnx --input x=ones.npy --input labels=labels.npy --backend cpu --output loss=again.npy
    same loss.npy again.npy

    # The exported file in which a name stands for the size 200.
    cat >batch.wg <<'END'
wengert-graph 1
%x = input : f32[200,3] 'x'
%b = input : f32[200,1] 'bias'
%w = parameter {init=constant, scale=2} : f32[3,3] 'w'
%h = matmul(%x, %w)
%y = add(%h, %b)
output 'y' = %y
END
    code 0 export batch.wg fixed.onnx
    sed 's/\x08\xc8\x01/\x12\x01N/g' fixed.onnx >batch.onnx
    code 0 onnx batch.onnx; says out "sizes to give   N"
    npy bias.npy '<f4' '(2, 1)' "$f0$f1"
    code 0 run batch.onnx --input x=x.npy --input bias=bias.npy --output y=y.npy
    numbers y.npy f4 "4 4 4 10 10 10"                                          # 2 (1 - 2 + 3), 2 (0.5 + 4) + 1
    says y.npy "'shape': (2, 3)"
    npy three.npy '<f4' '(3, 1)' "$f0$f1$f2"
    code 2 run batch.onnx --input x=x.npy --input bias=three.npy
    says err "batch.onnx: input 'bias', axis 0 ('N'): expected the size 2, got 3"
    code 2 run batch.onnx --input x=x.npy --input bias=bias.npy --dim N=5
    says err "batch.onnx: input 'x', axis 0 ('N'): expected the size 5, got 2"
    code 2 run batch.onnx --input x=x.npy;             says err "batch.onnx: no numbers for 'bias' f32 [2,1]; give them"
    code 2 run batch.onnx --input x=two.npy;           says err "batch.onnx: input 'x': expected 2 axes, got the shape [2]"
    code 2 run batch.onnx --input y=x.npy --dim N=1;   says err "batch.onnx: no input 'y'; did you mean 'x'?"
    code 2 run batch.onnx --input others=x.npy;        says err "batch.onnx: no input 'others', only 'x', 'bias'"
    code 2 run batch.onnx;                             says err "input 'x': axis 0 has no size: give one for the dimension 'N'"
    code 2 run fixed.onnx --input x=x.npy;             says err "fixed.onnx: input 'x', axis 0: expected the size 200, got 2"

    # An input that no node reads: where the sum read z it reads x.
    printf "wengert-graph 1\n%%x = input : f32[2] 'x'\n%%z = input : f32[2] 'z'\n%%s = add(%%x, %%z)\noutput 's' = %%s\n" >sum.wg
    code 0 export sum.wg sum.onnx
    sed -z 's/\x0a\x01x\x0a\x01z/\x0a\x01x\x0a\x01x/' sum.onnx >unread.onnx
    code 0 run sum.onnx --input x=two.npy --input z=nan.npy;    says out "  nan -inf"
    code 0 run unread.onnx --input x=two.npy --input z=nan.npy; says out "  2 -4"
    says err "unread.onnx: no output needs the input 'z': its numbers are not used"
    code 0 run unread.onnx --input x=two.npy;                   says out "  2 -4"
fi

finish 160
