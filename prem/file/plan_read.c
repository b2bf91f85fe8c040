/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the plan group of a schedule file: hyperperiod, runs, starts. */
#include "prem/file/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const phase_words[] = {"prefetch", "compute", "writeback", NULL};
static const char *const chain_words[] = {"compute", "writeback", "job", NULL};
enum { JOB_WORD = 2 };

/* The index of a task by the name in `key`; -1 and an error where it is none. */
static int32_t read_task_name(prem_reader *reader, const config_setting_t *group, const char *key,
                              bool required) {
  const config_setting_t *setting =
      prem_read_member(reader, group, key, CONFIG_TYPE_STRING, required);
  if (!setting)
    return -1;
  const char *name = setting->value.sval ? setting->value.sval : "";
  int32_t task = -1, count = 0;
  if (!prem_find_tasks(reader, name, &task, &count))
    prem_refuse(reader, 24, setting, NULL, "there is no task '%s' in `tasks`%s",
                prem_show(name).text, prem_suggest_task(reader, name).text);
  else if (count > 1)
    prem_refuse(reader, 24, setting, NULL, "'%s' has %d copies; name one, such as '%s'", name,
                count, reader->schedule->tasks[task].name);
  return count == 1 ? task : -1;
}

/* Task and phase, which every entry needs. */
static bool read_subject(prem_reader *reader, const config_setting_t *group, int32_t *task,
                         prem_phase *phase) {
  *task = read_task_name(reader, group, "task", true);
  int word = -1;
  if (!prem_read_member(reader, group, "phase", CONFIG_TYPE_STRING, true) ||
      !prem_read_word(reader, group, "phase", phase_words, &word))
    return false;
  *phase = (prem_phase)word;
  return *task >= 0;
}

/* Phases of the tile that follow by themselves: an array of words behind `phase`. */
static bool read_chain(prem_reader *reader, const config_setting_t *group, prem_phase phase,
                       uint32_t *chain) {
  *chain = 0;
  const config_setting_t *setting = config_setting_get_member(group, "chain");
  if (!setting)
    return true;
  if (setting->type != CONFIG_TYPE_ARRAY) {
    prem_refuse(reader, 8, setting, NULL, "must be an array of phases such as [ \"compute\" ]");
    return false;
  }
  bool good = true;
  int last = (int)phase;
  for (int i = 0; i < config_setting_length(setting); ++i) {
    const char *word = config_setting_get_string_elem(setting, i);
    int which = 0;
    while (word && chain_words[which] && strcmp(word, chain_words[which]) != 0)
      ++which;
    if (!word || !chain_words[which]) {
      prem_refuse(reader, 24, setting, NULL,
                  "'%s' cannot be chained; \"compute\" and \"writeback\" "
                  "can",
                  word ? prem_show(word).text : "?");
      good = false;
    } else if (which == JOB_WORD && config_setting_length(setting) > 1) {
      prem_refuse(reader, 24, setting, NULL, "\"job\" stands for all phases: name it alone");
      good = false;
    } else if (which == JOB_WORD) {
      *chain = PREM_CHAIN_JOB;
    } else if (which + 1 <= last) {
      prem_refuse(reader, 24, setting, NULL, "the %s cannot follow the %s", word,
                  prem_phase_name((prem_phase)last));
      good = false;
    } else {
      last = which + 1;
      *chain |= which == 0 ? PREM_CHAIN_COMPUTE : PREM_CHAIN_WRITEBACK;
    }
  }
  return good;
}

static void read_join(prem_reader *reader, const config_setting_t *group, prem_affine *affine) {
  static const char *const keys[] = {"task", "tile", "job", NULL};
  const config_setting_t *join = prem_read_member(reader, group, "join", CONFIG_TYPE_GROUP, false);
  if (!join)
    return;
  prem_read_known_keys(reader, join, keys);
  if (affine->phase != PREM_PREFETCH) {
    prem_refuse(reader, 24, join, NULL,
                "only a run of prefetches can be joined with the writebacks of earlier tiles");
    return;
  }
  int32_t task = affine->task;
  if (config_setting_get_member(join, "task"))
    task = read_task_name(reader, join, "task", true);
  if (!config_setting_get_member(join, "tile"))
    prem_refuse(reader, 3, join, "tile",
                "missing; give the tile whose writeback is joined with the run's first prefetch");
  else if (task >= 0)
    affine->join_task = task;
  prem_read_integer(reader, join, "tile", -PREM_MAX_SLOTS, PREM_MAX_SLOTS, &affine->join_tile);
  affine->join_job = affine->job;
  prem_read_integer(reader, join, "job", 0, PREM_MAX_SLOTS, &affine->join_job);
}

