/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a schedule file: the whole, and the groups beside tasks and plan. */
#include "prem/base/fail.h"
#include "prem/file/reader.h"

#include "prem/base/list.h"
#include "prem/base/sha256.h"
#include "prem/model/deal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- platform ------------------------------------------------------------------------------- */

int32_t prem_find_resource(const prem_platform *platform, const char *name) {
  for (int32_t r = 0; r < platform->resource_count; ++r)
    if (strcmp(platform->resources[r].name, name) == 0)
      return r;
  return -1;
}

static void read_resource(prem_reader *reader, const config_setting_t *group) {
  prem_platform *platform = &reader->schedule->platform;
  prem_resource resource = {.capacity = 1, .place = prem_setting_place(reader, group)};
  prem_read_keys(reader, group, PREM_KEYS_resource, &resource);
  if (!resource.name[0])
    return;
  if (prem_find_resource(platform, resource.name) >= 0) {
    prem_refuse(reader, 6, group, "name", "two resources are called '%s'", resource.name);
    return;
  }
  platform->resources[platform->resource_count++] = resource;
}

/* `memory` always exists and is the first. */
static void put_memory_first(prem_reader *reader) {
  prem_platform *platform = &reader->schedule->platform;
  prem_resource memory = {.name = "memory", .capacity = 1, .place = platform->place};
  const int32_t found = prem_find_resource(platform, memory.name);
  const int32_t position = found < 0 ? platform->resource_count++ : found;
  if (found >= 0)
    memory = platform->resources[found];
  memmove(platform->resources + 1, platform->resources, (size_t)position * sizeof memory);
  platform->resources[0] = memory;
}

void prem_read_resources(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_platform *platform = out;
  platform->resources = calloc(PREM_MAX_RESOURCES + 1, sizeof *platform->resources);
  if (!platform->resources) {
    reader->out_of_memory = true;
    return;
  }
  const config_setting_t *list =
      group ? prem_read_member(reader, group, "resources", CONFIG_TYPE_LIST, false) : NULL;
  int32_t count = list ? config_setting_length(list) : 0;
  if (count > PREM_MAX_RESOURCES)
    prem_refuse(reader, 20, list, NULL, "%d resources, the limit is %d", count, PREM_MAX_RESOURCES);
  for (int32_t i = 0; i < count && i < PREM_MAX_RESOURCES; ++i) {
    const config_setting_t *element = prem_read_list_group(reader, list, i);
    if (element)
      read_resource(reader, element);
  }
  put_memory_first(reader);
  if (platform->resource_count > PREM_MAX_RESOURCES) {
    prem_refuse(reader, 20, list, NULL, "%d resources, 'memory' included; the limit is %d",
                platform->resource_count, PREM_MAX_RESOURCES);
    platform->resource_count = PREM_MAX_RESOURCES;
  }
}

void prem_read_blocks_per_sm(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_platform *platform = out;
  const bool by_number = config_setting_get_member(group, "blocks") != NULL;
  const bool by_sms = config_setting_get_member(group, "sms") != NULL;
  const bool by_share = config_setting_get_member(group, "blocks_per_sm") != NULL;
  int32_t per_sm = 0;
  prem_read_int32(reader, group, "blocks_per_sm", 1, PREM_MAX_BLOCKS, &per_sm);
  if (by_number && by_share) {
    prem_refuse(reader, 5, group, "blocks_per_sm", "stands beside 'blocks'; give one of the two");
    return;
  }
  if (!by_number && !(by_sms && by_share)) {
    prem_refuse(reader, 3, group,
                by_share ? "sms"
                : by_sms ? "blocks_per_sm"
                         : "blocks",
                "missing; give blocks = N, or sms = N and blocks_per_sm = M");
    return;
  }
  if (by_number || platform->sms == 0 || per_sm == 0)
    return;
  int64_t blocks = (int64_t)platform->sms * per_sm;
  if (blocks > PREM_MAX_BLOCKS)
    prem_refuse(reader, 20, group, "blocks_per_sm",
                "%d SMs of %d blocks make %" PRId64 " blocks, the limit is %d", platform->sms,
                per_sm, blocks, PREM_MAX_BLOCKS);
  else
    platform->blocks = (int32_t)blocks;
}

