/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the tasks of a schedule file. */
#include "prem/file/reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"

enum {
  TABLE_ENTRIES = 1 << 24, /* blocks and arguments of all tasks together */
  EDGES = 1 << 20          /* of all tasks: planners and backends keep some 200 bytes of each */
};

static bool take_table_entries(prem_reader *reader, const config_setting_t *setting,
                               int64_t count) {
  bool was_full = reader->table_entries > TABLE_ENTRIES;
  reader->table_entries += count;
  if (reader->table_entries <= TABLE_ENTRIES)
    return true;
  if (!was_full)
    prem_refuse(reader, 20, setting, NULL,
                "the tasks' blocks and arguments are above the limit of %d in all", TABLE_ENTRIES);
  return false;
}

static void *new_zeroed(prem_reader *reader, int64_t count, size_t element_bytes) {
  void *made = calloc(count > 0 ? (size_t)count : 1, element_bytes);
  reader->out_of_memory |= !made;
  return made;
}

static bool is_abstract(const prem_task *task) {
  return strcmp(task->kernel, "none") == 0;
}

/* ---- blocks --------------------------------------------------------------------------------- */

static bool add_block(prem_reader *reader, const config_setting_t *setting, prem_task *task,
                      int64_t block) {
  const int32_t blocks = reader->schedule->platform.blocks;
  if (block < 0 || block >= blocks)
    return prem_refuse(reader, 27, setting, NULL,
                       "block %" PRId64 " does not exist; the platform has blocks 0 to %d", block,
                       blocks - 1);
  /* one stands there twice, or all are too many: no need to hear the rest */
  if (task->block_count > blocks || reader->table_entries > TABLE_ENTRIES)
    return false;
  if (!PREM_APPEND(task->blocks, task->block_count, (int32_t)block)) {
    reader->out_of_memory = true;
    return false;
  }
  return true;
}

