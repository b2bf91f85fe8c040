/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A door that many threads pass, and that one of them shuts. Who has shut it, and has seen nobody
 * between prem_door_enter() and prem_door_leave(), is alone: it sees all that the others did there,
 * and whoever comes is turned away until it opens again.
 *
 * All of it is one word, so there is one order of what happens to it: who enters is counted before
 * the door is shut, or sees that it is.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef PREM_DOOR_ADD /* tests have others: the word, which a C11 atomic is, as it was before */
#define PREM_DOOR_ADD(word, value) atomic_fetch_add_explicit(word, value, memory_order_acq_rel)
#define PREM_DOOR_LOAD(word)       atomic_load_explicit(word, memory_order_acquire)
typedef _Atomic uint64_t prem_door;
#endif

/* Below it is who is inside, or about to be turned away. */
#define PREM_DOOR_SHUT (UINT64_C(1) << 32)

static inline void prem_door_leave(prem_door *door) {
  PREM_DOOR_ADD(door, UINT64_MAX);
}
/** False: it is shut. True: leave again. */
static inline bool prem_door_enter(prem_door *door) {
  const bool is_open = PREM_DOOR_ADD(door, 1) < PREM_DOOR_SHUT;
  if (!is_open)
    prem_door_leave(door);
  return is_open;
}
/** One thread alone shuts a door. */
static inline void prem_door_shut(prem_door *door) {
  PREM_DOOR_ADD(door, PREM_DOOR_SHUT);
}
static inline bool prem_door_is_empty(prem_door *door) {
  return PREM_DOOR_LOAD(door) % PREM_DOOR_SHUT == 0;
}
static inline void prem_door_open(prem_door *door) {
  PREM_DOOR_ADD(door, ~PREM_DOOR_SHUT + 1);
}
