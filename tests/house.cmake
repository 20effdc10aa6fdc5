# The house itself: rooms and the arrows between them, circles of headers and of calls, symbols, format, reference.
file(GLOB_RECURSE house CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include/*.h)
foreach(room graph ops autograd backends distributed models decode files onnx text train translate measure paper cli bench)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/${room}/*.c ${PROJECT_SOURCE_DIR}/${room}/*.h ${PROJECT_SOURCE_DIR}/${room}/*.cc)
  list(APPEND house ${sources})
endforeach()
add_test(NAME house_rooms COMMAND awk -f tests/house.awk ${house} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})

# Only the objects of the present build: the folder of a target keeps those of files that are gone.
set(objects $<TARGET_OBJECTS:wengert_objects>)
foreach(library wg_cpu_f32 wg_cpu_f64 wg_cpu_i32 wg_cpu_i64 ${WG_SIMD_LIBRARIES} ${WG_LAPACK_LIBRARIES})
  list(APPEND objects $<TARGET_OBJECTS:${library}>)
endforeach()
add_test(NAME house_calls COMMAND sh -c "\"$@\" | awk -f tests/calls.awk" sh ${CMAKE_NM} -A ${objects}
  COMMAND_EXPAND_LISTS WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})

if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize|--coverage")
  add_test(NAME house_symbols COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_symbols.sh $<TARGET_FILE:wengert>
    $<TARGET_FILE:wengert_shared> ${PROJECT_SOURCE_DIR}/include ${wg_cc})
endif()

add_test(NAME house_format COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_format.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(house_format PROPERTIES SKIP_RETURN_CODE 77)

add_test(NAME house_repeats COMMAND awk -f tests/repeats.awk ${house} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})

# Every public symbol is documented: Doxygen has nothing to warn of.
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  file(READ ${PROJECT_SOURCE_DIR}/docs/Doxyfile doxyfile)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/Doxyfile "${doxyfile}OUTPUT_DIRECTORY = \"${CMAKE_CURRENT_BINARY_DIR}\"\n")
  add_test(NAME house_reference COMMAND ${DOXYGEN} ${CMAKE_CURRENT_BINARY_DIR}/Doxyfile
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endif()

add_test(NAME house_headers COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_headers.sh ${PROJECT_SOURCE_DIR})

# No part leans on the library of another.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize|--coverage")
  add_test(NAME house_parts COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_parts.sh ${PROJECT_SOURCE_DIR}
    ${PKG_CONFIG_EXECUTABLE} ${wg_cc})
  set_tests_properties(house_parts PROPERTIES TIMEOUT ${WG_TEST_TIMEOUT} LABELS slow)
endif()

foreach(test house_rooms house_calls house_symbols house_format house_repeats house_reference house_headers house_parts)
  if(TEST ${test})
    set_property(TEST ${test} APPEND PROPERTY LABELS house)
  endif()
endforeach()