static int compare_blocks(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static void refuse_repeated_blocks(prem_reader *reader, const config_setting_t *setting,
                                   const prem_task *task) {
  int32_t *sorted = new_zeroed(reader, task->block_count, sizeof *sorted);
  if (!sorted)
    return;
  memcpy(sorted, task->blocks, (size_t)task->block_count * sizeof *sorted);
  qsort(sorted, (size_t)task->block_count, sizeof *sorted, compare_blocks);
  for (int32_t i = 1; i < task->block_count; ++i)
    if (sorted[i] == sorted[i - 1]) {
      prem_refuse(reader, 27, setting, NULL, "block %d stands here twice", sorted[i]);
      break;
    }
  free(sorted);
}

/* blocks = N: the N lowest that no task further up uses. */
static void take_free_blocks(prem_reader *reader, const config_setting_t *setting, prem_task *task,
                             int64_t count) {
  const int32_t blocks = reader->schedule->platform.blocks;
  int32_t block = reader->lowest_free_block;
  for (; block < blocks && task->block_count < count; ++block)
    if (!reader->block_is_used[block] && !add_block(reader, setting, task, block))
      return;
  reader->lowest_free_block = block;
  if (task->block_count < count)
    prem_refuse(reader, 27, setting, NULL,
                "task '%s' asks for %" PRId64 " blocks that no task further up uses, of the "
                "platform's %d there are %d; name blocks to share, such as \"0-%d\"",
                task->name, count, blocks, task->block_count, blocks - 1);
}

/* One piece of "0-131,140": returns what follows it, or NULL where it is none. */
static const char *read_range(const char *text, long *first, long *last) {
  char *end = NULL;
  if (*text < '0' || *text > '9')
    return NULL;
  *first = *last = strtol(text, &end, 10);
  if (*end == '-') {
    text = end + 1;
    if (*text < '0' || *text > '9')
      return NULL;
    *last = strtol(text, &end, 10);
  }
  return *first <= *last ? end : NULL;
}

static void read_ranges(prem_reader *reader, const config_setting_t *setting, prem_task *task,
                        const char *text) {
  const char *at = text;
  for (;;) {
    long first = 0, last = 0;
    at += strspn(at, " ");
    at = read_range(at, &first, &last);
    if (!at) {
      prem_refuse(reader, 8, setting, NULL,
                  "\"%s\" names no blocks; write ranges such as \"0-3,8\"", prem_show(text).text);
      return;
    }
    if (last - first >= PREM_MAX_BLOCKS)
      last = first + PREM_MAX_BLOCKS; /* beyond the platform anyway */
    for (long block = first; block <= last; ++block)
      if (!add_block(reader, setting, task, block))
        return;
    at += strspn(at, " ");
    if (*at == '\0')
      return;
    if (*at++ != ',')
      at = "?"; /* names no blocks */
  }
}

/* No block twice, and of all tasks together no more than there is room for. */
static void judge_blocks(prem_reader *reader, const config_setting_t *setting, prem_task *task,
                         size_t errors) {
  if (prem_diag_errors(reader->diag) == errors && task->block_count > 0)
    refuse_repeated_blocks(reader, setting, task);
  take_table_entries(reader, setting, task->block_count);
}

void prem_read_block_ranges(prem_reader *reader, const config_setting_t *setting, prem_task *task,
                            const char *text) {
  const size_t errors = prem_diag_errors(reader->diag);
  read_ranges(reader, setting, task, text);
  judge_blocks(reader, setting, task, errors);
}

/* A phase of best effort has no instant, so there is nothing to say of one. An errand has a
 * deadline, and comes when it comes. */
static void refuse_instants(prem_reader *reader, const config_setting_t *group, bool serves) {
  static const char *const instants[] = {"release_ns", "publish_ns", "overrun",
                                         "together",   "joined",     "deadline_ns"};
  static const char *const orders[] = {"period_ns", "after"};
  for (size_t i = 0; i < sizeof instants / sizeof instants[0] - serves; ++i)
    if (config_setting_get_member(group, instants[i]))
      prem_refuse(reader, 5, group, instants[i],
                  "stands beside class = \"best_effort\", whose phases start as soon as they may; "
                  "leave one of the two out");
  for (size_t i = 0; serves && i < sizeof orders / sizeof orders[0]; ++i)
    if (config_setting_get_member(group, orders[i]))
      prem_refuse(reader, 5, group, orders[i],
                  "stands beside `server`, whose errands come when they are sent; leave one of the "
                  "two out");
}

void prem_read_server(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_task *task = out;
  task->server = (prem_server){.burst = 1,
                               .aging = PREM_MAX_SERVERS,
                               .turns = 1,
                               .depth = 1,
                               .place = prem_setting_place(reader, group)};
  prem_read_keys(reader, group, PREM_KEYS_server, &task->server);
  if (!task->best_effort)
    prem_refuse(reader, 5, group, NULL,
                "stands in a critical task, whose tiles are planned; give it class = "
                "\"best_effort\", or leave `server` out");
  if (config_setting_get_member(group, "burst") && !config_setting_get_member(group, "distance_ns"))
    prem_refuse(reader, 3, group, "distance_ns",
                "missing; `burst` errands come at once, and how soon may they come again? Give a "
                "time, or leave `burst` out");
}

void prem_read_task_blocks(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_task *task = out;
  if (task->best_effort)
    refuse_instants(reader, group, config_setting_get_member(group, "server") != NULL);
  const config_setting_t *setting = config_setting_get_member(group, "blocks");
  int64_t count = 0;
  if (!setting && task->best_effort) {
    prem_refuse(reader, 3, group, "blocks",
                "missing; a best-effort task has blocks of its own: give a number, [ 0, 1 ] or "
                "\"0-1\"");
    return;
  }
  task->blocks_open = !setting;
  if (!setting)
    return;
  if (reader->schedule->platform.blocks < 1)
    return; /* the platform has been refused */
  size_t errors = prem_diag_errors(reader->diag);
  if (setting->type == CONFIG_TYPE_STRING) {
    read_ranges(reader, setting, task, setting->value.sval ? setting->value.sval : "");
  } else if (setting->type == CONFIG_TYPE_ARRAY) {
    for (int i = 0; i < config_setting_length(setting); ++i) {
      const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
      int64_t block = 0;
      if (!prem_setting_integer(reader, element, INT64_MIN, INT64_MAX, &block) ||
          !add_block(reader, setting, task, block))
        break;
    }
    if (config_setting_length(setting) == 0)
      prem_refuse(reader, 17, setting, NULL, "is empty; a task needs a block");
  } else if (prem_setting_integer(reader, setting, 1, PREM_MAX_BLOCKS, &count)) {
    take_free_blocks(reader, setting, task, count);
  }
  judge_blocks(reader, setting, task, errors);
  for (int32_t i = 0; i < task->block_count; ++i)
    reader->block_is_used[task->blocks[i]] = true;
}

/* ---- phases --------------------------------------------------------------------------------- */

static void read_demand(prem_reader *reader, const config_setting_t *group, prem_phase_spec *spec) {
  const prem_platform *platform = &reader->schedule->platform;
  const config_setting_t *demand =
      prem_read_member(reader, group, "demand", CONFIG_TYPE_GROUP, false);
  if (!demand)
    return;
  memset(spec->demand, 0, (size_t)platform->resource_count * sizeof *spec->demand);
  for (int i = 0; i < config_setting_length(demand); ++i) {
    const config_setting_t *setting = config_setting_get_elem(demand, (unsigned)i);
    const int32_t resource = prem_find_resource(platform, setting->name);
    int64_t amount = 0;
    if (resource < 0) {
      prem_refuse(reader, 24, setting, NULL, "there is no resource '%s' in the platform%s",
                  prem_show(setting->name).text,
                  prem_suggest_named(setting->name, platform->resources, platform->resource_count,
                                     sizeof *platform->resources)
                      .text);
    } else if (prem_setting_integer(reader, setting, 0, INT32_MAX, &amount)) {
      spec->demand[resource] = (int32_t)amount;
    }
  }
}

void prem_judge_busy(prem_reader *reader, const config_setting_t *group, int64_t busy_ns,
                     int64_t wcet_ns) {
  if (wcet_ns > 0 && busy_ns > wcet_ns)
    prem_refuse(reader, 23, group, "busy_ns",
                "%" PRId64 " ns is above the phase's wcet_ns of %" PRId64 " ns", busy_ns, wcet_ns);
}

void prem_read_phase(prem_reader *reader, const config_setting_t *task, const char *key,
                     prem_phase_spec *spec) {
  const config_setting_t *group = prem_read_member(reader, task, key, CONFIG_TYPE_GROUP, false);
  spec->place = prem_setting_place(reader, group ? group : task);
  if (!group)
    return;
  prem_read_keys(reader, group, PREM_KEYS_phase, spec);
  spec->exists = true;
  prem_judge_busy(reader, group, spec->busy_ns, spec->wcet_ns);
  read_demand(reader, group, spec);
}

static void judge_abstract(prem_reader *reader, const config_setting_t *group,
                           const prem_task *task) {
  if (task->port_count || task->arg_count || task->tile_rank)
    prem_refuse(reader, 31, group, "kernel",
                "\"none\" has no arrays, args or tile; name a kernel of `ttprem list`");
  if (!task->phase[0].exists && !task->phase[1].exists && !task->phase[2].exists)
    prem_refuse(reader, 29, group, NULL,
                "has no phase; give prefetch, compute or writeback with its wcet_ns");
}

void prem_read_phases(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_task *task = out;
  const int32_t resources = reader->schedule->platform.resource_count;
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
    prem_phase_spec *spec = &task->phase[phase];
    spec->demand = new_zeroed(reader, resources, sizeof *spec->demand);
    if (!spec->demand)
      return;
    spec->demand[0] = phase != PREM_COMPUTE; /* `memory` is the first resource */
    prem_read_phase(reader, group, prem_phase_name((prem_phase)phase), spec);
  }
  task->joined.demand = new_zeroed(reader, resources, sizeof *task->joined.demand);
  if (!task->joined.demand)
    return;
  for (int32_t i = 0; i < resources; ++i) {
    const int32_t fetch = task->phase[PREM_PREFETCH].demand[i];
    const int32_t store = task->phase[PREM_WRITEBACK].demand[i];
    task->joined.demand[i] = fetch > store ? fetch : store;
  }
  prem_read_phase(reader, group, "joined", &task->joined);
  if (is_abstract(task))
    judge_abstract(reader, group, task);
}

