/* SPDX-License-Identifier: Apache-2.0 */
/** Writing Perfetto's trace format (protobuf), packet by packet, to a stdio file. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/** The longest text in a packet. */
enum { PREM_PERFETTO_TEXT_BYTES = 160 };

/** A number shown beside an event. */
typedef struct prem_perfetto_note {
  uint64_t name; /* as prem_perfetto_name_note() was given */
  int64_t value;
} prem_perfetto_note;

/* Writing errors stay with the file: see ferror(). Numbers of names and tracks begin at 1. */

/** First of all: the group in which all tracks stand. */
void prem_perfetto_begin(FILE *file, const char *group);
/** Tracks are shown by `rank`. Before its first event. */
void prem_perfetto_track(FILE *file, uint64_t track, int32_t rank, const char *name);
/** A further group, which is a track as well; and a track in it. */
void prem_perfetto_group(FILE *file, uint64_t track, const char *name);
void prem_perfetto_track_in(FILE *file, uint64_t group, uint64_t track, int32_t rank,
                            const char *name);
/** What an event's, or a note's, number stands for. Before its first use. */
void prem_perfetto_name_event(FILE *file, uint64_t number, const char *name);
void prem_perfetto_name_note(FILE *file, uint64_t number, const char *name);
/** Slices of a track nest or do not overlap. */
void prem_perfetto_slice(FILE *file, uint64_t track, uint64_t name, int64_t begin_ns,
                         int64_t end_ns, const prem_perfetto_note *notes, int note_count);
void prem_perfetto_instant(FILE *file, uint64_t track, uint64_t name, int64_t at_ns,
                           const prem_perfetto_note *notes, int note_count);
