/* SPDX-License-Identifier: Apache-2.0 */
/* The modes without phases: making them ready, running hyperperiods. See
 * baselines.h. */
#include "runtime/cuda/baselines/baselines.h"
#include "prem/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/baselines/load.h"
#include "runtime/cuda/baselines/load_graph.h"
#include "runtime/cuda/baselines/native_round.h"
#include "runtime/cuda/baselines/partition.h"

#define DEFAULT_TIMEOUT_NS INT64_C(5000000000)

struct prem_baselines {
  prem_native_place place, beside;
  const prem_free_part *part;   /* NULL: no best-effort tasks */
  const prem_baselines *leader; /* NULL: none */
  prem_native
      *of_mode[PREM_MODE_COUNT]; /* NULL: not made; that of legacy serves launched and graphs */
  prem_native *load_of_mode[PREM_MODE_COUNT]; /* the same of best-effort tasks; of tt, in a graph */
  prem_load_graph *load_graph;                /* beside the executive; NULL: not made */
  bool tuned;                                 /* those of legacy */
  cudaGraphExec_t graph[2];                   /* without and with gates of its own */
  int64_t node_count[2];
  bool graph_has_gates; /* gated: which one is launched */
  prem_partition *partition;
  char mode_note[PREM_MODE_COUNT][PREM_MODE_NOTE_BYTES];
};

prem_baselines *prem_baselines_new(const prem_native_place *place, const prem_native_place *beside,
                                   const prem_free_part *part, const prem_baselines *leader) {
  prem_baselines *baselines = calloc(1, sizeof *baselines);
  if (baselines)
    *baselines = (prem_baselines){.place = *place, .part = part, .leader = leader};
  if (baselines && part)
    baselines->beside = *beside;
  return baselines;
}

void prem_baselines_free(prem_baselines *baselines) {
  if (!baselines)
    return;
  for (int has_gates = 0; has_gates < 2; ++has_gates)
    if (baselines->graph[has_gates])
      cudaGraphExecDestroy(baselines->graph[has_gates]);
  prem_load_graph_free(baselines->load_graph);
  for (int mode = 0; mode < PREM_MODE_COUNT; ++mode) {
    prem_native_free(baselines->of_mode[mode]);
    prem_native_free(baselines->load_of_mode[mode]);
  }
  prem_partition_free(baselines->partition);
  free(baselines);
}

const prem_launch_search *prem_baselines_launch_search(const prem_baselines *baselines) {
  return baselines && baselines->tuned
             ? prem_native_launch_search(baselines->of_mode[PREM_MODE_LEGACY])
             : NULL;
}

const char *prem_baselines_mode_note(const prem_baselines *baselines, prem_mode mode) {
  return baselines && baselines->mode_note[mode][0] ? baselines->mode_note[mode] : NULL;
}

bool prem_baselines_are_lost(const prem_baselines *baselines) {
  bool lost = false;
  for (int mode = 0; baselines && mode < PREM_MODE_COUNT; ++mode)
    lost = lost || prem_native_is_lost(baselines->of_mode[mode]) ||
           prem_native_is_lost(baselines->load_of_mode[mode]);
  return lost;
}

static int32_t task_count(const prem_baselines *baselines) {
  return baselines->place.program->schedule->task_count;
}

static char *mode_note_of(prem_baselines *baselines, prem_mode mode) {
  return baselines->mode_note[mode];
}

/* ---- making them ready ----------------------------------------------------------------------- */

/* Of a mode in which the leader has chosen its ways already. */
static const prem_native *leading(const prem_baselines *baselines, prem_mode mode) {
  const prem_baselines *leader = baselines->leader;
  return leader && (mode != PREM_MODE_LEGACY || leader->tuned) ? leader->of_mode[mode] : NULL;
}

/* Tuning leaves right outputs behind: a run has to make its own. What the leader chose stands, and
 * only those whom it does not know need the search. */
