/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the chains of tasks whose latency is measured. */
#include "prem/file/reader.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"

/* The one task of a name; -1 and an error otherwise. */
static int32_t read_task(prem_reader *reader, const config_setting_t *element) {
  int32_t first = -1, count = 0;
  if (!prem_read_task_name(reader, element, "", &first, &count))
    return -1;
  if (count != 1) {
    prem_refuse(reader, 24, element, NULL, "'%s' stands for %d tasks; name one of them, as '%s.0'",
                element->value.sval, count, element->value.sval);
    return -1;
  }
  return first;
}

static bool is_in(const prem_chain *chain, int32_t task) {
  for (int32_t i = 0; i < chain->task_count; ++i)
    if (chain->tasks[i] == task)
      return true;
  return false;
}

static void read_tasks(prem_reader *reader, const config_setting_t *group, prem_chain *chain) {
  const config_setting_t *array = prem_read_member(reader, group, "tasks", CONFIG_TYPE_ARRAY, true);
  const int32_t count = array ? config_setting_length(array) : 0;
  if (array && (count < 2 || count > reader->schedule->task_count)) {
    prem_refuse(reader, count < 2 ? 17 : 6, array, NULL,
                count < 2 ? "has %d tasks; a chain has two at least"
                          : "has %d tasks, more than there are; name each once",
                count);
    return;
  }
  chain->tasks = calloc((size_t)count + 1, sizeof *chain->tasks);
  reader->out_of_memory |= !chain->tasks;
  for (int32_t i = 0; chain->tasks && i < count; ++i) {
    const config_setting_t *element = config_setting_get_elem(array, (unsigned)i);
    const int32_t task = read_task(reader, element);
    if (task >= 0 && is_in(chain, task))
      prem_refuse(reader, 6, element, NULL, "task '%s' stands here twice",
                  reader->schedule->tasks[task].name);
    else if (task >= 0)
      chain->tasks[chain->task_count++] = task;
  }
}

void prem_read_chain(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_measure *measure = out;
  prem_chain *grown = prem_grow(measure->chains, (size_t)measure->chain_count, sizeof *grown);
  if (!grown) {
    reader->out_of_memory = true;
    return;
  }
  measure->chains = grown;
  prem_chain chain = {.place = prem_setting_place(reader, group)};
  prem_read_keys(reader, group, PREM_KEYS_chain, &chain);
  for (int32_t other = 0; other < measure->chain_count; ++other)
    if (chain.name[0] && strcmp(measure->chains[other].name, chain.name) == 0)
      prem_refuse(reader, 6, group, "name", "two chains are called '%s'", chain.name);
  read_tasks(reader, group, &chain);
  if (chain.task_count < 2) /* said above; nobody shall find it */
    free(chain.tasks);
  else
    measure->chains[measure->chain_count++] = chain;
}
