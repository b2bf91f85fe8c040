/* SPDX-License-Identifier: Apache-2.0 */
/* Text from elsewhere: UTF-8 without what would steer a terminal, a script or a page. */
#include "ttprem/text.h"

#include <string.h>

/** A character of a text: its bytes, and whether it may be shown. */
typedef struct character {
  uint32_t code; /* the byte itself when it is not UTF-8 */
  size_t bytes;
  bool is_utf8, is_plain;
} character;

/* Ranges that are well-formed and still not for readers. */
static bool steers(uint32_t code) {
  static const uint32_t ranges[][2] = {
      {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200e, 0x200f},
      {0x202a, 0x202e}, {0x2066, 0x2069}, {0xfffe, 0xffff},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; ++i)
    if (code >= ranges[i][0] && code <= ranges[i][1])
      return true;
  return false;
}

/* Bytes that the first one announces, 0: none can begin so. */
static size_t announced_bytes(unsigned char first) {
  if (first < 0x80)
    return 1;
  if (first >= 0xc2 && first <= 0xdf)
    return 2;
  if (first >= 0xe0 && first <= 0xef)
    return 3;
  return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* As RFC 3629 has it: the shortest form, no surrogates, nothing above U+10FFFF. */
static character first_of(const char *text) {
  static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *byte = (const unsigned char *)text;
  const character stray = {.code = *byte, .bytes = 1};
  const size_t bytes = announced_bytes(*byte);
  if (bytes == 0)
    return stray;
  uint32_t code = bytes == 1 ? *byte : *byte & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte[i] & 0xc0) != 0x80) /* the closing zero as well */
      return stray;
    code = code << 6 | (byte[i] & 0x3f);
  }
  if (code < min[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return stray;
  return (character){code, bytes, true, !steers(code)};
}

size_t prem_text_plain(const char *text, char fault[16]) {
  const char *at = text;
  while (*at) {
    const character next = first_of(at);
    if (!next.is_plain) {
      if (fault)
        snprintf(fault, 16, next.is_utf8 ? "U+%04X" : "byte 0x%02x", (unsigned)next.code);
      break;
    }
    at += next.bytes;
  }
  return (size_t)(at - text);
}

int prem_text_show(const char *text, char *out, size_t out_bytes) {
  size_t used = 0;
  if (out_bytes > 0)
    *out = '\0';
  for (character next; *text; text += next.bytes) {
    char shown[16];
    next = first_of(text);
    if (next.is_plain)
      snprintf(shown, sizeof shown, "%.*s", (int)next.bytes, text);
    else
      snprintf(shown, sizeof shown, next.code < 0x80 || !next.is_utf8 ? "\\x%02x" : "\\u%04x",
               (unsigned)next.code);
    const size_t length = strlen(shown);
    if (used + length < out_bytes)
      memcpy(out + used, shown, length + 1);
    else
      out_bytes = 0; /* cut between characters */
    used += length;
  }
  return (int)used;
}

void prem_text_clean(char *text) {
  char *to = text;
  for (character next; *text; text += next.bytes) {
    next = first_of(text);
    if (next.is_plain) {
      memmove(to, text, next.bytes);
      to += next.bytes;
    } else {
      *to++ = next.code >= '\t' && next.code <= '\r' ? ' ' : '?';
    }
  }
  *to = '\0';
}

bool prem_text_is_formula(const char *text) {
  text += strspn(text, "'");
  return *text && strchr("=+-@", *text);
}
