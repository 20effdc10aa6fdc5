#!/bin/sh
# check_headers.sh ROOT: docs/reference.md has a line for every installed header.
cd "$1/include" || exit 1
headers=$(find wengert -name '*.h' | sort)
[ "$(echo "$headers" | wc -l)" -gt 90 ] || { echo "only these headers: $headers"; exit 1; }
missing=$(for header in $headers; do
    grep -q "^| \`$header\` | ." ../docs/reference.md || echo "$header"
done)
[ -z "$missing" ] || { echo "docs/reference.md lacks:"; echo "$missing"; exit 1; }
