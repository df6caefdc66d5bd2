# Installs the library in both forms, its headers, a CMake package and a file for pkg-config.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cloche)

install(TARGETS cloche_shared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/cloche DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

# libcloche.a: made where it is installed, from the same objects.
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/libcloche.objects CONTENT "\"$<JOIN:${objects},\"\n\">\"\n")
install(CODE "
  set(archive \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libcloche.a\")
  message(STATUS \"Installing: \${archive}\")
  file(REMOVE \"\${archive}\")
  execute_process(COMMAND \"${CMAKE_AR}\" qcs \"\${archive}\" \"@${CMAKE_CURRENT_BINARY_DIR}/libcloche.objects\"
                  COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${archive}\")" COMPONENT development)

# Both find the prefix from where they are, so that it can be moved.
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/clocheConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/clocheConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/clocheConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/clocheConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/clocheConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)

file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
configure_file(${CMAKE_SOURCE_DIR}/cmake/cloche.pc.in ${CMAKE_CURRENT_BINARY_DIR}/cloche.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cloche.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
