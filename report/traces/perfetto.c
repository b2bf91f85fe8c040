/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto's protobuf, as far as a timeline needs it. Field numbers are those of Perfetto's
 * trace_packet.proto, track_event.proto, track_descriptor.proto and interned_data.proto, which
 * promise never to change them. */
#include "report/traces/perfetto.h"

#include <string.h>

enum {
  /* Trace */
  TRACE_PACKET = 1,
  /* TracePacket */
  PACKET_TIMESTAMP = 8,
  PACKET_SEQUENCE = 10,
  PACKET_EVENT = 11,
  PACKET_INTERNED = 12,
  PACKET_FLAGS = 13,
  PACKET_TRACK = 60,
  /* its flags */
  STATE_CLEARED = 1,
  STATE_NEEDED = 2,
  /* TrackDescriptor */
  TRACK_UUID = 1,
  TRACK_NAME = 2,
  TRACK_PARENT = 5,
  TRACK_CHILD_ORDER = 11,
  TRACK_RANK = 12,
  ORDER_BY_RANK = 3,
  /* InternedData, and what its lists hold */
  INTERNED_EVENT_NAMES = 2,
  INTERNED_NOTE_NAMES = 3,
  NAME_NUMBER = 1,
  NAME_TEXT = 2,
  /* TrackEvent, DebugAnnotation */
  EVENT_NOTES = 4,
  EVENT_TYPE = 9,
  EVENT_NAME = 10,
  EVENT_TRACK = 11,
  SLICE_BEGIN = 1,
  SLICE_END = 2,
  INSTANT = 3,
  NOTE_NAME = 1,
  NOTE_INTEGER = 4
};

enum { MESSAGE_BYTES = 512, SEQUENCE = 1, GROUP_UUID = 1 };

/** A message under construction. No message of ours is longer than its room: texts are cut. */
typedef struct message {
  uint8_t bytes[MESSAGE_BYTES];
  size_t count;
} message;

static void put_varint(message *to, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    to->bytes[to->count++] = (uint8_t)(value | 0x80);
  to->bytes[to->count++] = (uint8_t)value;
}

static void put_number(message *to, unsigned field, uint64_t value) {
  put_varint(to, (uint64_t)field << 3);
  put_varint(to, value);
}

static void put_bytes(message *to, unsigned field, const void *bytes, size_t count) {
  put_varint(to, (uint64_t)field << 3 | 2);
  put_varint(to, count);
  memcpy(to->bytes + to->count, bytes, count);
  to->count += count;
}

static void put_text(message *to, unsigned field, const char *text) {
  put_bytes(to, field, text, strnlen(text, PREM_PERFETTO_TEXT_BYTES));
}

static void put_message(message *to, unsigned field, const message *inner) {
  put_bytes(to, field, inner->bytes, inner->count);
}

static void write_packet(FILE *file, message *packet, unsigned flags) {
  message head = {.count = 0};
  put_number(packet, PACKET_SEQUENCE, SEQUENCE);
  put_number(packet, PACKET_FLAGS, flags);
  put_varint(&head, TRACE_PACKET << 3 | 2);
  put_varint(&head, packet->count);
  fwrite(head.bytes, 1, head.count, file);
  fwrite(packet->bytes, 1, packet->count, file);
}

/* ---- tracks and names ----------------------------------------------------------------------- */

static uint64_t uuid_of(uint64_t track) {
  return GROUP_UUID + track;
}

static void write_group(FILE *file, uint64_t track, const char *name, unsigned flags) {
  message description = {.count = 0}, packet = {.count = 0};
  put_number(&description, TRACK_UUID, uuid_of(track));
  put_text(&description, TRACK_NAME, name);
  put_number(&description, TRACK_CHILD_ORDER, ORDER_BY_RANK);
  put_message(&packet, PACKET_TRACK, &description);
  write_packet(file, &packet, flags);
}

void prem_perfetto_begin(FILE *file, const char *group) {
  write_group(file, 0, group, STATE_CLEARED);
}

void prem_perfetto_group(FILE *file, uint64_t track, const char *name) {
  write_group(file, track, name, STATE_NEEDED);
}

void prem_perfetto_track_in(FILE *file, uint64_t group, uint64_t track, int32_t rank,
                            const char *name) {
  message description = {.count = 0}, packet = {.count = 0};
  put_number(&description, TRACK_UUID, uuid_of(track));
  put_text(&description, TRACK_NAME, name);
  put_number(&description, TRACK_PARENT, uuid_of(group));
  put_number(&description, TRACK_RANK, (uint64_t)rank);
  put_message(&packet, PACKET_TRACK, &description);
  write_packet(file, &packet, STATE_NEEDED);
}

void prem_perfetto_track(FILE *file, uint64_t track, int32_t rank, const char *name) {
  prem_perfetto_track_in(file, 0, track, rank, name);
}

static void write_name(FILE *file, unsigned list, uint64_t number, const char *name) {
  message entry = {.count = 0}, interned = {.count = 0}, packet = {.count = 0};
  put_number(&entry, NAME_NUMBER, number);
  put_text(&entry, NAME_TEXT, name);
  put_message(&interned, list, &entry);
  put_message(&packet, PACKET_INTERNED, &interned);
  write_packet(file, &packet, STATE_NEEDED);
}

void prem_perfetto_name_event(FILE *file, uint64_t number, const char *name) {
  write_name(file, INTERNED_EVENT_NAMES, number, name);
}

void prem_perfetto_name_note(FILE *file, uint64_t number, const char *name) {
  write_name(file, INTERNED_NOTE_NAMES, number, name);
}

/* ---- events --------------------------------------------------------------------------------- */

static void write_event(FILE *file, int64_t at_ns, const message *event) {
  message packet = {.count = 0};
  put_number(&packet, PACKET_TIMESTAMP, (uint64_t)at_ns);
  put_message(&packet, PACKET_EVENT, event);
  write_packet(file, &packet, STATE_NEEDED);
}

static void put_event(message *event, unsigned type, uint64_t track, uint64_t name,
                      const prem_perfetto_note *notes, int note_count) {
  put_number(event, EVENT_TYPE, type);
  put_number(event, EVENT_TRACK, uuid_of(track));
  put_number(event, EVENT_NAME, name);
  for (int i = 0; i < note_count; ++i) {
    message note = {.count = 0};
    put_number(&note, NOTE_NAME, notes[i].name);
    put_number(&note, NOTE_INTEGER, (uint64_t)notes[i].value);
    put_message(event, EVENT_NOTES, &note);
  }
}

void prem_perfetto_slice(FILE *file, uint64_t track, uint64_t name, int64_t begin_ns,
                         int64_t end_ns, const prem_perfetto_note *notes, int note_count) {
  message begin = {.count = 0}, end = {.count = 0};
  put_event(&begin, SLICE_BEGIN, track, name, notes, note_count);
  write_event(file, begin_ns, &begin);
  put_number(&end, EVENT_TYPE, SLICE_END);
  put_number(&end, EVENT_TRACK, uuid_of(track));
  write_event(file, end_ns, &end);
}

void prem_perfetto_instant(FILE *file, uint64_t track, uint64_t name, int64_t at_ns,
                           const prem_perfetto_note *notes, int note_count) {
  message event = {.count = 0};
  put_event(&event, INSTANT, track, name, notes, note_count);
  write_event(file, at_ns, &event);
}
