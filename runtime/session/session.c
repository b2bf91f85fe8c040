/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: a schedule made ready on a backend. */
#include "runtime/core/backend.h"
#include "runtime/core/best_effort.h"
#include "runtime/core/early_reads.h"
#include "runtime/core/recorder.h"
#include "runtime/session/dispatch.h"
#include "runtime/session/telling.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const prem_backend *const backends[] = {
#ifdef TTPREM_CUDA
    &prem_backend_cuda,
#endif
    &prem_backend_cpu, &prem_backend_sim};

enum { BACKEND_COUNT = sizeof backends / sizeof backends[0] };

struct prem_session {
  const prem_backend *backend;
  const prem_schedule *whole;
  const prem_schedule *schedule; /* what runs by the plan: the whole, or its critical tasks */
  prem_schedule *critical;       /* owned; NULL: it is the whole */
  prem_free_part *beside;        /* the best-effort tasks; NULL: there are none */
  prem_program *program;
  prem_arrays *arrays;
  prem_machine machine;
  void *state;          /* the backend's */
  pid_t process;        /* the one that opened it */
  bool failed;          /* good for closing only */
  bool is_beside_whole; /* the last run has made all outputs of best-effort tasks */
};

/* ---- backends ------------------------------------------------------------------------------- */

const prem_backend *prem_backend_at(int32_t index) {
  return index >= 0 && index < BACKEND_COUNT ? backends[index] : NULL;
}

const prem_backend *prem_backend_find(const char *name) {
  for (int32_t i = 0; i < BACKEND_COUNT; ++i)
    if (strcmp(backends[i]->name, name) == 0)
      return backends[i];
  return NULL;
}

const char *prem_backend_name(const prem_backend *backend) {
  return backend->name;
}

const char *prem_backend_summary(const prem_backend *backend) {
  return backend->summary;
}

bool prem_backend_has_mode(const prem_backend *backend, prem_mode mode) {
  return mode < PREM_MODE_COUNT && (backend->modes >> mode & 1);
}

prem_status prem_backend_probe(const prem_backend *backend, prem_machine *out, prem_diag *diag) {
  *out = (prem_machine){0};
  return backend->probe(out, diag);
}

prem_status prem_backend_measure(const prem_backend *backend, prem_machine *machine,
                                 prem_diag *diag) {
  prem_status status = backend->measure ? backend->measure(machine, diag) : PREM_OK;
  if (status == PREM_OK && !backend->is_virtual)
    status = prem_measure_dispatch(backend, &machine->dispatch_ns, diag);
  if (status == PREM_OK && !backend->is_virtual)
    status = prem_measure_machine_precedence(backend, machine, &machine->precedence_ns, diag);
  return status;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static prem_status refuse(prem_diag *diag, const char *key, const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, key, "%s", reason);
  return PREM_ERR_ARGUMENT;
}

static prem_status split(prem_session *session, prem_diag *diag) {
  prem_status status = PREM_OK;
  const prem_measure *measure = &session->whole->measure;
  if (!prem_schedule_has_best_effort(session->whole))
    return PREM_OK;
  if (measure->load == PREM_LOAD_GRAPH && !session->backend->modes_beside) {
    prem_diag_add(diag, PREM_ERROR, 0, measure->place, "measure.load",
                  "\"graph\" is there on backend 'cuda' alone, not on '%s'; remove it, or "
                  "choose --backend cuda",
                  session->backend->name);
    return PREM_ERR_UNAVAILABLE;
  }
  status = prem_schedule_critical(session->whole, &session->critical, NULL);
  session->schedule = session->critical;
  return status ? status : prem_free_part_new(session->whole, &session->beside, diag);
}

static prem_status open_parts(prem_session *session, prem_diag *diag) {
  prem_status status = prem_backend_probe(session->backend, &session->machine, diag);
  if (!status)
    status = split(session, diag);
  if (!status)
    status = prem_program_new(session->schedule, &session->program, diag);
  if (!status)
    status = prem_arrays_new(session->schedule, &session->arrays, diag);
  if (!status)
    status = prem_arrays_find_early_reads(session->arrays, session->program, diag);
  if (!status) {
    session->program->beside = session->beside;
    status = session->backend->open(session->program, session->arrays, &session->machine,
                                    &session->state, diag);
  }
  return status;
}

