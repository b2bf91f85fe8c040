/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the `live` group: the arrays that a program fills and reads while the plan runs. */
#include "prem/file/reader.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"sampling", "queuing", "trigger", NULL};
static const char *const output_kinds[] = {"sampling", "queuing", NULL};

static const char *array_name(const void *arrays, int32_t index) {
  return ((const prem_array *)arrays)[index].name;
}

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
    prem_refuse(reader, 24, group, "array", "there is no array '%s'%s", prem_show(name).text,
                prem_suggest(name, array_name, schedule->arrays, schedule->array_count).text);
  else if (prem_schedule_live_port(schedule, array) >= 0)
    prem_refuse(reader, 6, group, "array", "array '%s' has two live ports; one is its limit", name);
  else
    return array;
  return -1;
}

/* A key that has no meaning for this kind of port. */
static void refuse_key(prem_reader *reader, const config_setting_t *group, const char *key,
                       const char *why) {
  if (config_setting_get_member(group, key))
    prem_refuse(reader, 5, group, key, "%s", why);
}

static void read_buffers(prem_reader *reader, const config_setting_t *group, prem_live_port *port) {
  const bool keeps_one = port->kind == PREM_LIVE_SAMPLING || port->missing == PREM_MISSING_REPEAT;
  port->buffers = 3;
  prem_read_int32(reader, group, "buffers", keeps_one ? 2 : 1, PREM_MAX_LIVE_BUFFERS,
                  &port->buffers);
}

