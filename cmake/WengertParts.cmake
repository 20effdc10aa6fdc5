# Optional parts, and libraries that are built both static and shared.

# wg_option(OPTION what default): an option that nobody has set follows its default, so that a library which is installed
# later is used from the next configuration on.  ${OPTION}_DEFAULT is what it followed last, or GIVEN: by -D or a preset,
# which CMake notes as the help text until option() has its own.
macro(wg_option option what default)
  get_property(wg_help CACHE ${option} PROPERTY HELPSTRING)
  set(wg_followed ${default})
  if(wg_help MATCHES "specified on the command line" OR "${${option}_DEFAULT}" STREQUAL GIVEN)
    set(wg_followed GIVEN)
  elseif("${${option}}" STREQUAL "${${option}_DEFAULT}")
    unset(${option} CACHE)
  endif()
  option(${option} "${what}" ${default})
  set(${option}_DEFAULT ${wg_followed} CACHE INTERNAL "what ${option} followed in the last configuration")
endmacro()

# wg_part(OPTION what modules package): OPTION is on by default if pkg-config knows all `modules`, which are then
# PkgConfig::<MODULE>.  An option that is on without its modules is an error; for one that is off, wg_report_parts names
# the package to install, or the option if nothing is missing.
macro(wg_part option what modules package)
  set(wg_missing)
  foreach(wg_module ${modules})
    wg_module_prefix(wg_prefix ${wg_module})
    if(PkgConfig_FOUND)
      pkg_check_modules(${wg_prefix} QUIET IMPORTED_TARGET ${wg_module})
    endif()
    if(NOT ${wg_prefix}_FOUND)
      list(APPEND wg_missing ${wg_module})
    endif()
  endforeach()
  if(wg_missing)
    wg_option(${option} "build ${what} (needs ${modules})" OFF)
  else()
    wg_option(${option} "build ${what} (needs ${modules})" ON)
  endif()
  if(${option} AND wg_missing)
    message(FATAL_ERROR "${option} is on, but pkg-config does not know ${wg_missing} (Debian: ${package})")
  elseif(wg_missing)
    list(APPEND WG_LEFT_OUT "${what} (${package})")
  elseif(NOT ${option})
    list(APPEND WG_LEFT_OUT "${what} (${option} is off)")
  endif()
endmacro()

# The prefix of pkg_check_modules' variables for a module: YAML_0_1 for yaml-0.1.
function(wg_module_prefix out module)
  string(TOUPPER ${module} prefix)
  string(MAKE_C_IDENTIFIER ${prefix} prefix)
  set(${out} ${prefix} PARENT_SCOPE)
endfunction()

