/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Pieces of 16 bytes, each one load or one store.
 *
 * Windows that are cut alike lie alike in the scratchpad: their rows have one pitch and the same
 * distance from a 16-byte boundary. A kernel that works element by element therefore goes straight
 * through the pieces from the one in which a window begins to its last. What stands in the first
 * and the last piece besides the window, and between two rows, it works as well, and nobody reads.
 */
#pragma once

#include <stdalign.h>
#include <stdint.h>

#include "ttprem/kernel.h"

typedef struct float_piece {
  alignas(16) float of[4];
} float_piece;

/* Floats of a window's first piece that stand before the window. */
PREM_FN int32_t float_lead(const prem_view *view) {
  return (int32_t)(((uintptr_t)view->data & 15) / sizeof(float));
}

/* The piece in which a window begins. */
PREM_FN float_piece *float_pieces(const prem_view *view) {
  return (float_piece *)(void *)((float *)view->data - float_lead(view));
}
