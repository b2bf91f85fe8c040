/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: how many random sets are tried. What holds of each is the release build's matter,
 * which tries all; a sanitizer looks at how the same code runs on them, and slows each down several
 * times.
 */
#ifndef TTPREM_TESTS_COMMON_ROUNDS_H
#define TTPREM_TESTS_COMMON_ROUNDS_H

#define ROUNDS(count) ((count) / TTPREM_TEST_ROUNDS_DIVISOR)

#endif
