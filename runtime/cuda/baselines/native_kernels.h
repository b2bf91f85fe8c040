/* SPDX-License-Identifier: Apache-2.0 */
/** Ordinary kernels, one launch a job over whole arrays: what mode legacy launches, and the gate
 *  that holds streams back until all of them are queued. */
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/cuda/device/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The end of a job is the largest of so many instants, so that its blocks seldom write the same
 *  one; each has 32 bytes of its own. */
enum { PREM_NATIVE_SLOTS = 16, PREM_NATIVE_SLOT_STRIDE = 4 };
#define PREM_NATIVE_END_WORDS (PREM_NATIVE_SLOTS * PREM_NATIVE_SLOT_STRIDE)

/** The one argument of a job's kernel: its arrays as rows (dimensions 0 to 2) of elements. */
typedef struct prem_native_work {
  const unsigned char *in[2]; /* element (0, 0, 0, 0) */
  unsigned char *out;
  int64_t in_pitch_bytes[2][3], out_pitch_bytes[3];
  int64_t columns;    /* elements of a row of `out` */
  int32_t rows;       /* shape[0] * shape[1] * shape[2] of `out` */
  int32_t rows_of[2]; /* shape[1], shape[2]: to tell a row's plane */
  int32_t reserved;
  int64_t in_shape[4];   /* of the first input */
  int64_t channel_bytes; /* kcf_sum_channels: from one channel of the input to the next */
  const struct prem_native_tiles *tiles; /* in device memory; of code that goes tile by tile, which
                                            reads `params` and `ends` besides */
  long long *ends;                       /* PREM_NATIVE_END_WORDS; on %globaltimer */
  unsigned char params[PREM_PARAMS_BYTES];
} prem_native_work;

/** The kernel of mode copy, which no file can name: `columns` floats of one row, unchanged. */
#define PREM_NATIVE_COPY "a copy"

/** Code for a kernel. A thread makes `rows` x `columns` elements of the output, or a block does. */
typedef struct prem_native_variant {
  const char *task_kernel; /* as in kernels.def, or PREM_NATIVE_COPY */
  const char *words;       /* what sets it apart */
  const void *code;        /* for cudaLaunchKernel; its one argument a prem_native_work */
  int32_t rows, columns;
  int32_t max_threads; /* of a block */
  int32_t border;      /* convolutions: 1 where the output has the border as well; else -1 */
  bool by_block;       /* a block makes them, whatever its threads */
  bool copies_before;  /* the runtime copies `in` to `out`, the code only stamps the end */
} prem_native_variant;

/** Variant `number`, those of a kernel together; NULL behind the last. */
const prem_native_variant *prem_native_variant_at(int32_t number);
/** Dynamic shared memory that a block of a kernel needs, given the task's parameters. */
size_t prem_native_shared_bytes(const char *task_kernel, const void *params);

/** What the host says to gates, in a word of pinned memory. */
typedef enum prem_native_word {
  PREM_NATIVE_HOLD,
  PREM_NATIVE_GO,
  PREM_NATIVE_STOP /* no gate waits any longer */
} prem_native_word;

/** What a stream's first gate says to the host, in the same way. */
typedef enum prem_native_arrival {
  PREM_NATIVE_AWAY,
  PREM_NATIVE_WAITS,
  PREM_NATIVE_STARTED /* S is agreed */
} prem_native_arrival;

/** What gates share; in device memory, zeroed before each hyperperiod. */
typedef struct prem_native_state {
  long long start_ns;   /* S on %globaltimer; 0 until the first gate saw GO */
  long long late_ns;    /* by how much a stream came to its first gate after S, at most */
  unsigned int stopped; /* a gate gave up */
} prem_native_state;

/** The one argument of a gate: one thread that ends at an instant. */
typedef struct prem_native_gate {
  const uint32_t *word; /* prem_native_word, in pinned memory */
  uint32_t *arrived;    /* prem_native_arrival, pinned; NULL: not the first of its stream */
  prem_native_state *state;
  const long long *ends; /* the instant is the end of this job + offset_ns; NULL: S + offset_ns */
  int64_t offset_ns;
  int64_t margin_ns;  /* from GO to S */
  int64_t timeout_ns; /* for GO to come */
} prem_native_gate;

/** The gate, for cudaLaunchKernel with one thread. */
const void *prem_native_gate_code(void);

enum { PREM_NATIVE_SEEN = 34 }; /* passes of which it keeps what they took */

/** Passes of best-effort tasks, one after the other, each begun whole; in device memory. */
typedef struct prem_native_passes {
  prem_device_gated gated; /* without a meeting: they wait for nobody's S */
  const uint32_t *word;    /* prem_native_word, in pinned memory: until it says STOP */
  long long bound_ns;      /* from the gate's reading of the clock to a pass's end */
  long long most_ns;       /* a longer one was stalled, and raises no bound */
  long long timeout_ns;    /* for S to come */
  int64_t clock_step_ns;
  prem_memory_gate gate;
  long long start_ns;            /* S; 0: not known yet */
  long long begun_ns, closes_ns; /* of the pass under way: that reading, the window in its way */
  long long took_ns[PREM_NATIVE_SEEN]; /* the first ones */
  long long seen;
  long long ended;       /* by S + counted_ns */
  prem_device_held held; /* at_ns from S; no tile */
} prem_native_passes;

/** The two ends of a pass, with one thread and a prem_native_passes * each. */
const void *prem_native_pass_gate_code(void);
const void *prem_native_pass_end_code(void);

#ifdef __cplusplus
}
#endif
