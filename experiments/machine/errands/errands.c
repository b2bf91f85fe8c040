/* SPDX-License-Identifier: Apache-2.0 */
/* Errands: how soon a server has done one, how many tiles it gets through, and what a critical task
 * notices of it. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiments/common/probe.h"
#include "experiments/common/scenario.h"
#include "experiments/machine/errands/launches.h"
#include "prem/base/numbers.h"
#include "ttprem/errand.h"
#include "ttprem/measure.h"

enum {
  STORM_THREADS = 4,
  TEXT_BYTES = 8192,
  SERVER_SMS = 8,
  HYPERPERIODS = 100000, /* of a run that ends before that */
  DISCARD = 10           /* of a part of `storm`, the first ones */
};

/** How often, and how long at most. */
typedef struct errands_amount {
  int64_t errands, jobs; /* of latency and bounds; of the critical task in a row of `storm`, */
  int64_t parts;         /* of which each is made */
  double seconds, limit; /* of a row of `rates`; of any other run, at most */
  int32_t tiles;         /* of an errand of `rates` */
  int32_t slower;        /* periods are so many times as long */
} errands_amount;

/** A filter once in a period, and what runs beside it. Times in ns. */
typedef struct errands_case {
  const char *name;
  int32_t blocks, filter_blocks; /* all; the filter's, the first ones; 0: there is no filter */
  char server_blocks[64];
  int32_t tile, tiles, threads;
  int32_t capacity; /* 0: a load */
  int32_t beside;   /* tasks: 0, 1; 2: the input is nobody's own, and lies in the GPU's memory */
  int64_t period, filter_copy, filter_compute, copy, compute, take, distance;
  int64_t errands_kept; /* in the trace */
} errands_case;

/** How a server's errands ended, in all runs of a case. */
typedef struct errands_ends {
  prem_best_effort_counts counts;
  bool serves, is_compared, is_wrong; /* is there a server? the outputs */
} errands_ends;

/** A row of `storm`, made in parts. */
typedef struct errands_storm {
  errands_case of;
  int threads; /* that send */
  int64_t *ns, count;
  prem_phase_stats stats; /* of the filter's phases */
  errands_ends ends;
} errands_storm;

typedef struct errands_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  bool gpu;
  int32_t cores;
  errands_amount amount;
  prem_table *latency, *bounds, *rates, *storm, *ends;
  int64_t done, all, server_ns, launch_ns, alone_ns, storm_ns; /* runs; medians; longest */
  int64_t bounded, above; /* errands of `bounds`; those that took longer than that */
} errands_study;

/** A session whose schedule another thread runs. */
typedef struct errands_run {
  errands_study *study;
  prem_schedule *schedule;
  int32_t server; /* the task; -1: there is none */
  prem_session *session;
  prem_trace *trace;
  prem_run_request request;
  volatile sig_atomic_t stop;
  _Atomic bool is_over;
  prem_status status;
  pthread_t thread;
  int64_t end_ns; /* then it is stopped */
  int64_t wrong;  /* outputs that the application found wrong */
} errands_run;

/* ---- schedules ------------------------------------------------------------------------------- */

static int write_platform(const errands_study *study, const errands_case *of, char *text,
                          size_t bytes) {
  char gpu[256] = "guard_ns = 5000L; late_ns = 5000L;";
  if (study->gpu)
    snprintf(gpu, sizeof gpu,
             "sms = %d; clock_step_ns = %" PRId64 "L; block_threads = 320; guard_ns = 64L; "
             "late_ns = 64L; scratch_bytes = 98304L;",
             of->blocks < study->cores ? of->blocks : study->cores,
             prem_max_i64(study->context->machine->clock_step_ns, 1));
  return snprintf(text, bytes,
                  "version = 1; name = \"%s\"; platform: { blocks = %d; %s"
                  " resources = ( { name = \"memory\"; capacity = %d; } );",
                  of->name, of->blocks, gpu, prem_max_i32(of->filter_blocks, 1));
}

