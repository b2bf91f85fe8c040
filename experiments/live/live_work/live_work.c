/* SPDX-License-Identifier: Apache-2.0 */
/* Products, sums and increments, small and large, by ways and blocks. */
#include <inttypes.h>
#include <string.h>

#include "experiments/live/ways/rows.h"

enum {
  THREADS = 1024,     /* of a block, as the paper has them */
  LIVE_THREADS = 608, /* 512 of them compute */
  LARGE = 32768
};

typedef struct work_case {
  prem_work work;
  int32_t size;
  int32_t blocks; /* of a launch: as many as there is work for */
} work_case;

static const work_case cases[] = {
    {PREM_WORK_PRODUCT, 32, 1}, {PREM_WORK_SUM, 1024, 1},     {PREM_WORK_INCREMENT, LARGE, 32},
    {PREM_WORK_PRODUCT, 64, 4}, {PREM_WORK_PRODUCT, 128, 16}, {PREM_WORK_SUM, LARGE, 32},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- rows ------------------------------------------------------------------------------------ */

static prem_way_setup setup_of(const work_case *what, prem_way way, prem_way_memory memory,
                               int32_t blocks) {
  return (prem_way_setup){.way = way,
                          .work = what->work,
                          .size = what->size,
                          .memory = memory,
                          .blocks = blocks,
                          .threads = way == PREM_WAY_LIVE ? LIVE_THREADS : THREADS,
                          .pace_ns = 100000,
                          .mode = PREM_MODE_FREE};
}

static void add(prem_way_rows *rows, const work_case *what, prem_way way, prem_way_memory memory,
                int32_t blocks) {
  const prem_way_setup setup = setup_of(what, way, memory, blocks);
  prem_way_rows_add(rows, &setup, "");
}

static bool is_small(const work_case *what) {
  return what->blocks == 1;
}

/* Small work on one block, large work on more of them. */
static void add_resident(prem_way_rows *rows, const work_case *what, bool quick, int32_t sms) {
  const int32_t blocks[] = {1, 2, 4, 16, sms};
  for (size_t b = 0; b < sizeof blocks / sizeof *blocks; ++b) {
    if (b > 0 && (quick || is_small(what)))
      break;
    add(rows, what, PREM_WAY_LIVE, PREM_MEMORY_MAPPED, blocks[b]);
    add(rows, what, PREM_WAY_RESIDENT, PREM_MEMORY_MAPPED, blocks[b]);
    if (blocks[b] <= 4) /* thousands of threads at the host's memory take milliseconds */
      add(rows, what, PREM_WAY_ALL_POLL, PREM_MEMORY_MAPPED, blocks[b]);
  }
}

static void add_launched(prem_way_rows *rows, const work_case *what, bool quick) {
  add(rows, what, PREM_WAY_LAUNCH, PREM_MEMORY_MAPPED, what->blocks);
  add(rows, what, PREM_WAY_LAUNCH, PREM_MEMORY_COPIED, what->blocks);
  if (quick)
    return;
  if (is_small(what)) { /* managed memory has hung larger work */
    add(rows, what, PREM_WAY_LAUNCH, PREM_MEMORY_PAGEABLE, what->blocks);
    add(rows, what, PREM_WAY_LAUNCH, PREM_MEMORY_MANAGED, what->blocks);
  }
  add(rows, what, PREM_WAY_GRAPH, PREM_MEMORY_MAPPED, what->blocks);
  add(rows, what, PREM_WAY_GRAPH, PREM_MEMORY_COPIED, what->blocks);
  add(rows, what, PREM_WAY_CHILDREN, PREM_MEMORY_MAPPED, what->blocks);
}

static void add_on_cores(prem_way_rows *rows, const work_case *what) {
  for (int32_t blocks = 1; blocks <= (is_small(what) ? 1 : 2); ++blocks) {
    prem_way_setup setup = setup_of(what, PREM_WAY_LIVE, PREM_MEMORY_MAPPED, blocks);
    setup.threads = 1;
    setup.pace_ns = 1000000;
    prem_way_rows_add(rows, &setup, "");
  }
}

static void add_rows(prem_way_rows *rows, const prem_experiment_context *context) {
  const bool is_gpu = prem_is_gpu(context->backend);
  for (size_t c = 0; c < CASES; ++c) {
    if (!is_gpu) {
      add_on_cores(rows, &cases[c]);
      continue;
    }
    add_resident(rows, &cases[c], context->quick, context->machine->cores);
    add_launched(rows, &cases[c], context->quick);
  }
}

/* ---- telling --------------------------------------------------------------------------------- */

/* The fastest of a case among live events, or among all other ways. */
static const prem_way_row *best_of(const prem_way_rows *rows, const work_case *what, bool live) {
  const prem_way_row *best = NULL;
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    if (row->setup.work == what->work && row->setup.size == what->size &&
        (row->setup.way == PREM_WAY_LIVE) == live && row->response.count > 0 &&
        (!best || row->response.p50 < best->response.p50))
      best = row;
  }
  return best;
}

static void tell_verdict(const prem_way_rows *rows, prem_findings *findings) {
  char text[600] = "";
  for (size_t c = 0; c < CASES; ++c) {
    const prem_way_row *live = best_of(rows, &cases[c], true),
                       *other = best_of(rows, &cases[c], false);
    const size_t used = strlen(text);
    if (!live && !other)
      continue;
    snprintf(text + used, sizeof text - used, "%s%s %" PRId32 " %" PRId64 " ns", used ? "; " : "",
             prem_work_name(cases[c].work), cases[c].size,
             live ? live->response.p50 : other->response.p50);
    if (live && other)
      snprintf(text + strlen(text), sizeof text - strlen(text), " against %" PRId64 " (%s)",
               other->response.p50, other->name);
    else if (other)
      snprintf(text + strlen(text), sizeof text - strlen(text), " (%s)", other->name);
  }
  if (*text)
    prem_findings_verdict(findings,
                          "Medians of the fastest live event and the fastest other way: %s.", text);
}

static const prem_way_study study = {
    .effort = {4000, 100, 40, 50, 5, 50, 8},
    .table = "works",
    .title = "Products, sums and increments, by ways",
    .original = "live_work",
    .add_rows = add_rows,
    .tell_verdict = tell_verdict,
    .note = "Live events run in mode free: each phase as soon as it can. A sum on several blocks "
            "takes two tasks.",
};

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  return prem_way_study_run(&study, context, findings, diag);
}

const prem_experiment prem_live_work_experiment = {
    .name = "live_work",
    .title = "Start and wait, with work",
    .question = "How long do products, sums and increments take, from the start to their outputs?",
    .backends = "cuda cpu sim",
    .run = run,
};