/* "auto": two until something else is chosen, so that one tile computes while another one moves. */
void prem_read_buffers(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_platform *platform = out;
  const config_setting_t *setting = config_setting_get_member(group, "buffers");
  platform->buffers_open =
      setting && setting->type == CONFIG_TYPE_STRING && !strcmp(setting->value.sval, "auto");
  if (platform->buffers_open)
    platform->buffers = 2;
  else if (setting && setting->type == CONFIG_TYPE_STRING)
    prem_refuse(reader, 8, setting, NULL, "is \"%s\", must be an integer or \"auto\"",
                setting->value.sval);
  else
    prem_read_int32(reader, group, "buffers", 1, PREM_MAX_BUFFERS, &platform->buffers);
}

/* The blocks of that class are a launch of their own. */
void prem_read_best_effort(prem_reader *reader, const config_setting_t *platform_group,
                           void *of_platform) {
  prem_platform *platform = of_platform;
  prem_best_effort *out = &platform->best_effort;
  const config_setting_t *group =
      prem_read_member(reader, platform_group, "best_effort", CONFIG_TYPE_GROUP, false);
  *out = (prem_best_effort){.block_threads = platform->block_threads,
                            .buffers = platform->buffers,
                            .scratch_bytes = platform->scratch_bytes,
                            .place = platform->place};
  if (!group)
    return;
  out->place = prem_setting_place(reader, group);
  prem_read_keys(reader, group, PREM_KEYS_best_effort, out);
}

