/* SPDX-License-Identifier: Apache-2.0 */
/* Times in which no load of any SM, or core, comes back from memory. */
#include <inttypes.h>
#include <stdlib.h>

#include "experiments/common/caches.h"
#include "experiments/common/cores.h"
#include "experiments/common/experiment.h"
#include "experiments/machine/memory_pause/pauses.h"
#include "report/findings/tables.h"

enum {
  MIN_BYTES = 64 << 20, /* of the memory that is read, */
  MAX_BYTES = 512 << 20,
  ROOM = 4, /* and times the largest cache */
  CACHED_LINES = 8192,
  GPU_NS = 20000000,
  GPU_QUICK_NS = 5000000,
  CPU_NS = 200000000,
  CPU_QUICK_NS = 50000000,
  SHOWN_INTERVALS = 10, /* of latency over time */
  SHOWN_BINS = 1000,
  AROUND_BINS = 120,  /* of latency around a pause, */
  AROUND_LENGTHS = 6, /* which shows so many of its lengths, */
  BEFORE_LENGTHS = 2, /* so many of them before it */
  SHOWN_PAUSES = 1000
};

static const double tail_step = 0.93; /* from a row of a distribution to the next: share above */

/** The loads of one place, and what they say. */
typedef struct place_seen {
  prem_loads loads;
  int64_t threshold_ns;
  prem_times latencies_ns;
  prem_pauses pauses;
  prem_summary intervals_ns, lengths_ns; /* of the pauses; count 0: there are none */
} place_seen;

typedef struct pause_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  bool gpu;
  int32_t samplers;
  uint32_t lines;
  int64_t length_ns;
  place_seen places[PREM_LOAD_PLACE_COUNT];
} pause_study;

static const char *place_name(const pause_study *study, prem_load_place place) {
  if (place == PREM_LOAD_SCRATCHPAD)
    return "scratchpad";
  if (place == PREM_LOAD_CACHE)
    return study->gpu ? "L2" : "the core's cache";
  return place == PREM_LOAD_BUSY_MEMORY ? "memory, in use by all other SMs" : "memory";
}

static bool has_place(const pause_study *study, prem_load_place place) {
  return study->gpu || place == PREM_LOAD_MEMORY || place == PREM_LOAD_CACHE;
}

/** The word for a pause: what stops a CPU's loads may be no matter of its memory. */
static const char *pause_name(const pause_study *study) {
  return study->gpu ? "pause" : "stop of all sampled threads";
}

static const char *pauses_name(const pause_study *study) {
  return study->gpu ? "pauses" : "stops of all sampled threads";
}

static const char *sampler_name(const pause_study *study) {
  return study->gpu ? "SMs" : "cores";
}

/* ---- measuring ------------------------------------------------------------------------------ */

static void settle_sizes(pause_study *study) {
  int32_t cores[PREM_MAX_SAMPLERS];
  const int32_t there =
      study->gpu ? study->context->machine->cores : prem_cores_list(cores, PREM_MAX_SAMPLERS);
  const int32_t usable = study->gpu ? there / 2 : there; /* the other SMs use the memory */
  study->samplers = usable < PREM_MAX_SAMPLERS ? usable : PREM_MAX_SAMPLERS;
  const int64_t wanted_bytes = ROOM * prem_largest_cache_bytes(study->context->backend);
  int64_t bytes = MIN_BYTES;
  while (bytes < wanted_bytes && bytes < MAX_BYTES)
    bytes *= 2;
  study->lines = (uint32_t)(bytes / PREM_LOAD_LINE_BYTES);
  const bool quick = study->context->quick;
  study->length_ns = study->gpu ? (quick ? GPU_QUICK_NS : GPU_NS) : (quick ? CPU_QUICK_NS : CPU_NS);
}