prem_status prem_session_open(const prem_backend *backend, const prem_schedule *schedule,
                              prem_session **out, prem_diag *diag) {
  *out = NULL;
  if (!schedule->bound)
    return refuse(diag, schedule->name, "the schedule is not bound to its kernels");
  if (!schedule->plan)
    return refuse(diag, schedule->name, "the schedule has no plan");
  prem_session *session = calloc(1, sizeof *session);
  if (!session)
    return PREM_ERR_MEMORY;
  session->backend = backend;
  session->whole = session->schedule = schedule;
  session->process = getpid();
  prem_status status = open_parts(session, diag);
  if (status) {
    prem_session_close(session);
    return status;
  }
  *out = session;
  return PREM_OK;
}

/* In a process that was forked there are no threads of it, and nothing on a GPU is its own. */
void prem_session_close(prem_session *session) {
  if (!session || session->process != getpid())
    return;
  if (session->state)
    session->backend->close(session->state);
  prem_arrays_free(session->arrays);
  prem_program_free(session->program);
  prem_free_part_free(session->beside);
  prem_schedule_free(session->critical);
  free(session);
}

const prem_schedule *prem_session_critical(const prem_session *session) {
  return session->schedule;
}

const prem_schedule *prem_session_best_effort(const prem_session *session) {
  return session->beside ? session->beside->schedule : NULL;
}

prem_status prem_session_trace_new(const prem_session *session, int64_t hyperperiods,
                                   int64_t max_records, prem_trace **out) {
  prem_status status = prem_trace_new(session->schedule, hyperperiods, max_records, out);
  if (status || !session->beside)
    return status;
  status = prem_best_effort_trace_new(session->beside, max_records, &(*out)->best_effort);
  if (status) {
    prem_trace_free(*out);
    *out = NULL;
  }
  return status;
}

void prem_session_follow(prem_session *session, const prem_session *from) {
  if (session->backend == from->backend && session->backend->follow)
    session->backend->follow(session->state, from->state);
}

const prem_launch_search *prem_session_launch_search(const prem_session *session) {
  return session->backend->launch_search ? session->backend->launch_search(session->state) : NULL;
}

const char *prem_session_mode_note(const prem_session *session, prem_mode mode) {
  return session->backend->mode_note ? session->backend->mode_note(session->state, mode) : NULL;
}

const prem_machine *prem_session_machine(const prem_session *session) {
  return &session->machine;
}

/* ---- running -------------------------------------------------------------------------------- */

prem_status prem_session_poison(prem_session *session) {
  if (session->failed)
    return PREM_ERR_ARGUMENT;
  if (session->backend->poison)
    return session->backend->poison(session->state);
  prem_arrays_poison(session->arrays);
  if (session->beside)
    prem_arrays_poison(session->beside->arrays);
  return PREM_OK;
}

static prem_status judge_request(const prem_session *session, const prem_run_request *request,
                                 const prem_trace *trace, prem_diag *diag) {
  if (session->failed)
    return refuse(diag, "run", "an earlier run failed: close the session and open another");
  if (request->mode >= PREM_MODE_COUNT)
    return refuse(diag, "run", "no such mode");
  if (request->engine >= PREM_ENGINE_COUNT)
    return refuse(diag, "run", "no such engine");
  if (!prem_backend_has_mode(session->backend, request->mode)) {
    prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "", "backend '%s' has no mode '%s'",
                  session->backend->name, prem_mode_name(request->mode));
    return PREM_ERR_UNAVAILABLE;
  }
  if (request->hyperperiods < 1 || request->hyperperiods > trace->hyperperiod_capacity) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "run",
                  "%lld hyperperiods asked for; the trace has room for 1 to %lld",
                  (long long)request->hyperperiods, (long long)trace->hyperperiod_capacity);
    return PREM_ERR_ARGUMENT;
  }
  if (session->beside && !trace->best_effort)
    return refuse(diag, "run",
                  "the trace has no room for best-effort tasks; make it with "
                  "prem_session_trace_new()");
  if (!prem_trace_is_of(trace, session->schedule))
    return refuse(diag, "run", "the trace was made for another schedule");
  return prem_free_part_judge(session->beside, session->backend->modes_beside, request->mode, diag);
}

