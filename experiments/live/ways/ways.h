/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Ways to have a GPU do something now and to know when it is done: the product's live sessions and
 * those that people use instead. A turn hands inputs over, starts, and waits until the outputs can
 * be read.
 */
#ifndef TTPREM_EXPERIMENTS_LIVE_WAYS_WAYS_H
#define TTPREM_EXPERIMENTS_LIVE_WAYS_WAYS_H

#include "experiments/common/experiment.h"
#include "experiments/live/ways/work.h"

typedef enum prem_way {
  PREM_WAY_LIVE,     /* a live session whose hyperperiod starts with a frame */
  PREM_WAY_WORD,     /* resident: a word to and fro, which says nothing of any other; one thread */
  PREM_WAY_RESIDENT, /* resident: one thread waits for the host, all others for it */
  PREM_WAY_ALL_POLL, /* resident, as the paper of 2017 has it: every thread waits for the host */
  PREM_WAY_LAUNCH,   /* a launch, and the stream synchronized by a waiting core */
  PREM_WAY_BLOCKING, /* the same by a core that sleeps until it is interrupted */
  PREM_WAY_QUERY,    /* a launch and an event, which is asked for */
  PREM_WAY_COOPERATIVE,  /* a cooperative launch, and the stream synchronized */
  PREM_WAY_GRAPH,        /* a graph launched, and the stream synchronized */
  PREM_WAY_QUEUED,       /* kernels in a stream, each behind a wait for a word, a write behind it */
  PREM_WAY_QUEUED_GRAPH, /* a graph likewise */
  PREM_WAY_LOOP,         /* one graph: a loop of a waiting thread and a switch */
  PREM_WAY_RELAUNCH,     /* one graph that launches itself from the GPU */
  PREM_WAY_CHILDREN,     /* a waiting thread that launches a graph from the GPU for each turn */
  PREM_WAY_COUNT
} prem_way;

/** Where inputs and outputs lie between the two. */
typedef enum prem_way_memory {
  PREM_MEMORY_MAPPED,     /* pinned memory of the host that the GPU reads and writes */
  PREM_MEMORY_COMBINED,   /* the same, inputs write-combined */
  PREM_MEMORY_REGISTERED, /* ordinary memory of the host, pinned and mapped afterwards */
  PREM_MEMORY_COPIED,     /* pinned memory, copied by the copy engines to and fro */
  PREM_MEMORY_PAGEABLE,   /* ordinary memory, copied likewise */
  PREM_MEMORY_MANAGED,    /* moves by itself */
  PREM_MEMORY_COUNT
} prem_way_memory;

enum { PREM_WAY_MAX_BLOCKS = 1024 };

/** What a row is of. */
typedef struct prem_way_setup {
  prem_way way;
  prem_work work;
  int32_t size; /* floats, or the side of a matrix */
  prem_way_memory memory;
  int32_t blocks, threads;
  int64_t pace_ns; /* a turn begins no sooner behind the begin of the one before it */
  prem_mode mode;  /* of a live session: tt or free */
  int32_t buffers; /* of a live session's ports; 0: the default */
} prem_way_setup;

/** How many turns. */
typedef struct prem_way_turns {
  int64_t warm_up, count; /* warm_up: come first, do not count */
  int64_t end_ns;         /* of the host's clock: no turn begins behind it, but for the first
                             that counts */
  bool twice; /* inputs are stored and outputs loaded a second time, which `whole_ns` has as well */
  bool stamped; /* the GPU takes times as well, which makes the host's longer */
  const volatile sig_atomic_t *stop;
} prem_way_turns;

/** What turns took, in the order in which they were; arrays of `room`. */
typedef struct prem_way_samples {
  int64_t room;
  int64_t count;               /* host's, of turns that were not stamped */
  int64_t *response_ns;        /* from the start to outputs that can be read */
  int64_t *whole_ns;           /* from before inputs are stored until outputs are loaded */
  int64_t *store_ns, *load_ns; /* the host's stores into inputs, loads from outputs; */
  int64_t *store_again_ns, *load_again_ns; /* the same once more, if so; all four NULL: not kept */
  int64_t device_count;
  int64_t *device_ns; /* GPU's clock: from the first block's begin to the last block's end */
  int64_t wrong;      /* turns with wrong outputs, or blocks that did not run */
} prem_way_samples;

PREM_EXTERN_C_BEGIN

/** "live event", "mapped round trip", "launch + synchronize", ... */
const char *prem_way_name(prem_way way);
const char *prem_way_memory_name(prem_way_memory memory);

/**
 * Open a way, have its turns, close it. Samples are added to those that are there, as far as there
 * is room.
 *
 * @retval PREM_ERR_UNAVAILABLE  not on this machine, or not so: `diag` says why, nothing is amiss
 * @retval PREM_ERR_MACHINE      it failed; the GPU may be of no use any more
 */
prem_status prem_way_run(const prem_experiment_context *context, const prem_way_setup *setup,
                         const prem_way_turns *turns, prem_way_samples *samples, prem_diag *diag);

/** Host's times of a turn. */
typedef struct prem_way_times {
  int64_t response_ns, whole_ns, store_ns, store_again_ns, load_ns, load_again_ns;
  bool wrong;
} prem_way_times;

/** Add a turn's, as far as there is room. */
void prem_way_keep(prem_way_samples *samples, const prem_way_times *times);

/* Inside: who does it. */
prem_status prem_live_way_run(const prem_experiment_context *context, const prem_way_setup *setup,
                              const prem_way_turns *turns, const prem_work_data *data,
                              prem_way_samples *samples, prem_diag *diag);
prem_status prem_gpu_way_run(const prem_way_setup *setup, const prem_way_turns *turns,
                             const prem_work_data *data, prem_way_samples *samples,
                             prem_diag *diag);
/** Does the GPU still do what it is told? */
bool prem_gpu_way_lives(void);

PREM_EXTERN_C_END
#endif
