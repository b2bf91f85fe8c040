/* SPDX-License-Identifier: Apache-2.0 */
/** For tests that compare modes on the simulator, whose every time is known beforehand. */
#pragma once

#include "tests/common/pair.h"
#include "tests/common/running.h"
#include "ttprem/ttprem_measure.h"

static const char pair[] = PAIR("1L", "", "publish_ns = 500L;", "");

/** One with data: two tiles, each of which is a chain. */
static const char increment[] =
    "version = 1; name = \"increment\"; platform: { blocks = 1; clock_step_ns = 1L; };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; } );\n"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 32 ];\n"
    "  arrays: { in = \"x\"; out = \"new\"; };\n"
    "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; "
    "};\n"
    "} );\n"
    "plan: { hyperperiod_ns = 60L; runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
    "    start_ns = 0L; repeat = 2; step_ns = 30L; } ); };\n";

static prem_schedule *schedule;
static prem_session *session;
static prem_diag *diag;
static prem_compare_options options;
static prem_result *result;

static inline void open_text(const char *text) {
  schedule = checked_schedule(text);
  session = open_on("sim", schedule);
}

static inline void set_up(void) {
  open_text(pair);
  diag = prem_diag_new();
  result = NULL;
  options = (prem_compare_options){.modes = {PREM_MODE_FREE, PREM_MODE_TT},
                                   .mode_count = 2,
                                   .sampling.samples = 5,
                                   .sampling.discard = 2,
                                   .sampling.seed = 1,
                                   .sampling.max_records = 1000};
}

static inline void tear_down(void) {
  prem_result_free(result);
  prem_session_close(session);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

/** Go on with another schedule. */
static inline void reopen(const char *text) {
  prem_session_close(session);
  prem_schedule_free(schedule);
  open_text(text);
}

static inline prem_status compare(void) {
  prem_result_free(result);
  return prem_compare(session, schedule, prem_backend_find("sim"), &options, &result, diag);
}
