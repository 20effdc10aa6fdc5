# The target `coverage`, for builds with --coverage: runs the tests, reports the branches that they took in graph/,
# ops/ and autograd/, and fails below WG_COVERAGE_MIN percent.
set(WG_COVERAGE_MIN 90 CACHE STRING "minimum percentage of branches taken")
find_program(GCOVR gcovr)
if(GCOVR AND CMAKE_C_FLAGS MATCHES "--coverage")
  add_custom_target(coverage
    COMMAND find . -name "*.gcda" -delete
    COMMAND ${CMAKE_CTEST_COMMAND} -j 2 --output-on-failure
    COMMAND ${GCOVR} --root ${PROJECT_SOURCE_DIR} --object-directory . --branches --exclude-throw-branches
      --filter ${PROJECT_SOURCE_DIR}/graph/ --filter ${PROJECT_SOURCE_DIR}/ops/ --filter ${PROJECT_SOURCE_DIR}/autograd/
      --sort-percentage --print-summary --fail-under-branch ${WG_COVERAGE_MIN} --html-details coverage.html
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR} USES_TERMINAL VERBATIM)
endif()
