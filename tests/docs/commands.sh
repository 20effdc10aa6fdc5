#!/bin/sh
# commands.sh WENGERT SOURCE PARTS PAGE...: runs the commands that the pages show, each page in a folder of its own, where
# `wengert` is the program given, pkg-config knows the headers, and SOURCE is the folder of the source.  A command that
# fails, fails the test.  PARTS are the optional parts that the program has, such as "graphviz onednn".
set -eu
wengert=$1 SOURCE=$2 PARTS=$3
shift 3
export SOURCE PARTS OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$wengert" "$work/bin/wengert"
PATH=$work/bin:$PATH
printf 'Name: wengert\nDescription: headers\nVersion: 0\nCflags: -I%s\n' "$SOURCE/include" >"$work/bin/wengert.pc"
export PKG_CONFIG_PATH="$work/bin"
# has PART...: whether the program has all of them
cat >"$work/has" <<'END'
has() {
    for part in "$@"; do
        case " $PARTS " in
        *" $part "*) ;;
        *) echo "# skipped: needs $part"; return 1 ;;
        esac
    done
}
END
pages=0
for page in "$@"; do
    awk -v mode=sh -f "$(dirname "$0")/blocks.awk" "$page" >"$work/blocks"
    [ -s "$work/blocks" ] || continue
    cat "$work/has" "$work/blocks" >"$work/script"
    pages=$((pages + 1))
    mkdir "$work/$pages"
    if ! (cd "$work/$pages" && sh -eu "$work/script" >../out 2>../err); then
        grep '^# ' "$work/out" | tail -1
        tail -n 5 "$work/out" "$work/err"
        echo "the commands of $page fail"
        exit 1
    fi
    grep '^# ' "$work/out" | sed 's/^# /ran /'
done
echo "the commands of $pages pages ran"
[ "$pages" -gt 0 ]