/* Where a job goes on by itself there is one start for all of it. */
static void refuse_beside_job(prem_reader *reader, const config_setting_t *group) {
  static const char *const keys[] = {"repeat",          "step_ns", "tile", "tile_per_block",
                                     "tile_per_repeat", "join",    NULL};
  for (const char *const *key = keys; *key; ++key)
    if (config_setting_get_member(group, *key))
      prem_refuse(reader, 5, group, *key,
                  "stands beside chain = [ \"job\" ], which gives each block one start a job");
}

static void read_run(prem_reader *reader, const config_setting_t *group, prem_plan *plan) {
  static const char *const keys[] = {"task",    "phase",    "chain",          "first_block",
                                     "count",   "start_ns", "block_step_ns",  "repeat",
                                     "step_ns", "tile",     "tile_per_block", "tile_per_repeat",
                                     "job",     "jobs",     "job_step_ns",    "join",
                                     NULL};
  prem_read_known_keys(reader, group, keys);
  prem_affine affine = {.count = 1,
                        .repeat = 1,
                        .tile_per_block = 1,
                        .jobs = 1,
                        .join_task = -1,
                        .place = prem_setting_place(reader, group)};
  size_t errors = prem_diag_errors(reader->diag);
  if (!read_subject(reader, group, &affine.task, &affine.phase))
    return;
  const prem_task *task = &reader->schedule->tasks[affine.task];
  affine.tile_per_repeat = task->block_count;
  affine.job_step_ns = task->period_ns;
  read_chain(reader, group, affine.phase, &affine.chain);
  if (affine.chain & PREM_CHAIN_JOB)
    refuse_beside_job(reader, group);
  prem_read_int32(reader, group, "first_block", 0, PREM_MAX_BLOCKS, &affine.first_block);
  prem_read_int32(reader, group, "count", 1, PREM_MAX_BLOCKS, &affine.count);
  if (!config_setting_get_member(group, "start_ns"))
    prem_refuse(reader, 3, group, "start_ns", "missing; give the first start, such as 0L");
  prem_read_time(reader, group, "start_ns", PREM_TIME_OFFSET, &affine.start_ns);
  prem_read_time(reader, group, "block_step_ns", PREM_TIME_STEP, &affine.block_step_ns);
  prem_read_integer(reader, group, "repeat", 1, PREM_MAX_SLOTS, &affine.repeat);
  prem_read_time(reader, group, "step_ns", PREM_TIME_STEP, &affine.step_ns);
  affine.tile = affine.first_block;
  prem_read_integer(reader, group, "tile", -PREM_MAX_SLOTS, PREM_MAX_SLOTS, &affine.tile);
  prem_read_integer(reader, group, "tile_per_block", -PREM_MAX_SLOTS, PREM_MAX_SLOTS,
                    &affine.tile_per_block);
  prem_read_integer(reader, group, "tile_per_repeat", -PREM_MAX_SLOTS, PREM_MAX_SLOTS,
                    &affine.tile_per_repeat);
  prem_read_integer(reader, group, "job", 0, PREM_MAX_SLOTS, &affine.job);
  prem_read_integer(reader, group, "jobs", 1, PREM_MAX_SLOTS, &affine.jobs);
  prem_read_time(reader, group, "job_step_ns", PREM_TIME_STEP, &affine.job_step_ns);
  read_join(reader, group, &affine);
  if (!task->broken && affine.count > task->block_count - affine.first_block)
    prem_refuse(reader, 25, group, "first_block",
                "blocks %d to %d of task '%s', which has the blocks 0 to %d", affine.first_block,
                affine.first_block + affine.count - 1, task->name, task->block_count - 1);
  if (prem_diag_errors(reader->diag) == errors && prem_plan_add_affine(plan, &affine) != PREM_OK)
    reader->out_of_memory = true;
}

/* The instants of an entry of `starts`; NULL where they cannot be read. */
static int64_t *read_instants(prem_reader *reader, const config_setting_t *group, int64_t *count) {
  const config_setting_t *array = config_setting_get_member(group, "start_ns");
  if (!array) {
    prem_refuse(reader, 3, group, "start_ns", "missing; give the starts, such as [ 0L, 40L ]");
    return NULL;
  }
  if (array->type != CONFIG_TYPE_ARRAY) {
    prem_refuse(reader, 8, array, NULL, "must be an array of times such as [ 0L, 40L ]");
    return NULL;
  }
  *count = config_setting_length(array);
  int64_t *start_ns = malloc(((size_t)*count + 1) * sizeof *start_ns);
  reader->out_of_memory |= !start_ns;
  for (int64_t i = 0; start_ns && i < *count; ++i)
    if (!prem_setting_time(reader, config_setting_get_elem(array, (unsigned)i), PREM_TIME_START,
                           &start_ns[i])) {
      free(start_ns);
      return NULL; /* one wrong type makes all wrong: say it once */
    }
  return start_ns;
}

