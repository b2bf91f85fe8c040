/* SPDX-License-Identifier: Apache-2.0 */
/** Running gnuplot: a script goes in, a picture comes out. */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "ttprem/diag.h"

/**
 * Run gnuplot on `script`, a file at any position, which is rewound; what the script draws goes to
 * `picture`. The process is ended if it takes longer than a minute, and half a second after `stop`,
 * which may be NULL, is set; if it is set already, after ten. It ends with ours.
 *
 * @retval PREM_ERR_INTERRUPTED  `stop` was set, and it was ended or failed
 * @retval PREM_ERR_UNAVAILABLE  no gnuplot on the PATH: `diag` names the package
 * @retval PREM_ERR_IO           gnuplot failed: `diag` has its first complaint
 */
prem_status prem_gnuplot_run(FILE *script, FILE *picture, const volatile sig_atomic_t *stop,
                             prem_diag *diag);
