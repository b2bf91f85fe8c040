/* SPDX-License-Identifier: Apache-2.0 */
/* State arrays in a live session: making the tickets, and what executors ask of them. */
#include "runtime/core/courier_versions.h"

#include <stdlib.h>

/* ---- making --------------------------------------------------------------------------------- */

/* A job that ran can be given up until it is over: for an overrun of its own, or of one that it is
 * made of. */
static bool can_be_given_up(const prem_courier *c, int32_t task) {
  for (int32_t t = 0; t < c->task_count; ++t) {
    const prem_omissions *own = c->tasks[t].left_out;
    if (!own || !own->dependents)
      continue;
    if (t == task)
      return true;
    for (int32_t d = 0; d < own->dependent_count; ++d)
      if (own->dependents[d] == task)
        return true;
  }
  return false;
}

/* A block may ask for the ticket behind the last job of the last hyperperiod that is open. */
static prem_status make_tickets(const prem_courier *c, prem_live_versions *of) {
  uint64_t room = 1;
  while (room < (uint64_t)((c->rows + 2) * of->jobs))
    room *= 2;
  of->ring_mask = room - 1;
  of->tickets = calloc((size_t)room, sizeof *of->tickets);
  return of->tickets ? PREM_OK : PREM_ERR_MEMORY;
}

prem_status prem_courier_compile_versions(prem_courier *c) {
  const prem_versions *all = &c->program->versions;
  prem_status status = PREM_OK;
  c->versions = calloc((size_t)all->array_count + 1, sizeof *c->versions);
  if (!c->versions)
    return PREM_ERR_MEMORY;
  c->version_count = all->array_count;
  for (int32_t i = 0; !status && i < all->array_count; ++i) {
    const prem_versioned *array = &all->arrays[i];
    prem_live_versions *of = &c->versions[i];
    *of = (prem_live_versions){.writer = array->writer,
                               .jobs = array->jobs,
                               .slots = array->versions,
                               .waits_for_end = can_be_given_up(c, array->writer)};
    if (array->versions > 1)
      status = make_tickets(c, of);
  }
  return status;
}

void prem_courier_free_versions(prem_courier *c) {
  for (int32_t i = 0; c->versions && i < c->version_count; ++i)
    free((void *)c->versions[i].tickets);
  free(c->versions);
}

void prem_courier_count_versions_from(prem_courier *c, int64_t hyperperiod) {
  for (int32_t i = 0; i < c->version_count; ++i)
    c->versions[i].next = hyperperiod * c->versions[i].jobs;
}

/* ---- what executors ask ---------------------------------------------------------------------- */

/* The ticket of the writer's job that finds the version which is read, or makes the one that is
 * written. */
static bool find_ticket(const prem_courier *c, const prem_version_use *use, int64_t hyperperiod,
                        int32_t job, uint64_t *word) {
  const prem_live_versions *of = &c->versions[use->of];
  const int64_t version = prem_version_of(&c->program->versions, use, hyperperiod, job,
                                          c->first_hyperperiod * of->jobs);
  const uint64_t number = (uint64_t)(version - use->writes);
  *word = prem_word_near(&of->tickets[number & of->ring_mask]);
  return *word >> 16 == (number + 1) << 16 >> 16;
}

bool prem_courier_has_versions(const prem_courier *c, int64_t hyperperiod,
                               const prem_record *record) {
  const prem_version_use *const *uses = c->program->tasks[record->task].versions;
  uint64_t word;
  for (int32_t p = 0; uses && p < PREM_MAX_PORTS; ++p)
    if (uses[p] && c->versions[uses[p]->of].slots > 1 && uses[p]->phase == record->phase &&
        !find_ticket(c, uses[p], hyperperiod, record->job, &word))
      return false;
  return true;
}

void prem_courier_version_slots(const prem_courier *c, int64_t hyperperiod,
                                const prem_record *record, int32_t slots[PREM_MAX_PORTS]) {
  const prem_version_use *const *uses = c->program->tasks[record->task].versions;
  uint64_t word;
  for (int32_t p = 0; uses && p < PREM_MAX_PORTS; ++p)
    if (uses[p] && c->versions[uses[p]->of].slots > 1 &&
        find_ticket(c, uses[p], hyperperiod, record->job, &word))
      slots[p] = (int32_t)(uses[p]->writes ? word >> 8 & 0xFF : word & 0xFF);
}