static prem_status tune(const prem_baselines *baselines, prem_native *native, prem_mode mode,
                        const prem_run_request *request, prem_diag *diag) {
  const prem_native *leader = leading(baselines, mode);
  if (leader && prem_native_follow(native, leader))
    return PREM_OK;
  prem_status status = prem_native_tune(native, request, diag);
  if (status == PREM_OK && leader)
    prem_native_follow(native, leader);
  if (status == PREM_OK)
    status = prem_native_report(prem_cuda_arrays_poison(native->place.arrays), diag);
  return status;
}

static void drop_native(prem_native **native) {
  if (prem_native_is_lost(*native))
    return;
  prem_native_free(*native);
  *native = NULL;
}

/* What could not be made ready. Of what is lost nothing can be freed. */
static void drop(prem_baselines *baselines, prem_mode mode) {
  drop_native(&baselines->of_mode[mode]);
}

/* Best-effort tasks in a mode.
 * @param streams  taken over; NULL: plain ones */
static prem_status ready_load(prem_baselines *baselines, prem_mode mode,
                              const cudaStream_t *streams, const prem_run_request *request,
                              prem_diag *diag) {
  prem_native **load = &baselines->load_of_mode[mode];
  const prem_native *plain = baselines->load_of_mode[PREM_MODE_LEGACY];
  if (*load)
    return PREM_OK;
  prem_native_place place = baselines->beside;
  if (mode == PREM_MODE_PARTITION)
    place.sm_count = prem_partition_rest(baselines->partition);
  prem_status status = prem_native_new(&place, streams, load, diag);
  if (status == PREM_OK && plain && prem_native_follow(*load, plain))
    return PREM_OK;
  if (status == PREM_OK && !place.attached)
    status = prem_native_tune(*load, request, diag);
  if (status == PREM_OK)
    status = prem_native_report(prem_cuda_arrays_poison(place.arrays), diag);
  if (status != PREM_OK)
    drop_native(load);
  return status;
}

static prem_status ready_native(prem_baselines *baselines, const prem_run_request *request,
                                prem_diag *diag) {
  prem_native **native = &baselines->of_mode[PREM_MODE_LEGACY];
  if (baselines->tuned)
    return PREM_OK;
  prem_status status = *native ? PREM_OK : prem_native_new(&baselines->place, NULL, native, diag);
  if (status == PREM_OK)
    status = tune(baselines, *native, PREM_MODE_LEGACY, request, diag);
  if (status == PREM_OK && baselines->part)
    status = ready_load(baselines, PREM_MODE_LEGACY, NULL, request, diag);
  baselines->tuned = status == PREM_OK;
  return status;
}

static prem_status new_graph(prem_baselines *baselines, bool has_gates, prem_diag *diag) {
  if (baselines->graph[has_gates])
    return PREM_OK;
  return prem_native_graph_new(
      baselines->of_mode[PREM_MODE_LEGACY], has_gates ? PREM_GRAPH_AT_S : PREM_GRAPH_AT_ONCE, NULL,
      &baselines->graph[has_gates], &baselines->node_count[has_gates], diag);
}

static prem_status ready_graph(prem_baselines *baselines, prem_diag *diag) {
  const prem_status status = new_graph(baselines, false, diag);
  if (status == PREM_OK)
    snprintf(mode_note_of(baselines, PREM_MODE_GRAPH), PREM_MODE_NOTE_BYTES,
             "one graph of %lld nodes, one launch a hyperperiod",
             (long long)baselines->node_count[false]);
  return status;
}

/* Which of the two ways to hold a graph back lets it end sooner? What the leader chose stands. */
static prem_status choose_gated_graph(prem_baselines *baselines, const prem_run_request *request,
                                      prem_diag *diag) {
  const prem_baselines *leader = baselines->leader;
  int64_t median_ns[2] = {0};
  prem_status status = PREM_OK;
  if (leader && leader->mode_note[PREM_MODE_GATED_GRAPH][0]) {
    baselines->graph_has_gates = leader->graph_has_gates;
    return new_graph(baselines, leader->graph_has_gates, diag);
  }
  for (int has_gates = 0; has_gates < 2 && status == PREM_OK; ++has_gates) {
    status = new_graph(baselines, has_gates, diag);
    if (status == PREM_OK)
      status =
          prem_native_graph_time(baselines->of_mode[PREM_MODE_LEGACY], baselines->graph[has_gates],
                                 has_gates, request, &median_ns[has_gates], diag);
  }
  baselines->graph_has_gates = median_ns[true] < median_ns[false];
  return status;
}

