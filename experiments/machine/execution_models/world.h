/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How items are handed out, one source for the host and for the GPU. A *worker* is a thread, or a
 * warp. Who goes stage by stage appends to one array a stage. A worker that stays puts what it
 * makes on its stack, and what it does not keep there into the stage's ring; what finds no room in
 * the ring stays on the stack.
 */
#pragma once

#include <string.h>

#include "experiments/machine/execution_models/items.h"
#include "ttprem/diag.h"

#ifdef __CUDACC__
#define model_clock_ns prem_clock_ns
#define model_pause()  __nanosleep(100)
#else
#include <sched.h>

#include "prem/base/clock.h"
#define model_clock_ns prem_host_clock_ns
#define model_pause    sched_yield
#endif

typedef enum model_kind {
  MODEL_STAGE_BY_STAGE,
  MODEL_STREAMS, /* all stages that have items, side by side */
  MODEL_GRAPHS,  /* the same, from the GPU */
  MODEL_NESTED,
  MODEL_POOL, /* one stack with a lock */
  MODEL_PERSISTENT,
  MODEL_MEGAKERNEL,
  MODEL_LOCAL,
  MODEL_KINDS
} model_kind;

enum { MODEL_STACK = 2048 /* items of a stage */, MODEL_PLACES = 64 /* so that few share one */ };

/** A run of a model. */
typedef struct model_run {
  model_work work;
  model_kind kind;
  uint32_t threads, blocks; /* CPU: threads; GPU: of a block; blocks that stay on each SM */
  uint64_t room, ring_room; /* items of a stage in all, and in its ring; powers of two */
  model_sums right;         /* what has to come of it */
  int64_t patience_ns;      /* for a turn */
  int32_t turns;
} model_run;

typedef struct model_result {
  bool ok;
  uint64_t full; /* items that found no room, in all turns; of the last turn: */
  uint64_t most; /* items that were made and not taken, or of workers that stay not done */
  uint64_t launches;
  int32_t turns;   /* up to the first that was wrong */
  const char *why; /* it is not possible here */
} model_result;

typedef struct model_range {
  uint64_t head, first, last; /* of an array: what is not taken yet; what a launch takes */
} model_range;

typedef struct model_world {
  model_run run;
  prem_ring_line tails[MODEL_STAGES]; /* of the arrays */
  model_range ranges[MODEL_STAGES];
  prem_ring_line root; /* the next of `roots` that nobody has */
  prem_ring_line left; /* items that are made and not done */
  prem_ring_line stop; /* somebody's patience ended */
  prem_ring_line most, full, launches;
  prem_ring_line sums[MODEL_PLACES][2]; /* checksum, value */
  prem_ring rings[MODEL_STAGES];
  uint64_t roots;
  uint64_t *items;  /* [MODEL_STAGES][room] */
  uint64_t *stacks; /* [workers][MODEL_STAGES][MODEL_STACK] */
  const uint32_t *input;
} model_world;

/** A worker's own; on the GPU in the scratchpad. */
typedef struct model_own {
  prem_ring_hand taking, putting;
  uint64_t *stack; /* [MODEL_STAGES][MODEL_STACK] */
  uint32_t count[MODEL_STAGES];
  uint32_t ring; /* that `taking` is of */
  int64_t owed;  /* to `left` */
  uint64_t most;
  int64_t end_ns;
} model_own;

/** Items of a stage that a worker takes at once. */
MODEL_CODE uint32_t model_slots(int workload, int stage) {
  const uint32_t lanes = model_stage_of(workload, stage).lanes;
  return PREM_RING_LANES == 1 ? 4 : lanes == 0 || lanes > 32 ? 1 : PREM_RING_LANES / lanes;
}

/* ---- a batch --------------------------------------------------------------------------------- */

