/* SPDX-License-Identifier: Apache-2.0 */
/* The experiments of experiments.def as a table. */
#include <stdlib.h>
#include <string.h>

#include "experiments/common/probe.h"
#include "experiments/experiment_list.h"
#include "experiments/sweep/sweep.h"

/** A file is read when it is first asked for. */
typedef struct entry {
  const char *file;
  const prem_experiment *experiment;
} entry;

#define PREM_SWEEP(ROOM, NAME) {#NAME ".exp", NULL},
static entry experiments[] = {
#include "experiments/experiments.def"
};
#undef PREM_SWEEP

enum { EXPERIMENT_COUNT = sizeof experiments / sizeof experiments[0] };

#define PREM_CHAPTER(TITLE, NAME, GPU_S, CPU_S) {TITLE, #NAME, GPU_S, CPU_S, NULL},
static prem_chapter chapters[] = {
#include "experiments/chapters.def"
};
#undef PREM_CHAPTER

enum { CHAPTER_COUNT = sizeof chapters / sizeof chapters[0] };

static void let_go(void) {
  for (int32_t i = 0; i < EXPERIMENT_COUNT; ++i)
    if (experiments[i].experiment) {
      prem_sweep_free((prem_sweep *)experiments[i].experiment->sweep);
      experiments[i].experiment = NULL;
    }
}

/* The build takes its files in after they were judged: only memory can be missing. */
static const prem_experiment *open_entry(entry *of) {
  static bool lets_go;
  prem_sweep *sweep = NULL;
  if (of->experiment || prem_sweep_shipped(of->file, &sweep, NULL) != PREM_OK)
    return of->experiment;
  of->experiment = prem_sweep_experiment(sweep);
  if (!lets_go)
    lets_go = atexit(let_go) == 0;
  return of->experiment;
}

const prem_experiment *prem_experiment_at(int32_t index) {
  return index >= 0 && index < EXPERIMENT_COUNT ? open_entry(&experiments[index]) : NULL;
}

const prem_experiment *prem_experiment_find(const char *name) {
  const prem_experiment *experiment;
  for (int32_t i = 0; (experiment = prem_experiment_at(i)) != NULL; ++i)
    if (strcmp(experiment->name, name) == 0)
      return experiment;
  return NULL;
}

const prem_chapter *prem_chapter_at(int32_t index) {
  if (index < 0 || index >= CHAPTER_COUNT)
    return NULL;
  chapters[index].experiment = prem_experiment_find(chapters[index].name);
  return &chapters[index];
}

#define PREM_PROBE(NAME) extern const prem_probe prem_##NAME##_probe;
#include "experiments/probes.def"
#undef PREM_PROBE

static const prem_probe *find_probe(const char *name) {
#define PREM_PROBE(NAME)                                                                           \
  if (strcmp(name, #NAME) == 0)                                                                    \
    return &prem_##NAME##_probe;
#include "experiments/probes.def"
#undef PREM_PROBE
  return NULL;
}

prem_status prem_experiment_start(const prem_experiment *experiment,
                                  const prem_experiment_context *context, prem_findings *findings,
                                  prem_diag *diag) {
  prem_experiment_context own = *context;
  own.find_probe = find_probe;
  return prem_sweep_run(experiment->sweep, &own, findings, diag);
}

bool prem_experiment_serves(const prem_experiment *experiment, const char *backend) {
  const size_t length = strlen(backend);
  for (const char *word = experiment->backends; *word;) {
    const size_t word_length = strcspn(word, " ");
    if (word_length == length && strncmp(word, backend, length) == 0)
      return true;
    word += word_length;
    word += strspn(word, " ");
  }
  return false;
}
