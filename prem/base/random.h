/* SPDX-License-Identifier: Apache-2.0 */
/** Numbers by chance, the same for the same seed on every machine. */
#pragma once

#include <stdint.h>

/** splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Any seed
 *  is a state. */
static inline uint64_t prem_random_next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

/** In [0, below); 0 where nothing is below. It always takes one number. */
static inline int64_t prem_random_below(uint64_t *state, int64_t below) {
  return (int64_t)(prem_random_next(state) % (uint64_t)(below > 0 ? below : 1));
}

/** In [0, 1). */
static inline double prem_random_unit(uint64_t *state) {
  return (double)(prem_random_next(state) >> 11) * 0x1p-53;
}

/** Any order is as likely as any other (Durstenfeld: Algorithm 235, 1964). */
static inline void prem_shuffle(int32_t *order, int32_t count, uint64_t *state) {
  for (int32_t i = count - 1; i > 0; --i) {
    const int32_t j = (int32_t)prem_random_below(state, (int64_t)i + 1);
    const int32_t swapped = order[i];
    order[i] = order[j];
    order[j] = swapped;
  }
}
