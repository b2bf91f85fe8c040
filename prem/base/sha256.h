/* SPDX-License-Identifier: Apache-2.0 */
/** SHA-256 (FIPS 180-4), for the provenance of results. */
#pragma once

#include <stddef.h>

/** The hash of `count` bytes as 64 hexadecimal digits and a zero. */
void prem_sha256_hex(const void *bytes, size_t count, char out[65]);
