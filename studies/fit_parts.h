/* SPDX-License-Identifier: Apache-2.0 */
/** Inside the study `fit`. */
#ifndef TTPREM_STUDIES_FIT_PARTS_H
#define TTPREM_STUDIES_FIT_PARTS_H

#include "ttprem/fit.h"

enum { PREM_FIT_PILOTS = 5 }; /* runs that say how long others take */

/** A plan, and the times that it was made with. */
typedef struct prem_fit_made {
  prem_profile *profile; /* NULL: the schedule's own times */
  prem_plan *plan;       /* NULL: the schedule has it, or there is none */
  int32_t turn;          /* -1: none */
} prem_fit_made;

/** What a measurement takes, by the last one; all 0: not known yet. */
typedef struct prem_fit_costs {
  double open_s, launch_s; /* to make a session ready; to begin and verify a launch, runs apart */
  double hyperperiod_s;
} prem_fit_costs;

typedef struct prem_fitting {
  prem_schedule *schedule;
  const prem_backend *backend;
  const prem_machine *probed;
  prem_machine machine; /* with what was measured of it */
  const prem_fit_options *options;
  prem_fit *result;
  prem_phase_spec *joined; /* [task_count]: as the file has them */
  int32_t *demands;        /* [task_count * PREM_PHASE_COUNT]: of the memory */
  double open_share, began_s;
  prem_fit_costs costs;
  double opened_s;   /* when the first run of a measurement could begin */
  bool is_disturbed; /* of some phase the last measurement has no undisturbed time */
  bool has_told;     /* of that */
  bool is_mixed;     /* a pilot asks for makespans, whatever disturbed them */
  double margin;
  double quantile; /* of the times, that windows bound; 1: all that no disturbance made */
  prem_fit_made now, best;
  const char *doing;
  prem_diag *diag;
} prem_fitting;

double prem_fit_passed_s(const prem_fitting *all);
bool prem_fit_is_stopped(const prem_fitting *all);
/** What is being done from now on. */
void prem_fit_begin(prem_fitting *all, const char *doing);
void prem_fit_tell(const prem_fitting *all, const char *format, ...) PREM_PRINTF(2, 3);
/** One launch lasts as long as it takes on a GPU, where launches are dear. Threads lose their cores
 *  now and then, and what follows in a launch would be late. */
prem_scenario prem_fit_scenario(const prem_fitting *all);
/** Times of all tasks at once, or of each alone; the first run says how long others may be. */
prem_status prem_fit_look(prem_fitting *all, prem_condition times, int64_t samples,
                          prem_profile **out);
/** In the place of `*seen` the times of more samples, `most` of them at most; where there is no
 * time for that it stays. */
prem_status prem_fit_measure_more(prem_fitting *all, prem_condition times, int64_t most,
                                  prem_profile **seen);

/** The schedule has the profile's times, and `all` the profile. */
prem_status prem_fit_take_times(prem_fitting *all, prem_profile *profile);
/** It has none, so that blocks are dealt by bytes. */
void prem_fit_forget_times(prem_schedule *schedule);

/** The schedule has the best layout; a quarter of the time is for that. */
prem_status prem_fit_choose_layout(prem_fitting *all);

PREM_API bool prem_fit_keeps_limit(const prem_fit_options *options, const prem_fit_turn *turn);
/** By their lengths, and how much is late. */
PREM_API bool prem_fit_is_better(const prem_fit_options *options, const prem_fit_turn *a,
                                 const prem_fit_turn *b);
/** Would a plan that nobody has run yet be better, were none of its releases late? */
PREM_API bool prem_fit_may_be_better(const prem_fit_options *options, const prem_fit_turn *next,
                                     const prem_fit_turn *best);

/** What was chosen, and what it costs; NULL when out of memory. */
prem_findings *prem_fit_findings(const prem_schedule *schedule, const prem_fit *fit,
                                 const prem_fit_options *options);

#endif
