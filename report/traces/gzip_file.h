/* SPDX-License-Identifier: Apache-2.0 */
/** Raw data as it is kept: files compressed by gzip, read like any other. */
#pragma once

#include <stdio.h>

/** PATH, or where there is none PATH.gz; fclose() it. NULL: errno says why PATH cannot be read; it
 * is 0 where one of both is no regular file. Links are followed.
 * What is cut short or damaged in PATH.gz is an error of the stream (ferror). */
FILE *prem_gzip_open(const char *path);
