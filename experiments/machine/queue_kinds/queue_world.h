/* SPDX-License-Identifier: Apache-2.0 */
/** A queue with all that threads or blocks share who use it, in one piece of memory. */
#pragma once

#include "experiments/machine/queue_kinds/queues.h"
#include "ttprem/diag.h"

/** What is to be done. A block is a warp of a GPU or a thread of the host. */
typedef struct queue_work {
  queue_kind kind;
  uint32_t blocks, batch; /* items that a block puts or takes before it does the other */
  bool halves;            /* every other block puts, the others take; false: all do both in turn */
  uint64_t each;          /* items of each block that puts; batch divides it */
  uint64_t size;          /* items that the queue has room for, a power of two */
  uint64_t first;         /* position */
  int64_t patience_ns;
} queue_work;

typedef struct queue_counts {
  int64_t put, taken;       /* while it was measured */
  int64_t lost, twice;      /* items, after what was left has been taken as well */
  int64_t refused, empties; /* calls that did nothing */
  bool is_stuck;
  int64_t ns;
} queue_counts;

typedef struct queue_world {
  queue_waits waits;
  prem_ring_line over; /* blocks that have put all */
  prem_ring_line put, taken, refused, empties;
  prem_ring ring;
  queue_set set;
  queue_work work;
  uint64_t most;   /* numbers of items lie below */
  uint32_t *marks; /* [most]: how often each was taken */
} queue_world;

QUEUE_CODE uint32_t queue_putting(const queue_work *work) {
  return work->halves ? work->blocks / 2 : work->blocks;
}
/** Does a block put, does it take? */
QUEUE_CODE bool queue_block_puts(const queue_work *work, uint32_t block) {
  return !work->halves || block % 2 == 1;
}
QUEUE_CODE bool queue_block_takes(const queue_work *work, uint32_t block) {
  return !work->halves || block % 2 == 0;
}

/** Room of one part. */
static inline uint64_t queue_part_size(const queue_work *work) {
  const uint64_t parts = queue_part_count(work->kind, work->blocks);
  uint64_t size = 64; /* of a block's own at least */
  if (parts <= QUEUE_BUCKET_COUNT)
    return work->size / parts;
  while (2 * size * parts <= work->size)
    size *= 2;
  return size;
}

/** Bytes of its marks, which lie at its end. */
static inline size_t queue_mark_bytes(const queue_work *work) {
  return work->blocks * work->each * sizeof(uint32_t);
}

/** Bytes that a world takes. */
static inline size_t queue_world_bytes(const queue_work *work) {
  const uint64_t parts = queue_part_count(work->kind, work->blocks);
  return sizeof(queue_world) + work->size * sizeof(prem_ring_slot) +
         parts * (sizeof(queue_part) + 2 * queue_part_size(work) * sizeof(prem_word)) +
         queue_mark_bytes(work);
}

/** Make it in `image`, zeros, for users to whom it lies at `seen`. */
static inline void queue_world_init(void *image, void *seen, const queue_work *work) {
  queue_world *world = (queue_world *)image;
  const uint64_t parts = queue_part_count(work->kind, work->blocks), size = queue_part_size(work);
  const ptrdiff_t away = (char *)seen - (char *)image;
  queue_part *part = (queue_part *)(world + 1);
  prem_ring_slot *slots = (prem_ring_slot *)(part + parts);
  prem_word *words = (prem_word *)(slots + work->size);
  if (work->kind == QUEUE_RING)
    prem_ring_init(&world->ring, slots, work->size, work->first);
  world->ring.slots = (prem_ring_slot *)((char *)slots + away);
  for (uint64_t p = 0; p < parts; ++p) {
    prem_word *items = words + 2 * p * size, *tickets = items + size;
    queue_part_init(&part[p], work->kind, items, tickets, size, work->first, work->blocks * 32);
    part[p].items = (prem_word *)((char *)items + away);
    part[p].tickets = (prem_word *)((char *)tickets + away);
  }
  world->set.parts = (queue_part *)((char *)part + away);
  world->set.part_count = (uint32_t)parts;
  world->set.waits = &((queue_world *)seen)->waits;
  world->waits.patience_ns = work->patience_ns;
  world->work = *work;
  world->most = work->blocks * work->each;
  world->marks = (uint32_t *)((char *)(words + 2 * parts * size) + away);
}

/** Count what was taken, by what `marks` say here. */
static inline void queue_count_items(uint64_t most, const uint32_t *marks, queue_counts *counts) {
  int64_t seen = 0;
  for (uint64_t i = 0; i < most; ++i) {
    seen += marks[i] > 0;
    counts->twice += marks[i] > 1;
  }
  counts->lost = counts->put - seen;
}

PREM_EXTERN_C_BEGIN

/** Work with a thread for each block, and count. @retval PREM_ERR_MACHINE  one cannot start */
prem_status queue_host_work(const queue_work *work, queue_counts *counts, prem_diag *diag);
/** One thread tries to put so often, and takes all. */
prem_status queue_host_fill(const queue_work *work, uint64_t tries, queue_counts *counts);

/** The same on the GPU, with a warp for each block. */
prem_status prem_gpu_queue_work(const queue_work *work, queue_counts *counts, prem_diag *diag);

PREM_EXTERN_C_END
