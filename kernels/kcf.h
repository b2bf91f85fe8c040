/* SPDX-License-Identifier: Apache-2.0 */
/** What the operators of the KCF tracker share: arrays of complex numbers, channels of rows and
 *  columns, in windows that are cut alike. An operator goes through them piece by piece. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/pieces.h"

/* A piece holds two complex numbers. */

PREM_FN prem_c64 kcf_of(float_piece piece, int32_t number) {
  prem_c64 of;
  of.re = piece.of[2 * number];
  of.im = piece.of[2 * number + 1];
  return of;
}

PREM_FN float_piece kcf_pair(prem_c64 a, prem_c64 b) {
  float_piece pair;
  pair.of[0] = a.re;
  pair.of[1] = a.im;
  pair.of[2] = b.re;
  pair.of[3] = b.im;
  return pair;
}

/* Pieces from the first to the last element of `rows` rows of a window. */
PREM_FN int32_t kcf_rows_pairs(const prem_view *view, int32_t rows) {
  return (float_lead(view) / 2 + (rows - 1) * view->pitch[2] + view->extent[3] + 1) / 2;
}

/* The same for all rows of all planes. */
PREM_FN int32_t kcf_window_pairs(const prem_view *view) {
  const int32_t planes =
      (view->extent[0] - 1) * view->pitch[0] + (view->extent[1] - 1) * view->pitch[1];
  return kcf_rows_pairs(view, view->extent[2]) + planes / 2;
}

/* The arithmetic that more than one operator, and their references, need. */

PREM_FN prem_c64 kcf_product(prem_c64 a, prem_c64 b) {
  prem_c64 product;
  product.re = fmaf(a.re, b.re, -(a.im * b.im));
  product.im = fmaf(a.re, b.im, a.im * b.re);
  return product;
}

PREM_FN prem_c64 kcf_sum(prem_c64 a, prem_c64 b) {
  prem_c64 sum;
  sum.re = a.re + b.re;
  sum.im = a.im + b.im;
  return sum;
}

PREM_FN float kcf_square(prem_c64 a) {
  return fmaf(a.re, a.re, a.im * a.im);
}

#if PREM_HOST

static inline int64_t kcf_elements(const prem_array_view *array) {
  return array->shape[0] * array->shape[1] * array->shape[2] * array->shape[3];
}

static inline bool kcf_has_shape(const prem_bind *bind, int32_t port, int32_t rank,
                                 const int64_t shape[4]) {
  bool same = bind->rank[port] == rank;
  for (int32_t d = 0; d < 4; ++d)
    same = same && bind->shape[port][d] == shape[d];
  return same;
}

/* The same tiles of all ports, which have the shape of the first. */
static inline prem_status kcf_bind_alike(prem_bind *bind, const prem_port *ports,
                                         int32_t port_count) {
  const int32_t rank = bind->rank[0];
  prem_window window;
  for (int32_t port = 1; port < port_count; ++port) {
    const bool is_new = ports[port].access == PREM_OUT && bind->rank[port] == 0;
    char key[PREM_NAME_BYTES];
    snprintf(key, sizeof key, "arrays.%s", ports[port].name);
    if (!is_new && !kcf_has_shape(bind, port, rank, bind->shape[0]))
      return prem_bind_refuse(bind, key, "must have the shape of `%s`", ports[0].name);
  }
  prem_status status = prem_bind_tile(bind, rank, bind->shape[0], &window);
  if (status != PREM_OK)
    return status;
  for (int32_t port = 0; port < port_count; ++port) {
    bind->window[port] = window;
    bind->new_rank[port] = rank;
    for (int32_t d = 0; d < 4; ++d)
      bind->new_shape[port][d] = bind->shape[0][d];
  }
  return PREM_OK;
}

/* Channels are the third dimension from behind, before rows and columns: dimension 1 of an array of
 * rank 3 or 4, in which scales stand before them. Without its channels an array has one dimension
 * less, so that dimension 0 moves to 1. */

static inline prem_status kcf_without_channels(prem_bind *bind, int32_t port, const char *name,
                                               int64_t shape[4]) {
  const int64_t *with = bind->shape[port];
  char key[PREM_NAME_BYTES];
  snprintf(key, sizeof key, "arrays.%s", name);
  if (bind->rank[port] < 3)
    return prem_bind_refuse(
        bind, key,
        "has %d dimensions; channels, rows and columns are needed, or scales before them",
        (int)bind->rank[port]);
  shape[0] = 1;
  shape[1] = with[0];
  shape[2] = with[2];
  shape[3] = with[3];
  return PREM_OK;
}

static inline void kcf_window_copy(prem_window *to, int32_t at, const prem_window *from,
                                   int32_t d) {
  to->extent[at] = from->extent[d];
  for (int32_t k = 0; k < PREM_MAX_GRID; ++k)
    to->step[at][k] = from->step[d][k];
}

static inline prem_window kcf_window_without_channels(const prem_window *window) {
  prem_window without = *window;
  kcf_window_copy(&without, 1, window, 0);
  without.extent[0] = 1;
  for (int32_t k = 0; k < PREM_MAX_GRID; ++k)
    without.step[0][k] = 0;
  return without;
}

static inline prem_window kcf_window_with_channels(const prem_window *window, int32_t channels) {
  prem_window with = *window;
  kcf_window_copy(&with, 0, window, 1);
  with.extent[1] = channels;
  for (int32_t k = 0; k < PREM_MAX_GRID; ++k)
    with.step[1][k] = 0;
  return with;
}

#endif
