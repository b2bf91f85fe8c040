/* SPDX-License-Identifier: Apache-2.0 */
/* What the executive and the courier of a live session read in device memory. */
#include "runtime/cuda/host/live.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/host/asks.h"

cudaError_t prem_cuda_live_keep(prem_cuda_live *live, void **out, const void *from, size_t bytes) {
  const size_t room = bytes ? bytes : 16;
  *out = NULL;
  void **place = prem_list_add(&live->allocations);
  if (!place)
    return cudaErrorMemoryAllocation;
  *place = NULL;
  const cudaError_t error = cudaMalloc(out, room);
  if (error != cudaSuccess)
    return error;
  *place = *out;
  return from && bytes ? cudaMemcpy(*out, from, bytes, cudaMemcpyHostToDevice)
                       : cudaMemset(*out, 0, room);
}

/* ---- the courier's image --------------------------------------------------------------------- */

/* All that is the courier's own, in one piece, which it takes to its scratchpad. Pointers into it
 * are distances from its begin until then. */
typedef struct image {
  unsigned char *bytes;
  size_t used, room;
  uint32_t *pointers; /* where they are */
  size_t pointer_count, pointer_room;
  bool has_failed; /* out of memory */
} image;

static bool grow(void **array, size_t *room, size_t needed, size_t bytes) {
  size_t wider = *room ? *room : 256;
  while (wider < needed)
    wider *= 2;
  void *grown = wider == *room ? *array : realloc(*array, wider * bytes);
  if (!grown)
    return false;
  *array = grown;
  *room = wider;
  return true;
}

/* @return where it lies. */
static size_t put(image *to, const void *from, size_t bytes) {
  const size_t at = (to->used + 15) / 16 * 16;
  if (to->has_failed || !grow((void **)&to->bytes, &to->room, at + bytes, 1)) {
    to->has_failed = true;
    return 0;
  }
  memset(to->bytes + to->used, 0, at - to->used);
  memcpy(to->bytes + at, from, bytes);
  to->used = at + bytes;
  return at;
}

/* The pointer at `field` leads to `at`. */
static void point(image *to, size_t field, size_t at) {
  if (to->has_failed || !grow((void **)&to->pointers, &to->pointer_room, to->pointer_count + 1,
                              sizeof *to->pointers)) {
    to->has_failed = true;
    return;
  }
  const uint64_t distance = at;
  memcpy(to->bytes + field, &distance, sizeof distance);
  to->pointers[to->pointer_count++] = (uint32_t)field;
}

#define FIELD(at, type, member) ((at) + offsetof(type, member))

static void put_users(image *to, size_t stream, const prem_stream *from) {
  if (from->user_count == 0)
    return;
  const size_t users = put(to, from->users, (size_t)from->user_count * sizeof *from->users);
  point(to, FIELD(stream, prem_stream, users), users);
  for (int32_t u = 0; u < from->user_count; ++u)
    point(to, FIELD(users + (size_t)u * sizeof *from->users, prem_source_user, done_by),
          put(to, from->users[u].done_by, (size_t)from->jobs * sizeof(int32_t)));
}

static void put_stream(image *to, size_t at, const prem_stream *from, int32_t plan_count) {
  point(to, FIELD(at, prem_stream, decisions),
        put(to, from->decisions, (size_t)(from->ring_mask + 1) * sizeof *from->decisions));
  if (from->due_ns)
    point(to, FIELD(at, prem_stream, due_ns),
          put(to, from->due_ns, (size_t)(from->jobs * plan_count) * sizeof *from->due_ns));
  put_users(to, at, from);
}

/* Its tickets lie in device memory. */
static void put_omissions(image *to, size_t task, const prem_omissions *from) {
  const size_t at = put(to, from, sizeof *from);
  point(to, FIELD(task, prem_live_task, left_out), at);
  if (from->maker_count > 0)
    point(to, FIELD(at, prem_omissions, makers),
          put(to, from->makers, (size_t)from->maker_count * sizeof *from->makers));
  if (from->dependent_count > 0)
    point(to, FIELD(at, prem_omissions, dependents),
          put(to, from->dependents, (size_t)from->dependent_count * sizeof *from->dependents));
}

