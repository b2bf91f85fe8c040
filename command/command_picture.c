/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a plan, for the verbs that draw one. */
#include <string.h>

#include "command/command.h"

void command_check_picture(struct argp_state *state, const char *option, const char *path) {
  const char *dot = strrchr(path, '.');
  if (!dot || (strcmp(dot, ".svg") != 0 && strcmp(dot, ".png") != 0 && strcmp(dot, ".pdf") != 0))
    argp_error(state, "%s: '%s' must end in .svg, .png or .pdf", option, path);
}

int command_draw_plan(const prem_schedule *schedule, const char *path) {
  if (!path)
    return COMMAND_DONE;
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_plan_draw(schedule, path, &command_stop, diag);
  if (status == PREM_ERR_UNAVAILABLE)
    command_error("--svg needs gnuplot, which is not on the PATH; install gnuplot-nox");
  else
    command_print_diag(diag);
  if (status != PREM_OK && prem_diag_errors(diag) == 0)
    command_error("%s: %s", path, prem_status_text(status));
  prem_diag_free(diag);
  return status == PREM_ERR_UNAVAILABLE ? COMMAND_INVALID : command_exit_status(status);
}
