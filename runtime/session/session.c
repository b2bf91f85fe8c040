/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: a schedule made ready on a backend. */
#include "prem/base/clock.h"
#include "prem/base/fail.h"
#include "prem/base/numbers.h"
#include "runtime/core/backend.h"
#include "runtime/core/best_effort.h"
#include "runtime/core/early_reads.h"
#include "runtime/core/recorder.h"
#include "runtime/session/dispatch.h"
#include "runtime/session/telling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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
  int32_t *beside_tasks;         /* of the whole schedule each of them */
  prem_program *program;
  prem_arrays *arrays;
  prem_machine machine;
  void *state;            /* the backend's */
  pid_t process;          /* the one that opened it */
  bool failed;            /* good for closing only */
  prem_arrival *arrivals; /* of the run in hand, as the part counts tasks */
  bool is_beside_whole;   /* the last run has made all outputs of best-effort tasks */
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
  return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){0}, key, "%s", reason);
}

/* The part's tasks are in the order of the file. */
static prem_status number_beside(prem_session *session) {
  const prem_schedule *whole = session->whole;
  int32_t count = 0;
  session->beside_tasks = calloc((size_t)whole->task_count, sizeof *session->beside_tasks);
  for (int32_t t = 0; session->beside_tasks && t < whole->task_count; ++t)
    if (whole->tasks[t].best_effort)
      session->beside_tasks[count++] = t;
  return session->beside_tasks ? PREM_OK : PREM_ERR_MEMORY;
}

/* What stands for an application's graph where there is none is its bound, in times of the plan. */
static prem_status judge_graph(const prem_session *session, prem_diag *diag) {
  const prem_task *task = &session->beside->schedule->tasks[0];
  const prem_backend *backend = session->backend;
  if (!prem_task_is_cuda_graph(task) || backend->attach_graph || backend->is_virtual)
    return PREM_OK;
  return prem_fail(
      diag, PREM_ERR_UNAVAILABLE, 0, task->place, prem_key("tasks.%s.kernel", task->name).text,
      "a CUDA graph runs on backend 'cuda', and 'sim' takes its bound for it; '%s' has "
      "neither: choose one of them",
      backend->name);
}

static prem_status split(prem_session *session, prem_diag *diag) {
  prem_status status = PREM_OK;
  const prem_measure *measure = &session->whole->measure;
  if (!prem_schedule_has_best_effort(session->whole))
    return PREM_OK;
  if (measure->load == PREM_LOAD_GRAPH && !session->backend->modes_beside)
    return prem_fail(diag, PREM_ERR_UNAVAILABLE, 0, measure->place, "measure.load",
                     "\"graph\" is there on backend 'cuda' alone, not on '%s'; remove it, or "
                     "choose --backend cuda",
                     session->backend->name);
  status = prem_schedule_critical(session->whole, &session->critical, NULL);
  session->schedule = session->critical;
  if (!status)
    status = number_beside(session);
  if (!status)
    status = prem_free_part_new(session->whole, &session->beside, diag);
  for (int32_t t = 0; !status && t < session->whole->task_count; ++t)
    if (session->whole->tasks[t].server.capacity > 0 && !session->backend->serves) {
      prem_diag_add(diag, PREM_ERROR, 0, session->whole->tasks[t].server.place, "server",
                    "is not there on backend '%s'; choose another one", session->backend->name);
      status = PREM_ERR_UNAVAILABLE;
    }
  return status ? status : judge_graph(session, diag);
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
  free(session->beside_tasks);
  free(session->arrivals);
  prem_schedule_free(session->critical);
  free(session);
}

