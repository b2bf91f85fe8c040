# SPDX-License-Identifier: Apache-2.0
# Kernels of your own, out of tree (docs/adding-a-kernel.md):
#
#   ttprem_add_kernels(TARGET [LIBRARY] KERNELS HEADER... [BUILTIN NAME... | BUILTIN none])
#
# adds the executable TARGET, the ttprem command with the kernels of HEADER... added to its own; or
# with LIBRARY a library to link instead of ttprem::ttprem. NAME.h holds the kernel NAME. Of ttprem's
# own kernels it has all, or those that BUILTIN names: on a GPU the fewer, the faster.
#
#   ttprem_add_command(TARGET LIBRARY)
#
# adds the executable TARGET, the ttprem command with the kernels of such a library: they are compiled
# once for both.

# A macro, because languages are enabled where the caller is.
macro(ttprem_add_kernels target)
  ttprem_find_dependencies()
  if(ttprem_CUDA)
    set(ENV{PATH} "$ENV{PATH}:/usr/local/cuda/bin")
    include(CheckLanguage)
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
      message(FATAL_ERROR "ttprem_add_kernels: this ttprem has the GPU backend, and a kernel is "
        "compiled for it as well; but there is no CUDA compiler: put nvcc on PATH or name it in "
        "the environment's CUDACXX")
    endif()
    enable_language(CUDA)
    _ttprem_spare_earlier_targets()
  endif()
  _ttprem_add_kernels(${target} ${ARGN})
endmacro()

# Targets of before CUDA was a language here would lack what it asks of every target.
function(_ttprem_spare_earlier_targets)
  get_property(earlier DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS earlier)
    get_target_property(architectures ${target} CUDA_ARCHITECTURES)
    if(NOT architectures)
      set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF)
    endif()
  endforeach()
endfunction()

# A header without its parts fails here, where a message can say so.
function(_ttprem_judge_kernel name header)
  if(NOT EXISTS ${header})
    message(FATAL_ERROR "ttprem_add_kernels: ${header}: no such file")
  endif()
  if(NOT name MATCHES "^[a-z_][a-z0-9_]*$")
    message(FATAL_ERROR "ttprem_add_kernels: ${header}: '${name}' is not a valid kernel name; small "
      "letters, digits and _ make one")
  endif()
  file(READ ${header} text)
  foreach(part IN ITEMS ${name}_params ${name}_compute ${name}_kernel "\"${name}\"")
    if(NOT text MATCHES "(^|[^A-Za-z0-9_])${part}($|[^A-Za-z0-9_])")
      message(FATAL_ERROR "ttprem_add_kernels: ${header}: there is no ${part} in it; the header of "
        "the kernel '${name}' defines ${name}_params, ${name}_compute() and ${name}_kernel with "
        ".name = \"${name}\" (see ttprem/kernel.h)")
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
endfunction()

# The lists of kernels, ttprem's own and then the given, in FOLDER.
function(_ttprem_list_kernels folder builtin)
  file(STRINGS ${ttprem_SOURCE_DIR}/kernels.def list REGEX "^PREM_")
  file(STRINGS ${ttprem_SOURCE_DIR}/kernel_headers.h includes REGEX "^#include")
  if(builtin)
    foreach(name IN LISTS builtin)
      if(NOT builtin STREQUAL none AND NOT list MATCHES "KERNEL\\(${name}[,)]")
        message(FATAL_ERROR "ttprem_add_kernels: BUILTIN ${name}: ttprem has no kernel of this name; "
          "`ttprem list` names them")
      endif()
    endforeach()
    list(JOIN builtin "|" names)
    list(FILTER list INCLUDE REGEX "KERNEL\\((${names})[,)]")
    list(FILTER includes INCLUDE REGEX "/(${names})\\.h\"")
  endif()
  list(TRANSFORM list APPEND "\n")
  list(TRANSFORM includes APPEND "\n")
  list(JOIN list "" list)
  list(JOIN includes "" includes)
  foreach(header IN LISTS ARGN)
    get_filename_component(header ${header} ABSOLUTE)
    get_filename_component(name ${header} NAME_WE)
    if(list MATCHES "PREM_(COMPATIBLE_)?KERNEL\\(${name}[,)]")
      message(FATAL_ERROR "ttprem_add_kernels: ${header}: there is a kernel '${name}' already; "
        "give yours another name")
    endif()
    _ttprem_judge_kernel(${name} ${header})
    file(STRINGS ${header} compatible REGEX "\\.compatible *= *true")
    if(compatible)
      string(APPEND list "PREM_COMPATIBLE_KERNEL(${name})\n")
    else()
      string(APPEND list "PREM_KERNEL(${name}, general)\n")
    endif()
    string(APPEND includes "#include \"${header}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/kernels/kernels.def CONTENT "${list}" @ONLY)
  file(CONFIGURE OUTPUT ${folder}/kernels/kernel_headers.h CONTENT "${includes}" @ONLY)
endfunction()

function(_ttprem_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 given LIBRARY "" "KERNELS;BUILTIN")
  if(NOT given_KERNELS OR given_UNPARSED_ARGUMENTS OR given_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "usage: ttprem_add_kernels(TARGET [LIBRARY] KERNELS HEADER... "
      "[BUILTIN NAME... | BUILTIN none])")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}-kernels)
  _ttprem_list_kernels(${folder} "${given_BUILTIN}" ${given_KERNELS})

  list(TRANSFORM ttprem_KERNEL_SOURCES PREPEND ${ttprem_SOURCE_DIR}/sources/ OUTPUT_VARIABLE sources)
  if(given_LIBRARY)
    add_library(${target} OBJECT ${sources})
    target_link_libraries(${target} PUBLIC ttprem::base)
  else()
    ttprem_add_command(${target} ttprem::base)
    target_sources(${target} PRIVATE ${sources})
  endif()
  target_link_libraries(${target} PRIVATE ttprem::kernel_flags)
  target_include_directories(${target} PRIVATE ${folder} ${ttprem_SOURCE_DIR}/sources)
  # Kernels of a build without a type would be slow.
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:>>:-O3>)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON)
  if(ttprem_CUDA)
    set(TTPREM_CUDA_ARCHITECTURES "${ttprem_CUDA_ARCHITECTURES}" CACHE STRING "GPUs to build for")
    set_target_properties(${target} PROPERTIES
      CUDA_ARCHITECTURES "${TTPREM_CUDA_ARCHITECTURES}" CUDA_RUNTIME_LIBRARY Static
      CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
  endif()
endfunction()

function(ttprem_add_command target library)
  add_executable(${target} ${ttprem_SOURCE_DIR}/sources/command/main.c)
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON) # for kernel-test
  target_include_directories(${target} PRIVATE ${ttprem_SOURCE_DIR}/sources)
  target_link_libraries(${target} PRIVATE $<TARGET_NAME_IF_EXISTS:ttprem::experiments>
    ttprem::verbs ttprem::measure_base ${library} ttprem::kernel_flags)
endfunction()
