/* SPDX-License-Identifier: Apache-2.0 */
/** The runs whose raw records are kept for pictures: the first, the worst, and the one before that.
 */
#pragma once

#include "ttprem/measure.h"

/** Raw records kept of one run: 56 MiB, far more than a picture can show. */
enum { PREM_KEPT_RECORDS = 1 << 20 };

/** A trace that has records, and where hyperperiods began, alone: without counts, whose room grows
 *  with the tasks. */
prem_status prem_excerpt_new(int64_t hyperperiods, int64_t records, prem_trace **out);

/** Is a hyperperiod of this counted run worse than all before it? Then keep it, and what came
 *  before it.
 *
 * @param trace      sorted
 * @param discard    hyperperiods at its start that do not count
 * @param first_run  number of the trace's first hyperperiod
 * @param last       the mode's last counted run when each run is a launch of its own; set to this
 *                   one. Free its trace. NULL: this is the only run
 */
prem_status prem_kept_fold(const prem_trace *trace, int64_t discard, int64_t first_run,
                           prem_row *row, prem_kept_run *last);

/** Is this the first release that came later than the limit? Of raw records the one due first,
 *  without them the task and phase that were worst. */
bool prem_find_break(const prem_trace *trace, int64_t limit_ns, int64_t discard, int64_t first_run,
                     prem_break *out);