static int write_server(const errands_case *of, int32_t number, char *text, size_t bytes) {
  char server[128] = "", distance[80] = "";
  if (of->distance > 0)
    snprintf(distance, sizeof distance, " distance_ns = %" PRId64 "L; take_ns = %" PRId64 "L;",
             of->distance, of->take);
  if (of->capacity > 0)
    snprintf(server, sizeof server, " server: { capacity = %d;%s };",
             number == 0 ? of->capacity : 1, distance);
  return snprintf(text, bytes,
                  "%s { name = \"s%d\"; kernel = \"vector_increment\"; class = \"best_effort\";"
                  " blocks = \"%s\"; tile = [ %d ]; args: { increment = 1.0; };"
                  " arrays: { in = \"a\"; out = \"new\"; };%s prefetch: { wcet_ns = %" PRId64
                  "L; }; compute: { wcet_ns = %" PRId64 "L; }; writeback: { wcet_ns = %" PRId64
                  "L; }; }",
                  number > 0 || of->filter_blocks > 0 ? "," : "", number, of->server_blocks,
                  of->tile, server, of->copy, of->compute, of->copy);
}

static int write_filter(const errands_study *study, const errands_case *of, char *text,
                        size_t bytes) {
  return snprintf(text, bytes,
                  "{ name = \"filter\"; kernel = \"conv2d\"; blocks = \"0-%d\"; tile = [ 32, 64 ];"
                  " arrays: { in = \"image\"; out = \"new\"; }; period_ns = %" PRId64
                  "L; prefetch: { wcet_ns = %" PRId64 "L; }; compute: { wcet_ns = %" PRId64
                  "L; }; writeback: { wcet_ns = %" PRId64 "L; }; }",
                  of->filter_blocks - 1, of->period * study->amount.slower, of->filter_copy,
                  of->filter_compute, of->filter_copy);
}

static void write_schedule(const errands_study *study, const errands_case *of, char *text) {
  char image[160] = "", vector[160] = "", beside[96] = "", *end = text + TEXT_BYTES;
  if (of->filter_blocks > 0)
    snprintf(
        image, sizeof image,
        "{ name = \"image\"; type = \"f32\"; shape = [ %d, 64 ]; fill = \"random\"; seed = 7; }",
        32 * of->filter_blocks);
  if (of->beside > 0)
    snprintf(vector, sizeof vector,
             "%s { name = \"a\"; type = \"f32\"; shape = [ %d ]; fill = \"random\"; seed = 8; }",
             of->filter_blocks > 0 ? "," : "", of->tile * of->tiles);
  if (of->beside > 0 && study->gpu)
    snprintf(beside, sizeof beside, " best_effort: { buffers = 1; block_threads = %d; };",
             of->threads);
  text += write_platform(study, of, text, (size_t)(end - text));
  text += snprintf(text, (size_t)(end - text), "%s }; arrays = ( %s%s ); tasks = ( ", beside, image,
                   vector);
  if (of->filter_blocks > 0)
    text += write_filter(study, of, text, (size_t)(end - text));
  for (int32_t i = 0; i < of->beside; ++i)
    text += write_server(of, i, text, (size_t)(end - text));
  snprintf(text, (size_t)(end - text), " );");
}

