# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. Component ttprem: the command with its man pages (docs/man/),
# completion, schedules and documents. Component libttprem-dev: library, headers, CMake package and .pc
# file, and what cmake/ttprem-kernels.cmake needs to build a command with more kernels.
include(CMakePackageConfigHelpers)

# The files that depend on the list of kernels. They are installed as sources, and everything else once
# more as a library, to be linked with a longer list.
set(kernel_sources kernels/registry.c)
if(with_cuda)
  foreach(executive IN ITEMS executive executive_convolution executive_gated executive_gated_convolution
      executive_kcf executive_live executive_live_convolution executive_live_kcf executive_making executive_separate
      executive_serving)
    list(APPEND kernel_sources runtime/cuda/device/${executive}.cu)
  endforeach()
  list(APPEND kernel_sources runtime/cuda/baselines/native_tiles.cu)
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
# What measures, beside it. The package's ttprem::measure brings ttprem::ttprem along.
add_library(ttprem_measure_base STATIC $<TARGET_OBJECTS:ttprem_measure>)
set_target_properties(ttprem_measure_base PROPERTIES LINKER_LANGUAGE C EXPORT_NAME measure_base)
get_target_property(library_links ttprem_measure LINK_LIBRARIES)
list(REMOVE_ITEM library_links $<BUILD_INTERFACE:ttprem>)
target_link_libraries(ttprem_measure_base PRIVATE ${library_links})
set_target_properties(ttprem_measure PROPERTIES EXPORT_NAME measure_alone)

if(TTPREM_EXPERIMENTS)
  set(experiments ttprem_experiments)
endif()
install(TARGETS ttprem ttprem_base ttprem_measure ttprem_measure_base ttprem_verbs ${experiments} ttprem_kernel_flags
  EXPORT ttprem-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libttprem-dev
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libttprem-dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ttprem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT libttprem-dev FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

install(TARGETS ttprem_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ttprem)
install(FILES ${PROJECT_SOURCE_DIR}/command/ttprem.bash RENAME ttprem COMPONENT ttprem
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_SOURCE_DIR}/command/ttprem.zsh RENAME _ttprem COMPONENT ttprem
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/command/ttprem.fish COMPONENT ttprem
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/schedules COMPONENT ttprem
  DESTINATION ${CMAKE_INSTALL_DATADIR}/ttprem FILES_MATCHING PATTERN "*.cfg" PATTERN "*.png"
  PATTERN checker EXCLUDE PATTERN planner EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ COMPONENT ttprem
  DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.png" PATTERN "*.json" PATTERN "*.tsv" PATTERN man EXCLUDE)
set(installed_documents ${PROJECT_BINARY_DIR}/docs/installed)
install(CODE "set(documents \"${PROJECT_SOURCE_DIR}/docs\")\nset(installed \"${installed_documents}\")" COMPONENT ttprem)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/installed_documents.cmake COMPONENT ttprem)
install(DIRECTORY ${installed_documents}/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ttprem FILES_MATCHING PATTERN "*.md")
# A Debian package says the same in its `copyright`.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/report/page/uPlot.LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)

# Their sources lie as they do here, since an include has its path from the root. The lists of kernels
# lie apart: each build has its own.
set(source_dir ${CMAKE_INSTALL_DATADIR}/ttprem)
file(GLOB_RECURSE kernel_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/kernels/*.h ${PROJECT_SOURCE_DIR}/runtime/*.h ${PROJECT_SOURCE_DIR}/runtime/*.cuh)
foreach(source IN LISTS kernel_sources kernel_headers ITEMS prem/model/versions.h
    command/main.c command/command.h command/options.h)
  get_filename_component(folder ${source} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${source} DESTINATION ${source_dir}/sources/${folder}
    COMPONENT libttprem-dev)
endforeach()
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
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
function(make_pc name description requires)
  list(JOIN ARGN " " private)
  set(pc_requires "Requires: ${requires} ${private}\n")
  set(pc_libs "-L\${libdir} -l${name} ${pc_needs}")
  if(BUILD_SHARED_LIBS)
    set(pc_requires "Requires: ${requires}\nRequires.private: ${private}\n")
    set(pc_libs "-L\${libdir} -l${name}\nLibs.private: ${pc_needs}")
  endif()
  configure_file(${CMAKE_CURRENT_LIST_DIR}/ttprem.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT libttprem-dev)
endfunction()
make_pc(ttprem "${PROJECT_DESCRIPTION}" "" ${packages})
make_pc(ttprem_measure "What measures ttprem: traces to numbers, numbers to pages" ttprem
  ${measure_packages})
