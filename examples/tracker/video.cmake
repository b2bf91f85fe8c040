# SPDX-License-Identifier: Apache-2.0
# What the tracker needs beside its tasks: videos, scores and pictures. Included by CMakeLists.txt here, and
# by ttprem's own tests. It needs ttprem::measure.
find_package(PkgConfig REQUIRED)
pkg_check_modules(TRACKER_PNG REQUIRED IMPORTED_TARGET libpng)
add_library(tracker_video STATIC)
foreach(name IN ITEMS canvas child curves film instants lines p5 page scene score scored synth track_log truth video)
  target_sources(tracker_video PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
target_include_directories(tracker_video PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(tracker_video PRIVATE _GNU_SOURCE)
target_link_libraries(tracker_video PUBLIC ttprem::measure PRIVATE PkgConfig::TRACKER_PNG m)
add_executable(trackview ${CMAKE_CURRENT_LIST_DIR}/trackview.c)
target_compile_definitions(trackview PRIVATE _GNU_SOURCE)
target_link_libraries(trackview PRIVATE tracker_video)
