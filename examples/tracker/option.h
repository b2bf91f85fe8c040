/* SPDX-License-Identifier: Apache-2.0 */
/** Values of options: what is none ends the program with a line that says so. */
#ifndef TRACKER_OPTION_H
#define TRACKER_OPTION_H

#include <argp.h>
#include <stdint.h>

/** "10ms" as ns. `name` is the option's, without its dashes. */
int64_t option_time(struct argp_state *state, const char *name, const char *text);
int64_t option_number(struct argp_state *state, const char *name, const char *text, int64_t least,
                      int64_t most);
/** Above 0, and up to `most`. */
float option_factor(struct argp_state *state, const char *name, const char *text, float most);
/** 1, 3, 5 or 7. */
int32_t option_scales(struct argp_state *state, const char *text);

#endif