static prem_status ready_gated_graph(prem_baselines *baselines, const prem_run_request *request,
                                     prem_diag *diag) {
  if (mode_note_of(baselines, PREM_MODE_GATED_GRAPH)[0])
    return PREM_OK;
  prem_status status = choose_gated_graph(baselines, request, diag);
  if (status == PREM_OK)
    status = prem_native_report(prem_cuda_arrays_poison(baselines->place.arrays), diag);
  if (status == PREM_OK)
    snprintf(mode_note_of(baselines, PREM_MODE_GATED_GRAPH), PREM_MODE_NOTE_BYTES,
             "one graph of %lld nodes, launched before S; what waits for S is %s",
             (long long)baselines->node_count[baselines->graph_has_gates],
             baselines->graph_has_gates ? "its first node" : "a kernel before it");
  return status;
}

/* Lower numbers are higher priorities. The lowest is that of best-effort tasks, where there are
 * any.
 */
static cudaError_t make_priorities(cudaStream_t *streams, int32_t count, bool keeps_lowest,
                                   int32_t *level_count) {
  int min = 0, greatest = 0;
  cudaError_t error = cudaDeviceGetStreamPriorityRange(&min, &greatest);
  *level_count = min - greatest + 1 - (keeps_lowest && min > greatest);
  for (int32_t t = 0; t < count && error == cudaSuccess; ++t) {
    const int64_t level = count <= *level_count ? t : (int64_t)t * *level_count / count;
    error = cudaStreamCreateWithPriority(&streams[t], cudaStreamNonBlocking, greatest + (int)level);
  }
  return error;
}

static prem_status new_priority(prem_baselines *baselines, cudaStream_t *streams, int32_t *levels,
                                prem_diag *diag) {
  prem_native **native = &baselines->of_mode[PREM_MODE_PRIORITY];
  const int32_t tasks = task_count(baselines);
  const cudaError_t error = make_priorities(streams, tasks, baselines->part != NULL, levels);
  if (error == cudaSuccess)
    return prem_native_new(&baselines->place, streams, native, diag);
  for (int32_t t = 0; t < tasks; ++t)
    if (streams[t])
      cudaStreamDestroy(streams[t]);
  return prem_native_report(error, diag);
}

static prem_status ready_lowest(prem_baselines *baselines, const prem_run_request *request,
                                prem_diag *diag) {
  const int32_t tasks = baselines->part ? baselines->part->schedule->task_count : 0;
  cudaStream_t *streams = calloc((size_t)tasks + 1, sizeof(cudaStream_t));
  if (!streams)
    return PREM_ERR_MEMORY;
  int min = 0, greatest = 0;
  cudaError_t error = cudaDeviceGetStreamPriorityRange(&min, &greatest);
  for (int32_t t = 0; t < tasks && error == cudaSuccess; ++t)
    error = cudaStreamCreateWithPriority(&streams[t], cudaStreamNonBlocking, min);
  const prem_status status = error != cudaSuccess ? prem_native_report(error, diag)
                             : tasks > 0
                                 ? ready_load(baselines, PREM_MODE_PRIORITY, streams, request, diag)
                                 : PREM_OK;
  for (int32_t t = 0; t < tasks && error != cudaSuccess; ++t)
    if (streams[t])
      cudaStreamDestroy(streams[t]);
  free(streams);
  return status;
}

