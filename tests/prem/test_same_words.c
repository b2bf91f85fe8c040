/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of every character and of any bytes, words that are nearly others, problems of all kinds in
 * buffers of all sizes are shown, suggested and told as they were (see tests/common/golden.h):
 * others show that it is right.
 */
#include "prem/base/sha256.h"
#include "prem/base/suggest.h"
#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "ttprem/text.h"
#include "ttprem/ttprem_measure.h"

enum { OF_A_LINE = 4096, DRAWN = 40000, SUGGESTED = 1200, ROOM = 48 };

static uint64_t state, sum;

static int32_t draw(int32_t low, int32_t high) {
  return planted_between(&state, low, high);
}

static void add_text(const char *of) {
  sum = golden_sum(sum, of, strlen(of) + 1);
}

static void add(int64_t value) {
  sum = golden_sum(sum, &value, sizeof value);
}

static void tell(FILE *file, const char *what, int64_t to) {
  fprintf(file, "%s to %" PRId64 ": %016" PRIx64 "\n", what, to, sum);
  sum = GOLDEN_SUM;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static void add_shown(const char *of, size_t room) {
  char out[ROOM] = "as it was", fault[16] = "none";
  char *clean = strdup(of);
  add(prem_text_show(of, out, room));
  add_text(out);
  add((int64_t)prem_text_plain(of, fault));
  add_text(fault);
  prem_text_clean(clean);
  add_text(clean);
  add(prem_text_is_formula(of));
  free(clean);
}

/* As UTF-8 would have it, also where it has none: in `bytes` bytes. */
static void encode(uint32_t code, int bytes, char *out) {
  static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0, 0xf8};
  for (int i = bytes - 1; i > 0; --i, code >>= 6)
    out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)(bytes == 1 ? code & 0x7f : first[bytes] | code);
  out[bytes] = '\0';
}

/* Each in all lengths that it has, and some that it has not. */
static void tell_characters(FILE *file) {
  sum = GOLDEN_SUM;
  for (uint32_t code = 1; code < 0x11800; ++code) {
    char one[8];
    for (int bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : 3; bytes <= 4; ++bytes)
      if (bytes > 3 ? code % 64 < 2 || code > 0xff00 : code < (bytes == 2 ? 0x800U : 0x10000U)) {
        encode(code, bytes, one);
        add_shown(one, sizeof one);
      }
    if (code % OF_A_LINE == 0)
      tell(file, "characters", code);
  }
  for (uint32_t code = 0x10fff0; code < 0x110010; ++code) {
    char one[8];
    encode(code, 4, one);
    add_shown(one, ROOM);
  }
  tell(file, "characters", 0x110010);
}

static void tell_bytes(FILE *file) {
  static const unsigned char often[] = {'a',  '=',  '\'', '\n', '\t', 0x80, 0xbf, 0xc2, 0xe2,
                                        0xed, 0xf0, 0xf4, 0xf5, 0x9f, 0x8e, 0x7f, '\r', 0x0b};
  sum = GOLDEN_SUM;
  state = 3;
  for (int i = 1; i <= DRAWN; ++i) {
    char drawn[12] = "";
    const int32_t length = draw(0, 9);
    for (int32_t b = 0; b < length; ++b) {
      const int32_t byte = draw(1, 255), which = draw(0, 35);
      drawn[b] = (char)(which < 18 ? often[which] : byte);
    }
    add_shown(drawn, (size_t)draw(0, 14));
    if (i % OF_A_LINE == 0)
      tell(file, "bytes", i);
  }
  tell(file, "bytes", DRAWN);
}

/* ---- suggestions ---------------------------------------------------------------------------- */

static void draw_word(char *out, int32_t longest) {
  const int32_t length = draw(0, longest);
  for (int32_t i = 0; i < length; ++i)
    out[i] = "abcdABn_s"[draw(0, 8)];
  strcpy(out + length, draw(0, 3) ? "" : "_ns");
}