/* ---- data ----------------------------------------------------------------------------------- */

/* An array of the task's own, whose shape bind finds out; -1 where it cannot be made. */
static int32_t add_new_array(prem_reader *reader, const config_setting_t *setting,
                             const prem_task *task) {
  const int32_t writer = (int32_t)(task - reader->schedule->tasks);
  prem_array array = {.writer = writer, .place = prem_setting_place(reader, setting)};
  const int length = snprintf(array.name, sizeof array.name, "%s.%s", task->name, setting->name);
  if (length >= (int)sizeof array.name) {
    prem_refuse(reader, 12, setting, NULL,
                "the output would be called '%s.%s': %d bytes, the limit is 63", task->name,
                setting->name, length);
    return -1;
  }
  if (prem_find_array(reader, array.name) >= 0) {
    prem_refuse(reader, 6, setting, NULL, "the output and another array are both called '%s'",
                array.name);
    return -1;
  }
  return prem_add_array(reader, &array);
}

static bool is_new(const config_setting_t *setting) {
  return setting->value.sval && strcmp(setting->value.sval, "new") == 0;
}

/* Arrays called by their names are found later: they may be outputs of tasks further down. */
static void read_port(prem_reader *reader, const config_setting_t *setting, prem_task *task) {
  if (setting->type != CONFIG_TYPE_STRING) {
    prem_refuse(reader, 8, setting, NULL, "must be the name of an array, or \"new\"");
    return;
  }
  if (!prem_check_name(reader, setting, setting->name))
    return;
  strcpy(task->port_names[task->port_count], setting->name);
  task->port_arrays[task->port_count++] =
      is_new(setting) ? add_new_array(reader, setting, task) : -1;
}

