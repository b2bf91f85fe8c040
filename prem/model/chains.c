/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of tasks whose latency is measured: judging that each task has its data from the one
 * before it. */
#include "prem/model/private.h"

#include <stdlib.h>

void prem_chains_free(prem_measure *measure) {
  for (int32_t i = 0; i < measure->chain_count; ++i)
    free(measure->chains[i].tasks);
  free(measure->chains);
  measure->chains = NULL;
  measure->chain_count = 0;
}

static bool follows(const prem_task *task, int32_t before) {
  for (int32_t i = 0; i < task->after_count; ++i)
    if (task->after[i].task == before)
      return true;
  return false;
}

static bool reads_from(const prem_task *reader, const prem_task *writer) {
  for (int32_t p = 0; writer->definition && p < writer->definition->port_count; ++p)
    if (writer->definition->ports[p].access == PREM_OUT &&
        prem_task_uses(reader, writer->arrays[p], PREM_IN))
      return true;
  return false;
}

bool prem_judge_chains(const prem_schedule *schedule, prem_diag *diag) {
  bool is_good = true;
  for (int32_t c = 0; c < schedule->measure.chain_count; ++c) {
    const prem_chain *chain = &schedule->measure.chains[c];
    for (int32_t i = 1; i < chain->task_count; ++i) {
      const prem_task *before = &schedule->tasks[chain->tasks[i - 1]];
      const prem_task *task = &schedule->tasks[chain->tasks[i]];
      if (follows(task, chain->tasks[i - 1]) || reads_from(task, before))
        continue;
      prem_diag_add(diag, PREM_ERROR, 26, chain->place, "measure.chains.tasks",
                    "chain '%s': '%s' neither is `after` '%s' nor reads what it writes, so nothing "
                    "goes from one to the other; name the tasks in the order of their data",
                    chain->name, task->name, before->name);
      is_good = false;
    }
  }
  return is_good;
}
