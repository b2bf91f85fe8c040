/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Two clocks compared by questions and answers, with a bound that holds at all times.
 *
 * Who asks at `asked`, and has the answer `there` at `heard`, knows that the other clock showed it
 * in between: the difference of the clocks lay in [there - heard, there - asked]. Since then it has
 * moved by the drift of one against the other, PREM_CLOCK_DRIFT_PPM at most. What is known is where
 * all such intervals, widened by that, overlap: so a quick answer keeps a slow one from doing harm.
 * After D. L. Mills, "Network Time Protocol", RFC 5905, and K. Marzullo and S. Owicki, "Maintaining
 * the time in a distributed system", 1985.
 */
#pragma once

#include <stdint.h>

#include "prem/base/numbers.h"

enum { PREM_CLOCK_DRIFT_PPM = 50 }; /* an assumption: one that drifts faster contradicts itself */

/** The other clock minus this one. */
typedef struct prem_clock_match {
  int64_t at_ns;           /* on this clock */
  int64_t min_ns, max_ns;  /* what it was then */
  uint64_t questions;      /* answered */
  uint64_t contradictions; /* answers that did not fit what was known: a clock was set, or drifts
                              faster; what was known is given up then */
} prem_clock_match;

/** The match as it is at an instant, not before at_ns. */
static inline prem_clock_match prem_clock_match_at(const prem_clock_match *match, int64_t now_ns) {
  prem_clock_match later = *match;
  const int64_t passed_ns = prem_max_i64(now_ns - match->at_ns, 0);
  const int64_t drift_ns = (passed_ns / 1000 * PREM_CLOCK_DRIFT_PPM + 999) / 1000 + 1;
  later.at_ns = match->at_ns + passed_ns;
  later.min_ns -= drift_ns;
  later.max_ns += drift_ns;
  return later;
}

/** @param step_ns  the other clock shows an instant up to so much earlier, since it goes in steps
 */
static inline void prem_clock_match_add(prem_clock_match *match, int64_t asked_ns, int64_t there_ns,
                                        int64_t heard_ns, int64_t step_ns) {
  const prem_clock_match answer = {
      .at_ns = asked_ns, .min_ns = there_ns - heard_ns, .max_ns = there_ns + step_ns - asked_ns};
  prem_clock_match now = prem_clock_match_at(&answer, heard_ns);
  const prem_clock_match known = prem_clock_match_at(match, heard_ns);
  const int64_t min_ns = prem_max_i64(now.min_ns, known.min_ns);
  const int64_t max_ns = prem_min_i64(now.max_ns, known.max_ns);
  now.questions = match->questions + 1;
  now.contradictions = match->contradictions;
  if (match->questions > 0 && min_ns <= max_ns) {
    now.min_ns = min_ns;
    now.max_ns = max_ns;
  } else if (match->questions > 0) {
    ++now.contradictions;
  }
  *match = now;
}

/** The best guess; the truth is no further than prem_clock_match_bound_ns() from it. */
static inline int64_t prem_clock_match_offset_ns(const prem_clock_match *match) {
  return match->min_ns + (match->max_ns - match->min_ns) / 2;
}
static inline int64_t prem_clock_match_bound_ns(const prem_clock_match *match) {
  return (match->max_ns - match->min_ns + 1) / 2;
}
