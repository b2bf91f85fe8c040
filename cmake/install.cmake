# What `cmake --install` puts where. Component ttprem: the command with its man pages (docs/man/),
# completion, schedules and documents. Component libttprem-dev: library, headers, CMake package and .pc
# file, and what cmake/ttprem-kernels.cmake needs to build a command with more kernels.
include(CMakePackageConfigHelpers)

# The files that depend on the list of kernels. They are installed as sources, and everything else once
# more as a library, to be linked with a longer list.
set(kernel_sources kernels/registry.c)
if(with_cuda)
  list(APPEND kernel_sources runtime/cuda/executive.cu)
endif()
list(TRANSFORM kernel_sources REPLACE ".*/" "" OUTPUT_VARIABLE kernel_source_names)
list(JOIN kernel_source_names "|" kernel_objects)
string(REPLACE "." "\\." kernel_objects "${kernel_objects}")
add_library(ttprem_base STATIC
  "$<FILTER:$<TARGET_OBJECTS:ttprem>,EXCLUDE,/(${kernel_objects})\\.o$>")
set_target_properties(ttprem_base PROPERTIES LINKER_LANGUAGE C EXPORT_NAME base)
target_include_directories(ttprem_base INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
get_target_property(library_links ttprem LINK_LIBRARIES)
target_link_libraries(ttprem_base PRIVATE ${library_links})

install(TARGETS ttprem ttprem_base ttprem_verbs ttprem_kernel_flags EXPORT ttprem-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libttprem-dev
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libttprem-dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ttprem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT libttprem-dev FILES_MATCHING PATTERN "*.h")

install(TARGETS ttprem_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ttprem)
install(FILES ${PROJECT_SOURCE_DIR}/tools/ttprem.bash RENAME ttprem COMPONENT ttprem
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/schedules COMPONENT ttprem
  DESTINATION ${CMAKE_INSTALL_DATADIR}/ttprem FILES_MATCHING PATTERN "*.cfg" PATTERN "*.png")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ COMPONENT ttprem
  DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN man EXCLUDE)
# A Debian package says the same in its `copyright`.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/experiments/report/uPlot.LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)

# No two files share a name, so their sources lie in one folder. The lists lie apart: an include
# finds the file beside it first.
set(source_dir ${CMAKE_INSTALL_DATADIR}/ttprem)
set(header_patterns kernels/*.h runtime/*.h runtime/cuda/*.h runtime/cuda/*.cuh)
list(TRANSFORM header_patterns PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB kernel_headers CONFIGURE_DEPENDS ${header_patterns})
list(TRANSFORM kernel_sources PREPEND ${PROJECT_SOURCE_DIR}/)
install(FILES ${kernel_sources} ${kernel_headers} ${PROJECT_SOURCE_DIR}/tools/main.c
  ${PROJECT_SOURCE_DIR}/tools/command.h DESTINATION ${source_dir}/sources COMPONENT libttprem-dev)
install(FILES ${PROJECT_SOURCE_DIR}/kernels/kernels.def
  ${PROJECT_BINARY_DIR}/kernels/kernel_headers.h DESTINATION ${source_dir} COMPONENT libttprem-dev)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ttprem)
install(EXPORT ttprem-targets NAMESPACE ttprem:: DESTINATION ${package_dir}
  COMPONENT libttprem-dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ttprem-config.cmake.in
  ${PROJECT_BINARY_DIR}/ttprem-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS source_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ttprem-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ttprem-config.cmake
  ${PROJECT_BINARY_DIR}/ttprem-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/ttprem-kernels.cmake DESTINATION ${package_dir} COMPONENT libttprem-dev)

# A static library's users link what it links; a shared one's need not know. CUDA may lie elsewhere
# there: pkg-config --define-variable=cuda_libdir=DIR.
set(pc_needs "-pthread -lm")
if(with_cuda)
  string(PREPEND pc_needs "-L\${cuda_libdir} -lcudart_static -ldl -lrt ")
endif()
set(pc_private "")
set(pc_libs "-L\${libdir} -lttprem ${pc_needs}")
if(BUILD_SHARED_LIBS)
  set(pc_private ".private")
  set(pc_libs "-L\${libdir} -lttprem\nLibs.private: ${pc_needs}")
endif()
list(JOIN packages " " pc_packages)
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ttprem.pc.in ${PROJECT_BINARY_DIR}/ttprem.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ttprem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT libttprem-dev)
