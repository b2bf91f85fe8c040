/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures go through a socket, since a write to one can be told to raise no signal. */
#include "film.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ttprem/output.h>

#include "child.h"

#define PATIENCE_NS INT64_C(10000000000)
#define FINISH_NS   INT64_C(60000000000)

struct film {
  prem_output output;
  child encoder;
  int descriptor; /* what it reads from us */
  char *path;
};

static prem_status refuse(prem_diag *diag, prem_status status, const char *path,
                          const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "%s", reason);
  return status;
}

/* ---- which encoder ---- */

/* What ffmpeg says of its encoders, as far as there is room. */
static prem_status list_encoders(char *out, size_t out_bytes, prem_diag *diag) {
  static const char *const arguments[] = {"ffmpeg", "-hide_banner", "-encoders", NULL};
  child asked = {0};
  int ends[2];
  size_t length = 0;
  out[0] = 0;
  if (pipe2(ends, O_CLOEXEC))
    return refuse(diag, PREM_ERR_IO, NULL, strerror(errno));
  const prem_status status = child_start(&asked, (char *const *)arguments, -1, ends[1], diag);
  const int64_t until_ns = child_now_ns() + PATIENCE_NS;
  close(ends[1]);
  while (status == PREM_OK && length + 1 < out_bytes && child_ready(ends[0], POLLIN, until_ns)) {
    const ssize_t got = read(ends[0], out + length, out_bytes - length - 1);
    if (got <= 0 && !(got < 0 && errno == EINTR))
      break;
    length += got > 0 ? (size_t)got : 0;
  }
  out[length] = 0;
  close(ends[0]);
  child_end(&asked);
  return status;
}

static prem_status choose_encoder(const char **name, prem_diag *diag) {
  static const char *const best_first[] = {"libx264", "mpeg4", "mjpeg"};
  enum { ROOM = 1 << 16 };
  char *list = malloc(ROOM), wanted[32];
  prem_status status = list ? list_encoders(list, ROOM, diag) : PREM_ERR_MEMORY;
  *name = NULL;
  for (size_t i = 0; i < 3 && status == PREM_OK && !*name; ++i) {
    snprintf(wanted, sizeof wanted, " %s ", best_first[i]);
    if (strstr(list, wanted))
      *name = best_first[i];
  }
  free(list);
  if (status == PREM_OK && !*name)
    return refuse(diag, PREM_ERR_UNAVAILABLE, NULL,
                  "this ffmpeg has none of the encoders libx264, mpeg4 and mjpeg: no film");
  return status;
}

/* ---- a film ---- */

/* It writes to the output's file, which may have no name yet, by the name of its own stdout. */
static prem_status start_encoder(film *of, const char *encoder, int32_t width, int32_t height,
                                 int32_t frames_per_s, prem_diag *diag) {
  char size[32], rate[16];
  int ends[2];
  snprintf(size, sizeof size, "%" PRId32 "x%" PRId32, width, height);
  snprintf(rate, sizeof rate, "%" PRId32, frames_per_s);
  const char *const arguments[] = {"ffmpeg",    "-hide_banner",
                                   "-loglevel", "error",
                                   "-f",        "rawvideo",
                                   "-pix_fmt",  "rgb24",
                                   "-s",        size,
                                   "-r",        rate,
                                   "-i",        "pipe:0",
                                   "-c:v",      encoder,
                                   "-q:v",      "3",
                                   "-pix_fmt",  "yuv420p",
                                   "-movflags", "+faststart",
                                   "-flags",    "+bitexact",
                                   "-f",        "mp4",
                                   "-y",        "file:/proc/self/fd/1",
                                   NULL};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
    return refuse(diag, PREM_ERR_IO, NULL, strerror(errno));
  of->descriptor = ends[0];
  const prem_status status =
      child_start(&of->encoder, (char *const *)arguments, ends[1], fileno(of->output.file), diag);
  close(ends[1]);
  return status;
}

prem_status film_open(const char *path, int32_t width, int32_t height, int32_t frames_per_s,
                      film **out, prem_diag *diag) {
  char reason[160] = "";
  const char *encoder = NULL;
  *out = NULL;
  prem_status status = choose_encoder(&encoder, diag);
  if (status != PREM_OK)
    return status;
  film *of = calloc(1, sizeof *of);
  if (!of)
    return PREM_ERR_MEMORY;
  of->descriptor = -1;
  of->path = strdup(path);
  if (!of->path)
    status = PREM_ERR_MEMORY;
  else if (prem_output_open(&of->output, path, reason, sizeof reason) != PREM_OK)
    status = refuse(diag, PREM_ERR_IO, path, reason);
  else
    status = start_encoder(of, encoder, width, height, frames_per_s, diag);
  if (status == PREM_OK)
    *out = of;
  else
    film_abandon(of);
  return status;
}

static prem_status give_up(film *of, const char *reason, prem_diag *diag) {
  char complaint[256], text[320];
  child_wait(&of->encoder, child_now_ns() + PATIENCE_NS / 10);
  child_complaint(&of->encoder, reason, complaint, sizeof complaint);
  snprintf(text, sizeof text, "ffmpeg made no film: %s", complaint);
  return refuse(diag, PREM_ERR_IO, of->path, text);
}

prem_status film_add(film *to, const canvas *picture, prem_diag *diag) {
  const size_t wanted = 3 * (size_t)picture->width * (size_t)picture->height;
  for (size_t done = 0; done < wanted;) {
    if (!child_ready(to->descriptor, POLLOUT, child_now_ns() + PATIENCE_NS))
      return give_up(to, "it took no picture for 10 s", diag);
    const ssize_t sent =
        send(to->descriptor, picture->rgb + done, wanted - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EINTR && errno != EAGAIN)
      return give_up(to, strerror(errno), diag);
    done += sent > 0 ? (size_t)sent : 0;
  }
  return PREM_OK;
}

prem_status film_close(film *of, prem_diag *diag) {
  char reason[160] = "";
  struct stat facts;
  prem_status status = PREM_OK;
  close(of->descriptor); /* the film's end */
  of->descriptor = -1;
  const int result = child_wait(&of->encoder, child_now_ns() + FINISH_NS);
  if (result != 0)
    status = give_up(of, "it took too long, or was killed", diag);
  else if (fstat(fileno(of->output.file), &facts) || facts.st_size == 0)
    status = give_up(of, "the file is empty: is the disk full?", diag);
  else if (prem_output_commit(&of->output, reason, sizeof reason) != PREM_OK)
    status = refuse(diag, PREM_ERR_IO, of->path, reason);
  film_abandon(of);
  return status;
}

void film_abandon(film *of) {
  if (!of)
    return;
  if (of->descriptor >= 0)
    close(of->descriptor);
  child_end(&of->encoder);
  prem_output_abandon(&of->output);
  free(of->path);
  free(of);
}
