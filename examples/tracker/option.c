/* SPDX-License-Identifier: Apache-2.0 */
#include "option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* 0: it is none. */
static int64_t time_of(const char *text) {
  static const struct {
    const char *name;
    double ns;
  } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  char *end;
  const double value = strtod(text, &end);
  for (size_t i = 0; i < sizeof units / sizeof *units; ++i)
    if (strcmp(end, units[i].name) == 0 && value * units[i].ns >= 1 && value * units[i].ns < 1e15)
      return (int64_t)(value * units[i].ns);
  return 0;
}

int64_t option_time(struct argp_state *state, const char *name, const char *text) {
  const int64_t ns = time_of(text);
  if (ns == 0)
    argp_error(state, "--%s: '%s' is no time; write it as 10ms or 500us", name, text);
  return ns;
}

int64_t option_number(struct argp_state *state, const char *name, const char *text, int64_t least,
                      int64_t most) {
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (errno || *end || end == text || value < least || value > most)
    argp_error(state, "--%s: '%s' is no number from %" PRId64 " to %" PRId64, name, text, least,
               most);
  return value;
}

float option_factor(struct argp_state *state, const char *name, const char *text, float most) {
  char *end;
  const float value = strtof(text, &end);
  if (*end || end == text || !(value > 0 && value <= most))
    argp_error(state, "--%s: '%s' is no number above 0 and up to %g", name, text, (double)most);
  return value;
}

int32_t option_scales(struct argp_state *state, const char *text) {
  const int32_t scales = (int32_t)option_number(state, "scales", text, 1, 7);
  if (scales % 2 == 0)
    argp_error(state, "--scales: %d is none of 1, 3, 5, 7", scales);
  return scales;
}