static void put_task(image *to, size_t at, const prem_live_task *from) {
  if (from->left_out)
    put_omissions(to, at, from->left_out);
  if (from->gate_count == 0)
    return;
  const size_t gates = put(to, from->gates, (size_t)from->gate_count * sizeof *from->gates);
  point(to, FIELD(at, prem_live_task, gates), gates);
  for (int32_t g = 0; g < from->gate_count; ++g)
    point(to, FIELD(gates + (size_t)g * sizeof *from->gates, prem_gate, job_of),
          put(to, from->gates[g].job_of, (size_t)from->jobs * sizeof(int32_t)));
}

/* `courier` and its streams have their other pointers for the GPU already. */
static void put_courier(image *to, const prem_courier *courier) {
  const size_t tasks_bytes = (size_t)courier->task_count * sizeof *courier->tasks;
  const size_t over_bytes = (size_t)courier->task_count * sizeof *courier->over;
  const size_t at = put(to, courier, sizeof *courier);
  const size_t streams =
      put(to, courier->streams, (size_t)courier->stream_count * sizeof *courier->streams);
  const size_t tasks = put(to, courier->tasks, tasks_bytes);
  point(to, FIELD(at, prem_courier, streams), streams);
  point(to, FIELD(at, prem_courier, tasks), tasks);
  point(to, FIELD(at, prem_courier, epoch_ns),
        put(to, courier->epoch_ns, (size_t)courier->rows * sizeof *courier->epoch_ns));
  point(to, FIELD(at, prem_courier, mode_of),
        put(to, courier->mode_of, (size_t)courier->rows * sizeof *courier->mode_of));
  point(to, FIELD(at, prem_courier, snapshot_of),
        put(to, courier->snapshot_of, (size_t)courier->rows * sizeof *courier->snapshot_of));
  point(to, FIELD(at, prem_courier, over), put(to, courier->over, over_bytes));
  point(to, FIELD(at, prem_courier, over_now), put(to, courier->over, over_bytes));
  if (courier->version_count > 0)
    point(to, FIELD(at, prem_courier, versions),
          put(to, courier->versions, (size_t)courier->version_count * sizeof *courier->versions));
  for (int32_t s = 0; s < courier->stream_count; ++s)
    put_stream(to, streams + (size_t)s * sizeof *courier->streams, &courier->streams[s],
               courier->plan_count);
  for (int32_t t = 0; t < courier->task_count; ++t)
    put_task(to, tasks + (size_t)t * sizeof *courier->tasks, &courier->tasks[t]);
}

/* A stream with what lies elsewhere as the GPU sees it. */
static cudaError_t device_stream(prem_cuda_live *live, int32_t s, prem_stream *to) {
  const prem_stream *from = &live->courier->streams[s];
  cudaError_t error = cudaSuccess;
  *to = *from;
  to->face = &live->face_there->streams[s];
  to->producer.channel = to->consumer.channel = &to->face->channel;
  if (live->relays[s].face) {
    prem_stream_face *there = NULL;
    CUDA_TRY(cudaHostGetDevicePointer((void **)&there, live->relays[s].face, 0));
    to->producer.channel = &there->channel;
  }
  CUDA_TRY(prem_cuda_live_keep(live, (void **)&to->tickets, NULL,
                               (size_t)(from->ring_mask + 1) * sizeof *to->tickets));
fail:
  return error;
}

