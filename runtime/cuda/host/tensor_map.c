/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps, made by the driver, which is found at run time: nothing links against it. */
#include "runtime/cuda/host/tensor_map.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <string.h>

#include "runtime/cuda/host/driver_function.h"

enum { MAX_BOX = 256 /* elements of a dimension of a box */, PIECE_BYTES = 16 };

#if CUDART_VERSION >= 12000 /* the first with tensor maps */

static_assert(sizeof(CUtensorMap) == PREM_TENSOR_MAP_BYTES, "a tensor map is 128 bytes");

typedef CUresult encode_function(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                 void *base, const cuuint64_t *size, const cuuint64_t *pitch,
                                 const cuuint32_t *box, const cuuint32_t *step,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

bool prem_tensor_map_make(const prem_device_array *array, const prem_window *window,
                          int32_t row_bytes, unsigned char out[PREM_TENSOR_MAP_BYTES]) {
  const int64_t row_pieces = row_bytes / PREM_TENSOR_PIECE;
  if (array->slot_offsets || row_bytes % PIECE_BYTES != 0 || row_pieces > MAX_BOX)
    return false;
  for (int d = 0; d < 3; ++d)
    if (window->extent[d] > MAX_BOX)
      return false;
  encode_function *encode = NULL;
  if (!prem_driver_function("cuTensorMapEncodeTiled", &encode, sizeof encode))
    return false;
  /* innermost first; of an array of fewer dimensions the outer ones are 1 */
  const cuuint64_t pitch[3] = {(cuuint64_t)array->pitch_bytes[2], (cuuint64_t)array->pitch_bytes[1],
                               (cuuint64_t)array->pitch_bytes[0]};
  const cuuint64_t size[4] = {pitch[0] / PREM_TENSOR_PIECE, pitch[1] / pitch[0],
                              pitch[2] / pitch[1], (cuuint64_t)array->box_bytes / pitch[2]};
  const cuuint32_t box[4] = {(cuuint32_t)row_pieces, (cuuint32_t)window->extent[2],
                             (cuuint32_t)window->extent[1], (cuuint32_t)window->extent[0]};
  const cuuint32_t step[4] = {1, 1, 1, 1};
  /* L2 fetches whole lines: fewer fetches take long (docs/measured.md) */
  CUtensorMap map;
  if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT64, 4, array->box, size, pitch, box, step,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    return false;
  memcpy(out, &map, sizeof map);
  return true;
}

#else

bool prem_tensor_map_make(const prem_device_array *array, const prem_window *window,
                          int32_t row_bytes, unsigned char out[PREM_TENSOR_MAP_BYTES]) {
  (void)array, (void)window, (void)row_bytes, (void)out;
  return false;
}

#endif

bool prem_tensor_map_place(const prem_device_array *array, const prem_window *window,
                           bool is_output, prem_device_move *move) {
  const bool is_whole = move->rows == window->extent[2] && move->planes[1] == window->extent[1] &&
                        move->planes[0] == window->extent[0];
  if (is_output && (!is_whole || move->width_bytes != move->scratch_pitch))
    return false;
  int64_t left = move->array - array->box;
  for (int d = 0; d < 3; ++d) {
    move->box_at[3 - d] = (int32_t)(left / array->pitch_bytes[d]);
    left %= array->pitch_bytes[d];
  }
  if (left % PIECE_BYTES != 0)
    return false;
  move->box_at[0] = (int32_t)(left / PREM_TENSOR_PIECE);
  return true;
}
