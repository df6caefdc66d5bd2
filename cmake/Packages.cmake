# Debian packages: `cloche` (program, agent, service), `libcloche0.1` (shared library) and `libcloche-dev`.
# scripts/package makes them.

# The service is not part of `make install`, which may have any prefix.
set(deploy ${CMAKE_SOURCE_DIR}/deploy)
install(FILES ${deploy}/systemd/cloche.service DESTINATION /lib/systemd/system COMPONENT service EXCLUDE_FROM_ALL)
install(FILES ${deploy}/cloche.yml DESTINATION /etc/cloche COMPONENT service EXCLUDE_FROM_ALL)

set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(maintainer "The Cloche developers <cloche@localhost>")

# Each package says who may copy it and what changed.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
function(package_texts package component)
  set(texts ${CMAKE_BINARY_DIR}/package_texts/${package})
  configure_file(${deploy}/debian/changelog.in ${texts}/changelog @ONLY)
  install(FILES ${deploy}/debian/copyright ${texts}/changelog DESTINATION /usr/share/doc/${package}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
package_texts(cloche service)
package_texts(libcloche${soversion} library)
package_texts(libcloche-dev development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR Cloche)
set(CPACK_PACKAGE_CONTACT ${maintainer})
set(CPACK_SET_DESTDIR ON)  # some files have absolute places
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/ShrinkPackages.cmake)
set(CPACK_COMPONENTS_ALL program service library development)
set(CPACK_COMPONENT_PROGRAM_GROUP cloche)
set(CPACK_COMPONENT_SERVICE_GROUP cloche)
set(CPACK_COMPONENT_LIBRARY_GROUP library)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP development)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_CLOCHE_PACKAGE_NAME cloche)
set(CPACK_DEBIAN_CLOCHE_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_CLOCHE_DESCRIPTION "Run untrusted code in pre-warmed sandboxes
Cloche runs untrusted code and reports exactly how each run ended.
This package has the program, the agent that runs inside sandboxes,
and the service.")
set(CPACK_DEBIAN_CLOCHE_PACKAGE_RECOMMENDS "runsc | crun | runc, e2fsprogs, nftables, python3")
set(CPACK_DEBIAN_CLOCHE_PACKAGE_SUGGESTS "mmdebstrap, docker.io")
set(CPACK_DEBIAN_CLOCHE_PACKAGE_CONTROL_EXTRA ${deploy}/debian/postinst ${deploy}/debian/prerm ${deploy}/debian/postrm
                                              ${deploy}/debian/conffiles)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libcloche${soversion})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "Run untrusted code in sandboxes (C++ library)
The shared library of Cloche, for programs that use sandboxes without
a service.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${deploy}/debian/triggers)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcloche-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "Run untrusted code in sandboxes (headers and static library)
Headers, the static library, a CMake package and a pkg-config file.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libcloche${soversion} (= ${PROJECT_VERSION})")
# For the headers with coroutines, and for the static library.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "libarchive-dev, libboost1.81-dev, libboost-json1.81-dev, \
libboost-url1.81-dev, libspdlog-dev, libsqlite3-dev, libssl-dev, libyaml-cpp-dev")
include(CPack)
