#!/bin/sh
# test_cli_strangers.sh WENGERT: what files from strangers cannot do, as docs/threat-model.md says: command a terminal,
# lead writing elsewhere, run code, ask for all memory.
wengert=$1
. "$(dirname "$0")/checks.sh"
export OMP_NUM_THREADS=1
mkdir home; HOME=$work/home; export HOME; unset XDG_CACHE_HOME XDG_CONFIG_HOME
small_settings 1u >small.yml
code 0 train --config small.yml --model model --after 2u
printf 'forty-two\n' >input

# plain FILE: no control characters but line breaks
plain() {
    checks=$((checks + 1))
    if tr -d '\n' <"$1" | LC_ALL=C grep -q '[[:cntrl:]]'; then fail "control characters in $1"; fi
}

# safetensors HEADER: such a file, with one element of data
safetensors() {
    printf "\\$(printf %03o "$(printf %s "$1" | wc -c)")\\0\\0\\0\\0\\0\\0\\0%s\\0\\0\\0\\0" "$1"
}

# stranger: a fresh copy of the model, whose settings may be changed
stranger() {
    rm -rf strange; cp -r model strange; sed -i 1d strange/config.yml
}

# ---- names that would command a terminal
stranger
safetensors '{"\u001b]0;title\u0007/x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' >strange/model.safetensors
code 3 translate --model strange; plain err
code 0 info strange; plain out; says out "?]0;title?"
safetensors '{"x":{"dtype":"\u001b[2J\nwengert: all is well","shape":[1],"data_offsets":[0,4]}}' >strange/model.safetensors
code 3 translate --model strange; plain err; says err '"?[2J?wengert: all is well"'
stranger
printf '"\\e[2J\\nwengert: all is well": 1\n' >>strange/config.yml
for command in translate info train; do
    code 3 $command --model strange; plain err; says err "no option '?[2J?wengert: all is well'"
done
stranger
: >"strange/$(printf '\033[2J')"
code 0 info strange; plain out; says out "?[2J"
printf '{"kind": "\033[2J"}\n' >strange/metrics.jsonl
code 3 plot strange -o curves.svg; plain err

# ---- graphs: names, and values that no memory holds
"$wengert" graph mlp -o mlp.wg; sed "s/'x'/'x\\\\x1b[2J'/" mlp.wg >odd.wg
for command in graph "gradcheck" "diff mlp" "bench"; do
    "$wengert" $command odd.wg >out 2>err; plain out; plain err
done
sed 's/^\(%[0-9]* = \)[a-z]*/\1no\\x1bop/' mlp.wg >odd.wg
code 3 graph odd.wg; plain err

# limited: the program with 4 GB of addresses
limited() {
    (ulimit -v 4000000; "$wengert" "$@" <input >out 2>err)
    got=$?
}

# is CODE WHAT: the exit code of the last program
is() {
    checks=$((checks + 1))
    [ $got -eq "$1" ] || fail "$2: exit code $got, expected $1"
}

# ---- graphs that no builder makes
for leaf in parameter state; do
    printf "wengert-graph 1\n%%0 = parameter : f32[2] 'w'\n%%1 = $leaf : f32[2]\n%%2 = add(%%0, %%1)\n%%3 = sum(%%2) {axes=(0)}\noutput %%3\n" >nameless.wg
    for command in bench "graph --plan" "graph --grad --plan"; do
        code 2 $command nameless.wg; says err "$leaf %1 has no name"
    done
    code 1 gradcheck nameless.wg; says out "$leaf %1 has no name"
    code 0 graph nameless.wg --grad; code 0 diff nameless.wg nameless.wg
done
printf "wengert-graph 1\n%%0 = parameter : f32[3000000,3000000] 'w'\n%%1 = sum(%%0) {axes=(0,1)}\noutput %%1\n" >big.wg
code 0 graph big.wg
if (ulimit -v 4000000 && "$wengert" --version) >out 2>err; then # sanitizers reserve far more addresses
    limited bench big.wg; is 1 "a large graph"; says err "w: out of memory"
    limited gradcheck big.wg; is 1 "a large graph"; says out "out of memory"
