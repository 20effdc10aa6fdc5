# Targets that look for mistakes.  Each fails if it has a remark.
#
#     clang-tidy   the checks of .clang-tidy
#     cppcheck     warnings, performance, portability; tests/cppcheck.supp has what it gets wrong
#     memcheck     the tests under valgrind; tests/valgrind.supp has what libraries do within themselves
#
# They take the files and tests of this build: parts that are left out are not checked.  CONTRIBUTING.md says how to run
# them.
cmake_host_system_information(RESULT WG_PROCESSORS QUERY NUMBER_OF_LOGICAL_CORES)

# wg_tool(target package program... RUN command...): a target that runs the command at low priority, or, where one of
# the programs (variables of find_program) is missing, says which package to install.
function(wg_tool target package)
  cmake_parse_arguments(PARSE_ARGV 2 wg "" "" RUN)
  foreach(program ${wg_UNPARSED_ARGUMENTS})
    if(NOT ${program})
      add_custom_target(${target} VERBATIM
        COMMAND ${CMAKE_COMMAND} -E echo "${target} is not found; on Debian, install ${package}, then run cmake again"
        COMMAND ${CMAKE_COMMAND} -E false)
      return()
    endif()
  endforeach()
  add_custom_target(${target} COMMAND nice ${wg_RUN}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
endfunction()

# ---- clang-tidy --------------------------------------------------------------------------------------
# Version 14, where there is one: others have other checks.  tests/fuzz is there only where fuzzers are built.
find_program(WG_CLANG_TIDY NAMES clang-tidy-14 clang-tidy)
find_program(WG_RUN_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
wg_tool(clang-tidy "clang-tidy-14 or clang-tidy" WG_CLANG_TIDY WG_RUN_CLANG_TIDY
  RUN ${WG_RUN_CLANG_TIDY} -clang-tidy-binary ${WG_CLANG_TIDY} -quiet -j ${WG_PROCESSORS}
    -p ${PROJECT_BINARY_DIR} "^${PROJECT_SOURCE_DIR}/(?!build)")

# ---- cppcheck ----------------------------------------------------------------------------------------
# It keeps what it found of each file, and looks again only at those that changed.  It reads no headers of the system:
# that of protobuf-c says which generated sources fit it.
find_program(WG_CPPCHECK cppcheck)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/cppcheck)
wg_tool(cppcheck "cppcheck" WG_CPPCHECK
  RUN ${WG_CPPCHECK} --project=${PROJECT_BINARY_DIR}/compile_commands.json -i${PROJECT_BINARY_DIR}
    --cppcheck-build-dir=${PROJECT_BINARY_DIR}/cppcheck -j ${WG_PROCESSORS} --quiet --error-exitcode=1
    -DPROTOBUF_C_VERSION_NUMBER=1004001 -DPROTOBUF_C_MIN_COMPILER_VERSION=1000000
    --enable=warning,performance,portability --inline-suppr --relative-paths=${PROJECT_SOURCE_DIR}
    --suppressions-list=${PROJECT_SOURCE_DIR}/tests/cppcheck.supp --library=posix,gnu)

# They read generated sources too.
get_property(WG_GENERATED_SOURCES GLOBAL PROPERTY WG_GENERATED)
add_dependencies(clang-tidy ${WG_GENERATED_SOURCES})
add_dependencies(cppcheck ${WG_GENERATED_SOURCES})

# ---- valgrind ----------------------------------------------------------------------------------------
# By `ctest -T memcheck`, which reads this file.  Not the tests that put a malloc of their own in place of the library's,
# as valgrind does, nor those that start /proc/self/exe, which is valgrind then, nor those that run nothing of ours.
find_program(WG_VALGRIND valgrind)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/DartConfiguration.tcl @ONLY CONTENT
"SourceDirectory: @PROJECT_SOURCE_DIR@
BuildDirectory: @PROJECT_BINARY_DIR@
Site: here
BuildName: valgrind
MemoryCheckType: Valgrind
MemoryCheckCommand: @PROJECT_SOURCE_DIR@/tests/memcheck.sh
MemoryCheckCommandOptions: --leak-check=full
MemoryCheckSuppressionFile: @PROJECT_SOURCE_DIR@/tests/valgrind.supp
")
wg_tool(memcheck valgrind WG_VALGRIND
  RUN ${CMAKE_COMMAND} -E chdir ${PROJECT_BINARY_DIR} ${CMAKE_CTEST_COMMAND} -T memcheck -LE "slow|caps|house"
    -E "^(test_failing_|bench_|blocks_in_)" --output-on-failure)
