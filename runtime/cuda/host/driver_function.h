/* SPDX-License-Identifier: Apache-2.0 */
/** Functions of the driver. Nothing links against it, so that the library starts without one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Find a function of CUDA 12.0 by its name.
 *  @param[out] function  a pointer to a function, of so many bytes; as it was where there is none
 */
bool prem_driver_function(const char *name, void *function, size_t bytes);
