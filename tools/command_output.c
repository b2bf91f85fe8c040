/* Outputs of the command: what cannot be written is printed. */
#include <stdlib.h>
#include <string.h>

#include "command.h"

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
