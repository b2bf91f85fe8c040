/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A live session on the GPU inside: what live.c, live_memory.c, live_tables.c, live_frames.c and
 * live_watch.c share.
 *
 * The courier's kernel runs beside the executive, on a copy of the host's courier (the image). The
 * host's own courier keeps the host's sides of the channels. Small frames the courier brings over
 * itself; large ones go by the copy engines, on a stream each way: an input's word is written by
 * its stream behind the bytes, an output passes a channel of its own (the relay) to the host's
 * thread, which has it copied and then hands it on.
 *
 * Who writes what: before the start the caller's thread; then the session's thread all but
 *  `has_...` and `is_...`, which it alone writes and others read, `match` and the gaps, which both
 * do under its lock, and `inputs`, each its own thread's.
 */
#ifndef TTPREM_RUNTIME_CUDA_HOST_LIVE_H
#define TTPREM_RUNTIME_CUDA_HOST_LIVE_H

#include <cuda.h>

#include "prem/base/list.h"
#include "runtime/core/clock_match.h"
#include "runtime/cuda/device/executive.h"
#include "runtime/cuda/host/backend_parts.h"

/** A large output on its way: from the courier's slots to the host's. */
typedef struct prem_cuda_relay {
  prem_stream_face *face; /* pinned; NULL: the courier brings it over itself */
  prem_consumer consumer; /* of the courier's frames */
  cudaEvent_t landed;
  int32_t from, to; /* slots of the frame under way; to < 0: none is */
  prem_note note;
} prem_cuda_relay;

/** Host memory that the GPU can reach. */
typedef struct prem_cuda_known {
  void *memory;
  int32_t stream; /* whose frames it has; -1: none */
} prem_cuda_known;

/** cuStreamWriteValue64(). */
typedef CUresult prem_cuda_write_function(CUstream stream, CUdeviceptr at, cuuint64_t value,
                                          unsigned flags);

typedef struct prem_cuda_live {
  prem_cuda *cuda;
  prem_courier *courier; /* the host's */
  prem_trace *recorded;
  prem_courier_face *face_there; /* courier->face, as the GPU sees it */
  prem_courier_talk *talk;       /* pinned; */
  struct prem_line *lines;       /* likewise: see courier_hear.h */
  prem_device_live tables;
  prem_courier_launch launch;
  prem_device_block *blocks; /* as they are during the session */
  int64_t *kept_epoch_ns;    /* in device memory: [kept_rows] */
  int64_t *kept_end_ns;
  uint8_t *kept_mode_of;                      /* NULL: one plan serves all modes */
  prem_list allocations;                      /* void *: device memory */
  unsigned char (*params)[PREM_PARAMS_BYTES]; /* pinned: courier->params, meanwhile */
  unsigned char (*params_before)[PREM_PARAMS_BYTES];
  prem_list known;                         /* prem_cuda_known: host memory */
  cudaStream_t serving, sending, fetching; /* the courier; frames to the GPU and back */
  prem_cuda_relay relays[PREM_MAX_LIVE_PORTS];
  bool stays[PREM_MAX_LIVE_PORTS];      /* frames are never brought over */
  bool is_large[PREM_MAX_LIVE_PORTS];   /* frames go by the copy engines */
  bool has_memory[PREM_MAX_LIVE_PORTS]; /* and are where the GPU can reach them */
  /* what the session has for frames that blocks reach elsewhere: in device memory of the
   * application, or on the host; NULL: these lie in it */
  prem_device_array *session_arrays[PREM_MAX_LIVE_PORTS];
  prem_cuda_write_function *write; /* where an input is large */
  prem_engine engine;
  prem_mode mode;
  pthread_mutex_t match_lock;
  prem_clock_match match;   /* the GPU's clock beside the host's */
  int64_t gaps, gap_max_ns; /* in which the courier did not look: see prem_live_clocks */
  int64_t stop_by_ns; /* the blocks were stopped, and have to be gone by then; INT64_MAX: not yet */
  pthread_t thread;
  bool has_thread;
  cudaError_t error;
  _Atomic bool is_asked_to_leave; /* by the host */
  _Atomic bool has_failed;
  _Atomic bool is_over;
  _Atomic int64_t heard_ns; /* an answer of the courier's came */
} prem_cuda_live;

/* ---- tables (live_tables.c) ------------------------------------------------------------------ */

/** Device memory that lives as long as the session. */
cudaError_t prem_cuda_live_keep(prem_cuda_live *live, void **out, const void *from, size_t bytes);
/** Make the courier's image, the gates of tasks, the leaders: all that is constant. */
cudaError_t prem_cuda_live_tables_new(prem_cuda_live *live);

/* ---- where frames lie (live_memory.c) -------------------------------------------------------- */

/** Make the host's frames known to the GPU; choose who brings each stream's. Before the tables. */
cudaError_t prem_cuda_live_frames_new(prem_cuda_live *live);
void prem_cuda_live_frames_free(prem_cuda_live *live);
/** The frames of a stream, wherever they lie now, and before they are moved. */
cudaError_t prem_cuda_live_take_memory(prem_cuda_live *live, int32_t stream);
/** Buffers of the application: can it be its memory on this GPU, or the host's? Says why not. */
prem_status prem_cuda_live_judge_buffers(const prem_cuda_live *live, int32_t stream,
                                         prem_diag *diag);
void prem_cuda_live_leave_memory(prem_cuda_live *live, int32_t stream);
/** Blocks fetch the frames of an input from the host. Says why they cannot. */
prem_status prem_cuda_live_fetch_there(prem_cuda_live *live, int32_t stream, prem_diag *diag);
/** They stay on the GPU, and are never brought over. */
void prem_cuda_live_keep_frames(prem_cuda_live *live, int32_t stream, prem_frame_place *out);
/** Where the courier finds what it brings over itself: [stream], for the launch. */
cudaError_t prem_cuda_live_carries(const prem_cuda_live *live, prem_device_carry *out);
/* ---- frames (live_frames.c) ------------------------------------------------------------------ */

/** A frame that lies on the GPU as on the host: how many bytes it has as one row, those between its
 *  rows included; 0: it has to go row by row. */
int64_t prem_cuda_live_one_row(const prem_device_array *device, const prem_storage *host);
/** Where a trigger's frames are told: one for each that can be under way. */
cudaError_t prem_cuda_live_lines_new(prem_cuda_live *live);
/** See prem_live_engine::submit. */
prem_status prem_cuda_live_submit(void *state, int32_t stream, int32_t slot, const prem_note *note,
                                  uint64_t *number, prem_diag *diag);
/** Ask for the end, behind all that was sent. */
void prem_cuda_live_drain(prem_cuda_live *live);
/** Go on with large outputs. One thread. @return whether none is under way. */
cudaError_t prem_cuda_live_fetch(prem_cuda_live *live, bool *is_idle);

/* ---- the session's thread (live_watch.c) ----------------------------------------------------- */

enum { PREM_CUDA_NAP_NS = 20000 }; /* between two looks of who waits */
void *prem_cuda_live_watch(void *live);
/** Let the courier leave. */
void prem_cuda_live_leave(prem_cuda_live *live);
/** @return whether a stream's kernel has ended; an error of the device ends all. */
bool prem_cuda_live_has_ended(prem_cuda_live *live, cudaStream_t stream);
/** The GPU's clock read `there_ns` at an instant between the two of the host. */
void prem_cuda_live_take_answer(prem_cuda_live *live, int64_t asked_ns, int64_t there_ns,
                                int64_t heard_ns);

#endif
