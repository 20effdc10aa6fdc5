#!/bin/sh
# test_cli_options.sh WENGERT: what options refuse: texts that are no numbers, numbers out of range, options that are
# given too often.
wengert=$1
. "$(dirname "$0")/checks.sh"
echo text >hyp

# refuses OPTION MESSAGE VALUES COMMAND...: exit code 2 and the message for each of the VALUES, one a line, of the option
refuses() {
    option=$1 message=$2 values=$3
    shift 3
    while IFS= read -r value; do
        code 2 "$@" "$option" "$value"
        says err "$option: $message, got '$value'"
    done <<END
$values
END
}

# again N WORD...: the words, N times
again() {
    n=$1
    shift
    while [ "$n" -gt 0 ]; do
        printf '%s ' "$@"
        n=$((n - 1))
    done
}

# whole numbers; the first line is empty
no_number="
x
5x
 x
99999999999999999999"
refuses --depth "expected a whole number from 1 to 1000" "$no_number
0
-1
1001" graph mlp
refuses --seed "expected a whole number" "$no_number
-1" gradcheck mlp
for value in "" 0 x 2147483648; do
    code 2 gradcheck mlp --range "labels=$value"
    says err "--range: expected a whole number from 1 to 2147483647, got '$value'"
done
code 2 gradcheck mlp --range =3; says err "--range: expected NAME=N, got '=3'"

# numbers
no_real="
1e-999
x
1x
-1
nan"
refuses --seconds "expected a number above 0, up to 86400" "$no_real
0
86401" graph mlp
refuses --digits "expected a number from 0" "$no_real
inf" diff mlp --dtypes f64,f32
if "$wengert" bleu --help >out 2>err; then # built with training
    refuses --smooth-value "expected a number above 0" "$no_real
0
1e10" bleu hyp -i hyp --smooth floor
    refuses --dropout "expected a number from 0 to below 1" "$no_real
1" bench train-step
fi

# pairs, and shapes
for pair in f64 ,f64 f64, f64,f32,f16; do
    code 2 diff mlp --dtypes $pair; says err "expected two, A,B, got '$pair'"
done
for shapes in "" x -5x6,6x7 5x6, 5x6@,6x7 5x6@0,6x7 5x6@y,6x7 "5x6;6x7" 1x1x1x1x1x1x1x1x1,2x2 \
    1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1; do
    code 2 bench op matmul --shape "$shapes"; says err "'$shapes' is not a list of shapes"
done

# what they take
quick="--no-limits --runs 1"
code 0 bench op adam $quick --shape 8,8,8,8,scalar,scalar;  says out "adam"
code 0 bench op embedding $quick --shape 40x8,3x5@40;       says out "embedding"
code 0 gradcheck --op add --seed 18446744073709551615;      says out "0 failed"

# as often as there is room, and once more
code 2 gradcheck mlp $(again 33 --range labels=3); says err "--range given more than 32 times"
code 2 graph mlp $(again 65 --expand mlp);         says err "--expand given more than 64 times"
code 2 graph mlp $(again 65 --open mlp);           says err "--open given more than 64 times"

