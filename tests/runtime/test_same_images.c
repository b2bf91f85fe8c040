/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures and raw files of which letters are others, whose numbers are at their limits, whose
 * shapes and types are drawn, are read, refused and written as they were (see
 * tests/common/golden.h): others show that it is right.
 */
#include <math.h>
#include <unistd.h>

#include "runtime/core/image.h"
#include "tests/common/golden.h"
#include "tests/common/letters.h"

enum { CHANGED = 400, OF_A_LINE = 20, VALUES = 256 };

static char reason[512];
static unsigned char values[VALUES + 64];
static uint64_t sum;

static prem_storage storage_of(prem_type type, int64_t rows, int64_t columns) {
  prem_storage storage = {.shape = {1, 1, rows, columns}, .row_count = rows, .type = type};
  storage.element_bytes = prem_type_bytes(type);
  storage.pitch_bytes = columns * storage.element_bytes + 2 * storage.element_bytes;
  storage.base = values;
  return storage;
}

static void add_status(prem_status status) {
  sum = golden_sum(sum, &status, sizeof status);
  sum = golden_sum(sum, reason, strlen(reason));
}

static void write_bytes(const char *name, const char *bytes, size_t count) {
  FILE *file = fopen(name, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
  fclose(file);
}

/* What is read, or why it is not; what is beside it stays. */
static prem_status read_as(const char *name, prem_type type, int64_t rows, int64_t columns) {
  prem_storage storage = storage_of(type, rows, columns);
  memset(values, 0xa5, sizeof values);
  *reason = '\0';
  const prem_status status = prem_image_read(name, &storage, reason, sizeof reason);
  add_status(status);
  sum = golden_sum(sum, values, sizeof values);
  return status;
}

/* ---- letters -------------------------------------------------------------------------------- */

static const char *const pictures[] = {
    "P2\n# a comment\n3 2\n9\n1 2 3\n4 9 0\n", "P5 3 2 255\nabcdef",
    "P2 3 2 300 1 200 300\n#x\n7 8 9",         "P5\n2 2\n65535\nabcdefgh",
    "P5 # x\n3 # y\n2\n100\nAABBCC",           "P2 3 2 65535 1 2 3 4 65535 6"};

static void tell_letters(FILE *file) {
  static const prem_type types[] = {PREM_U8, PREM_U16, PREM_F32};
  for (size_t p = 0; p < sizeof pictures / sizeof *pictures; ++p) {
    uint64_t state = p + 1;
    int whole = 0;
    sum = GOLDEN_SUM;
    for (int i = 1; i <= CHANGED; ++i) {
      char *other = i == 1 ? strdup(pictures[p]) : letters_change(&state, pictures[p]);
      write_bytes("x.pgm", other, strlen(other));
      free(other);
      whole += read_as("x.pgm", types[i % 3], 2, p == 3 ? 2 : 3) == PREM_OK;
      if (i % OF_A_LINE)
        continue;
      fprintf(file, "picture %zu, to change %d: %d read: %016" PRIx64 "\n", p, i, whole, sum);
      sum = GOLDEN_SUM;
      whole = 0;
    }
  }
}

/* ---- numbers -------------------------------------------------------------------------------- */

static void tell_numbers(FILE *file) {
  static const char *const numbers[] = {"0",         "1",          "2",     "254",    "255",
                                        "256",       "65534",      "65535", "65536",  "99999999",
                                        "999999999", "1000000000", "-1",    "000003", "2."};
  static const char *const forms[] = {"P2 %s 1 9 5 5",   "P2 1 %s 9 5 5",     "P2 2 1 %s 0 1",
                                      "P5 2 1 %s\nabcd", "P2 2 1 65535 1 %s", "P2 2 1 255 %s 4",
                                      "P%s 2 1 255\nab"};
  static const prem_type types[] = {PREM_U8, PREM_U16, PREM_F32};
  for (size_t f = 0; f < sizeof forms / sizeof *forms; ++f)
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; ++n) {
      const char *at = strstr(forms[f], "%s");
      const char *all = text("%.*s%s%s", (int)(at - forms[f]), forms[f], numbers[n], at + 2);
      write_bytes("x.pgm", all, strlen(all));
      fprintf(file, "%s in %zu:", numbers[n], f);
      for (int t = 0; t < 3; ++t) {
        sum = GOLDEN_SUM;
        const prem_status status = read_as("x.pgm", types[t], 1, 2);
        fprintf(file, " %s %08" PRIx32 ",", status == PREM_OK ? "read" : reason,
                (uint32_t)(sum ^ sum >> 32));
      }
      fputc('\n', file);
    }
}

