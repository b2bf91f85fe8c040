# SPDX-License-Identifier: Apache-2.0
# Debian packages: `cpack -G DEB` in the build folder makes ttprem, the command, and libttprem-dev, what
# programs of one's own are built with (docs/installing.md). Where the Python package is built, python3-ttprem as well.
if(BUILD_SHARED_LIBS)
  return() # the packages hold the static library, which needs no package of its own
endif()

# What Debian wants beside the installed files; `cmake --install` leaves it out.
set(debian_changelog ${PROJECT_BINARY_DIR}/changelog.Debian.gz)
add_custom_command(OUTPUT ${debian_changelog} VERBATIM
  DEPENDS ${PROJECT_SOURCE_DIR}/debian/changelog
  COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/debian/changelog > ${debian_changelog})
add_custom_target(debian_files ALL DEPENDS ${debian_changelog})
# The command holds NVIDIA's runtime where there is a GPU backend.
set(debian_copyright ${PROJECT_BINARY_DIR}/debian/copyright)
file(READ ${PROJECT_SOURCE_DIR}/debian/copyright copyright)
if(with_cuda)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/debian/copyright.cudart cudart)
  string(APPEND copyright "\n${cudart}")
endif()
file(CONFIGURE OUTPUT ${debian_copyright} CONTENT "${copyright}" @ONLY)
set(debian_components ttprem libttprem-dev)
if(with_python)
  list(APPEND debian_components python3-ttprem)
endif()
foreach(package IN LISTS debian_components)
  install(FILES ${debian_changelog} ${debian_copyright}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${package} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_PACKAGE_CONTACT "ttprem maintainers <maintainers@ttprem.example>" CACHE STRING
  "Maintainer of the Debian packages")
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${debian_components})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0ttprem1) # below whatever Debian would give a package of its own
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEB_COMPONENT_INSTALL ON)
# Both packages' descriptions begin with lines of their own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")

set(CPACK_DEBIAN_TTPREM_PACKAGE_NAME ttprem)
set(CPACK_DEBIAN_TTPREM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TTPREM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TTPREM_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_TTPREM_PACKAGE_SUGGESTS libttprem-dev)
set(CPACK_DEBIAN_TTPREM_DESCRIPTION "time-triggered execution of tiled GPU kernels
A schedule file says which kernels run, tile by tile. ttprem decides before
the run when each tile is fetched, computed and written back, judges that plan
by an independent checker, and runs it time-triggered beside the same tiles
running free: on a GPU, on CPU threads, or in a simulator.")

# Debian's names of the libraries that ours needs follow one rule, but for zlib's.
set(debian_packages ${packages} ${measure_packages})
list(TRANSFORM debian_packages REPLACE "^lib" "")
list(TRANSFORM debian_packages REPLACE "(.+)" "lib\\1-dev")
list(TRANSFORM debian_packages REPLACE "libzlib-dev" "zlib1g-dev")
list(JOIN debian_packages ", " debian_packages)
set(CPACK_DEBIAN_LIBTTPREM-DEV_PACKAGE_NAME libttprem-dev)
set(CPACK_DEBIAN_LIBTTPREM-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBTTPREM-DEV_PACKAGE_DEPENDS "libc6-dev, ${debian_packages}")
set(CPACK_DEBIAN_LIBTTPREM-DEV_DESCRIPTION "time-triggered execution of tiled GPU kernels (development)
ttprem decides before the run when each tile of each kernel is fetched,
computed and written back, and runs that plan time-triggered.
.
This package has the static library, its headers, its CMake package, and what
is needed to build a command with kernels of one's own.")

set(CPACK_DEBIAN_PYTHON3-TTPREM_PACKAGE_NAME python3-ttprem)
set(CPACK_DEBIAN_PYTHON3-TTPREM_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3-TTPREM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON3-TTPREM_PACKAGE_DEPENDS "python3, python3-cffi-backend, python3-numpy")
set(CPACK_DEBIAN_PYTHON3-TTPREM_PACKAGE_RECOMMENDS "gnuplot-nox, python3-pandas")
set(CPACK_DEBIAN_PYTHON3-TTPREM_PACKAGE_SUGGESTS "gcc, libc6-dev, ttprem")
set(CPACK_DEBIAN_PYTHON3-TTPREM_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_LIST_DIR}/debian/python3/postinst ${CMAKE_CURRENT_LIST_DIR}/debian/python3/prerm)
set(CPACK_DEBIAN_PYTHON3-TTPREM_DESCRIPTION "time-triggered execution of tiled GPU kernels (Python 3)
ttprem decides before the run when each tile of each kernel is fetched,
computed and written back, and runs that plan time-triggered.
.
This package plans, checks, runs and measures schedules from Python, gives
results as numpy arrays and pandas tables, and feeds live sessions without a
copy. The library is in it; a C compiler is for kernels of one's own.")
include(CPack)
