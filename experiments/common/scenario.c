/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a schedule to the durations of its phases. */
#include "experiments/common/scenario.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/job_times.h"
#include "prem/base/numbers.h"
#include "ttprem/prepare.h"

enum { MAX_RECORDS = 4 << 20, PER_MILLE = 1000, MAX_MEDIANS = 4 };

/* ---- times ---------------------------------------------------------------------------------- */

/* Of the nearest one, from 1. */
static int64_t rank_of(double share, int64_t count) {
  const int64_t rank = (int64_t)ceil(share * (double)count);
  return rank < 1 ? 1 : rank > count ? count : rank;
}

int64_t prem_times_at(const prem_times *times, double share) {
  const int64_t rank = rank_of(share, times->count);
  int64_t seen = 0;
  for (int64_t i = 0; i < times->distinct; ++i) {
    seen += times->list[i].count;
    if (seen >= rank)
      return times->list[i].ns < times->max_ns ? times->list[i].ns : times->max_ns;
  }
  return times->max_ns;
}

double prem_makespan_at(const prem_outcome *outcome, double share) {
  const int64_t count = outcome->row->samples;
  return count > 0 ? (double)outcome->makespan_ns[rank_of(share, count) - 1] : (double)NAN;
}

double prem_of_runs(const prem_row *row, double number) {
  return row->samples > 0 ? number : (double)NAN;
}

prem_lengths prem_lengths_of(const prem_outcome *outcome) {
  prem_lengths lengths;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    lengths.typical[p] = prem_times_at(&outcome->phase[p], 0.5);
    lengths.max[p] = prem_times_at(&outcome->phase[p], 0.99);
    lengths.worst[p] = prem_times_at(&outcome->phase[p], 1.0);
    const int64_t room_ns = MAX_MEDIANS * lengths.typical[p];
    lengths.planned[p] = lengths.max[p] < room_ns ? lengths.max[p] : room_ns;
  }
  return lengths;
}

/* ---- what a run's records say --------------------------------------------------------------- */

/** Sums over the counted runs of one mode. */
typedef struct prem_sums {
  int64_t memory_ns; /* of all memory phases */
  int64_t any_ns;    /* time in which there was one at least */
  int64_t waited_ns; /* of memory phases, from ready to start */
  int64_t all_ns;    /* makespan x blocks */
} prem_sums;

typedef struct prem_collector {
  const prem_scenario_request *request;
  const prem_schedule *schedule;
  prem_measured *measured;
  prem_sums sums[PREM_MODE_COUNT]; /* in the order of the request's modes */
} prem_collector;

static bool is_memory(const prem_trace_record *record) {
  return record->phase != PREM_COMPUTE;
}

/* The writeback of a joined pair is the same stay at the memory as its prefetch. */
static bool is_second_half(const prem_trace_record *record) {
  return record->phase == PREM_WRITEBACK && (record->flags & PREM_SLOT_JOINED);
}

/* Records come by their start: what an earlier one still covers reaches from now to the latest end
 * so far, without a gap. */
static bool fold_memory(const prem_trace *trace, prem_sums *sums, prem_times *handover) {
  int64_t covered_until_ns = INT64_MIN;
  bool kept = true;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (!is_memory(record) || is_second_half(record) || (record->flags & PREM_SLOT_WARMUP))
      continue;
    sums->memory_ns += record->end_ns - record->start_ns;
    sums->any_ns +=
        prem_max_i64(record->end_ns - prem_max_i64(record->start_ns, covered_until_ns), 0);
    sums->waited_ns += record->start_ns - record->ready_ns;
    if (record->ready_ns <= covered_until_ns && covered_until_ns <= record->start_ns)
      kept &= prem_times_add(handover, record->start_ns - covered_until_ns);
    covered_until_ns = prem_max_i64(covered_until_ns, record->end_ns);
  }
  return kept;
}

/** When the phases of all tasks but one run, as intervals that do not touch, in order. */
typedef struct prem_cover {
  struct prem_span {
    int64_t start_ns, end_ns;
    int64_t before_ns; /* that the spans before it cover */
  } * spans;
  int64_t count;
} prem_cover;

/* Records come by their start. */
static bool cover_make(const prem_trace *trace, int32_t but, prem_cover *out) {
  *out = (prem_cover){.spans = calloc((size_t)trace->record_count + 1, sizeof *out->spans)};
  if (!out->spans)
    return false;
  struct prem_span *last = NULL;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (record->task == but)
      continue;
    if (last && record->start_ns <= last->end_ns) {
      last->end_ns = prem_max_i64(last->end_ns, record->end_ns);
      continue;
    }
    const int64_t before_ns = last ? last->before_ns + last->end_ns - last->start_ns : 0;
    last = &out->spans[out->count++];
    *last = (struct prem_span){record->start_ns, record->end_ns, before_ns};
  }
  return true;
}

