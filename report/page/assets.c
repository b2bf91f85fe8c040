/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler reads the files: no copy of them as C, and nothing to find once installed.
 * TTPREM_REPORT_FOLDER comes from the build. */
#include "report/page/assets.h"

#define ASSET(name, file)                                                                          \
  __asm__(".pushsection .rodata\n"                                                                 \
          ".hidden " #name "_begin\n.hidden " #name "_end\n"                                       \
          ".global " #name "_begin\n.global " #name "_end\n" #name                                 \
          "_begin: .incbin \"" TTPREM_REPORT_FOLDER "/" file "\"\n" #name "_end: .byte 0\n"        \
          ".popsection\n");                                                                        \
  __attribute__((visibility("hidden"))) extern const char name##_begin[], name##_end[];

ASSET(prem_asset_chart_notice, "uPlot.LICENSE")
ASSET(prem_asset_chart_style, "uPlot.min.css")
ASSET(prem_asset_page_style, "report.css")
ASSET(prem_asset_chart_script, "uPlot.iife.js")
ASSET(prem_asset_charts_script, "charts.js")
ASSET(prem_asset_timeline_script, "timeline.js")
ASSET(prem_asset_lateness_script, "lateness.js")
ASSET(prem_asset_page_script, "report.js")

#define SPAN(name) ((prem_asset){name##_begin, (size_t)(name##_end - name##_begin)})

prem_asset prem_report_notice(void) {
  return SPAN(prem_asset_chart_notice);
}

prem_asset prem_report_style(int number) {
  return number == 0 ? SPAN(prem_asset_chart_style) : SPAN(prem_asset_page_style);
}

prem_asset prem_report_script(int number) {
  switch (number) {
  case 0:
    return SPAN(prem_asset_chart_script);
  case 1:
    return SPAN(prem_asset_charts_script);
  case 2:
    return SPAN(prem_asset_timeline_script);
  case 3:
    return SPAN(prem_asset_lateness_script);
  default:
    return SPAN(prem_asset_page_script);
  }
}
