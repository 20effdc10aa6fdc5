#!/bin/sh
# test_cli.sh WENGERT [MODULE] [pictures]: runs the program as a person would; every line of output and exit code that
# is promised is looked at.
wengert=$1 module=$2 pictures=$3
. "$(dirname "$0")/checks.sh"

# help, version
code 0 --version;              says out "wengert "
code 0 --help;                 says out "gradcheck"; says out "Exit codes"
code 0 help
code 0 help help
for command in graph gradcheck diff ops devices bench; do
    code 0 help $command;      says out "Usage: wengert $command"; cp out help
    code 0 $command --help
    checks=$((checks + 1));    cmp -s out help || fail "help $command and $command --help differ"
done
code 0 help graph;             says out "--expand=SCOPE"; says out "--profile"
code 0 help gradcheck;         says out "--order=1|2"

# usage
code 2;                        says err "Usage: wengert COMMAND"
code 2 grph;                   says err "no command 'grph'; did you mean 'graph'?"
code 2 help grph
code 2 graph;                  says err "no model given"
code 2 graph attension;        says err "no model 'attension'; did you mean 'attention'?"; says err "Available: mlp"
code 2 graph zzzzzzzzzzzz;     says err "no model 'zzzzzzzzzzzz'"
code 2 graph mlp lstm;         says err "expected one model, got 'mlp' and 'lstm'"
code 2 graph mlp --depth 0;    says err "--depth: expected a whole number from 1"
code 2 graph mlp --depth x
code 2 graph mlp --phase sideways
code 2 graph mlp --print --dot
code 2 graph mlp --nonsense
code 2 graph mlp --seconds 0;  says err "--seconds: expected"
code 2 graph mlp --full;       says err "--full has no effect without --dot, --svg or --png"
code 2 graph mlp --costs --phase fwd; says err "--phase has no effect without --dot"
code 2 gradcheck;              says err "nothing to check"
code 2 gradcheck --op matmull; says err "did you mean 'matmul'?"
code 2 gradcheck mpl;  says err "did you mean 'mlp'?"
code 2 gradcheck --op add --order 3
code 2 gradcheck --op add --seed -1
code 2 gradcheck --op add --seeds 0
code 2 gradcheck mlp --elements none
code 2 gradcheck matmul
code 2 ops nothing
code 2 ops add sub

# graph
code 0 graph mlp;              says out "= linear("; says out "output 'loss'"
code 0 graph mlp --print -o text; says text "= linear("
code 0 graph mlp --grad;       says out "output 'd hidden1/weight'"; says out " backward"
code 0 graph mlp --plan;       says out "simd"
code 0 graph mlp --grad --plan -o text
code 0 graph mlp --profile
code 0 graph mlp --step;       says out "= adam("; says out " update"

# pages
code 0 graph mlp --html mlp.html; says mlp.html '"title":"mlp"'; says mlp.html "</html>"
holds "a page alone prints nothing" ! -s out
code 0 graph mlp --step --profile --html mlp.html --print; says mlp.html '"steps":'; says out "steps, "
code 4 graph mlp --html nowhere/mlp.html; says err "nowhere/mlp.html: cannot be written"

# gradcheck
code 0 gradcheck --op matmul --op tanh --order 2
says out "op matmul (nn)"; says out "compared, worst"; says out " 0 failed"
code 0 gradcheck --op floor;   says out "no derivative"
code 0 gradcheck mlp --seed 7; says out "model mlp"; says out "1 passed, 0 failed"
code 0 gradcheck mlp --seeds 3 --elements 2; says out "    63 compared"; says out "1 passed, 0 failed"

# its progress: on a terminal a line that is taken away, nothing elsewhere
code 0 gradcheck lstm --order 2; holds "progress is shown where there is no terminal" ! -s err
if script -qc true tty </dev/null >out 2>err; then # not where there are no pseudo-terminals
    TERM=xterm script -qc "stty cols 100; '$wengert' gradcheck lstm --order 2" tty </dev/null >out 2>err
    tr '\r' '\n' <out >drawn
    says drawn "] model lstm  order "; says drawn "compared"; says drawn "1 passed, 0 failed"
    TERM=dumb script -qc "'$wengert' gradcheck lstm" tty </dev/null >out 2>err
    holds "a bar is drawn on a dumb terminal" -z "$(grep 'order 1,' out)"
fi

# ops
code 0 ops;                    says out "matmul"; says out " ops"
code 0 ops matmul;             says out "operands    a b"; says out "transpose_a"
code 0 ops --markdown;         says out "### leaf"

# backends
code 0 devices --no-limits;    says out "cpu "; says out "reference kernels"; says out "threads"
code 0 devices;                says out "matmul "; says out "GFLOP/s"; says out "memory, "; says out "GB/s"
code 0 graph mlp --plan --backend cpu; says out "cpu reference"
code 2 graph mlp --backend cpus;       says err "backend cpus: expected "
code 4 graph mlp --backend ./nowhere.so; says err "./nowhere.so: cannot open shared object file"
code 2 devices --threads 0
# a cap of the instruction set
export WENGERT_MAX_CPU_ISA=avx3
for command in ops "devices --no-limits" "graph mlp"; do
    code 2 $command
    says err "WENGERT_MAX_CPU_ISA is 'avx3', which is none of SSE41, AVX2, AVX2_VNNI, AVX512_CORE, AVX512_CORE_VNNI, AVX512_CORE_AMX, ALL"
