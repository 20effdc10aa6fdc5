#!/bin/sh
# man-pages.sh WENGERT FOLDER VERSION DATE: makes the manual pages of the program and of each command, from their --help,
# in FOLDER: wengert.1, wengert-train.1, ...
set -eu
wengert=$1 folder=$2 version=$3 date=$4
here=$(cd "$(dirname "$0")" && pwd)
# Each option on one line, its text in a column of its own.
export LC_ALL=C \
    ARGP_HELP_FMT=rmargin=3000,short-opt-col=2,long-opt-col=6,doc-opt-col=2,opt-doc-col=100,header-col=1,usage-indent=12
rm -rf "$folder"
mkdir -p "$folder"

# rows HELP-ARGUMENTS...: "name text" for each row of the list that a help has
rows() {
    "$wengert" "$@" | sed -n 's/^  \([a-z][a-z-]*\)  *\(.*\)/\1 \2/p'
}

exits=$("$wengert" help | sed -n 's/^Exit codes: //p')

# page NAME TEXT SEE...: the page of "wengert NAME"; NAME is empty for the program itself
page() {
    full="wengert${1:+ $1}" what=$2
    shift 2
    # shellcheck disable=SC2086  # "wengert bench op" is three words
    set -- "$*" $full
    see=$1
    shift 2
    file=$folder/$(echo "$full" | tr ' ' -).1
    "$wengert" "$@" --help >"$folder/help"
    awk -f "$here/man.awk" -v name="$full" -v what="$what" -v version="$version" -v date="$date" -v see="$see" \
        -v exits="$exits" <"$folder/help" >"$file"
}

commands=$(rows help | grep -v '^help ')
page "" "graph-based automatic differentiation" $(echo "$commands" | sed 's/ .*//; s/^/wengert-/')
echo "$commands" | while read -r name text; do
    kinds=
    [ "$name" != bench ] || kinds=$(rows bench --help)
    page "$name" "$text" wengert $(echo "$kinds" | sed '/./!d; s/ .*//; s/^/wengert-bench-/')
    [ -z "$kinds" ] || echo "$kinds" | while read -r kind about; do
        page "$name $kind" "$about" wengert "wengert-$name"
    done
done
rm "$folder/help"
