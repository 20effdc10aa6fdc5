#!/bin/sh
# test_cli_weights.sh WENGERT FOREIGN: wengert import and export: a model of another program is translated with, described
# and written back; options, messages and exit codes.
wengert=$1 foreign=$2
. "$(dirname "$0")/checks.sh"
export OMP_NUM_THREADS=1

code 0 import --from torch "$foreign/torch" --model model
says out "model: 51 tensors of $foreign/torch"
printf 'the house is green\n' >input
code 0 translate --model model --threads 1 --max-output-length 5
holds "one line" "$(lines out)" -eq 1
code 0 info model
code 2 import --from torch "$foreign/torch" --model model; says err "it has a model already"
code 0 export --to pytorch model written; says out "written: "
holds "files" -f written/model.safetensors -a -f written/config.json -a -f written/vocab.source.txt
code 0 import --from torch --model again written
cmp -s model/model.safetensors again/model.safetensors || fail "the weights are others"
code 0 import --from marian "$foreign/marian" --model words --vocabs "$foreign/marian/vocab.json"
code 4 import --from marian "$foreign/marian" --model pieces; says err "it has no source.spm"
# words, of two vocabularies: there is no SentencePiece model to look for, and one list is one too few
printf 'a b c d\nb c d e\n' >w.source
printf 'x y z w v\ny z w v u\n' >w.target
code 0 train --model pair -t w.source w.target --vocab-kind words --d-model 8 --d-ff 8 --heads 2 --encoder-layers 1 \
    --decoder-layers 1 --tying none --after 2u --threads 1
code 0 export --to marian pair pair.marian
holds "two lists" -f pair.marian/vocab.json -a -f pair.marian/target_vocab.json
code 0 import --from marian pair.marian --model pair.again
printf 'a b\nc\n' >input
code 0 translate --model pair --threads 1 --max-output-length 5
mv out expected
code 0 translate --model pair.again --threads 1 --max-output-length 5
cmp -s out expected || fail "another translation"
code 2 import --from marian pair.marian --model one --vocabs pair.marian/vocab.json
says err "expected the lists of source and target, such as pair.marian/vocab.json pair.marian/target_vocab.json, got one"
code 0 import --from marian pair.marian --model both --vocabs pair.marian/vocab.json pair.marian/target_vocab.json

code 3 import --from marian "$foreign/torch" --model wrong --vocabs "$foreign/torch/vocab.source.txt"
says err "expected an embedding, such as transformer.encoder.embed_tokens.weight, got none"
holds "nothing was written" ! -e wrong
code 3 import --from fairseq "$foreign/fairseq" --model wrong --d-model 16
says err "d-model: expected 16, by the command line or config.json, got 8 by the tensors"
code 2 import --from keras "$foreign/torch" --model wrong; says err "expected a layout, torch, fairseq or marian, got 'keras'"
code 2 import "$foreign/torch" --model wrong
code 2 import --from torch "$foreign/torch"; says err "model: expected a folder to make"
code 2 export --to keras model other; says err "--to: expected onnx, torch, fairseq or marian, got 'keras'"
code 1 export --to fairseq model other; says err "source-marks: the models of fairseq have end, this one has both"
finish 37
