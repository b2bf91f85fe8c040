/* SPDX-License-Identifier: Apache-2.0 */
/* Array files: round trips, every flavour of picture, and everything that can be wrong with one. */
#include <math.h>
#include <png.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/image.h"

#include "tests/common/folder.h"
#include "tests/common/suite.h"

enum { GUARD = 0x5A };

static char reason[1024];

static void put_bytes(const char *path, const void *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
  fclose(file);
}

static void put_text(const char *path, const char *text) {
  put_bytes(path, text, strlen(text));
}

static unsigned char *get(const char *path, size_t *count) {
  struct stat facts;
  ck_assert_int_eq(stat(path, &facts), 0);
  *count = (size_t)facts.st_size;
  unsigned char *bytes = malloc(*count + 1);
  FILE *file = fopen(path, "rb");
  ck_assert_uint_eq(fread(bytes, 1, *count, file), *count);
  fclose(file);
  return bytes;
}

/* Storage whose padding at the rows' ends and a row behind the last hold guard bytes. */
static prem_storage new_storage(prem_type type, int64_t rows, int64_t columns) {
  prem_storage storage = {.shape = {1, 1, rows, columns}, .row_count = rows, .type = type};
  storage.element_bytes = prem_type_bytes(type);
  storage.pitch_bytes = (columns * storage.element_bytes + 15) / 16 * 16 + 16;
  const size_t bytes = (size_t)(storage.pitch_bytes * (rows + 1));
  storage.base = malloc(bytes);
  memset(storage.base, GUARD, bytes);
  return storage;
}

static float *at(const prem_storage *storage, int64_t row, int64_t column) {
  return (float *)(storage->base + row * storage->pitch_bytes + column * storage->element_bytes);
}

static void assert_guards(const prem_storage *storage) {
  for (int64_t row = 0; row <= storage->row_count; ++row) {
    const int64_t used = row < storage->row_count ? storage->shape[3] * storage->element_bytes : 0;
    for (int64_t i = used; i < storage->pitch_bytes; ++i)
      ck_assert_int_eq(storage->base[row * storage->pitch_bytes + i], GUARD);
  }
}

static void assert_read(const char *path, prem_storage *storage) {
  reason[0] = 0;
  ck_assert_msg(prem_image_read(path, storage, reason, sizeof reason) == PREM_OK, "%s", reason);
  assert_guards(storage);
}

/* Reading fails, and the message holds `words`. */
static void assert_refused(const char *path, int64_t rows, int64_t columns, const char *words) {
  prem_storage storage = new_storage(PREM_F32, rows, columns);
  reason[0] = 0;
  ck_assert_int_eq(prem_image_read(path, &storage, reason, sizeof reason), PREM_ERR_IO);
  ck_assert_msg(strstr(reason, words), "\"%s\" lacks \"%s\"", reason, words);
  assert_guards(&storage);
  free(storage.base);
}

static const int64_t shapes[][2] = {{1, 1}, {1, 7}, {5, 1}, {3, 4}, {13, 17}};

GROUP("files", .set_up = make_folder, .tear_down = remove_folder);

TESTS(pictures_survive_a_round_trip, sizeof shapes / sizeof *shapes) {
  static const char *const names[] = {"a.pgm", "a.png", "A.PNG"};
  for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
    const int64_t *shape = shapes[_i];
    prem_storage out = new_storage(PREM_F32, shape[0], shape[1]);
    prem_storage in = new_storage(PREM_F32, shape[0], shape[1]);
    for (int64_t row = 0; row < shape[0]; ++row)
      for (int64_t column = 0; column < shape[1]; ++column)
        *at(&out, row, column) = (float)((row * 41 + column * 7) % 256) / 255.0F;
    const char *path = in_folder(names[n]);
    ck_assert_msg(prem_image_write(path, &out, reason, sizeof reason) == PREM_OK, "%s", reason);
    assert_read(path, &in);
    ck_assert_int_eq(memcmp(in.base, out.base, (size_t)(in.pitch_bytes * in.row_count)), 0);
    free(in.base);
    free(out.base);
  }
}

