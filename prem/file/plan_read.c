/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the plan group of a schedule file: hyperperiod, runs, starts. */
#include "prem/file/reader.h"

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
  int32_t task = -1, count = 0;
  if (prem_read_task_name(reader, setting, " in `tasks`", &task, &count) && count > 1)
    prem_refuse(reader, 24, setting, NULL, "'%s' has %d copies; name one, such as '%s'",
                setting->value.sval, count, reader->schedule->tasks[task].name);
  return count == 1 ? task : -1;
}

/* What a run is where it does not say. */
prem_affine prem_usual_run(const prem_schedule *schedule, int32_t task, prem_phase phase) {
  const prem_task *of = &schedule->tasks[task];
  return (prem_affine){.task = task,
                       .phase = phase,
                       .count = 1,
                       .repeat = 1,
                       .tile_per_block = 1,
                       .tile_per_repeat = of->block_count,
                       .jobs = 1,
                       .job_step_ns = of->period_ns,
                       .join_task = -1};
}

/* The blocks of a task that leaves them open. */
void prem_read_dealt(prem_reader *reader, const config_setting_t *group, void *plan) {
  (void)plan;
  prem_read_known_keys(reader, group, PREM_KEYS_dealt);
  const int32_t number = read_task_name(reader, group, "task", true);
  const config_setting_t *blocks =
      prem_read_member(reader, group, "blocks", CONFIG_TYPE_STRING, true);
  if (number < 0 || !blocks)
    return;
  prem_task *task = &reader->schedule->tasks[number];
  if (!task->blocks_open || task->block_count > 0) {
    prem_refuse(reader, 25, group, "task", "'%s' has its blocks %s; leave it out", task->name,
                task->blocks_open ? "further up" : "in `tasks`");
    return;
  }
  prem_read_block_ranges(reader, blocks, task, blocks->value.sval);
}

/* The tile of a task that leaves it open. */
void prem_read_plan_tile(prem_reader *reader, const config_setting_t *group, void *plan) {
  (void)plan;
  prem_read_known_keys(reader, group, PREM_KEYS_plan_tile);
  const int32_t number = read_task_name(reader, group, "task", true);
  if (number < 0 || !prem_read_member(reader, group, "tile", CONFIG_TYPE_ARRAY, true))
    return;
  prem_task *task = &reader->schedule->tasks[number];
  if (!task->tile_open || task->tile_rank > 0)
    prem_refuse(reader, 25, group, "task", "'%s' %s; leave it out", task->name,
                task->tile_open ? "has its tile further up" : "leaves no tile open in `tasks`");
  else
    prem_read_tile_of(reader, group, task);
}

void prem_read_plan_buffers(prem_reader *reader, const config_setting_t *group, void *plan) {
  (void)plan;
  prem_platform *platform = &reader->schedule->platform;
  if (!config_setting_get_member(group, "buffers"))
    return;
  if (!platform->buffers_open)
    prem_refuse(reader, 25, group, "buffers",
                "stands beside platform.buffers = %d, which is not \"auto\"; leave it out",
                platform->buffers);
  else
    prem_read_int32(reader, group, "buffers", 1, PREM_MAX_BUFFERS, &platform->buffers);
}

/* What is planned has blocks. Said once of a task. */
static bool has_blocks(prem_reader *reader, const config_setting_t *group, int32_t number) {
  prem_task *task = &reader->schedule->tasks[number];
  if (task->block_count > 0 || !task->blocks_open || task->broken)
    return true;
  prem_refuse(reader, 25, group, "task",
              "'%s' leaves its blocks open, and plan.blocks does not name them; take the plan out "
              "and plan anew",
              task->name);
  task->broken = true;
  return false;
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
  return *task >= 0 && has_blocks(reader, group, *task);
}

/* Phases of the tile that follow by themselves: an array of words behind `phase`. */
static void read_chain(prem_reader *reader, const config_setting_t *group, prem_phase phase,
                       uint32_t *chain) {
  *chain = 0;
  const config_setting_t *setting = config_setting_get_member(group, "chain");
  if (!setting)
    return;
  if (setting->type != CONFIG_TYPE_ARRAY) {
    prem_refuse(reader, 8, setting, NULL, "must be an array of phases such as [ \"compute\" ]");
    return;
  }
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
    } else if (which == JOB_WORD && config_setting_length(setting) > 1) {
      prem_refuse(reader, 24, setting, NULL, "\"job\" stands for all phases: name it alone");
    } else if (which == JOB_WORD) {
      *chain = PREM_CHAIN_JOB;
    } else if (which + 1 <= last) {
      prem_refuse(reader, 24, setting, NULL, "the %s cannot follow the %s", word,
                  prem_phase_name((prem_phase)last));
    } else {
      last = which + 1;
      *chain |= which == 0 ? PREM_CHAIN_COMPUTE : PREM_CHAIN_WRITEBACK;
    }
  }
}

