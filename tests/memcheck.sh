#!/bin/sh
# memcheck.sh --log-file=FILE OPTION... COMMAND...: valgrind, as `ctest -T memcheck` calls it, for a command that starts
# other programs.  Each process writes a log of its own; FILE gets those that have errors.  Exit code 99 if there are any,
# also in a process whose exit code a script does not look at; otherwise that of the command.
log=${1#--log-file=}
shift
rm -f "$log" "$log".*
# What belongs to the system is run without valgrind.
valgrind --quiet --log-file="$log.%p" --trace-children=yes --trace-children-skip='/bin/*,/usr/*,*/cc1,*/as,*/ld' "$@"
code=$?
cat "$log".* >"$log" 2>/dev/null
rm -f "$log".*
[ ! -s "$log" ] || exit 99
exit $code