/** All lanes, each with a child or none: to the stack; without one to the arrays. */
MODEL_CODE void model_add_child(model_world *world, model_own *own, uint64_t child) {
  const uint32_t bit = 1u << prem_ring_lane();
  for (uint32_t stage = 0; stage < MODEL_STAGES; ++stage) {
    const bool is_mine = child != MODEL_NONE && model_stage_in(child) == stage;
    const uint32_t ones = prem_ring_of_all(is_mine ? bit : 0), more = prem_ring_count(ones);
    if (more == 0)
      continue;
    const uint64_t room = own ? MODEL_STACK : world->run.room;
    uint64_t *items = own ? own->stack + stage * MODEL_STACK : world->items + stage * room;
    uint64_t at = own ? own->count[stage] : 0;
    if (!own && prem_ring_lane() == 0)
      at = prem_ring_add(&world->tails[stage].word, more);
    at = prem_ring_from_first(at);
    const uint64_t mine = at + prem_ring_count(ones & (bit - 1));
    if (is_mine && mine < room)
      items[mine] = child;
    else if (is_mine)
      prem_ring_add(&world->full.word, 1); /* and is lost, so that the sums are wrong */
    prem_ring_meet();
    if (own && prem_ring_lane() == 0) {
      own->count[stage] = (uint32_t)(at + more < room ? at + more : room);
      own->owed += more;
    }
    prem_ring_meet();
  }
}

/** All lanes: items[0 .. count) of one stage. On the GPU input comes to the scratchpad first. */
MODEL_CODE void model_batch(model_world *world, model_own *own, int workload, int stage,
                            const uint64_t *items, uint32_t count, uint32_t *scratch,
                            model_sums *sums) {
  const model_stage of = model_stage_of(workload, stage);
  const uint32_t width = of.lanes - 1 < PREM_RING_LANES ? of.lanes : PREM_RING_LANES;
  const uint32_t size = world->run.work.size, slot = prem_ring_lane() / width,
                 part = prem_ring_lane() % width;
  for (uint32_t base = 0; base < count; base += PREM_RING_LANES / width) {
    const bool acts = base + slot < count;
    const uint64_t item = items[acts ? base + slot : 0];
    const uint32_t *input = world->input + model_input_at(item);
    for (uint32_t i = part; scratch && acts && i < of.input_words; i += width)
      scratch[slot * of.input_words + i] = input[i];
    prem_ring_meet();
    for (uint32_t lane = part; acts && lane < of.lanes; lane += width)
      model_part(workload, stage, item, lane, size,
                 scratch ? scratch + slot * of.input_words : input, sums);
    for (uint32_t which = part; which - part < of.fan; which += width)
      model_add_child(world, own,
                      acts && which < of.fan ? model_child(workload, item, which, size)
                                             : MODEL_NONE);
    prem_ring_meet();
  }
}

/** All lanes, once. */
MODEL_CODE void model_tell(model_world *world, uint32_t worker, model_sums sums) {
#ifdef __CUDACC__
  for (int by = PREM_RING_LANES / 2; by > 0; by /= 2) {
    sums.checksum += __shfl_xor_sync(0xffffffffu, sums.checksum, by);
    sums.value += __shfl_xor_sync(0xffffffffu, sums.value, by);
  }
#endif
  if (prem_ring_lane() != 0)
    return;
  prem_ring_add(&world->sums[worker % MODEL_PLACES][0].word, sums.checksum);
  prem_ring_add(&world->sums[worker % MODEL_PLACES][1].word, sums.value);
}

/* ---- stage by stage -------------------------------------------------------------------------- */

/** All stages with items that wait, or the first of them: their ranges, and which they are. */
MODEL_BOTH uint32_t model_plan(const prem_ring_line *tails, model_range *ranges, uint64_t room,
                               bool one, uint64_t *most) {
  uint64_t waiting = 0;
  uint32_t stages = 0;
  for (int stage = 0; stage < MODEL_STAGES; ++stage) {
    model_range *range = &ranges[stage];
    const uint64_t tail = tails[stage].word, end = tail < room ? tail : room, begin = range->head;
    waiting += end - begin;
    if (end == begin || (one && stages != 0))
      continue;
    range->first = begin;
    range->head = range->last = end;
    stages |= 1u << stage;
  }
  *most = waiting > *most ? waiting : *most;
  return stages;
}