static prem_status ready_priority(prem_baselines *baselines, const prem_run_request *request,
                                  prem_diag *diag) {
  const int32_t tasks = task_count(baselines);
  int32_t levels = 0;
  if (baselines->of_mode[PREM_MODE_PRIORITY])
    return PREM_OK;
  cudaStream_t *streams = calloc((size_t)tasks + 1, sizeof(cudaStream_t));
  if (!streams)
    return PREM_ERR_MEMORY;
  prem_status status = new_priority(baselines, streams, &levels, diag);
  free(streams);
  if (status == PREM_OK)
    status = ready_lowest(baselines, request, diag);
  if (status != PREM_OK) {
    drop(baselines, PREM_MODE_PRIORITY);
    return status;
  }
  prem_native_take_ways(baselines->of_mode[PREM_MODE_PRIORITY],
                        baselines->of_mode[PREM_MODE_LEGACY]);
  snprintf(mode_note_of(baselines, PREM_MODE_PRIORITY), PREM_MODE_NOTE_BYTES,
           "the file's first task highest, %d of the GPU's %d levels of priority in use%s",
           tasks < levels ? tasks : levels, levels,
           baselines->part ? "; best effort has another one, the lowest" : "");
  return PREM_OK;
}

/* A part of a schedule keeps the shares of the whole, those of who is not there idle. */
static const prem_baselines *parting_leader(const prem_baselines *baselines) {
  const prem_schedule *own = baselines->place.program->schedule;
  if (!leading(baselines, PREM_MODE_PARTITION))
    return NULL;
  for (int32_t t = 0; t < own->task_count; ++t)
    if (prem_schedule_find_task(baselines->leader->place.program->schedule, own->tasks[t].name) < 0)
      return NULL;
  return baselines->leader;
}

/* A stream for each task, on the share that it has in the leader's parting. */
static prem_status part_as(prem_baselines *baselines, const prem_baselines *leader,
                           cudaStream_t *streams, prem_diag *diag) {
  const prem_schedule *own = baselines->place.program->schedule;
  const int32_t shares = task_count(leader);
  cudaStream_t *all = calloc((size_t)shares + 1, sizeof(cudaStream_t));
  if (!all)
    return PREM_ERR_MEMORY;
  const prem_status status =
      prem_partition_new(shares, 0, all, 0, NULL, &baselines->partition, diag);
  for (int32_t t = 0; t < own->task_count && status == PREM_OK; ++t) {
    const int32_t share =
        prem_schedule_find_task(leader->place.program->schedule, own->tasks[t].name);
    streams[t] = all[share];
    all[share] = NULL;
  }
  for (int32_t share = 0; share < shares && status == PREM_OK; ++share)
    if (all[share])
      cudaStreamDestroy(all[share]);
  free(all);
  return status;
}

/* Critical tasks share the SMs that the file grants them, or half of all; the rest is best
 * effort's, whose tasks have one share. */
static prem_status part_in_two(prem_baselines *baselines, cudaStream_t *streams,
                               const prem_run_request *request, prem_diag *diag) {
  const prem_schedule *own = baselines->place.program->schedule;
  const int32_t tasks = baselines->part->schedule->task_count;
  const int64_t given =
      own->measure.partition_sms > 0 ? own->measure.partition_sms : baselines->place.sm_count / 2;
  const int64_t each = given / own->task_count > 0 ? given / own->task_count : 1;
  cudaStream_t *rest = calloc((size_t)tasks + 1, sizeof(cudaStream_t));
  if (!rest)
    return PREM_ERR_MEMORY;
  prem_status status = prem_partition_new(own->task_count, (int32_t)each, streams, tasks, rest,
                                          &baselines->partition, diag);
  if (status == PREM_OK) {
    status = ready_load(baselines, PREM_MODE_PARTITION, rest, request, diag);
    for (int32_t t = 0; t < own->task_count && status != PREM_OK; ++t)
      cudaStreamDestroy(streams[t]);
  }
  free(rest);
  return status;
}

/* What is best on the whole GPU need not be so on a share of it. */
static prem_status new_partition(prem_baselines *baselines, cudaStream_t *streams,
                                 const prem_run_request *request, prem_diag *diag) {
  prem_native **native = &baselines->of_mode[PREM_MODE_PARTITION];
  const prem_baselines *leader = parting_leader(baselines);
  prem_status status = baselines->part ? part_in_two(baselines, streams, request, diag)
                       : leader        ? part_as(baselines, leader, streams, diag)
                                : prem_partition_new(task_count(baselines), 0, streams, 0, NULL,
                                                     &baselines->partition, diag);
  if (status != PREM_OK)
    return status;
  prem_native_place place = baselines->place;
  place.sm_count = prem_partition_share(baselines->partition);
  status = prem_native_new(&place, streams, native, diag);
  if (status == PREM_OK)
    status = tune(baselines, *native, PREM_MODE_PARTITION, request, diag);
  return status;
}

