/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reading and writing array files; the format follows the extension.
 *
 *   .pgm           P2 and P5, 8 and 16 bit
 *   .png           grey, grey + alpha, RGB(A), palette, 8 and 16 bit; colours become luma
 *                  (0.299 R + 0.587 G + 0.114 B), alpha is dropped
 *   .f32 .u8 ...   raw little-endian elements of that type, row-major, exactly as many as the
 *                  array has; .raw of whatever type the array is
 *
 * Pictures are of rank 2. Of f32 a pixel is a share of its maximum, in [0, 1]; written pictures are
 * 8 bit: value clamped to [0, 1], NaN as 0, rounded to nearest. Of u8 and u16 a pixel is the number
 * itself, whatever the maximum is, of colours the luma rounded to nearest; a u8 takes no picture of
 * wider pixels. They are written as they are, in 8 and 16 bit.
 */
#pragma once

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
