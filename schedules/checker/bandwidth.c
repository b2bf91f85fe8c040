/* SPDX-License-Identifier: Apache-2.0 */
/* E043: a memory phase whose `busy_ns` is below its `wcet_ns`, and below what its bytes need. Only
 * without such phases does what a regulated plan promises hold: that no window asks for more than
 * the memory delivers. A phase that holds the memory until it ends promises nothing of its bytes:
 * they may come from a cache. */
#include "prem/base/fail.h"
#include "schedules/checker/check.h"

#include <inttypes.h>

#include "prem/base/numbers.h"

static int64_t bandwidth_of(const prem_checker *checker) {
  const int64_t measured = checker->machine->bandwidth_bytes_per_s;
  return measured > 0 ? measured : checker->schedule->bandwidth_bytes_per_s;
}

static int64_t largest_bytes(const prem_checker *checker, const prem_task *task, prem_phase phase) {
  int64_t largest = 0;
  for (int32_t tile = 0; task->phase[phase].exists && tile < task->tile_count; ++tile) {
    const int64_t bytes = prem_task_phase_bytes(checker->schedule, task, phase, tile);
    largest = bytes > largest ? bytes : largest;
  }
  return largest;
}

/* The memory's share that the demand stands for; the blocks of a gang ask at once. */
static void check_phase(const prem_checker *checker, const prem_task *task,
                        const prem_phase_spec *spec, const char *phase, int64_t bytes) {
  const prem_resource *memory = &checker->schedule->platform.resources[0];
  const int64_t bandwidth = bandwidth_of(checker);
  const int32_t gang = task->block_count < task->tile_count ? task->block_count : task->tile_count;
  const int32_t blocks = memory->per_task ? gang : 1;
  if (!spec->exists || spec->busy_ns == 0 || spec->busy_ns >= spec->wcet_ns || !spec->demand ||
      spec->demand[0] == 0 || bytes == 0)
    return;
  const prem_wide work = (prem_wide)bytes * blocks * memory->capacity * 1000000000;
  const prem_wide rate = (prem_wide)bandwidth * spec->demand[0];
  const prem_wide needed_ns = (work + rate - 1) / rate;
  if (spec->busy_ns >= needed_ns)
    return;
  prem_diag_add(checker->diag, PREM_ERROR, 43, spec->place.line ? spec->place : task->place,
                prem_key("tasks.%s.%s.busy_ns", task->name, phase).text,
                "%" PRId64 " ns is less than the %.0f ns that %" PRId64 " bytes of %" PRId32
                " blocks at once need of a memory of %.1f GB/s: the window asks for more than the "
                "memory delivers",
                spec->busy_ns, (double)needed_ns, bytes, blocks, (double)bandwidth / 1e9);
}

void prem_check_bandwidth(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  if (bandwidth_of(checker) <= 0)
    return;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->broken || !task->definition)
      continue;
    const int64_t in_bytes = largest_bytes(checker, task, PREM_PREFETCH);
    const int64_t out_bytes = largest_bytes(checker, task, PREM_WRITEBACK);
    check_phase(checker, task, &task->phase[PREM_PREFETCH], "prefetch", in_bytes);
    check_phase(checker, task, &task->phase[PREM_WRITEBACK], "writeback", out_bytes);
    check_phase(checker, task, &task->joined, "joined", in_bytes + out_bytes);
  }
}
