/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a backend is to the runtime. Host arrays, references and the program are the session's.
 *
 * This folder is what all backends share:
 *
 *   backend.h          begin here: what a backend does
 *   best_effort.h, .c  what runs free beside a program, and what is counted of it
 *   gate.h             when its memory phases may begin
 *   errands.h, .c      what comes while it runs: from who sends to a server's blocks, and back
 *   ring.h             the queues of that
 *   program.h, .c      then here: a plan compiled to records and waits, which every backend runs
 *   compilation.h      between program.c and the two that it needs: program_tables.c, a block's
 *                      tables; program_buffers.c, its scratch buffers
 *   data_edges.c       which jobs must not overtake which, for the sake of an array
 *   untiled_order.c    the order of whole jobs on one host thread
 *   arrays.c           the arrays in host memory: filling, references, verifying, saving
 *   early_reads.c      arrays that are read before they are written
 *   image.c            reading and writing them as files
 *   windows.c          moving windows between arrays and scratchpad, on the host
 *   courier.h          live sessions: which frame a job reads, when a hyperperiod begins
 *   record_rules.h     when a record may start, and what the trace keeps of it: sim and cpu
 *   recorder.c         how a thread of the host records phases
 *   trace.c            what they are joined to; its room, its counts, its CSV
 *
 * Who writes what: a program is written when a session opens, by program*.c and data_edges.c, and
 * by nobody afterwards. The arrays belong to the backend during a run, and to the session at all
 * other times. A recorder is written by one thread; a trace belongs to the caller of the run.
 */
#pragma once

#include "runtime/core/arrays.h"
#include "runtime/core/courier.h"
#include "runtime/core/program.h"

/** Where frames of a stream lie on a device. */
typedef struct prem_frame_place {
  unsigned char *first; /* of slot 0; NULL: they lie in the host's memory */
  int64_t slot_bytes, pitch_bytes[3];
} prem_frame_place;

/** What live sessions take of a backend, on a state that was opened with prem_arrays_new_live().
 *  Times are on its host's clock. */
typedef struct prem_live_engine {
  /** Make ready for frames; others may then submit some before the start. Both live as long as the
   *  state. NULL: there is nothing to do. */
  prem_status (*open)(void *state, prem_courier *courier, prem_diag *diag);
  /** Make the blocks resident and let the courier begin; on error nothing runs. */
  prem_status (*start)(void *state, prem_courier *courier, const prem_live_request *request,
                       prem_diag *diag);
  /** A filled buffer of an input: hand it on, behind its bytes where they have to go somewhere.
   *  NULL: prem_channel_publish() is all. Before start as well. */
  prem_status (*submit)(void *state, int32_t stream, int32_t slot, const prem_note *note,
                        uint64_t *number, prem_diag *diag);
  int64_t (*now_ns)(const void *state);
  /** Let time pass until a condition is met (true) or an instant has come (false). Before start as
   *  well. */
  bool (*wait)(void *state, bool (*is_met)(void *of), void *of, int64_t until_ns);
  /** The host asks for the end, behind all frames that it has handed on: PREM_COURIER_DRAIN to the
   *  courier's word. NULL: the word is written at once. */
  void (*drain)(void *state);
  /** The host has changed a word that the courier looks at. Since the start. */
  void (*tell)(void *state);
  /** Let all blocks leave at once. */
  void (*abort)(void *state);
  /** Have all blocks left, for whatever reason, and is all shown that will be? */
  bool (*is_over)(const void *state);
  /** And did the machine fail? NULL: it cannot. */
  bool (*has_failed)(const void *state);
  /** See prem_live_compare_clocks(); NULL: its clock is the host's. */
  void (*compare_clocks)(const void *state, prem_live_clocks *out);
  /** Before the start: frames of a stream stay where the blocks have them, which is there. NULL:
   *  that is where the host has them. */
  void (*keep_frames)(void *state, int32_t stream, prem_frame_place *out);
  /** Before the start: blocks fetch the frames of an input from where the host has them. NULL: they
   *  always do. */
  prem_status (*fetch_there)(void *state, int32_t stream, prem_diag *diag);
  /** Before the start: the slots of a stream are going to lie elsewhere, and now lie there. NULL:
   *  wherever they lie, nothing has to be done. Where the second one fails the session cannot be
   *  started any more. */
  void (*leave_memory)(void *state, int32_t stream);
  prem_status (*take_memory)(void *state, int32_t stream, prem_diag *diag);
  /** Blocks take parameters from the courier: prem_courier_params(). */
  bool changes_args;
  /** When the courier was last heard of, on the host's clock; NULL: it cannot be silent. */
  int64_t (*heard_ns)(const void *state);
  /** What came of it, once it is over; the caller's trace is then complete. */
  prem_status (*finish)(void *state, prem_diag *diag);
} prem_live_engine;

struct prem_backend {
  const char *name;
  const char *summary;
  uint32_t modes;        /* bit 1 << prem_mode */
  uint32_t modes_beside; /* in which best-effort tasks run, besides tt and free */
  bool serves;           /* errands: its best-effort tasks may have a `server` */
  bool is_virtual;       /* its times are the plan's: nothing of it can be measured */
  /** Machine facts, or PREM_ERR_UNAVAILABLE with the reason as a note. */
  prem_status (*probe)(prem_machine *out, prem_diag *diag);
  /** See prem_backend_measure(); NULL: nothing takes longer. */
  prem_status (*measure)(prem_machine *machine, prem_diag *diag);
  /** `state` is the backend's own; on error nothing is left behind. */
  prem_status (*open)(const prem_program *program, prem_arrays *arrays, const prem_machine *machine,
                      void **state, prem_diag *diag);
  /** See prem_session_run(). The trace is clear when it comes. */
  prem_status (*run)(void *state, const prem_run_request *request, prem_trace *trace,
                     prem_diag *diag);
  /** Memory of its own: poison and verify there, bring the outputs to the host for saving. NULL:
   *  the backend works on the session's arrays. */
  prem_status (*poison)(void *state);
  prem_status (*verify)(void *state, prem_verdict *out);
  prem_status (*verify_beside)(void *state, prem_verdict *out); /* outputs of best-effort tasks */
  prem_status (*download)(void *state);
  /** See prem_session_launch_search(); NULL: the backend tries nothing. */
  const prem_launch_search *(*launch_search)(const void *state);
  /** See prem_session_mode_note(); NULL: the backend has nothing to say. */
  const char *(*mode_note)(const void *state, prem_mode mode);
  /** See prem_session_attach_graph(); NULL: it runs none. */
  prem_status (*attach_graph)(void *state, void *graph, prem_diag *diag);
  /** See prem_session_follow(); NULL: the backend chooses nothing. */
  void (*follow)(void *state, const void *from);
  /** NULL: the backend has no live sessions. */
  const prem_live_engine *live;
  void (*close)(void *state);
};

extern const prem_backend prem_backend_sim;
extern const prem_backend prem_backend_cpu;
extern const prem_backend prem_backend_cuda; /* in builds with TTPREM_CUDA */