static void read_starts(prem_reader *reader, const config_setting_t *group, prem_plan *plan) {
  static const char *const keys[] = {"task", "phase", "chain", "block", "start_ns", NULL};
  prem_read_known_keys(reader, group, keys);
  prem_starts starts = {.place = prem_setting_place(reader, group)};
  size_t errors = prem_diag_errors(reader->diag);
  if (!read_subject(reader, group, &starts.task, &starts.phase))
    return;
  const prem_task *task = &reader->schedule->tasks[starts.task];
  read_chain(reader, group, starts.phase, &starts.chain);
  if (starts.chain & PREM_CHAIN_JOB)
    prem_refuse(reader, 24, group, "chain", "\"job\" is for runs: give one there");
  prem_read_int32(reader, group, "block", 0, PREM_MAX_BLOCKS, &starts.block);
  if (!task->broken && starts.block >= task->block_count)
    prem_refuse(reader, 25, group, "block", "is %d; task '%s' has the blocks 0 to %d", starts.block,
                task->name, task->block_count - 1);
  starts.start_ns = read_instants(reader, group, &starts.count);
  if (starts.start_ns && prem_diag_errors(reader->diag) == errors &&
      prem_plan_add_starts(plan, &starts) != PREM_OK)
    reader->out_of_memory = true;
  free(starts.start_ns);
}

static void read_entries(prem_reader *reader, const config_setting_t *group, const char *key,
                         void (*read)(prem_reader *, const config_setting_t *, prem_plan *),
                         prem_plan *plan) {
  const config_setting_t *list = prem_read_member(reader, group, key, CONFIG_TYPE_LIST, false);
  for (int32_t i = 0; list && i < config_setting_length(list); ++i) {
    const config_setting_t *entry = prem_read_list_group(reader, list, i);
    if (entry)
      read(reader, entry, plan);
  }
}

/* ---- closed windows -------------------------------------------------------------------------- */

static void read_closed(prem_reader *reader, const config_setting_t *root, prem_plan *plan) {
  static const char *const keys[] = {"open_ns", "start_ns", "end_ns", NULL};
  const config_setting_t *group =
      prem_read_member(reader, root, "closed", CONFIG_TYPE_GROUP, false);
  if (!group)
    return;
  plan->gates = true;
  prem_read_known_keys(reader, group, keys);
  prem_read_time(reader, group, "open_ns", PREM_TIME_OFFSET, &plan->open_ns);
  const config_setting_t *starts =
      prem_read_member(reader, group, "start_ns", CONFIG_TYPE_ARRAY, true);
  const config_setting_t *ends = prem_read_member(reader, group, "end_ns", CONFIG_TYPE_ARRAY, true);
  if (!starts || !ends)
    return;
  const int count = config_setting_length(starts);
  if (count != config_setting_length(ends)) {
    prem_refuse(reader, 3, group, "end_ns", "has %d instants, start_ns has %d",
                config_setting_length(ends), count);
    return;
  }
  for (int i = 0; i < count; ++i) {
    int64_t start_ns = 0, end_ns = 0;
    if (!prem_setting_time(reader, config_setting_get_elem(starts, (unsigned)i), PREM_TIME_OFFSET,
                           &start_ns) ||
        !prem_setting_time(reader, config_setting_get_elem(ends, (unsigned)i), PREM_TIME_LENGTH,
                           &end_ns))
      return;
    reader->out_of_memory |= prem_plan_add_closed(plan, start_ns, end_ns) != PREM_OK;
  }
}

/* ---- plans of operating modes ---------------------------------------------------------------- */

static const char *mode_name(const void *modes, int32_t index) {
  return ((const prem_operating_mode *)modes)[index].name;
}

