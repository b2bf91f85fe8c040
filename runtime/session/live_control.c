/* SPDX-License-Identifier: Apache-2.0 */
/* Live sessions: operating modes and events, for whoever watches over a session. */
#include <string.h>

#include "runtime/session/live_parts.h"

/* ---- operating modes ------------------------------------------------------------------------- */

int32_t prem_live_find_operating_mode(const prem_live *live, const char *name) {
  int32_t found = -1;
  if (!prem_live_enter(live))
    return found;
  for (int32_t m = 0; m < live->schedule->operating_mode_count && found < 0; ++m)
    if (strcmp(live->schedule->operating_modes[m].name, name) == 0)
      found = m;
  prem_live_leave(live, PREM_OK);
  return found;
}

static prem_status switch_mode(prem_live *live, int32_t operating_mode, prem_diag *diag) {
  prem_word *wish = &live->courier->face->wish.value;
  if (operating_mode < 0 || operating_mode >= live->courier->mode_count)
    return prem_live_refuse(diag, "switch",
                            "there is no operating mode %d; the file has %d, from 0 on",
                            operating_mode, live->courier->mode_count);
  if (prem_live_is_over(live))
    return prem_live_ended(live);
  const uint64_t wishes = (prem_word_far(wish) >> 8) + 1;
  prem_word_set_far(wish, wishes << 8 | (uint64_t)operating_mode);
  prem_live_tell(live);
  return PREM_OK;
}

prem_status prem_live_switch(prem_live *live, int32_t operating_mode, prem_diag *diag) {
  return prem_live_enter(live) ? prem_live_leave(live, switch_mode(live, operating_mode, diag))
                               : PREM_ERR_ENDED;
}

/* ---- events ---------------------------------------------------------------------------------- */

int64_t prem_live_heard_ns(const prem_live *live) {
  const prem_live_engine *engine = prem_live_engine_of(live);
  if (!atomic_load(&live->has_started) || !engine->heard_ns)
    return prem_live_clock_ns(live);
  return engine->heard_ns(live->state);
}

/* What a call waits for. */
typedef struct listening {
  prem_live *live;
  prem_live_event *out;
} listening;

static prem_live_event event_of(const uint64_t words[PREM_EVENT_WORDS]) {
  const prem_live_event_kind kind = (prem_live_event_kind)(words[0] & 0xFF);
  const int32_t who = (int32_t)(words[0] >> 8);
  const bool is_of_task = kind <= PREM_EVENT_ABORTED, is_of_stream = kind <= PREM_EVENT_LATE;
  return (prem_live_event){.kind = kind,
                           .task = is_of_task ? who : -1,
                           .stream = is_of_stream && !is_of_task ? who : -1,
                           .job = (int64_t)words[1],
                           .at_ns = (int64_t)words[2],
                           .value = (int64_t)words[3]};
}

static prem_live_event event_of_host(const prem_live *live, prem_live_event_kind kind,
                                     int64_t value) {
  return (prem_live_event){.kind = kind,
                           .task = -1,
                           .stream = -1,
                           .job = -1,
                           .at_ns = prem_live_clock_ns(live),
                           .value = value};
}

static bool is_silent(prem_live *live, int64_t *for_ns) {
  *for_ns = prem_live_clock_ns(live) - prem_live_heard_ns(live);
  if (*for_ns <= live->silence_ns)
    live->has_told_silence = false;
  return *for_ns > live->silence_ns && !live->has_told_silence;
}

static bool has_event(void *of) {
  const listening *l = of;
  prem_live *live = l->live;
  uint64_t words[PREM_EVENT_WORDS];
  int64_t for_ns;
  /* first, so that what was told before the end is not passed over */
  const bool is_over = prem_live_is_over(live);
  if (prem_events_read(&live->courier->face->events, &live->next_event, &live->lost_events,
                       words)) {
    *l->out = event_of(words);
  } else if (is_over) {
    *l->out = event_of_host(live, PREM_EVENT_ENDED, prem_live_end_of(live));
    live->has_told_end = true;
  } else if (is_silent(live, &for_ns)) {
    *l->out = event_of_host(live, PREM_EVENT_SILENT, for_ns);
    live->has_told_silence = true;
  } else {
    return atomic_load(&live->is_closing);
  }
  l->out->lost = live->lost_events;
  live->lost_events = 0;
  return true;
}

static prem_status listen(prem_live *live, int64_t until_ns, prem_live_event *out,
                          prem_diag *diag) {
  listening l = {live, out};
  if (!atomic_load(&live->has_started) || !live->listens)
    return prem_live_refuse(diag, "listen",
                            "the session tells no events; set `events` in what it is started with");
  if (live->has_told_end)
    return PREM_ERR_ENDED;
  const bool is_there = prem_live_engine_of(live)->wait(live->state, has_event, &l, until_ns);
  if (atomic_load(&live->is_closing))
    return PREM_ERR_ENDED;
  return is_there ? PREM_OK : PREM_ERR_TIMEOUT;
}

prem_status prem_live_listen(prem_live *live, int64_t until_ns, prem_live_event *out,
                             prem_diag *diag) {
  return prem_live_enter(live) ? prem_live_leave(live, listen(live, until_ns, out, diag))
                               : PREM_ERR_ENDED;
}

const char *prem_live_event_name(prem_live_event_kind kind) {
  static const char *const names[] = {"overrun", "skipped", "aborted", "missing",
                                      "stale",   "dropped", "late",    "mode",
                                      "args",    "silent",  "ended"};
  return kind >= 0 && (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}
