# Installation: headers, both libraries, find_package(wengert) and pkg-config's wengert.pc.
include(CMakePackageConfigHelpers)

# A public header is one that C++ may include, that is with extern "C"; further wengert.h, ops.h, which only include.
# Without training only files of tensors remain of train/, and a program sees that by the headers that are not there.
foreach(folder graph ops autograd backends backends/onednn models train train/text)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${folder}/*.h)
  if(NOT WG_TRAINING AND folder MATCHES "^train")
    list(FILTER headers INCLUDE REGEX "^train/(safetensors|weights).h$")
  endif()
  foreach(header ${headers})
    file(STRINGS ${header} public REGEX "extern \"C\"")
    if(public)
      install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wengert/${folder})
    endif()
  endforeach()
endforeach()
install(FILES ops/ops.h ops/ops.def DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wengert/ops)
install(FILES wengert.h $<$<BOOL:${WG_TRAINING}>:${PROJECT_SOURCE_DIR}/wengert-train.h>
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wengert)

install(TARGETS wengert wengert_shared EXPORT wengert)
install(EXPORT wengert NAMESPACE wengert:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wengert FILE wengertTargets.cmake)
if(WG_ONEDNN)
  list(APPEND WG_LINKED_LIBRARIES -ldnnl)
endif()
if(WG_TRAINING AND WG_SENTENCEPIECE)
  list(APPEND WG_LINKED_LIBRARIES -lstdc++)
endif()
list(JOIN WG_LINKED_LIBRARIES " " WG_LINKED_LIBRARIES)
get_property(WG_LINKED_MODULES GLOBAL PROPERTY WG_LINKED_MODULES)
list(JOIN WG_LINKED_MODULES " " WG_LINKED_MODULES)
configure_package_config_file(cmake/wengertConfig.cmake.in ${PROJECT_BINARY_DIR}/wengertConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wengert)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wengertConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wengertConfig.cmake ${PROJECT_BINARY_DIR}/wengertConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wengert)

configure_file(cmake/wengert.pc.in ${PROJECT_BINARY_DIR}/wengert.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wengert.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
