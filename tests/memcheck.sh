#!/bin/sh
# memcheck.sh --log-file=FILE OPTION... COMMAND...: valgrind, as `ctest -T memcheck` calls it, for a test that may start
# other programs.  Each process writes a log of its own; FILE gets what valgrind says in them: exit code 99 if that is
# anything.  A process with a report ends as it would without, so that the test goes on as usual.
log=${1#--log-file=}
shift
rm -f "$log" "$log".*
# valgrind knows no AVX-512, and runs one thread at a time: one that waits must not spin.
export WENGERT_MAX_CPU_ISA=AVX2 ONEDNN_MAX_CPU_ISA=AVX2 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
# What belongs to the system is run without valgrind.  Products of oneDNN move their stack into memory of their own, often
# less than 2 MB away, which valgrind would take for one very large frame.
valgrind --quiet --log-file="$log.%p" --trace-children=yes --trace-children-skip='/bin/*,/usr/*' \
    --max-stackframe=262144 "$@"
code=$?
# A process without standard output may get the log's file in its place, and writes to it.
grep -h '^==[0-9]*== .' "$log".* >"$log" 2>/dev/null
rm -f "$log".*
[ ! -s "$log" ] || exit 99
exit $code