/* Tasks, whose own tickets blocks look at as well. */
static cudaError_t device_tasks(prem_cuda_live *live, prem_live_task *to,
                                prem_omissions *left_out) {
  cudaError_t error = cudaSuccess;
  for (int32_t t = 0; t < live->courier->task_count && error == cudaSuccess; ++t) {
    to[t] = live->courier->tasks[t];
    if (!to[t].left_out)
      continue;
    left_out[t] = *to[t].left_out;
    to[t].left_out = &left_out[t];
    error = prem_cuda_live_keep(live, (void **)&left_out[t].tickets, NULL,
                                (size_t)(left_out[t].ring_mask + 1) * sizeof *left_out[t].tickets);
  }
  return error;
}

/* State arrays, whose tickets blocks look at. */
static cudaError_t device_versions(prem_cuda_live *live, prem_live_versions *to) {
  const prem_courier *from = live->courier;
  cudaError_t error = cudaSuccess;
  for (int32_t i = 0; i < from->version_count && error == cudaSuccess; ++i) {
    to[i] = from->versions[i];
    if (to[i].slots > 1)
      error = prem_cuda_live_keep(live, (void **)&to[i].tickets, NULL,
                                  (size_t)(to[i].ring_mask + 1) * sizeof *to[i].tickets);
  }
  return error;
}

static cudaError_t device_rows(prem_cuda_live *live, prem_courier *to) {
  const prem_courier *from = live->courier;
  const size_t rows = (size_t)from->rows, kept = (size_t)from->kept_rows;
  prem_courier_near near = {0};
  atomic_init(&near.last.value, UINT64_MAX);
  cudaError_t error;
  CUDA_TRY(prem_cuda_live_keep(live, (void **)&to->near, &near, sizeof near));
  CUDA_TRY(prem_cuda_live_keep(live, (void **)&to->begins, NULL, rows * sizeof *to->begins));
  if (from->kept_mode_of)
    CUDA_TRY(prem_cuda_live_keep(live, (void **)&to->kept_mode_of, NULL, kept));
  CUDA_TRY(prem_cuda_live_keep(live, (void **)&to->kept_epoch_ns, NULL, kept * sizeof(int64_t)));
  CUDA_TRY(prem_cuda_live_keep(live, (void **)&to->kept_end_ns, NULL,
                               kept * (size_t)from->job_count * sizeof(int64_t)));
  to->job_end_ns = (int64_t *)live->cuda->ends_room;
  live->kept_epoch_ns = to->kept_epoch_ns;
  live->kept_end_ns = to->kept_end_ns;
  live->kept_mode_of = to->kept_mode_of;
fail:
  return error;
}

/* ---- gates ----------------------------------------------------------------------------------- */

static prem_device_gate device_gate(const prem_cuda_live *live, const prem_courier *courier,
                                    int32_t s, int32_t port, const int32_t *job_of, int32_t jobs) {
  const prem_stream *stream = &courier->streams[s];
  const prem_device_array *array = &live->cuda->arrays.arrays[stream->port.array];
  prem_device_gate gate = {.tickets = (const uint64_t *)stream->tickets,
                           .ring_mask = stream->ring_mask,
                           .slot_bytes = array->slot_bytes,
                           .slot_planes = (int32_t)(array->slot_bytes / array->pitch_bytes[0]),
                           .stream_jobs = stream->jobs,
                           .port = (int16_t)port,
                           .stream = (int16_t)(stream->jobs == 1 ? s : -1)};
  if (array->slot_offsets) {
    gate.slot_offsets = array->slot_offsets;
    gate.slot_planes = -1;
  }
  for (int32_t j = 0; j < jobs && j < PREM_DEVICE_NEAR_JOBS; ++j)
    gate.first_jobs_of[j] = job_of[j];
  return gate;
}

/* Its own, where its jobs can be left out. */
static prem_device_gate own_gate(const prem_live_task *task, const int32_t *job_of) {
  prem_device_gate gate = {.tickets = (const uint64_t *)task->left_out->tickets,
                           .ring_mask = task->left_out->ring_mask,
                           .stream_jobs = task->jobs,
                           .port = -1,
                           .stream = -1};
  for (int32_t j = 0; j < task->jobs && j < PREM_DEVICE_NEAR_JOBS; ++j)
    gate.first_jobs_of[j] = job_of[j];
  return gate;
}

