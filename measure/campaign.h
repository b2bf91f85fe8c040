/* SPDX-License-Identifier: Apache-2.0 */
/** What the files of a comparison share: its state, and a row from the first run to the last. */
#pragma once

#include "measure/chain_latency.h"
#include "ttprem/measure.h"

typedef struct prem_time_list {
  int64_t *ns;
  int64_t count;
} prem_time_list;

/** What a row's summaries are made of. */
typedef struct prem_samples {
  prem_time_list makespan, response, launch;
  prem_time_list away;        /* of each response, as in the trace */
  int64_t hyperperiods;       /* of the runs before, those that do not count among them */
  prem_kept_run last;         /* the last counted run; relaunch only */
  prem_chain_samples *chains; /* [chain_count of the schedule] */
} prem_samples;

typedef struct prem_campaign {
  prem_session *session;
  const prem_schedule *schedule;
  const prem_compare_options *options;
  prem_diag *diag;
  prem_result *result;
  prem_samples samples[PREM_MODE_COUNT]; /* of each row */
  bool is_left_out[PREM_MODE_COUNT];     /* the same */
  prem_trace *trace;
  int64_t rounds;         /* 0: until the duration is over */
  prem_sampling sampling; /* as the options have it; samples and discard less where a duration has
                             no room for more */
  int64_t pace_ns;        /* what a hyperperiod takes, by which it is fitted into a duration */
  int64_t phases;         /* of one hyperperiod */
  bool has_outputs;
  int64_t runs_done;
  uint64_t random;
} prem_campaign;

/** False: out of memory. */
bool prem_time_list_add(prem_time_list *list, int64_t ns);
/** All times of a hyperperiod or, without memory, none: what was measured before still counts. */
bool prem_samples_add(prem_samples *samples, const prem_schedule *schedule, const prem_trace *trace,
                      int64_t hyperperiod);
void prem_samples_free(prem_samples *samples, int32_t chains);

/** By the options: rounds, samples and what is discarded. */
void prem_rounds_lay_out(prem_campaign *campaign);
/** Samples of one mode in this round. */
int64_t prem_rounds_share(const prem_campaign *campaign, int64_t round);

prem_status prem_row_make(const prem_campaign *campaign, prem_mode mode, prem_row *row);
/** Add the run whose trace the campaign has. */
prem_status prem_row_fold(prem_campaign *campaign, int32_t row_index, int64_t discard);
/** Of a run that did not come to its end, the jobs of the hyperperiod in hand that never ended. */
void prem_row_count_unended(prem_row *row, const prem_trace *trace);
/** Sum up; the samples' times become the row's. */
prem_status prem_row_finish(const prem_campaign *campaign, prem_row *row, prem_samples *samples);
void prem_row_free(prem_row *row);
/** Was any release that counts late? */
bool prem_trace_has_late(const prem_trace *trace);