/** A worker's part of a range. */
MODEL_CODE void model_work_range(model_world *world, int workload, int stage, uint64_t first,
                                 uint64_t last, uint32_t worker, uint32_t workers,
                                 uint32_t *scratch) {
  const uint32_t slots = model_slots(workload, stage);
  model_sums sums = {0, 0};
  for (uint64_t at = first + worker * slots; at < last; at += (uint64_t)workers * slots)
    model_batch(world, NULL, workload, stage, world->items + (uint64_t)stage * world->run.room + at,
                last - at < slots ? (uint32_t)(last - at) : slots, scratch, &sums);
  model_tell(world, worker, sums);
}

/* ---- workers that stay ----------------------------------------------------------------------- */

MODEL_CODE void model_raise(prem_word *word, uint64_t value) {
#ifdef __CUDACC__
  atomicMax((unsigned long long *)word, (unsigned long long)value);
#else
  uint64_t was = prem_ring_load(word);
  while (was < value && !atomic_compare_exchange_weak(word, &was, value)) {
  }
#endif
}

/** Lane 0: make `left` right, before anybody else can end what was made. */
MODEL_CODE void model_settle(model_world *world, model_own *own) {
  const uint64_t owed = (uint64_t)own->owed, left = prem_ring_add(&world->left.word, owed) + owed;
  own->owed = 0;
  own->most = left > own->most ? left : own->most;
}

/** A batch from the stack: of the last stage that has a whole one, or any. */
MODEL_CODE uint32_t model_pop(model_own *own, uint32_t stack, int workload, bool whole,
                              uint64_t *items, int *stage) {
  for (int at = MODEL_STAGES - 1; at >= 0; --at) {
    const uint32_t count = own->count[at], slots = model_slots(workload, at);
    const uint32_t want = count < slots ? count : slots;
    if (want == 0 || (whole && want < slots))
      continue;
    for (uint32_t i = prem_ring_lane(); i < want; i += PREM_RING_LANES)
      items[i] = own->stack[(size_t)at * stack + count - want + i];
    prem_ring_meet();
    if (prem_ring_lane() == 0)
      own->count[at] = count - want;
    prem_ring_meet();
    *stage = at;
    return want;
  }
  return 0;
}

/** The same from the rings, after one look at all. */
MODEL_CODE uint32_t model_take(model_world *world, model_own *own, int workload, int *stage) {
  uint32_t whole = 0, some = 0, best = 0;
  for (uint32_t at = prem_ring_lane(); at < MODEL_STAGES; at += PREM_RING_LANES) {
    const int64_t there = (int64_t)prem_ring_load(&world->rings[at].there.word);
    some |= (uint32_t)(there > 0) << at;
    whole |= (uint32_t)(there >= (int64_t)model_slots(workload, (int)at)) << at;
  }
  whole = prem_ring_of_all(whole);
  some = prem_ring_of_all(some);
  for (uint32_t at = 0; at < MODEL_STAGES; ++at)
    best = (whole != 0 ? whole : some) >> at & 1 ? at : best;
  const bool goes_on = own->taking.kept != 0; /* with a ticket of before */
  if (!goes_on && some == 0)
    return 0;
  *stage = goes_on ? (int)own->ring : (int)best;
  prem_ring_meet();
  own->ring = (uint32_t)*stage;
  const prem_ring_answer answer =
      prem_ring_take(&world->rings[*stage], &own->taking, model_slots(workload, *stage));
  return answer == PREM_RING_OK ? own->taking.count : 0;
}

/** Of the items to begin with. */
MODEL_CODE uint32_t model_take_roots(model_world *world, model_own *own, int workload) {
  const uint64_t want = model_slots(workload, 0), all = world->roots;
  uint64_t at = all;
  if (prem_ring_lane() == 0 && prem_ring_load(&world->root.word) < all)
    at = prem_ring_add(&world->root.word, want);
  at = prem_ring_from_first(at);
  const uint64_t count = at >= all ? 0 : all - at < want ? all - at : want;
  for (uint32_t i = prem_ring_lane(); i < count; i += PREM_RING_LANES)
    own->taking.items[i] = world->items[at + i];
  prem_ring_meet();
  return (uint32_t)count;
}