/* Of many jobs the rest is in device memory. */
static cudaError_t keep_jobs(prem_cuda_live *live, const int32_t *job_of, int32_t jobs,
                             prem_device_gate *gates, int32_t count) {
  int32_t *there = NULL;
  if (jobs <= PREM_DEVICE_NEAR_JOBS)
    return cudaSuccess;
  const cudaError_t error =
      prem_cuda_live_keep(live, (void **)&there, job_of, (size_t)jobs * sizeof *job_of);
  for (int32_t g = 0; g < count; ++g)
    gates[g].job_of = there;
  return error;
}

/* Of the version of a state array that a port reads or writes. */
static cudaError_t version_gate(prem_cuda_live *live, const prem_courier *courier,
                                const prem_version_use *use, int32_t jobs, prem_device_gate *gate) {
  const prem_versioned *array = &live->cuda->program->versions.arrays[use->of];
  const prem_live_versions *of = &courier->versions[use->of];
  const prem_device_array *there = &live->cuda->arrays.arrays[array->array];
  int32_t *job_of = calloc((size_t)jobs, sizeof *job_of);
  if (!job_of)
    return cudaErrorMemoryAllocation;
  for (int32_t j = 0; j < jobs; ++j) /* of the writer: that finds, or makes, it */
    job_of[j] = use->version[j] - use->writes;
  *gate =
      (prem_device_gate){.tickets = (const uint64_t *)of->tickets,
                         .ring_mask = of->ring_mask,
                         .slot_bytes = there->slot_bytes,
                         .slot_planes = (int32_t)(there->slot_bytes / there->pitch_bytes[0]),
                         .stream_jobs = array->jobs,
                         .port = (int16_t)use->port,
                         .stream = -1,
                         .kind = use->writes ? PREM_DEVICE_GATE_WRITES : PREM_DEVICE_GATE_READS};
  for (int32_t j = 0; j < jobs && j < PREM_DEVICE_NEAR_JOBS; ++j)
    gate->first_jobs_of[j] = job_of[j];
  const cudaError_t error = keep_jobs(live, job_of, jobs, gate, 1);
  free(job_of);
  return error;
}

static cudaError_t version_gates(prem_cuda_live *live, const prem_courier *courier, int32_t t,
                                 bool writes, prem_device_gate *gates, int32_t *count) {
  const prem_version_use *const *uses = live->cuda->program->tasks[t].versions;
  cudaError_t error = cudaSuccess;
  for (int32_t p = 0; uses && p < PREM_MAX_PORTS && error == cudaSuccess; ++p)
    if (uses[p] && uses[p]->writes == writes && courier->versions[uses[p]->of].slots > 1)
      error = version_gate(live, courier, uses[p], courier->tasks[t].jobs, &gates[(*count)++]);
  return error;
}

/* A gate for each port that reads a stream, then for what the task depends on through others. */
static cudaError_t source_gates(prem_cuda_live *live, const prem_courier *courier, int32_t t,
                                prem_device_gate *gates, prem_device_live_task *out) {
  const prem_live_task *task = &courier->tasks[t];
  cudaError_t error = cudaSuccess;
  for (int32_t g = 0; g < task->gate_count && error == cudaSuccess; ++g) {
    const prem_gate *gate = &task->gates[g];
    const int32_t first = out->sources;
    for (int32_t p = 0; gate->reads && p < PREM_MAX_PORTS; ++p)
      if (task->stream_of_port[p] == gate->source)
        gates[out->sources++] =
            device_gate(live, courier, gate->source, p, gate->job_of, task->jobs);
    if (!gate->reads)
      gates[out->sources++] =
          device_gate(live, courier, gate->source, -1, gate->job_of, task->jobs);
    error = keep_jobs(live, gate->job_of, task->jobs, &gates[first], out->sources - first);
  }
  return error;
}

