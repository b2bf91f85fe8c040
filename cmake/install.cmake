# What `cmake --install` puts where: library, headers, command, CMake package and .pc file.
include(CMakePackageConfigHelpers)

install(TARGETS ttprem EXPORT ttprem-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ttprem_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ttprem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/docs/ttprem.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ttprem)
install(EXPORT ttprem-targets NAMESPACE ttprem:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ttprem-config.cmake.in
  ${PROJECT_BINARY_DIR}/ttprem-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ttprem-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ttprem-config.cmake
  ${PROJECT_BINARY_DIR}/ttprem-config-version.cmake DESTINATION ${package_dir})

# A static library's users link what it links; a shared one's need not know.
set(pc_private "")
if(BUILD_SHARED_LIBS)
  set(pc_private ".private")
endif()
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ttprem.pc.in ${PROJECT_BINARY_DIR}/ttprem.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ttprem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