/* ---- types, names and shapes ---------------------------------------------------------------- */

/* Values around what rounds up, and what is no number. */
static void fill(const prem_storage *storage) {
  static const float shares[] = {0, -1, 1, 2, 0.5F, 0.4980392F, 0.0019607F, 0.0019608F, 0.99803F};
  for (int64_t row = 0; row < storage->row_count; ++row) {
    unsigned char *at = storage->base + row * storage->pitch_bytes;
    for (int64_t column = 0; column < storage->shape[3]; ++column) {
      const int64_t i = row * storage->shape[3] + column;
      const float share = i % 10 == 9 ? NAN : shares[i % 10];
      if (storage->type == PREM_F32)
        memcpy(at + column * 4, &share, 4);
      else
        for (int32_t b = 0; b < storage->element_bytes; ++b)
          at[column * storage->element_bytes + b] = (unsigned char)(i * 37 + b * 101);
    }
  }
}

static void tell_written(FILE *file, const char *name, prem_type type, int64_t rows,
                         int64_t columns, bool deep) {
  prem_storage storage = storage_of(type, rows, columns);
  storage.shape[1] = deep ? 2 : 1;
  if (deep && storage.row_count % 2 == 0)
    storage.shape[2] /= 2;
  memset(values, 0, sizeof values);
  fill(&storage);
  sum = GOLDEN_SUM;
  *reason = '\0';
  prem_status status = prem_image_write(name, &storage, reason, sizeof reason);
  fprintf(file, "%s of %s, %d x %d%s: %s %s", name, prem_type_name(type), (int)rows, (int)columns,
          deep ? ", deep" : "", prem_status_text(status), reason);
  if (status == PREM_OK && !deep) {
    status = read_as(name, type, rows, columns);
    fprintf(file, ", read: %s %016" PRIx64, prem_status_text(status), sum);
    read_as(name, type, columns, rows);
    fprintf(file, ", turned: %s", reason);
    fprintf(file, ", %016" PRIx64, strstr(name, "png") ? 0 : golden_file_sum(name));
  }
  fputc('\n', file);
  remove(name);
}

static void tell_formats(FILE *file) {
  static const char *const names[] = {"x.pgm", "x.png", "x.PGM",   "x.f32",  "x.c64", "x.u8",
                                      "x.u16", "x.i32", "x.f16",   "x.bf16", "x.raw", "x",
                                      "x.",    ".pgm",  "a.pgm/x", "x.pgmx", "x.gif", "none/x.raw"};
  for (size_t n = 0; n < sizeof names / sizeof *names; ++n)
    for (int type = 0; type < PREM_TYPE_COUNT; ++type) {
      tell_written(file, names[n], (prem_type)type, 2, 5, false);
      if (n < 2 || n == 10)
        tell_written(file, names[n], (prem_type)type, 2, 3, true);
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

START_TEST(of_files) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  tell_letters(file);
  tell_numbers(file);
  tell_formats(file);
  fclose(file);
  golden_judge("images.txt", found);
}
END_TEST

static void set_up(void) {
  golden_make_folder();
  ck_assert_int_eq(chdir(golden_folder), 0);
}

static void tear_down(void) {
  ck_assert_int_eq(chdir("/"), 0);
  golden_remove_folder();
}

int main(void) {
  Suite *suite = suite_create("same images");
  TCase *all = tcase_create("files");
  tcase_set_timeout(all, 240);
  tcase_add_checked_fixture(all, set_up, tear_down);
  tcase_add_test(all, of_files);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
