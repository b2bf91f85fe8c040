/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two plans is the better one: see fit.h. */
#include "studies/fit_parts.h"

#include "prem/base/numbers.h"

#include <math.h>

/* Ten times as many late releases count as much as a plan that is so much longer. Those within the
 * limit, or so rare that a measurement tells nothing, count for nothing. */
static const double tenfold = 1.2, rarest = 1e-6;

static double late_part(const prem_fit_turn *turn) {
  return turn->releases > 0 ? (double)turn->late / (double)turn->releases : 0;
}

bool prem_fit_keeps_limit(const prem_fit_options *options, const prem_fit_turn *turn) {
  return late_part(turn) <= options->late;
}

/* Where much is late, the runs take longer than planned. */
static double length_ns(const prem_fit_turn *turn) {
  return (double)prem_max_i64(turn->hyperperiod_ns, turn->makespan_ns.p50);
}

static double weighed_ns(const prem_fit_options *options, const prem_fit_turn *turn) {
  const double limit = fmax(options->late, rarest);
  const double times_limit = fmax(late_part(turn) / limit, 1);
  return length_ns(turn) * pow(tenfold, log10(times_limit));
}

bool prem_fit_is_better(const prem_fit_options *options, const prem_fit_turn *a,
                        const prem_fit_turn *b) {
  if (a->is_measured != b->is_measured)
    return a->is_measured;
  const bool a_keeps = prem_fit_keeps_limit(options, a), b_keeps = prem_fit_keeps_limit(options, b);
  if (options->keeps_late && a_keeps != b_keeps)
    return a_keeps;
  const double of_a = weighed_ns(options, a), of_b = weighed_ns(options, b);
  if (of_a < of_b || of_a > of_b) /* with periods they are mostly equal */
    return of_a < of_b;
  return a->open_ns != b->open_ns ? a->open_ns > b->open_ns
                                  : a->report.min_slack_ns > b->report.min_slack_ns;
}

bool prem_fit_may_be_better(const prem_fit_options *options, const prem_fit_turn *next,
                            const prem_fit_turn *best) {
  const prem_fit_turn on_time = {.is_measured = true,
                                 .hyperperiod_ns = next->hyperperiod_ns,
                                 .open_ns = next->open_ns,
                                 .report = next->report};
  return prem_fit_is_better(options, &on_time, best);
}