static prem_status sample(const pause_study *study, prem_load_place place, prem_loads *loads) {
  const bool memory = place == PREM_LOAD_MEMORY || place == PREM_LOAD_BUSY_MEMORY;
  const prem_load_order order = {
      .place = place, .lines = memory ? study->lines : CACHED_LINES, .length_ns = study->length_ns};
#ifdef TTPREM_CUDA
  if (study->gpu)
    return prem_gpu_sample_loads(&order, loads, study->diag);
#endif
  return prem_host_sample_loads(&order, loads, study->diag);
}

/** No line is visited twice. */
static prem_status make_room(const pause_study *study, prem_loads *loads) {
  loads->samplers = study->samplers;
  loads->max = (int32_t)(study->lines / (uint32_t)study->samplers);
  loads->list = calloc((size_t)loads->samplers * (size_t)loads->max, sizeof *loads->list);
  loads->counts = calloc((size_t)loads->samplers, sizeof *loads->counts);
  return loads->list && loads->counts ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status find_pauses(pause_study *study, place_seen *seen) {
  prem_status status = prem_pauses_find(&seen->loads, seen->threshold_ns, &seen->pauses);
  if (status == PREM_ERR_UNAVAILABLE)
    return prem_experiment_refuse(
        study->diag, status,
        "the %" PRId32
        " sampled %s were not at work at the same time; try again when nothing else runs",
        study->samplers, sampler_name(study));
  return status;
}

/** Memory comes first: no pause of another place is shorter than its are. */
static prem_status measure_place(pause_study *study, prem_load_place place) {
  place_seen *seen = &study->places[place];
  prem_status status = make_room(study, &seen->loads);
  if (status == PREM_OK)
    status = sample(study, place, &seen->loads);
  if (status == PREM_OK && !prem_loads_latencies(&seen->loads, &seen->latencies_ns))
    status = PREM_ERR_MEMORY;
  if (status != PREM_OK)
    return status;
  const int64_t of_memory_ns = study->places[PREM_LOAD_MEMORY].threshold_ns;
  seen->threshold_ns = prem_pause_threshold_ns(&seen->latencies_ns, study->samplers);
  if (seen->threshold_ns < of_memory_ns)
    seen->threshold_ns = of_memory_ns;
  return find_pauses(study, seen);
}

static prem_status measure(pause_study *study) {
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place) {
    if (!has_place(study, (prem_load_place)place))
      continue;
    if (prem_experiment_stopped(study->context))
      return PREM_ERR_INTERRUPTED;
    prem_status status = measure_place(study, (prem_load_place)place);
    if (status != PREM_OK)
      return status;
    prem_experiment_progress(study->context, place + 1, PREM_LOAD_PLACE_COUNT);
  }
  return PREM_OK;
}

/* ---- telling -------------------------------------------------------------------------------- */

static double watched_ns(const prem_pauses *pauses) {
  return (double)(pauses->end_ns - pauses->begin_ns);
}

static double share_pct(const prem_pauses *pauses) {
  return 100 * (double)pauses->sum_ns / watched_ns(pauses);
}

static void tell_places(const pause_study *study) {
  prem_table *table =
      prem_findings_table(study->findings, "places",
                          study->gpu ? "Pauses, by where the loads go"
                                     : "Stops of all sampled threads, by where their loads go",
                          NULL);
  prem_table_column(table, "loads from", "");
  prem_table_column(table, sampler_name(study), "");
  prem_table_columns(table, "loads; watched [us]");
  prem_table_column(table, pauses_name(study), "");
  prem_table_columns(table, "time lost [%]; a pause is above [ns]; longest other gap [ns]");
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place) {
    if (!has_place(study, (prem_load_place)place))
      continue;
    const place_seen *seen = &study->places[place];
    prem_table_row(table, TEXT(place_name(study, (prem_load_place)place)), INT(study->samplers),
                   INT(seen->latencies_ns.count), REAL(watched_ns(&seen->pauses) / 1000),
                   INT(seen->pauses.count), REAL(share_pct(&seen->pauses)), INT(seen->threshold_ns),
                   INT(seen->pauses.ordinary_ns));
  }
}

