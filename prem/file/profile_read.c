/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: WCETs of a machine, in files of their own. */
#include "prem/base/fail.h"
#include "prem/file/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct profile_entry {
  prem_profile_times phase[PREM_PHASE_COUNT + 1]; /* the last is `joined` */
} profile_entry;

/* A window that somebody made shorter than what was measured. */
static void warn_of_short_wcet(prem_reader *reader, const config_setting_t *values,
                               const prem_profile_times *times) {
  if (times->wcet_ns <= 0 || times->alone_ns <= times->wcet_ns)
    return;
  prem_diag_add(reader->diag, PREM_WARNING, 0,
                prem_setting_place(reader, config_setting_get_member(values, "wcet_ns")), "wcet_ns",
                "%" PRId64 " ns is shorter than the longest time measured, alone_ns = %" PRId64
                " ns: the phase will overrun",
                times->wcet_ns, times->alone_ns);
}

/* @param by_quantile  a window may be shorter than the longest time: that was chosen */
static void read_values(prem_reader *reader, const config_setting_t *group, bool by_quantile,
                        profile_entry *out) {
  /* a joined pair has the turnaround of its halves, a compute two of them */
  static const int keys[] = {PREM_KEY_times_turnaround_ns, PREM_KEYS_times,
                             PREM_KEY_times_turnaround_ns, PREM_KEY_times_wcet_ns};
  for (int phase = 0; phase <= PREM_PHASE_COUNT; ++phase) {
    const char *name = phase < PREM_PHASE_COUNT ? prem_phase_name((prem_phase)phase) : "joined";
    const config_setting_t *values =
        prem_read_member(reader, group, name, CONFIG_TYPE_GROUP, false);
    prem_profile_times *times = &out->phase[phase];
    if (!values)
      continue;
    prem_read_known_keys(reader, values, keys[phase]);
    prem_read_values(reader, values, PREM_KEYS_times, times);
    if (!by_quantile)
      warn_of_short_wcet(reader, values, times);
    prem_judge_busy(reader, values, times->busy_ns, times->wcet_ns);
  }
}

static void apply_entry(prem_reader *reader, int32_t number, const profile_entry *entry) {
  prem_task *task = &reader->schedule->tasks[number];
  for (int phase = 0; phase <= PREM_PHASE_COUNT; ++phase) {
    prem_phase_spec *spec = phase < PREM_PHASE_COUNT ? &task->phase[phase] : &task->joined;
    bool is_given = entry->phase[phase].wcet_ns > 0;
    /* an abstract task has the phases that the file declares; a kernel's are implied */
    bool has_phase = spec->exists || phase == PREM_PHASE_COUNT || strcmp(task->kernel, "none") != 0;
    if (!is_given || !has_phase)
      continue;
    spec->wcet_ns = entry->phase[phase].wcet_ns;
    spec->busy_ns = entry->phase[phase].busy_ns;
    spec->turnaround_ns = entry->phase[phase].turnaround_ns;
    spec->unit_turnaround_ns = entry->phase[phase].unit_turnaround_ns;
    spec->exists |= phase == PREM_PHASE_COUNT;
    reader->given[number] |= (uint8_t)(1u << phase);
  }
}

static bool takes_profile(const prem_reader *reader, const prem_task *task, const char *profile) {
  return strcmp(reader->profile ? reader->profile : task->profile, profile) == 0;
}

/* An entry serves the task of its name, or the copies of an entry of the file that the profile does
 * not name themselves. */
static void apply_to_tasks(prem_reader *reader, const char *profile, const char *name,
                           const profile_entry *entry, bool *is_named) {
  prem_schedule *schedule = reader->schedule;
  int32_t first = 0, count = 0;
  if (!prem_find_tasks(reader, name, &first, &count))
    return;
  bool is_exact = strcmp(schedule->tasks[first].name, name) == 0;
  for (int32_t i = first; i < first + count; ++i) {
    if ((is_named[i] && !is_exact) || !takes_profile(reader, &schedule->tasks[i], profile))
      continue;
    is_named[i] |= is_exact;
    apply_entry(reader, i, entry);
  }
}