done
for cap in SSE41 AVX2 avx2 AVX2_VNNI AVX512_CORE AVX512_CORE_VNNI; do
    WENGERT_MAX_CPU_ISA=$cap
    code 0 devices --no-limits;    says out ", capped by WENGERT_MAX_CPU_ISA"
done
WENGERT_MAX_CPU_ISA=SSE41
code 0 devices --no-limits;    has_line out "kernels     for SSE41, capped by WENGERT_MAX_CPU_ISA"
for cap in ALL ""; do
    WENGERT_MAX_CPU_ISA=$cap
    code 0 devices --no-limits;    says out "kernels     for "
    holds "cap '$cap' is none" -z "$(grep -F WENGERT_MAX_CPU_ISA out)"
done
unset WENGERT_MAX_CPU_ISA
code 2 devices cpu;            says err "unexpected argument 'cpu'"
if [ -n "$module" ]; then
    code 0 devices --no-limits --backend "$module"; says out "relu and add in f32"
    code 0 graph mlp --plan --backend "$module";    says out "mine:relu"; says out "mine does not broadcast"
    code 0 bench op add --no-limits --runs 1 --shape 8x9,8x9 --backend "$module" --backend cpu
    says out "mine mine:add"; says out "cpu reference"
fi

# LAPACK's libraries, which are loaded when a node needs them; without them the reference takes the node
{
    echo "wengert-graph 1"
    echo "%a = input : f32[64,64]"
    echo "%y = cholesky(%a) : f32[64,64]"
    echo "output 'y' = %y"
} >factor.wg
code 0 graph factor.wg --plan
if grep -qF "lapack potrf" out; then
    : >liblapacke.so.3
    (
        export LD_LIBRARY_PATH="$PWD"
        exec "$wengert" graph factor.wg --plan >out 2>err
    )
    says out "cpu reference"; says out "lapack: LAPACK cannot be loaded: $PWD/liblapacke.so.3: file too short"
    rm liblapacke.so.3
fi

# bench
code 2 bench;                  says err "Usage: wengert bench"
code 2 bench up;               says err "no benchmark 'up'; did you mean 'op'?"
code 0 bench op --help;        says out "Usage: wengert bench op"; says out "--backend=NAME|FILE"
quick="--no-limits --runs 1"
code 0 bench op matmul $quick --grad --shape 5x6,6x7 --shape 8x8,8x8 --threads 1
says out "matmul nn: 5x6,6x7: 420 FLOP"; says out "matmul gradient, nn: 8x8,8x8"; says out "median"
code 0 bench op embedding $quick --shape 40x8,3x5@40; says out "embedding"
code 0 bench op embedding $quick --preset base
# on its samples: all, enlarged, or one by its name
code 0 bench op maximum $quick --grad;   says out "maximum gradient, scalar: "
code 0 bench op gather $quick;           says out "gather middle axis: "
code 0 bench op neg $quick --json;       says out '"neg"'
code 0 bench op attention $quick --sample causal --grad; says out "attention gradient, causal: "
code 0 bench op attention $quick --sample causal --shape 1x8x4x8,1x8x6x8,1x8x6x8
code 0 bench op constant --runs 1 $quick; says out "constant vector: "
code 2 bench op;               says err "no op given"
code 2 bench op matmull;       says err "did you mean 'matmul'?"
code 2 bench op matmul --shape 5x6;     says err "matmul: got 1 shapes for operands 'a b'"
code 2 bench op matmul --shape 5y6,6x7; says err "is not a list of shapes"
code 2 bench op matmul --shape 5x,6x7
code 2 bench op matmul --shape 5x6,6x7,
code 2 bench op matmul --sample zz;     says err "matmul has no sample 'zz'; wengert ops matmul lists them"
code 2 bench op matmul --sample zz --shape 5x6,6x7; says err "matmul has no sample 'zz'; wengert ops matmul lists them"
code 2 bench op neg --preset base;      says err "no preset for neg"
code 2 bench op add --preset tiny
code 1 bench op matmul $quick --shape 5x6,7x6; says err "matmul(x0, x1): [5,6] times [7,6]: inner sizes 6 and 7 differ"
code 3 bench op embedding $quick --shape 4x8,5@400; says err "outside"
step="bench train-step --preset tiny --batch 2 --length 5 --vocabulary 50 $quick"
json_step=
if "$wengert" bench --help | grep -q train-step; then # built with training
    json_step="$step --profile"
    code 0 bench train-step --help; says out "Usage: wengert bench train-step"; says out "--target-length"
    code 0 $step --layers 1; says out "transformer: 1 + 1 layers, d_model 128"
    says out "dropout 0.3, label smoothing 0.1"; says out "batch 2 x 5 + 5, gradient clipped at 25"
    says out "buffer, unfused"; says out "resident peak"
    code 0 $step --profile --backend cpu; says out "share"; says out "cpu reference"
    code 0 $step --dropout 0.1 --clip-norm 0 --target-length 1 --decoder-layers 1 --backend cpu
    says out "4 + 1 layers"; says out "dropout 0.1"; says out "batch 2 x 5 + 1"
    # 2 x 3 x 2 rows of: 5 (4 64 + 2 64) + 25 16 terms in the encoder, (4 64 + 16) + (2 64 + 5 2 64 + 5 16) + 2 64 in
    # the decoder, 8 50 for the logits
    code 0 $step --d-model 8 --d-ff 8 --heads 2 --layers 1 --target-length 1 --json --backend cpu
    says out '"matmul_flops": 47616'
    code 2 $step --heads 3; says err "heads is 3, must divide d_model, which is 128"
    code 2 bench train-step --preset huge; says err "--preset: expected"
    code 2 bench train-step --batch 0;   says err "--batch: expected a whole number from 1"
    code 2 bench train-step --dropout 1