static bool summarise_pauses(place_seen *seen) {
  const prem_pauses *pauses = &seen->pauses;
  prem_times intervals = {0}, lengths = {0};
  bool kept = true;
  for (int64_t i = 0; i < pauses->count && kept; ++i) {
    kept = prem_times_add(&lengths, pauses->list[i].length_ns);
    if (kept && i > 0)
      kept = prem_times_add(&intervals, pauses->list[i].begin_ns - pauses->list[i - 1].begin_ns);
  }
  prem_times_summarise(&intervals, &seen->intervals_ns);
  prem_times_summarise(&lengths, &seen->lengths_ns);
  prem_times_free(&intervals);
  prem_times_free(&lengths);
  return kept;
}

static void add_summary(prem_table *table, const char *what, const prem_summary *summary) {
  const bool any = summary->count > 0;
  prem_table_row(table, TEXT(what), INT(summary->count), REAL_IF(any, (double)summary->min),
                 REAL_IF(any, (double)summary->p50), REAL_IF(any, summary->mean),
                 REAL_IF(summary->p99 != INT64_MIN, (double)summary->p99),
                 REAL_IF(summary->p999 != INT64_MIN, (double)summary->p999),
                 REAL_IF(any, (double)summary->max));
}

static prem_table *begin_summaries(const pause_study *study, const char *name, const char *title,
                                   const char *what) {
  prem_table *table = prem_findings_table(study->findings, name, title, NULL);
  prem_table_column(table, what, "");
  prem_table_columns(
      table, "count; least [ns]; median [ns]; mean [ns]; p99 [ns]; p99.9 [ns]; longest [ns]");
  return table;
}

static void tell_intervals(const pause_study *study) {
  prem_table *table = begin_summaries(study, "intervals",
                                      study->gpu ? "From the beginning of a pause to the next one's"
                                                 : "From the beginning of a stop to the next one's",
                                      "loads from");
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place)
    if (has_place(study, (prem_load_place)place))
      add_summary(table, place_name(study, (prem_load_place)place),
                  &study->places[place].intervals_ns);
  table = begin_summaries(
      study, "lengths", study->gpu ? "Length of the pauses" : "Length of the stops", "loads from");
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place)
    if (has_place(study, (prem_load_place)place))
      add_summary(table, place_name(study, (prem_load_place)place),
                  &study->places[place].lengths_ns);
}

/** Sort memory's loads by whether they were in flight in a pause. */
static bool split_latencies(const place_seen *seen, prem_times *within, prem_times *outside) {
  for (int32_t sampler = 0; sampler < seen->loads.samplers; ++sampler) {
    const prem_load *own = seen->loads.list + (int64_t)sampler * seen->loads.max;
    int64_t next = 0;
    for (int32_t i = 0; i < seen->loads.counts[sampler]; ++i)
      if (!prem_times_add(prem_load_in_pause(&own[i], &seen->pauses, &next) ? within : outside,
                          own[i].end_ns - own[i].begin_ns))
        return false;
  }
  return true;
}

static prem_status tell_latencies(const pause_study *study) {
  prem_table *table = begin_summaries(
      study, "latencies", "How long a load takes, the clock's reading included", "loads");
  prem_summary summary;
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place) {
    if (!has_place(study, (prem_load_place)place))
      continue;
    prem_times_summarise(&study->places[place].latencies_ns, &summary);
    add_summary(table, place_name(study, (prem_load_place)place), &summary);
  }
  prem_times within = {0}, outside = {0};
  const bool kept = split_latencies(&study->places[PREM_LOAD_MEMORY], &within, &outside);
  prem_times_summarise(&within, &summary);
  add_summary(table, study->gpu ? "memory, in flight in a pause" : "memory, in flight in a stop",
              &summary);
  prem_times_summarise(&outside, &summary);
  add_summary(table, "memory, all others", &summary);
  prem_times_free(&within);
  prem_times_free(&outside);
  return kept ? PREM_OK : PREM_ERR_MEMORY;
}

