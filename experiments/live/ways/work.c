/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/live/ways/work.h"

#include <stdlib.h>

static int64_t in_count(prem_work command, int64_t size, int input) {
  switch (command) {
  case PREM_WORK_PRODUCT:
    return size * size;
  case PREM_WORK_INCREMENT:
  case PREM_WORK_SUM:
    return input == 0 ? size : 0;
  default:
    return 0;
  }
}

static int64_t out_count(prem_work command, int64_t size) {
  switch (command) {
  case PREM_WORK_PRODUCT:
    return size * size;
  case PREM_WORK_INCREMENT:
    return size;
  case PREM_WORK_SUM:
    return 1;
  default:
    return 0;
  }
}

/* From -4 to 3, without a pattern that a tile could have. */
static void fill(float *values, int64_t count, uint32_t seed) {
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
    values[i] = (float)((int32_t)(seed >> 29) - 4);
  }
}

static void multiply(const float *a, const float *b, int64_t side, float *out) {
  for (int64_t r = 0; r < side; ++r) {
    for (int64_t c = 0; c < side; ++c)
      out[r * side + c] = 0.0F;
    for (int64_t k = 0; k < side; ++k)
      for (int64_t c = 0; c < side; ++c)
        out[r * side + c] += a[r * side + k] * b[k * side + c];
  }
}

static void make_expected(prem_work_data *data, int variant) {
  const int64_t size = data->size[data->command[variant]];
  const float *in = data->in[variant][0];
  float *out = data->out[variant];
  switch (data->command[variant]) {
  case PREM_WORK_INCREMENT:
    for (int64_t i = 0; i < size; ++i)
      out[i] = in[i] + 1.0F;
    break;
  case PREM_WORK_PRODUCT:
    multiply(in, data->in[variant][1], size, out);
    break;
  case PREM_WORK_SUM:
    out[0] = 0.0F;
    for (int64_t i = 0; i < size; ++i)
      out[0] += in[i];
    break;
  default:
    break;
  }
}

static bool make_variant(prem_work_data *data, int variant) {
  const prem_work command = data->command[variant];
  const int64_t size = data->size[command];
  for (int input = 0; input < 2; ++input) {
    const int64_t count = in_count(command, size, input);
    data->used_in[variant][input] = count;
    data->in_count[input] = count > data->in_count[input] ? count : data->in_count[input];
    data->in[variant][input] = calloc((size_t)count + 1, sizeof(float));
    if (!data->in[variant][input])
      return false;
    fill(data->in[variant][input], count, (uint32_t)(7 * variant + 3 * input + 1));
  }
  const int64_t count = out_count(command, size);
  data->used_out[variant] = count;
  data->out_count = count > data->out_count ? count : data->out_count;
  data->out[variant] = calloc((size_t)count + 1, sizeof(float));
  if (!data->out[variant])
    return false;
  make_expected(data, variant);
  return true;
}

bool prem_work_data_make(prem_work work, int32_t size, prem_work_data *out) {
  *out = (prem_work_data){0};
  for (int command = 0; command < PREM_WORK_COUNT; ++command)
    out->size[command] = size;
  if (work == PREM_WORK_MIXED)
    out->size[PREM_WORK_PRODUCT] = PREM_WORK_TILE;
  bool made = true;
  for (int v = 0; v < PREM_WORK_VARIANTS && made; ++v) {
    out->command[v] = work == PREM_WORK_MIXED ? (prem_work)(v % PREM_WORK_COUNT) : work;
    made = make_variant(out, v);
  }
  return made;
}

void prem_work_data_free(prem_work_data *data) {
  for (int v = 0; v < PREM_WORK_VARIANTS; ++v) {
    free(data->in[v][0]);
    free(data->in[v][1]);
    free(data->out[v]);
  }
  *data = (prem_work_data){0};
}

const char *prem_work_name(prem_work work) {
  static const char *const names[] = {
      [PREM_WORK_EMPTY] = "empty",     [PREM_WORK_INCREMENT] = "increment",
      [PREM_WORK_PRODUCT] = "product", [PREM_WORK_SUM] = "sum",
      [PREM_WORK_MIXED] = "mixed",
  };
  return names[work];
}
