/* SPDX-License-Identifier: Apache-2.0 */
#include "command/kernel_test.h"

#define GIVEN                                                                                      \
  "#define JOIN(a, b) a##b\n"                                                                      \
  "#define GIVEN(name, what) JOIN(name, what)\n"

/* What -fsanitize=thread puts before each access to memory of the lanes' code: any other lane may
 * come in between. The sanitizer itself is not there. */
const char kernel_host_source[] =
    "#include <string.h>\n"
    "#include HEADER\n" GIVEN "void (*kernel_test_step)(void);\n"
    "#define NONE(NAME) void __tsan_##NAME(void) {}\n"
    "#define STEP(NAME) void __tsan_##NAME(void) { kernel_test_step(); }\n"
    "#define STEPS(KIND) STEP(KIND##1) STEP(KIND##2) STEP(KIND##4) STEP(KIND##8) STEP(KIND##16)\n"
    "NONE(init) NONE(func_entry) NONE(func_exit) STEP(read_range) STEP(write_range)\n"
    "STEPS(read) STEPS(write) STEPS(unaligned_read) STEPS(unaligned_write)\n"
    "void *__tsan_memcpy(void *to, const void *from, size_t n) { return memcpy(to, from, n); }\n"
    "void *__tsan_memmove(void *to, const void *from, size_t n) { return memmove(to, from, n); }\n"
    "void *__tsan_memset(void *to, int byte, size_t n) { return memset(to, byte, n); }\n"
    "const prem_kernel *kernel_test_kernel(void) { return &GIVEN(NAME, _kernel); }\n";

const char kernel_lanes_source[] =
    "#include <math.h>\n"
    "#include <stdint.h>\n"
    "#include <string.h>\n"
    "#define __CUDACC__ 1\n"
    "#define __device__\n"
    "#define __constant__\n"
    "#define __forceinline__ inline\n"
    "struct kernel_test_index { unsigned x; };\n"
    "extern \"C\" { kernel_test_index kernel_test_thread, kernel_test_threads;\n"
    "               void (*kernel_test_meet)(void); }\n"
    "#define threadIdx kernel_test_thread\n"
    "#define blockDim kernel_test_threads\n"
    "static inline float __fdividef(float a, float b) { return a / b; }\n"
    "#define VECTORS(TYPE, OF) \\\n"
    "struct alignas(8) TYPE##2 { OF x, y; }; struct alignas(16) TYPE##4 { OF x, y, z, w; }; \\\n"
    "static inline TYPE##2 make_##TYPE##2(OF x, OF y) { return {x, y}; } \\\n"
    "static inline TYPE##4 make_##TYPE##4(OF x, OF y, OF z, OF w) { return {x, y, z, w}; }\n"
    "VECTORS(float, float) VECTORS(int, int) VECTORS(uint, unsigned)\n"
    "template <class T> static inline T min(T a, T b) { return b < a ? b : a; }\n"
    "template <class T> static inline T max(T a, T b) { return a < b ? b : a; }\n"
    "#include <ttprem/kernel.h>\n"
    "#undef PREM_SYNC\n"
    "#define PREM_SYNC() kernel_test_meet()\n"
    "#include HEADER\n" GIVEN
    "extern \"C\" void kernel_test_lane(const void *params, const prem_view *views) {\n"
    "  GIVEN(NAME, _compute)((const GIVEN(NAME, _params) *)params, views);\n"
    "}\n";

/* Headers of the library lie in ../include from the command where it is installed, and in include/
 * next to it where it is built.
 * Kernels of ttprem include from the folder above their own. */
const char kernel_compile_script[] =
    "cc=${CC:-cc} cxx=${CXX:-c++} library=$(readlink \"/proc/$PPID/exe\")\n"
    "cd \"$2\" && export TMPDIR=\"$2\" || exit\n"
    "for compiler in \"$cc\" \"$cxx\"; do command -v ${compiler%% *} >found || {\n"
    "  echo \"ttprem: there is no compiler '$compiler'; a kernel is tested with one of C and one of"
    " C++: install them, or name others in CC and CXX\" >&2; exit 3; }\n"
    "done\n"
    "printf %s \"$3\" >host.c && printf %s \"$4\" >lanes.cpp || exit\n"
    "for check in -fsanitize=undefined '-fsanitize=undefined -fsanitize-trap=undefined' ''; do\n"
    "  echo 'int f(int a) { return a * a; }' |\n"
    "    $cxx $check -fPIC -shared -Wl,-z,defs -x c++ - -o kernel.so 2>found && break\n"
    "done\n"
    "[ \"$check\" ] ||\n"
    "  echo \"ttprem: $cxx has no -fsanitize=undefined: overflows are not looked for\" >&2\n"
    "set -- -g -fPIC -ffp-contract=off -D_GNU_SOURCE \"-DNAME=$0\" \"-DHEADER=\\\"$1\\\"\""
    " $CPPFLAGS \"-I${1%/*}\" \"-I${1%/*}/..\" \"-I${library%/*}/include\""
    " \"-I${library%/*}/../include\"\n"
    "$cc -std=gnu11 -O3 -Wall \"$@\" -c host.c -o host.o &&\n"
    "$cxx -std=gnu++17 -O1 -w -fno-strict-aliasing $check -fsanitize=thread "
    "-fno-sanitize-recover=undefined \"$@\""
    " -c lanes.cpp -o lanes.o &&\n"
    "$cxx $check -shared host.o lanes.o -o kernel.so -lm || exit 1\n";