static void tell_pauses(const pause_study *study) {
  const prem_pauses *pauses = &study->places[PREM_LOAD_MEMORY].pauses;
  prem_table *table =
      prem_table_begin(study->findings, "pauses",
                       study->gpu ? "Every pause of memory" : "Every stop of all sampled threads",
                       NULL, "begins [us]; length [ns]");
  for (int64_t i = 0; i < pauses->count && i < SHOWN_PAUSES; ++i)
    prem_table_row(table, REAL((double)(pauses->list[i].begin_ns - pauses->begin_ns) / 1000),
                   INT(pauses->list[i].length_ns));
  if (pauses->count > SHOWN_PAUSES)
    prem_findings_note(study->findings, "The list of %s ends after the first %d of %" PRId64 ".",
                       pauses_name(study), SHOWN_PAUSES, pauses->count);
}

/* ---- pictures ------------------------------------------------------------------------------- */

/** Latency of the loads that begin in a span of time. */
typedef struct latency_bin {
  int64_t count, min_ns, max_ns, sum_ns;
} latency_bin;

typedef struct latency_curve {
  latency_bin bins[SHOWN_BINS];
  int32_t count;
  int64_t begin_ns, bin_ns;
} latency_curve;

/** Bins in whole steps of the clock: else some would be of more steps than others. */
static void begin_curve(const pause_study *study, latency_curve *curve, int64_t begin_ns,
                        int64_t length_ns, int32_t max) {
  const int64_t step_ns =
      study->context->machine->clock_step_ns > 0 ? study->context->machine->clock_step_ns : 1;
  const int64_t steps = (length_ns + max * step_ns - 1) / (max * step_ns);
  *curve = (latency_curve){.begin_ns = begin_ns, .bin_ns = steps > 0 ? steps * step_ns : step_ns};
  curve->count = (int32_t)(length_ns / curve->bin_ns);
}

static void add_to_curve(latency_curve *curve, int64_t at_ns, int64_t latency_ns) {
  const int64_t number = at_ns < curve->begin_ns ? -1 : (at_ns - curve->begin_ns) / curve->bin_ns;
  if (number < 0 || number >= curve->count)
    return;
  latency_bin *bin = &curve->bins[number];
  if (bin->count == 0 || latency_ns < bin->min_ns)
    bin->min_ns = latency_ns;
  if (latency_ns > bin->max_ns)
    bin->max_ns = latency_ns;
  bin->sum_ns += latency_ns;
  ++bin->count;
}

static void tell_curve(const pause_study *study, const latency_curve *curve, int64_t zero_ns,
                       const char *name, const char *title, const char *x) {
  prem_table *table = prem_findings_table(study->findings, name, title, NULL);
  prem_table_column(table, x, "us");
  prem_table_columns(table, "least [ns]; mean [ns]; longest [ns]");
  for (int32_t i = 0; i < curve->count; ++i) {
    const latency_bin *bin = &curve->bins[i];
    if (bin->count == 0)
      continue;
    const int64_t middle_ns = curve->begin_ns + i * curve->bin_ns + curve->bin_ns / 2;
    prem_table_row(table, REAL((double)(middle_ns - zero_ns) / 1000), INT(bin->min_ns),
                   REAL((double)bin->sum_ns / (double)bin->count), INT(bin->max_ns));
  }
  prem_findings_chart(study->findings, &(prem_chart){.kind = PREM_CHART_LINES,
                                                     .title = title,
                                                     .table = name,
                                                     .x = x,
                                                     .y = "mean",
                                                     .low = "least",
                                                     .high = "longest",
                                                     .log_y = true});
}

