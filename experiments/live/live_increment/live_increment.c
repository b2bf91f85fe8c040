/* SPDX-License-Identifier: Apache-2.0 */
/* Increments of vectors of any size, by where inputs and outputs lie. */
#include <inttypes.h>

#include "experiments/live/ways/rows.h"

enum {
  THREADS = 1024,
  LIVE_THREADS = 608,
  SMALL = 1024, /* floats, up to which one block does it, as in the paper */
  MANAGED = 16384
};

static const int32_t sizes[] = {64, 128, 256, 512, 1024, 16384, 262144, 1048576};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int32_t threads_of(prem_way way, int32_t size) {
  return way == PREM_WAY_LIVE ? LIVE_THREADS : size < THREADS ? size : THREADS;
}

/* One block for small vectors; else as many as there is work for, and not more than there are SMs.
 */
static int32_t blocks_of(int32_t size, int32_t sms) {
  const int32_t blocks = (size + THREADS - 1) / THREADS;
  return size <= SMALL ? 1 : blocks < sms ? blocks : sms;
}

static void add(prem_way_rows *rows, prem_way way, prem_way_memory memory, int32_t size,
                int32_t sms) {
  const prem_way_setup setup = {.way = way,
                                .work = PREM_WORK_INCREMENT,
                                .size = size,
                                .memory = memory,
                                .blocks = blocks_of(size, sms),
                                .threads = threads_of(way, size),
                                .pace_ns = 100000,
                                .mode = PREM_MODE_FREE};
  prem_way_rows_add(rows, &setup, "");
}

static void add_size(prem_way_rows *rows, int32_t size, int32_t sms) {
  static const prem_way_memory memories[] = {PREM_MEMORY_MAPPED, PREM_MEMORY_COMBINED,
                                             PREM_MEMORY_REGISTERED};
  add(rows, PREM_WAY_LIVE, PREM_MEMORY_MAPPED, size, sms);
  for (size_t m = 0; m < sizeof memories / sizeof *memories; ++m)
    add(rows, PREM_WAY_RESIDENT, memories[m], size, sms);
  if (size <= SMALL)
    add(rows, PREM_WAY_ALL_POLL, PREM_MEMORY_MAPPED, size, sms);
  add(rows, PREM_WAY_LAUNCH, PREM_MEMORY_MAPPED, size, sms);
  add(rows, PREM_WAY_LAUNCH, PREM_MEMORY_COPIED, size, sms);
  add(rows, PREM_WAY_LAUNCH, PREM_MEMORY_PAGEABLE, size, sms);
  if (size <= MANAGED)
    add(rows, PREM_WAY_LAUNCH, PREM_MEMORY_MANAGED, size, sms);
  add(rows, PREM_WAY_GRAPH, PREM_MEMORY_COPIED, size, sms);
}

static void add_rows(prem_way_rows *rows, const prem_experiment_context *context) {
  const bool is_gpu = prem_is_gpu(context->backend);
  for (size_t s = 0; s < SIZES; ++s) {
    if (context->quick && sizes[s] != 64 && sizes[s] != 16384)
      continue;
    if (is_gpu) {
      add_size(rows, sizes[s], context->machine->cores);
      continue;
    }
    const prem_way_setup setup = {.way = PREM_WAY_LIVE,
                                  .work = PREM_WORK_INCREMENT,
                                  .size = sizes[s],
                                  .blocks = 1,
                                  .threads = 1,
                                  .pace_ns = 10000000,
                                  .mode = PREM_MODE_FREE};
    prem_way_rows_add(rows, &setup, "");
  }
}

/* ---- telling --------------------------------------------------------------------------------- */

static const prem_way_row *row_of(const prem_way_rows *rows, prem_way way, prem_way_memory memory,
                                  int32_t size) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_setup *setup = &rows->rows[r].setup;
    if (setup->way == way && setup->memory == memory && setup->size == size &&
        rows->rows[r].response.count > 0)
      return &rows->rows[r];
  }
  return NULL;
}

static void tell_verdict(const prem_way_rows *rows, prem_findings *findings) {
  const int32_t size = row_of(rows, PREM_WAY_LAUNCH, PREM_MEMORY_MAPPED, 1024) ? 1024 : 64;
  const prem_way_row *live = row_of(rows, PREM_WAY_LIVE, PREM_MEMORY_MAPPED, size),
                     *mapped = row_of(rows, PREM_WAY_LAUNCH, PREM_MEMORY_MAPPED, size),
                     *resident = row_of(rows, PREM_WAY_RESIDENT, PREM_MEMORY_MAPPED, size);
  if (live && mapped && resident)
    prem_findings_verdict(findings,
                          "%" PRId32
                          " floats, host's stores and loads included: a live event %" PRId64
                          " ns at the median, a resident kernel %" PRId64
                          " ns, a launch on mapped memory %" PRId64 " ns.",
                          size, live->whole.p50, resident->whole.p50, mapped->whole.p50);
  else if (mapped && resident)
    prem_findings_verdict(
        findings,
        "%" PRId32 " floats, host's stores and loads included: a resident kernel takes %" PRId64
        " ns at the median, a launch on mapped memory %" PRId64
        " ns; there is no live event beside them.",
        size, resident->whole.p50, mapped->whole.p50);
  else if (live)
    prem_findings_verdict(findings,
                          "A live event that increments %" PRId32 " floats takes %" PRId64
                          " ns at the median.",
                          size, live->response.p50);
}

static const prem_way_study study = {
    .effort = {4000, 100, 40, 50, 5, 50, 8},
    .table = "increments",
    .title = "Increments, by where data lies",
    .original = "live_increment",
    .add_rows = add_rows,
    .tell_verdict = tell_verdict,
    .note = "The paper's times leave out the host's stores and loads where memory is mapped or "
            "managed, and have them where it is copied.",
};

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  return prem_way_study_run(&study, context, findings, diag);
}

const prem_experiment prem_live_increment_experiment = {
    .name = "live_increment",
    .title = "Start and wait, with data",
    .question = "What does it cost to bring inputs to the GPU and outputs back, by where they lie?",
    .backends = "cuda cpu sim",
    .run = run,
};
