/* SPDX-License-Identifier: Apache-2.0 */
/** For tests: a writer `w` of an array on block 0, and its reader `r` on block 1. */
#pragma once

#include "tests/common/schedule_text.h"

/** Tiles of 30 ns; more of the platform and of the two, and the plan or "". */
static inline const char *sharing(const char *platform, const char *writer, const char *reader,
                                  const char *plan) {
  return text(
      "version = 1; name = \"t\"; platform: { blocks = 2; %s };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; },"
      "           { name = \"y\"; type = \"f32\"; shape = [ 64 ]; } );"
      "tasks = ( { name = \"w\"; kernel = \"vector_increment\"; blocks = [ 0 ]; %s"
      "    arrays: { in = \"x\"; out = \"y\"; }; tile = [ 64 ]; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; },"
      "  { name = \"r\"; kernel = \"vector_increment\"; blocks = [ 1 ]; %s tile = [ 64 ];"
      "    arrays: { in = \"y\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; } );"
      "%s",
      platform, writer, reader, plan);
}
