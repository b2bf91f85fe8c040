/* SPDX-License-Identifier: Apache-2.0 */
/** Inside the reader: typed reading of libconfig settings, each problem reported at its place. */
#pragma once

#include "prem/base/suggest.h"
#include "prem/file/scan.h"

#include <libconfig.h>
#include <stdio.h>

/** A task as the file names it: one entry, one or more tasks. */
typedef struct prem_task_entry {
  char name[PREM_NAME_BYTES], kernel[PREM_NAME_BYTES];
  const config_setting_t *setting;
  int32_t first, count; /* its tasks; count 0 where it could not be read */
} prem_task_entry;

typedef struct prem_reader {
  prem_schedule *schedule;
  prem_diag *diag;
  const char *file; /* what is read: the schedule, or a profile */
  prem_scan scan;
  const char *folder;                      /* of the schedule */
  const char *profile;                     /* overrides the tasks' own; NULL: none */
  const config_setting_t *profile_of_plan; /* that says so; NULL: the caller does */
  uint8_t *given;                          /* by profiles: prem_schedule_hash_times() */
  prem_task_entry *entries;
  int32_t entry_count;
  bool *block_is_used; /* by tasks read so far */
  int32_t lowest_free_block;
  int64_t table_entries; /* blocks and arguments of all tasks */
  int64_t edges;         /* of precedence */
  int32_t *array_at;     /* [array_places] by a hash of the name: 1 + the array there; 0: none */
  size_t array_places;
  const char *libconfig_file, *own_file; /* the last name interned */
  bool out_of_memory;
} prem_reader;

/**
 * Read a schedule from memory; everything else is as in prem_schedule_load_lenient().
 *
 * @param path    what messages call the file.
 * @param folder  includes, pictures and profiles count from here.
 * @param bytes   allocated, a newline and a zero behind `count`; the call takes it over.
 */
prem_status prem_schedule_read_bytes(const char *path, const char *folder, char *bytes,
                                     size_t count, const char *profile, prem_schedule **out,
                                     prem_diag *diag);

/** Scan and parse bytes that a newline and a zero close; reader->file is their name. */
prem_status prem_read_syntax(prem_reader *reader, const char *bytes, size_t count,
                             config_t *config);

/* ---- keys ----------------------------------------------------------------------------------- */

/** Reads a key into the struct of its group: see IF, EACH and BY in keys.def. */
typedef void prem_key_reader(prem_reader *reader, const config_setting_t *setting, void *out);

/** What a time may be, and the code of its error. */
typedef enum prem_time_kind {
  PREM_TIME_OFFSET, /* 0 or more, E015 */
  PREM_TIME_LENGTH, /* above 0, E015 */
  PREM_TIME_PERIOD, /* above 0, E014 */
  PREM_TIME_WCET,   /* above 0, E016 */
  PREM_TIME_STEP,   /* of either sign */
  PREM_TIME_START   /* 0 or more, or -1 for "elsewhere", E015 */
} prem_time_kind;

/** The machine part of a profile. */
typedef struct prem_profile_root {
  char machine[128];
  int64_t dispatch_ns, precedence_ns, job_turnaround_ns, job_prefetch_ns, bandwidth_bytes_per_s;
  bool is_valid;
} prem_profile_root;

/** A phase's times in a profile, 0 where it has none. */
typedef struct prem_profile_times {
  int64_t wcet_ns, busy_ns, turnaround_ns, unit_turnaround_ns, alone_ns;
  int64_t told_ns; /* what is for people */
} prem_profile_times;

/* The places of groups and keys in the table. */
enum {
#define GROUP(group)         PREM_KEYS_##group,
#define KEY(group, key, ...) PREM_KEY_##group##_##key,
#include "prem/file/keys.def"
};

/* The readers of irregular keys. */
#define GROUP(group)
#define KEY(group, key, kind, ...) kind
#define INTEGER(...)
#define TIME(...)
#define VALUE(...)
#define WORD(...)
#define NEEDED(kind, ...)       kind
#define IF(type, function, ...) prem_key_reader function;
#define EACH(function, ...)     prem_key_reader function;
#define BY(function, ...)       prem_key_reader function;
#define OWN(...)
#include "prem/file/keys.def"

/* `from` is a group (PREM_KEYS_...), or a key (PREM_KEY_...) and those of its group after it. */

/** Report every member of `group` that is none of the keys. */
void prem_read_known_keys(prem_reader *reader, const config_setting_t *group, int from);
/** Read the keys, in their order, into the group's struct; what is missing keeps what it holds. */
void prem_read_values(prem_reader *reader, const config_setting_t *group, int from, void *out);
/** Both. */
void prem_read_keys(prem_reader *reader, const config_setting_t *group, int from, void *out);
/** Write those of the integers and times from..to that differ from `usual`, or are needed. */
void prem_write_values(FILE *out, int from, int to, const void *of, const void *usual);

/** A string in quotes, as libconfig reads it. */
void prem_write_text(FILE *out, const char *text);

