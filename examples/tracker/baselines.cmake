# SPDX-License-Identifier: Apache-2.0
# The tracker as ordinary CUDA, to compare with: optional, and built where there is a CUDA compiler and cuFFT.
# Included by CMakeLists.txt here.
option(TRACKER_BASELINES "Build track_baselines where CUDA and cuFFT are there" ON)
if(TRACKER_BASELINES)
  set(ENV{PATH} "$ENV{PATH}:/usr/local/cuda/bin")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
  endif()
  if(TARGET CUDA::cufft)
    add_executable(track_baselines baselines/baselines.c baselines/gpu.cu follow.c option.c plain.c schedule.c)
    target_compile_definitions(track_baselines PRIVATE _GNU_SOURCE)
    target_include_directories(track_baselines PRIVATE . baselines kernels)
    target_link_libraries(track_baselines PRIVATE tracker_video track_kernels ttprem::kernel_flags CUDA::cufft m)
    set(TTPREM_CUDA_ARCHITECTURES "${ttprem_CUDA_ARCHITECTURES}" CACHE STRING "GPUs to build for")
    if(NOT TTPREM_CUDA_ARCHITECTURES)
      set_property(CACHE TTPREM_CUDA_ARCHITECTURES PROPERTY VALUE 75)
    endif()
    set_target_properties(track_baselines PROPERTIES
      CUDA_ARCHITECTURES "${TTPREM_CUDA_ARCHITECTURES}" CUDA_RUNTIME_LIBRARY Static
      CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
  else()
    message(STATUS "No CUDA compiler or no cuFFT: track_baselines is not built")
  endif()
endif()
