/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of executing a record: what they say, and that the GPU's form of them, cut out of the
 * executive's sources by tests/CMakeLists.txt, says the same. */

#include "runtime/core/record_rules.h"
#include "runtime/cuda/device/program.h"

/* What the executive's functions see of its block. */
typedef struct block_state {
  int64_t start_ns;
  prem_launch launch;
} block_state;
typedef int32_t hyperperiod_number;
/* The executive of planned tasks, not of best-effort ones. */
#define PREM_GATED 0

#include <device_rules.h> /* made by tests/CMakeLists.txt */

#include "tests/common/suite.h"

enum { HYPERPERIOD_NS = 1000, PERIOD_NS = 200, RELEASE_NS = 30, FLAGS = 64 };

static prem_task task = {.period_ns = PERIOD_NS, .release_ns = RELEASE_NS};
static prem_schedule schedule = {.tasks = &task, .task_count = 1};
static const prem_program program = {.schedule = &schedule, .hyperperiod_ns = HYPERPERIOD_NS};

/* A record as the checker lets it pass: it starts after its job's release. */
static prem_record record_with(uint8_t flags, int32_t job) {
  return (prem_record){.planned_ns = job * PERIOD_NS + RELEASE_NS + 7,
                       .planned_end_ns = job * PERIOD_NS + RELEASE_NS + 20,
                       .job = job,
                       .flags = flags};
}

/* The same as runtime/cuda/host/program.c makes it. */
static prem_device_record on_device(const prem_record *record) {
  return (prem_device_record){.start_ns = record->planned_ns,
                              .job_release_ns =
                                  prem_job_release_ns(&program, record->task, record->job, 0),
                              .flags = record->flags};
}

GROUP("rules");

TEST(releases_are_for_tt_alone_and_for_neither_chains_nor_warm_up) {
  for (int mode = 0; mode < PREM_MODE_COUNT; ++mode)
    for (int flags = 0; flags < FLAGS; ++flags)
      ck_assert_int_eq(prem_has_release((prem_mode)mode, (uint8_t)flags),
                       mode == PREM_MODE_TT && !(flags & (PREM_SLOT_CHAINED | PREM_SLOT_WARMUP)));
  const prem_record record = record_with(0, 2);
  ck_assert_int_eq(prem_release_ns(PREM_MODE_TT, &record, 5000), 5437);
  ck_assert_int_eq(prem_release_ns(PREM_MODE_FREE, &record, 5000), PREM_NO_RELEASE);
}

TEST(releases_of_jobs_hold_in_every_mode) {
  const prem_record record = record_with(0, 2), warm = record_with(PREM_SLOT_WARMUP, 2);
  ck_assert_int_eq(prem_earliest_ns(&program, PREM_MODE_TT, &record, 5000), 5437);
  ck_assert_int_eq(prem_earliest_ns(&program, PREM_MODE_TT, &warm, 5000), 5430);
  ck_assert_int_eq(prem_earliest_ns(&program, PREM_MODE_FREE, &record, 5000), 5430);
  ck_assert_int_eq(prem_earliest_ns(&program, PREM_MODE_LOCK, &record, 5000), 5430);
}

TEST(windows_hold_in_tt_alone) {
  const prem_record record = record_with(PREM_SLOT_CHAINED, 0);
  ck_assert_int_eq(prem_window_end_ns(PREM_MODE_TT, &record, 5000), 5050);
  ck_assert_int_eq(prem_window_end_ns(PREM_MODE_LOCK, &record, 5000), INT64_MAX);
}

TEST(waits_count_from_the_hyperperiods_before) {
  prem_record record = {.wait = {PREM_NO_WAIT, 2, -1}};
  const int64_t before[PREM_PHASE_COUNT] = {10, 20, 30};
  ck_assert(prem_waits_are_over(&record, (const int64_t[]){0, 22, 29}, before));
  ck_assert(!prem_waits_are_over(&record, (const int64_t[]){99, 21, 29}, before));
  ck_assert(!prem_waits_are_over(&record, (const int64_t[]){99, 22, 28}, before));
}

GROUP("gpu");

TEST(the_gpu_has_the_same_releases) {
  for (int mode = 0; mode < PREM_MODE_COUNT; ++mode)
    for (int flags = 0; flags < FLAGS; ++flags)
      ck_assert_int_eq(has_release((prem_launch){.mode = mode}, flags),
                       prem_has_release((prem_mode)mode, (uint8_t)flags));
}

TEST(the_gpu_starts_records_as_early) {
  for (int mode = 0; mode < PREM_MODE_COUNT; ++mode)
    for (int flags = 0; flags < FLAGS; ++flags)
      for (int32_t job = 0; job < HYPERPERIOD_NS / PERIOD_NS; ++job) {
        const prem_record record = record_with((uint8_t)flags, job);
        const prem_device_record device = on_device(&record);
        const int64_t earliest_ns = prem_earliest_ns(&program, (prem_mode)mode, &record, 5000);
        const bool leads = prem_has_release((prem_mode)mode, (uint8_t)flags);
        ck_assert_int_eq(earliest_start((prem_launch){.mode = mode}, 5000, &device, 0),
                         earliest_ns);
        ck_assert_int_eq(earliest_start((prem_launch){.mode = mode}, 5000, &device, 32),
                         earliest_ns - (leads ? 32 : 0));
      }
}

TEST(the_gpu_begins_hyperperiods_as_the_plan_repeats) {
  const block_state own = {.start_ns = 70000, .launch = {.hyperperiod_ns = HYPERPERIOD_NS}};
  int64_t epoch_ns[5];
  prem_trace_begin_periodically(&(prem_trace){.epoch_ns = epoch_ns}, HYPERPERIOD_NS, 5);
  for (int32_t h = 0; h < 5; ++h)
    ck_assert_int_eq(origin_of(&own, h), 70000 + epoch_ns[h]);
}

TEST(the_gpu_keeps_the_same_flags) {
  ck_assert_int_eq(DEVICE_KEPT, PREM_TRACED_FLAGS);
}
