/** What a backend is to the runtime. Host arrays, references and the program are the session's. */
#ifndef TTPREM_RUNTIME_CORE_BACKEND_H
#define TTPREM_RUNTIME_CORE_BACKEND_H

#include "runtime/core/arrays.h"
#include "runtime/core/program.h"

struct prem_backend {
  const char *name;
  const char *summary;
  uint32_t modes;  /* bit 1 << prem_mode */
  bool is_virtual; /* its times are the plan's: nothing of it can be measured */
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
  prem_status (*download)(void *state);
  /** See prem_session_tuning(); NULL: the backend tries nothing. */
  const prem_tuning *(*tuning)(const void *state);
  /** See prem_session_setup(); NULL: the backend has nothing to say. */
  const char *(*setup)(const void *state, prem_mode mode);
  /** See prem_session_follow(); NULL: the backend chooses nothing. */
  void (*follow)(void *state, const void *from);
  void (*close)(void *state);
};

extern const prem_backend prem_backend_sim;
extern const prem_backend prem_backend_cpu;
extern const prem_backend prem_backend_cuda; /* in builds with TTPREM_CUDA */

#endif
