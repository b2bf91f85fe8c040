/* SPDX-License-Identifier: Apache-2.0 */
/** For tests: a file of two tasks on two blocks, whose phases meet where they are left free. */
#pragma once

/**
 * Task a: every 400 ns; [0, 100) prefetch, [100, 150) compute, [150, 180) writeback. Task b: every
 * 800 ns, released at 100, planned from 200 to 380. Left free, b's prefetch begins at 100 and meets
 * a's writeback from 150 on: both run at half speed until 210, b's prefetch ends at 230. Each of
 * them alone takes 180. STEP is the clock's, OF_A and OF_B are more settings, MORE are groups.
 */
#define PAIR(STEP, OF_A, OF_B, MORE)                                                               \
  "version = 1; name = \"pair\";\n"                                                                \
  "platform: { blocks = 2; clock_step_ns = " STEP "; };\n"                                         \
  "tasks = (\n"                                                                                    \
  "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;\n"                              \
  "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"                              \
  "    writeback: { wcet_ns = 30L; }; period_ns = 400L; " OF_A " },\n"                             \
  "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"                              \
  "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"                              \
  "    writeback: { wcet_ns = 30L; }; period_ns = 800L; release_ns = 100L; " OF_B " }\n"           \
  ");\n" MORE "plan: { hyperperiod_ns = 800L; runs = (\n"                                          \
  "  { task = \"a\"; phase = \"prefetch\"; jobs = 2; start_ns = 0L; },\n"                          \
  "  { task = \"a\"; phase = \"compute\"; jobs = 2; start_ns = 100L; },\n"                         \
  "  { task = \"a\"; phase = \"writeback\"; jobs = 2; start_ns = 150L; },\n"                       \
  "  { task = \"b\"; phase = \"prefetch\"; start_ns = 200L; },\n"                                  \
  "  { task = \"b\"; phase = \"compute\"; start_ns = 300L; },\n"                                   \
  "  { task = \"b\"; phase = \"writeback\"; start_ns = 350L; }\n"                                  \
  "); };\n"
enum { PHASES_OF_PAIR = 9 };