/* The mode that a plan is of, by its name; NULL and an error where it cannot have one. */
static const prem_operating_mode *read_mode(prem_reader *reader, const config_setting_t *group,
                                            const prem_plan *file_plan) {
  const prem_schedule *schedule = reader->schedule;
  const int32_t count = schedule->operating_mode_count;
  char name[PREM_NAME_BYTES] = "";
  int32_t mode = 0;
  prem_read_name(reader, group, "name", true, name);
  if (!name[0])
    return NULL;
  while (mode < count && strcmp(schedule->operating_modes[mode].name, name) != 0)
    ++mode;
  if (mode == count) {
    prem_refuse(reader, 24, group, "name", "there is no operating mode '%s'%s",
                prem_show(name).text,
                prem_suggest(name, mode_name, schedule->operating_modes, count).text);
    return NULL;
  }
  for (int32_t i = 0; i < file_plan->mode_count; ++i)
    if (strcmp(file_plan->modes[i]->mode, name) == 0) {
      prem_refuse(reader, 6, group, "name", "two plans of operating mode '%s'", name);
      return NULL;
    }
  if (!schedule->operating_modes[mode].has_plan) {
    prem_refuse(reader, 51, group, "name",
                "operating mode '%s' has no `policy`, so it uses the file's plan; give it one, or "
                "leave this plan out",
                name);
    return NULL;
  }
  return &schedule->operating_modes[mode];
}

/* All else is as the file's plan says. */
static void read_mode_plan(prem_reader *reader, const config_setting_t *group,
                           prem_plan *file_plan) {
  static const char *const keys[] = {"name", "policy", "runs", "starts", NULL};
  prem_read_known_keys(reader, group, keys);
  const prem_operating_mode *mode = read_mode(reader, group, file_plan);
  prem_plan *plan = mode ? prem_plan_new() : NULL;
  const char *text = "";
  if (!mode)
    return;
  if (!plan || prem_plan_add_mode(file_plan, plan) != PREM_OK) {
    prem_plan_free(plan);
    reader->out_of_memory = true;
    return;
  }
  plan->place = prem_setting_place(reader, group);
  strcpy(plan->mode, mode->name);
  if (prem_read_text(reader, group, "policy", &text) && *text)
    prem_read_name(reader, group, "policy", false, plan->policy);
  plan->hyperperiod_ns = file_plan->hyperperiod_ns;
  plan->clock_step_ns = file_plan->clock_step_ns;
  read_entries(reader, group, "runs", read_run, plan);
  read_entries(reader, group, "starts", read_starts, plan);
}

/* ---- the group ------------------------------------------------------------------------------- */

void prem_read_plan(prem_reader *reader, const config_setting_t *root) {
  static const char *const keys[] = {
      "generator", "policy",         "machine",         "kernels",      "profile",
      "times",     "hyperperiod_ns", "clock_step_ns",   "warmup_tiles", "warmup_ns",
      "runs",      "starts",         "operating_modes", "closed",       NULL};
  const config_setting_t *group = prem_read_member(reader, root, "plan", CONFIG_TYPE_GROUP, false);
  if (!group)
    return;
  prem_plan *plan = prem_plan_new();
  if (!plan) {
    reader->out_of_memory = true;
    return;
  }
  prem_read_known_keys(reader, group, keys);
  plan->place = prem_setting_place(reader, group);
  const char *text = "";
  if (prem_read_text(reader, group, "generator", &text) && *text)
    prem_read_name(reader, group, "generator", false, plan->generator);
  if (prem_read_text(reader, group, "policy", &text) && *text)
    prem_read_name(reader, group, "policy", false, plan->policy);
  prem_read_string(reader, group, "machine", plan->machine, sizeof plan->machine);
  prem_read_string(reader, group, "kernels", plan->kernels, sizeof plan->kernels);
  if (prem_read_text(reader, group, "profile", &text) && *text)
    prem_read_name(reader, group, "profile", false, plan->profile);
  prem_read_string(reader, group, "times", plan->times, sizeof plan->times);
  if (!config_setting_get_member(group, "hyperperiod_ns"))
    prem_refuse(reader, 3, group, "hyperperiod_ns",
                "missing; give the least common multiple of the periods, or the plan's length");
  prem_read_time(reader, group, "hyperperiod_ns", PREM_TIME_LENGTH, &plan->hyperperiod_ns);
  prem_read_time(reader, group, "clock_step_ns", PREM_TIME_LENGTH, &plan->clock_step_ns);
  prem_read_int32(reader, group, "warmup_tiles", 0, INT32_MAX, &plan->warmup_tiles);
  prem_read_time(reader, group, "warmup_ns", PREM_TIME_OFFSET, &plan->warmup_ns);
  read_entries(reader, group, "runs", read_run, plan);
  read_entries(reader, group, "starts", read_starts, plan);
  read_entries(reader, group, "operating_modes", read_mode_plan, plan);
  read_closed(reader, group, plan);
  prem_schedule_set_plan(reader->schedule, plan);
}
