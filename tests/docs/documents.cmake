# The documents: their programs, commands, links and signatures are those of the code.
set(docs ${CMAKE_CURRENT_SOURCE_DIR}/docs)
file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md ${PROJECT_SOURCE_DIR}/docs/*.md
  ${PROJECT_SOURCE_DIR}/docs/notes/*.md)

# Optional parts, which some blocks need: words for commands, and PAGE_PART = 1 or 0 for C.
set(parts "")
foreach(part GRAPHVIZ ONEDNN ONNX TRAINING)
  string(TOLOWER ${part} word)
  if(WG_${part})
    string(APPEND parts "${word} ")
  endif()
endforeach()

# Each block of code is a file, is run, or says why not.
add_test(NAME blocks_in_documents COMMAND awk -v mode=list -f ${docs}/blocks.awk ${documents})
add_test(NAME programs_in_documents COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${docs}/check_files.cmake)
add_test(NAME links_in_documents COMMAND awk -v root=${PROJECT_SOURCE_DIR} -f ${docs}/links.awk ${documents})
add_test(NAME names_in_documents COMMAND awk -v root=${PROJECT_SOURCE_DIR} -f ${docs}/names.awk ${documents})

# C blocks: one source for each page, and the table of them.
add_executable(test_pages ${docs}/test_pages.c)
target_link_libraries(test_pages PRIVATE test_support)
target_compile_definitions(test_pages PRIVATE PAGE_GRAPHVIZ=$<BOOL:${WG_GRAPHVIZ}> PAGE_ONEDNN=$<BOOL:${WG_ONEDNN}>
  PAGE_ONNX=$<BOOL:${WG_ONNX}> PAGE_TRAINING=$<BOOL:${WG_TRAINING}>)
set(pages "")
set(declared "")
set(listed "")
foreach(document ${documents})
  get_filename_component(name ${document} NAME_WE)
  string(MAKE_C_IDENTIFIER blocks_${name} table)
  file(STRINGS ${document} has_c REGEX "^```c$|^<!-- C in the last column -->$")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${document})
  if(has_c)
    add_custom_command(OUTPUT page_${name}.c
      COMMAND awk -v mode=c -v table=${table} -f ${docs}/blocks.awk ${document} > page_${name}.c
      DEPENDS ${docs}/blocks.awk ${document})
    list(APPEND pages ${CMAKE_CURRENT_BINARY_DIR}/page_${name}.c)
    set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/page_${name}.c PROPERTIES COMPILE_OPTIONS
      "-Wno-unused;-Wno-unused-parameter;-Wno-missing-declarations;-Wno-missing-prototypes;-Wno-shadow;-Wno-unused-result")
    string(APPEND declared "extern const page_block ${table}[];\n")
    string(APPEND listed "    ${table},\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT pages.c CONTENT
  "#include \"tests/docs/page.h\"\n\n${declared}\nconst page_block *const pages[] = {\n${listed}    NULL};\n")
target_sources(test_pages PRIVATE ${pages} ${CMAKE_CURRENT_BINARY_DIR}/pages.c)
wg_generated(test_pages ${pages})
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/pages.c PROPERTIES COMPILE_OPTIONS -Wno-missing-declarations)
add_test(NAME test_pages COMMAND test_pages)
# The blocks are not whole programs: they do not free what the next line of a program would.
set_tests_properties(test_pages PROPERTIES TIMEOUT ${WG_TEST_TIMEOUT}
  ENVIRONMENT "OMP_WAIT_POLICY=passive;ASAN_OPTIONS=detect_leaks=0")

# Commands, in a folder of their own.
add_test(NAME commands_in_documents COMMAND sh ${docs}/commands.sh $<TARGET_FILE:wengert_cli> ${PROJECT_SOURCE_DIR}
  "${parts}" ${documents})
set_tests_properties(commands_in_documents PROPERTIES TIMEOUT ${WG_TEST_TIMEOUT} LABELS slow)

# docs/ops.md is what the program and the headers say; `ninja ops_reference` brings it up to date.
add_test(NAME ops_page_is_current COMMAND sh -c
  "scripts/ops-page $<TARGET_FILE:wengert_cli> | diff docs/ops.md - || { echo 'run: ninja ops_reference'; exit 1; }")
set_tests_properties(ops_page_is_current PROPERTIES WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
# Its signatures as declarations: a compiler compares them with the headers.
add_custom_command(OUTPUT signatures.c
  COMMAND awk -f ${docs}/signatures.awk ${PROJECT_SOURCE_DIR}/docs/ops.md > signatures.c
  DEPENDS ${docs}/signatures.awk ${PROJECT_SOURCE_DIR}/docs/ops.md)
add_executable(test_signatures ${docs}/test_signatures.c ${CMAKE_CURRENT_BINARY_DIR}/signatures.c)
wg_generated(test_signatures ${CMAKE_CURRENT_BINARY_DIR}/signatures.c)
target_link_libraries(test_signatures PRIVATE test_support)
target_compile_definitions(test_signatures PRIVATE HEADERS="${PROJECT_SOURCE_DIR}/include/wengert"
  OPS_PAGE="${PROJECT_SOURCE_DIR}/docs/ops.md")
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/signatures.c PROPERTIES COMPILE_OPTIONS
  "-Wno-missing-declarations;-Wno-missing-prototypes")
add_test(NAME test_signatures COMMAND test_signatures)