fi

# JSON: what a parser says, where there is one
for arguments in "devices --no-limits" "bench op softmax $quick --shape 4x5" \
    "bench op matmul --runs 1 --shape 5x6,6x7 --grad" "$json_step"; do
    [ -n "$arguments" ] || continue
    code 0 $arguments --json
    says out "{"
    if command -v python3 >parser; then
        checks=$((checks + 1))
        python3 -m json.tool out >parsed 2>err || fail "wengert $arguments --json is no JSON"
    fi
done

# output that cannot be written
code 4 graph mlp -o /nonexistent/file; says err "/nonexistent/file: cannot be written: No such file or directory"
code 4 graph mlp -o "$work";   says err "Is a directory"
for arguments in "ops" "devices --no-limits" "graph mlp" "gradcheck --op add" "--version" "--help" "graph --help"; do
    checks=$((checks + 1))
    "$wengert" $arguments >/dev/full 2>err
    [ $? -eq 4 ] || fail "wengert $arguments >/dev/full: not exit code 4"
    says err "standard output: No space left on device"
    "$wengert" $arguments >&- 2>err # closed
    [ $? -eq 4 ] || fail "wengert $arguments >&-: not exit code 4"
done
# a reader that is gone: the pipe is closed before the program writes
checks=$((checks + 1))
{ sleep 0.2; "$wengert" ops 2>err; echo $? >status; } | true
[ "$(cat status)" = 4 ] || fail "a closed pipe: exit code $(cat status)"
says err "standard output: Broken pipe"

# composite ops opened
code 0 graph encoder;                      says out "attention("; holds "no softmax" "$(grep -c 'softmax(' out)" -eq 0
code 0 graph encoder --open attention;     says out "attention_weights("; says out "linear("
code 0 graph encoder --open attention --open attention_weights; says out "softmax("
holds "no attention" "$(grep -c 'attention[_a-z]*(' out)" -eq 0
code 0 graph encoder --grad --open all;    holds "no linear" "$(grep -c 'linear(' out)" -eq 0
code 2 graph mlp --open attention;         says err "no composite op 'attention' in this graph"
code 2 graph mlp --open matmul;            says err "no composite op 'matmul' in this graph"

# pictures
if [ -n "$pictures" ]; then
    code 0 graph mlp --dot;                says out "digraph wengert"; cp out first
    code 0 graph mlp --dot
    checks=$((checks + 1));                cmp -s out first || fail "the DOT differs from run to run"
    code 0 graph mlp --dot -o mlp.dot;     says mlp.dot "digraph wengert"
    code 0 graph mlp --grad --svg a.svg --png a.png; says a.svg "</svg>"; says a.png "PNG"
    code 0 graph encoder --grad --dot;     says out "&#215;6"
    code 0 graph encoder --dot --expand encoder/layer2/ff --depth 1; says out "encoder/layer0/ff/inner"
    code 0 graph encoder --dot --depth 1 --memory; says out "KiB"
    code 0 graph mlp --dot --phase bwd;    says out "@backward"
    code 0 graph mlp --dot --phase both
    code 0 graph mlp --dot --full --no-legend
    code 0 graph mlp --dot --profile;      says out "of the time"
    code 2 graph mlp --dot --expand nowhere; says err "no scope 'nowhere' in this graph"
    code 0 graph encoder --dot --depth 4 --open attention; says out "encoder/layer0/self_attn/attention"
    code 4 graph mlp --png /nonexistent/a.png
    code 4 graph mlp --svg /dev/full
    code 1 graph encoder --grad --full --svg slow.svg --seconds 0.01
    says err "--depth"
    [ ! -e slow.svg ] || fail "a picture that was not finished was written"
else
    code 1 graph mlp --dot;                says err "libgraphviz-dev"
fi

finish 51
