/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reading and writing array files; the format follows the extension.
 *
 *   .pgm           P2 and P5, 8 and 16 bit; value = pixel / maxval, in [0, 1]
 *   .png           grey, grey + alpha, RGB(A), palette, 8 and 16 bit; colours become luma
 *                  (0.299 R + 0.587 G + 0.114 B), alpha is dropped; value in [0, 1]
 *   .f32 .c64 .raw raw little-endian floats, row-major, exactly as many as the array has
 *
 * Pictures are f32 of rank 2. Written pictures are 8 bit: value clamped to [0, 1], NaN as 0,
 * rounded to nearest.
 */
#ifndef TTPREM_RUNTIME_CORE_IMAGE_H
#define TTPREM_RUNTIME_CORE_IMAGE_H

#include "runtime/core/arrays.h"

/**
 * Read `path` into `storage`, whose shape the file must have.
 * On error `reason` (of reason_bytes) says what is wrong: missing, broken, cut short, other shape.
 */
prem_status prem_image_read(const char *path, prem_storage *storage, char *reason,
                            size_t reason_bytes);
/** Write `storage` to `path`, beside and renamed. */
prem_status prem_image_write(const char *path, const prem_storage *storage, char *reason,
                             size_t reason_bytes);

#endif
