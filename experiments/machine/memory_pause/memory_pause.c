/* SPDX-License-Identifier: Apache-2.0 */
/* Times in which no load of any SM, or core, comes back from memory. */
#include <inttypes.h>
#include <stdlib.h>

#include "experiments/common/caches.h"
#include "experiments/common/cores.h"
#include "experiments/common/probe.h"
#include "experiments/machine/memory_pause/pauses.h"

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
  prem_table *found;
  const prem_probe_call *call;
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

/* ---- what is found -------------------------------------------------------------------------- */

static double watched_ns(const prem_pauses *pauses) {
  return (double)(pauses->end_ns - pauses->begin_ns);
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

/** A row of what is found: of a place's pauses, intervals, lengths or loads. */
static void give(const pause_study *study, const char *of, const char *name,
                 const prem_summary *summary) {
  const bool any = summary->count > 0;
  prem_table_row(study->found, TEXT(of), TEXT(name), INT(summary->count),
                 REAL_IF(any, (double)summary->min), REAL_IF(any, (double)summary->p50),
                 REAL_IF(any, summary->mean),
                 REAL_IF(summary->p99 != INT64_MIN, (double)summary->p99),
                 REAL_IF(summary->p999 != INT64_MIN, (double)summary->p999),
                 REAL_IF(any, (double)summary->max));
}

static void give_place(const pause_study *study, prem_load_place place) {
  const place_seen *seen = &study->places[place];
  const char *name = place_name(study, place);
  const prem_summary pauses = {.count = seen->pauses.count, .p99 = INT64_MIN, .p999 = INT64_MIN};
  prem_summary latencies;
  prem_times_summarise(&seen->latencies_ns, &latencies);
  const prem_summary *const all[] = {&pauses, &seen->intervals_ns, &seen->lengths_ns, &latencies};
  static const char *const of[] = {"pauses", "intervals", "lengths", "latencies"};
  for (int i = 0; i < 4; ++i) {
    give(study, of[i], name, all[i]);
    prem_table_row(study->found, INT(place), INT(study->samplers), INT(seen->latencies_ns.count),
                   REAL(watched_ns(&seen->pauses)), INT(seen->pauses.sum_ns),
                   INT(seen->threshold_ns), INT(seen->pauses.ordinary_ns));
  }
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

/** Memory's loads in flight in a pause, and all others. */
static prem_status give_split(const pause_study *study) {
  prem_times within = {0}, outside = {0};
  prem_summary summary;
  const bool kept = split_latencies(&study->places[PREM_LOAD_MEMORY], &within, &outside);
  for (int i = 0; i < 2; ++i) {
    prem_times_summarise(i == 0 ? &within : &outside, &summary);
    give(study, "latencies",
         i == 1       ? "memory, all others"
         : study->gpu ? "memory, in flight in a pause"
                      : "memory, in flight in a stop",
         &summary);
    prem_table_row(study->found, INT(PREM_LOAD_PLACE_COUNT), INT(0), INT(0), INT(0), INT(0), INT(0),
                   INT(0));
  }
  prem_times_free(&within);
  prem_times_free(&outside);
  return kept ? PREM_OK : PREM_ERR_MEMORY;
}

static void tell_pauses(const pause_study *study) {
  const prem_pauses *pauses = &study->places[PREM_LOAD_MEMORY].pauses;
  for (int64_t i = 0; i < pauses->count && i < SHOWN_PAUSES; ++i)
    prem_table_row(prem_probe_table(study->call, "pauses"),
                   REAL((double)(pauses->list[i].begin_ns - pauses->begin_ns) / 1000),
                   INT(pauses->list[i].length_ns));
  if (pauses->count > SHOWN_PAUSES)
    prem_findings_note(study->findings, "The list of %s ends after the first %d of %" PRId64 ".",
                       study->gpu ? "pauses" : "stops of all sampled threads", SHOWN_PAUSES,
                       pauses->count);
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

static prem_status tell(pause_study *study) {
  prem_table *gaps = prem_probe_table(study->call, "gaps");
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place)
    if (!summarise_pauses(&study->places[place]))
      return PREM_ERR_MEMORY;
  for (int32_t place = 0; place < PREM_LOAD_PLACE_COUNT; ++place)
    if (has_place(study, (prem_load_place)place)) {
      give_place(study, (prem_load_place)place);
      add_distribution(gaps, place_name(study, (prem_load_place)place),
                       &study->places[place].pauses.gaps_ns);
    }
  const prem_status status = give_split(study);
  draw_time(study);
  draw_around(study);
  tell_pauses(study);
  return status;
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

static prem_status measure_pauses(const prem_probe_call *call) {
  pause_study study = {.context = call->context,
                       .findings = call->findings,
                       .diag = call->diag,
                       .found = call->found,
                       .call = call,
                       .gpu = prem_is_gpu(call->context->backend)};
  settle_sizes(&study);
  if (study.samplers < 2)
    return refuse_one(&study);
  prem_status status = measure(&study);
  if (status == PREM_OK)
    status = tell(&study);
  close_study(&study);
  return status;
}

const prem_probe prem_memory_pauses_probe = {
    "of [text]; name [text]; count; min; p50; mean; p99; p999; max; place; samplers; loads; "
    "watched; sum; threshold; ordinary",
    measure_pauses, "pauses"};