static prem_status ready_partition(prem_baselines *baselines, const prem_run_request *request,
                                   prem_diag *diag) {
  if (baselines->of_mode[PREM_MODE_PARTITION])
    return PREM_OK;
  cudaStream_t *streams = calloc((size_t)task_count(baselines) + 1, sizeof(cudaStream_t));
  if (!streams)
    return PREM_ERR_MEMORY;
  const prem_status status = new_partition(baselines, streams, request, diag);
  free(streams);
  if (status == PREM_OK) {
    snprintf(mode_note_of(baselines, PREM_MODE_PARTITION), PREM_MODE_NOTE_BYTES,
             "%d SMs for each task, %d of %d for %s; ways to launch chosen on these shares",
             prem_partition_share(baselines->partition), prem_partition_rest(baselines->partition),
             baselines->place.sm_count, baselines->part ? "best effort" : "none");
    return PREM_OK;
  }
  drop(baselines, PREM_MODE_PARTITION);
  drop_native(&baselines->load_of_mode[PREM_MODE_PARTITION]); /* its streams are of the shares */
  if (!baselines->of_mode[PREM_MODE_PARTITION] && !baselines->load_of_mode[PREM_MODE_PARTITION]) {
    prem_partition_free(baselines->partition);
    baselines->partition = NULL;
  }
  return status;
}

/* ---- the copy -------------------------------------------------------------------------------- */

static int64_t array_bytes(const prem_device_array *array) {
  return array->shape[0] * array->shape[1] * array->shape[2] * array->shape[3] *
         array->element_bytes;
}

static bool is_named_before(const prem_task *task, int32_t port) {
  for (int32_t other = 0; other < port; ++other)
    if (task->arrays[other] == task->arrays[port])
      return true;
  return false;
}

/* In a hyperperiod: every job moves each of its arrays once. */
static void count_bytes(const prem_baselines *baselines, int64_t *read, int64_t *written) {
  const prem_program *program = baselines->place.program;
  *read = *written = 0;
  for (int32_t t = 0; t < task_count(baselines); ++t) {
    const prem_task *task = &program->schedule->tasks[t];
    for (int32_t port = 0; port < task->definition->port_count; ++port) {
      const int64_t bytes = array_bytes(&baselines->place.arrays->arrays[task->arrays[port]]) *
                            program->tasks[t].jobs;
      if (task->definition->ports[port].access != PREM_IN)
        *written += bytes;
      else if (!is_named_before(task, port))
        *read += bytes;
    }
  }
}

static const char *chosen_way(const prem_native *native) {
  const prem_launch_search *launch_search = prem_native_launch_search(native);
  for (int32_t i = 0; i < launch_search->candidate_count; ++i)
    if (launch_search->candidates[i].chosen)
      return launch_search->candidates[i].way;
  return "?";
}

static prem_status ready_copy(prem_baselines *baselines, const prem_run_request *request,
                              prem_diag *diag) {
  prem_native **copy = &baselines->of_mode[PREM_MODE_COPY];
  int64_t read, written;
  if (*copy)
    return PREM_OK;
  count_bytes(baselines, &read, &written);
  if (read + written == 0) {
    prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "",
                  "cuda: mode copy: the file's tasks move no bytes");
    return PREM_ERR_UNAVAILABLE;
  }
  prem_status status = prem_native_copy_new(&baselines->place, read + written, copy, diag);
  if (status == PREM_OK)
    status = prem_native_tune(*copy, request, diag);
  if (status == PREM_OK)
    snprintf(
        mode_note_of(baselines, PREM_MODE_COPY), PREM_MODE_NOTE_BYTES,
        "%lld bytes, read and written together, by %s; nothing is computed, no output verified",
        (long long)(read + written), chosen_way(*copy));
  else
    drop(baselines, PREM_MODE_COPY);
  return status;
}

