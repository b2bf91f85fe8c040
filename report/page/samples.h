/* SPDX-License-Identifier: Apache-2.0 */
/** Is a JSON document what its schema says? The page trusts what passes. */
#pragma once

#include <jansson.h>

#include "ttprem/diag.h"

typedef enum prem_document {
  PREM_DOCUMENT_BROKEN,
  PREM_DOCUMENT_RESULT,
  PREM_DOCUMENT_FINDINGS
} prem_document;

/** What it is; when it is broken, the first reason is in `diag`. */
prem_document prem_report_check(const json_t *root, const char *path, prem_diag *diag);
