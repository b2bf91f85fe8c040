/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of the literature, as listed and repaired, and the ring. */
#include <inttypes.h>
#include <math.h>

#include "experiments/common/cores.h"
#include "experiments/common/experiment.h"
#include "experiments/machine/queue_kinds/queue_world.h"
#include "report/findings/tables.h"

enum {
  MOST_CORES = 64,
  BATCHES = 3,
  BLOCKS = 2,
  ROOM = 1 << 16,     /* of a queue that is to have room for all, */
  LITTLE_ROOM = 4096, /* and of one that fills */
  FILL_PATIENCE_NS = 2000000
};

static const char *const names[QUEUE_KINDS] = {
    [QUEUE_INDEX_LISTED] = "index queue, as listed",
    [QUEUE_INDEX] = "index queue, repaired",
    [QUEUE_BUCKETS_LISTED] = "bucket queue, as listed",
    [QUEUE_BUCKETS] = "bucket queue, repaired",
    [QUEUE_BROKER_LISTED] = "broker queue, as listed",
    [QUEUE_BROKER] = "broker queue, repaired",
    [QUEUE_DISTRIBUTOR_LISTED] = "work distributor, as listed",
    [QUEUE_DISTRIBUTOR] = "work distributor, repaired",
    [QUEUE_STEALING_LISTED] = "stealing queue, as listed",
    [QUEUE_STEALING] = "stealing queue, repaired",
    [QUEUE_RING] = "ring",
};

typedef struct queue_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  bool gpu;
  uint32_t blocks[BLOCKS];
  int64_t patience_ns;
  prem_table *rates[2], *calls, *faults, *soak;
  int64_t done, all, operations;
  int32_t wrong[2], stuck[2]; /* rows, [listed] */
  double ring;                /* its last rate */
} queue_study;

/* ---- rates ---------------------------------------------------------------------------------- */

/** Of a row that is stuck nobody knows what is lost: a machine that is busy elsewhere stops as
 * well. */
static void judge(queue_study *study, queue_kind kind, const queue_counts *counts) {
  const bool is_wrong = counts->twice != 0 || (!counts->is_stuck && counts->lost != 0);
  study->wrong[queue_is_listed(kind)] += is_wrong;
  study->stuck[queue_is_listed(kind)] += counts->is_stuck;
  if (!queue_is_listed(kind))
    prem_findings_output(study->findings, !is_wrong);
}

static void tell_rate(queue_study *study, const queue_work *work, const queue_counts *counts) {
  const int64_t operations = counts->put + counts->taken;
  const double rate = counts->is_stuck
                          ? (double)NAN
                          : (double)operations * 1e3 / (double)(counts->ns > 0 ? counts->ns : 1);
  prem_table_row(study->rates[work->halves], TEXT(names[work->kind]), INT(work->blocks),
                 INT(work->batch), INT(operations), REAL(rate), INT(counts->lost),
                 INT(counts->twice));
  prem_table_row(study->calls, TEXT(names[work->kind]), TEXT(work->halves ? "halves" : "rates"),
                 INT(work->blocks), INT(work->batch), INT(counts->refused), INT(counts->empties),
                 INT(counts->is_stuck));
  study->operations += operations;
  judge(study, work->kind, counts);
  study->ring = work->kind == QUEUE_RING ? rate : study->ring;
  prem_experiment_progress(study->context, ++study->done, study->all);
}

/** Work and count, where the study is. */
static prem_status work_queue(queue_study *study, const queue_work *work, queue_counts *counts) {
  if (prem_experiment_stopped(study->context))
    return PREM_ERR_INTERRUPTED;
#ifdef TTPREM_CUDA
  if (study->gpu)
    return prem_gpu_queue_work(work, counts, study->diag);
#endif
  return queue_host_work(work, counts, study->diag);
}

/** Listed positions begin at 0: they break at 2^32. Others begin just below 2^32 or 2^63. */
static queue_work work_of(const queue_study *study, queue_kind kind, uint32_t blocks,
                          uint32_t batch, bool halves) {
  const uint64_t calls = study->context->quick ? 64 : 1024, first = UINT64_C(1)
                                                                    << (halves ? 63 : 32);
  return (queue_work){.kind = kind,
                      .blocks = blocks,
                      .batch = batch,
                      .halves = halves,
                      .each = calls *
                              (study->gpu ? batch : 32), /* a CPU's threads take long to start */
                      .size = halves ? LITTLE_ROOM : ROOM,
                      .first = queue_is_listed(kind) ? 0 : first - 100,
                      .patience_ns = study->patience_ns};
}

static prem_status measure_rates(queue_study *study, bool halves) {
  static const uint32_t batches[BATCHES] = {1, 8, 32};
  prem_status status = PREM_OK;
  for (int b = 0; b < BLOCKS; ++b)
    for (int i = 0; i < BATCHES; ++i)
      for (int kind = 0; kind < QUEUE_KINDS && status == PREM_OK; ++kind) {
        const queue_work work =
            work_of(study, (queue_kind)kind, study->blocks[b], batches[i], halves);
        queue_counts counts;
        status = work_queue(study, &work, &counts);
        if (status == PREM_OK)
          tell_rate(study, &work, &counts);
      }
  return status;
}

