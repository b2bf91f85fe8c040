/* SPDX-License-Identifier: Apache-2.0 */
/* Which job's output did a reader in fact read? From that, along a chain, reaction and data age. */
#include "measure/chain_latency.h"

#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"

enum { NOT_KNOWN = -2, NO_DATA = -1 }; /* instead of the number of a job */

/** A launch, as far as it is known. Jobs of a task are numbered over all hyperperiods. */
typedef struct launch {
  const prem_trace *trace;
  int64_t complete;  /* hyperperiods of which no raw record is missing */
  int64_t *begin_ns; /* [hyperperiod][job], as job_end_ns: start of the job's first phase */
} launch;

static int64_t jobs_of(const launch *run, int32_t task) {
  return run->trace->first_job[task + 1] - run->trace->first_job[task];
}

static int64_t index_of(const launch *run, int32_t task, int64_t job) {
  const int64_t jobs = jobs_of(run, task);
  return job / jobs * run->trace->job_count + run->trace->first_job[task] + job % jobs;
}

static int64_t begin_of(const launch *run, int32_t task, int64_t job) {
  return run->begin_ns[index_of(run, task, job)];
}

static int64_t end_of(const launch *run, int32_t task, int64_t job) {
  return run->trace->job_end_ns[index_of(run, task, job)];
}

/* ---- when jobs began ------------------------------------------------------------------------ */

static int64_t count_complete(const prem_trace *trace, int64_t phases) {
  int64_t *kept = calloc((size_t)trace->hyperperiods + 1, sizeof *kept), complete = 0;
  if (!kept)
    return -1;
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].hyperperiod < trace->hyperperiods)
      ++kept[trace->records[i].hyperperiod];
  while (complete < trace->hyperperiods && kept[complete] >= phases)
    ++complete;
  free(kept);
  return complete;
}

static void find_begins(launch *run) {
  const prem_trace *trace = run->trace;
  for (int64_t i = 0; i < run->complete * trace->job_count; ++i)
    run->begin_ns[i] = INT64_MAX;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (record->hyperperiod >= run->complete)
      continue;
    int64_t *begin_ns = &run->begin_ns[record->hyperperiod * trace->job_count +
                                       trace->first_job[record->task] + record->job];
    *begin_ns = prem_min_i64(*begin_ns, record->start_ns);
  }
}

/* ---- what was read -------------------------------------------------------------------------- */

/** ends[j]: the last end of jobs 0 to j. */
static void collect_ends(const launch *run, int32_t task, int64_t *ends_ns) {
  const int64_t count = run->trace->hyperperiods * jobs_of(run, task);
  for (int64_t j = 0; j < count; ++j) {
    const int64_t end_ns = end_of(run, task, j), known_ns = end_ns < 0 ? INT64_MAX : end_ns;
    ends_ns[j] = j > 0 && ends_ns[j - 1] > known_ns ? ends_ns[j - 1] : known_ns;
  }
}

/** How many of the ascending instants are not after `at_ns`. */
static int64_t count_until(const int64_t *instants_ns, int64_t count, int64_t at_ns) {
  int64_t low = 0, high = count;
  PREM_BISECT(low, high, middle, instants_ns[middle] <= at_ns);
  return low;
}

/** From `origins` of the task before, [complete hyperperiods' jobs], to those of this one. */
static void follow(const launch *run, int32_t before, int32_t task, const int64_t *origins,
                   int64_t *ends_ns, int64_t *out) {
  const int64_t known = run->complete * jobs_of(run, before);
  const int64_t ended = run->trace->hyperperiods * jobs_of(run, before);
  collect_ends(run, before, ends_ns);
  for (int64_t j = 0; j < run->complete * jobs_of(run, task); ++j) {
    const int64_t read = count_until(ends_ns, ended, begin_of(run, task, j)) - 1;
    out[j] = read < 0 ? NO_DATA : read >= known ? NOT_KNOWN : origins[read];
  }
}

/* ---- samples -------------------------------------------------------------------------------- */

static bool add(int64_t **list, int64_t *count, int64_t ns) {
  return PREM_APPEND(*list, *count, ns);
}

/** Of every counted output: its end less the instant at which its origin began to read. */
static bool add_ages(const launch *run, int32_t first, int32_t last, const int64_t *origins,
                     int64_t discard, prem_chain_samples *to) {
  const int64_t jobs = jobs_of(run, last);
  bool room = true;
  for (int64_t j = discard * jobs; j < run->complete * jobs && room; ++j)
    if (origins[j] >= 0)
      room =
          add(&to->age_ns, &to->age_count, end_of(run, last, j) - begin_of(run, first, origins[j]));
  return room;
}

/** Of every job of the first task that has one before it: from when that one read, which an event
 *  may just have missed, to the end of the first output made of this one or a later one. */
static bool add_reactions(const launch *run, int32_t first, int32_t last, const int64_t *origins,
                          int64_t discard, prem_chain_samples *to) {
  const int64_t jobs = jobs_of(run, last), outputs = run->complete * jobs;
  const int64_t inputs = run->complete * jobs_of(run, first);
  bool room = true;
  int64_t output = 0;
  for (int64_t j = 1; j < inputs && room; ++j) {
    while (output < outputs && origins[output] < j && origins[output] != NOT_KNOWN)
      ++output;
    if (output == outputs || origins[output] == NOT_KNOWN)
      break;
    if (output >= discard * jobs)
      room = add(&to->reaction_ns, &to->reaction_count,
                 end_of(run, last, output) - begin_of(run, first, j - 1));
  }
  return room;
}

static prem_status fold(const launch *run, const prem_chain *chain, int64_t discard,
                        prem_chain_samples *samples) {
  const int64_t all = run->trace->hyperperiods * run->trace->job_count + 1;
  int64_t *origins = calloc((size_t)all, sizeof *origins);
  int64_t *next = calloc((size_t)all, sizeof *next);
  int64_t *ends_ns = calloc((size_t)all, sizeof *ends_ns);
  const int32_t first = chain->tasks[0], last = chain->tasks[chain->task_count - 1];
  bool room = origins && next && ends_ns;
  for (int64_t j = 0; room && j < run->complete * jobs_of(run, first); ++j)
    origins[j] = j;
  for (int32_t i = 1; room && i < chain->task_count; ++i) {
    follow(run, chain->tasks[i - 1], chain->tasks[i], origins, ends_ns, next);
    int64_t *swapped = origins;
    origins = next;
    next = swapped;
  }
  room = room && add_ages(run, first, last, origins, discard, samples) &&
         add_reactions(run, first, last, origins, discard, samples);
  PREM_FREE(origins, next, ends_ns);
  return room ? PREM_OK : PREM_ERR_MEMORY;
}

prem_status prem_chain_fold(const prem_chain *chain, const prem_trace *trace, int64_t discard,
                            int64_t phases, prem_chain_samples *samples) {
  launch run = {.trace = trace, .complete = count_complete(trace, phases)};
  if (run.complete < 0)
    return PREM_ERR_MEMORY;
  if (run.complete == 0)
    return PREM_OK;
  run.begin_ns = malloc((size_t)(run.complete * trace->job_count + 1) * sizeof *run.begin_ns);
  if (!run.begin_ns)
    return PREM_ERR_MEMORY;
  find_begins(&run);
  const prem_status status = fold(&run, chain, discard, samples);
  free(run.begin_ns);
  return status;
}

void prem_chain_samples_free(prem_chain_samples *samples) {
  free(samples->reaction_ns);
  free(samples->age_ns);
}