void prem_read_ports(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_task *task = out;
  const config_setting_t *arrays =
      prem_read_member(reader, group, "arrays", CONFIG_TYPE_GROUP, false);
  const int count = arrays ? config_setting_length(arrays) : 0;
  if (count > PREM_MAX_PORTS) {
    prem_refuse(reader, 20, arrays, NULL, "%d arrays, the limit of a kernel is %d", count,
                PREM_MAX_PORTS);
    return;
  }
  task->port_names = new_zeroed(reader, count, sizeof *task->port_names);
  task->port_arrays = new_zeroed(reader, count, sizeof *task->port_arrays);
  for (int i = 0; i < count && task->port_names && task->port_arrays; ++i)
    read_port(reader, config_setting_get_elem(arrays, (unsigned)i), task);
}

static void find_named_arrays(prem_reader *reader, const prem_task_entry *entry) {
  const prem_schedule *schedule = reader->schedule;
  if (entry->count == 0)
    return;
  prem_task *copies = &schedule->tasks[entry->first];
  for (int32_t port = 0; port < copies->port_count; ++port) {
    const config_setting_t *group = config_setting_get_member(entry->setting, "arrays");
    const config_setting_t *setting = config_setting_get_member(group, copies->port_names[port]);
    if (is_new(setting))
      continue;
    const char *name = setting->value.sval ? setting->value.sval : "";
    const int32_t array = prem_find_array(reader, name);
    if (array < 0)
      prem_refuse(reader, 24, setting, NULL, "there is no array '%s' in `arrays`%s",
                  prem_show(name).text,
                  prem_suggest_named(name, schedule->arrays, schedule->array_count,
                                     sizeof *schedule->arrays)
                      .text);
    for (int32_t copy = 0; copy < entry->count; ++copy) {
      if (port < copies[copy].port_count)
        copies[copy].port_arrays[port] = array;
      copies[copy].broken |= array < 0 || schedule->arrays[array].broken;
    }
  }
}