/* Of integers a pixel is the number itself, and none is lost. */
TESTS(pictures_of_integers_keep_every_pixel, sizeof shapes / sizeof *shapes) {
  static const char *const names[] = {"i.pgm", "i.png"};
  static const prem_type types[] = {PREM_U8, PREM_U16};
  for (size_t n = 0; n < 4; ++n) {
    const int64_t *shape = shapes[_i];
    prem_storage out = new_storage(types[n / 2], shape[0], shape[1]);
    prem_storage in = new_storage(types[n / 2], shape[0], shape[1]);
    for (int64_t row = 0; row < shape[0]; ++row)
      for (int64_t i = 0; i < shape[1] * out.element_bytes; ++i)
        out.base[row * out.pitch_bytes + i] = (unsigned char)(row * 41 + i * 151 + 255);
    const char *path = in_folder(names[n % 2]);
    ck_assert_msg(prem_image_write(path, &out, reason, sizeof reason) == PREM_OK, "%s", reason);
    assert_read(path, &in);
    ck_assert_int_eq(memcmp(in.base, out.base, (size_t)(in.pitch_bytes * in.row_count)), 0);
    free(in.base);
    free(out.base);
  }
}

/* Whatever a picture's maximum is, and of colours the luma. A picture that is too wide is refused
 * by its maximum, so that it does not depend on the frame. */
TEST(integers_are_the_pixels_themselves) {
  prem_storage bytes = new_storage(PREM_U8, 1, 3), words = new_storage(PREM_U16, 1, 3);
  const char *path = in_folder("small.pgm");
  put_text(path, "P2\n3 1\n100\n0 7 100\n");
  assert_read(path, &bytes);
  assert_read(path, &words);
  ck_assert_int_eq(memcmp(bytes.base, (uint8_t[]){0, 7, 100}, 3), 0);
  ck_assert_int_eq(memcmp(words.base, (uint16_t[]){0, 7, 100}, 6), 0);
  path = in_folder("wide.pgm");
  put_bytes(path, "P5\n3 1\n1000\n\0\1\1\2\3\350", 18);
  assert_read(path, &words);
  ck_assert_int_eq(memcmp(words.base, (uint16_t[]){1, 258, 1000}, 6), 0);
  ck_assert_int_eq(prem_image_read(path, &bytes, reason, sizeof reason), PREM_ERR_IO);
  ck_assert_ptr_nonnull(strstr(reason, "has pixels up to 1000, the array is u8; make it u16"));
  prem_storage out = new_storage(PREM_U16, 1, 3);
  memset(out.base, 0, 6);
  path = in_folder("wide.png");
  ck_assert_int_eq(prem_image_write(path, &out, reason, sizeof reason), PREM_OK);
  ck_assert_int_eq(prem_image_read(path, &bytes, reason, sizeof reason), PREM_ERR_IO);
  ck_assert_ptr_nonnull(strstr(reason, "has pixels up to 65535, the array is u8; make it u16"));
  assert_guards(&bytes);
  free(bytes.base);
  free(words.base);
  free(out.base);
}

TEST(pictures_have_limits) {
  prem_storage widest = new_storage(PREM_U8, 1, PNG_USER_WIDTH_MAX),
               wider = new_storage(PREM_U8, 1, PNG_USER_WIDTH_MAX + 1),
               tallest = new_storage(PREM_U8, PNG_USER_HEIGHT_MAX, 1),
               taller = new_storage(PREM_U8, PNG_USER_HEIGHT_MAX + 1, 1);
  const char *path = in_folder("limit.png");
  memset(widest.base, 0, PNG_USER_WIDTH_MAX);
  ck_assert_int_eq(prem_image_write(path, &widest, reason, sizeof reason), PREM_OK);
  ck_assert_int_eq(prem_image_write(path, &tallest, reason, sizeof reason), PREM_OK);
  ck_assert_int_eq(prem_image_write(path, &wider, reason, sizeof reason), PREM_ERR_IO);
  ck_assert_ptr_nonnull(strstr(reason, "cannot be written: a PNG picture has at most"));
  ck_assert_int_eq(prem_image_write(path, &taller, reason, sizeof reason), PREM_ERR_IO);
  free(widest.base);
  free(wider.base);
  free(tallest.base);
  free(taller.base);
}