/** The array of that name; -1: none. */
int32_t prem_find_array(const prem_reader *reader, const char *name);
/** A new array, of a name that no other has: its number; -1: out of memory, which it notes. */
int32_t prem_add_array(prem_reader *reader, const prem_array *array);
/** A group of times and demands; `spec` holds the demand of one that gives none. */
void prem_read_phase(prem_reader *reader, const config_setting_t *group, const char *key,
                     prem_phase_spec *spec);
/** Those of the caller, else of the plan, else of the tasks. */
void prem_apply_profiles(prem_reader *reader, const config_setting_t *root);
/** The tasks that a name stands for: those of an entry, or a single copy. False: none. */
bool prem_find_tasks(const prem_reader *reader, const char *name, int32_t *first, int32_t *count);
/** Those that a setting names; E008 or E024 otherwise, which says that the name is none `where`. */
bool prem_read_task_name(prem_reader *reader, const config_setting_t *setting, const char *where,
                         int32_t *first, int32_t *count);
/** The resource of that name; -1: none. */
int32_t prem_find_resource(const prem_platform *platform, const char *name);
/** E023. */
void prem_judge_busy(prem_reader *reader, const config_setting_t *group, int64_t busy_ns,
                     int64_t wcet_ns);
/** What only all tasks together show: cycles, the hyperperiod, sums of times. */
void prem_read_relations(prem_reader *reader);
void prem_read_plan(prem_reader *reader, const config_setting_t *root);
/** Blocks such as "0-3,8", behind those that the task has. E008, E027. */
/** `tile` of a group. */
void prem_read_tile_of(prem_reader *reader, const config_setting_t *group, prem_task *task);
void prem_read_block_ranges(prem_reader *reader, const config_setting_t *setting, prem_task *task,
                            const char *text);
/** A run where the file does not say more; its tile is that of its first block. */
prem_affine prem_usual_run(const prem_schedule *schedule, int32_t task, prem_phase phase);

/* ---- settings ------------------------------------------------------------------------------- */

prem_place prem_setting_place(prem_reader *reader, const config_setting_t *setting);

/** Report an error at `setting`, or at its member `key` when that is not NULL; always false. */
bool prem_refuse(prem_reader *reader, int code, const config_setting_t *setting, const char *key,
                 const char *format, ...) PREM_PRINTF(5, 6);

/**
 * The member `key` if it is there and of the type (CONFIG_TYPE_...); NULL otherwise, with an error
 * when the type is wrong, or when it is `required` and missing.
 */
config_setting_t *prem_read_member(prem_reader *reader, const config_setting_t *group,
                                   const char *key, int type, bool required);
/** The list `key`, with at most `limit` elements (E020); NULL and a count of 0 otherwise. */
config_setting_t *prem_read_list(prem_reader *reader, const config_setting_t *group,
                                 const char *key, const char *what, int32_t limit, int32_t *count);
/** The element of a list, which must be a group; NULL and an error otherwise. */
config_setting_t *prem_read_list_group(prem_reader *reader, const config_setting_t *list,
                                       int32_t index);

/* The calls below return true if the key is there and good; `out` keeps what it holds otherwise. */

/** An integer; E017 below `min`, E020 above `max`. */
bool prem_read_integer(prem_reader *reader, const config_setting_t *group, const char *key,
                       int64_t min, int64_t max, int64_t *out);
bool prem_read_int32(prem_reader *reader, const config_setting_t *group, const char *key,
                     int32_t min, int32_t max, int32_t *out);
/** An integer setting's value; false and an error where it is none, or was cut. */
bool prem_setting_integer(prem_reader *reader, const config_setting_t *setting, int64_t min,
                          int64_t max, int64_t *out);

bool prem_setting_time(prem_reader *reader, const config_setting_t *setting, prem_time_kind kind,
                       int64_t *out);

/** A number above 0, at most 1 (E017, E020). */
bool prem_read_share(prem_reader *reader, const config_setting_t *group, const char *key,
                     double *out);
bool prem_read_bool(prem_reader *reader, const config_setting_t *group, const char *key, bool *out);
/** A string, owned by libconfig. */
bool prem_read_text(prem_reader *reader, const config_setting_t *group, const char *key,
                    const char **out);
/** A string into `out` of `out_bytes`, its closing zero included; E020 where it does not fit. */
bool prem_read_string(prem_reader *reader, const config_setting_t *group, const char *key,
                      char *out, size_t out_bytes);
/** A name: 1 to 63 bytes, no control characters (E012); E003 when required and missing. */
bool prem_read_name(prem_reader *reader, const config_setting_t *group, const char *key,
                    bool required, char out[PREM_NAME_BYTES]);
bool prem_check_name(prem_reader *reader, const config_setting_t *setting, const char *name);
/** One of `words`, which a NULL ends: its index. */
bool prem_read_word(prem_reader *reader, const config_setting_t *group, const char *key,
                    const char *const *words, int *out);
