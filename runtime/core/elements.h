/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Elements of arrays by their type: filling, poisoning, comparing, telling. An element has parts of
 * one type: a c64 has two f32, every other one is its own only part.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ttprem/kernel.h"

/**
 * Fill `count` parts with the random values of part `first` on.
 * Part i has u = mix(mix(seed) + (i + 1) * 0x9E3779B97F4A7C15), with mix the output function of
 * SplitMix64: the same on every machine. As float it is (u >> 40) / 2^23 - 1, in [-1, 1); f16 and
 * bf16 are this float rounded to nearest, which may be 1; integers are the highest bits of u.
 */
void prem_parts_fill_random(prem_type type, void *to, int64_t count, uint64_t seed, uint64_t first);
/** Parts of one element. */
int32_t prem_type_parts(prem_type type);
/** Is it a float, or made of floats? */
bool prem_type_is_float(prem_type type);

/**
 * What an output holds before a run, so that what is not written is wrong. Floats: all bits ones, a
 * NaN that no arithmetic makes. Integers have no such value: the complement of what is expected, at
 * `expected`; NULL: nothing is, and all bits are ones.
 */
void prem_bytes_poison(prem_type type, void *to, const void *expected, int64_t bytes);

/** Index of the first part of an element that differs from the expected one, or -1. With a
 *  tolerance of 0 bits are compared, except that any NaN but the poison is right for a NaN; else
 *  |found - expected| <= tolerance * max(|expected|, 1e-30). */
int32_t prem_element_wrong_part(prem_type type, const void *found, const void *expected,
                                double tolerance);
/** The value of part `part` of an element. */
double prem_element_value(prem_type type, const void *element, int32_t part);

enum { PREM_POISON = 0xFF };