TEST(pictures_hold_no_other_types) {
  static const prem_type types[] = {PREM_C64, PREM_I32, PREM_F16, PREM_BF16};
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    prem_storage storage = new_storage(types[t], 2, 2);
    ck_assert_int_eq(prem_image_write(in_folder("n.png"), &storage, reason, sizeof reason),
                     PREM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(reason, "is for arrays of type f32, u8 or u16, this one is "));
    free(storage.base);
  }
}

TESTS(raw_files_keep_every_bit, sizeof shapes / sizeof *shapes) {
  static const struct {
    const char *name;
    prem_type type;
  } kinds[] = {{"a.f32", PREM_F32},   {"a.c64", PREM_C64}, {"a.raw", PREM_F32}, {"b.raw", PREM_C64},
               {"a.u8", PREM_U8},     {"a.u16", PREM_U16}, {"a.i32", PREM_I32}, {"a.f16", PREM_F16},
               {"a.bf16", PREM_BF16}, {"c.raw", PREM_U8}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    const int64_t *shape = shapes[_i];
    prem_storage out = new_storage(kinds[k].type, shape[0], shape[1]);
    prem_storage in = new_storage(kinds[k].type, shape[0], shape[1]);
    for (int64_t row = 0; row < shape[0]; ++row)
      for (int64_t i = 0; i < shape[1] * out.element_bytes; ++i)
        out.base[row * out.pitch_bytes + i] = (unsigned char)(row * 11 + i * 151); /* NaNs too */
    const char *path = in_folder(kinds[k].name);
    ck_assert_int_eq(prem_image_write(path, &out, reason, sizeof reason), PREM_OK);
    struct stat facts;
    stat(path, &facts);
    ck_assert_int_eq(facts.st_size, shape[0] * shape[1] * out.element_bytes);
    assert_read(path, &in);
    ck_assert_int_eq(memcmp(in.base, out.base, (size_t)(in.pitch_bytes * in.row_count)), 0);
    free(in.base);
    free(out.base);
  }
}

TEST(written_pixels_are_clamped_and_rounded) {
  static const float values[] = {-1.0F, 0.0F, 0.5F, 1.0F, 7.0F, NAN, INFINITY, -INFINITY, 0.999F};
  static const unsigned char pixels[] = {0, 0, 128, 255, 255, 0, 255, 0, 255};
  prem_storage out = new_storage(PREM_F32, 1, 9);
  memcpy(out.base, values, sizeof values);
  const char *path = in_folder("clamped.pgm");
  ck_assert_int_eq(prem_image_write(path, &out, reason, sizeof reason), PREM_OK);
  size_t count;
  unsigned char *bytes = get(path, &count);
  static const char header[] = "P5\n9 1\n255\n";
  ck_assert_uint_eq(count, sizeof header - 1 + 9);
  ck_assert_int_eq(memcmp(bytes, header, sizeof header - 1), 0);
  ck_assert_int_eq(memcmp(bytes + sizeof header - 1, pixels, 9), 0);
  free(bytes);
  free(out.base);
}

TEST(pgm_flavours) {
  static const struct {
    const char *bytes;
    size_t count;
    float first, last;
  } cases[] = {
      {"P2 2 1 7 0 7", 12, 0.0F, 1.0F},
      {"P2\n# a picture\n2 # wide\n1\n#\n10\n 3 # here too\n 5\n", 47, 0.3F, 0.5F},
      {"P5\n#c\n2 1 255\n\x33\xff", 16, 0.2F, 1.0F},
      {"P5 2 1 65535 \x00\x01\xff\xff", 17, 1.0F / 65535.0F, 1.0F},
      {"P5 2 1 256\n\x01\x00\x00\x80", 15, 1.0F, 0.5F},
      {"P5 2 1 255 # \x23", 13, 35.0F / 255.0F, 32.0F / 255.0F}, /* '#' and ' ' are pixels here */
      {"P5 2 1 255\n\x33\xffmore", 17, 0.2F, 1.0F}, /* a second picture is left alone */
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    const char *path = in_folder("flavour.pgm");
    put_bytes(path, cases[c].bytes, cases[c].count);
    prem_storage in = new_storage(PREM_F32, 1, 2);
    assert_read(path, &in);
    ck_assert_float_eq(*at(&in, 0, 0), cases[c].first);
    ck_assert_float_eq(*at(&in, 0, 1), cases[c].last);
    free(in.base);
  }
}

