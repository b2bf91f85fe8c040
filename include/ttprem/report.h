/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The report: one page for everything that was measured. It holds all it needs, opens without a
 * network and can be printed.
 *
 *   prem_report_new() -> prem_report_add()... -> prem_report_write() -> prem_report_free()
 */
#ifndef TTPREM_REPORT_H
#define TTPREM_REPORT_H

#include "ttprem/diag.h"

typedef struct prem_report prem_report;

PREM_EXTERN_C_BEGIN

/** NULL when there is no memory. Free with prem_report_free(). */
PREM_API prem_report *prem_report_new(void);
PREM_API void prem_report_free(prem_report *report);

/**
 * Add a result (prem_result_write(), with the files beside it) or findings
 * (prem_findings_write()). Of one that is refused the page has the name and the reason.
 * Files beside a result that are missing or broken leave their charts out: a warning.
 *
 * @retval PREM_ERR_IO     unreadable
 * @retval PREM_ERR_PARSE  cut short, of another schema or version, or not as its schema says
 */
PREM_API prem_status prem_report_add(prem_report *report, const char *path, prem_diag *diag);

/**
 * Write the page; beside and renamed. "-" is stdout.
 *
 * @retval PREM_ERR_ARGUMENT  nothing was added
 * @retval PREM_ERR_IO        unwritable; no file is left
 */
PREM_API prem_status prem_report_write(const prem_report *report, const char *path,
                                       prem_diag *diag);

PREM_EXTERN_C_END
#endif
