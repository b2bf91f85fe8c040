/* SPDX-License-Identifier: Apache-2.0 */
/** In which order a walk visits its nodes: computed for each node by itself, so that many threads
 *  can write a list at once. For host and device. */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define PREM_BOTH_SIDES __host__ __device__
#else
#define PREM_BOTH_SIDES
#endif

enum { PREM_WALK_ROUNDS = 4 };

/** Any function of half a word will do; this one mixes well (Steele, Lea, Flood, "Fast splittable
 *  pseudorandom number generators", 2014). */
PREM_BOTH_SIDES static inline uint32_t prem_walk_mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return (uint32_t)(value >> 32);
}

/**
 * The node that is visited as number `visit` of `nodes`: a permutation, by a Feistel network over
 * the next power of four, whose values beyond the nodes are sent through it again (Black, Rogaway,
 * "Ciphers with arbitrary finite domains", 2002).
 */
PREM_BOTH_SIDES static inline uint32_t prem_walk_node(uint32_t visit, uint32_t nodes, int random,
                                                      uint64_t seed) {
  if (!random)
    return visit;
  uint32_t half_bits = 1;
  while (half_bits < 16 && (uint64_t)1 << (2 * half_bits) < nodes)
    ++half_bits;
  const uint32_t mask = (1u << half_bits) - 1;
  uint32_t node = visit;
  do {
    uint32_t left = node >> half_bits, right = node & mask;
    for (uint32_t round = 0; round < PREM_WALK_ROUNDS; ++round) {
      const uint32_t mixed = prem_walk_mix(seed ^ ((uint64_t)round << 40 | right)) & mask;
      const uint32_t swapped = left ^ mixed;
      left = right;
      right = swapped;
    }
    node = left << half_bits | right;
  } while (node >= nodes);
  return node;
}

/** Threads begin evenly spread along the list. */
PREM_BOTH_SIDES static inline uint32_t prem_walk_first_visit(uint32_t thread, uint32_t threads,
                                                             uint32_t nodes) {
  return (uint32_t)((uint64_t)thread * nodes / threads);
}