/** Put what is above `keep` batches of each stage into its ring. */
MODEL_CODE void model_give(model_world *world, model_own *own, int workload, uint32_t keep) {
  for (uint32_t stage = 0; stage < MODEL_STAGES; ++stage)
    for (bool has_room = true; has_room;) {
      const uint32_t count = own->count[stage], kept = keep * model_slots(workload, (int)stage);
      const uint32_t want = count <= kept                    ? 0
                            : count - kept < PREM_RING_BATCH ? count - kept
                                                             : PREM_RING_BATCH;
      if (want == 0)
        break;
      for (uint32_t i = prem_ring_lane(); i < want; i += PREM_RING_LANES)
        own->putting.items[i] = own->stack[stage * MODEL_STACK + count - 1 - i];
      if (prem_ring_lane() == 0 && own->owed != 0)
        model_settle(world, own);
      prem_ring_meet();
      prem_ring_answer answer;
      do
        answer = prem_ring_put(&world->rings[stage], &own->putting, want);
      while (answer == PREM_RING_BUSY && prem_ring_from_first(model_clock_ns() < own->end_ns));
      if (answer == PREM_RING_BUSY)
        return;
      const uint32_t done = answer == PREM_RING_OK ? own->putting.count : 0;
      has_room = done == want;
      prem_ring_meet();
      if (prem_ring_lane() == 0)
        own->count[stage] = count - done;
      if (prem_ring_lane() == 0 && !has_room)
        prem_ring_add(&world->full.word, want - done);
      prem_ring_meet();
    }
}

/** Has the patience not ended? Who has found nothing asks for others' as well. */
MODEL_CODE bool model_goes_on(model_world *world, const model_own *own, bool asks) {
  bool goes_on = true;
  if (prem_ring_lane() == 0) {
    goes_on = model_clock_ns() <= own->end_ns;
    if (!goes_on)
      prem_ring_add(&world->stop.word, 1);
    goes_on = goes_on && !(asks && prem_ring_load(&world->stop.word) != 0);
  }
  return prem_ring_from_first(goes_on) != 0;
}

/** Nothing was found: may anything come? */
MODEL_CODE bool model_may_come(model_world *world, model_own *own) {
  uint64_t left = 0;
  if (prem_ring_lane() == 0 && own->owed != 0)
    model_settle(world, own);
  if (prem_ring_lane() == 0)
    left = prem_ring_load(&world->left.word);
  return prem_ring_from_first(left) != 0;
}

/* Each stage has code of its own, so that its words are in registers: calls of one function are
 * made one by the compiler. */
#define MODEL_BATCH(stage)                                                                         \
  MODEL_CODE void model_batch_##stage(model_world *world, model_own *own, int workload,            \
                                      uint32_t count, uint32_t *scratch, model_sums *sums) {       \
    model_batch(world, own, workload, stage, own->taking.items, count, scratch, sums);             \
  }
MODEL_BATCH(0)
MODEL_BATCH(1)
MODEL_BATCH(2)
MODEL_BATCH(3)
MODEL_BATCH(4)

/** All lanes: work until nothing is left. `keep` batches of each stage stay with the worker;
 *  UINT32_MAX: all, nobody hands anything over, and who has nothing leaves. */
MODEL_CODE void model_work_on(model_world *world, model_own *own, int workload, uint32_t worker,
                              uint32_t keep, uint32_t *scratch) {
  model_sums sums = {0, 0};
  for (uint32_t count = 1; model_goes_on(world, own, count == 0);) {
    int stage = 0;
    const bool is_free = own->taking.kept == 0;
    count = is_free ? model_pop(own, MODEL_STACK, workload, true, own->taking.items, &stage) : 0;
    if (count == 0 && keep != UINT32_MAX)
      count = model_take(world, own, workload, &stage);
    if (count == 0 && own->taking.kept == 0)
      count = model_pop(own, MODEL_STACK, workload, false, own->taking.items, &stage);
    if (count == 0 && own->taking.kept == 0) {
      stage = 0;
      count = model_take_roots(world, own, workload);
    }
    if (count == 0) {
      if (keep == UINT32_MAX || !model_may_come(world, own))
        break;
      model_pause();
      continue;
    }
    if (stage == 0)
      model_batch_0(world, own, workload, count, scratch, &sums);
    else if (stage == 1)
      model_batch_1(world, own, workload, count, scratch, &sums);
    else if (stage == 2)
      model_batch_2(world, own, workload, count, scratch, &sums);
    else if (stage == 3)
      model_batch_3(world, own, workload, count, scratch, &sums);
    else
      model_batch_4(world, own, workload, count, scratch, &sums);
    if (prem_ring_lane() == 0)
      own->owed -= count;
    prem_ring_meet();
    if (keep != UINT32_MAX)
      model_give(world, own, workload, keep);
  }
  if (prem_ring_lane() == 0)
    model_raise(&world->most.word, own->most);
  model_tell(world, worker, sums);
}

