#!/bin/sh
# test_cli_outputs.sh WENGERT CC: what commands write replaces nothing that they read and nothing that could not be made
# again, under whatever name it is reached.
wengert=$1 cc=$2
. "$(dirname "$0")/checks.sh"
export OMP_NUM_THREADS=1
small_settings 0 | sed 's/^save-freq: 0/save-freq: 1u/' >small.yml
code 0 train --config small.yml --model model --after 3u
code 0 train --config small.yml --model model --after 4u # which makes a checkpoint
printf 'forty-two\nseven\n' >input
printf 'zweiundvierzig\nsieben\n' >target

# results do not overwrite what they come from, nor a model
mkdir kept; cp -r model kept/model
"$wengert" export model kept/onnx >out 2>err
printf 'wengert-graph 1\n%%x = input(dtype=f32, shape=[2], name="x")\noutput %%x\n' >kept/own.wg
cp -r kept as_it_was
checkpoint=checkpoints/$(ls kept/model/checkpoints | grep '^model' | head -1)
for picture in --svg --png --html --dot=-o; do
    for file in model.safetensors $checkpoint config.yml vocab.txt progress.json metrics.jsonl; do
        case $picture in --dot=-o) option="--dot -o" ;; *) option=$picture ;; esac
        code 2 graph mlp $option kept/model/$file; says err "kept/model/$file: there is a file already"
    done
done
code 2 graph kept/own.wg --svg kept/own.wg; says err "would overwrite the input"
code 2 export kept/own.wg kept/own.wg; says err "would overwrite the input"
code 2 export mlp kept/model/model.safetensors; says err "there is a file already, weights"
code 2 evaluate --model model input input --output kept/model/config.yml; says err "of a model's folder"
code 2 diff mlp --backends cpu,simd --svg kept/model/vocab.txt; says err "of a model's folder"
code 2 onnx kept/onnx/encoder.onnx --svg kept/onnx/encoder.onnx; says err "would overwrite the input"
code 2 export --to torch model kept/model; says err "kept/model: it has a file "; says err "that no export has written"
code 2 translate --model model --attention-plot kept/model/progress.svg; says err "kept/model/progress.json: there is"
for file in model.safetensors config.yml vocab.txt progress.json; do
    code 2 export mlp initial.onnx --training-step --initial kept/model/$file; says err "$file: there is a file already"
done
code 2 export mlp initial.onnx --training-step --initial initial.onnx; says err "two outputs would be this file"
code 2 export kept/own.wg initial.onnx --weights kept/model/model.safetensors --training-step \
    --initial kept/model/model.safetensors; says err "would overwrite the input"
