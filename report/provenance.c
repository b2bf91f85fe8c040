/* SPDX-License-Identifier: Apache-2.0 */
/* Where numbers come from. */
#include "report/provenance.h"

#include <inttypes.h>
#include <sys/utsname.h>
#include <time.h>

#include "report/json_pieces.h"

static json_t *machine_json(const prem_machine *machine) {
  json_t *object = json_object();
  bool whole = put(object, "name", text(machine->name));
  whole &= put(object, "backend", text(machine->backend));
  whole &= put(object, "cores", integer(machine->cores));
  whole &= put(object, "max_blocks", integer(machine->max_blocks));
  whole &= put(object, "scratch_bytes", integer(machine->scratch_bytes));
  whole &= put(object, "clock_step_ns", integer(machine->clock_step_ns));
  whole &= put(object, "clock_read_ns", integer(machine->clock_read_ns));
  whole &= put(object, "clock_skew_ns", integer(machine->clock_skew_ns));
  whole &= put(object, "dispatch_ns", integer(machine->dispatch_ns));
  whole &= put(object, "precedence_ns", integer(machine->precedence_ns));
  whole &= put(object, "bandwidth_bytes_per_s", integer(machine->bandwidth_bytes_per_s));
  if (machine->uuid[0])
    whole &= put(object, "uuid", text(machine->uuid));
  if (machine->driver[0])
    whole &= put(object, "driver", text(machine->driver));
  return finished(object, whole);
}

static json_t *date_json(int64_t unix_s) {
  time_t seconds = (time_t)unix_s;
  struct tm utc;
  char date[32];
  if (!gmtime_r(&seconds, &utc) || !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc))
    return json_null();
  return json_string(date);
}

static json_t *kernel_json(void) {
  struct utsname names;
  if (uname(&names) != 0)
    return json_null();
  return json_sprintf("%s %s %s", names.sysname, names.release, names.machine);
}

const char *prem_build_commit(void) {
  return TTPREM_COMMIT;
}

json_t *prem_provenance_json(const prem_machine *machine, const char *command, int64_t began_unix_s,
                             const uint64_t *seed) {
  json_t *object = json_object();
  bool whole = put(object, "ttprem", text(prem_version()));
  whole &= put(object, "commit", text(TTPREM_COMMIT));
  whole &= put(object, "command", text(command ? command : ""));
  whole &= put(object, "date", date_json(began_unix_s));
  whole &= put(object, "machine", machine_json(machine));
  whole &= put(object, "kernel", kernel_json());
  whole &= put(object, "compiler", text(TTPREM_COMPILER));
  whole &= put(object, "seed", seed ? json_sprintf("%" PRIu64, *seed) : json_null());
  return finished(object, whole);
}
