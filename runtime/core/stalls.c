/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/core/stalls.h"

#include "prem/base/numbers.h"
#include "prem/base/sorting.h"

/* The first gap that ends after an instant. */
static int64_t first_after(const prem_watch *watch, int64_t at_ns) {
  int64_t first = 0, behind = watch->gap_count;
  PREM_BISECT(first, behind, middle,
              watch->gaps[middle].start_ns + watch->gaps[middle].length_ns <= at_ns);
  return first;
}

static int64_t longest_in(const prem_watch *watch, int64_t begin_ns, int64_t end_ns) {
  int64_t longest_ns = 0;
  for (int64_t i = first_after(watch, begin_ns);
       i < watch->gap_count && watch->gaps[i].start_ns < end_ns; ++i)
    longest_ns = prem_max_i64(longest_ns, watch->gaps[i].length_ns);
  return longest_ns;
}

void prem_watch_judge(const prem_watch *watch, const prem_program *program, int64_t hyperperiod,
                      int64_t start_ns, prem_trace *trace) {
  for (int32_t t = 0; t < trace->task_count; ++t)
    for (int64_t j = trace->first_job[t]; j < trace->first_job[t + 1]; ++j) {
      const int64_t at = hyperperiod * trace->job_count + j;
      const int64_t begin_ns =
          prem_job_release_ns(program, t, (int32_t)(j - trace->first_job[t]), start_ns);
      const int64_t end_ns = start_ns + trace->job_end_ns[at] - trace->epoch_ns[hyperperiod];
      if (trace->job_end_ns[at] >= 0 && watch->begin_ns <= begin_ns && end_ns <= watch->until_ns)
        trace->away_ns[at] = longest_in(watch, begin_ns, end_ns);
    }
}