/* ---- on the host ----------------------------------------------------------------------------- */

/** Batches of a stage that a worker keeps. */
static inline uint32_t model_keep(model_kind kind) {
  return kind == MODEL_PERSISTENT ? UINT32_MAX : kind == MODEL_LOCAL ? 1 : 0;
}

/** Bytes of a world: up to the items to begin with, the arrays' rest, stacks. */
static inline size_t model_world_bytes(const model_run *run, uint64_t workers) {
  return sizeof(model_world) +
         MODEL_STAGES * (run->ring_room * sizeof(prem_ring_slot) +
                         (run->room + workers * MODEL_STACK) * sizeof(uint64_t));
}

/** Make what a turn begins with in `image`, for workers to whom it lies at `seen`; its bytes. */
static inline size_t model_world_init(model_world *image, void *seen, const model_run *run,
                                      const uint32_t *input) {
  const ptrdiff_t away = (char *)seen - (char *)image;
  prem_ring_slot *slots = (prem_ring_slot *)(image + 1);
  uint64_t *items = (uint64_t *)(slots + MODEL_STAGES * run->ring_room);
  memset((void *)image, 0, sizeof *image);
  for (int stage = 0; stage < MODEL_STAGES; ++stage, slots += run->ring_room) {
    prem_ring_init(&image->rings[stage], slots, run->ring_room, 0);
    image->rings[stage].slots = (prem_ring_slot *)((char *)slots + away);
  }
  for (uint32_t i = 0; i < run->work.roots; ++i)
    if (model_root(&run->work, i) != MODEL_NONE)
      items[image->roots++] = model_root(&run->work, i);
  image->run = *run;
  image->input = input;
  image->left.word = image->tails[0].word = image->roots;
  image->items = (uint64_t *)((char *)items + away);
  image->stacks = image->items + MODEL_STAGES * run->room;
  return (size_t)((char *)(items + image->roots) - (char *)image);
}

/** What a turn has left. */
static inline void model_judge(const model_world *world, model_result *result) {
  model_sums sums = {0, 0};
  for (int place = 0; place < MODEL_PLACES; ++place) {
    sums.checksum += world->sums[place][0].word;
    sums.value += world->sums[place][1].word;
  }
  result->ok &= world->stop.word == 0 && sums.checksum == world->run.right.checksum &&
                sums.value == world->run.right.value;
  result->full += world->full.word;
  result->most = world->most.word;
  result->launches = world->launches.word;
}

PREM_EXTERN_C_BEGIN

/** What items read, [MODEL_INPUT_WORDS]; NULL: no memory. */
uint32_t *model_new_input(void);
/** What is right: one thread, item by item; counts[MODEL_STAGES] as well. */
prem_status model_reference(const model_work *work, model_sums *sums, uint64_t *counts);
/** Work so many turns, each from its begin to the end of all: ns[turns]. One that is wrong is the
 *  last. With threads; */
prem_status model_host_run(const model_run *run, int64_t *ns, model_result *result,
                           prem_diag *diag);
/** on the GPU. @retval PREM_ERR_UNAVAILABLE  result->why says what it lacks */
prem_status prem_gpu_model_run(const model_run *run, int64_t *ns, model_result *result,
                               prem_diag *diag);

PREM_EXTERN_C_END