void prem_read_join(prem_reader *reader, const config_setting_t *join, void *out) {
  prem_affine *affine = out;
  prem_read_known_keys(reader, join, PREM_KEYS_join);
  if (affine->phase != PREM_PREFETCH) {
    prem_refuse(reader, 24, join, NULL,
                "only a run of prefetches can be joined with the writebacks of earlier tiles");
    return;
  }
  int32_t task = affine->task;
  if (config_setting_get_member(join, "task"))
    task = read_task_name(reader, join, "task", true);
  if (config_setting_get_member(join, "tile") && task >= 0)
    affine->join_task = task;
  affine->join_job = affine->job;
  prem_read_values(reader, join, PREM_KEYS_join, affine);
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

void prem_read_run_chain(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_affine *affine = out;
  read_chain(reader, group, affine->phase, &affine->chain);
  if (affine->chain & PREM_CHAIN_JOB)
    refuse_beside_job(reader, group);
}

void prem_read_run(prem_reader *reader, const config_setting_t *group, void *plan) {
  int32_t subject = -1;
  prem_phase phase = PREM_PREFETCH;
  prem_read_known_keys(reader, group, PREM_KEYS_run);
  size_t errors = prem_diag_errors(reader->diag);
  if (!read_subject(reader, group, &subject, &phase))
    return;
  const prem_task *task = &reader->schedule->tasks[subject];
  prem_affine affine = prem_usual_run(reader->schedule, subject, phase);
  affine.place = prem_setting_place(reader, group);
  affine.tile = INT64_MIN; /* not given */
  prem_read_values(reader, group, PREM_KEY_run_chain, &affine);
  if (affine.tile == INT64_MIN)
    affine.tile = affine.first_block;
  if (!task->broken && affine.count > task->block_count - affine.first_block)
    prem_refuse(reader, 25, group, "first_block",
                "blocks %d to %d of task '%s', which has the blocks 0 to %d", affine.first_block,
                affine.first_block + affine.count - 1, task->name, task->block_count - 1);
  if (prem_diag_errors(reader->diag) == errors && prem_plan_add_affine(plan, &affine) != PREM_OK)
    reader->out_of_memory = true;
}

void prem_read_starts_chain(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_starts *starts = out;
  read_chain(reader, group, starts->phase, &starts->chain);
  if (starts->chain & PREM_CHAIN_JOB)
    prem_refuse(reader, 24, group, "chain", "\"job\" is for runs: give one there");
}

void prem_read_starts_block(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_starts *starts = out;
  const prem_task *task = &reader->schedule->tasks[starts->task];
  prem_read_int32(reader, group, "block", 0, PREM_MAX_BLOCKS, &starts->block);
  if (!task->broken && starts->block >= task->block_count)
    prem_refuse(reader, 25, group, "block", "is %d; task '%s' has the blocks 0 to %d",
                starts->block, task->name, task->block_count - 1);
}

/* The instants of an entry of `starts`; NULL where they cannot be read. */
void prem_read_instants(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_starts *starts = out;
  const config_setting_t *array = config_setting_get_member(group, "start_ns");
  if (!array)
    return;
  if (array->type != CONFIG_TYPE_ARRAY) {
    prem_refuse(reader, 8, array, NULL, "must be an array of times such as [ 0L, 40L ]");
    return;
  }
  starts->count = config_setting_length(array);
  starts->start_ns = malloc(((size_t)starts->count + 1) * sizeof *starts->start_ns);
  reader->out_of_memory |= !starts->start_ns;
  for (int64_t i = 0; starts->start_ns && i < starts->count; ++i)
    if (!prem_setting_time(reader, config_setting_get_elem(array, (unsigned)i), PREM_TIME_START,
                           &starts->start_ns[i]))
      return; /* one wrong type makes all wrong: say it once */
}

void prem_read_starts(prem_reader *reader, const config_setting_t *group, void *plan) {
  prem_read_known_keys(reader, group, PREM_KEYS_starts);
  prem_starts starts = {.place = prem_setting_place(reader, group)};
  size_t errors = prem_diag_errors(reader->diag);
  if (!read_subject(reader, group, &starts.task, &starts.phase))
    return;
  prem_read_values(reader, group, PREM_KEY_starts_chain, &starts);
  if (starts.start_ns && prem_diag_errors(reader->diag) == errors &&
      prem_plan_add_starts(plan, &starts) != PREM_OK)
    reader->out_of_memory = true;
  free(starts.start_ns);
}

/* ---- closed windows -------------------------------------------------------------------------- */

void prem_read_closed(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_plan *plan = out;
  plan->gates = true;
  prem_read_keys(reader, group, PREM_KEYS_closed, plan);
}

void prem_read_windows(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_plan *plan = out;
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
                prem_suggest_named(name, schedule->operating_modes, count,
                                   sizeof *schedule->operating_modes)
                    .text);
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
void prem_read_mode_plan(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_plan *file_plan = out;
  prem_read_known_keys(reader, group, PREM_KEYS_mode_plan);
  const prem_operating_mode *mode = read_mode(reader, group, file_plan);
  prem_plan *plan = mode ? prem_plan_new() : NULL;
  if (!mode)
    return;
  if (!plan || prem_plan_add_mode(file_plan, plan) != PREM_OK) {
    prem_plan_free(plan);
    reader->out_of_memory = true;
    return;
  }
  plan->place = prem_setting_place(reader, group);
  strcpy(plan->mode, mode->name);
  plan->hyperperiod_ns = file_plan->hyperperiod_ns;
  plan->clock_step_ns = file_plan->clock_step_ns;
  prem_read_values(reader, group, PREM_KEYS_mode_plan, plan);
}

/* ---- the group ------------------------------------------------------------------------------- */

void prem_read_plan(prem_reader *reader, const config_setting_t *root) {
  const config_setting_t *group = prem_read_member(reader, root, "plan", CONFIG_TYPE_GROUP, false);
  if (!group)
    return;
  prem_plan *plan = prem_plan_new();
  if (!plan) {
    reader->out_of_memory = true;
    return;
  }
  plan->place = prem_setting_place(reader, group);
  prem_read_keys(reader, group, PREM_KEYS_plan, plan);
  prem_schedule_set_plan(reader->schedule, plan);
}
