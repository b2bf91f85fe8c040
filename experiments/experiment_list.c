/* SPDX-License-Identifier: Apache-2.0 */
/* The experiments of experiments.def as a table. */
#include <string.h>

#include "experiments/experiment_list.h"

#define PREM_EXPERIMENT(ROOM, NAME) extern const prem_experiment prem_##NAME##_experiment;
#include "experiments/experiments.def"
#undef PREM_EXPERIMENT

#define PREM_EXPERIMENT(ROOM, NAME) &prem_##NAME##_experiment,
static const prem_experiment *const experiments[] = {
#include "experiments/experiments.def"
};
#undef PREM_EXPERIMENT

enum { EXPERIMENT_COUNT = sizeof experiments / sizeof experiments[0] };

#define PREM_CHAPTER(TITLE, NAME, GPU_S, CPU_S) {TITLE, &prem_##NAME##_experiment, GPU_S, CPU_S},
static const prem_chapter chapters[] = {
#include "experiments/chapters.def"
};
#undef PREM_CHAPTER

enum { CHAPTER_COUNT = sizeof chapters / sizeof chapters[0] };

const prem_chapter *prem_chapter_at(int32_t index) {
  return index >= 0 && index < CHAPTER_COUNT ? &chapters[index] : NULL;
}

const prem_experiment *prem_experiment_at(int32_t index) {
  return index >= 0 && index < EXPERIMENT_COUNT ? experiments[index] : NULL;
}

const prem_experiment *prem_experiment_find(const char *name) {
  for (int32_t i = 0; i < EXPERIMENT_COUNT; ++i)
    if (strcmp(experiments[i]->name, name) == 0)
      return experiments[i];
  return NULL;
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
