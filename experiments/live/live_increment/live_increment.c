/* SPDX-License-Identifier: Apache-2.0 */
/* Increments of vectors of any size, by where inputs and outputs lie. */
#include <inttypes.h>

#include "experiments/live/ways/rows.h"

enum {
  SMALL = 1024, /* floats, up to which one block does it, as in the paper */
  MANAGED = 16384
};

static const int32_t sizes[] = {64, 128, 256, 512, 1024, 16384, 262144, 1048576};

/* Up to so many floats. Without a GPU there is the first one. */
static const struct {
  prem_way way;
  prem_way_memory memory;
  int32_t most;
} ways[] = {{PREM_WAY_LIVE, PREM_MEMORY_MAPPED, INT32_MAX},
            {PREM_WAY_RESIDENT, PREM_MEMORY_MAPPED, INT32_MAX},
            {PREM_WAY_RESIDENT, PREM_MEMORY_COMBINED, INT32_MAX},
            {PREM_WAY_RESIDENT, PREM_MEMORY_REGISTERED, INT32_MAX},
            {PREM_WAY_ALL_POLL, PREM_MEMORY_MAPPED, SMALL},
            {PREM_WAY_LAUNCH, PREM_MEMORY_MAPPED, INT32_MAX},
            {PREM_WAY_LAUNCH, PREM_MEMORY_COPIED, INT32_MAX},
            {PREM_WAY_LAUNCH, PREM_MEMORY_PAGEABLE, INT32_MAX},
            {PREM_WAY_LAUNCH, PREM_MEMORY_MANAGED, MANAGED},
            {PREM_WAY_GRAPH, PREM_MEMORY_COPIED, INT32_MAX}};
enum { SIZES = sizeof sizes / sizeof *sizes, WAYS = sizeof ways / sizeof *ways };

/* One block for small vectors; else as many as there is work for, and not more than there are SMs.
 */
static int32_t blocks_of(int32_t size, int32_t sms) {
  const int32_t blocks = (size + PREM_WAY_THREADS - 1) / PREM_WAY_THREADS;
  return blocks < sms ? blocks : sms;
}

static void add_rows(prem_way_rows *rows, const prem_experiment_context *context) {
  const bool is_gpu = prem_is_gpu(context->backend);
  for (size_t s = 0; s < SIZES; ++s)
    for (size_t w = 0; w < (is_gpu ? WAYS : 1); ++w) {
      const int32_t size = sizes[s];
      if (size <= ways[w].most && (!context->quick || size == 64 || size == 16384))
        prem_way_rows_add_work(
            rows, is_gpu,
            (prem_way_setup){.way = ways[w].way,
                             .work = PREM_WORK_INCREMENT,
                             .size = size,
                             .memory = ways[w].memory,
                             .blocks = is_gpu ? blocks_of(size, context->machine->cores) : 1,
                             .threads = size < PREM_WAY_THREADS ? size : PREM_WAY_THREADS,
                             .pace_ns = is_gpu ? 100000 : 10000000});
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
