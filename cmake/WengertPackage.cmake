# The Debian package: cmake --preset package && cmake --build --preset package && cpack --preset deb.  See docs/packages.md.
set(WG_MAINTAINER "Wengert packagers <root@localhost>" CACHE STRING "maintainer of packages, as NAME <ADDRESS>")
set(CPACK_PACKAGE_VENDOR "Wengert")
set(CPACK_PACKAGE_CONTACT ${WG_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "graph-based automatic differentiation")
set(CPACK_PACKAGE_DESCRIPTION [[
A library in C11 and a program: models are graphs of operations, gradients
are more nodes of the same graph, and plans run graphs by vectorised kernels.
The program trains and uses Transformers, checks derivatives, draws graphs
and measures speed.
.
The package has libraries, headers, program, manual pages and documents.]])
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# What the program and the library need, by dpkg-shlibdeps, which does not see what is loaded when it is needed; and what
# packages will need that link with the library.
if(WG_LAPACK)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS liblapacke)
endif()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuplot-nox | gnuplot, graphviz, pkg-config, cmake")
include(CPack)