const prem_schedule *prem_session_schedule(const prem_session *session) {
  return session->whole;
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

prem_status prem_session_attach_graph(prem_session *session, const char *task, void *graph,
                                      prem_diag *diag) {
  const prem_schedule *beside = prem_session_best_effort(session);
  char reason[2 * PREM_NAME_BYTES + 64];
  if (session->failed)
    return refuse(diag, "attach", "an earlier run failed: close the session and open another");
  if (!beside || strcmp(beside->tasks[0].name, task) != 0 ||
      !prem_task_is_cuda_graph(&beside->tasks[0])) {
    snprintf(reason, sizeof reason, "no task '%.*s' has kernel = \"" PREM_CUDA_GRAPH "\"",
             PREM_NAME_BYTES, task);
    return refuse(diag, "attach", reason);
  }
  if (!graph)
    return refuse(diag, "attach", "there is no graph");
  if (session->backend->attach_graph)
    return session->backend->attach_graph(session->state, graph, diag);
  prem_diag_add(diag, PREM_NOTE, 0, beside->tasks[0].place, "",
                "backend '%s' runs no graph, and takes its bound for it", session->backend->name);
  return PREM_ERR_UNAVAILABLE;
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
  if (request->hyperperiods < 1 || request->hyperperiods > trace->hyperperiod_capacity)
    return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){0}, "run",
                     "%lld hyperperiods asked for; the trace has room for 1 to %lld",
                     (long long)request->hyperperiods, (long long)trace->hyperperiod_capacity);
  if (session->beside && !trace->best_effort)
    return refuse(diag, "run",
                  "the trace has no room for best-effort tasks; make it with "
                  "prem_session_trace_new()");
  if (!prem_trace_is_of(trace, session->schedule))
    return refuse(diag, "run", "the trace was made for another schedule");
  return prem_free_part_judge(
      session->beside, session->schedule->task_count > 0 ? session->backend->modes_beside : 0,
      request->mode, diag);
}

/* Of a server, in order, and no more tiles than it may have. */
static prem_status judge_arrival(const prem_session *session, const prem_run_request *request,
                                 int64_t i, prem_diag *diag) {
  const prem_arrival *arrival = &request->arrivals[i];
  const char *reason = NULL;
  const prem_task *task = arrival->task >= 0 && arrival->task < session->whole->task_count
                              ? &session->whole->tasks[arrival->task]
                              : NULL;
  if (!task || task->server.capacity == 0)
    reason = "its task has no server";
  else if (arrival->at_ns < (i > 0 ? arrival[-1].at_ns : 0) || arrival->at_ns > PREM_MAX_NS / 2)
    reason = "it comes before the one before it, or out of time";
  else if (!prem_errand_fits(task, arrival->first_tile, arrival->tile_count))
    reason = "the task has no such tiles, or an errand may have less";
  if (!reason)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){0}, "arrivals", "errand %lld: %s",
                   (long long)i, reason);
}

static int32_t task_beside(const prem_session *session, int32_t task) {
  int32_t t = 0;
  while (session->beside_tasks[t] != task)
    ++t;
  return t;
}

static prem_status number_arrivals(prem_session *session, prem_run_request *own, prem_diag *diag) {
  free(session->arrivals);
  session->arrivals = NULL;
  if (own->arrival_count == 0)
    return PREM_OK;
  for (int64_t i = 0; i < own->arrival_count; ++i) {
    const prem_status status = judge_arrival(session, own, i, diag);
    if (status)
      return status;
  }
  session->arrivals = malloc((size_t)own->arrival_count * sizeof *session->arrivals);
  if (!session->arrivals)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < own->arrival_count; ++i) {
    session->arrivals[i] = own->arrivals[i];
    session->arrivals[i].task = task_beside(session, own->arrivals[i].task);
  }
  own->arrivals = session->arrivals;
  return PREM_OK;
}

