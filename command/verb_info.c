/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem info: what is here to run on. */
#include <inttypes.h>

#include "command/command.h"

static const struct argp argp = {
    .children = command_common_children,
    .doc = "Show every backend: is it available, and what can its machine do? Facts that are not "
           "known are left out.\v" COMMAND_EXIT_DOC,
};

static void fact(const char *name, int64_t value, const char *unit) {
  if (value)
    printf("  %-22s %" PRId64 "%s%s\n", name, value, *unit ? " " : "", unit);
}

static void words(const char *name, const char *text) {
  if (*text)
    printf("  %-22s %s\n", name, text);
}

static void show_modes(const prem_backend *backend) {
  printf("  %-22s", "modes");
  for (int i = 0; i < PREM_MODE_COUNT; ++i)
    if (prem_backend_has_mode(backend, (prem_mode)i))
      printf(" %s", prem_mode_name((prem_mode)i));
  putchar('\n');
}

static void show(const char *name) {
  const prem_backend *backend;
  prem_machine machine;
  char why[256];
  if (command_probe_backend(name, &backend, &machine, why, sizeof why) != PREM_OK) {
    printf("%s: not available: %s\n", name, why);
    return;
  }
  prem_backend_measure(backend, &machine, NULL); /* what fails is not known, so not shown */
  printf("%s: %s\n", name, machine.name);
  show_modes(backend);
  words("UUID", machine.uuid);
  words("driver", machine.driver);
  fact("cores", machine.cores, "");
  fact("resident blocks", machine.max_blocks, machine.yields ? "(more of them take turns)" : "");
  fact("scratchpad of a block", machine.scratch_bytes, "bytes");
  fact("clock step", machine.clock_step_ns, "ns");
  fact("reading the clock", machine.clock_read_ns, "ns");
  fact("clock skew, at most", machine.clock_skew_ns, "ns");
  fact("starting a phase", machine.dispatch_ns, "ns");
  fact("telling a successor", machine.precedence_ns, "ns (that its predecessors have ended)");
  fact("copy, read + written", machine.bandwidth_bytes_per_s, "bytes/s");
}

int verb_info(int argc, char **argv) {
  command_parse(&argp, argc, argv, NULL);
  printf("ttprem %s\n", prem_version());
  for (const char *const *name = command_backends; *name; ++name)
    show(*name);
  return COMMAND_DONE;
}