/* A number of `args`. */
static bool read_number(prem_reader *reader, const config_setting_t *setting, prem_arg *arg,
                        int32_t index) {
  if (setting->type == CONFIG_TYPE_FLOAT) {
    arg->is_int = false;
    arg->values[index] = setting->value.fval;
    if (isfinite(setting->value.fval))
      return true;
    return prem_refuse(reader, 9, setting, NULL, "is beyond what a number of 64 bits holds");
  }
  if (!config_setting_is_number(setting))
    return prem_refuse(reader, 8, setting, NULL, "must be a number, or an array of numbers");
  int64_t value = 0;
  const size_t length = strlen(arg->key);
  const bool is_time = length > 3 && strcmp(arg->key + length - 3, "_ns") == 0;
  if (is_time ? !prem_setting_time(reader, setting, PREM_TIME_STEP, &value)
              : !prem_setting_integer(reader, setting, INT64_MIN, INT64_MAX, &value))
    return false;
  arg->ints[index] = value;
  arg->values[index] = (double)value;
  return true;
}

static void read_arg(prem_reader *reader, const config_setting_t *setting, prem_task *task) {
  const bool is_list = setting->type == CONFIG_TYPE_ARRAY || setting->type == CONFIG_TYPE_LIST;
  prem_arg *arg = &task->args[task->arg_count];
  if (!prem_check_name(reader, setting, setting->name))
    return;
  strcpy(arg->key, setting->name);
  arg->place = prem_setting_place(reader, setting);
  arg->count = is_list ? config_setting_length(setting) : 1;
  arg->is_int = true;
  if (arg->count == 0)
    prem_refuse(reader, 17, setting, NULL, "is empty; give one number at least");
  if (!take_table_entries(reader, setting, arg->count))
    return;
  arg->values = new_zeroed(reader, arg->count, sizeof *arg->values);
  arg->ints = new_zeroed(reader, arg->count, sizeof *arg->ints);
  ++task->arg_count;
  for (int32_t i = 0; i < arg->count && arg->values && arg->ints; ++i)
    if (!read_number(reader, is_list ? config_setting_get_elem(setting, (unsigned)i) : setting, arg,
                     i))
      break;
  if (!arg->is_int) {
    free(arg->ints);
    arg->ints = NULL;
  }
}

void prem_read_args(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_task *task = out;
  const config_setting_t *args = prem_read_member(reader, group, "args", CONFIG_TYPE_GROUP, false);
  const int count = args ? config_setting_length(args) : 0;
  task->args = new_zeroed(reader, count, sizeof *task->args);
  for (int i = 0; i < count && task->args; ++i)
    read_arg(reader, config_setting_get_elem(args, (unsigned)i), task);
}

void prem_read_tile_of(prem_reader *reader, const config_setting_t *group, prem_task *task) {
  const config_setting_t *tile = prem_read_member(reader, group, "tile", CONFIG_TYPE_ARRAY, false);
  const int rank = tile ? config_setting_length(tile) : 0;
  if (tile && (rank < 1 || rank > PREM_MAX_RANK)) {
    prem_refuse(reader, 17, tile, NULL, "has %d dimensions; 1 to %d are possible", rank,
                PREM_MAX_RANK);
    return;
  }
  for (int d = 0; d < rank; ++d) {
    int64_t size = 0;
    if (!prem_setting_integer(reader, config_setting_get_elem(tile, (unsigned)d), 1, INT32_MAX,
                              &size))
      return;
    task->tile[d] = (int32_t)size;
  }
  task->tile_rank = rank;
}

