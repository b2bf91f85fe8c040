/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule reads, and where it would have its arrays written. */
#include <stdio.h>
#include <string.h>

#include "prem/model/private.h"
#include "ttprem/output.h"

const char *prem_schedule_input(const prem_schedule *schedule, size_t index) {
  const struct prem_schedule_private *own = schedule->private_data;
  const size_t files = own ? own->file_count : 0;
  if (index < files)
    return own->files[index];
  index -= files;
  if (index < (size_t)schedule->profile_count)
    return schedule->profiles[index].path;
  index -= (size_t)schedule->profile_count;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (schedule->arrays[a].file && index-- == 0)
      return schedule->arrays[a].file;
  return NULL;
}

static const char *read_there(const prem_schedule *schedule, const char *path) {
  const struct prem_schedule_private *own = schedule->private_data;
  const size_t others = (own ? own->file_count : 0) + (size_t)schedule->profile_count;
  for (size_t i = 0; i < others + (size_t)schedule->array_count; ++i) {
    const char *input =
        i < others ? prem_schedule_input(schedule, i) : schedule->arrays[i - others].file;
    if (input && strcmp(input, "-") != 0 && prem_output_same(path, input))
      return input;
  }
  return NULL;
}

static const prem_array *saved_there(const prem_schedule *schedule, int32_t array) {
  for (int32_t a = 0; a < array; ++a)
    if (schedule->arrays[a].save &&
        prem_output_same(schedule->arrays[a].save, schedule->arrays[array].save))
      return &schedule->arrays[a];
  return NULL;
}

static prem_status judge_save(const prem_schedule *schedule, int32_t number, bool anywhere,
                              prem_severity severity, prem_diag *diag) {
  const prem_array *array = &schedule->arrays[number], *twin = saved_there(schedule, number);
  const char *input = read_there(schedule, array->save);
  char key[PREM_NAME_BYTES + 16];
  snprintf(key, sizeof key, "arrays.%s.save", array->name);
  if (input)
    prem_diag_add(diag, severity, 0, array->place, key,
                  "'%s' is a file that the schedule reads, %s; save under another name",
                  array->save, input);
  else if (twin)
    prem_diag_add(diag, severity, 0, array->place, key,
                  "'%s' is where array '%s' is saved; save one under another name", array->save,
                  twin->name);
  else if (!anywhere && !prem_output_is_here(array->save))
    prem_diag_add(
        diag, severity, 0, array->place, key,
        "'%s' is outside the working folder; `ttprem run` writes there with --save-anywhere "
        "alone",
        array->save);
  else
    return PREM_OK;
  return PREM_ERR_INVALID;
}

prem_status prem_schedule_judge_saves(const prem_schedule *schedule, bool anywhere,
                                      prem_severity severity, prem_diag *diag) {
  prem_status result = PREM_OK;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (schedule->arrays[a].save && judge_save(schedule, a, anywhere, severity, diag) != PREM_OK)
      result = PREM_ERR_INVALID;
  return result;
}
