#!/bin/sh
# memcheck.sh --log-file=FILE OPTION... COMMAND...: valgrind, as `ctest -T memcheck` calls it, for a test that may start
# other programs.  Each process writes a log of its own; FILE gets what they say.  Exit code 99 if that is anything, also
# of a process whose exit code a script does not look at; otherwise that of the command.
log=${1#--log-file=}
shift
rm -f "$log" "$log".*
# valgrind knows no AVX-512, and runs one thread at a time: one that waits must not spin.
export WENGERT_MAX_CPU_ISA=AVX2 ONEDNN_MAX_CPU_ISA=AVX2 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
# What belongs to the system is run without valgrind.
valgrind --quiet --log-file="$log.%p" --trace-children=yes --trace-children-skip='/bin/*,/usr/*' "$@"
code=$?
cat "$log".* >"$log" 2>/dev/null
rm -f "$log".*
[ ! -s "$log" ] || exit 99
exit $code