TEST(broken_pgms) {
  static const struct {
    const char *text, *words;
  } cases[] = {
      {"", "is not a PGM picture"},
      {"garbage", "is not a PGM picture"},
      {"P0 2 1 255 ab", "is not a PGM picture"},
      {"P1 2 1 255 ab", "is a P1 picture"},
      {"P7 2 1 255 ab", "is a P7 picture"},
      {"P8 2 1 255 ab", "is not a PGM picture"},
      {"Q5 2 1 255 ab", "is not a PGM picture"},
      {"P6 2 1 255 abcdef", "is a P6 picture; only grey ones can be read"},
      {"P5", "cut short: its width is missing"},
      {"P5 2", "cut short: its height is missing"},
      {"P5 2 1", "cut short: its maximum is missing"},
      {"P5 -2 1 255 ab", "is broken: its width is no number"},
      {"P5 2 9999999999 255 ab", "is broken: its height is no number"},
      {"P5 0 1 255 ab", "is broken: it has no pixels"},
      {"P5 2 1 0 ab", "its maximum is 0, not in 1 to 65535"},
      {"P5 2 1 65536 abcd", "its maximum is 65536"},
      {"P5 2 1 255", "no white space after its maximum"},
      {"P5 2 1 255 a", "cut short in row 0 of 1"},
      {"P5 2 1 9 \t\x0f", "pixel (0, 1) is 15, its maximum 9"},
      {"P2 2 1 9 3", "cut short: its pixel (0, 1) is missing"},
      {"P2 2 1 9 3 x", "is broken: its pixel (0, 1) is no number"},
      {"P2 2 1 9 3 10", "pixel (0, 1) is 10, its maximum 9"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    const char *path = in_folder("broken.pgm");
    put_text(path, cases[c].text);
    assert_refused(path, 1, 2, cases[c].words);
    ck_assert_ptr_nonnull(strstr(reason, path));
  }
}

TEST(another_shape_is_named) {
  char expected[256];
  const char *path = in_folder("frame.pgm");
  put_text(path, "P5 768 576 255\n");
  snprintf(expected, sizeof expected, "%s is 576 x 768, the array has 1080 x 1920", path);
  assert_refused(path, 1080, 1920, expected);
  ck_assert_str_eq(reason, expected);

  path = in_folder("frame.png");
  prem_storage out = new_storage(PREM_F32, 3, 4);
  memset(out.base, 0, (size_t)(out.pitch_bytes * 3));
  ck_assert_int_eq(prem_image_write(path, &out, reason, sizeof reason), PREM_OK);
  snprintf(expected, sizeof expected, "%s is 3 x 4, the array has 4 x 3", path);
  assert_refused(path, 4, 3, expected);
  free(out.base);

  path = in_folder("frame.f32");
  put_bytes(path, "12345678901234567", 17);
  snprintf(expected, sizeof expected, "%s has 17 bytes, the array needs 16", path);
  assert_refused(path, 2, 2, expected);
}

TEST(what_cannot_be_opened) {
  const char *path = in_folder("missing.png");
  char expected[256];
  snprintf(expected, sizeof expected, "cannot open %s: No such file or directory", path);
  assert_refused(path, 1, 1, expected);
  path = in_folder("folder.pgm");
  mkdir(path, 0777);
  assert_refused(path, 1, 1, "is not a plain file");
  path = in_folder("pipe.f32"); /* opening it must not wait for a writer */
  ck_assert_int_eq(mkfifo(path, 0666), 0);
  assert_refused(path, 1, 1, "is not a plain file");
  assert_refused(in_folder("name"), 1, 1, "the name says no known format");
  assert_refused("/tmp/x.pgm/name", 1, 1, "the name says no known format");
  assert_refused(in_folder("a.jpg"), 1, 1,
                 "known are .pgm .png .f32 .c64 .u8 .u16 .i32 .f16 .bf16 .raw");
  assert_refused(in_folder("a.c64"), 1, 1, "is for arrays of type c64, this one is f32");
  prem_storage volume = new_storage(PREM_F32, 2, 2);
  volume.shape[1] = 2;
  volume.shape[2] = 1;
  ck_assert_int_eq(prem_image_read(in_folder("a.png"), &volume, reason, sizeof reason),
                   PREM_ERR_IO);
  ck_assert_ptr_nonnull(strstr(reason, "more than 2 dimensions"));
  free(volume.base);
}

/* ---- PNG --------------------------------------------------------------------------------------*/

typedef struct png_flavour {
  int color, depth, interlace;
  unsigned char row[32]; /* of a picture 2 wide, one for each of its 3 rows */
  float first, last;
} png_flavour;

static void put_png(const char *path, const png_flavour *flavour) {
  FILE *file = fopen(path, "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, 2, 3, flavour->depth, flavour->color, flavour->interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[2] = {{255, 0, 0}, {255, 255, 255}};
  const png_byte alpha[2] = {0, 128};
  if (flavour->color == PNG_COLOR_TYPE_PALETTE) {
    png_set_PLTE(png, info, palette, 2);
    png_set_tRNS(png, info, alpha, 2, NULL);
  }
  png_bytep rows[3];
  for (int row = 0; row < 3; ++row)
    rows[row] = (png_bytep)flavour->row;
  png_set_rows(png, info, rows);
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
  png_destroy_write_struct(&png, &info);
  fclose(file);
}

TEST(png_flavours) {
  static const png_flavour cases[] = {
      {PNG_COLOR_TYPE_GRAY, 1, 0, {0x40}, 0.0F, 1.0F},
      {PNG_COLOR_TYPE_GRAY, 4, 0, {0x3F}, 0.2F, 1.0F},
      {PNG_COLOR_TYPE_GRAY, 8, 1, {51, 255}, 0.2F, 1.0F},
      {PNG_COLOR_TYPE_GRAY, 16, 0, {0, 1, 255, 255}, 1.0F / 65535.0F, 1.0F},
      {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0, {51, 0, 102, 9}, 0.2F, 0.4F},
      {PNG_COLOR_TYPE_RGB, 8, 0, {255, 0, 0, 0, 255, 0}, 0.299F, 0.587F},
      {PNG_COLOR_TYPE_RGB, 8, 0, {0, 0, 255, 255, 255, 255}, 0.114F, 1.0F},
      {PNG_COLOR_TYPE_RGB_ALPHA, 8, 1, {255, 0, 0, 0, 0, 255, 0, 7}, 0.299F, 0.587F},
      {PNG_COLOR_TYPE_RGB, 16, 0, {255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0}, 0.299F, 0.587F},
      {PNG_COLOR_TYPE_PALETTE, 1, 0, {0x40}, 0.299F, 1.0F},
      {PNG_COLOR_TYPE_PALETTE, 8, 0, {1, 0}, 1.0F, 0.299F},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    const char *path = in_folder("flavour.png");
    put_png(path, &cases[c]);
    prem_storage in = new_storage(PREM_F32, 3, 2);
    assert_read(path, &in);
    for (int row = 0; row < 3; ++row) {
      ck_assert_float_eq(*at(&in, row, 0), cases[c].first);
      ck_assert_float_eq(*at(&in, row, 1), cases[c].last);
    }
    free(in.base);
  }
}

/* Cut at every byte and with every byte changed, a file never passes for a whole one. */
TEST(damaged_pictures_are_refused) {
  static const png_flavour noise = {PNG_COLOR_TYPE_RGB, 8, 1, {1, 20, 3, 40, 5, 60}, 0, 0};
  const char *path = in_folder("damaged.png");
  put_png(path, &noise);
  size_t count;
  unsigned char *bytes = get(path, &count);
  for (size_t cut = 0; cut < count; ++cut) {
    put_bytes(path, bytes, cut);
    assert_refused(path, 3, 2, cut < 8 ? path : "cut short");
  }
  for (size_t i = 0; i < count; ++i) {
    prem_storage in = new_storage(PREM_F32, 3, 2);
    bytes[i] ^= 0x55;
    put_bytes(path, bytes, count);
    bytes[i] ^= 0x55;
    const prem_status status = prem_image_read(path, &in, reason, sizeof reason);
    ck_assert(status == PREM_OK || status == PREM_ERR_IO);
    if (i < 33) /* signature and header */
      ck_assert_int_eq(status, PREM_ERR_IO);
    assert_guards(&in);
    free(in.base);
  }
  free(bytes);

  prem_storage out = new_storage(PREM_F32, 5, 6);
  memset(out.base, 0, (size_t)(out.pitch_bytes * 5));
  path = in_folder("damaged.pgm");
  ck_assert_int_eq(prem_image_write(path, &out, reason, sizeof reason), PREM_OK);
  bytes = get(path, &count);
  for (size_t cut = 0; cut < count; ++cut) {
    put_bytes(path, bytes, cut);
    assert_refused(path, 5, 6, path);
  }
  free(bytes);
  free(out.base);
}

TEST(garbage_never_harms) {
  static const char *const heads[] = {"", "P5 4 4 255 ", "P2 4 4 65535 ", "\x89PNG\r\n\x1a\n"};
  static const char *const names[] = {"g.pgm", "g.png", "g.raw"};
  unsigned seed = 1;
  for (int round = 0; round < 300; ++round) {
    unsigned char bytes[256];
    for (size_t i = 0; i < sizeof bytes; ++i)
      bytes[i] = (unsigned char)((seed = seed * 1664525U + 1013904223U) >> 24);
    const char *head = heads[round % 4], *path = in_folder(names[round % 3]);
    for (size_t i = 0; head[i]; ++i)
      bytes[i] = (unsigned char)head[i];
    put_bytes(path, bytes, seed % sizeof bytes);
    prem_storage in = new_storage(PREM_F32, 4, 4);
    const prem_status status = prem_image_read(path, &in, reason, sizeof reason);
    ck_assert(status == PREM_OK || status == PREM_ERR_IO);
    assert_guards(&in);
    free(in.base);
  }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void assert_unwritable(const char *path, const char *words) {
  prem_storage out = new_storage(PREM_F32, 300, 300);
  for (int64_t row = 0; row < 300; ++row)
    for (int64_t column = 0; column < 300; ++column)
      *at(&out, row, column) = (float)((row * 7919 + column * 104729) % 997) / 997.0F;
  const int files = files_in_folder();
  reason[0] = 0;
  ck_assert_int_eq(prem_image_write(path, &out, reason, sizeof reason), PREM_ERR_IO);
  ck_assert_msg(strstr(reason, words), "\"%s\" lacks \"%s\"", reason, words);
  ck_assert_ptr_nonnull(strstr(reason, path));
  ck_assert_int_eq(files_in_folder(), files);
  free(out.base);
}

TEST(what_cannot_be_written) {
  assert_unwritable(in_folder("nowhere/a.pgm"), "No such file or directory");
  assert_unwritable("/dev/full/a.png", "Not a directory");
  const char *path = in_folder("folder.pgm");
  mkdir(path, 0777);
  assert_unwritable(path, "it is a directory");
  assert_unwritable(in_folder("a.txt"), "the name says no known format");
}

/* A full disk, played by a limit on the size of files; Check's own messages must stay below it. */
TEST(a_full_disk_leaves_the_old_file) {
  static const char *const names[] = {"a.pgm", "a.png", "a.f32"};
  signal(SIGXFSZ, SIG_IGN);
  for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
    const char *path = in_folder(names[n]);
    put_text(path, "old");
    const struct rlimit small = {3000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &small);
    assert_unwritable(path, "cannot write");
    setrlimit(RLIMIT_FSIZE, &all);
    size_t count;
    unsigned char *bytes = get(path, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(memcmp(bytes, "old", 3), 0);
    free(bytes);
  }
}

TEST(files_are_replaced_whole) {
  const char *path = in_folder("a.f32");
  put_text(path, "something longer than the array that comes");
  prem_storage out = new_storage(PREM_F32, 1, 1);
  ck_assert_int_eq(prem_image_write(path, &out, reason, sizeof reason), PREM_OK);
  size_t count;
  free(get(path, &count));
  ck_assert_uint_eq(count, 4);
  ck_assert_int_eq(files_in_folder(), 1);
  free(out.base);
}