void prem_read_platform(prem_reader *reader, const config_setting_t *root, void *out) {
  prem_platform *platform = &((prem_schedule *)out)->platform;
  const config_setting_t *group =
      prem_read_member(reader, root, "platform", CONFIG_TYPE_GROUP, true);
  if (!group) {
    prem_read_resources(reader, NULL, platform);
    return;
  }
  platform->place = prem_setting_place(reader, group);
  platform->late_ns = -1; /* not given */
  prem_read_keys(reader, group, PREM_KEYS_platform, platform);
  if (platform->late_ns < 0)
    platform->late_ns = platform->clock_step_ns;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A relative path counts from the schedule's folder. */
static char *join_path(prem_reader *reader, const char *path) {
  char *joined = NULL;
  bool stands = path[0] == '/' || strcmp(reader->folder, ".") == 0;
  if (stands)
    joined = strdup(path);
  else if (asprintf(&joined, "%s/%s", reader->folder, path) < 0)
    joined = NULL;
  reader->out_of_memory |= !joined;
  return joined;
}

static bool has_extension(const char *path, const char *const *extensions) {
  const char *slash = strrchr(path, '/');
  const char *dot = strrchr(slash ? slash : path, '.');
  for (; dot && *extensions; ++extensions)
    if (strcasecmp(dot, *extensions) == 0)
      return true;
  return false;
}

/* Is it called as a raw file is? Else `types` says how those of one type are. */
static bool is_raw(const char *path, char *types, size_t types_bytes) {
  static const char *const any[] = {".raw", NULL};
  size_t used = 0;
  if (has_extension(path, any))
    return true;
  for (int type = 0; type < PREM_TYPE_COUNT && used < types_bytes; ++type) {
    char own[16];
    const char *const extension[] = {own, NULL};
    snprintf(own, sizeof own, ".%s", prem_type_name((prem_type)type));
    if (has_extension(path, extension))
      return true;
    used += (size_t)snprintf(types + used, types_bytes - used, "%s %s", used ? "," : "", own);
  }
  return false;
}

static bool check_file_kind(prem_reader *reader, const config_setting_t *group, const char *key,
                            const char *path, const prem_array *array) {
  static const char *const pictures[] = {".pgm", ".png", NULL};
  char types[128] = "";
  if (!has_extension(path, pictures) && !is_raw(path, types, sizeof types))
    return prem_refuse(reader, 24, group, key,
                       "'%s' is no file that can be used; its name ends in .pgm, .png,%s or .raw",
                       prem_show(path).text, types);
  const bool in_picture =
      array->type == PREM_F32 || array->type == PREM_U8 || array->type == PREM_U16;
  if (has_extension(path, pictures) && (array->rank != 2 || !in_picture))
    return prem_refuse(reader, 31, group, key,
                       "a picture holds f32, u8 or u16 of rank 2; array '%s' is %s of rank %d",
                       array->name, prem_type_name(array->type), array->rank);
  return true;
}

static void read_input_file(prem_reader *reader, const config_setting_t *group, prem_array *array) {
  const char *path = NULL;
  if (!prem_read_text(reader, group, "file", &path))
    return;
  if (config_setting_get_member(group, "fill"))
    prem_refuse(reader, 5, group, "fill", "stands beside 'file'; give one of the two");
  if (!check_file_kind(reader, group, "file", path, array))
    return;
  array->fill = PREM_FILL_FILE;
  array->file = join_path(reader, path);
  struct stat facts;
  if (!array->file)
    return;
  if (stat(array->file, &facts) != 0 || access(array->file, R_OK) != 0)
    prem_refuse(reader, 24, group, "file",
                "cannot read '%s': %s (relative paths count from the "
                "schedule's folder)",
                prem_show(path).text, strerror(errno));
  else if (!S_ISREG(facts.st_mode))
    prem_refuse(reader, 24, group, "file", "'%s' is no regular file", prem_show(path).text);
}

/* ---- arrays --------------------------------------------------------------------------------- */

static bool read_shape(prem_reader *reader, const config_setting_t *group, prem_array *array) {
  const config_setting_t *shape = prem_read_member(reader, group, "shape", CONFIG_TYPE_ARRAY, true);
  if (!shape)
    return false;
  int rank = config_setting_length(shape);
  if (rank < 1 || rank > PREM_MAX_RANK)
    return prem_refuse(reader, rank < 1 ? 17 : 20, shape, NULL,
                       "has %d dimensions, must have 1 to %d", rank, PREM_MAX_RANK);
  int64_t left = PREM_MAX_ELEMENTS;
  for (int d = 0; d < 4; ++d)
    array->shape[d] = 1;
  for (int d = 0; d < rank; ++d) {
    const config_setting_t *element = config_setting_get_elem(shape, (unsigned)d);
    int64_t extent;
    if (!prem_setting_integer(reader, element, 1, INT32_MAX, &extent))
      return false;
    array->shape[4 - rank + d] = extent;
    if (extent > left)
      return prem_refuse(reader, 20, shape, NULL, "has more elements than the limit of 2^40");
    left /= extent;
  }
  array->rank = rank;
  return true;
}

void prem_read_shape(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_array *array = out;
  array->broken |= !read_shape(reader, group, array);
}

void prem_read_array_type(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_array *array = out;
  const char *types[PREM_TYPE_COUNT + 1] = {0};
  int type = 0;
  for (int t = 0; t < PREM_TYPE_COUNT; ++t)
    types[t] = prem_type_name((prem_type)t);
  array->broken |= !prem_read_word(reader, group, "type", types, &type);
  array->type = (prem_type)type;
}

static void read_array(prem_reader *reader, const config_setting_t *group) {
  prem_array array = {.writer = -1, .place = prem_setting_place(reader, group)};
  prem_read_keys(reader, group, PREM_KEYS_array, &array);
  const bool is_named = array.name[0], is_whole = !array.broken;
  const int32_t same = is_named ? prem_find_array(reader, array.name) : -1;
  if (same >= 0) {
    prem_refuse(reader, 6, group, "name", "two arrays are called '%s'; the other one is in line %d",
                array.name, reader->schedule->arrays[same].place.line);
    reader->schedule->arrays[same].broken = true; /* who knows which one a task means */
    return;
  }
  if (is_named && strcmp(array.name, "new") == 0) {
    prem_refuse(reader, 6, group, "name",
                "an array cannot be called '%s': that word makes an output of its own", array.name);
    return;
  }
  const char *save = NULL;
  if (is_whole)
    read_input_file(reader, group, &array);
  if (is_whole && prem_read_text(reader, group, "save", &save) &&
      check_file_kind(reader, group, "save", save, &array))
    reader->out_of_memory |= !(array.save = strdup(save));
  if (is_named && prem_add_array(reader, &array) >= 0)
    return;
  free(array.file);
  free(array.save);
}

enum { MAX_SAVES = 256 }; /* each is compared with all others, and with all that is read */

void prem_read_arrays(prem_reader *reader, const config_setting_t *root, void *out) {
  prem_schedule *schedule = out;
  int32_t count = 0;
  const config_setting_t *list =
      prem_read_list(reader, root, "arrays", "arrays", PREM_MAX_TASKS, &count);
  for (int32_t i = 0; i < count; ++i) {
    const config_setting_t *group = prem_read_list_group(reader, list, i);
    if (group)
      read_array(reader, group);
  }
  int32_t saves = 0;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    saves += schedule->arrays[a].save != NULL;
  if (saves > MAX_SAVES)
    prem_refuse(reader, 20, list, NULL, "%d arrays are saved, the limit is %d", saves, MAX_SAVES);
}

/* ---- profiles ------------------------------------------------------------------------------- */

void prem_read_profiles(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_schedule *schedule = out;
  const int32_t count = config_setting_length(group);
  schedule->profiles = calloc((size_t)count + 1, sizeof *schedule->profiles);
  reader->out_of_memory |= !schedule->profiles;
  for (int32_t i = 0; i < count && schedule->profiles; ++i) {
    const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
    const char *path = NULL;
    if (!prem_check_name(reader, setting, setting->name) ||
        !prem_read_text(reader, group, setting->name, &path))
      continue;
    prem_profile_ref *profile = &schedule->profiles[schedule->profile_count];
    profile->path = join_path(reader, path);
    if (!profile->path)
      return;
    strcpy(profile->name, setting->name);
    profile->place = prem_setting_place(reader, setting);
    ++schedule->profile_count;
  }
}

/* ---- policy and measure --------------------------------------------------------------------- */

static bool has_periods(const prem_schedule *schedule) {
  for (int32_t i = 0; i < schedule->task_count; ++i)
    if (schedule->tasks[i].period_ns > 0 && !schedule->tasks[i].best_effort)
      return true;
  return false;
}

/* Tasks that say nothing of their own take the policy's word. */
static void spread_overrun(prem_reader *reader) {
  prem_schedule *schedule = reader->schedule;
  for (int32_t e = 0; e < reader->entry_count; ++e) {
    const prem_task_entry *entry = &reader->entries[e];
    for (int32_t i = 0; i < entry->count && !config_setting_get_member(entry->setting, "overrun");
         ++i)
      schedule->tasks[entry->first + i].overrun = schedule->policy.overrun;
  }
}

void prem_read_policy(prem_reader *reader, const config_setting_t *root, void *out) {
  prem_policy *policy = &((prem_schedule *)out)->policy;
  const config_setting_t *group =
      prem_read_member(reader, root, "policy", CONFIG_TYPE_GROUP, false);
  if (has_periods(reader->schedule))
    strcpy(policy->objective, "slack");
  if (group) {
    policy->place = prem_setting_place(reader, group);
    prem_read_keys(reader, group, PREM_KEYS_policy, policy);
  }
  spread_overrun(reader);
}

void prem_read_modes(prem_reader *reader, const config_setting_t *array, void *out) {
  prem_measure *measure = out;
  const int count = config_setting_length(array);
  const char *names[PREM_MODE_COUNT + 1] = {0};
  for (int mode = 0; mode < PREM_MODE_COUNT; ++mode)
    names[mode] = prem_mode_name((prem_mode)mode);
  if (count == 0)
    prem_refuse(reader, 17, array, NULL, "is empty; name one mode at least");
  bool given[PREM_MODE_COUNT] = {false};
  measure->given_modes = true;
  measure->mode_count = 0;
  for (int i = 0; i < count; ++i) {
    const config_setting_t *element = config_setting_get_elem(array, (unsigned)i);
    const char *name = element->type == CONFIG_TYPE_STRING ? element->value.sval : NULL;
    prem_mode mode;
    if (!name) {
      prem_refuse(reader, 8, element, NULL, "must be the name of a mode");
    } else if (!prem_mode_parse(name, &mode)) {
      prem_refuse(reader, 24, element, NULL, "unknown mode '%s'%s", prem_show(name).text,
                  prem_suggest_word(name, names).text);
    } else if (given[mode]) {
      prem_refuse(reader, 6, element, NULL, "mode '%s' stands here twice", name);
    } else {
      given[mode] = true;
      measure->modes[measure->mode_count++] = mode;
    }
  }
}

void prem_read_measure(prem_reader *reader, const config_setting_t *group, void *out) {
  prem_measure *measure = &((prem_schedule *)out)->measure;
  measure->place = prem_setting_place(reader, group);
  prem_read_keys(reader, group, PREM_KEYS_measure, measure);
}

/* ---- the file ------------------------------------------------------------------------------- */

void prem_read_version(prem_reader *reader, const config_setting_t *root, void *out) {
  int64_t version = 1;
  (void)out;
  if (prem_read_integer(reader, root, "version", 1, INT64_MAX, &version) && version > 1)
    prem_refuse(reader, 4, root, "version",
                "%" PRId64 " is newer than the 1 that ttprem " PREM_VERSION " reads", version);
}

static void read_root(prem_reader *reader, const config_setting_t *root) {
  prem_read_keys(reader, root, PREM_KEYS_root, reader->schedule);
  prem_apply_profiles(reader, root);
  prem_read_relations(reader);
  prem_read_plan(reader, root);
  if (!reader->out_of_memory && prem_diag_errors(reader->diag) == 0)
    reader->out_of_memory |= prem_deal_blocks(reader->schedule, reader->diag) == PREM_ERR_MEMORY;
}

static prem_status read_source(prem_reader *reader) {
  struct prem_schedule_private *own = reader->schedule->private_data;
  config_t config;
  config_init(&config);
  prem_status status = prem_read_syntax(reader, own->source, own->source_bytes, &config);
  own->plan_offset = reader->scan.plan_offset;
  own->settings_follow = reader->scan.settings_follow;
  own->plan_is_included = reader->scan.plan_is_included;
  if (status == PREM_OK)
    read_root(reader, config_root_setting(&config));
  config_destroy(&config);
  PREM_FREE(reader->entries, reader->block_is_used, reader->array_at);
  return status == PREM_OK && reader->out_of_memory ? PREM_ERR_MEMORY : status;
}

prem_status prem_schedule_read_bytes(const char *path, const char *folder, char *bytes,
                                     size_t count, const char *profile, prem_schedule **out,
                                     prem_diag *diag) {
  *out = NULL;
  prem_schedule *schedule = prem_schedule_new();
  /* tasks in error are told by counting errors, so there is always a list to count them */
  prem_diag *own_diag = diag ? NULL : prem_diag_new();
  prem_status status = PREM_ERR_MEMORY;
  if (!schedule || !(diag || own_diag)) {
    free(bytes);
    goto fail;
  }
  schedule->private_data->source = bytes;
  schedule->private_data->source_bytes = count;
  schedule->path = strdup(path);
  if (!schedule->path)
    goto fail;
  prem_sha256_hex(bytes, count, schedule->sha256);
  prem_reader reader = {.schedule = schedule,
                        .diag = diag ? diag : own_diag,
                        .file = schedule->path,
                        .folder = folder,
                        .profile = profile};
  status = read_source(&reader);
  if (status != PREM_OK)
    goto fail;
  prem_diag_free(own_diag);
  *out = schedule;
  return PREM_OK;

fail:
  prem_diag_free(own_diag);
  prem_schedule_free(schedule);
  return status;
}

prem_status prem_schedule_load_lenient(const char *path, const char *profile, prem_schedule **out,
                                       prem_diag *diag) {
  *out = NULL;
  char reason[128], *bytes = NULL, *folder = NULL;
  size_t count = 0;
  const char *slash = strrchr(path, '/');
  prem_status status = prem_read_file(path, &bytes, &count, reason, sizeof reason);
  if (status != PREM_OK)
    return prem_fail(diag, status, 0, (prem_place){path, 0}, NULL, "cannot be read: %s", reason);
  folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
  if (!folder) {
    free(bytes);
    return PREM_ERR_MEMORY;
  }
  status = prem_schedule_read_bytes(path, folder, bytes, count, profile, out, diag);
  free(folder);
  return status;
}

static prem_status read_text(const char *name, const char *text, prem_schedule **out,
                             prem_diag *diag) {
  const size_t count = strlen(text);
  char *bytes = malloc(count + 2);
  if (!bytes)
    return PREM_ERR_MEMORY;
  memcpy(bytes, text, count);
  memcpy(bytes + count, "\n", 2);
  return prem_schedule_read_bytes(name, ".", bytes, count, NULL, out, diag);
}

/* From a text, or from a file where it is NULL; not lenient. */
static prem_status load(const char *path, const char *text, const char *profile,
                        prem_schedule **out, prem_diag *diag) {
  *out = NULL;
  prem_schedule *schedule = NULL;
  prem_diag *own_diag = diag ? NULL : prem_diag_new();
  prem_diag *found = diag ? diag : own_diag;
  if (!found)
    return PREM_ERR_MEMORY;
  size_t before = prem_diag_errors(found);
  prem_status status = text ? read_text(path, text, &schedule, found)
                            : prem_schedule_load_lenient(path, profile, &schedule, found);
  if (status == PREM_OK && prem_diag_errors(found) > before)
    status = PREM_ERR_PARSE;
  prem_diag_free(own_diag);
  if (status == PREM_OK)
    *out = schedule;
  else
    prem_schedule_free(schedule);
  return status;
}

prem_status prem_schedule_load(const char *path, const char *profile, prem_schedule **out,
                               prem_diag *diag) {
  return load(path, NULL, profile, out, diag);
}

prem_status prem_schedule_load_text(const char *name, const char *text, prem_schedule **out,
                                    prem_diag *diag) {
  return load(name, text, NULL, out, diag);
}
