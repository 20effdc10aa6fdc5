#!/bin/sh
# test_onnx_checker.sh WENGERT: every built-in model, exported, passes ONNX's own checker with its inference of shapes.
# Exit status 77: python3-onnx is not installed.
wengert=$1
. "$(dirname "$0")/../cli/checks.sh"

python=/usr/bin/python3
"$python" -c 'import onnx.checker' 2>/dev/null || { echo "skipped: no python3-onnx"; exit 77; }

cat >check.py <<'END'
import sys
import onnx
from onnx import checker
for path in sys.argv[1:]:
    model = onnx.load(path)
    checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == 17 and model.ir_version == 8
    print(path, len(model.graph.node), "nodes")
END
for model in mlp attention encoder convnet lstm transformer; do
    code 0 export $model --to onnx $model.onnx
    checks=$((checks + 1))
    "$python" check.py $model.onnx >out 2>err || fail "the checker refuses $model"
    cat out
    code 0 onnx $model.onnx;               says out "by"; says out "kinds of ops are supported"
    code 0 graph $model.onnx -o $model.wg; says $model.wg "output"
    code 0 export $model --training-step --without-dropout --initial $model.safetensors $model.step.onnx
    checks=$((checks + 1))
    "$python" check.py $model.step.onnx >out 2>err || fail "the checker refuses the step of $model"
    cat out
    code 0 onnx $model.step.onnx;          says out "adam/step.next"; says out "wengert 0"
done
code 1 export transformer --training-step x.onnx; says err "dropout"; says err "draws no random numbers"
code 2 export mlp --initial x.safetensors x.onnx
code 0 gradcheck mlp.onnx; says out "1 passed, 0 failed"
code 2 export mlp
code 2 export mlp --to pdf x.onnx
code 2 export nothing x.onnx
code 4 export mlp missing/x.onnx
code 2 graph mlp.onnx --dim batch
code 2 onnx
code 4 onnx missing.onnx
code 3 onnx check.py
echo "$checks checks, $failures failures"
[ $failures -eq 0 ]
