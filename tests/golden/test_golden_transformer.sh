#!/bin/sh
# test_golden_transformer.sh TOOL FILE: the tool passes FILE, in both precisions, and notices what is wrong.
set -u
tool=$1 file=$2 status=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
LC_ALL=C
export LC_ALL

# expect CODE TEXT ARGUMENTS...: the tool exits with CODE and its output has TEXT
expect() {
    code=$1 text=$2
    shift 2
    "$tool" "$@" >"$folder/out" 2>&1
    got=$?
    if [ $got -ne "$code" ] || ! grep -q -- "$text" "$folder/out"; then
        echo "expected exit $code and \"$text\" of: $*; got exit $got and:"
        cat "$folder/out"
        status=1
    fi
}

# changed SED CODE TEXT: the same of a copy of the file with its bytes edited, none added and none removed
changed() {
    sed "$1" "$file" >"$folder/changed"
    if cmp -s "$file" "$folder/changed"; then
        echo "nothing changed by $1"
        status=1
    fi
    expect "$2" "$3" "$folder/changed"
}

expect 0 ' 0 failed' "$file"
expect 0 ' 0 failed' "$file" --f32
expect 0 ' 0 failed' "$file" --f32 --backend cpu
changed 's/"smoothing": *"0.1"/"smoothing":"0.2"/' 1 'FAILED loss'
changed 's/"norm_first": *"False"/"norm_first":"True "/' 3 'neither True nor False'
changed 's/"activation": *"relu"/"activation":"silu"/' 1 'FAILED logits'
changed 's/"heads": *"2"/"heads":"3"/' 3 'heads is 3, must divide'
changed 's/"vocab": *"11"/"vocab":"12"/' 3 'but the tensors have 11'
changed 's/beta2=0.98/beta2=0.90/' 1 'FAILED training'
changed 's/"pad": *"0"/"pad":"1"/' 1 'before other tokens'
changed 's/param.encoder.layers.0.norm1.bias/param.encoder.layers.0.norm9.bias/' 3 'no parameter'
changed 's/param.encoder.layers.0.norm1.weight/param.encoder.layers.0.norm9.weight/' 3 'no parameter'
changed 's/after.embedding.weight/After.embedding.weight/' 1 'no after'
head -c 20000 "$file" >"$folder/cut"
expect 3 'cut' "$folder/cut"
expect 3 'No such file' "$folder/absent"
expect 2 'usage' "$file" --backend none
expect 2 'usage'
[ $status -eq 0 ] && echo passed
exit $status
