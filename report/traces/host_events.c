/* SPDX-License-Identifier: Apache-2.0 */
/* What the host of a live session did, beside the phases: a group of tracks of its own. Numbers of
 * tracks, names and notes lie above those of phases. */

#include "report/traces/perfetto.h"
#include "ttprem/trace_file.h"

#define HOST_TRACK (UINT64_C(1) << 40)
#define HOST_NAME  (UINT64_C(1) << 40)
enum { NOTE_FRAME = 64, NOTE_AGE, NOTE_SHOWN_LATE };

static const char *const names[PREM_HOST_DEEDS] = {"wait for a buffer", "submit", "shown",
                                                   "wait for a result", "release"};

static void begin_host(const prem_schedule *schedule, FILE *out) {
  prem_perfetto_group(out, HOST_TRACK, "host");
  for (int32_t s = 0; s < schedule->live_count; ++s) {
    char name[PREM_NAME_BYTES + 16];
    snprintf(name, sizeof name, "%s (%s)", schedule->arrays[schedule->live[s].array].name,
             schedule->live[s].is_output ? "out" : "in");
    prem_perfetto_track_in(out, HOST_TRACK, HOST_TRACK + 1 + (uint64_t)s, s, name);
  }
  for (int deed = 0; deed < PREM_HOST_DEEDS; ++deed)
    prem_perfetto_name_event(out, HOST_NAME + (uint64_t)deed, names[deed]);
  prem_perfetto_name_note(out, NOTE_FRAME, "frame");
  prem_perfetto_name_note(out, NOTE_AGE, "age_ns");
  prem_perfetto_name_note(out, NOTE_SHOWN_LATE, "shown after it was due, ns");
}

static void write_event(const prem_host_event *event, int64_t zero_ns, FILE *out) {
  const uint64_t track = HOST_TRACK + 1 + (uint64_t)event->stream;
  const uint64_t name = HOST_NAME + (uint64_t)event->deed;
  prem_perfetto_note notes[3] = {{NOTE_FRAME, (int64_t)event->frame}};
  int count = 1;
  if (event->deed == PREM_HOST_SHOWN) {
    notes[count++] = (prem_perfetto_note){NOTE_SHOWN_LATE, event->lateness_ns};
    if (event->age_ns != INT64_MIN)
      notes[count++] = (prem_perfetto_note){NOTE_AGE, event->age_ns};
  }
  if (event->deed == PREM_HOST_ACQUIRED || event->deed == PREM_HOST_WAITED)
    prem_perfetto_slice(out, track, name, event->begin_ns - zero_ns, event->end_ns - zero_ns, notes,
                        count);
  else
    prem_perfetto_instant(out, track, name, event->begin_ns - zero_ns, notes, count);
}

void prem_trace_add_host(const prem_schedule *schedule, const prem_host_event *events,
                         int64_t count, int64_t zero_ns, int64_t until_ns, FILE *out) {
  begin_host(schedule, out);
  for (int64_t i = 0; i < count; ++i)
    if (events[i].begin_ns >= zero_ns && events[i].end_ns <= until_ns)
      write_event(&events[i], zero_ns, out);
}