fi

# ---- models that no memory holds, or that are not those of their weights
stranger; sed -i 's/^d-model: .*/d-model: 1000000/' strange/config.yml
if (ulimit -v 4000000 && "$wengert" --version) >out 2>err; then
    limited translate --model strange; is 1 "a large model"; says err "strange: no memory for the parameters"
fi
stranger; sed -i -e 's/^d-ff: .*/d-ff: 1000000/' -e 's/^encoder-layers: .*/encoder-layers: 100/' strange/config.yml
code 3 translate --model strange; says err "expected F32 [1000000,16], got F32 [16,16]"

# ---- a text that unpacks to much more
if (ulimit -v 400000 && "$wengert" --version) >out 2>err; then
    dd if=/dev/zero bs=1048576 count=300 2>/dev/null | gzip -1 >bomb.gz
    (ulimit -v 400000; "$wengert" train --config small.yml --model other --train-sets bomb.gz bomb.gz >out 2>err)
    got=$?; is 1 "a text of 300 MB"; says err "bomb.gz: no memory for more than"; holds "no folder" ! -e other
fi

# ---- links: what is written lies in the folder
mkdir mine; cp -r model/checkpoints mine/checkpoints; cp model/model.safetensors mine/weights; echo mine >mine/note
cp -r mine before
stranger; rm -r strange/checkpoints; ln -s "$work/mine/checkpoints" strange/checkpoints
for option in "" --overwrite; do
    code 4 train --model strange --after 4u $option; says err "strange/checkpoints: expected a folder, got a link"
done
stranger; ln -s "$work/mine" strange/checkpoints/damaged
code 4 train --model strange --after 4u; says err "strange/checkpoints/damaged: expected a folder, got a link"
stranger; ln -sf "$work/mine/note" strange/metrics.jsonl
code 4 train --model strange --after 4u; says err "strange/metrics.jsonl: expected a regular file to continue, or none, got a symbolic link"
stranger; ln -s "$work/mine/note" strange/.wengert.lock
code 4 train --model strange --after 4u; says err "strange/.wengert.lock: open for writing: Too many levels of symbolic links"
stranger; ln -sf "$work/mine/weights" strange/model.safetensors
code 0 train --model strange --after 4u
holds "a new file took the place of the link" ! -L strange/model.safetensors
stranger # another folder in its settings: --model has precedence
printf 'model: "%s"\noverwrite: true\n' "$work/mine" | cat - strange/config.yml | sed -e '3,$s/^model: .*//' -e '3,$s/^overwrite: .*//' >settings
cp settings strange/config.yml; cp settings mine/config.yml; cp settings before/config.yml
code 0 train --model strange --after 2u
checks=$((checks + 1)); diff -r before mine >out || fail "files outside the folder changed"

# ---- pictures: gnuplot runs no commands of the folder it is started in
if command -v gnuplot >which; then
    printf 'system "touch stolen"\n' >.gnuplot; cp .gnuplot gnuplotrc; cp .gnuplot model/.gnuplot
    code 0 translate --model model --attention-plot map.svg; says map.svg "</svg>"
    code 0 plot model -o curves.svg
    holds "no command was run" ! -e stolen
fi

# ---- a file whose name is an option
: >--version
code 4 translate -- --version; says err "--version: not a model folder"
code 2 graph -- --version; says err "--version: not a model: "
cp model/metrics.jsonl ./--help; code 4 plot -- --help; says err "--help/"

# ---- a cap of the instruction set that is none
WENGERT_MAX_CPU_ISA=AVX3 "$wengert" ops >out 2>err
got=$?; is 2 "an unknown cap"; says err WENGERT_MAX_CPU_ISA

# ---- nothing is kept outside of the folders that were named
holds "no file in the home folder" -z "$(ls -A home)"

finish 40