static void tell_suggestions(FILE *file) {
  sum = GOLDEN_SUM;
  state = 9;
  for (int i = 1; i <= SUGGESTED; ++i) {
    char words[6][96], word[96];
    const char *list[7] = {NULL};
    const int32_t longest = draw(0, 9) ? 7 : 80, count = draw(0, 6);
    for (int32_t w = 0; w < count; ++w) {
      draw_word(words[w], longest);
      list[w] = words[w];
    }
    draw_word(word, longest);
    const int32_t which = draw(0, 6), at = draw(0, 7);
    if (which < count) { /* but for a letter or two */
      strcpy(word, words[which]);
      const size_t letters = strlen(word);
      if (letters > (size_t)at + 1) {
        word[at] = draw(0, 1) ? 'x' : word[at + 1];
        word[at + 1] = draw(0, 1) ? words[which][at] : word[at + 1];
      }
      if (letters > 2 && draw(0, 2) == 0)
        word[letters - 2] = '\0';
    }
    add_text(prem_suggest_word(word, list).text);
    if (i % 100 == 0)
      tell(file, "suggestions", i);
  }
}

static const char *word_of(const void *from, int32_t index) {
  return ((const char *const *)from)[index];
}

static void tell_lists(FILE *file) {
  static const char *const words[] = {"a", "bc", "def", "", "ghij"};
  sum = GOLDEN_SUM;
  for (int32_t count = 0; count <= 5; ++count)
    for (size_t room = 1; room < 24; ++room) {
      char out[24] = "";
      prem_list_words(word_of, words, count, out, room);
      add_text(out);
    }
  tell(file, "lists", 5);
}

/* ---- problems ------------------------------------------------------------------------------- */

static void tell_problems(FILE *file) {
  static const int codes[] = {-1, 0, 1, 17, 43, 63, 64, 99, 100, 127, 128, 999};
  static const char *const files[] = {"", "a.cfg", "b\033.cfg"};
  static const char *const keys[] = {"", "tasks", "a\x80z"};
  prem_diag *diag = prem_diag_new();
  for (int i = 0; i < 900; ++i) {
    const char *name = files[i % 3];
    prem_diag_add(diag, (prem_severity)(i % 7 % 3), codes[i / 5 % 12],
                  (prem_place){i % 11 ? name : NULL, i % 4 - 1}, i % 13 ? keys[i / 3 % 3] : NULL,
                  "number %d", i);
  }
  fprintf(file, "%zu kept, %zu errors, %zu dropped:", prem_diag_count(diag), prem_diag_errors(diag),
          prem_diag_dropped(diag));
  for (int code = -2; code < 1002; ++code)
    if (prem_diag_has(diag, code))
      fprintf(file, " %d", code);
  fputc('\n', file);
  sum = GOLDEN_SUM;
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    for (size_t room = 0; room <= ROOM; room += i % 5 ? ROOM : 1) {
      char line[ROOM] = "as it was";
      add(prem_problem_format(prem_diag_at(diag, i), line, room));
      add_text(line);
    }
  add(prem_diag_at(diag, prem_diag_count(diag)) != NULL);
  tell(file, "problems", (int64_t)prem_diag_count(diag));
  prem_diag_free(diag);
}

static void tell_names(FILE *file) {
  for (int i = 0; i < 24; ++i) {
    fprintf(file, "%d: %s, %s, %s", i, prem_status_text((prem_status)i),
            prem_phase_name((prem_phase)i), prem_mode_name((prem_mode)i));
    fprintf(file, " %d %d\n", prem_mode_has_phases((prem_mode)i), prem_mode_computes((prem_mode)i));
  }
  for (int i = 0; i <= PREM_CAUSE_COUNT + 2; ++i)
    fprintf(file, "%d: %s, %s\n", i, prem_cause_name((prem_cause)i),
            prem_first_kind_name((prem_first_kind)i));
  char bytes[300];
  sum = GOLDEN_SUM;
  for (size_t length = 0; length < sizeof bytes; ++length) {
    char out[65];
    bytes[length] = (char)(length * 7);
    prem_sha256_hex(bytes, length, out);
    add_text(out);
  }
  tell(file, "sums", sizeof bytes);
}

START_TEST(of_all) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  tell_characters(file);
  tell_bytes(file);
  tell_suggestions(file);
  tell_lists(file);
  tell_problems(file);
  tell_names(file);
  fclose(file);
  golden_judge("words.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same words");
  TCase *all = tcase_create("all");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_all);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
