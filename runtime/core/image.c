/* SPDX-License-Identifier: Apache-2.0 */
/* Array files: pictures (PGM, PNG) and raw elements. */
#include "runtime/core/image.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <png.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ttprem/output.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "raw files hold little-endian elements: swap them here"
#endif

/* One file on its way in or out. */
typedef struct array_file {
  const char *path;
  FILE *stream;
  int64_t bytes; /* of a file being read */
  const prem_storage *storage;
  char *reason;
  size_t reason_bytes;
} array_file;

typedef struct array_format {
  const char *extension;
  bool picture;
  int32_t type; /* prem_type of its values, or ANY_TYPE */
  prem_status (*read)(array_file *file);
  prem_status (*write)(array_file *file);
} array_format;

PREM_PRINTF(2, 3)
static prem_status refuse(const array_file *file, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(file->reason, file->reason_bytes, format, args);
  va_end(args);
  return PREM_ERR_IO;
}

static unsigned char *row_start(const array_file *file, int64_t row) {
  return file->storage->base + row * file->storage->pitch_bytes;
}

static prem_status refuse_unless_shape(const array_file *file, int64_t rows, int64_t columns) {
  const int64_t *shape = file->storage->shape;
  if (rows == shape[2] && columns == shape[3])
    return PREM_OK;
  return refuse(file, "%s is %lld x %lld, the array has %lld x %lld", file->path, (long long)rows,
                (long long)columns, (long long)shape[2], (long long)shape[3]);
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Of f32 a pixel is a share of the picture's maximum; of u8 and u16 it is the number itself. */

static bool is_wide(const array_file *file) {
  return file->storage->type == PREM_U16;
}

/* The largest pixel of a picture that is written. */
static int32_t max_pixel(const array_file *file) {
  return is_wide(file) ? UINT16_MAX : UINT8_MAX;
}

/* Of an f32: clamped to [0, 1], NaN as 0, rounded to nearest. */
static int32_t pixel_of(float value) {
  if (!(value > 0.0F))
    return 0;
  return value >= 1.0F ? 255 : (int32_t)lroundf(value * 255.0F);
}

static int32_t pixel_at(const array_file *file, int64_t row, int64_t column) {
  const unsigned char *values = row_start(file, row);
  if (file->storage->type == PREM_U8)
    return values[column];
  return is_wide(file) ? ((const uint16_t *)values)[column]
                       : pixel_of(((const float *)values)[column]);
}

/* `pixel` is what integers take, `share` what an f32 does. */
static void put_value(const array_file *file, int64_t row, int64_t column, int32_t pixel,
                      float share) {
  unsigned char *values = row_start(file, row);
  if (file->storage->type == PREM_U8)
    values[column] = (unsigned char)pixel;
  else if (is_wide(file))
    ((uint16_t *)values)[column] = (uint16_t)pixel;
  else
    ((float *)values)[column] = share;
}

/* A picture of wider pixels than a u8 holds is refused, whatever its pixels are. */
static prem_status refuse_unless_pixels_fit(const array_file *file, int32_t max) {
  if (file->storage->type != PREM_U8 || max <= UINT8_MAX)
    return PREM_OK;
  return refuse(file, "%s has pixels up to %d, the array is u8; make it u16", file->path, (int)max);
}

/* ---- PGM ------------------------------------------------------------------------------------- */

typedef struct pgm_header {
  bool plain; /* P2: numbers in text; else P5: bytes */
  int32_t columns, rows, max;
} pgm_header;

/* The next character that is not in a comment. */
static int pgm_character(FILE *stream) {
  int c = getc(stream);
  if (c == '#')
    while (c != '\n' && c != EOF)
      c = getc(stream);
  return c;
}

static prem_status pgm_number(const array_file *file, const char *what, int32_t *out) {
  int c = pgm_character(file->stream);
  while (isspace(c))
    c = pgm_character(file->stream);
  if (c == EOF)
    return refuse(file, "%s is cut short: its %s is missing", file->path, what);
  int32_t value = 0, digits = 0;
  for (; isdigit(c) && digits < 9; c = getc(file->stream), ++digits)
    value = value * 10 + (c - '0');
  if (digits == 0 || isdigit(c))
    return refuse(file, "%s is broken: its %s is no number below a thousand million", file->path,
                  what);
  ungetc(c, file->stream);
  *out = value;
  return PREM_OK;
}

static prem_status pgm_read_header(const array_file *file, pgm_header *header) {
  const int first = getc(file->stream), second = getc(file->stream);
  if (first != 'P' || second < '1' || second > '7')
    return refuse(file, "%s is not a PGM picture: it does not begin with P2 or P5", file->path);
  if (second != '2' && second != '5')
    return refuse(file, "%s is a P%c picture; only grey ones can be read, P2 and P5", file->path,
                  second);
  header->plain = second == '2';
  prem_status status = pgm_number(file, "width", &header->columns);
  if (status == PREM_OK)
    status = pgm_number(file, "height", &header->rows);
  if (status == PREM_OK)
    status = pgm_number(file, "maximum", &header->max);
  if (status != PREM_OK)
    return status;
  if (header->columns < 1 || header->rows < 1)
    return refuse(file, "%s is broken: it has no pixels", file->path);
  if (header->max < 1 || header->max > 65535)
    return refuse(file, "%s is broken: its maximum is %d, not in 1 to 65535", file->path,
                  (int)header->max);
  if (!isspace(getc(file->stream)))
    return refuse(file, "%s is broken: no white space after its maximum", file->path);
  status = refuse_unless_pixels_fit(file, header->max);
  return status == PREM_OK ? refuse_unless_shape(file, header->rows, header->columns) : status;
}

static prem_status pgm_store(const array_file *file, const pgm_header *header, int64_t row,
                             int64_t column, int32_t pixel) {
  if (pixel > header->max)
    return refuse(file, "%s is broken: pixel (%lld, %lld) is %d, its maximum %d", file->path,
                  (long long)row, (long long)column, (int)pixel, (int)header->max);
  put_value(file, row, column, pixel, (float)pixel / (float)header->max);
  return PREM_OK;
}

static prem_status pgm_read_plain_row(const array_file *file, const pgm_header *header,
                                      int64_t row) {
  prem_status status = PREM_OK;
  for (int64_t column = 0; column < header->columns && status == PREM_OK; ++column) {
    char what[64];
    int32_t pixel = 0;
    snprintf(what, sizeof what, "pixel (%lld, %lld)", (long long)row, (long long)column);
    status = pgm_number(file, what, &pixel);
    if (status == PREM_OK)
      status = pgm_store(file, header, row, column, pixel);
  }
  return status;
}

/* One byte, or two with the high one first; EOF where the file ends. */
static int32_t pgm_sample(FILE *stream, bool wide) {
  const int first = getc(stream);
  if (!wide || first == EOF)
    return first;
  const int second = getc(stream);
  return second == EOF ? EOF : first << 8 | second;
}

static prem_status pgm_read_binary_row(const array_file *file, const pgm_header *header,
                                       int64_t row) {
  prem_status status = PREM_OK;
  for (int64_t column = 0; column < header->columns && status == PREM_OK; ++column) {
    const int32_t pixel = pgm_sample(file->stream, header->max > 255);
    if (pixel == EOF)
      return refuse(file, "%s is cut short in row %lld of %d", file->path, (long long)row,
                    (int)header->rows);
    status = pgm_store(file, header, row, column, pixel);
  }
  return status;
}

static prem_status pgm_read(array_file *file) {
  pgm_header header = {0};
  prem_status status = pgm_read_header(file, &header);
  for (int64_t row = 0; status == PREM_OK && row < header.rows; ++row)
    status = header.plain ? pgm_read_plain_row(file, &header, row)
                          : pgm_read_binary_row(file, &header, row);
  return status;
}

/* What cannot be written is seen when the file is closed. */
static prem_status pgm_write(array_file *file) {
  const int64_t *shape = file->storage->shape;
  fprintf(file->stream, "P5\n%lld %lld\n%d\n", (long long)shape[3], (long long)shape[2],
          (int)max_pixel(file));
  for (int64_t row = 0; row < shape[2]; ++row)
    for (int64_t column = 0; column < shape[3]; ++column) {
      const int32_t pixel = pixel_at(file, row, column);
      if (is_wide(file))
        putc(pixel >> 8, file->stream);
      putc(pixel & 0xFF, file->stream);
    }
  return PREM_OK;
}

/* ---- PNG ------------------------------------------------------------------------------------- */

/* What libpng's errors jump over lives here, not in locals. */
typedef struct png_job {
  array_file *file;
  bool writing;
  png_structp png;
  png_infop info;
  unsigned char *pixels;
  png_bytep *rows;
  prem_status status;
} png_job;

static void png_on_error(png_structp png, png_const_charp message) {
  const png_job *job = png_get_error_ptr(png);
  refuse(job->file, job->writing ? "cannot write %s: %s" : "%s is broken: %s", job->file->path,
         message);
  png_longjmp(png, 1);
}

static void png_on_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

static void png_on_read(png_structp png, png_bytep out, size_t bytes) {
  if (fread(out, 1, bytes, png_get_io_ptr(png)) != bytes)
    png_error(png, "it is cut short");
}

/* Ask libpng for grey or RGB of 8 or 16 bit; where alpha comes along it is stepped over. */
static void png_simplify(png_structp png, png_infop info) {
  const int color = png_get_color_type(png, info);
  if (color == PNG_COLOR_TYPE_PALETTE)
    png_set_palette_to_rgb(png);
  else if (png_get_bit_depth(png, info) < 8)
    png_set_expand_gray_1_2_4_to_8(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

static bool png_allocate(png_job *job, size_t row_count, size_t row_bytes) {
  job->pixels = malloc(row_count * row_bytes);
  job->rows = malloc(row_count * sizeof *job->rows);
  if (!job->pixels || !job->rows) {
    job->status = PREM_ERR_MEMORY;
    return false;
  }
  for (size_t row = 0; row < row_count; ++row)
    job->rows[row] = job->pixels + row * row_bytes;
  return true;
}

static int32_t png_sample(const unsigned char *bytes, int width) {
  return width == 1 ? bytes[0] : bytes[0] << 8 | bytes[1];
}

/* The pixel, of colours their luma. */
static double png_pixel(const unsigned char *bytes, int width, bool color) {
  const int32_t first = png_sample(bytes, width);
  if (!color)
    return first;
  return 0.299 * first + 0.587 * png_sample(bytes + width, width) +
         0.114 * png_sample(bytes + 2 * width, width);
}

static void png_store_row(const png_job *job, int64_t row) {
  const int width = png_get_bit_depth(job->png, job->info) / 8;
  const int channels = png_get_channels(job->png, job->info);
  const int32_t max = width == 1 ? UINT8_MAX : UINT16_MAX;
  const unsigned char *bytes = job->rows[row];
  for (int64_t column = 0; column < job->file->storage->shape[3]; ++column) {
    const double pixel = png_pixel(bytes + column * channels * width, width, channels >= 3);
    put_value(job->file, row, column, (int32_t)lround(pixel), (float)(pixel / max));
  }
}

static void png_read_job(png_job *job) {
  job->status = PREM_ERR_IO;
  if (setjmp(png_jmpbuf(job->png)))
    return;
  png_set_read_fn(job->png, job->file->stream, png_on_read);
  png_read_info(job->png, job->info);
  job->status = refuse_unless_shape(job->file, png_get_image_height(job->png, job->info),
                                    png_get_image_width(job->png, job->info));
  if (job->status == PREM_OK)
    job->status = refuse_unless_pixels_fit(
        job->file, png_get_bit_depth(job->png, job->info) > 8 ? UINT16_MAX : UINT8_MAX);
  if (job->status != PREM_OK)
    return;
  png_simplify(job->png, job->info);
  const size_t row_count = (size_t)job->file->storage->shape[2];
  if (!png_allocate(job, row_count, png_get_rowbytes(job->png, job->info)))
    return;
  job->status = PREM_ERR_IO; /* for errors from here on */
  png_read_image(job->png, job->rows);
  png_read_end(job->png, NULL);
  for (size_t row = 0; row < row_count; ++row)
    png_store_row(job, (int64_t)row);
  job->status = PREM_OK;
}

static prem_status png_read_file(array_file *file) {
  png_job job = {.file = file, .status = PREM_ERR_MEMORY};
  job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, png_on_error, png_on_warning);
  if (job.png)
    job.info = png_create_info_struct(job.png);
  if (job.info)
    png_read_job(&job);
  png_destroy_read_struct(&job.png, &job.info, NULL);
  free(job.pixels);
  free(job.rows);
  return job.status;
}

static void png_write_job(png_job *job) {
  const int64_t *shape = job->file->storage->shape;
  const size_t row_count = (size_t)shape[2];
  const bool wide = is_wide(job->file);
  if (!png_allocate(job, row_count, (size_t)shape[3] * (wide ? 2 : 1)))
    return;
  for (size_t row = 0; row < row_count; ++row)
    for (int64_t column = 0; column < shape[3]; ++column) {
      const int32_t pixel = pixel_at(job->file, (int64_t)row, column);
      unsigned char *to = job->rows[row] + column * (wide ? 2 : 1);
      if (wide)
        *to++ = (unsigned char)(pixel >> 8);
      *to = (unsigned char)pixel;
    }
  job->status = PREM_ERR_IO;
  if (setjmp(png_jmpbuf(job->png)))
    return;
  png_init_io(job->png, job->file->stream);
  png_set_IHDR(job->png, job->info, (png_uint_32)shape[3], (png_uint_32)shape[2], wide ? 16 : 8,
               PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(job->png, job->info);
  png_write_image(job->png, job->rows);
  png_write_end(job->png, NULL);
  job->status = PREM_OK;
}

static prem_status png_write_file(array_file *file) {
  const int64_t *shape = file->storage->shape;
  if (shape[2] > PNG_USER_HEIGHT_MAX || shape[3] > PNG_USER_WIDTH_MAX)
    return refuse(file,
                  "%s cannot be written: a PNG picture has at most %d x %d, the array "
                  "%lld x %lld",
                  file->path, PNG_USER_HEIGHT_MAX, PNG_USER_WIDTH_MAX, (long long)shape[2],
                  (long long)shape[3]);
  png_job job = {.file = file, .writing = true, .status = PREM_ERR_MEMORY};
  job.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &job, png_on_error, png_on_warning);
  if (job.png)
    job.info = png_create_info_struct(job.png);
  if (job.info)
    png_write_job(&job);
  png_destroy_write_struct(&job.png, &job.info);
  free(job.pixels);
  free(job.rows);
  return job.status;
}

/* ---- raw elements ---------------------------------------------------------------------------- */

static prem_status raw_read(array_file *file) {
  const size_t row_bytes = (size_t)(file->storage->shape[3] * file->storage->element_bytes);
  const int64_t needed = (int64_t)row_bytes * file->storage->row_count;
  if (file->bytes != needed)
    return refuse(file, "%s has %lld bytes, the array needs %lld", file->path,
                  (long long)file->bytes, (long long)needed);
  for (int64_t row = 0; row < file->storage->row_count; ++row)
    if (fread(row_start(file, row), 1, row_bytes, file->stream) != row_bytes)
      return refuse(file, "%s cannot be read: %s", file->path, strerror(errno));
  return PREM_OK;
}

static prem_status raw_write(array_file *file) {
  const size_t row_bytes = (size_t)(file->storage->shape[3] * file->storage->element_bytes);
  for (int64_t row = 0; row < file->storage->row_count; ++row)
    fwrite(row_start(file, row), 1, row_bytes, file->stream);
  return PREM_OK;
}

/* ---- every format ---------------------------------------------------------------------------- */

enum { ANY_TYPE = -1 };

static const array_format formats[] = {
    {".pgm", true, ANY_TYPE, pgm_read, pgm_write},
    {".png", true, ANY_TYPE, png_read_file, png_write_file},
    {".f32", false, PREM_F32, raw_read, raw_write},
    {".c64", false, PREM_C64, raw_read, raw_write},
    {".u8", false, PREM_U8, raw_read, raw_write},
    {".u16", false, PREM_U16, raw_read, raw_write},
    {".i32", false, PREM_I32, raw_read, raw_write},
    {".f16", false, PREM_F16, raw_read, raw_write},
    {".bf16", false, PREM_BF16, raw_read, raw_write},
    {".raw", false, ANY_TYPE, raw_read, raw_write},
};

static prem_status refuse_unknown(const array_file *file) {
  char known[128] = "";
  size_t used = 0;
  for (size_t i = 0; i < sizeof formats / sizeof *formats && used < sizeof known; ++i)
    used += (size_t)snprintf(known + used, sizeof known - used, " %s", formats[i].extension);
  return refuse(file, "%s: the name says no known format; known are%s", file->path, known);
}

static prem_status judge_format(const array_file *file, const array_format *format) {
  const prem_storage *storage = file->storage;
  if (format->picture && (storage->shape[0] != 1 || storage->shape[1] != 1))
    return refuse(file, "%s is a picture, but the array has more than 2 dimensions", file->path);
  if (format->picture && storage->type != PREM_F32 && storage->type != PREM_U8 &&
      storage->type != PREM_U16)
    return refuse(file, "%s is for arrays of type f32, u8 or u16, this one is %s", file->path,
                  prem_type_name(storage->type));
  if (format->type != ANY_TYPE && format->type != (int32_t)storage->type)
    return refuse(file, "%s is for arrays of type %s, this one is %s", file->path,
                  prem_type_name((prem_type)format->type), prem_type_name(storage->type));
  return PREM_OK;
}

static prem_status find_format(const array_file *file, const array_format **out) {
  const char *slash = strrchr(file->path, '/');
  const char *extension = strrchr(slash ? slash : file->path, '.');
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i)
    if (extension && strcasecmp(extension, formats[i].extension) == 0) {
      *out = &formats[i];
      return judge_format(file, *out);
    }
  return refuse_unknown(file);
}

/* Never waits: a pipe without a writer is refused like everything that is not a plain file. */
static prem_status open_to_read(array_file *file) {
  const int descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts;
  if (descriptor < 0)
    return refuse(file, "cannot open %s: %s", file->path, strerror(errno));
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    close(descriptor);
    return refuse(file, "%s is not a plain file", file->path);
  }
  file->bytes = facts.st_size;
  file->stream = fdopen(descriptor, "rb");
  if (file->stream)
    return PREM_OK;
  close(descriptor);
  return PREM_ERR_MEMORY;
}

prem_status prem_image_read(const char *path, prem_storage *storage, char *reason,
                            size_t reason_bytes) {
  array_file file = {
      .path = path, .storage = storage, .reason = reason, .reason_bytes = reason_bytes};
  const array_format *format = NULL;
  prem_status status = find_format(&file, &format);
  if (status == PREM_OK)
    status = open_to_read(&file);
  if (status != PREM_OK)
    return status;
  status = format->read(&file);
  fclose(file.stream);
  return status;
}

prem_status prem_image_write(const char *path, const prem_storage *storage, char *reason,
                             size_t reason_bytes) {
  array_file file = {
      .path = path, .storage = storage, .reason = reason, .reason_bytes = reason_bytes};
  const array_format *format = NULL;
  prem_output output = {0};
  char why[160] = "";
  prem_status status = find_format(&file, &format);
  if (status == PREM_OK)
    status = prem_output_open(&output, path, why, sizeof why);
  file.stream = output.file;
  if (status == PREM_OK)
    status = format->write(&file);
  if (status == PREM_OK)
    status = prem_output_commit(&output, why, sizeof why);
  prem_output_abandon(&output);
  return *why ? refuse(&file, "cannot write %s: %s", path, why) : status;
}
