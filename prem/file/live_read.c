/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the `live` group: the arrays that a program fills and reads while the plan runs. */
#include "prem/file/reader.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"

/* -1 and an error where there is none, or where it has a port already. */
static int32_t read_array(prem_reader *reader, const config_setting_t *group) {
  const prem_schedule *schedule = reader->schedule;
  char name[2 * PREM_NAME_BYTES]; /* "TASK.PORT" as well */
  if (!config_setting_get_member(group, "array")) {
    prem_refuse(reader, 3, group, "array", "missing; name one of the arrays");
    return -1;
  }
  if (!prem_read_string(reader, group, "array", name, sizeof name))
    return -1;
  const int32_t array = prem_find_array(reader, name);
  if (array < 0)
    prem_refuse(
        reader, 24, group, "array", "there is no array '%s'%s", prem_show(name).text,
        prem_suggest_named(name, schedule->arrays, schedule->array_count, sizeof *schedule->arrays)
            .text);
  else if (prem_schedule_live_port(schedule, array) >= 0)
    prem_refuse(reader, 6, group, "array", "array '%s' has two live ports; one is its limit", name);
  else
    return array;
  return -1;
}

void prem_read_missing(prem_reader *reader, const config_setting_t *group, void *out) {
  static const char *const words[] = {"repeat", "skip", "wait", NULL};
  static const prem_missing usual[] = {PREM_MISSING_REPEAT, PREM_MISSING_SKIP, PREM_MISSING_WAIT};
  prem_live_port *port = out;
  int missing = (int)usual[port->kind];
  prem_read_word(reader, group, "missing", words, &missing);
  port->missing = (prem_missing)missing;
}

void prem_read_overflow(prem_reader *reader, const config_setting_t *group, void *out) {
  static const char *const words[] = {"wait", "drop", NULL};
  prem_live_port *port = out;
  int overflow = port->kind == PREM_LIVE_SAMPLING;
  prem_read_word(reader, group, "overflow", words, &overflow);
  port->drops = overflow == 1;
}

void prem_read_max_age(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_live_port *port = out;
  const config_setting_t *setting = config_setting_get_member(group, "max_age_ns");
  if (setting && port->kind == PREM_LIVE_SAMPLING)
    prem_setting_time(reader, setting, PREM_TIME_LENGTH, &port->max_age_ns);
  else if (setting)
    prem_refuse(reader, 5, group, "max_age_ns",
                "a queue hands on every frame, however old: leave it out, or make the port "
                "\"sampling\"");
}

void prem_read_live_buffers(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_live_port *port = out;
  const bool keeps_one = port->kind == PREM_LIVE_SAMPLING || port->missing == PREM_MISSING_REPEAT;
  prem_read_int32(reader, group, "buffers", keeps_one ? 2 : 1, PREM_MAX_LIVE_BUFFERS,
                  &port->buffers);
}

/* Without it there is none. It takes of the memory what a phase would. */
void prem_read_copy(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_live_port *port = out;
  const size_t resources = (size_t)reader->schedule->platform.resource_count;
  const config_setting_t *copy = config_setting_get_member(group, "copy");
  if (!copy)
    return;
  port->copy.demand = calloc(resources + 1, sizeof *port->copy.demand);
  if (!port->copy.demand) {
    reader->out_of_memory = true;
    return;
  }
  port->copy.demand[0] = 1; /* `memory` is the first resource */
  prem_read_phase(reader, group, "copy", &port->copy);
  if (port->copy.exists && !config_setting_get_member(copy, "wcet_ns"))
    prem_refuse(reader, 3, copy, "wcet_ns", "missing; give the longest time of a copy");
  if (port->copy.busy_ns == 0)
    port->copy.busy_ns = port->copy.wcet_ns;
}

