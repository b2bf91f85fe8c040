/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of the command: what cannot be written is printed. */
#include <string.h>

#include "command/command.h"

enum { REASON_BYTES = 160 };

bool command_output_open(command_output *output, const char *path) {
  char reason[REASON_BYTES];
  *output = (command_output){.path = path};
  if (prem_output_open(&output->output, path, reason, sizeof reason) != PREM_OK) {
    command_error("cannot write %s: %s", *path ? path : "''", reason);
    return false;
  }
  output->file = output->output.file;
  return true;
}

bool command_output_commit(command_output *output) {
  char reason[REASON_BYTES];
  if (prem_output_commit(&output->output, reason, sizeof reason) == PREM_OK)
    return true;
  command_error("cannot write %s: %s", output->path, reason);
  return false;
}

void command_output_abandon(command_output *output) {
  prem_output_abandon(&output->output);
}

bool command_output_check(const char *path) {
  if (!path || !strcmp(path, "-"))
    return true;
  command_output output;
  if (!command_output_open(&output, path))
    return false;
  command_output_abandon(&output);
  return true;
}

static bool are_same(const char *one, const char *other) {
  return one && other && prem_output_same(one, other);
}

static const char *shown(const char *path) {
  return strcmp(path, "-") ? path : "stdout";
}

void command_check_outputs(struct argp_state *state, const char *input, const char *const outputs[],
                           int count) {
  if (input && !strcmp(input, "-"))
    input = NULL;
  for (int i = 0; i < count; ++i) {
    if (are_same(input, outputs[i]))
      argp_error(state, "%s is read, and would be written over; name another output", input);
    for (int j = 0; j < i; ++j)
      if (are_same(outputs[i], outputs[j]))
        argp_error(state, "two outputs cannot both go to %s; name another for one",
                   shown(outputs[i]));
  }
}

bool command_keep_from(const char *input, const command_outputs *outputs) {
  if (!*input || !strcmp(input, "-") || are_same(input, outputs->spared))
    return true;
  for (int i = 0; i < outputs->count; ++i)
    if (are_same(input, outputs->paths[i])) {
      command_error("%s is read, and would be written over; name another output", input);
      return false;
    }
  return true;
}

static bool two_are_one(const command_outputs *outputs) {
  for (int i = 0; i < outputs->count; ++i)
    for (int j = 0; j < i; ++j)
      if (are_same(outputs->paths[i], outputs->paths[j])) {
        command_error("two outputs cannot both go to %s; name another for one",
                      shown(outputs->paths[i]));
        return true;
      }
  return false;
}

bool command_keep_apart(const prem_schedule *schedule, const command_outputs *outputs) {
  const char *input;
  for (size_t i = 0; (input = prem_schedule_input(schedule, i)) != NULL; ++i)
    if (!command_keep_from(input, outputs))
      return false;
  return !two_are_one(outputs);
}
