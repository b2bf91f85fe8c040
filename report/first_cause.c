/* SPDX-License-Identifier: Apache-2.0 */
/* First causes in words: for the table of a result, and for live sessions. */
#include "report/first_cause.h"

#include "ttprem/tally.h"
#include "ttprem/text.h"

/** A name, fit to be shown. */
typedef struct shown_name {
  char text[4 * PREM_NAME_BYTES];
} shown_name;

static shown_name show(const char *name) {
  shown_name shown;
  prem_text_show(name, shown.text, sizeof shown.text);
  return shown;
}

int prem_first_cause_text(const prem_first_cause *cause, const char *task, const char *from,
                          char *text, size_t bytes) {
  const char *phase = cause->joined ? "joined prefetch" : prem_phase_name(cause->phase);
  const shown_name name = show(task);
  switch (cause->kind) {
  case PREM_FIRST_WINDOW:
    return snprintf(text, bytes, "the %s of %s took longer than its window", phase, name.text);
  case PREM_FIRST_HANDOVER:
    return snprintf(text, bytes, "the hand-over from %s to %s took longer than planned",
                    show(from).text, name.text);
  case PREM_FIRST_EXECUTOR:
    return snprintf(text, bytes, "nothing held up the %s of %s: the executor began it late", phase,
                    name.text);
  case PREM_FIRST_CLOCK:
    return snprintf(text, bytes, "the %s of %s was seen within two clock steps", phase, name.text);
  case PREM_FIRST_COLD:
    return snprintf(text, bytes, "cold start of the %s of %s", phase, name.text);
  default:
    return snprintf(text, bytes, "not known: raw records are lost");
  }
}

int prem_first_cause_say(const prem_schedule *schedule, const prem_first_cause *cause, char *text,
                         size_t bytes) {
  return prem_first_cause_text(cause, schedule->tasks[cause->task].name,
                               cause->from >= 0 ? schedule->tasks[cause->from].name : "", text,
                               bytes);
}