/* How much of the time up to an instant is covered. */
static int64_t covered_until(const prem_cover *cover, int64_t ns) {
  int64_t low = 0, high = cover->count; /* the first span that begins later */
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (cover->spans[middle].start_ns <= ns)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return 0;
  const struct prem_span *span = &cover->spans[low - 1];
  return span->before_ns + (ns < span->end_ns ? ns : span->end_ns) - span->start_ns;
}

static bool collect_phases(const prem_scenario_request *request, const prem_trace *trace,
                           prem_outcome *outcome) {
  prem_cover others = {0};
  bool kept = request->task < 0 || cover_make(trace, request->task, &others);
  for (int64_t i = 0; i < trace->record_count && kept; ++i) {
    const prem_trace_record *record = &trace->records[i];
    const int64_t took_ns = record->end_ns - record->start_ns;
    if ((record->flags & PREM_SLOT_WARMUP) || (request->task >= 0 && record->task != request->task))
      continue;
    if (request->is_reference && request->is_reference(record)) {
      kept &= prem_times_add(&outcome->reference[record->phase], took_ns);
      continue;
    }
    kept &= prem_times_add(&outcome->phase[record->phase], took_ns);
    if (request->task >= 0 && took_ns > 0) {
      const int64_t covered_ns =
          covered_until(&others, record->end_ns) - covered_until(&others, record->start_ns);
      kept &= prem_times_add(&outcome->beside[record->phase], covered_ns * PER_MILLE / took_ns);
    }
  }
  free(others.spans);
  return kept;
}

static int32_t place_of(const prem_scenario_request *request, prem_mode mode) {
  int32_t place = 0;
  while (place < request->mode_count - 1 && request->modes[place] != mode)
    ++place;
  return place;
}

/* The makespan counts from S, which no phase begins before. */
static bool keep_span(const prem_trace *trace, prem_times *span) {
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    first_ns = record->start_ns < first_ns ? record->start_ns : first_ns;
    last_ns = prem_max_i64(last_ns, record->end_ns);
  }
  return trace->record_count == 0 || prem_times_add(span, last_ns - first_ns);
}

static prem_status collect(void *context, const prem_trace *trace, prem_mode mode, int64_t run) {
  (void)run;
  prem_collector *collector = context;
  const int32_t place = place_of(collector->request, mode);
  prem_outcome *outcome = &collector->measured->outcomes[place];
  prem_sums *sums = &collector->sums[place];
  if (!fold_memory(trace, sums, &outcome->handover) || !keep_span(trace, &outcome->span) ||
      !collect_phases(collector->request, trace, outcome))
    return PREM_ERR_MEMORY;
  if (trace->hyperperiods > 0) /* a run is one */
    sums->all_ns += prem_makespan_ns(trace, 0) * collector->schedule->platform.blocks;
  return PREM_OK;
}

