/** Running gnuplot: a script goes in, a picture comes out. */
#ifndef TTPREM_GNUPLOT_H
#define TTPREM_GNUPLOT_H

#include <stdio.h>

#include "ttprem/diag.h"

/**
 * Run gnuplot on `script`, a file at any position, which is rewound; what the script draws goes to
 * `picture`. The process is ended if it takes longer than a minute.
 *
 * @retval PREM_ERR_UNAVAILABLE  no gnuplot on the PATH: `diag` names the package
 * @retval PREM_ERR_IO           gnuplot failed: `diag` has its first complaint
 */
prem_status prem_gnuplot_run(FILE *script, FILE *picture, prem_diag *diag);

#endif
