/** sharpen: out = in + strength * (4 in - its four neighbours); outside the image is 0. */
#ifndef SHARPEN_H
#define SHARPEN_H

#include <math.h>

#include <ttprem/kernel.h>

typedef struct sharpen_params {
  float strength;
} sharpen_params;

/* Written once: the tile's formula and the reference's. */
PREM_FN float sharpen_pixel(float strength, float here, float up, float left, float right,
                            float down) {
  return fmaf(strength, 4.0F * here - (up + left + right + down), here);
}

PREM_FN void sharpen_compute(const sharpen_params *params, const prem_view *views) {
  const float strength = params->strength;
  const prem_view in = views[0], out = views[1];
  PREM_LANES_2D(row, out.extent[2], column, out.extent[3]) {
    /* The window of `in` begins one pixel above and to the left of the one of `out`. */
    const float *here = &PREM_AT(const float, in, row + 1, column + 1);
    PREM_AT(float, out, row, column) =
        sharpen_pixel(strength, here[0], here[-in.pitch[2]], here[-1], here[1], here[in.pitch[2]]);
  }
}

#if PREM_HOST

static prem_status sharpen_bind(prem_bind *bind) {
  if (bind->rank[0] != 2)
    return prem_bind_refuse(bind, "arrays.in", "has %d dimensions, sharpen takes an image of 2",
                            (int)bind->rank[0]);
  bind->new_rank[1] = 2;
  for (int32_t d = 0; d < 4; ++d) {
    bind->new_shape[1][d] = bind->shape[0][d];
    if (bind->rank[1] != 0 && bind->shape[1][d] != bind->shape[0][d])
      return prem_bind_refuse(bind, "arrays.out", "must have the shape of `in`");
  }
  prem_status status = prem_bind_tile(bind, 2, bind->shape[0], &bind->window[1]);
  if (status != PREM_OK)
    return status;
  bind->window[0] = bind->window[1];
  for (int32_t d = 2; d < 4; ++d) { /* one pixel more on each side */
    bind->window[0].base[d] -= 1;
    bind->window[0].extent[d] += 2;
  }
  sharpen_params *params = (sharpen_params *)bind->params.bytes;
  params->strength = 1.0F;
  return prem_arg_floats(bind, "strength", &params->strength, 1);
}

static float sharpen_at(const prem_array_view *image, int64_t row, int64_t column) {
  if (row < 0 || column < 0 || row >= image->shape[2] || column >= image->shape[3])
    return 0.0F;
  return ((const float *)image->data)[row * image->shape[3] + column];
}

static void sharpen_reference(const void *params, const prem_array_view *arrays) {
  const float strength = ((const sharpen_params *)params)->strength;
  const prem_array_view *in = &arrays[0];
  float *out = (float *)arrays[1].data;
  for (int64_t r = 0; r < in->shape[2]; ++r)
    for (int64_t c = 0; c < in->shape[3]; ++c)
      *out++ = sharpen_pixel(strength, sharpen_at(in, r, c), sharpen_at(in, r - 1, c),
                             sharpen_at(in, r, c - 1), sharpen_at(in, r, c + 1),
                             sharpen_at(in, r + 1, c));
}

static const prem_port sharpen_ports[] = {
    {"in", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

PREM_COMPUTE_ENTRY(sharpen)

static const prem_kernel sharpen_kernel = {
    .name = "sharpen",
    .summary = "in + strength (1) * (4 in - neighbours) of an image; tile = [rows, columns]",
    .version = 1,
    .params_bytes = sizeof(sharpen_params),
    .ports = sharpen_ports,
    .port_count = 2,
    .bind = sharpen_bind,
    .compute = sharpen_entry,
    .reference = sharpen_reference,
};

#endif
#endif
