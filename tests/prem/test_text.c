/* SPDX-License-Identifier: Apache-2.0 */
/* Text from elsewhere: what is plain, how the rest is shown, what spreadsheets make of it. */

#include "ttprem/text.h"

#include "tests/common/suite.h"

static const struct {
  const char *text;
  size_t plain; /* bytes */
  const char *fault, *shown, *clean;
} texts[] = {
    {"", 0, "", "", ""},
    {"conv 3 ]]> `x`", 14, "", "conv 3 ]]> `x`", "conv 3 ]]> `x`"},
    {"gr\xc3\xb6\xc3\x9f"
     "er \xe2\x82\xac \xf0\x9f\x9a\x80",
     17, "",
     "gr\xc3\xb6\xc3\x9f"
     "er \xe2\x82\xac \xf0\x9f\x9a\x80",
     "gr\xc3\xb6\xc3\x9f"
     "er \xe2\x82\xac \xf0\x9f\x9a\x80"},
    {"a\nb\tc", 1, "U+000A", "a\\x0ab\\x09c", "a b c"},
    {"\x1b[2J", 0, "U+001B", "\\x1b[2J", "?[2J"},
    {"a\x7f", 1, "U+007F", "a\\x7f", "a?"},
    {"a\xc2\x9bz", 1, "U+009B", "a\\u009bz", "a?z"},
    {"a\xc2\xa0z", 4, "", "a\xc2\xa0z", "a\xc2\xa0z"},
    {"\xe2\x80\xae"
     "a",
     0, "U+202E", "\\u202ea", "?a"},
    {"\xe2\x80\xa9", 3, "", "\xe2\x80\xa9", "\xe2\x80\xa9"},
    {"\xe2\x81\xa6", 0, "U+2066", "\\u2066", "?"},
    {"\xd8\x9c", 0, "U+061C", "\\u061c", "?"},
    {"\xef\xbf\xbf", 0, "U+FFFF", "\\uffff", "?"},
    {"\xff", 0, "byte 0xff", "\\xff", "?"},
    {"a\x80"
     "b",
     1, "byte 0x80", "a\\x80b", "a?b"},
    {"\xc3", 0, "byte 0xc3", "\\xc3", "?"},                               /* cut short */
    {"\xe2\x82", 0, "byte 0xe2", "\\xe2\\x82", "??"},                     /* cut short */
    {"\xc0\xaf", 0, "byte 0xc0", "\\xc0\\xaf", "??"},                     /* not shortest */
    {"\xe0\x80\xaf", 0, "byte 0xe0", "\\xe0\\x80\\xaf", "???"},           /* not shortest */
    {"\xed\xa0\x80", 0, "byte 0xed", "\\xed\\xa0\\x80", "???"},           /* a surrogate */
    {"\xf4\x90\x80\x80", 0, "byte 0xf4", "\\xf4\\x90\\x80\\x80", "????"}, /* U+110000 */
    {"\xf0\x8f\xbf\xbf", 0, "byte 0xf0", "\\xf0\\x8f\\xbf\\xbf", "????"}, /* not shortest */
};
enum { TEXTS = sizeof texts / sizeof texts[0] };

TESTS(what_is_not_plain_is_found_shown_and_replaced, TEXTS) {
  char fault[16] = "", shown[64], clean[64];
  ck_assert_uint_eq(prem_text_plain(texts[_i].text, fault), texts[_i].plain);
  ck_assert_str_eq(fault, texts[_i].fault);
  ck_assert_int_eq(prem_text_show(texts[_i].text, shown, sizeof shown),
                   (int)strlen(texts[_i].shown));
  ck_assert_str_eq(shown, texts[_i].shown);
  strcpy(clean, texts[_i].text);
  prem_text_clean(clean);
  ck_assert_str_eq(clean, texts[_i].clean);
  ck_assert_uint_eq(prem_text_plain(clean, NULL), strlen(clean));
}

/* Unicode's table of well-formed byte sequences (The Unicode Standard, table 3-7): how many bytes
 * the first character takes; 0: the first byte begins none. */
static size_t well_formed(const unsigned char *b) {
  static const struct {
    unsigned char first[2], second[2];
    size_t bytes;
  } rows[] = {
      {{0x01, 0x7f}, {0, 0}, 1},       {{0xc2, 0xdf}, {0x80, 0xbf}, 2},
      {{0xe0, 0xe0}, {0xa0, 0xbf}, 3}, {{0xe1, 0xec}, {0x80, 0xbf}, 3},
      {{0xed, 0xed}, {0x80, 0x9f}, 3}, {{0xee, 0xef}, {0x80, 0xbf}, 3},
      {{0xf0, 0xf0}, {0x90, 0xbf}, 4}, {{0xf1, 0xf3}, {0x80, 0xbf}, 4},
      {{0xf4, 0xf4}, {0x80, 0x8f}, 4},
  };
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    bool fits = b[0] >= rows[r].first[0] && b[0] <= rows[r].first[1];
    for (size_t i = 1; i < rows[r].bytes; ++i)
      fits = fits && b[i] >= (i == 1 ? rows[r].second[0] : 0x80) &&
             b[i] <= (i == 1 ? rows[r].second[1] : 0xbf);
    if (fits)
      return rows[r].bytes;
  }
  return 0;
}

/* The second byte is every one, the others those around each limit. */
TEST(utf_8_is_what_unicode_s_table_says) {
  static const unsigned char others[] = {0x01, 0x7f, 0x80, 0x8f, 0xbf, 0xc0, 0xff};
  enum { OTHERS = sizeof others };
  for (int first = 1; first <= 0xff; ++first)
    for (int second = 1; second <= 0xff; ++second)
      for (int rest = 0; rest < OTHERS * OTHERS; ++rest) {
        const unsigned char bytes[] = {(unsigned char)first, (unsigned char)second,
                                       others[rest / OTHERS], others[rest % OTHERS], 0};
        char fault[16] = "";
        const size_t plain = prem_text_plain((const char *)bytes, fault);
        const bool is_stray = plain == 0 && strncmp(fault, "byte", 4) == 0;
        ck_assert_msg(is_stray == (well_formed(bytes) == 0), "%02x %02x %02x %02x", first, second,
                      bytes[2], bytes[3]);
        if (plain > 0)
          ck_assert_uint_ge(plain, well_formed(bytes));
      }
}

TEST(short_room_cuts_between_characters) {
  char out[8];
  ck_assert_int_eq(prem_text_show("abc\xc3\xb6\x1b", out, 5), 9);
  ck_assert_str_eq(out, "abc");
  ck_assert_int_eq(prem_text_show("abc\xc3\xb6\x1b", out, sizeof out), 9);
  ck_assert_str_eq(out, "abc\xc3\xb6");
  ck_assert_int_eq(prem_text_show("abc", out, 1), 3);
  ck_assert_str_eq(out, "");
  ck_assert_int_eq(prem_text_show("abc", NULL, 0), 3);
}

TEST(formulas_are_known) {
  static const char *const formulas[] = {"=1", "+1", "-1", "@x", "'=1", "''-"};
  static const char *const names[] = {"", "a=1", "conv.0", "'a", "1", " =1"};
  for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; ++i)
    ck_assert_msg(prem_text_is_formula(formulas[i]), "%s", formulas[i]);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    ck_assert_msg(!prem_text_is_formula(names[i]), "%s", names[i]);
}