/** A few intervals where there are that many; else all of the time. */
static void draw_time(const pause_study *study) {
  const place_seen *seen = &study->places[PREM_LOAD_MEMORY];
  const int64_t all_ns = seen->pauses.end_ns - seen->pauses.begin_ns;
  const int64_t some_ns = SHOWN_INTERVALS * seen->intervals_ns.p50;
  latency_curve curve;
  begin_curve(study, &curve, seen->pauses.begin_ns,
              seen->intervals_ns.count >= SHOWN_INTERVALS && some_ns < all_ns ? some_ns : all_ns,
              SHOWN_BINS);
  for (int32_t sampler = 0; sampler < seen->loads.samplers; ++sampler) {
    const prem_load *own = seen->loads.list + (int64_t)sampler * seen->loads.max;
    for (int32_t i = 0; i < seen->loads.counts[sampler]; ++i)
      add_to_curve(&curve, own[i].begin_ns, own[i].end_ns - own[i].begin_ns);
  }
  tell_curve(study, &curve, seen->pauses.begin_ns, "over_time",
             "How long a load from memory takes, by when it begins", "load begins");
}

/** All pauses laid over each other. */
static void draw_around(const pause_study *study) {
  const place_seen *seen = &study->places[PREM_LOAD_MEMORY];
  const prem_pauses *pauses = &seen->pauses;
  if (pauses->count == 0)
    return;
  const int64_t length_ns = seen->lengths_ns.p50;
  const int64_t behind_ns = (AROUND_LENGTHS - BEFORE_LENGTHS) * length_ns;
  latency_curve curve;
  begin_curve(study, &curve, -BEFORE_LENGTHS * length_ns, AROUND_LENGTHS * length_ns, AROUND_BINS);
  for (int32_t sampler = 0; sampler < seen->loads.samplers; ++sampler) {
    const prem_load *own = seen->loads.list + (int64_t)sampler * seen->loads.max;
    int64_t near = 0;
    for (int32_t i = 0; i < seen->loads.counts[sampler]; ++i) {
      while (near + 1 < pauses->count && own[i].begin_ns >= pauses->list[near].begin_ns + behind_ns)
        ++near;
      add_to_curve(&curve, own[i].begin_ns - pauses->list[near].begin_ns,
                   own[i].end_ns - own[i].begin_ns);
    }
  }
  tell_curve(study, &curve, 0, "around",
             study->gpu ? "The same around a pause, all of them laid over each other"
                        : "The same around a stop, all of them laid over each other",
             "load begins after the beginning");
}

static void add_distribution(prem_table *table, const char *series, const prem_times *times) {
  const double all = (double)times->count;
  double above = all, told = 2 * all;
  for (int64_t i = 0; i < times->distinct; ++i) {
    above -= (double)times->list[i].count;
    if (above > tail_step * told && i + 1 < times->distinct)
      continue;
    prem_table_row(table, TEXT(series), INT(times->list[i].ns), REAL(100 * above / all));
    told = above;
  }
}

/** The share above: pauses are one gap of thousands. */
static void draw_gaps(const pause_study *study) {
  prem_table *table =
      prem_table_begin(study->findings, "gaps", "Share of the gaps that are longer", NULL,
                       "loads from; from a load's end to the next one's [ns]; share above [%]");
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place)
    if (has_place(study, (prem_load_place)place))
      add_distribution(table, place_name(study, (prem_load_place)place),
                       &study->places[place].pauses.gaps_ns);
  prem_chart_add(study->findings, PREM_CHART_STEPS, "gaps", "Share of the gaps that are longer",
                 "from a load's end to the next one's", "share above", "loads from",
                 PREM_LOG_X | PREM_LOG_Y);
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void judge(const pause_study *study) {
  const place_seen *memory = &study->places[PREM_LOAD_MEMORY];
  const prem_pauses *pauses = &memory->pauses;
  const double watched_ms = watched_ns(pauses) / 1e6;
  if (pauses->count == 0)
    prem_findings_verdict(
        study->findings,
        "No %s: in %.1f ms %" PRId32 " %s always had a load come back within %" PRId64 " ns.",
        pause_name(study), watched_ms, study->samplers, sampler_name(study), pauses->ordinary_ns);
  else if (pauses->count == 1)
    prem_findings_verdict(study->findings,
                          "One %s in %.1f ms: for %" PRId64 " ns no load of %" PRId32
                          " %s came back from memory.",
                          pause_name(study), watched_ms, pauses->list[0].length_ns, study->samplers,
                          sampler_name(study));
  else
    prem_findings_verdict(
        study->findings,
        "%" PRId64 " %s in %.1f ms: every %.2f us (%.2f to %.2f) no load of %" PRId32
        " %s comes back from memory for %" PRId64 " ns (%" PRId64 " to %" PRId64
        "); %.2f %% of the time.",
        pauses->count, pauses_name(study), watched_ms, (double)memory->intervals_ns.p50 / 1000,
        (double)memory->intervals_ns.min / 1000, (double)memory->intervals_ns.max / 1000,
        study->samplers, sampler_name(study), memory->lengths_ns.p50, memory->lengths_ns.min,
        memory->lengths_ns.max, share_pct(pauses));
}

