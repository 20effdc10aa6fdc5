#!/bin/sh
# test_cli_files.sh WENGERT CC SOURCE MISTAKE NO_MODEL OTHER_ABI [pictures]: graph, gradcheck, bench and diff on files and
# shared objects.  The file and the shared object are those of docs/graph-file.md: its text is taken out and compiled.
wengert=$1 cc=$2 source=$3 mistake=$4 no_model=$5 other_abi=$6 pictures=$7
. "$(dirname "$0")/checks.sh"

# shown PATH: the block that the document shows as that file
shown() {
    awk -v head="<!-- $1 -->" '
        $0 == head { found = 1; next }
        found && /^```/ { if (inside) exit; inside = 1; next }
        inside' "$source/docs/graph-file.md"
}

# same FILE FILE WHAT: equal bytes
same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || fail "$3"
}

shown examples/model/xor.wg >xor.wg
shown examples/model/line.c >line.c
checks=$((checks + 1))
[ -s xor.wg ] && [ -s line.c ] || fail "the document shows no model"
# the command of the document, with the headers of the source
build=$(grep -- '-shared' "$source/docs/graph-file.md" | head -1 |
    sed "s|^ *cc |$cc |; s|\$(pkg-config --cflags wengert)|-I$source/include|")
checks=$((checks + 1))
sh -c "$build" >out 2>err && [ -e libline.so ] || fail "$build"

# print, read, print
code 0 graph xor.wg;           says out "wengert-graph 1 {nodes=11, values=11, outputs=1"; says out "at xor.wg:4"
code 0 graph xor.wg -o a.wg
code 0 graph a.wg -o b.wg
same a.wg b.wg "the print differs once it was read"
for model in mlp attention encoder convnet lstm transformer; do
    code 0 graph $model --grad -o a.wg
    code 0 graph a.wg -o b.wg
    same a.wg b.wg "$model with its gradient differs once it was read"
done
code 0 graph libline.so;       says out "log_cosh("; says out "at line.c:"

# graph, gradcheck, bench
for model in xor.wg libline.so; do
    code 0 graph $model --grad;      says out "output 'd "; says out " backward"
    code 0 graph $model --costs;     says out "FLOP/byte"; says out "parameters"
    code 0 graph $model --costs --grad -o costs; says costs "inputs"
    code 0 graph $model --plan;      says out "steps,"
    code 0 gradcheck $model --order 2; says out "1 passed, 0 failed"
    code 0 bench $model --runs 1 --backend cpu --backend simd --nodes 3 --profile
    says out "median"; says out "cpu"; says out "simd"; says out "forward"
    code 0 bench model $model --runs 1 --grad; says out "gradient"
    code 0 bench $model --runs 1 --step --json --nodes 2; says out '"training step"'
    if command -v python3 >parser; then
        checks=$((checks + 1))
        python3 -m json.tool out >parsed 2>err || fail "wengert bench $model --json is no JSON"
    fi
    code 0 diff $model --backends cpu,simd --grad; says out "values compared"
    code 0 diff $model --dtypes f64,f32 --grad;    says out "f64 against f32"
    if [ -n "$pictures" ]; then
        code 0 graph $model --dot --grad;          says out "digraph wengert"
        code 0 graph $model --svg a.svg --png a.png; says a.svg "</svg>"
    fi
done
code 0 gradcheck mlp xor.wg;   says out "2 passed, 0 failed"
code 0 gradcheck libline.so --range class=3
code 0 bench mlp --runs 1;     says out "mlp: run"

# a file with ops of a shared object
code 0 graph libline.so -o line.wg
code 3 graph line.wg;          says err "no op 'log_cosh'"
code 0 graph line.wg --ops libline.so -o again.wg
same line.wg again.wg "line.wg differs once it was read"
code 0 gradcheck line.wg --ops ./libline.so --range class=5; says out "1 passed"
code 0 diff libline.so line.wg --ops libline.so; says out "the same graph"
code 4 graph line.wg --ops nowhere.so

# diff: graphs
code 0 graph mlp --grad -o a.wg
sed 's/axes=(0)/axes=(1)/; s/f32\[10\]/f32[16]/' a.wg >b.wg # another axis of the first sum
code 0 diff a.wg a.wg;         says out "the same graph"
code 3 graph b.wg              # a bias that no longer fits
sed 's/nodes=25/nodes=24/' a.wg >c.wg
code 3 diff a.wg c.wg;         says err "the head says 24 nodes, the text has 25"
sed 's/activation=relu/activation=tanh/' a.wg >b.wg
code 1 diff a.wg b.wg
says out "the graphs differ at node 4: attribute activation=relu against activation=tanh"
says out "- %4 = linear("; says out "+ %4 = linear("
checks=$((checks + 1)); [ "$(grep -c '^[-+] %' out)" = 2 ] || fail "lines that are equal are shown as different"
checks=$((checks + 1)); [ "$(grep -c '^  %[56] ' out)" = 2 ] || fail "two equal lines after the difference are not shown once"
sed "s/'x' at/'z' at/" a.wg >b.wg
code 1 diff a.wg b.wg;         says out "differ at node 0: the name 'x' against 'z'"
sed "s/ at models.c:18/ at other.c:1/" a.wg >b.wg
code 0 diff a.wg b.wg;         says out "nodes differ in name, scope, line or phase only"
sed "s/output 'loss' =/output 'los' =/" a.wg >b.wg
code 1 diff a.wg b.wg;         says out "the same nodes, but another output 0: 'loss'"
code 1 diff mlp lstm;          says out "ops in different numbers:"; says out "  lstm: 0 against 1"
code 1 diff mlp a.wg;          says out "one graph ends"; says out "(no more nodes)"
# differ A B TEXT: two graphs of these lines part where TEXT says
differ() {
    printf "wengert-graph 1\n%%x = input : f32[2] 'x'\n%%s = state : f32[2] 's'\n$1\n" >a.wg
    printf "wengert-graph 1\n%%x = input : f32[2] 'x'\n%%s = state : f32[2] 's'\n$2\n" >b.wg
    code 1 diff a.wg b.wg; says out "$3"
}
y='%%y = exp(%%x)\noutput %%y'
differ '%%y = concat(%%x, %%s)\n' '%%y = concat(%%x, %%s, %%x)\n' "differ at node 2: 2 against 3 operands"
differ '%%y = sub(%%x, %%s)\n' '%%y = sub(%%s, %%x)\n' "differ at node 2: operand a: %0 against %1"
differ '%%y = exp(%%x)\n' '%%y = log(%%x)\n' "differ at node 2: the op exp against log"
differ '%%y = cast(%%x) {dtype=f64}\n' '%%y = cast(%%x) {dtype=bf16}\n' "differ at node 2: attribute dtype=f64 against dtype=bf16"
differ "$y" "$y\noutput %%x" "the same nodes, but 1 against 2 outputs"
differ "$y\noutput %%x" "$y\noutput %%s" "the same nodes, but another output 1"
differ "$y" "$y\nassign %%s := %%y" "the same nodes, but 0 against 1 assignments"
differ "$y\nassign %%s := %%y" "$y\nassign %%s := %%x" "the same nodes, but another assignment 0: %1 := %2 against %1 := %0"
code 0 diff a.wg a.wg
code 0 graph mlp --grad -o a.wg

# diff: numbers
code 1 diff encoder --grad --dtypes f64,bf16; says out "the results diverge at %"; says out "digits lost"
says out "transformer.c:"; says out "of its"
code 0 diff encoder --grad --dtypes f64,bf16 --digits 2.5
code 1 diff mlp --dtypes f64,f32 --bits;  says out " not"
code 0 diff mlp --dtypes f64,f32 --bits --floor 1e-3
code 0 diff mlp --backends cpu,cpu --bits; says out ", 0 not"; says out "cpu runs "
code 0 diff encoder --grad --dtypes f64,f32 --backend cpu --no-fuse
says out "6 values are zero but for rounding in both runs"
if [ -n "$pictures" ]; then
    code 1 diff encoder --grad --dtypes f64,bf16 --digits 1 --svg a.svg --png a.png
    says a.svg "digits lost, f64 against bf16"; says a.svg " digits lost</text>"; says a.png "PNG"
    code 0 diff mlp --backends cpu,cpu --svg a.svg --full
    code 4 diff mlp --backends cpu,cpu --svg /nonexistent/a.svg
fi

# diff: weights, two files of one tensor w = (1, 2) and (1, 3)
weights() {
    printf '\070\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  \0\0\200\077\0\0'"$1"
}
weights '\000\100' >one.safetensors
weights '\100\100' >two.safetensors
printf "wengert-graph 1\n%%w = parameter : f32[2] 'w'\n%%y = exp(%%w)\noutput 'y' = %%y\n" >w.wg
code 0 diff w.wg --weights one.safetensors,one.safetensors --bits
code 1 diff w.wg --weights one.safetensors,two.safetensors
says out "the results diverge at %0: parameter(): 6.9 of 7.2 digits lost"; says out "[1]"
says out "w.wg:2"
code 3 diff mlp --weights one.safetensors,two.safetensors; says err "one.safetensors"
code 4 diff w.wg --weights nowhere,one.safetensors

# errors
code 4 graph nowhere.wg;       says err "nowhere.wg: cannot be opened: No such file"
code 4 graph nowhere.so;       says err "./nowhere.so: cannot open shared object file"
mkdir -p folder; echo text >text
code 2 graph folder;           says err "folder: not a folder of \`wengert train\`"
code 2 graph text;             says err "text: not a model: expected a file whose name ends in .wg, .onnx or .so"
code 2 graph "$no_model";      says err "is not a model: it has no function 'wengert_model'"
code 1 graph "$other_abi";     says err "was built for a model ABI other than 2"
code 1 graph "$mistake";       says err "matmul(x, x): [2,3] times [2,3]: inner sizes 3 and 2 differ (bad_model.c:"
printf 'wengert-graph 1\n%%x = reluu()\n' >bad.wg
for command in graph gradcheck bench "diff --bits --backends cpu,simd"; do
    code 3 $command bad.wg;    says err "bad.wg:2:6: no op 'reluu'; did you mean 'relu'?"
done
printf "wengert-graph 1\n%%x = input : i64[3] 'x'\noutput 'y' = %%x\n" >ids.wg
code 2 graph ids.wg --grad;    says err "ids.wg: no scalar output to differentiate"
code 2 bench ids.wg --step;    says err "ids.wg: no scalar output to differentiate"
code 0 graph mlp --step --print; cp out step.wg
code 2 graph step.wg --step;   says err "step.wg: the graph already updates hidden1/weight: leave --step out"
code 2 diff;                   says err "no model given"
code 2 diff mlp;               says err "one model: use --backends A,B"
code 2 diff mlp lstm encoder;  says err "expected one or two models, got 'encoder' as well"
code 2 diff mlp lstm --bits --dtypes f64,f32; says err "two models are compared as graphs"
code 2 diff mlp --dtypes f64;  says err "expected two, A,B, got 'f64'"
code 2 diff mlp --dtypes f64,i32; says err "--dtypes: expected f64, f32, bf16 or f16, got 'i32'"
code 2 diff mlp --dtypes f64,f32 --backends cpu,simd; says err "use one of --backends"
code 2 diff mlp --backends cpu,cpus; says err "backend cpus: expected "
code 2 diff mpl --dtypes f64,f32; says err "did you mean 'mlp'?"
code 2 gradcheck mlp --range labels; says err "--range: expected NAME=N, got 'labels'"
code 2 gradcheck mlp --range label=3;  says err "--range: mlp has no input 'label' of integers"
code 2 gradcheck mlp --range labels=0

finish 180
