/* SPDX-License-Identifier: Apache-2.0 */
#include "command/live_options.h"

#include <stdlib.h>
#include <string.h>

static const double max_hz = 1e6;

/* "50", or "image=50". */
static void add_rate(live_options *live, struct argp_state *state, char *text) {
  char *equals = strrchr(text, '='), *number = equals ? equals + 1 : text, *end;
  const double hz = strtod(number, &end);
  if (end == number || *end || !(hz > 0) || hz > max_hz)
    argp_error(state, "--rate: '%s' is no number of frames a second above 0 and at most %.0f",
               number, max_hz);
  if (live->rate_count == PREM_MAX_LIVE_PORTS)
    argp_error(state, "--rate: at most %d times, once for each input", PREM_MAX_LIVE_PORTS);
  if (equals)
    *equals = '\0';
  const live_rate rate = {.stream = equals ? text : NULL, .hz = hz};
  for (int i = 0; i < live->rate_count; ++i)
    if (!live->rates[i].stream == !rate.stream &&
        (!rate.stream || !strcmp(live->rates[i].stream, rate.stream)))
      argp_error(state, "--rate: %s has two; give one",
                 rate.stream ? rate.stream : "that of all inputs");
  live->rates[live->rate_count++] = rate;
}

static error_t parse_one(live_options *live, int key, char *text, struct argp_state *state) {
  switch (key) {
  case OPTION_FRAMES:
    live->frames = command_parse_int(state, "--frames", text, 1, INT64_MAX / 2);
    return 0;
  case OPTION_RATE:
    add_rate(live, state, text);
    return 0;
  case OPTION_HISTOGRAM:
    live->histogram = text;
    return 0;
  case OPTION_METRICS:
    if (!strcmp(text, "-"))
      argp_error(state, "--metrics: the file is written anew each second; name one");
    live->metrics = text;
    return 0;
  case OPTION_TIMELINE:
    live->timeline = text;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

error_t live_options_parse(live_options *live, int key, char *text, struct argp_state *state) {
  if (key == OPTION_LIVE) {
    live->is_live = true;
    return 0;
  }
  const error_t error = parse_one(live, key, text, state);
  if (error == 0 && !live->given)
    live->given = command_option_name(key);
  return error;
}

void live_options_judge(const run_options *options, struct argp_state *state) {
  const live_options *live = &options->live;
  const measure_options *measure = &options->measure;
  if (!live->is_live) {
    if (options->live.given)
      argp_error(state, "--%s is for live sessions: add --live", options->live.given);
    return;
  }
  if (measure->runs_only)
    argp_error(state,
               "--%s is for runs, not for live sessions; leave it out (--duration or --frames say "
               "how long, --metrics and --histogram what is written)",
               measure->runs_only);
  for (int i = 0; i < measure->mode_count; ++i)
    if (!prem_mode_has_phases(measure->modes[i]))
      argp_error(state, "--mode %s: a live session runs in tt, free or lock",
                 prem_mode_name(measure->modes[i]));
  if (!strcmp(measure->backend, "sim") && live->frames == 0 && !(measure->sampling.duration_s > 0))
    argp_error(state,
               "--live: time on sim passes at once; say how long, by --duration or --frames");
  const char *const outputs[] = {measure->trace, live->histogram, live->metrics, live->timeline};
  command_check_outputs(state, measure->file, outputs, sizeof outputs / sizeof outputs[0]);
}
