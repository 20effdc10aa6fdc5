#!/usr/bin/env bash
# check_install.sh BUILD SOURCE WENGERT: installs the build into a folder of its own, which is then moved, and from there
# builds and runs a program by find_package (shared and static, also in a project of C++ alone), and by pkg-config; then it
# follows docs/getting-started.md.  With the compilers in CC and CXX: the static library needs the OpenMP of the compiler
# that built it.
set -euo pipefail
build=$1 source=$2 wengert=$3
work=$build/installed
program=$source/examples/linear_regression.c
rm -rf "$work"
mkdir -p "$work"

cmake --install "$build" --prefix "$work/first" >"$work/log"
mv "$work/first" "$work/there"

cmake -G Ninja -S "$source/tests/installed" -B "$work/user" -DCMAKE_PREFIX_PATH="$work/there" \
    -DPROGRAM="$program" >>"$work/log"
cmake --build "$work/user" >>"$work/log" || { tail -40 "$work/log"; exit 1; }
"$work/user/with_wengert" | tail -1
"$work/user/with_wengert_static" | tail -1

# A project of C++ alone: the shared library needs no OpenMP, the static one that of C++.
for openmp in ON OFF; do
    cmake -G Ninja -S "$source/tests/installed/cpp" -B "$work/cpp" -DCMAKE_PREFIX_PATH="$work/there" \
        -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=$openmp >>"$work/log" || { tail -40 "$work/log"; exit 1; }
    cmake --build "$work/cpp" >>"$work/log" || { tail -40 "$work/log"; exit 1; }
    "$work/cpp/with_wengert"
done
"$work/cpp/with_wengert_static"

pc=$(find "$work/there" -name wengert.pc)
flags() {
    PKG_CONFIG_PATH=$(dirname "$pc") pkg-config "$@" wengert
}
"${CC:-cc}" -std=c11 "$program" $(flags --cflags --libs) -o "$work/by_pkg_config"
LD_LIBRARY_PATH=$(flags --variable=libdir) "$work/by_pkg_config" | tail -1
"${CC:-cc}" -std=c11 "$program" $(flags --cflags) -Wl,-Bstatic $(flags --libs-only-L) -lwengert -Wl,-Bdynamic \
    $(flags --static --libs | sed 's/-lwengert//') -o "$work/by_pkg_config_static"
"$work/by_pkg_config_static" | tail -1
# The page says $HOME/wengert, and cc.
mkdir -p "$work/home/bin"
ln -s "$work/there" "$work/home/wengert"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "${CC:-cc}")" >"$work/home/bin/cc"
chmod +x "$work/home/bin/cc"
HOME="$work/home" PATH="$work/home/bin:$PATH" sh "$source/tests/docs/commands.sh" "$wengert" "$source" package \
    "$source/docs/getting-started.md"
echo "installed headers, libraries, find_package and pkg-config work"