static prem_status make_ready(prem_baselines *baselines, const prem_run_request *request,
                              prem_diag *diag) {
  if (request->mode == PREM_MODE_COPY)
    return ready_copy(baselines, request, diag);
  const prem_status status = ready_native(baselines, request, diag);
  if (status != PREM_OK)
    return status;
  switch (request->mode) {
  case PREM_MODE_GRAPH:
    return ready_graph(baselines, diag);
  case PREM_MODE_GATED_GRAPH:
    return ready_gated_graph(baselines, request, diag);
  case PREM_MODE_PRIORITY:
    return ready_priority(baselines, request, diag);
  case PREM_MODE_PARTITION:
    return ready_partition(baselines, request, diag);
  default:
    return PREM_OK;
  }
}

/* ---- running --------------------------------------------------------------------------------- */

static bool is_gated(prem_mode mode) {
  return mode != PREM_MODE_LAUNCHED && mode != PREM_MODE_GRAPH;
}

/* Whose streams and kernels serve a mode. */
static prem_mode mode_of_natives(prem_mode mode) {
  return is_gated(mode) && mode != PREM_MODE_GATED_GRAPH ? mode : PREM_MODE_LEGACY;
}

static cudaGraphExec_t graph_of(const prem_baselines *baselines, prem_mode mode) {
  if (mode != PREM_MODE_GRAPH && mode != PREM_MODE_GATED_GRAPH)
    return NULL;
  return baselines->graph[mode == PREM_MODE_GATED_GRAPH && baselines->graph_has_gates];
}

static int64_t timeout_of(const prem_run_request *request) {
  return request->timeout_ns > 0 ? request->timeout_ns : DEFAULT_TIMEOUT_NS;
}

static void keep_ends(const prem_native *native, const int64_t *ends_ns, int64_t hyperperiod,
                      prem_trace *trace) {
  int64_t *to = trace->job_end_ns + hyperperiod * trace->job_count;
  for (int64_t number = 0; number < native->order.job_count; ++number) {
    const prem_untiled_job *job = &native->order.jobs[number];
    if (ends_ns[number] >= 0)
      to[trace->first_job[job->task] + job->job] = trace->epoch_ns[hyperperiod] + ends_ns[number];
  }
}

/* The copy has no jobs of the file's: all of them end with it. */
static void keep_copy_end(const prem_native *copy, const int64_t *ends_ns, int64_t hyperperiod,
                          prem_trace *trace) {
  const int64_t end_ns = ends_ns[copy->order.job_count - 1];
  int64_t *to = trace->job_end_ns + hyperperiod * trace->job_count;
  for (int64_t job = 0; job < trace->job_count && end_ns >= 0; ++job)
    to[job] = trace->epoch_ns[hyperperiod] + end_ns;
}

/* ---- with best-effort tasks beside ----------------------------------------------------------- */

/* Who is at work beside the rounds of a run. */
typedef struct company {
  prem_native_load *load; /* NULL: nobody */
  int64_t began_ns, passes;
} company;

static prem_status company_begin(const prem_baselines *baselines, const prem_run_request *request,
                                 company *of, prem_diag *diag) {
  prem_native *native = baselines->load_of_mode[mode_of_natives(request->mode)];
  *of = (company){0};
  if (!baselines->part)
    return PREM_OK;
  const prem_status status = prem_native_load_start(native, request->stop, &of->load, diag);
  of->began_ns = prem_host_clock_ns();
  of->passes = status == PREM_OK ? prem_native_load_passes(of->load) : 0;
  return status;
}

/* What the tasks did in passes over all of them, as their tiles would have been counted. */
static prem_status count_passes(const prem_free_part *part, int64_t passes,
                                prem_best_effort_trace *out) {
  const prem_program *program = part->program;
  int64_t *ended = calloc((size_t)program->block_count * PREM_PHASE_COUNT + 1, sizeof *ended);
  if (!ended)
    return PREM_ERR_MEMORY;
  for (int32_t b = 0; b < program->block_count; ++b)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
      ended[b * PREM_PHASE_COUNT + phase] = passes * program->blocks[b].phase_count[phase];
  const int64_t through = prem_free_part_count(part, ended, out->counts);
  free(ended);
  return through < 0 ? PREM_ERR_MEMORY : PREM_OK;
}