static void read_ports(prem_reader *reader, const config_setting_t *list, bool is_output) {
  prem_schedule *schedule = reader->schedule;
  const int32_t count = list ? config_setting_length(list) : 0;
  for (int32_t i = 0; i < count; ++i) {
    const config_setting_t *group = prem_read_list_group(reader, list, i);
    if (!group)
      continue;
    prem_live_port port = {.is_output = is_output,
                           .missing = PREM_MISSING_SKIP,
                           .buffers = 3,
                           .place = prem_setting_place(reader, group)};
    prem_read_keys(reader, group, is_output ? PREM_KEYS_output : PREM_KEYS_input, &port);
    port.array = read_array(reader, group);
    if (port.array < 0) {
      free(port.copy.demand);
      continue;
    }
    schedule->live[schedule->live_count++] = port;
    schedule->live_input_count += !is_output;
  }
}

/* ---- operating modes ------------------------------------------------------------------------- */

static void switch_off(prem_reader *reader, const config_setting_t *element, int32_t mode) {
  int32_t first = -1, count = 0;
  if (!prem_read_task_name(reader, element, "", &first, &count))
    return;
  if (reader->schedule->tasks[first].off >> mode & 1)
    prem_refuse(reader, 6, element, NULL, "task '%s' stands here twice", element->value.sval);
  else
    for (int32_t t = first; t < first + count; ++t)
      reader->schedule->tasks[t].off |= UINT32_C(1) << mode;
}

/* What it does not say is as in the policy of the file. */
static void read_policy(prem_reader *reader, const config_setting_t *group,
                        prem_operating_mode *mode) {
  const config_setting_t *own = prem_read_member(reader, group, "policy", CONFIG_TYPE_GROUP, false);
  if (!own)
    return;
  mode->has_plan = true;
  mode->policy = reader->schedule->policy;
  mode->policy.place = prem_setting_place(reader, own);
  prem_read_keys(reader, own, PREM_KEYS_mode_policy, &mode->policy);
  if (reader->schedule->policy.warmup_tiles > 0)
    prem_refuse(reader, 51, own, NULL,
                "a mode with a plan of its own leaves no time for the %d warm-up tiles of the "
                "file's `policy`; leave one of the two out",
                reader->schedule->policy.warmup_tiles);
}

void prem_read_operating_mode(prem_reader *reader, const config_setting_t *group, void *live) {
  prem_schedule *schedule = live;
  const int32_t mode = schedule->operating_mode_count;
  prem_operating_mode *grown = prem_grow(schedule->operating_modes, (size_t)mode, sizeof *grown);
  if (!grown) {
    reader->out_of_memory = true;
    return;
  }
  schedule->operating_modes = grown;
  prem_operating_mode *out = &grown[schedule->operating_mode_count++];
  *out = (prem_operating_mode){0};
  out->place = prem_setting_place(reader, group);
  prem_read_keys(reader, group, PREM_KEYS_operating_mode, out);
  for (int32_t m = 0; m < mode; ++m)
    if (out->name[0] && strcmp(schedule->operating_modes[m].name, out->name) == 0)
      prem_refuse(reader, 6, group, "name", "two operating modes are called '%s'", out->name);
  const config_setting_t *off = prem_read_member(reader, group, "off", CONFIG_TYPE_ARRAY, false);
  for (int32_t i = 0; off && i < config_setting_length(off); ++i)
    switch_off(reader, config_setting_get_elem(off, (unsigned)i), mode);
  read_policy(reader, group, out);
}

/* ---- the group ------------------------------------------------------------------------------- */

void prem_read_live_ports(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_schedule *schedule = out;
  const config_setting_t *inputs =
      prem_read_member(reader, group, "inputs", CONFIG_TYPE_LIST, false);
  const config_setting_t *outputs =
      prem_read_member(reader, group, "outputs", CONFIG_TYPE_LIST, false);
  const int32_t count =
      (inputs ? config_setting_length(inputs) : 0) + (outputs ? config_setting_length(outputs) : 0);
  if (count > PREM_MAX_LIVE_PORTS) {
    prem_refuse(reader, 20, group, NULL, "%d live ports, the limit is %d", count,
                PREM_MAX_LIVE_PORTS);
    return;
  }
  schedule->live = calloc((size_t)count + 1, sizeof *schedule->live);
  reader->out_of_memory |= !schedule->live;
  if (!schedule->live)
    return;
  read_ports(reader, inputs, false);
  read_ports(reader, outputs, true);
}

void prem_read_live(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_read_keys(reader, group, PREM_KEYS_live, out);
}