static int64_t pauses_of(const pause_study *study, prem_load_place place) {
  return study->places[place].pauses.count;
}

static void remark(const pause_study *study) {
  prem_findings_note(study->findings,
                     "A gap of more than %" PRId64
                     " ns between the ends of two loads, whosever they are, counts: at its end "
                     "each of the %" PRId32 " loads in flight has taken longer than that.",
                     study->places[PREM_LOAD_MEMORY].threshold_ns, study->samplers);
  if (study->gpu)
    prem_findings_note(study->findings,
                       "While all other SMs read memory there are %" PRId64
                       " pauses, of loads from L2 %" PRId64 ", from the scratchpad %" PRId64
                       ": that is how far they reach. What stops the memory is not shown here.",
                       pauses_of(study, PREM_LOAD_BUSY_MEMORY), pauses_of(study, PREM_LOAD_CACHE),
                       pauses_of(study, PREM_LOAD_SCRATCHPAD));
  else
    prem_findings_note(
        study->findings,
        "What stops all threads at once may be the system, another process or a hypervisor as well "
        "as the memory: where loads from the core's cache stop as often, it is not the memory.");
}

static prem_status tell(pause_study *study) {
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place)
    if (!summarise_pauses(&study->places[place]))
      return PREM_ERR_MEMORY;
  tell_places(study);
  tell_intervals(study);
  prem_status status = tell_latencies(study);
  if (status != PREM_OK)
    return status;
  draw_time(study);
  draw_around(study);
  draw_gaps(study);
  tell_pauses(study);
  judge(study);
  remark(study);
  return PREM_OK;
}

/* ---- the experiment ------------------------------------------------------------------------- */

static prem_status refuse_one(const pause_study *study) {
  return prem_experiment_refuse(
      study->diag, PREM_ERR_UNAVAILABLE,
      "there is but one of the %s to sample: whether memory or it alone stands still cannot be "
      "told; at least 2 are needed",
      sampler_name(study));
}

static void close_study(pause_study *study) {
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place) {
    place_seen *seen = &study->places[place];
    free(seen->loads.list);
    free(seen->loads.counts);
    prem_times_free(&seen->latencies_ns);
    prem_pauses_free(&seen->pauses);
  }
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  pause_study study = {.context = context, .findings = findings, .diag = diag};
  study.gpu = prem_is_gpu(context->backend);
  settle_sizes(&study);
  if (study.samplers < 2)
    return refuse_one(&study);
  prem_status status = measure(&study);
  if (status == PREM_OK)
    status = tell(&study);
  close_study(&study);
  return status;
}

const prem_experiment prem_memory_pause_experiment = {
    .name = "memory_pause",
    .title = "Times in which all memory stands still",
    .question = "Are there times in which no load of any core comes back from memory, and how "
                "often, how long, how regular are they?",
    .backends = "cuda cpu",
    .run = run,
};