code 4 export mlp initial.onnx --training-step --initial none/initial; says err "none/initial: cannot be written"
holds "no model without its initial values" ! -e initial.onnx
holds "what was kept" -z "$(diff -r kept as_it_was)"
rm -rf exported; mkdir exported; echo mine >exported/model.json
code 2 export model exported; says err "exported: it has a file model.json that no export has written"
says exported/model.json mine
rm exported/model.json; code 0 export model exported; code 0 export model exported
rm exported/*; : >exported/model.json; code 0 export model exported # what a failed export leaves is no hindrance
rm -rf exported; mkdir exported; echo mine >exported/vocab.txt
code 2 export --to torch model exported; says err "exported: it has a file vocab.txt that no export has written"
rm exported/vocab.txt; code 0 export --to torch model exported; code 0 export --to torch model exported
code 0 graph mlp --svg model/mlp.svg; code 0 graph mlp --svg model/mlp.svg
rm -rf exported model/mlp.svg

cp input source
code 2 evaluate --model model source target --output source; says err "source: the output would overwrite the input"
holds "the source" -z "$(diff input source)"

# under another name: by a link, or outside the folder
cp model/vocab.txt words; cp model/metrics.jsonl log; sed 1d model/config.yml >settings
for file in vocab.txt metrics.jsonl config.yml progress.json model.safetensors; do
    ln -s kept/model/$file soft; ln kept/model/$file hard
    for link in soft hard; do
        code 2 graph mlp -o $link; says err "$link: there is a file already"
        for force in "" --overwrite; do
            code 2 evaluate --model model input target --output $link $force; says err "$link: there is a file already"
        done
        holds "no advice to overwrite" -z "$(grep -e --overwrite err)"
    done
    rm soft hard
done
for file in words=vocabulary log=metrics settings=settings; do
    cp ${file%=*} before
    code 2 graph mlp -o ${file%=*}; says err "${file#*=}"; holds "${file%=*}" -z "$(diff before ${file%=*})"
done

# what is neither text nor a picture: weights that an ONNX model keeps beside it, a shared object, packed text
printf '\010\001\374\002weights' >weights.bin
gzip -c input >input.gz
checks=$((checks + 1))
echo 'int nothing;' >object.c
$cc -shared -fPIC -o object.so object.c 2>err || fail "object.so is not built"
for file in weights.bin input.gz object.so; do
    cp $file before
    code 2 graph kept/onnx/encoder.onnx -o $file; says err "neither text nor a picture"
    code 2 onnx kept/onnx/encoder.onnx --svg $file; says err "neither text nor a picture"
    code 2 diff mlp --backends cpu,simd --svg $file; says err "neither text nor a picture"
    code 2 graph mlp -o $file; says err "neither text nor a picture"
    code 2 export mlp $file; says err "neither text nor an ONNX model"
    holds "$file" -z "$(cmp before $file 2>&1)"
done
code 2 graph mlp -o kept/onnx/encoder.onnx; says err "neither text nor a picture"
code 0 export mlp mlp.onnx; cp mlp.onnx before; code 0 export mlp mlp.onnx --training-step
holds "an ONNX model is replaced by another" -n "$(cmp before mlp.onnx 2>&1)"
printf 'vier \001 \344\n' >latin1; printf 'vier \001 \303\244\n' >utf8
evaluates() { code $1 evaluate --model model input target --output $2 $3; } # which writes text in words
evaluates 2 latin1 --overwrite; says err "neither text nor a picture" # too odd to be known as text
evaluates 0 utf8 --overwrite; printf 'vier \344\n' >latin1; evaluates 0 latin1 --overwrite
printf '\211PNG\r\n\032\n\0\0' >mlp.svg
code 0 graph mlp --svg mlp.svg; code 0 graph mlp --svg mlp.svg; code 0 graph mlp -o mlp.svg

# a text of one's own, which no output begins like
printf 'digraphs are two letters\n' >words.en; printf '#include <stdio.h>\n' >prog.c; echo '1  one' >numbers.txt
printf '<?xml version="1.0"?>\n<tmx version="1.4"/>\n' >pairs.tmx; printf '{"mine": 1}\n' >own.json
for file in words.en prog.c numbers.txt pairs.tmx own.json; do
    cp $file before
    kept="wengert: $file: there is a file already, a text that is no such result, which the output would overwrite; "
    kept="${kept}give the output another name, or remove that file"
    for option in -o --svg --html "--dot -o" "--costs -o" "--memory-timeline -o"; do
        code 2 graph mlp $option $file; has_line err "$kept"
    done
    code 2 export mlp $file; has_line err "$kept"
    code 2 diff mlp --backends cpu,simd --svg $file; has_line err "$kept"
    cp $file curves.svg
    code 2 plot model -o curves.svg; says err "curves.svg: there is a file already, a text that is no such result"
    code 2 translate --model model --attention-plot curves.svg; says err "curves.svg: there is a file already, a text"
    rm curves.svg; cp $file curves.json
    code 2 translate --model model --attention-plot curves.svg; says err "curves.json: there is a file already, a text"
    rm curves.json
    holds "$file" -z "$(cmp before $file 2>&1)"
    evaluates 2 $file; has_line err "${kept%or remove*}remove that file, or give --overwrite"
    holds "$file" -z "$(cmp before $file 2>&1)"
    evaluates 0 $file --overwrite; holds "a text in words takes the place of any" -n "$(cmp before $file 2>&1)"
done
for option in -o --svg --png --html "--dot -o" "--costs -o" "--plan -o" "--memory-timeline -o"; do
    : >again; rm -f first # a result replaces an empty file, itself and another result
    code 0 graph mlp $option again; cp again first; code 0 graph mlp $option again
    holds "$option twice" -z "$(cmp first again 2>&1)"
    code 0 graph mlp --svg again; holds "$option, then another" -n "$(grep '</svg>' again)"
done
printf '%%PDF-1.5\n' >again; code 0 graph mlp --svg again; printf '<svg/>' >again; code 0 graph mlp -o again
code 0 export mlp again; code 0 export mlp again; code 2 graph mlp --svg again; says err "neither text nor a picture"
if command -v gnuplot >which; then
    code 0 train --config small.yml --model plotted --after 2u --disp-freq 1u
    for i in 1 2; do
        code 0 plot plotted -o again.svg; code 0 graph mlp --memory-plot again.svg; code 0 graph mlp --svg again.svg
        for heads in mean all; do
            code 0 translate --model model --attention-plot map.svg --attention-of encoder/layer0 --heads $heads
            code 0 translate --model model --attention-plot map.svg --heads $heads
        done
    done
fi
cp input trained.en; cp target trained.de
code 0 train --config small.yml --model paired --train-sets trained.en trained.de --vocab-kind words --after 1u
for file in trained.en trained.de; do
    code 2 evaluate --model paired input target --output $file --overwrite; says err "$file: the output would overwrite the input $file"
done
holds "texts of the training" -z "$(cmp input trained.en 2>&1; cmp target trained.de 2>&1)"

# a picture has the name of its format, or one without an ending
for named in svg:a.png svg:none/x.en png:x.jpg png:.x.svg; do
    for command in "graph mlp" "diff mlp --backends cpu,simd"; do
        code 2 $command --${named%:*} ${named#*:}
        has_line err "wengert: ${named#*:}: expected a file named .${named%:*}, got one named .${named##*.}"
    done
done
holds "no picture" ! -e a.png -a ! -e x.jpg
code 2 onnx kept/onnx/encoder.onnx --svg a.png; says err "wengert: a.png: expected a file named .svg, got one named .png"
code 0 graph mlp --svg A.SVG --png .png; says A.SVG "</svg>"; mkdir a.b; code 0 graph mlp --svg a.b/c; says a.b/c "</svg>"

# a file that cannot be written whole stays as it was, and where there was none, none is left
code 0 graph mlp -o whole.wg; cp whole.wg before
for file in whole.wg new.wg; do
    (trap '' XFSZ; ulimit -f 1; exec "$wengert" graph encoder --grad -o $file) 2>err
    got=$?; checks=$((checks + 1))
    [ $got -eq 4 ] || fail "a graph of more than the limit: exit code $got, expected 4"
    says err "$file: write: File too large"
done
holds "the old graph" -z "$(cmp before whole.wg 2>&1)"; holds "no new graph" ! -e new.wg
ln -s whole.wg link.wg; code 0 graph mlp --grad -o link.wg
holds "a link is written through" -L link.wg -a -n "$(cmp before whole.wg 2>&1)"

# what a command reads, and two outputs that are one file
code 2 evaluate --model model --config settings input target --output settings; says err "overwrite the input settings"
echo 'beam-size: 2' >own.yml
code 2 evaluate --model model --config own.yml input target --output own.yml; says err "overwrite the input own.yml"
cp own.yml own.json
code 2 translate --model model --config own.json --attention-plot own.svg; says err "overwrite the input own.json"
echo '<svg/>' >in.svg; echo '[]' >in.json
for file in in.svg in.json; do
    checks=$((checks + 1))
    "$wengert" translate --model model --attention-plot in.svg <$file >out 2>err && fail "$file is read and replaced"
    says err "$file: the output would overwrite standard input"
done
holds "they are as they were" "$(cat in.svg in.json)" = "<svg/>
[]"
ln in.svg same.svg
code 2 graph mlp -o q.svg --svg q.svg; says err "q.svg: two outputs would be this file"
code 2 graph mlp -o q.svg --svg ./q.svg; says err "./q.svg: two outputs would be this file"
code 2 graph mlp --png in.svg --svg same.svg; says err ": two outputs would be this file"
holds "nothing is left of it" ! -e q.svg
# standard output as a file: what it has stays
code 0 graph mlp --svg /dev/stdout; says out "</svg>"
code 0 evaluate --model model input target --output /dev/stdout; cp out both
code 0 evaluate --model model input target --output out; holds "what is printed" -z "$(diff both out)"
code 0 evaluate --model model input target --output other
holds "lines" "$(lines both)" -eq $(($(lines out) + $(lines other)))
ln -s /proc/self/fd/1 standard
code 4 export mlp standard; says err "standard: expected a regular file to replace, or none, got a link to an open file"
holds "a link stays one" -L standard
code 2 graph mlp -o none/; says err "'none/': expected the name of a file to write, got that of a folder"
code 2 graph mlp -o ''; says err "'': expected the name of a file to write, got an empty one"
code 4 graph mlp -o kept; says err "kept: cannot be written: Is a directory"
code 0 graph mlp --svg kept/model/vocab.svg; code 0 graph mlp --svg kept/model/vocab.svg; rm kept/model/vocab.svg

# initial values replace initial values
for i in 1 2; do code 0 export mlp step.onnx --training-step --initial step.safetensors; done
code 2 graph mlp -o step.safetensors; says err "there is a file already, weights"
code 2 average step.safetensors model/model.safetensors; says err "weights, but no mean"

# a mean replaces a mean
code 0 average mean.safetensors model/model.safetensors; code 0 average mean.safetensors model/model.safetensors
code 0 average again.safetensors mean.safetensors mean.safetensors
code 0 average again.safetensors mean.safetensors kept/model/model.safetensors
code 0 average again.safetensors kept/model/model.safetensors
for file in config.yml vocab.txt progress.json; do
    code 3 average kept/model/$file model/model.safetensors; says err "kept/model/$file: "
    says err "OUTPUT, which comes first, replaces only a mean"
done
cp model/model.safetensors kept/model/average.safetensors; cp model/model.safetensors kept/model/best-bleu.safetensors
cp -r kept/model/*-*.safetensors kept/model/average.safetensors as_it_was/model
for file in model.safetensors optimizer.safetensors average.safetensors best-bleu.safetensors $checkpoint; do
    code 2 average kept/model/$file model/model.safetensors; says err "kept/model/$file: weights, but no mean"
done
code 2 average --last 1 kept/model/$checkpoint model; says err "weights, but no mean"
ln -s kept.safetensors link; echo kept >kept.safetensors
code 4 average link model/model.safetensors; says err "link: expected a regular file to replace"
says kept.safetensors kept
holds "what was kept" -z "$(diff -r kept as_it_was)"
code 0 info model

finish 480
