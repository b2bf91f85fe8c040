/* SPDX-License-Identifier: Apache-2.0 */
/** `ttprem kernel-test`: what is compiled, and the test of what came of it. */
#pragma once

#include "command/command.h"

typedef struct kernel_test {
  const char *name;
  const char *args, *tile; /* as a task has them: "gain = 2; ", "[ 8, 8 ]"; tile NULL: any */
  const char *schedule;    /* test the kernel in this one; NULL: in random ones */
  int64_t cases;
  uint64_t seed;
} kernel_test;

/** Where the test is, in memory that its process shares with the one that waits for it. */
typedef struct kernel_test_place {
  bool is_over;
  char at[64];     /* "tile 3 on the CPU" */
  char text[8192]; /* the case, as a schedule file */
  int shown;       /* of it: the arrays and the tile */
  uint64_t seed;
} kernel_test_place;

/** Test the kernel of a library and print what was found, in a process of its own: a wrong kernel
 * does what it likes. The first error ends it. */
_Noreturn void kernel_test_run(const kernel_test *test, const char *library,
                               kernel_test_place *place);
/** "ttprem: NAME: ...", and a note how to see it again. */
void kernel_test_tell(const kernel_test *test, const kernel_test_place *place, const char *format,
                      ...) PREM_PRINTF(3, 4);

/** The kernel's header as the C compiler of a build has it. NAME, and HEADER in quotes, are given
 * by the command line. */
extern const char kernel_host_source[];
/** As nvcc has it, with the words of CUDA that a compute may need. */
extern const char kernel_lanes_source[];
/** Makes FOLDER/kernel.so: sh -c SCRIPT NAME HEADER FOLDER HOST_SOURCE LANES_SOURCE. Exit status 3:
 * there is no compiler. */
extern const char kernel_compile_script[];