/* Without it there is none. It takes of the memory what a phase would. */
static void read_copy(prem_reader *reader, const config_setting_t *group, prem_live_port *port) {
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

static void read_input(prem_reader *reader, const config_setting_t *group, prem_live_port *port) {
  static const char *const keys[] = {"array",   "kind",       "buffers", "missing",
                                     "lead_ns", "max_age_ns", "copy",    NULL};
  static const char *const words[] = {"repeat", "skip", "wait", NULL};
  static const prem_missing usual[] = {PREM_MISSING_REPEAT, PREM_MISSING_SKIP, PREM_MISSING_WAIT};
  int kind = PREM_LIVE_SAMPLING;
  prem_read_known_keys(reader, group, keys);
  prem_read_word(reader, group, "kind", kinds, &kind);
  int missing = (int)usual[kind];
  prem_read_word(reader, group, "missing", words, &missing);
  port->kind = (prem_live_kind)kind;
  port->missing = (prem_missing)missing;
  prem_read_time(reader, group, "lead_ns", PREM_TIME_OFFSET, &port->lead_ns);
  if (port->kind == PREM_LIVE_SAMPLING)
    prem_read_time(reader, group, "max_age_ns", PREM_TIME_LENGTH, &port->max_age_ns);
  else
    refuse_key(reader, group, "max_age_ns",
               "a queue hands on every frame, however old: leave it out, or make the port "
               "\"sampling\"");
  read_buffers(reader, group, port);
  read_copy(reader, group, port);
}

static void read_output(prem_reader *reader, const config_setting_t *group, prem_live_port *port) {
  static const char *const keys[] = {"array",      "kind", "buffers", "overflow",
                                     "publish_ns", "copy", NULL};
  static const char *const words[] = {"wait", "drop", NULL};
  int kind = PREM_LIVE_SAMPLING;
  prem_read_known_keys(reader, group, keys);
  prem_read_word(reader, group, "kind", output_kinds, &kind);
  int overflow = kind == PREM_LIVE_SAMPLING;
  prem_read_word(reader, group, "overflow", words, &overflow);
  port->kind = (prem_live_kind)kind;
  port->missing = PREM_MISSING_SKIP;
  port->drops = overflow == 1;
  prem_read_time(reader, group, "publish_ns", PREM_TIME_LENGTH, &port->publish_ns);
  read_buffers(reader, group, port);
  read_copy(reader, group, port);
}

static void read_ports(prem_reader *reader, const config_setting_t *list, bool is_output) {
  prem_schedule *schedule = reader->schedule;
  const int32_t count = list ? config_setting_length(list) : 0;
  for (int32_t i = 0; i < count; ++i) {
    const config_setting_t *group = prem_read_list_group(reader, list, i);
    if (!group)
      continue;
    prem_live_port port = {.is_output = is_output, .place = prem_setting_place(reader, group)};
    if (is_output)
      read_output(reader, group, &port);
    else
      read_input(reader, group, &port);
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
  const char *name = element->type == CONFIG_TYPE_STRING ? element->value.sval : NULL;
  int32_t first = 0, count = 0;
  if (!name)
    prem_refuse(reader, 8, element, NULL, "must be the name of a task");
  else if (!prem_find_tasks(reader, name, &first, &count))
    prem_refuse(reader, 24, element, NULL, "there is no task '%s'%s", prem_show(name).text,
                prem_suggest_task(reader, name).text);
  else if (reader->schedule->tasks[first].off >> mode & 1)
    prem_refuse(reader, 6, element, NULL, "task '%s' stands here twice", prem_show(name).text);
  else
    for (int32_t t = first; t < first + count; ++t)
      reader->schedule->tasks[t].off |= UINT32_C(1) << mode;
}

static void read_operating_mode(prem_reader *reader, const config_setting_t *group) {
  static const char *const keys[] = {"name", "off", "policy", NULL};
  prem_schedule *schedule = reader->schedule;
  const int32_t mode = schedule->operating_mode_count++;
  prem_operating_mode *out = &schedule->operating_modes[mode];
  prem_read_known_keys(reader, group, keys);
  out->place = prem_setting_place(reader, group);
  prem_read_name(reader, group, "name", true, out->name);
  for (int32_t m = 0; m < mode; ++m)
    if (out->name[0] && strcmp(schedule->operating_modes[m].name, out->name) == 0)
      prem_refuse(reader, 6, group, "name", "two operating modes are called '%s'", out->name);
  const config_setting_t *off = prem_read_member(reader, group, "off", CONFIG_TYPE_ARRAY, false);
  for (int32_t i = 0; off && i < config_setting_length(off); ++i)
    switch_off(reader, config_setting_get_elem(off, (unsigned)i), mode);
  prem_read_mode_policy(reader, group, out);
}

static void read_operating_modes(prem_reader *reader, const config_setting_t *live) {
  prem_schedule *schedule = reader->schedule;
  const config_setting_t *list =
      prem_read_member(reader, live, "operating_modes", CONFIG_TYPE_LIST, false);
  const int32_t count = list ? config_setting_length(list) : 0;
  if (count > PREM_MAX_OPERATING_MODES) {
    prem_refuse(reader, 20, list, NULL, "%d operating modes, the limit is %d", count,
                PREM_MAX_OPERATING_MODES);
    return;
  }
  if (count == 0)
    return;
  schedule->operating_modes = calloc((size_t)count, sizeof *schedule->operating_modes);
  reader->out_of_memory |= !schedule->operating_modes;
  for (int32_t i = 0; schedule->operating_modes && i < count; ++i) {
    const config_setting_t *group = prem_read_list_group(reader, list, i);
    if (group)
      read_operating_mode(reader, group);
  }
}

/* ---- the group ------------------------------------------------------------------------------- */

static void read_all_ports(prem_reader *reader, const config_setting_t *group) {
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
  reader->schedule->live = calloc((size_t)count + 1, sizeof *reader->schedule->live);
  reader->out_of_memory |= !reader->schedule->live;
  if (!reader->schedule->live)
    return;
  read_ports(reader, inputs, false);
  read_ports(reader, outputs, true);
}

void prem_read_live(prem_reader *reader, const config_setting_t *root) {
  static const char *const keys[] = {"inputs", "outputs", "operating_modes", NULL};
  const config_setting_t *group = prem_read_member(reader, root, "live", CONFIG_TYPE_GROUP, false);
  if (!group)
    return;
  prem_read_known_keys(reader, group, keys);
  read_all_ports(reader, group);
  read_operating_modes(reader, group);
}