/* Of streams and tickets that have a job for each of the task's: its own, then of what it writes.
 */
static cudaError_t like_gates(prem_cuda_live *live, const prem_courier *courier, int32_t t,
                              prem_device_gate *gates, prem_device_live_task *out) {
  const prem_live_task *task = &courier->tasks[t];
  const int32_t first = out->sources;
  int32_t *job_of = calloc((size_t)task->jobs, sizeof *job_of);
  if (!job_of)
    return cudaErrorMemoryAllocation;
  for (int32_t j = 0; j < task->jobs; ++j)
    job_of[j] = j;
  if (task->left_out)
    gates[out->sources++] = own_gate(task, job_of);
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p)
    if (task->stream_of_port[p] >= courier->source_count)
      gates[out->sources + out->sinks++] =
          device_gate(live, courier, task->stream_of_port[p], p, job_of, task->jobs);
  const cudaError_t error =
      keep_jobs(live, job_of, task->jobs, &gates[first], out->sources - first + out->sinks);
  free(job_of);
  return error;
}

/* The courier's streams are as the GPU sees them. */
static cudaError_t gates_new(prem_cuda_live *live, const prem_courier *courier) {
  const prem_schedule *schedule = live->cuda->program->schedule;
  const size_t tasks = (size_t)courier->task_count;
  size_t most = 1;
  for (size_t t = 0; t < tasks; ++t)
    most += (size_t)courier->tasks[t].gate_count + 3 * PREM_MAX_PORTS + 1;
  prem_device_gate *gates = calloc(most, sizeof *gates);
  prem_device_live_task *out = calloc(tasks, sizeof *out);
  cudaError_t error = gates && out ? cudaSuccess : cudaErrorMemoryAllocation;
  int32_t count = 0;
  for (size_t t = 0; t < tasks && error == cudaSuccess; ++t) {
    out[t].first_gate = count;
    out[t].in_compute = schedule->tasks[t].definition->compatible ||
                        !schedule->tasks[t].phase[PREM_PREFETCH].exists;
    error = source_gates(live, courier, (int32_t)t, gates + count, &out[t]);
    if (error == cudaSuccess)
      error = version_gates(live, courier, (int32_t)t, false, gates + count, &out[t].sources);
    if (error == cudaSuccess)
      error = like_gates(live, courier, (int32_t)t, gates + count, &out[t]);
    if (error == cudaSuccess)
      error = version_gates(live, courier, (int32_t)t, true, gates + count + out[t].sources,
                            &out[t].sinks);
    count += out[t].sources + out[t].sinks;
  }
  if (error == cudaSuccess)
    error = prem_cuda_live_keep(live, (void **)&live->tables.gates, gates,
                                (size_t)count * sizeof *gates);
  if (error == cudaSuccess)
    error = prem_cuda_live_keep(live, (void **)&live->tables.tasks, out, tasks * sizeof *out);
  free(gates);
  free(out);
  return error;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool put_leaders(prem_cuda_live *live, image *to) {
  const size_t bytes = (size_t)live->courier->task_count * sizeof(prem_device_leader);
  prem_device_leader *leaders = calloc(1, bytes);
  const bool is_made =
      leaders &&
      prem_asks_leaders(live->cuda->program, live->cuda->device.launch.ends, leaders) == PREM_OK;
  if (is_made)
    live->launch.leaders_at = (int32_t)put(to, leaders, bytes);
  free(leaders);
  return is_made;
}

static cudaError_t put_carries(prem_cuda_live *live, image *to) {
  const size_t bytes = (size_t)live->courier->stream_count * sizeof(prem_device_carry);
  prem_device_carry *carries = calloc(1, bytes);
  if (!carries)
    return cudaErrorMemoryAllocation;
  const cudaError_t error = prem_cuda_live_carries(live, carries);
  live->launch.carries_at = (int32_t)put(to, carries, bytes);
  free(carries);
  return error;
}

static cudaError_t image_new(prem_cuda_live *live, const prem_courier *courier) {
  image made = {0};
  put_courier(&made, courier);
  cudaError_t error =
      put_leaders(live, &made) ? put_carries(live, &made) : cudaErrorMemoryAllocation;
  if (error == cudaSuccess && made.has_failed)
    error = cudaErrorMemoryAllocation;
  if (error != cudaSuccess)
    goto fail;
  live->launch.image_bytes = (int32_t)((made.used + 15) / 16 * 16);
  live->launch.pointer_count = (int32_t)made.pointer_count;
  if (!grow((void **)&made.bytes, &made.room, made.used + 16, 1)) {
    error = cudaErrorMemoryAllocation;
    goto fail;
  }
  CUDA_TRY(prem_cuda_live_keep(live, (void **)&live->launch.image, made.bytes,
                               (size_t)live->launch.image_bytes));
  CUDA_TRY(prem_cuda_live_keep(live, (void **)&live->launch.pointers, made.pointers,
                               made.pointer_count * sizeof *made.pointers));
fail:
  free(made.bytes);
  free(made.pointers);
  return error;
}

static cudaError_t tables_new(prem_cuda_live *live, prem_courier *courier) {
  cudaError_t error;
  courier->face = live->face_there;
  courier->task_faces = (prem_task_face *)(live->face_there + 1);
  courier->program = NULL;
  courier->trace = courier->whole = NULL;
  courier->jobs_over = NULL;
  courier->backend = NULL;
  courier->params = NULL;
  CUDA_TRY(device_rows(live, courier));
  for (int32_t s = 0; s < courier->stream_count; ++s)
    CUDA_TRY(device_stream(live, s, &courier->streams[s]));
  CUDA_TRY(gates_new(live, courier));
  CUDA_TRY(image_new(live, courier));
  CUDA_TRY(prem_cuda_live_keep(live, (void **)&live->launch.beat, NULL, sizeof(uint64_t)));
  live->tables.last = (const uint64_t *)&courier->near->last.value;
  live->tables.beat = live->launch.beat;
  live->tables.begins = courier->begins;
  live->tables.asks_of_plan = live->cuda->device.asks_of_plan;
  CUDA_TRY(cudaHostGetDevicePointer((void **)&live->tables.params, live->params, 0));
  live->tables.rows = courier->rows;
  live->tables.tasks_at = live->cuda->device.live_tasks_at;
  live->tables.gates_at = live->cuda->device.live_gates_at;
  CUDA_TRY(prem_cuda_live_keep(live, (void **)&live->tables.folds, NULL,
                               (size_t)live->cuda->device.cell_count * sizeof *live->tables.folds));
  live->tables.fold_at = courier->fold_at;
fail:
  return error;
}

cudaError_t prem_cuda_live_tables_new(prem_cuda_live *live) {
  prem_courier courier = *live->courier;
  prem_omissions *left_out = calloc((size_t)courier.task_count, sizeof *left_out);
  courier.versions = calloc((size_t)courier.version_count + 1, sizeof *courier.versions);
  courier.streams = calloc((size_t)courier.stream_count, sizeof *courier.streams);
  courier.tasks = calloc((size_t)courier.task_count, sizeof *courier.tasks);
  cudaError_t error = cudaErrorMemoryAllocation;
  if (left_out && courier.streams && courier.tasks && courier.versions)
    error = device_tasks(live, courier.tasks, left_out);
  if (error == cudaSuccess)
    error = device_versions(live, courier.versions);
  if (error == cudaSuccess)
    error = tables_new(live, &courier);
  free(left_out);
  free(courier.versions);
  free(courier.streams);
  free(courier.tasks);
  return error;
}