/* A pass that was under way at the begin counts, the last ones, which were not over, do not. */
static prem_status company_end(const prem_baselines *baselines, company *of, prem_trace *trace,
                               prem_diag *diag) {
  prem_best_effort_trace *out = trace->best_effort;
  if (!of->load)
    return PREM_OK;
  const int64_t all = prem_native_load_passes(of->load);
  out->length_ns = prem_host_clock_ns() - of->began_ns;
  out->gated = false;
  out->open_share = baselines->part->open_share;
  out->trace->hyperperiods = all;
  const prem_status status = prem_native_load_end(of->load, diag);
  const prem_status counted = count_passes(baselines->part, all - of->passes, out);
  return status == PREM_OK ? counted : status;
}

/* ---- best-effort tasks as a graph beside the executive ----------------------------------------
 */

prem_status prem_baselines_graph_ready(prem_baselines *baselines, const prem_run_request *request,
                                       const prem_device_gated *gated, prem_diag *diag) {
  prem_status status = PREM_OK;
  if (!baselines->load_graph) {
    status = ready_load(baselines, PREM_MODE_TT, NULL, request, diag);
    if (status == PREM_OK)
      status = prem_load_graph_new(baselines->load_of_mode[PREM_MODE_TT], baselines->part, request,
                                   &baselines->load_graph, diag);
    if (status == PREM_OK)
      status = prem_native_report(prem_cuda_arrays_poison(baselines->beside.arrays), diag);
  }
  if (status == PREM_OK && gated->is_gated)
    status = prem_load_graph_judge(baselines->load_graph, baselines->part, diag);
  return status == PREM_OK ? prem_load_graph_prepare(baselines->load_graph, gated, diag) : status;
}

prem_status prem_baselines_graph_begin(prem_baselines *baselines, prem_diag *diag) {
  return prem_load_graph_begin(baselines->load_graph, diag);
}