# The same for oneDNN, which is found by its header and library: it has no pkg-config file, and its CMake package on
# Debian 12 asks for OpenCL.  Debian builds it with gcc and libgomp.  With another compiler's OpenMP library there would
# be two pools of threads, so there it is built only on request.
macro(wg_part_onednn)
  find_path(DNNL_INCLUDE dnnl.h)
  find_library(DNNL_LIBRARY dnnl)
  if(DNNL_INCLUDE AND DNNL_LIBRARY)
    set(DNNL_FOUND ON)
  else()
    set(DNNL_FOUND OFF)
  endif()
  set(wg_default OFF)
  if(DNNL_FOUND AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(wg_default ON)
  endif()
  wg_option(WG_ONEDNN "build the oneDNN backend" ${wg_default})
  if(WG_ONEDNN AND NOT DNNL_FOUND)
    message(FATAL_ERROR "WG_ONEDNN is on, but oneDNN is not found (Debian: libdnnl-dev)")
  elseif(NOT WG_ONEDNN)
    list(APPEND WG_LEFT_OUT "the oneDNN backend (libdnnl-dev, and gcc or WG_ONEDNN=ON)")
  endif()
endmacro()

# ONNX: the schema is a file of libonnx-dev, of which protoc-c makes C.
macro(wg_part_onnx)
  find_file(ONNX_PROTO onnx/onnx.proto)
  find_program(PROTOC_C protoc-c)
  set(WG_ONNX_PACKAGES "libprotobuf-c-dev protobuf-c-compiler libonnx-dev")
  if(ONNX_PROTO AND PROTOC_C)
    wg_part(WG_ONNX "ONNX models" libprotobuf-c "${WG_ONNX_PACKAGES}")
  else()
    wg_option(WG_ONNX "build ONNX models (needs onnx.proto and protoc-c)" OFF)
    if(WG_ONNX)
      message(FATAL_ERROR "WG_ONNX is on, but onnx.proto or protoc-c is not found (Debian: ${WG_ONNX_PACKAGES})")
    endif()
    list(APPEND WG_LEFT_OUT "ONNX models (${WG_ONNX_PACKAGES})")
  endif()
endmacro()

# gcc 12.2, which Debian 12 has, copies 32 bytes of constants wrongly if it may use AVX-512 everywhere: 1 1 0 0 becomes
# 1 1 1 1.  Only kernels are compiled with AVX-512 here, and they copy none; flags of one's own, such as -march=native,
# are for all files.
function(wg_check_copies)
  if(NOT CMAKE_C_FLAGS MATCHES "-march=|-mavx512" OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  include(CheckCSourceRuns)
  set(CMAKE_REQUIRED_FLAGS -O2)
  unset(WG_COPIES_ARE_RIGHT CACHE) # the flags may be others than the last time
  check_c_source_runs("
#include <string.h>
__attribute__((noinline)) static void copy(long *to) { memcpy(to, (long[]){1, 1, 0, 0}, 4 * sizeof(long)); }
int main(void) { long x[4]; copy(x); return x[2] != 0; }" WG_COPIES_ARE_RIGHT)
  if(NOT WG_COPIES_ARE_RIGHT)
    message(FATAL_ERROR "With '${CMAKE_C_FLAGS}' this compiler copies constants wrongly. Leave -march and -mavx512 out: "
      "kernels are built for each instruction set anyway, and chosen when a program runs")
  endif()
endfunction()

# wg_generated(target files...): the target TARGET_sources writes these generated sources of `target` and builds nothing.
# The tools that read sources need them.
function(wg_generated target)
  add_custom_target(${target}_sources DEPENDS ${ARGN})
  add_dependencies(${target} ${target}_sources)
  set_property(GLOBAL APPEND PROPERTY WG_GENERATED ${target}_sources)
endfunction()

# The messages of onnx.proto in C, as the object library `out`; WG_ONNX_SCHEMA is the folder of their header.  Their
# names begin with wgi_onnx, so that a program may have its own.  What is generated is compiled without our warnings.
function(wg_onnx_schema out)
  set(folder ${PROJECT_BINARY_DIR}/schema)
  file(READ ${ONNX_PROTO} text)
  string(REGEX REPLACE "\npackage onnx;" "\npackage wgi_onnx;" text "${text}")
  file(CONFIGURE OUTPUT ${folder}/wgi_onnx.proto CONTENT "${text}" @ONLY)
  add_custom_command(OUTPUT ${folder}/wgi_onnx.pb-c.c ${folder}/wgi_onnx.pb-c.h
    COMMAND ${PROTOC_C} --c_out=${folder} -I${folder} wgi_onnx.proto
    DEPENDS ${folder}/wgi_onnx.proto VERBATIM)
  add_library(wg_onnx_schema OBJECT ${folder}/wgi_onnx.pb-c.c ${folder}/wgi_onnx.pb-c.h)
  wg_generated(wg_onnx_schema ${folder}/wgi_onnx.pb-c.c ${folder}/wgi_onnx.pb-c.h)
  target_link_libraries(wg_onnx_schema PRIVATE PkgConfig::LIBPROTOBUF_C)
  set(${out} wg_onnx_schema PARENT_SCOPE)
  set(WG_ONNX_SCHEMA ${folder} PARENT_SCOPE)
endfunction()

# The last line of the configuration.
function(wg_report_parts)
  if(WG_LEFT_OUT)
    list(JOIN WG_LEFT_OUT ", " parts)
    message(STATUS "Left out (and the Debian packages to install): ${parts}")
  else()
    message(STATUS "All optional parts are built.")
  endif()
endfunction()

# wg_library(name sources... OBJECTS targets...): the targets `name` (static) and `name_shared`, made of the same objects:
# those of the sources and of the object libraries `targets`.  With WG_SHARED_TESTS also `name_internals`, a shared library
# whose every symbol tests can call.
function(wg_library name)
  cmake_parse_arguments(PARSE_ARGV 1 wg "" "" OBJECTS)
  add_library(${name}_objects OBJECT ${wg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}_objects PRIVATE wg_flags)
  set(objects $<TARGET_OBJECTS:${name}_objects>)
  foreach(target ${wg_OBJECTS})
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  add_library(${name} STATIC ${objects})
  add_library(${name}_shared SHARED ${objects})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${name}_static)
  set_target_properties(${name}_shared PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION} SOVERSION ${WG_SOVERSION})
  target_link_options(${name}_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/wengert.map)
  set_property(TARGET ${name}_shared APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/wengert.map)
  set(targets ${name} ${name}_shared)
  if(WG_SHARED_TESTS)
    add_library(${name}_internals SHARED ${objects})
    target_link_libraries(${name}_internals PRIVATE $<TARGET_PROPERTY:${name}_shared,LINK_LIBRARIES>)
    list(APPEND targets ${name}_internals)
  endif()
  foreach(target ${targets})
    target_compile_features(${target} PUBLIC c_std_11)
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_C m)
  endforeach()
endfunction()

# wg_link_module(name module): links both forms of `name` with PkgConfig::<MODULE>, and adds the module to the
# requirements in the CMake package; its flags go into wengert.pc.
function(wg_link_module name module)
  wg_module_prefix(prefix ${module})
  foreach(target ${name}_objects ${name} ${name}_shared)
    target_link_libraries(${target} PRIVATE PkgConfig::${prefix})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY WG_LINKED_MODULES ${module})
endfunction()
