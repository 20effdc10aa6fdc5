#!/bin/sh
# check_parts.sh SOURCE PKG_CONFIG CC: the project is configured without each of its optional parts in turn, and without
# all of them.  A target that links a library of another part fails here, and not first on the machine of somebody who has
# not installed that library.
set -u
source=$1 pkg_config=$2 cc=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0 configured=0

# A pkg-config that does not know the modules in $WITHOUT.
cat >"$work/pkg-config" <<END
#!/bin/sh
for argument; do
    for module in \$WITHOUT; do
        [ "\$argument" != "\$module" ] || exit 1
    done
done
exec "$pkg_config" "\$@"
END
chmod +x "$work/pkg-config"

# configure MODULES [OPTION...]: only what cmake has found out of the compiler is kept from one configuration to the next.
configure() {
    [ ! -f "$work/build/CMakeCache.txt" ] || sed -i '/^\(CMAKE\|OpenMP\)_/!d' "$work/build/CMakeCache.txt"
    WITHOUT=$1
    export WITHOUT
    shift
    if ! cmake -S "$source" -B "$work/build" -DCMAKE_C_COMPILER="$cc" \
        -DPKG_CONFIG_EXECUTABLE="$work/pkg-config" "$@" >"$work/out" 2>&1; then
        echo "cmake fails without ${WITHOUT:-nothing} and with ${*:-no option}:"
        cat "$work/out"
        failed=1
    fi
    for module in $WITHOUT; do
        if "$work/pkg-config" --exists "$module"; then
            echo "$module was not hidden"
            failed=1
        fi
    done
    configured=$((configured + 1))
}

# The first module of each part.
modules=$(echo $(sed -n 's/^wg_part([A-Z0-9_]* "[^"]*" "\{0,1\}\([^"; ]*\).*/\1/p' "$source/CMakeLists.txt"))
for module in $modules libprotobuf-c; do
    configure "$module"
done
configure "$modules libprotobuf-c" -DWG_ONEDNN=OFF
for option in WG_ONEDNN WG_EXAMPLES WG_BENCH; do
    configure "" -D$option=OFF
done

# A library that is installed later is used from the next configuration on, unless its part was turned off.
configure "cmocka libgvc" -DWG_GRAPHVIZ=OFF
for given in "" -DWG_GRAPHVIZ=OFF; do
    # shellcheck disable=SC2086 # none or one
    WITHOUT='' cmake $given "$work/build" >"$work/out" 2>&1 || failed=1
    for setting in WG_TESTS:BOOL=ON WG_GRAPHVIZ:BOOL=OFF; do
        grep -q "^$setting" "$work/build/CMakeCache.txt" || { echo "not $setting when configured again"; failed=1; }
    done
done
[ "$configured" -ge 14 ] || { echo "only $configured configurations: are the modules still found in CMakeLists.txt?"; failed=1; }
exit $failed
