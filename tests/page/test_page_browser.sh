#!/bin/sh
# test_page_browser.sh WENGERT PRINT_BASE: opens pages in Chromium, without a network, and looks at what it makes of them:
# the plan of the base Transformer's training step, with clicks, search and keys, and a graph whose names are markup.
# Exit status 77: Chromium is not installed.
wengert=$1 print_base=$2 here=$(cd "$(dirname "$0")" && pwd)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "Chromium is not installed: not checked"
    exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# look PAGE OPTION...: the page's elements, after its script, into dom
look() {
    page=$1
    shift
    "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --no-first-run \
        --host-resolver-rules='MAP * ~NOTFOUND' --window-size=1400,900 --enable-logging=stderr "$@" \
        --dump-dom "file://$page" >"$work/dom" 2>"$work/log"
}

# check PAGE LEAST: at least so many checks hold in the page, and the console stays empty
check() {
    look "$work/$1.html"
    ready=$(sed -n 's/.*<html[^>]* data-ready="\([0-9]*\)".*/\1/p' "$work/dom" | head -1)
    { cat "$work/$1.html" && echo '<script type="module">' && cat "$here/check.js" && echo '</script>'; } >"$work/check.html"
    look "$work/check.html" --virtual-time-budget=60000
    verdict=$(sed -n '/<pre id="verdict">/,/<\/pre>/p' "$work/dom" | sed 's/.*<pre id="verdict">//; s/<\/pre>.*//')
    echo "$1: ready after $ready ms; $verdict"
    console=$(grep -a 'CONSOLE' "$work/log")
    [ -z "$console" ] || { echo "$1: the console says: $console"; failed=1; }
    count=${verdict%% checks*}
    case $verdict in
    *" checks, 0 failures"*) [ "$count" -ge "$2" ] || { echo "$1: only $count checks"; failed=1; } ;;
    *) tail -5 "$work/log"; failed=1 ;;
    esac
}

"$print_base" >"$work/base.wg" && "$wengert" graph "$work/base.wg" --plan --html "$work/base.html" || exit 1
check base 35
cat >"$work/hostile.wg" <<'END'
wengert-graph 1
%0 = input() {dtype=f32, shape=[2]} : f32[2] '</script><script>window.hacked=1</script>'
%1 = tanh(%0) : f32[2] '<b class="hostile">&amp;' in '<img src=x onerror=window.hacked=1>' at '<iframe>.c:1'
output '<img src=x onerror=window.hacked=1>' = %1
END
"$wengert" graph "$work/hostile.wg" --html "$work/hostile.html" || exit 1
check hostile 7

# The plan that takes the least memory, which the message of a limit that is too small tells
least=$("$wengert" graph convnet --step --memory-limit 1 2>&1 | sed -n 's/.*with recomputation \([0-9]*\) bytes are enough.*/\1/p')
"$wengert" graph convnet --step --memory-limit "$least" --html "$work/limited.html" || exit 1
check limited 11
exit $failed
