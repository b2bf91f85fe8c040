/* SPDX-License-Identifier: Apache-2.0 */
/** A share of the GPU's SMs for every task, by the driver's green contexts. */
#pragma once

#include <cuda_runtime_api.h>

#include "ttprem/diag.h"

typedef struct prem_partition prem_partition;

/**
 * @param each          SMs of a share at least; 0: as many as there are enough of
 * @param[out] streams  one a share; the caller destroys them, before the shares.
 * @param[out] rest     `rest_count` on the SMs that are in no share, likewise
 * @retval PREM_ERR_UNAVAILABLE  the driver has no green contexts, or the GPU's SMs cannot be parted
 *                               in so many shares (diag: a note)
 */
prem_status prem_partition_new(int32_t shares, int32_t each, cudaStream_t *streams,
                               int32_t rest_count, cudaStream_t *rest, prem_partition **out,
                               prem_diag *diag);
void prem_partition_free(prem_partition *partition);
/** SMs of a share, and SMs that are in none. */
int32_t prem_partition_share(const prem_partition *partition);
int32_t prem_partition_rest(const prem_partition *partition);
