/* SPDX-License-Identifier: Apache-2.0 */
/** The files of report/, as they are in the source tree: built into the library. */
#pragma once

#include <stddef.h>

typedef struct prem_asset {
  const char *bytes;
  size_t count;
} prem_asset;

/** What has to stand in each page that carries uPlot. */
prem_asset prem_report_notice(void);
/** In the order in which a page has them. */
prem_asset prem_report_style(int number);  /* 0, 1 */
prem_asset prem_report_script(int number); /* 0 to 4 */
enum { PREM_REPORT_STYLES = 2, PREM_REPORT_SCRIPTS = 5 };