prem_status prem_session_run(prem_session *session, const prem_run_request *request,
                             prem_trace *trace, prem_diag *diag) {
  prem_run_request own = *request;
  prem_trace_clear(trace);
  prem_status status = judge_request(session, request, trace, diag);
  if (!status)
    status = number_arrivals(session, &own, diag);
  if (status)
    return status;
  prem_arrays_begin_run(session->arrays);
  status = session->backend->run(session->state, &own, trace, diag);
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

/* Those of errands apart. */
static bool writes_arrays(const prem_schedule *schedule) {
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (schedule->arrays[a].writer >= 0 &&
        schedule->tasks[schedule->arrays[a].writer].server.capacity == 0)
      return true;
  return false;
}

/* Outputs of best-effort tasks are whole once each of their blocks has been through them. */
static prem_status verify_beside(const prem_session *session, prem_verdict *out) {
  prem_verdict beside = {.ok = true, .array = -1};
  prem_status status = PREM_OK;
  if (!session->beside)
    return PREM_OK;
  if (!session->is_beside_whole)
    beside.partial = out->partial = writes_arrays(session->beside->schedule);
  else if (session->backend->verify_beside)
    status = session->backend->verify_beside(session->state, &beside);
  else
    prem_arrays_verify(session->beside->arrays, &beside);
  if (session->beside->errands && !prem_errands_verify(session->beside->errands, &beside))
    beside.partial = out->partial = true;
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

/* ---- errands --------------------------------------------------------------------------------- */

/* What comes from blocks far away comes soon, or not soon. */
enum { COLLECT_NAP_NS = 20000, COLLECT_STARE_NS = 50000 };

static prem_errands *errands_of(const prem_session *session) {
  return session->beside ? session->beside->errands : NULL;
}

static void name_task(const prem_session *session, prem_errand *errand) {
  errand->task = session->beside_tasks[errand->task];
}

/* The errand as the part counts tasks, where its room is in such a state. */
static bool is_in_hand(const prem_session *session, const prem_errand *errand, prem_errand *own) {
  const prem_errands *errands = errands_of(session);
  const prem_schedule *whole = session->whole;
  *own = *errand;
  if (!errands || errand->task < 0 || errand->task >= whole->task_count || errand->room < 0 ||
      errand->room >= whole->tasks[errand->task].server.capacity)
    return false;
  own->task = task_beside(session, errand->task);
  return atomic_load_explicit(&errands->servers[own->task]->rooms[errand->room].state,
                              memory_order_relaxed) == PREM_ROOM_HELD;
}

prem_status prem_errand_acquire(prem_session *session, int32_t task, prem_errand *out) {
  *out = (prem_errand){.room = -1};
  if (task < 0 || task >= session->whole->task_count ||
      session->whole->tasks[task].server.capacity == 0 || !errands_of(session))
    return PREM_ERR_ARGUMENT;
  if (!prem_errands_acquire(errands_of(session), task_beside(session, task), out))
    return PREM_ERR_FULL;
  name_task(session, out);
  return PREM_OK;
}

prem_status prem_errand_port(prem_session *session, const prem_errand *errand, const char *port,
                             prem_errand_view *out) {
  prem_errand own;
  *out = (prem_errand_view){0};
  if (!is_in_hand(session, errand, &own))
    return PREM_ERR_ARGUMENT;
  prem_errands *errands = errands_of(session);
  const prem_errand_server *server = errands->servers[own.task];
  const prem_kernel *kernel = server->task->definition;
  int32_t p = 0;
  while (kernel && p < kernel->port_count && strcmp(kernel->ports[p].name, port) != 0)
    ++p;
  if (!kernel || p == kernel->port_count || !server->has_own[p])
    return PREM_ERR_ARGUMENT;
  const prem_storage storage =
      prem_storage_slot(&session->beside->arrays->storage[server->task->arrays[p]], own.room);
  out->data = storage.base;
  out->pitch_bytes = storage.pitch_bytes;
  out->type = storage.type;
  memcpy(out->shape, storage.shape, sizeof out->shape);
  if (kernel->ports[p].access == PREM_IN)
    atomic_store_explicit(&errands->is_fed, true, memory_order_relaxed);
  return PREM_OK;
}

prem_status prem_errand_send(prem_session *session, prem_errand *errand) {
  prem_errand own;
  if (!is_in_hand(session, errand, &own) ||
      !prem_errand_fits(&session->whole->tasks[errand->task], errand->first_tile,
                        errand->tile_count))
    return PREM_ERR_ARGUMENT;
  const int64_t now_ns =
      session->backend->is_virtual ? 0 : prem_errands_clock_ns(errands_of(session));
  return prem_errands_send(errands_of(session), &own, now_ns) ? PREM_OK : PREM_ERR_FULL;
}

prem_status prem_errand_collect(prem_session *session, int64_t timeout_ns, prem_errand *out) {
  const int64_t asked_ns = prem_host_clock_ns();
  const int64_t until_ns = asked_ns + prem_min_i64(timeout_ns, PREM_MAX_NS - asked_ns);
  *out = (prem_errand){.room = -1};
  while (errands_of(session)) {
    if (prem_errands_collect(errands_of(session), out)) {
      name_task(session, out);
      return PREM_OK;
    }
    const int64_t left_ns = until_ns - prem_host_clock_ns();
    const struct timespec nap = {.tv_nsec = (long)prem_min_i64(left_ns, COLLECT_NAP_NS)};
    if (left_ns <= 0)
      return PREM_ERR_TIMEOUT;
    if (errands_of(session)->far.of && prem_host_clock_ns() - asked_ns < COLLECT_STARE_NS)
      continue;
    nanosleep(&nap, NULL);
  }
  return PREM_ERR_ARGUMENT;
}

prem_status prem_errand_release(prem_session *session, const prem_errand *errand) {
  prem_errand own;
  if (!is_in_hand(session, errand, &own))
    return PREM_ERR_ARGUMENT;
  prem_errands_release(errands_of(session), &own);
  return PREM_OK;
}