static int ascending(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool keep_makespans(prem_outcome *outcome) {
  const size_t count = (size_t)outcome->row->samples;
  outcome->makespan_ns = calloc(count + 1, sizeof *outcome->makespan_ns);
  if (!outcome->makespan_ns)
    return false;
  if (count > 0)
    memcpy(outcome->makespan_ns, outcome->row->samples_ns, count * sizeof *outcome->makespan_ns);
  qsort(outcome->makespan_ns, count, sizeof *outcome->makespan_ns, ascending);
  return true;
}

/* A time of nothing is no time: tables have none, and there is no verdict. */
static void tell_uncounted(const prem_scenario_request *request, const prem_row *row) {
  if (row->samples > 0 || row->disturbed.count == 0 || !request->findings)
    return;
  prem_findings_uncounted(request->findings);
  prem_findings_note(request->findings,
                     "%s: of %" PRId64 " runs all were disturbed: the operating system took a core "
                     "away, for %.3f ms at most. They have no numbers here.",
                     row->label, row->disturbed.count,
                     (double)row->disturbed.longest_away_ns / 1e6);
}

static prem_status finish_outcomes(const prem_collector *collector) {
  prem_measured *measured = collector->measured;
  bool kept = true;
  for (int32_t m = 0; m < collector->request->mode_count; ++m) {
    prem_outcome *outcome = &measured->outcomes[m];
    const prem_sums *sums = &collector->sums[m];
    outcome->row = &measured->result->rows[m];
    kept &= keep_makespans(outcome);
    tell_uncounted(collector->request, outcome->row);
    if (sums->all_ns > 0)
      outcome->waiting_pct = 100.0 * (double)sums->waited_ns / (double)sums->all_ns;
    if (sums->any_ns > 0)
      outcome->at_once = (double)sums->memory_ns / (double)sums->any_ns;
    if (outcome->row->output_checked)
      prem_findings_output(collector->request->findings, outcome->row->output_ok);
  }
  return kept ? PREM_OK : PREM_ERR_MEMORY;
}

/* ---- from text to a session ----------------------------------------------------------------- */

prem_status prem_scenario_prepare(const prem_scenario_request *request, prem_schedule **out,
                                  prem_diag *diag) {
  prem_status status = request->text ? prem_schedule_load_text("scenario", request->text, out, diag)
                                     : prem_schedule_load(request->path, NULL, out, diag);
  const prem_machine *machine = request->context->machine;
  return status == PREM_OK ? prem_prepare(*out, prem_registry_builtin(), machine, NULL, diag)
                           : status;
}

/* What is left of the row's time; one run of each mode counts all the same. */
static double seconds_until(int64_t end_ns) {
  static const double min_s = 1e-3;
  if (end_ns == INT64_MAX)
    return 0;
  const double left_s = (double)(end_ns - prem_host_clock_ns()) * 1e-9;
  return left_s > min_s ? left_s : min_s;
}

static prem_status measure(const prem_scenario_request *request, const prem_schedule *schedule,
                           int64_t end_ns, prem_measured *out, prem_diag *diag) {
  prem_collector collector = {.request = request, .schedule = schedule, .measured = out};
  prem_compare_options options = {.mode_count = request->mode_count,
                                  .sampling.samples = request->repeat,
                                  .sampling.discard = request->discard,
                                  .sampling.seed = request->context->seed,
                                  .sampling.max_records = MAX_RECORDS,
                                  .stop = request->context->stop,
                                  .on_trace = collect,
                                  .trace_context = &collector};
  memcpy(options.modes, request->modes, sizeof options.modes);
  prem_session *session = NULL;
  prem_status status = prem_session_open(request->context->backend, schedule, &session, diag);
  options.sampling.duration_s = seconds_until(end_ns);
  if (status == PREM_OK)
    status =
        prem_compare(session, schedule, request->context->backend, &options, &out->result, diag);
  if (out->result && finish_outcomes(&collector) != PREM_OK)
    status = PREM_ERR_MEMORY;
  if (status == PREM_OK)
    prem_experiment_repeated(request->context, request->repeat, out->result->rows[0].all_samples);
  prem_session_close(session);
  return status;
}

/* Notes on rounded offsets and the like would bury what went wrong. */
static void pass_errors(const prem_diag *from, prem_diag *to) {
  for (size_t i = 0; i < prem_diag_count(from); ++i) {
    const prem_problem *problem = prem_diag_at(from, i);
    if (problem->severity == PREM_ERROR)
      prem_diag_add(to, PREM_ERROR, problem->code, (prem_place){0}, problem->key, "%s",
                    problem->reason);
  }
}

prem_status prem_scenario_run(const prem_scenario_request *request, prem_measured *out,
                              prem_diag *diag) {
  *out = (prem_measured){0};
  if (prem_experiment_stopped(request->context))
    return PREM_ERR_INTERRUPTED;
  if (request->done)
    prem_experiment_progress(request->context, *request->done, request->all);
  const int64_t end_ns = prem_experiment_row_end_ns(request->context);
  prem_diag *own = prem_diag_new();
  prem_schedule *schedule = NULL;
  prem_status status = prem_scenario_prepare(request, &schedule, own);
  if (status == PREM_OK)
    status = measure(request, schedule, end_ns, out, own);
  pass_errors(own, diag);
  prem_diag_free(own);
  prem_schedule_free(schedule);
  if (request->done)
    prem_experiment_progress(request->context, ++*request->done, request->all);
  return status;
}

void prem_measured_free(prem_measured *measured) {
  for (int m = 0; m < PREM_MODE_COUNT; ++m) {
    prem_outcome *outcome = &measured->outcomes[m];
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      prem_times_free(&outcome->phase[p]);
      prem_times_free(&outcome->beside[p]);
      prem_times_free(&outcome->reference[p]);
    }
    prem_times_free(&outcome->span);
    prem_times_free(&outcome->handover);
    free(outcome->makespan_ns);
  }
  prem_result_free(measured->result);
  *measured = (prem_measured){0};
}