static void mark_named(const prem_reader *reader, const config_setting_t *list, bool *is_named) {
  int32_t count = config_setting_length(list);
  for (int32_t i = 0; i < count; ++i) {
    const config_setting_t *group = config_setting_get_elem(list, (unsigned)i);
    const config_setting_t *name =
        group->type == CONFIG_TYPE_GROUP ? config_setting_get_member(group, "name") : NULL;
    if (!name || name->type != CONFIG_TYPE_STRING || !name->value.sval)
      continue;
    int32_t task = prem_schedule_find_task(reader->schedule, name->value.sval);
    if (task >= 0)
      is_named[task] = true;
  }
}

/* A profile that says of itself that it is not to be trusted. */
void prem_read_disturbed(prem_reader *of_profile, const config_setting_t *root, void *out) {
  const prem_profile_root *profile = out;
  const char *disturbed = NULL;
  prem_read_text(of_profile, root, "disturbed", &disturbed);
  if (!profile->is_valid)
    prem_diag_add(of_profile->diag, PREM_WARNING, 0,
                  prem_setting_place(of_profile, config_setting_get_member(root, "valid")), "valid",
                  "the profile is marked invalid: %s; measure again with `ttprem profile`",
                  disturbed && *disturbed ? disturbed : "it was disturbed");
}

void prem_read_profile_version(prem_reader *of_profile, const config_setting_t *root, void *out) {
  int64_t version = 1;
  (void)out;
  if (prem_read_integer(of_profile, root, "version", 1, INT64_MAX, &version) && version > 1)
    prem_refuse(of_profile, 4, root, "version",
                "is newer than the 1 that ttprem " PREM_VERSION " reads");
}

static void raise(int64_t *at, int64_t value) {
  if (value > *at)
    *at = value;
}

/* What the profile says of the machine that it was measured on. */
static void read_machine(prem_reader *of_profile, const config_setting_t *root) {
  prem_schedule *schedule = of_profile->schedule;
  prem_profile_root profile = {.is_valid = true};
  strcpy(profile.machine, schedule->profiled_on);
  prem_read_keys(of_profile, root, PREM_KEYS_profile, &profile);
  strcpy(schedule->profiled_on, profile.machine);
  raise(&schedule->dispatch_ns, profile.dispatch_ns);
  raise(&schedule->precedence_ns, profile.precedence_ns);
  raise(&schedule->job_turnaround_ns, profile.job_turnaround_ns);
  raise(&schedule->job_prefetch_ns, profile.job_prefetch_ns);
  if (profile.bandwidth_bytes_per_s > 0 &&
      (schedule->bandwidth_bytes_per_s == 0 ||
       profile.bandwidth_bytes_per_s < schedule->bandwidth_bytes_per_s))
    schedule->bandwidth_bytes_per_s = profile.bandwidth_bytes_per_s;
}

/* `reader` reads the schedule, `of_profile` the profile. */
static void read_profile(prem_reader *reader, prem_reader *of_profile, const char *profile,
                         const config_setting_t *root, bool *is_named) {
  const bool by_quantile = config_setting_get_member(root, "quantile") != NULL;
  read_machine(of_profile, root);
  const config_setting_t *list =
      prem_read_member(of_profile, root, "tasks", CONFIG_TYPE_LIST, true);
  int32_t count = list ? config_setting_length(list) : 0;
  if (list)
    mark_named(reader, list, is_named);
  for (int32_t i = 0; i < count; ++i) {
    const config_setting_t *group = prem_read_list_group(of_profile, list, i);
    char name[PREM_NAME_BYTES];
    profile_entry entry = {0};
    if (!group)
      continue;
    prem_read_known_keys(of_profile, group, PREM_KEYS_profile_task);
    read_values(of_profile, group, by_quantile, &entry);
    if (prem_read_name(of_profile, group, "name", true, name))
      apply_to_tasks(reader, profile, name, &entry, is_named);
  }
}