/* What a best-effort task's tile costs is its gate's, so it names its own. */
void prem_read_tile(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_task *task = out;
  if (is_abstract(task) && !config_setting_get_member(group, "tiles"))
    prem_refuse(reader, 3, group, "tiles", "missing; a task without a kernel needs it");
  prem_read_tile_of(reader, group, task);
  task->tile_open = !is_abstract(task) && !task->best_effort &&
                    !config_setting_get_member(group, "tile") && task->tile_count == 0;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void read_task(prem_reader *reader, const config_setting_t *group, prem_task *task) {
  prem_read_values(reader, group, PREM_KEY_task_class, task);
  if (config_setting_get_member(group, "overrun") &&
      !config_setting_get_member(group, "deadline_ns"))
    prem_refuse(reader, 3, group, "deadline_ns",
                "missing; `overrun` says what happens when a job is not over at its deadline: give "
                "one, or leave `overrun` out");
  if (task->period_ns > 0 && task->release_ns >= task->period_ns)
    prem_refuse(reader, 32, group, "release_ns",
                "%" PRId64 " ns is not below the period of %" PRId64 " ns", task->release_ns,
                task->period_ns);
}

/* A new task; NULL when out of memory. */
static prem_task *add_task(prem_reader *reader, const config_setting_t *group, const char *name,
                           const char *kernel) {
  prem_schedule *schedule = reader->schedule;
  prem_task *grown =
      prem_grow(schedule->tasks, (size_t)schedule->task_count, sizeof *schedule->tasks);
  if (!grown) {
    reader->out_of_memory = true;
    return NULL;
  }
  schedule->tasks = grown;
  prem_task *task = &schedule->tasks[schedule->task_count++];
  *task = (prem_task){.place = prem_setting_place(reader, group)};
  strcpy(task->name, name);
  strcpy(task->kernel, kernel);
  return task;
}

static bool read_copies(prem_reader *reader, const config_setting_t *group, const char *name,
                        int32_t *copies) {
  *copies = 1;
  prem_read_int32(reader, group, "copies", 1, PREM_MAX_TASKS, copies);
  if (reader->schedule->task_count + (int64_t)*copies > PREM_MAX_TASKS)
    return prem_refuse(reader, 20, group, NULL, "more than %d tasks in all", PREM_MAX_TASKS);
  if (*copies > 1 && strlen(name) + 6 >= PREM_NAME_BYTES)
    return prem_refuse(reader, 12, group, "name",
                       "'%s' is too long for a task with copies; 57 bytes are "
                       "the limit",
                       prem_show(name).text);
  return true;
}

/* One entry of the list: a task, or its copies. An entry in error gives broken tasks. */
static void read_entry(prem_reader *reader, const config_setting_t *group, prem_task_entry *entry) {
  int32_t copies = 1;
  size_t errors = prem_diag_errors(reader->diag);
  prem_read_known_keys(reader, group, PREM_KEYS_task);
  entry->setting = group;
  entry->first = reader->schedule->task_count;
  const bool is_named = prem_read_name(reader, group, "name", true, entry->name);
  strcpy(entry->kernel, "none");
  prem_read_name(reader, group, "kernel", true, entry->kernel);
  if (!is_named || !read_copies(reader, group, entry->name, &copies))
    return;
  for (int32_t copy = 0; copy < copies; ++copy) {
    char name[PREM_NAME_BYTES + 16];
    if (copies > 1)
      snprintf(name, sizeof name, "%.57s.%d", entry->name, copy);
    else
      strcpy(name, entry->name);
    prem_task *task = add_task(reader, group, name, entry->kernel);
    if (!task)
      return;
    ++entry->count;
    if (copy == 0 || prem_diag_errors(reader->diag) == errors)
      read_task(reader, group, task);
    /* a platform in error has no blocks to run on */
    task->broken = task->block_count == 0 && !task->blocks_open;
  }
  for (int32_t i = 0; prem_diag_errors(reader->diag) > errors && i < entry->count; ++i)
    reader->schedule->tasks[entry->first + i].broken = true;
}

/* Names that two tasks share, copies included. */
static void refuse_equal_names(prem_reader *reader, prem_schedule *schedule) {
  const int32_t *by_name = schedule->private_data->by_name;
  for (int32_t i = 1; i < schedule->task_count; ++i) {
    const prem_task *first = &schedule->tasks[by_name[i - 1]];
    prem_task *second = &schedule->tasks[by_name[i]];
    if (strcmp(first->name, second->name) != 0)
      continue;
    prem_diag_add(reader->diag, PREM_ERROR, 6, second->place, "tasks",
                  "two tasks are called '%s'; the other one is in line %d", second->name,
                  first->place.line);
    second->broken = true;
  }
}

/* ---- precedence ----------------------------------------------------------------------------- */

static bool add_after(prem_reader *reader, prem_task *task, const prem_after *after) {
  if (!PREM_APPEND(task->after, task->after_count, *after)) {
    reader->out_of_memory = true;
    return false;
  }
  return true;
}

bool prem_find_tasks(const prem_reader *reader, const char *name, int32_t *first, int32_t *count) {
  *first = prem_schedule_find_task(reader->schedule, name);
  *count = 1;
  for (int32_t e = 0; *first < 0 && e < reader->entry_count; ++e)
    if (reader->entries[e].count > 0 && strcmp(reader->entries[e].name, name) == 0) {
      *first = reader->entries[e].first;
      *count = reader->entries[e].count;
    }
  return *first >= 0;
}

static prem_shown suggest_task(const prem_reader *reader, const char *name) {
  const prem_schedule *schedule = reader->schedule;
  const prem_shown entry =
      prem_suggest_named(name, reader->entries, reader->entry_count, sizeof *reader->entries);
  return entry.text[0] ? entry
                       : prem_suggest_named(name, schedule->tasks, schedule->task_count,
                                            sizeof *schedule->tasks);
}

bool prem_read_task_name(prem_reader *reader, const config_setting_t *setting, const char *where,
                         int32_t *first, int32_t *count) {
  const char *name = setting->type == CONFIG_TYPE_STRING ? setting->value.sval : NULL;
  if (!name)
    prem_refuse(reader, 8, setting, NULL, "must be the name of a task");
  else if (!prem_find_tasks(reader, name, first, count))
    prem_refuse(reader, 24, setting, NULL, "there is no task '%s'%s%s", prem_show(name).text, where,
                suggest_task(reader, name).text);
  return name && *first >= 0;
}

/* Jobs are paired one by one only where both tasks have as many. */
static void refuse_pairing(prem_reader *reader, const config_setting_t *group,
                           const prem_task *task, const prem_task *before) {
  char period[2][48] = {"is one-shot", "is one-shot"};
  if (task->period_ns > 0)
    snprintf(period[0], sizeof period[0], "has a period of %" PRId64 " ns", task->period_ns);
  if (before->period_ns > 0)
    snprintf(period[1], sizeof period[1], "has one of %" PRId64 " ns", before->period_ns);
  prem_refuse(reader, 26, group, NULL,
              "task '%s' %s and its predecessor '%s' %s: their jobs do not pair; add instance = "
              "\"latest\"",
              task->name, period[0], before->name, period[1]);
}

void prem_read_after_task(prem_reader *reader, const config_setting_t *group, void *out) {
  (void)out;
  prem_read_member(reader, group, "task", CONFIG_TYPE_STRING, true);
}

/* An entry of `after`, for all copies of the successor. */
static bool read_after(prem_reader *reader, const config_setting_t *group,
                       const prem_task_entry *entry) {
  prem_after after = {.place = prem_setting_place(reader, group)};
  const config_setting_t *name = config_setting_get_member(group, "task");
  prem_read_keys(reader, group, PREM_KEYS_after, &after);
  if (!name || name->type != CONFIG_TYPE_STRING)
    return false;
  int32_t first = 0, count = 0;
  if (!prem_read_task_name(reader, name, "", &first, &count))
    return false;
  const prem_task *task = &reader->schedule->tasks[entry->first];
  const prem_task *before = &reader->schedule->tasks[first];
  const bool is_judged = !task->broken && !before->broken; /* else a period may be missing */
  if (is_judged && !after.latest && task->period_ns != before->period_ns &&
      task->best_effort == before->best_effort) /* else E055 */
    refuse_pairing(reader, group, task, before);
  if (after.per_block && (after.latest || after.lag_ns > 0))
    prem_refuse(reader, 26, group, "per",
                "per = \"block\" joins jobs one by one, without a lag: leave %s out",
                after.latest ? "instance = \"latest\"" : "lag_ns");
  after.per_open = !config_setting_get_member(group, "per") && !after.latest && after.lag_ns == 0;
  reader->edges += (int64_t)entry->count * count;
  if (reader->edges > EDGES)
    return prem_refuse(
        reader, 20, group, NULL,
        "%d tasks after %d each make more than the limit of %d edges in all; let one task "
        "that comes after all of these stand between",
        entry->count, count, EDGES);
  for (int32_t i = 0; i < entry->count; ++i)
    for (after.task = first; after.task < first + count; ++after.task)
      if (!add_after(reader, &reader->schedule->tasks[entry->first + i], &after))
        return false;
  return true;
}

static void read_precedence(prem_reader *reader, const prem_task_entry *entry) {
  if (entry->count == 0)
    return;
  size_t errors = prem_diag_errors(reader->diag);
  const config_setting_t *list =
      prem_read_member(reader, entry->setting, "after", CONFIG_TYPE_LIST, false);
  for (int32_t i = 0; list && i < config_setting_length(list); ++i) {
    const config_setting_t *group = prem_read_list_group(reader, list, i);
    if (group && !read_after(reader, group, entry) && reader->out_of_memory)
      return;
  }
  for (int32_t i = 0; prem_diag_errors(reader->diag) > errors && i < entry->count; ++i)
    reader->schedule->tasks[entry->first + i].broken = true;
}

void prem_read_tasks(prem_reader *reader, const config_setting_t *root, void *out) {
  prem_schedule *schedule = out;
  if (!config_setting_get_member(root, "tasks")) {
    prem_diag_add(reader->diag, PREM_ERROR, 1,
                  (prem_place){prem_schedule_intern(schedule, schedule->path), 0}, "tasks",
                  "missing; give the list of what has to run");
    return;
  }
  const config_setting_t *list = prem_read_member(reader, root, "tasks", CONFIG_TYPE_LIST, false);
  const int32_t count = list ? config_setting_length(list) : 0;
  if (list && count == 0)
    prem_refuse(reader, 1, list, NULL, "no tasks; give one at least");
  if (count > PREM_MAX_TASKS) {
    prem_refuse(reader, 20, list, NULL, "%d tasks, the limit is %d", count, PREM_MAX_TASKS);
    return;
  }
  reader->entries = new_zeroed(reader, count, sizeof *reader->entries);
  reader->block_is_used = new_zeroed(reader, schedule->platform.blocks, sizeof(bool));
  if (!reader->entries || !reader->block_is_used)
    return;
  reader->entry_count = count;
  for (int32_t i = 0; i < count; ++i) {
    const config_setting_t *group = prem_read_list_group(reader, list, i);
    if (group)
      read_entry(reader, group, &reader->entries[i]);
  }
  if (prem_schedule_index(schedule) != PREM_OK) {
    reader->out_of_memory = true;
    return;
  }
  refuse_equal_names(reader, schedule);
  int32_t servers = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    servers += schedule->tasks[t].server.capacity > 0;
  if (servers > PREM_MAX_SERVERS)
    prem_refuse(reader, 20, list, NULL, "%d tasks with a server, the limit is %d", servers,
                PREM_MAX_SERVERS);
  for (int32_t i = 0; i < count && !reader->out_of_memory; ++i) {
    find_named_arrays(reader, &reader->entries[i]);
    read_precedence(reader, &reader->entries[i]);
  }
}
