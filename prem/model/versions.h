/* SPDX-License-Identifier: Apache-2.0 */
/**
 * State arrays: which version of one each job sees, and who waits for whom so that it is there.
 *
 * Version 0 is the array's fill; job j of its writer, counted from the start, makes version j + 1
 * in the place of version j + 1 - n, where n is how many there is room for. The writer itself, and
 * a task that it comes after job by job, reads the version that its job finds; a task that comes
 * after the writer reads the one of the latest job of it that it comes after.
 *
 * An ordinary array that is made of a state array changes from job to job as well, so it is kept in
 * the same way, with room for one version.
 */
#pragma once

#include "ttprem/schedule.h"

/** An array of which jobs see certain versions. */
typedef struct prem_versioned {
  int32_t array, writer;
  int32_t jobs;     /* of the writer in a hyperperiod */
  int32_t versions; /* that there is room for; 1: an ordinary array that is made of a state array */
} prem_versioned;

/** What a task does with one, through one port. */
typedef struct prem_version_use {
  int32_t of, task; /* index into `arrays`; the task */
  int32_t port;
  prem_phase phase; /* in which it touches the array */
  bool writes;
  bool is_ordered;  /* the file says which version it is; else it is none that can be relied on */
  int32_t *version; /* [jobs of the task in a hyperperiod] that it reads or makes, counted from the
                       hyperperiod's start: in hyperperiod h it is h * jobs of the writer more, and
                       0 if that is below 0 */
} prem_version_use;

/** Phases of `task` from `phase` on wait for jobs of `before`: as prem_dependency has them. */
typedef struct prem_version_edge {
  int32_t task, before;
  prem_phase phase;
  bool by_block;        /* each block keeps it by itself */
  int32_t *needed_jobs; /* [jobs of the task] */
} prem_version_edge;

typedef struct prem_versions {
  const prem_schedule *schedule;
  prem_versioned *arrays;
  int32_t array_count; /* 0: there are none, and nothing else is made */
  int32_t *number;     /* [array_count of the schedule]: index into `arrays`, or -1 */
  prem_version_use *uses;
  int32_t use_count;
  bool *changes; /* [task]: what it makes differs from job to job, whatever its inputs do */
} prem_versions;

/** Is an array one that a schedule's file calls a state array? */
static inline bool prem_array_is_state(const prem_array *array) {
  return array->versions > 1;
}

/** Of a bound schedule, or one that is being bound: tasks without a kernel have no arrays. Free it
 *  also after an error. */
prem_status prem_versions_new(const prem_schedule *schedule, prem_versions *out);
/** The same with ordinary arrays that a task may read before a run's first write of them, and all
 *  that is made of them, each with room for one version. */
prem_status prem_versions_new_early(const prem_schedule *schedule, prem_versions *out);
void prem_versions_free(prem_versions *versions);

/** Is an array kept by versions? */
static inline bool prem_is_versioned(const prem_versions *versions, int32_t array) {
  return versions->array_count > 0 && versions->number[array] >= 0;
}

/** The version that a job reads or makes in a hyperperiod, where `first` is the first of all. */
static inline int64_t prem_version_of(const prem_versions *versions, const prem_version_use *use,
                                      int64_t hyperperiod, int64_t job, int64_t first) {
  const int64_t version = hyperperiod * versions->arrays[use->of].jobs + use->version[job];
  return version > first ? version : first;
}

/** The waits, one for each task and array at most. Free them also after an error. */
prem_status prem_version_edges_new(const prem_versions *versions, prem_version_edge **out,
                                   int32_t *count);
void prem_version_edges_free(prem_version_edge *edges, int32_t count);