prem_status prem_session_run(prem_session *session, const prem_run_request *request,
                             prem_trace *trace, prem_diag *diag) {
  prem_trace_clear(trace);
  prem_status status = judge_request(session, request, trace, diag);
  if (status)
    return status;
  prem_arrays_begin_run(session->arrays);
  status = session->backend->run(session->state, request, trace, diag);
  prem_arrays_end_run(session->arrays, trace->hyperperiods);
  session->is_beside_whole = trace->best_effort && trace->best_effort->trace->hyperperiods > 0;
  session->failed = status < 0;
  return status;
}

/* The array of a part's verdict as the whole schedule counts it. */
static void name_array(const prem_session *session, const prem_schedule *part, prem_verdict *out) {
  for (int32_t a = 0; out->array >= 0 && part != session->whole; ++a)
    if (strcmp(session->whole->arrays[a].name, part->arrays[out->array].name) == 0) {
      out->array = a;
      return;
    }
}

static bool writes_arrays(const prem_schedule *schedule) {
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (schedule->arrays[a].writer >= 0)
      return true;
  return false;
}

/* Outputs of best-effort tasks are whole once each of their blocks has been through them. */
static prem_status verify_beside(const prem_session *session, prem_verdict *out) {
  prem_verdict beside = {.array = -1};
  prem_status status = PREM_OK;
  if (!session->beside)
    return PREM_OK;
  if (!session->is_beside_whole) {
    out->partial = writes_arrays(session->beside->schedule);
    return PREM_OK;
  }
  if (session->backend->verify_beside)
    status = session->backend->verify_beside(session->state, &beside);
  else
    prem_arrays_verify(session->beside->arrays, &beside);
  name_array(session, session->beside->schedule, &beside);
  if (out->ok)
    *out = beside;
  else
    out->wrong += beside.wrong;
  return status;
}

prem_status prem_session_verify(prem_session *session, prem_verdict *out) {
  *out = (prem_verdict){.array = -1};
  if (session->failed)
    return PREM_ERR_ARGUMENT;
  prem_status status = prem_arrays_iterate(session->arrays);
  if (status)
    return status;
  if (session->backend->verify)
    status = session->backend->verify(session->state, out);
  else
    prem_arrays_verify(session->arrays, out);
  name_array(session, session->schedule, out);
  return status ? status : verify_beside(session, out);
}

/* What a run made by half is no output. */
static prem_status save_beside(const prem_session *session, prem_diag *diag) {
  if (!session->beside || session->is_beside_whole)
    return session->beside ? prem_arrays_save(session->beside->arrays, diag) : PREM_OK;
  const prem_schedule *schedule = session->beside->schedule;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (schedule->arrays[a].save)
      prem_diag_add(diag, PREM_WARNING, 0, schedule->arrays[a].place, schedule->arrays[a].name,
                    "is not saved: the last run ended before each block of the best-effort tasks "
                    "had done all of its tiles once");
  return PREM_OK;
}

prem_status prem_session_save(prem_session *session, bool anywhere, prem_diag *diag) {
  if (session->failed)
    return PREM_ERR_ARGUMENT;
  prem_status status = prem_schedule_judge_saves(session->whole, anywhere, PREM_ERROR, diag);
  if (status == PREM_OK && session->backend->download)
    status = session->backend->download(session->state);
  if (status == PREM_OK)
    status = prem_arrays_save(session->arrays, diag);
  return status == PREM_OK ? save_beside(session, diag) : status;
}
