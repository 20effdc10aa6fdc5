#!/bin/sh
# test_get_multi30k.sh SCRIPT: what scripts/get-multi30k does where the corpus is not as it should be.
script=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0 failures=0

# says EXPECTED TEXT ARGUMENT...: exit code, and what it complains about
says() {
    expected=$1 text=$2
    shift 2
    "$script" "$@" >out 2>&1
    got=$?
    checks=$((checks + 1))
    if [ $got -ne "$expected" ] || ! grep -qF -- "$text" out; then
        failures=$((failures + 1))
        echo "FAILED: get-multi30k $*: exit code $got, expected $expected and '$text':"
        cat out
    fi
}

says 2 "Usage:" --from
says 2 "Usage:" --elsewhere
says 2 "Usage:" one two
says 1 "nowhere: no such folder" --from nowhere
mkdir -p empty wrong packed/data/task1/raw
says 1 "empty: has neither test_2016_flickr.en nor test_2016_flickr.en.gz" --from empty into
echo "A dog." >wrong/test_2016_flickr.en
says 1 "test_2016_flickr.en: not the expected file" --from wrong into
gzip -c wrong/test_2016_flickr.en >packed/data/task1/raw/test_2016_flickr.en.gz
says 1 "test_2016_flickr.en: not the expected file" --from packed into
checks=$((checks + 1))
[ -z "$(ls -A into)" ] || { failures=$((failures + 1)); echo "FAILED: something was left in the folder"; }

echo "$checks checks, $failures failures"
[ $checks -eq 8 ] && [ $failures -eq 0 ]
