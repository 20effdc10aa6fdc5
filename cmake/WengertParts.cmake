# Optional parts, and libraries that are built both static and shared.

# wg_part(OPTION what modules package): OPTION defaults to "are all `modules` known to pkg-config?"; asked for and
# missing, it is an error; switched off or missing, wg_report_parts says what to install.  The libraries are
# then PkgConfig::<MODULE>.
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
    option(${option} "build ${what} (needs ${modules})" OFF)
  else()
    option(${option} "build ${what} (needs ${modules})" ON)
  endif()
  if(${option} AND wg_missing)
    message(FATAL_ERROR "${option} is on, but pkg-config does not know ${wg_missing} (Debian: ${package})")
  elseif(NOT ${option})
    list(APPEND WG_LEFT_OUT "${what} (${package})")
  endif()
endmacro()

# The name under which pkg_check_modules keeps what it knows of a module: yaml-0.1 is YAML_0_1.
function(wg_module_prefix out module)
  string(TOUPPER ${module} prefix)
  string(MAKE_C_IDENTIFIER ${prefix} prefix)
  set(${out} ${prefix} PARENT_SCOPE)
endfunction()

# The same for oneDNN, which has no pkg-config file, and whose CMake package on Debian 12 asks for OpenCL: found by its
# header and library.
# Debian builds it with gcc, whose OpenMP library is libgomp; beside that of another compiler it would be a second pool
# of threads, so there it is built only if asked for.
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
  option(WG_ONEDNN "build the oneDNN backend" ${wg_default})
  if(WG_ONEDNN AND NOT DNNL_FOUND)
    message(FATAL_ERROR "WG_ONEDNN is on, but oneDNN is not found (Debian: libdnnl-dev)")
  elseif(NOT WG_ONEDNN)
    list(APPEND WG_LEFT_OUT "the oneDNN backend (libdnnl-dev, and gcc or WG_ONEDNN=ON)")
  endif()
endmacro()

# One line at the end of the configuration.
function(wg_report_parts)
  if(WG_LEFT_OUT)
    list(JOIN WG_LEFT_OUT ", " parts)
    message(STATUS "Left out, with the Debian package that brings it: ${parts}")
  else()
    message(STATUS "All optional parts are built.")
  endif()
endfunction()

# wg_library(name sources... OBJECTS targets...): targets `name` (static) and `name_shared`, from objects compiled
# once; those of the further object libraries `targets` go in as well.
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
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_link_options(${name}_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/wengert.map)
  set_property(TARGET ${name}_shared APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/wengert.map)
  foreach(target ${name} ${name}_shared)
    target_compile_features(${target} PUBLIC c_std_11)
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_C m)
  endforeach()
endfunction()

# wg_link_module(name module): links both forms of `name` with PkgConfig::<MODULE>, and has find_package and
# wengert.pc ask for it.
function(wg_link_module name module)
  wg_module_prefix(prefix ${module})
  foreach(target ${name}_objects ${name} ${name}_shared)
    target_link_libraries(${target} PRIVATE PkgConfig::${prefix})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY WG_LINKED_MODULES ${module})
endfunction()