# options that there are not: which was meant, unless none was
mistyped() { # COMMAND, OPTION AS WRITTEN, AS MEANT
    code 2 $1 $2
    has_line err "wengert ${1%% *}: unrecognized option '${2%%[= ]*}'; did you mean '$3'?"
    has_line err "Try \`wengert ${1%% *} --help' or \`wengert ${1%% *} --usage' for more information."
}
mistyped "graph mlp" "--sgv x.svg" --svg
mistyped "graph mlp" "--expnad=mlp" --expand
mistyped "graph mlp -o x --depth 3" --fulll --full
mistyped "diff mlp" "--bakcends=cpu" --backends
code 2 graph mlp --quite-another-thing; has_line err "wengert graph: unrecognized option '--quite-another-thing'"
code 2 graph mlp -- --sgv; says err "expected one model, got 'mlp' and '--sgv'"
code 0 graph mlp -o --sgv; holds "a file of that name" -s ./--sgv
code 0 graph mlp -o--fulll; code 0 graph mlp --output --fulll; holds "a file of that name" -s ./--fulll
code 0 graph mlp --help --fulll; says out Usage
if "$wengert" train --help >out 2>err; then
    mistyped "train -m m" "--lern-rate 5" --learn-rate
    mistyped "train m --heads 2 --quiet" "--dropuot 0.1" --dropout
    mistyped "translate -m m" "--beamsize 3" --beam-size
    : >empty.yml
    code 2 train $(again 9 --config empty.yml);    says err "--config given more than 8 times"
    code 2 train --heads 0 --quiet;                says err "--heads: expected a whole number from 1"
    code 2 train $(again 257 --quiet);             says err "more than 256 options given"
    code 2 info $(again 256 --quiet) folder;       says err "info"
    code 2 translate $(again 256 --quiet) folder;  says err "more than 256 options"
    code 2 train --preset tiny one two;            says err "expected one folder, got 'one' and 'two'"
    code 2 train --train-sets a - one two;         says err "expected one folder, got 'one' and 'two'"
    code 2 translate --model one two;              says err "expected one folder, got 'one' and 'two'"

    # those without an effect beside the others are named
    small_settings 0 | grep -v valid-freq >small.yml
    one="train m --overwrite --config small.yml --after 1u"
    for idle in "momentum 0.9:--optimizer sgd" "wire bf16:--distributed" \
        "max-positions 9:--positions learned" "smoothing-spread off-target:--label-smoothing" "join-lines:--type lm"; do
        code 0 $one --label-smoothing 0 --${idle%:*}
        has_line err "wengert: --$(echo "${idle%:*}" | cut -d ' ' -f 1) has no effect without ${idle#*:}"
        code 0 $one --quiet --${idle%:*}
        holds "output with --quiet" ! -s err
    done
    printf 'a b\nb c\nc a\n' >text
    code 0 $one --train-sets text text --vocab-size 8 --valid-freq 1u --numbers 5
    has_line err "wengert: --valid-freq has no effect without a validation set"
    has_line err "wengert: --numbers has no effect without the built-in corpus"
    code 0 $one --optimizer sgd --adam-beta2 0.9
    has_line err "wengert: --adam-beta2 has no effect without --optimizer adam or adamw"
    # a vocabulary that is given is not built: how is named, and config.yml has what it is
    code 0 $one --train-sets text text --vocab-kind words --vocab-tokenized
    has_line err "wengert: --vocab-tokenized has no effect without a vocabulary of bpe or unigram to build"
    holds "other notes" "$(grep -c 'no effect' err)" = 1
    mv m/vocab.txt words.txt
    given="train given --config small.yml --train-sets text text --vocabs words.txt"
    for after in 1u 2u; do # the same command resumes
        code 0 $given --after $after --vocab-kind chars --vocab-size 50 --vocab-tokenized
        has_line err "wengert: --vocab-kind has no effect without a vocabulary to build"
        has_line err "wengert: --vocab-size has no effect without a vocabulary to build"
        has_line err "wengert: --vocab-tokenized has no effect without a vocabulary of bpe or unigram to build"
        says given/config.yml "vocab-kind: words "; says given/config.yml "vocab-size: 7 "
        says given/config.yml "vocab-tokenized: false "
    done
    says err "resuming after update 1"
    code 0 $given --after 3u; holds "notes" "$(grep -c 'no effect' err)" = 0
    code 2 train given --after 3u --d-model 8; says err "d-model: expected 16, as in the model, got 8"
    code 2 train --config small.yml --after 1u --exponential-smoothing 2
    has_line err "wengert: --exponential-smoothing: expected a number from 0 to 1, got '2'"
    code 0 $one --optimizer sgd --momentum 0.9 --weight-decay 0.1 --valid-freq 1u --numbers 400
    holds "notes" "$(grep -c 'no effect' err)" = 0
fi

finish 180