/* A pass is of all tasks, and the first one stands for it. */
prem_status prem_baselines_graph_end(prem_baselines *baselines, prem_best_effort_trace *out,
                                     prem_diag *diag) {
  const prem_free_part *part = baselines->part;
  prem_native_passes passes;
  prem_status status = prem_load_graph_end(baselines->load_graph, &passes, diag);
  if (status != PREM_OK)
    return status;
  prem_load_graph_describe(baselines->load_graph, mode_note_of(baselines, PREM_MODE_TT),
                           PREM_MODE_NOTE_BYTES);
  memcpy(mode_note_of(baselines, PREM_MODE_FREE), mode_note_of(baselines, PREM_MODE_TT),
         PREM_MODE_NOTE_BYTES);
  out->trace->hyperperiods = passes.ended;
  out->gated = passes.gated.is_gated;
  out->open_share = part->open_share;
  status = count_passes(part, passes.ended, out);
  out->counts[0].waits = (int64_t)passes.held.waits;
  out->counts[0].wait_ns = (int64_t)passes.held.wait_ns;
  out->counts[0].overruns = (int64_t)passes.held.overruns;
  if (passes.held.overruns > 0)
    out->counts[0].longest =
        (prem_gate_overrun){.at_ns = passes.held.at_ns,
                            .by_ns = passes.held.by_ns,
                            .block = -1,
                            .tile = -1,
                            .into = part->closed_for[passes.held.window],
                            .phase = baselines->beside.attached ? PREM_COMPUTE : PREM_WRITEBACK};
  if (status == PREM_OK && passes.gated.is_gated)
    status = prem_load_graph_judge(baselines->load_graph, part, diag);
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/** The rounds of a run. */
typedef struct rounds {
  const prem_run_request *request;
  const company *beside;
  prem_sentinel *sentinel; /* NULL: nobody watches */
  int64_t *ends_ns;        /* room for those of one hyperperiod */
  int64_t *starts_ns;      /* S of each hyperperiod, on the GPU's clock */
  prem_trace *trace;
} rounds;

static prem_status run_rounds(const prem_baselines *baselines, const rounds *of, prem_diag *diag) {
  const prem_run_request *request = of->request;
  const prem_mode mode = request->mode;
  prem_native *native = baselines->of_mode[mode_of_natives(mode)];
  const int64_t called_at_ns = prem_host_clock_ns();
  for (int64_t h = 0; h < request->hyperperiods; ++h) {
    prem_native_round round = {.order = &native->order,
                               .gated = is_gated(mode),
                               .graph = graph_of(baselines, mode),
                               .graph_has_gates = baselines->graph_has_gates,
                               .stop = request->stop,
                               .timeout_ns = timeout_of(request),
                               .ends_ns = of->ends_ns};
    /* A hyperperiod begins no earlier than by the plan. */
    const int64_t from_ns = of->beside->began_ns + h * baselines->place.program->hyperperiod_ns;
    while (of->beside->load && prem_host_clock_ns() < from_ns && !(request->stop && *request->stop))
      ;
    const prem_status status = prem_native_round_run(native, &round, diag);
    if (status != PREM_OK)
      return status;
    prem_sentinel_tell(of->sentinel);
    of->starts_ns[h] = round.start_ns;
    if (mode == PREM_MODE_COPY)
      keep_copy_end(native, of->ends_ns, h, of->trace);
    else
      keep_ends(native, of->ends_ns, h, of->trace);
    of->trace->hyperperiods = h + 1;
    if (h == 0)
      of->trace->launch_ns = round.host_start_ns - called_at_ns;
  }
  return PREM_OK;
}

/* The sentinel's silence is longer than any hyperperiod can take. */
static prem_status run_watched(const prem_baselines *baselines, const rounds *of, prem_diag *diag) {
  const prem_program *program = baselines->place.program;
  const int64_t longest_ns = program->hyperperiod_ns + timeout_of(of->request);
  prem_native *native = baselines->of_mode[mode_of_natives(of->request->mode)];
  cudaError_t error =
      prem_sentinel_launch(of->sentinel, longest_ns + PREM_SENTINEL_SILENCE_NS, NULL, 0);
  if (error != cudaSuccess)
    return prem_native_report(error, diag);
  prem_sentinel_await(of->sentinel);
  const prem_status status = run_rounds(baselines, of, diag);
  error = prem_sentinel_end(of->sentinel, !native->lost);
  native->lost = native->lost || error == cudaErrorNotReady;
  if (error != cudaSuccess || native->lost)
    return status == PREM_OK ? prem_native_report(error, diag) : status;
  prem_sentinel_report(of->sentinel, of->trace, diag);
  for (int64_t h = 0; h < of->trace->hyperperiods; ++h)
    prem_sentinel_judge(of->sentinel, program, h, of->starts_ns[h], of->trace);
  return status;
}

static prem_status run_in_company(const prem_baselines *baselines, rounds *of, prem_diag *diag) {
  company beside;
  of->beside = &beside;
  prem_status status = company_begin(baselines, of->request, &beside, diag);
  if (status == PREM_OK)
    status = of->sentinel ? run_watched(baselines, of, diag) : run_rounds(baselines, of, diag);
  const prem_status ended = company_end(baselines, &beside, of->trace, diag);
  return status == PREM_OK ? ended : status;
}

prem_status prem_baselines_run(prem_baselines *baselines, const prem_run_request *request,
                               prem_sentinel *sentinel, prem_trace *trace, prem_diag *diag) {
  prem_status status = make_ready(baselines, request, diag);
  if (status != PREM_OK)
    return status;
  const prem_native *native = baselines->of_mode[mode_of_natives(request->mode)];
  rounds all = {.request = request,
                .sentinel = request->sentinel ? sentinel : NULL,
                .ends_ns = calloc((size_t)native->order.job_count + 1, sizeof *all.ends_ns),
                .starts_ns = calloc((size_t)request->hyperperiods + 1, sizeof *all.starts_ns),
                .trace = trace};
  prem_trace_begin_periodically(trace, native->place.program->hyperperiod_ns,
                                request->hyperperiods);
  status = all.ends_ns && all.starts_ns ? run_in_company(baselines, &all, diag) : PREM_ERR_MEMORY;
  free(all.ends_ns);
  free(all.starts_ns);
  return status;
}