/* A profile that is not there yet is no error: its tasks just have no WCETs. */
static void apply_profile(prem_reader *reader, const prem_profile_ref *profile) {
  char *bytes = NULL, reason[128];
  size_t count = 0;
  struct stat facts;
  if (stat(profile->path, &facts) != 0)
    return;
  prem_status status = S_ISREG(facts.st_mode)
                           ? prem_read_file(profile->path, &bytes, &count, reason, sizeof reason)
                           : PREM_ERR_IO;
  if (status != PREM_OK) {
    prem_diag_add(reader->diag, PREM_ERROR, 24, profile->place,
                  prem_key("profiles.%s", profile->name).text, "cannot read '%s': %s",
                  prem_show(profile->path).text,
                  S_ISREG(facts.st_mode) ? reason : "it is no regular file");
    return;
  }
  bool *is_named = calloc((size_t)reader->schedule->task_count + 1, sizeof *is_named);
  prem_reader of_profile = {.schedule = reader->schedule,
                            .diag = reader->diag,
                            .file = profile->path,
                            .folder = reader->folder};
  config_t config;
  config_init(&config);
  reader->out_of_memory |= !is_named;
  if (is_named && prem_read_syntax(&of_profile, bytes, count, &config) == PREM_OK)
    read_profile(reader, &of_profile, profile->name, config_root_setting(&config), is_named);
  reader->out_of_memory |= of_profile.out_of_memory;
  config_destroy(&config);
  free(is_named);
  free(bytes);
}

static bool is_taken(const prem_reader *reader, const char *profile) {
  for (int32_t i = 0; i < reader->schedule->task_count; ++i)
    if (takes_profile(reader, &reader->schedule->tasks[i], profile))
      return true;
  return false;
}

static const char *profile_name(const void *from, int32_t index) {
  return ((const prem_profile_ref *)from)[index].name;
}

static void refuse_unknown_profiles(prem_reader *reader) {
  const prem_schedule *schedule = reader->schedule;
  if (reader->profile && !prem_schedule_find_profile(schedule, reader->profile)) {
    char names[256];
    prem_list_words(profile_name, schedule->profiles, schedule->profile_count, names, sizeof names);
    const prem_shown near = prem_suggest_named(reader->profile, schedule->profiles,
                                               schedule->profile_count, sizeof *schedule->profiles);
    if (reader->profile_of_plan)
      prem_refuse(reader, 24, reader->profile_of_plan, NULL,
                  "there is no profile '%s', which the plan was made with%s the file has: %s; put "
                  "it back into `profiles`, or take the times of another one, `--profile NAME`",
                  prem_show(reader->profile).text, near.text[0] ? near.text : ";", names);
    else
      prem_diag_add(reader->diag, PREM_ERROR, 24, (prem_place){schedule->path, 0}, "profiles",
                    "there is no profile '%s'%s the file has: %s; add one as "
                    "profiles: { NAME = \"FILE\"; };",
                    prem_show(reader->profile).text, near.text[0] ? near.text : ";", names);
  }
  for (int32_t e = 0; e < reader->entry_count; ++e) {
    const prem_task_entry *entry = &reader->entries[e];
    const char *name = entry->count ? schedule->tasks[entry->first].profile : "";
    if (*name && !prem_schedule_find_profile(schedule, name))
      prem_refuse(reader, 24, entry->setting, "profile", "there is no profile '%s' in `profiles`%s",
                  prem_show(name).text,
                  prem_suggest_named(name, schedule->profiles, schedule->profile_count,
                                     sizeof *schedule->profiles)
                      .text);
  }
}

/* Whoever has the plan has its times: the caller need not know the name. */
static void find_profile(prem_reader *reader, const config_setting_t *root) {
  const config_setting_t *plan = config_setting_get_member(root, "plan");
  const config_setting_t *of_plan =
      plan && plan->type == CONFIG_TYPE_GROUP ? config_setting_get_member(plan, "profile") : NULL;
  reader->schedule->profile_given = reader->profile != NULL;
  if (!reader->profile && of_plan && of_plan->type == CONFIG_TYPE_STRING && of_plan->value.sval &&
      *of_plan->value.sval) {
    reader->profile_of_plan = of_plan;
    reader->profile = of_plan->value.sval;
  }
  if (reader->profile)
    snprintf(reader->schedule->profile, PREM_NAME_BYTES, "%s", reader->profile);
}

void prem_apply_profiles(prem_reader *reader, const config_setting_t *root) {
  prem_schedule *schedule = reader->schedule;
  find_profile(reader, root);
  refuse_unknown_profiles(reader);
  reader->given = calloc((size_t)schedule->task_count + 1, sizeof *reader->given);
  reader->out_of_memory |= !reader->given;
  for (int32_t i = 0; i < schedule->profile_count && !reader->out_of_memory; ++i)
    if (is_taken(reader, schedule->profiles[i].name))
      apply_profile(reader, &schedule->profiles[i]);
  reader->out_of_memory |= reader->given && !prem_schedule_hash_times(schedule, reader->given);
  free(reader->given);
}
