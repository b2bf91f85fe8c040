/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Findings (ttprem/findings.h) out of lines of text, for scripts that measured something. The first
 * word of a line says what it is; words are separated by tabs:
 *
 *   findings  NAME  TITLE  QUESTION                the first line
 *   verdict   TEXT
 *   note      TEXT
 *   command   TEXT                                 what made them, for the provenance
 *   table     NAME  TITLE
 *   columns   NAME[|UNIT]...                       of that table
 *   row       CELL...                              numbers where they are some; - is none
 *   chart     KIND  TABLE  TITLE  X  Y  [SERIES]   bars, lines, points, steps; log-steps and so on:
 *                                                  with a logarithmic x
 *
 * Empty lines, and those that begin with #, are nothing.
 */
#ifndef TRACKER_LINES_H
#define TRACKER_LINES_H

#include <ttprem/diag.h>
#include <ttprem/machine.h>

/**
 * Write the findings of a file of lines.
 *
 * @param path  "-" is stdin
 * @param out   JSON, whole or not at all
 * @retval PREM_ERR_PARSE  a line that is none of these, or a table or chart that does not fit
 * @retval PREM_ERR_IO     unreadable, or unwritable
 */
prem_status lines_to_findings(const char *path, const prem_machine *machine, const char *out,
                              prem_diag *diag);

#endif
