#!/usr/bin/env bash
# check_package.sh BUILD SOURCE: makes the Debian package of a build, installs it in a folder that dpkg takes for a system,
# uses it from C by pkg-config (check_install.sh does by find_package), from C++ alone without OpenMP and from Python, and
# removes it without a trace.  With the compilers in CC and CXX.  Exit status 77: a tool is missing (Debian: dpkg-dev,
# file, binutils), or the user is not root, as dpkg wants.
set -euo pipefail
build=$1 source=$2
for tool in dpkg dpkg-deb dpkg-shlibdeps file objdump; do
    command -v $tool >/dev/null || { echo "$tool is not installed: not checked"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "dpkg installs for root alone: not checked"; exit 77; }
work=$build/packaged
rm -rf "$work"
mkdir -p "$work"
die() { echo "$*" >&2; tail -30 "$work/log" >&2; exit 1; }

cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >"$work/log" 2>&1 ||
    die "cpack failed"
deb=$(ls "$work"/wengert_*.deb)
field() { dpkg-deb --field "$deb" "$1"; }
echo "$(basename "$deb"): $(du -h "$deb" | cut -f1), depends on $(field Depends)"
needs() { case $(field Depends) in *"$1"*) ;; *) die "the package does not depend on $1" ;; esac; }
needs libc6
if grep -q "^WG_LAPACK:BOOL=ON" "$build/CMakeCache.txt"; then
    needs liblapacke # which is loaded when a plan needs it
fi
parts=$(dpkg-deb --ctrl-tarfile "$deb" | tar -t)
for part in control shlibs md5sums; do
    grep -qx "./$part" <<<"$parts" || die "the package has no $part"
done
soname=$(dpkg-deb --info "$deb" shlibs)
echo "shlibs: $soname"

root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers} "$work/stub"
touch "$root"/var/lib/dpkg/{status,available}
# Scripts of the package run outside of the folder, in which there is no shell, and their ldconfig does nothing.
options="--force-depends --force-script-chrootless"
printf '#!/bin/sh\n' >"$work/stub/ldconfig"
chmod +x "$work/stub/ldconfig"
PATH=$work/stub:$PATH
before=$work/before after=$work/after
everything() { (cd "$root" && find . -path ./var/lib/dpkg -prune -o -print | sort); }
everything >"$before"
dpkg --root="$root" --log="$work/dpkg.log" $options -i "$deb" >>"$work/log" 2>&1 || die "dpkg -i failed"

usr=$root/usr
pc=$(find "$usr" -name wengert.pc)
lib=$(dirname "$(dirname "$pc")")
so=$(find "$lib" -maxdepth 1 -name 'libwengert.so.*.*.*')
[ -L "$lib/libwengert.so" ] && [ -f "$lib/libwengert.a" ] && [ -f "$so" ] || die "libraries are missing in $lib"
name=$(objdump -p "$so" | sed -n 's/.*SONAME *//p')
case $soname in "libwengert ${name#libwengert.so.} wengert"*) ;; *) die "shlibs says $soname, the library is $name" ;; esac
[ -L "$lib/$name" ] || die "no link $name"
export LD_LIBRARY_PATH=$lib

program=$source/examples/linear_regression.c
flags() { PKG_CONFIG_PATH=$(dirname "$pc") pkg-config "$@" wengert; }
"${CC:-cc}" -std=c11 "$program" $(flags --cflags --libs) -o "$work/by_pkg_config"
"$work/by_pkg_config" | tail -1
cmake -G Ninja -S "$source/tests/installed/cpp" -B "$work/cpp" -DCMAKE_PREFIX_PATH="$usr" -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON \
    >>"$work/log" 2>&1 || die "find_package failed in C++"
cmake --build "$work/cpp" >>"$work/log" 2>&1 || die "the C++ program does not build"
"$work/cpp/with_wengert"
if command -v python3 >/dev/null; then
    python3 "$source/tests/installed/sum.py" "$lib/$name"
fi
"$usr/bin/wengert" --version
"$usr/bin/wengert" graph mlp --html "$work/mlp.html"
ls "$usr"/share/man/man1/wengert*.1* >/dev/null || die "no manual pages"
[ -f "$usr/share/doc/wengert/copyright" ] || die "no copyright"

dpkg --root="$root" --log="$work/dpkg.log" $options --purge wengert >>"$work/log" 2>&1 || die "dpkg --purge failed"
everything >"$after"
cmp -s "$before" "$after" || die "left behind: $(diff "$before" "$after" | head -5)"
grep -q '^Package: wengert' "$root/var/lib/dpkg/status" && die "dpkg still knows the package"
echo "installed, used from C, C++ and Python, and removed without a trace"
