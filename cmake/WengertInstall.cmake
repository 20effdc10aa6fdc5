# Installation: headers, both libraries, find_package(wengert), pkg-config's wengert.pc, documents.
include(CMakePackageConfigHelpers)

# include/ is the public interface.  Without training its headers are not installed, so that programs can tell.
set(WG_NOT_INSTALLED)
if(NOT WG_TRAINING)
  set(WG_NOT_INSTALLED REGEX "/(text|translate|wengert-train.h)$" EXCLUDE)
endif()
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${WG_NOT_INSTALLED})

install(TARGETS wengert wengert_shared EXPORT wengert)
install(EXPORT wengert NAMESPACE wengert:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wengert FILE wengertTargets.cmake)
if(WG_ONEDNN)
  list(APPEND WG_LINKED_LIBRARIES -ldnnl)
endif()
if(WG_ONEDNN OR (WG_TRAINING AND WG_SENTENCEPIECE)) # parts in C++
  list(APPEND WG_LINKED_LIBRARIES -lstdc++)
endif()
get_property(WG_LINKED_MODULES GLOBAL PROPERTY WG_LINKED_MODULES)
# wengert.pc has the flags of the modules instead of requiring them: pkg-config looks for required modules, private ones
# too, even where only the shared library is linked, which needs none of their development packages.
foreach(module IN LISTS WG_LINKED_MODULES)
  wg_module_prefix(prefix ${module})
  list(APPEND WG_LINKED_LIBRARIES ${${prefix}_LDFLAGS})
endforeach()
list(JOIN WG_LINKED_LIBRARIES " " WG_LINKED_LIBRARIES)
list(JOIN WG_LINKED_MODULES " " WG_LINKED_MODULES)
configure_package_config_file(cmake/wengertConfig.cmake.in ${PROJECT_BINARY_DIR}/wengertConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wengert)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wengertConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wengertConfig.cmake ${PROJECT_BINARY_DIR}/wengertConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wengert)

file(RELATIVE_PATH WG_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" WG_PC_PREFIX "${WG_PC_PREFIX}")
configure_file(cmake/wengert.pc.in ${PROJECT_BINARY_DIR}/wengert.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wengert.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE cmake/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png"
  PATTERN "*.log")
install(DIRECTORY examples/first_model DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING
  PATTERN "*.c" PATTERN "*.h" PATTERN "*.py" PATTERN "*.mjs" PATTERN "*.wg")
