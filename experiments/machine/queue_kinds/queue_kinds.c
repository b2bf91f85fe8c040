/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of the literature, as listed and repaired, and the ring. */
#include "experiments/common/cores.h"
#include "experiments/common/probe.h"
#include "experiments/machine/queue_kinds/queue_world.h"

enum {
  MOST_CORES = 64,
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

static queue_kind kind_of(const prem_probe_call *call) {
  return (queue_kind)(prem_probe_word(call, "queue", names, QUEUE_KINDS) % QUEUE_KINDS);
}

/** Of a row that is stuck nobody knows what is lost: a machine that is busy elsewhere stops as
 * well. */
static bool is_wrong(const queue_counts *counts) {
  return counts->twice != 0 || (!counts->is_stuck && counts->lost != 0);
}

static prem_status work_queue(const prem_probe_call *call, const queue_work *work,
                              queue_counts *counts) {
  if (prem_experiment_stopped(call->context))
    return PREM_ERR_INTERRUPTED;
#ifdef TTPREM_CUDA
  if (prem_is_gpu(call->context->backend))
    return prem_gpu_queue_work(work, counts, call->diag);
#endif
  return queue_host_work(work, counts, call->diag);
}

/** Listed positions begin at 0: they break at 2^32. Others begin just below 2^32 or 2^63. */
static queue_work work_of(const prem_probe_call *call, bool halves, bool is_long) {
  const bool gpu = prem_is_gpu(call->context->backend);
  int32_t cores[MOST_CORES];
  const int32_t count = gpu ? call->context->machine->cores : prem_cores_list(cores, MOST_CORES);
  const uint64_t calls = call->context->quick ? 64 : 1024, first = UINT64_C(1)
                                                                   << (halves ? 63 : 32);
  queue_work work = {
      .kind = kind_of(call),
      .blocks = (uint32_t)(prem_probe_whole(call, "a_core", 1, 2) * (count < 2 ? 2 : count)),
      .batch = (uint32_t)prem_probe_whole(call, "batch", 1, 32),
      .halves = halves,
      .size = halves ? LITTLE_ROOM : ROOM,
      .patience_ns = gpu ? 40000000 : 200000000};
  work.first = queue_is_listed(work.kind) ? 0 : first - 100;
  /* a CPU's threads take long to start */
  work.each = calls * (gpu ? work.batch : 32) * (gpu && is_long ? 8 : 1);
  return work;
}

/** Once, or until there were `most` operations: the tickets of the ring begin just below 2^32 and
 *  2^63 in turn. */
static prem_status measure(const prem_probe_call *call) {
  const int64_t most = prem_probe_whole(call, "most", 0, INT64_C(1) << 40);
  const bool halves = prem_probe_whole(call, "halves", 0, 1) == 1;
  int64_t operations = 0, lost = 0, twice = 0, wrong = 0;
  queue_counts counts = {0};
  queue_work work;
  for (int repeat = 0; repeat == 0 || (operations < most && !counts.is_stuck); ++repeat) {
    work = work_of(call, most > 0 ? repeat % 2 == 1 : halves, most > 0);
    const prem_status status = work_queue(call, &work, &counts);
    if (status != PREM_OK)
      return status;
    operations += counts.put + counts.taken;
    lost += counts.lost;
    twice += counts.twice;
    wrong += is_wrong(&counts);
  }
  prem_table_row(call->found, INT(work.blocks), INT(operations), INT(lost), INT(twice),
                 INT(counts.refused), INT(counts.empties), INT(counts.is_stuck), INT(counts.ns),
                 INT(wrong));
  return PREM_OK;
}

const prem_probe prem_queue_probe = {
    "blocks; operations; lost; twice; refused; empties; stuck; ns; wrong", measure, NULL};

/** One thread puts `more` than there is room for; of a bucket queue each bucket is filled. */
static prem_status fill(const prem_probe_call *call) {
  const queue_kind kind = kind_of(call);
  const uint64_t size =
                     (uint64_t)prem_probe_whole(call, "size", 1, ROOM) * queue_part_count(kind, 1),
                 tries = size + (uint64_t)prem_probe_whole(call, "more", 0, ROOM);
  const queue_work work = {.kind = kind,
                           .blocks = 1,
                           .batch = 1,
                           .each = tries,
                           .size = size,
                           .first = (uint64_t)prem_probe_whole(call, "first", 0, INT64_C(1) << 40),
                           .patience_ns = FILL_PATIENCE_NS};
  queue_counts counts;
  const prem_status status = queue_host_fill(&work, tries, &counts);
  if (status == PREM_OK)
    prem_table_row(call->found, INT(counts.put), INT(counts.taken), INT(counts.lost),
                   INT(counts.twice), INT(counts.is_stuck), INT(is_wrong(&counts)));
  return status;
}

const prem_probe prem_queue_fill_probe = {"put; taken; lost; twice; stuck; wrong", fill, NULL};
