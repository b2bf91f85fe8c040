/* SPDX-License-Identifier: Apache-2.0 */
/* Products, sums and increments, small and large, by ways and blocks. */
#include <inttypes.h>
#include <string.h>

#include "experiments/live/ways/rows.h"

enum { LARGE = 32768 };

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

static const struct {
  prem_way way;
  prem_way_memory memory;
  bool quick, large; /* also in a quick look; with large work */
} launched[] = {{PREM_WAY_LAUNCH, PREM_MEMORY_MAPPED, true, true},
                {PREM_WAY_LAUNCH, PREM_MEMORY_COPIED, true, true},
                {PREM_WAY_LAUNCH, PREM_MEMORY_PAGEABLE, false, false},
                {PREM_WAY_LAUNCH, PREM_MEMORY_MANAGED, false, false}, /* has hung large work */
                {PREM_WAY_GRAPH, PREM_MEMORY_MAPPED, false, true},
                {PREM_WAY_GRAPH, PREM_MEMORY_COPIED, false, true},
                {PREM_WAY_CHILDREN, PREM_MEMORY_MAPPED, false, true}};
enum { LAUNCHED = sizeof launched / sizeof *launched };

static void add(prem_way_rows *rows, bool is_gpu, const work_case *what, prem_way way,
                prem_way_memory memory, int32_t blocks) {
  prem_way_rows_add_work(rows, is_gpu,
                         (prem_way_setup){.way = way,
                                          .work = what->work,
                                          .size = what->size,
                                          .memory = memory,
                                          .blocks = blocks,
                                          .threads = PREM_WAY_THREADS,
                                          .pace_ns = is_gpu ? 100000 : 1000000});
}

/* Small work on one block, large work on more of them. */
static void add_case(prem_way_rows *rows, bool is_gpu, const work_case *what, bool quick,
                     int32_t sms) {
  const int32_t blocks[] = {1, 2, 4, 16, sms};
  const bool is_small = what->blocks == 1;
  const int shapes = is_small || (is_gpu && quick) ? 1 : is_gpu ? 5 : 2;
  for (int b = 0; b < shapes; ++b) {
    add(rows, is_gpu, what, PREM_WAY_LIVE, PREM_MEMORY_MAPPED, blocks[b]);
    if (is_gpu)
      add(rows, true, what, PREM_WAY_RESIDENT, PREM_MEMORY_MAPPED, blocks[b]);
    if (is_gpu && blocks[b] <= 4) /* thousands of threads at the host's memory take milliseconds */
      add(rows, true, what, PREM_WAY_ALL_POLL, PREM_MEMORY_MAPPED, blocks[b]);
  }
  for (int w = 0; is_gpu && w < LAUNCHED; ++w)
    if ((launched[w].quick || !quick) && (launched[w].large || is_small))
      add(rows, true, what, launched[w].way, launched[w].memory, what->blocks);
}

static void add_rows(prem_way_rows *rows, const prem_experiment_context *context) {
  for (size_t c = 0; c < CASES; ++c)
    add_case(rows, prem_is_gpu(context->backend), &cases[c], context->quick,
             context->machine->cores);
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
