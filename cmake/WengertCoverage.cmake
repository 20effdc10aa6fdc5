# Builds with --coverage (the preset `coverage`), and their target `coverage`: it runs the tests from counters at zero,
# then tests/coverage.sh, which reports what they ran of the library and the program, and fails below its bars.
if(NOT CMAKE_C_FLAGS MATCHES "--coverage")
  return()
endif()

add_library(wg_coverage_exit STATIC tests/coverage_exit.c)
link_libraries($<BUILD_INTERFACE:wg_coverage_exit>)
add_link_options(-Wl,--wrap=_exit)

set(WG_COVERAGE_TESTS "" CACHE STRING "options of ctest that choose the tests of the target `coverage`")
add_custom_target(coverage
  COMMAND find . -name "*.gcda" -delete
  COMMAND ${CMAKE_COMMAND} -E env OMP_WAIT_POLICY=passive
    ${CMAKE_CTEST_COMMAND} -j 2 --output-on-failure ${WG_COVERAGE_TESTS}
  COMMAND ${PROJECT_SOURCE_DIR}/tests/coverage.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} USES_TERMINAL VERBATIM)