/** A filter on one block, a server on another; phases of a GPU, or of a CPU that others use. */
static errands_case case_of(const errands_study *study, const char *name) {
  errands_case of = {.name = name,
                     .blocks = 2,
                     .filter_blocks = 1,
                     .server_blocks = "1",
                     .tile = ERRAND_FLOATS,
                     .tiles = 1,
                     .threads = ERRAND_THREADS,
                     .capacity = 8,
                     .beside = 1,
                     .period = 10000000,
                     .filter_copy = 3008,
                     .filter_compute = 6016,
                     .copy = 8000,
                     .compute = 3008,
                     .take = 4000,
                     .distance = 40000};
  if (!study->gpu) {
    of.filter_copy = of.filter_compute = 50000;
    of.copy = of.compute = of.take = 20000;
    of.distance = 200000;
  }
  return of;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void *run_schedule(void *argument) {
  errands_run *run = argument;
  run->status = prem_session_run(run->session, &run->request, run->trace, run->study->diag);
  run->is_over = true;
  return NULL;
}

/** Asked by the thread that runs the experiment, now and then. */
static bool goes_on(errands_run *run) {
  if (prem_experiment_stopped(run->study->context) || prem_host_clock_ns() > run->end_ns)
    run->stop = 1;
  return !run->is_over && !run->stop;
}

static prem_status open_run(errands_study *study, const errands_case *of, int64_t hyperperiods,
                            errands_run *run) {
  char text[TEXT_BYTES];
  *run = (errands_run){.study = study,
                       .server = -1,
                       .request = {.mode = PREM_MODE_TT, .hyperperiods = hyperperiods}};
  run->request.stop = &run->stop;
  if (prem_experiment_stopped(study->context))
    return PREM_ERR_INTERRUPTED;
  write_schedule(study, of, text);
  const prem_scenario_request request = {.context = study->context, .text = text};
  prem_status status = prem_scenario_prepare(&request, &run->schedule, study->diag);
  if (status == PREM_OK)
    status = prem_session_open(study->context->backend, run->schedule, &run->session, study->diag);
  if (status == PREM_OK)
    status = prem_session_trace_new(run->session, hyperperiods, of->errands_kept, &run->trace);
  if (status == PREM_OK && of->capacity > 0)
    run->server = prem_schedule_find_task(run->schedule, "s0");
  return status;
}

static prem_status begin_run(errands_run *run, double seconds) {
  run->end_ns = prem_host_clock_ns() + (int64_t)(seconds * 1e9);
  return pthread_create(&run->thread, NULL, run_schedule, run) == 0 ? PREM_OK : PREM_ERR_MEMORY;
}

/** Wait for its end, and count how its errands ended. */
static prem_status end_run(errands_run *run, errands_ends *ends) {
  errands_study *study = run->study;
  const struct timespec nap = {.tv_nsec = 1000000};
  prem_errand errand;
  prem_verdict verdict = {0};
  while (goes_on(run))
    nanosleep(&nap, NULL);
  pthread_join(run->thread, NULL);
  if (run->status != PREM_OK && run->status != PREM_ERR_INTERRUPTED)
    return run->status;
  const prem_status status = prem_session_verify(run->session, &verdict);
  if (status != PREM_OK)
    return status;
  while (prem_errand_collect(run->session, 0, &errand) == PREM_OK)
    prem_errand_release(run->session, &errand);
  const bool compared = run->trace->hyperperiods > 0; /* else nobody has made outputs */
  const bool ok = run->wrong == 0 && (verdict.ok || !compared);
  ends->is_compared |= compared;
  ends->is_wrong |= !ok;
  if (run->server >= 0) {
    ends->serves = true;
    prem_best_effort_counts_merge(&ends->counts, &run->trace->best_effort->counts[0]);
  }
  if (compared || !ok)
    prem_findings_output(study->findings, ok);
  prem_experiment_progress(study->context, ++study->done, study->all);
  return prem_experiment_stopped(study->context) ? PREM_ERR_INTERRUPTED : PREM_OK;
}

static void tell_ends(errands_study *study, const char *name, const errands_ends *ends) {
  const int64_t sent = ends->counts.errands.sent, *ended = ends->counts.errands.ended;
  const bool sums = sent == ended[PREM_ERRAND_DONE] + ended[PREM_ERRAND_EXPIRED] +
                                ended[PREM_ERRAND_FAULT] + ended[PREM_ERRAND_ABORTED];
  if (!ends->serves)
    return;
  prem_table_row(study->ends, TEXT(name), INT(sent), INT(ended[PREM_ERRAND_DONE]),
                 INT(ended[PREM_ERRAND_EXPIRED]), INT(ended[PREM_ERRAND_FAULT]),
                 INT(ended[PREM_ERRAND_ABORTED]), INT(sums),
                 INT_IF(ends->is_compared, !ends->is_wrong));
  if (!sums)
    prem_findings_output(study->findings, false);
}

static prem_status end_only_run(errands_run *run, const char *name) {
  errands_ends ends = {0};
  const prem_status status = end_run(run, &ends);
  tell_ends(run->study, name, &ends);
  return status;
}

static void close_run(errands_run *run) {
  prem_trace_free(run->trace);
  prem_session_close(run->session);
  prem_schedule_free(run->schedule);
}

/* ---- latency --------------------------------------------------------------------------------- */

static int64_t tell_latency(errands_study *study, const char *way, int64_t *ns, int64_t count) {
  prem_summary of;
  if (count == 0)
    return 0;
  prem_summarise(ns, count, &of);
  prem_table_row(study->latency, TEXT(way), INT(count), INT(of.p50), KNOWN(of.p99), KNOWN(of.p999),
                 INT(of.max));
  return of.p50;
}

/** One errand, sent again and again: by the host's clock, and by the machine's. @return so many */
static int64_t send_one_by_one(errands_run *run, int64_t *host_ns, int64_t *own_ns) {
  enum { PATIENCE_NS = 50000000 };
  prem_errand errand;
  prem_errand_view in, out;
  int64_t count = 0;
  if (prem_errand_acquire(run->session, run->server, &errand) != PREM_OK)
    return 0;
  for (int64_t i = 0; count < run->study->amount.errands && goes_on(run); ++i) {
    prem_errand_port(run->session, &errand, "in", &in);
    prem_errand_port(run->session, &errand, "out", &out);
    float *input = in.data;
    const float *output = out.data;
    input[0] = (float)i;
    const int64_t begin_ns = prem_host_clock_ns();
    if (prem_errand_send(run->session, &errand) != PREM_OK)
      break;
    prem_status status;
    do /* a run that ends ends its errands */
      status = prem_errand_collect(run->session, PATIENCE_NS, &errand);
    while (status == PREM_ERR_TIMEOUT && goes_on(run));
    const int64_t end_ns = prem_host_clock_ns();
    if (status != PREM_OK || errand.end != PREM_ERRAND_DONE)
      break;
    run->wrong +=
        output[0] != (float)i + 1 || output[ERRAND_FLOATS - 1] != input[ERRAND_FLOATS - 1] + 1;
    if (i < ERRAND_WARM_UP / run->study->amount.slower)
      continue;
    host_ns[count] = end_ns - begin_ns;
    own_ns[count++] = errand.end_ns - errand.arrival_ns;
  }
  run->stop = 1;
  return count;
}

/** @param alone  no filter, and so no closed window */
static prem_status measure_server(errands_study *study, bool alone, int64_t *host_ns,
                                  int64_t *own_ns) {
  errands_case of = case_of(study, alone ? "latency_alone" : "latency");
  of.filter_blocks = alone ? 0 : of.filter_blocks;
  errands_run run;
  prem_status status = open_run(study, &of, HYPERPERIODS, &run);
  if (status == PREM_OK)
    status = begin_run(&run, study->amount.limit);
  if (status == PREM_OK) {
    const int64_t count = send_one_by_one(&run, host_ns, own_ns);
    status = end_only_run(&run, of.name);
    if (!alone)
      study->server_ns = tell_latency(study, "server, host to host", host_ns, count);
    tell_latency(study, alone ? "no filter, arrival to end" : "server, arrival to end", own_ns,
                 count);
  }
  close_run(&run);
  return status;
}

static prem_status measure_launches(errands_study *study, int64_t *ns) {
  prem_status status = PREM_OK;
#ifdef TTPREM_CUDA
  for (int copies = 0; study->gpu && copies < 2 && status == PREM_OK; ++copies) {
    errand_launches launches = {
        .copies = copies, .stop = study->context->stop, .count = study->amount.errands};
    status = prem_gpu_errand_launches(&launches, ns, study->diag);
    if (status != PREM_OK)
      break;
    const int64_t p50 = tell_latency(
        study, copies ? "launch, with copies" : "launch, host's memory", ns, launches.count);
    study->launch_ns = copies ? study->launch_ns : p50;
    prem_findings_output(study->findings, launches.right);
  }
#else
  (void)study, (void)ns;
#endif
  return status;
}

static prem_status measure_latency(errands_study *study) {
  int64_t *ns = calloc((size_t)(2 * study->amount.errands), sizeof *ns);
  prem_status status = ns ? PREM_OK : PREM_ERR_MEMORY;
  for (int alone = 0; alone < 2 && status == PREM_OK; ++alone)
    status = measure_server(study, alone, ns, ns + study->amount.errands);
  if (status == PREM_OK)
    status = measure_launches(study, ns);
  free(ns);
  return status;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/** As many errands as the distance between them lets come, each so long after the last call to send
 *  one has returned; others may be under way. The first one is back before that: what comes before
 *  the run has begun comes at its begin, all at once. */
static void send_at_distance(errands_run *run, const errands_case *of) {
  prem_errand errand;
  int64_t next_ns = 0, sent = 0, back = 0;
  while (back < of->errands_kept && goes_on(run)) {
    const bool may_come = sent < of->errands_kept && (sent == 0 || back > 0);
    if (may_come && prem_host_clock_ns() >= next_ns &&
        prem_errand_acquire(run->session, run->server, &errand) == PREM_OK) {
      if (prem_errand_send(run->session, &errand) == PREM_OK)
        ++sent;
      else
        prem_errand_release(run->session, &errand);
      next_ns = prem_host_clock_ns() + of->distance;
    }
    const int64_t left_ns = prem_max_i64(0, next_ns - prem_host_clock_ns());
    if (prem_errand_collect(run->session, left_ns, &errand) == PREM_OK) {
      prem_errand_release(run->session, &errand);
      if (++back == 1)
        next_ns = prem_host_clock_ns() + of->distance;
    }
  }
  run->stop = 1;
}

static void tell_bound(errands_study *study, const errands_case *of, const errands_run *run,
                       int64_t bound_ns) {
  const prem_best_effort_trace *beside = run->trace->best_effort;
  const bool is_bounded = bound_ns >= 0;
  int64_t count = 0, above = 0, above_first = 0, longest_ns = 0;
  for (int64_t i = 0; i < beside->errand_count; ++i) {
    const prem_errand *errand = &beside->errands[i];
    const int64_t took_ns = errand->end_ns - errand->arrival_ns;
    if (errand->end != PREM_ERRAND_DONE)
      continue;
    ++count;
    longest_ns = prem_max_i64(longest_ns, took_ns);
    above += took_ns > bound_ns;
    above_first += took_ns > bound_ns && i < ERRAND_WARM_UP / study->amount.slower;
  }
  prem_table_row(study->bounds, TEXT(of->name), INT(count), INT(of->distance),
                 INT_IF(is_bounded, bound_ns), INT_IF(count > 0, longest_ns),
                 INT_IF(is_bounded, above), INT_IF(is_bounded, above_first));
  study->bounded += is_bounded ? count : 0;
  study->above += is_bounded ? above : 0;
}

static prem_status measure_bound(errands_study *study, bool alone) {
  errands_case of = case_of(study, alone ? "bounds_alone" : "bounds");
  errands_run run;
  int64_t bound_ns = -1;
  of.filter_blocks = alone ? 0 : of.filter_blocks;
  of.period = study->gpu ? 200000 : 2000000;
  of.errands_kept = study->amount.errands;
  prem_status status = open_run(study, &of, HYPERPERIODS, &run);
  if (status == PREM_OK)
    status = prem_errand_bound(run.schedule, run.server, &bound_ns);
  if (status == PREM_OK)
    status = begin_run(&run, study->amount.limit);
  if (status == PREM_OK) {
    send_at_distance(&run, &of);
    status = end_only_run(&run, of.name);
    tell_bound(study, &of, &run, bound_ns);
  }
  close_run(&run);
  return status;
}

/* ---- rates ----------------------------------------------------------------------------------- */

/** As many errands under way as there is room for. */
static void keep_busy(errands_run *run) {
  prem_errand errand;
  while (goes_on(run)) {
    while (prem_errand_acquire(run->session, run->server, &errand) == PREM_OK)
      if (prem_errand_send(run->session, &errand) != PREM_OK) {
        prem_errand_release(run->session, &errand);
        break;
      }
    while (goes_on(run) && prem_errand_collect(run->session, 100000, &errand) == PREM_OK)
      if (prem_errand_send(run->session, &errand) != PREM_OK)
        prem_errand_release(run->session, &errand);
  }
}

static prem_status measure_rate(errands_study *study, int32_t per_sm) {
  const int32_t sms = study->gpu ? study->cores : 2;
  char name[32];
  errands_run run;
  snprintf(name, sizeof name, "rate_%d", per_sm);
  errands_case of = case_of(study, name);
  of.blocks = sms * per_sm;
  of.tile = 4;
  of.tiles = study->amount.tiles;
  of.threads = 128;
  of.capacity = 16;
  of.beside = 2;
  of.distance = 0;
  of.copy = of.filter_copy = of.filter_compute = study->gpu ? 20000 : of.filter_copy;
  of.compute = 8000;
  for (int32_t i = 0, used = 0; i < per_sm; ++i) /* none on the filter's SM */
    used += snprintf(of.server_blocks + used, sizeof of.server_blocks - (size_t)used, "%s%d-%d",
                     i ? "," : "", sms * i + 1, sms * (i + 1) - 1);
  prem_status status = open_run(study, &of, HYPERPERIODS, &run);
  if (status == PREM_OK)
    status = begin_run(&run, study->amount.seconds);
  if (status == PREM_OK) {
    keep_busy(&run);
    status = end_only_run(&run, name);
    const prem_best_effort_trace *beside = run.trace->best_effort;
    prem_table_row(study->rates, INT(per_sm), INT(beside->counts[0].tiles),
                   REAL_IF(beside->length_ns > 0,
                           (double)beside->counts[0].tiles * 1e9 / (double)beside->length_ns));
  }
  close_run(&run);
  return status;
}

/* ---- storm ----------------------------------------------------------------------------------- */

static void *send_all_it_can(void *argument) {
  errands_run *run = argument;
  prem_errand errand;
  while (!run->is_over) {
    if (prem_errand_acquire(run->session, run->server, &errand) == PREM_OK &&
        prem_errand_send(run->session, &errand) != PREM_OK)
      prem_errand_release(run->session, &errand);
    if (prem_errand_collect(run->session, 0, &errand) == PREM_OK)
      prem_errand_release(run->session, &errand);
  }
  return NULL;
}

/** Keep what a part has measured. */
static void note_part(const errands_run *run, errands_storm *row) {
  const prem_trace *trace = run->trace;
  for (int64_t h = trace->hyperperiods > 2 * DISCARD ? DISCARD : 0; h < trace->hyperperiods; ++h)
    if (trace->job_end_ns[h * trace->job_count] >= 0)
      row->ns[row->count++] = trace->job_end_ns[h * trace->job_count] - trace->epoch_ns[h];
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    prem_phase_stats_merge(&row->stats, &trace->stats[phase]);
}

static prem_status measure_part(errands_study *study, errands_storm *row) {
  errands_run run;
  pthread_t senders[STORM_THREADS];
  int started = 0;
  prem_status status =
      open_run(study, &row->of, study->amount.jobs / study->amount.parts + DISCARD, &run);
  run.request.discard = DISCARD;
  if (status == PREM_OK)
    status = begin_run(&run, study->amount.limit);
  if (status == PREM_OK) {
    while (started < row->threads &&
           pthread_create(&senders[started], NULL, send_all_it_can, &run) == 0)
      ++started;
    status = end_run(&run, &row->ends);
    for (int i = 0; i < started; ++i)
      pthread_join(senders[i], NULL);
    note_part(&run, row);
  }
  close_run(&run);
  return status;
}

/** @return the longest response */
static int64_t tell_storm(errands_study *study, errands_storm *row) {
  const prem_errand_counts *errands = &row->ends.counts.errands;
  const prem_phase_stats *stats = &row->stats;
  prem_summary of;
  prem_summarise(row->ns, row->count, &of);
  if (row->count > 0)
    prem_table_row(study->storm, TEXT(row->of.name), INT(of.count), INT(of.p50), KNOWN(of.p9999),
                   INT(of.max), INT(stats->releases), INT(stats->late),
                   KNOWN(stats->lateness_max_ns), INT(errands->sent), INT(errands->full));
  tell_ends(study, row->of.name, &row->ends);
  return row->count > 0 ? of.max : 0;
}

static errands_storm storm_row(const errands_study *study, const char *name) {
  errands_case of = case_of(study, name);
  of.filter_blocks = study->gpu ? prem_max_i32(study->cores - SERVER_SMS, 1) : 1;
  of.blocks = study->gpu ? prem_max_i32(study->cores, 2) : 2;
  snprintf(of.server_blocks, sizeof of.server_blocks, "%d-%d", of.filter_blocks, of.blocks - 1);
  of.tiles = SERVER_SMS;
  of.capacity = strcmp(name, "load") == 0 ? 0 : 64;
  of.beside = strcmp(name, "nothing") != 0;
  of.period = study->gpu ? 200000 : 2000000;
  of.filter_copy = study->gpu ? 4000 : of.filter_copy;
  of.copy = study->gpu ? 12000 : of.copy;
  of.distance = 0;
  errands_storm row = {.of = of, .threads = strcmp(name, "storm") == 0 ? STORM_THREADS : 0};
  prem_phase_stats_clear(&row.stats);
  return row;
}

/** Parts of all rows take turns, each time another one first. */
static prem_status measure_storm(errands_study *study) {
  enum { NOTHING, LOAD, IDLE, STORM, ROWS };
  static const char *const names[ROWS] = {"nothing", "load", "idle_server", "storm"};
  const int64_t parts = study->amount.parts, room = study->amount.jobs + parts * DISCARD;
  errands_storm rows[ROWS];
  int64_t longest_ns[ROWS];
  int64_t *ns = calloc((size_t)(ROWS * room), sizeof *ns);
  prem_status status = ns ? PREM_OK : PREM_ERR_MEMORY;
  for (int i = 0; i < ROWS; ++i) {
    rows[i] = storm_row(study, names[i]);
    rows[i].ns = ns + i * room;
  }
  for (int64_t i = 0; i < ROWS * parts && status == PREM_OK; ++i)
    status = measure_part(study, &rows[(i + i / ROWS) % ROWS]);
  for (int i = 0; i < ROWS && ns; ++i)
    longest_ns[i] = tell_storm(study, &rows[i]);
  if (status == PREM_OK) {
    study->alone_ns = longest_ns[NOTHING];
    study->storm_ns = longest_ns[STORM];
  }
  free(ns);
  return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static errands_amount choose_amount(const errands_study *study) {
  errands_amount amount = {
      .errands = 5000, .jobs = 2000, .parts = 5, .seconds = 1, .limit = 10, .tiles = 1024};
  amount.slower = 1;
  if (study->gpu) {
    amount.errands = 20000;
    amount.jobs = 100000;
    amount.tiles = 65536;
  }
  if (study->context->quick)
    amount = (errands_amount){.errands = 200,
                              .jobs = 500,
                              .parts = 2,
                              .seconds = study->gpu ? 3 : 1,
                              .limit = 3,
                              .tiles = study->gpu ? 256 : 64,
                              .slower = study->gpu ? 10 : 1};
  return amount;
}

static prem_status measure_all(errands_study *study) {
  const int32_t first = study->gpu ? 2 : 1, last = study->gpu && !study->context->quick ? 4 : first;
  study->all = 4 + (last - first + 1) + 4 * study->amount.parts;
  prem_experiment_progress(study->context, 0, study->all);
  prem_status status = measure_latency(study);
  for (int alone = 0; alone < 2 && status == PREM_OK; ++alone)
    status = measure_bound(study, alone);
  for (int32_t per_sm = first; per_sm <= last && status == PREM_OK; ++per_sm)
    status = measure_rate(study, per_sm);
  return status == PREM_OK ? measure_storm(study) : status;
}

static prem_status measure(const prem_probe_call *call) {
  errands_study study = {.context = call->context,
                         .findings = call->findings,
                         .diag = call->diag,
                         .gpu = prem_is_gpu(call->context->backend),
                         .cores = prem_max_i32(call->context->machine->cores, 2),
                         .latency = prem_probe_table(call, "latency"),
                         .bounds = prem_probe_table(call, "bounds"),
                         .rates = prem_probe_table(call, "rates"),
                         .storm = prem_probe_table(call, "storm"),
                         .ends = prem_probe_table(call, "ends")};
  study.amount = choose_amount(&study);
  const prem_status status = measure_all(&study);
  prem_table_row(call->found, INT(study.server_ns), INT(study.launch_ns), INT(study.alone_ns),
                 INT(study.storm_ns), INT(study.bounded), INT(study.above));
  return status;
}

const prem_probe prem_errands_probe = {"server; launch; alone; storm; bounded; above", measure,
                                       "latency"};