/** The ring alone, for long: its tickets begin just below 2^32 and 2^63 in turn. */
static prem_status soak(queue_study *study) {
  const bool quick = study->context->quick;
  const int64_t most = quick ? 1 << 20 : study->gpu ? INT64_C(10000000000) : 100000000;
  int64_t operations = 0, lost = 0, twice = 0;
  queue_counts counts = {0};
  for (int repeat = 0; operations < most && !counts.is_stuck; ++repeat) {
    queue_work work = work_of(study, QUEUE_RING, study->blocks[1], 32, repeat % 2);
    work.each *= study->gpu ? 8 : 1;
    const prem_status status = work_queue(study, &work, &counts);
    if (status != PREM_OK)
      return status;
    judge(study, QUEUE_RING, &counts);
    operations += counts.put + counts.taken;
    lost += counts.lost;
    twice += counts.twice;
  }
  prem_table_row(study->soak, TEXT(names[QUEUE_RING]), INT(study->blocks[1]), INT(32),
                 INT(operations), INT(lost), INT(twice));
  study->operations += operations;
  return PREM_OK;
}

/* ---- what a listing forgets ----------------------------------------------------------------- */

typedef struct fill_case {
  const char *name;
  uint64_t size, more; /* so many more are put than there is room */
  uint64_t first;
} fill_case;

static prem_status try_fill(queue_study *study, queue_kind kind, const fill_case *of) {
  const uint64_t size = of->size * queue_part_count(kind, 1); /* each bucket is filled */
  const queue_work work = {.kind = kind,
                           .blocks = 1,
                           .batch = 1,
                           .each = size + of->more,
                           .size = size,
                           .first = of->first,
                           .patience_ns = FILL_PATIENCE_NS};
  queue_counts counts;
  const prem_status status = queue_host_fill(&work, size + of->more, &counts);
  if (status != PREM_OK)
    return status;
  prem_table_row(study->faults, TEXT(names[kind]), TEXT(of->name), INT(counts.put),
                 INT(counts.taken), INT(counts.lost), INT(counts.twice), INT(counts.is_stuck));
  judge(study, kind, &counts);
  return PREM_OK;
}

static prem_status try_fills(queue_study *study) {
  static const uint64_t wrap = (UINT64_C(1) << 32) - 6;
  const fill_case cases[] = {{"filled, 3 refused, emptied", 16, 3, 0},
                             {"filled over position 2^32", 16, 0, wrap},
                             {"the same, of the listing's size, 12", 12, 0, wrap}};
  prem_status status = PREM_OK;
  for (int kind = 0; kind < QUEUE_KINDS; ++kind)
    for (int c = 0; c < (queue_is_listed((queue_kind)kind) ? 3 : 2) && status == PREM_OK; ++c)
      status = try_fill(study, (queue_kind)kind, &cases[c]);
  return status;
}

/* ---- telling -------------------------------------------------------------------------------- */

static void begin_tables(queue_study *study) {
  static const char columns[] = "queue; blocks; batch; operations; rate [million/s]; lost; twice";
  prem_findings *findings = study->findings;
  study->rates[0] =
      prem_table_begin(findings, "rates", "Every block puts and takes", NULL, columns);
  study->rates[1] =
      prem_table_begin(findings, "halves", "Half of the blocks put, half take", NULL, columns);
  study->calls = prem_table_begin(findings, "calls", "Calls that did nothing", NULL,
                                  "queue; table; blocks; batch; full; empty; stuck");
  study->soak = prem_table_begin(findings, "soak", "The ring, for long", NULL,
                                 "queue; blocks; batch; operations; lost; twice");
  study->faults = prem_table_begin(findings, "faults", "One thread fills a queue and empties it",
                                   NULL, "queue; case; put; taken; lost; twice; stuck");
  prem_chart_add(findings, PREM_CHART_BARS, "rates", "Every block puts and takes: by batch",
                 "batch", "rate", "queue", PREM_LOG_Y);
}

static void tell(queue_study *study) {
  prem_findings_verdict(
      study->findings,
      "%" PRId64 " operations: the ring and the repaired queues were wrong in %d rows and stuck in "
      "%d, the listed ones in %d and %d. The ring makes %.3g million operations a "
      "second with %u blocks of 32, half of which take.",
      study->operations, study->wrong[false], study->stuck[false], study->wrong[true],
      study->stuck[true], study->ring, study->blocks[BLOCKS - 1]);
  if (study->stuck[true] + study->stuck[false] > 0)
    prem_findings_note(study->findings,
                       "Where a row is stuck somebody waited longer than his patience, and all "
                       "gave up. What it has lost may lie in the queue still.");
}

static void choose_blocks(queue_study *study) {
  int32_t cores[MOST_CORES];
  const int32_t count =
      study->gpu ? study->context->machine->cores : prem_cores_list(cores, MOST_CORES);
  study->blocks[0] = count < 2 ? 2 : (uint32_t)count;
  study->blocks[1] = 2 * study->blocks[0];
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  queue_study study = {.context = context, .findings = findings, .diag = diag};
  study.gpu = prem_is_gpu(context->backend);
  study.patience_ns = study.gpu ? 40000000 : 200000000;
  study.all = 2 * BLOCKS * BATCHES * QUEUE_KINDS;
  choose_blocks(&study);
  begin_tables(&study);
  prem_status status = try_fills(&study);
  for (int halves = 0; halves < 2 && status == PREM_OK; ++halves)
    status = measure_rates(&study, halves);
  if (status == PREM_OK)
    status = soak(&study);
  if (study.done > 0)
    tell(&study);
  return status;
}

const prem_experiment prem_queue_kinds_experiment = {
    .name = "queue_kinds",
    .title = "Queues for work that comes while it runs",
    .question = "Which queue hands items from many blocks to many, how fast, and does it lose any?",
    .backends = "cuda cpu",
    .run = run,
};
