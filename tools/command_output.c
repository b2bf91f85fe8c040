/* Outputs of the command: what cannot be written is printed. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* By one name or by two. */
static bool is_same_file(const char *one, const char *other) {
  struct stat first, second;
  if (!one || !other)
    return false;
  if (!strcmp(one, other))
    return true;
  return !stat(one, &first) && !stat(other, &second) && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

void command_check_outputs(struct argp_state *state, const char *input, const char *const outputs[],
                           int count) {
  if (input && !strcmp(input, "-"))
    input = NULL;
  for (int i = 0; i < count; ++i) {
    if (is_same_file(input, outputs[i]))
      argp_error(state, "%s is read, and would be written over; name another output", input);
    for (int j = 0; j < i; ++j)
      if (is_same_file(outputs[i], outputs[j]))
        argp_error(state, "two outputs cannot both go to %s; name another for one",
                   strcmp(outputs[i], "-") ? outputs[i] : "stdout");
  }
}
