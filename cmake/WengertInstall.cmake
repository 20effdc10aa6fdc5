# Installation: headers, both libraries, find_package(wengert) and pkg-config's wengert.pc.
include(CMakePackageConfigHelpers)

# Public headers are all but those named internal, and the arena.
set(WG_PUBLIC_HEADERS wengert.h)
foreach(folder graph ops autograd backends models train)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${folder}/*.h ${folder}/*.def)
  list(FILTER headers EXCLUDE REGEX "internal|arena")
  list(APPEND WG_PUBLIC_HEADERS ${headers})
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wengert/${folder})
endforeach()
install(FILES wengert.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wengert)

install(TARGETS wengert wengert_shared EXPORT wengert)
install(EXPORT wengert NAMESPACE wengert:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wengert FILE wengertTargets.cmake)
get_property(WG_LINKED_MODULES GLOBAL PROPERTY WG_LINKED_MODULES)
list(JOIN WG_LINKED_MODULES " " WG_LINKED_MODULES)
configure_package_config_file(cmake/wengertConfig.cmake.in ${PROJECT_BINARY_DIR}/wengertConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wengert)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wengertConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wengertConfig.cmake ${PROJECT_BINARY_DIR}/wengertConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wengert)

configure_file(cmake/wengert.pc.in ${PROJECT_BINARY_DIR}/wengert.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wengert.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
