/* SPDX-License-Identifier: Apache-2.0 */
/* A camera loop: feed a frame, wait for the edges in it, a hundred times; no wait is longer than it
 * says: camera_loop FILE [BACKEND]. */
#include <inttypes.h>
#include <stdio.h>

#include <ttprem/ttprem.h>

enum { FRAMES = 100, MS = 1000000 };

/* The camera: a bright square that moves to the right. */
static void take_picture(const prem_frame *frame, int number) {
  for (int64_t row = 0; row < frame->shape[2]; ++row) {
    float *pixel = (float *)((char *)frame->data + row * frame->pitch_bytes[2]);
    for (int64_t column = 0; column < frame->shape[3]; ++column)
      pixel[column] = row / 16 == 1 && (column + frame->shape[3] - number) / 16 % 4 == 1 ? 1 : 0;
  }
}

/* How many pixels are on an edge. */
static int64_t count_edges(const prem_frame *frame) {
  int64_t count = 0;
  for (int64_t row = 0; row < frame->shape[2]; ++row) {
    const float *pixel = (const float *)((const char *)frame->data + row * frame->pitch_bytes[2]);
    for (int64_t column = 0; column < frame->shape[3]; ++column)
      count += pixel[column] > 0;
  }
  return count;
}

/* What came of one frame; a result that is not there in time is missed, and the loop goes on. */
static prem_status handle_frame(prem_live *live, int number, int64_t *worst_age_ns,
                                prem_diag *diag) {
  const int32_t image = prem_live_find(live, "image"), edges = prem_live_find(live, "edges");
  const int64_t until_ns = prem_live_now_ns(live) + 100 * MS;
  prem_frame in, out;
  prem_status status = prem_live_acquire(live, image, until_ns, &in, diag);
  if (status == PREM_OK) {
    take_picture(&in, number);
    status = prem_live_submit(live, &in, diag);
  }
  if (status == PREM_OK)
    status = prem_live_wait(live, edges, until_ns, &out, diag);
  if (status == PREM_ERR_TIMEOUT || status == PREM_ERR_FULL) {
    printf("frame %d: %s\n", number, prem_status_text(status));
    return PREM_OK;
  }
  if (status != PREM_OK)
    return status;
  const int64_t age_ns = out.published_ns - out.captured_ns, found = count_edges(&out);
  *worst_age_ns = age_ns > *worst_age_ns ? age_ns : *worst_age_ns;
  if (number % 20 == 0)
    printf("result %" PRIu64 " of frame %" PRIu64 ": %" PRId64 " pixels on edges\n", out.number,
           out.input, found);
  return prem_live_release(live, &out, diag);
}

static prem_status loop(const prem_backend *backend, prem_schedule *schedule, prem_diag *diag) {
  const prem_live_request at_once = {.mode = PREM_MODE_TT};
  prem_live *live = NULL;
  prem_live_counts images = {0}, edges = {0};
  int64_t worst_age_ns = 0;
  prem_status status = prem_live_open(backend, schedule, &live, diag);
  if (status == PREM_OK)
    status = prem_live_start(live, &at_once, diag);
  for (int number = 0; number < FRAMES && status == PREM_OK; ++number)
    status = handle_frame(live, number, &worst_age_ns, diag);
  if (status == PREM_OK)
    status = prem_live_stop(live, true, prem_live_now_ns(live) + 1000 * MS, diag);
  if (status == PREM_OK) {
    prem_live_count(live, 0, &images);
    prem_live_count(live, 1, &edges);
    printf("%" PRIu64 " frames in, %" PRIu64 " used, %" PRIu64 " results out, %" PRIu64
           " late, at most %" PRId64 " ms old\n",
           images.frames, images.taken, edges.frames, edges.late, worst_age_ns / MS);
  }
  prem_live_close(live);
  return status;
}

int main(int argc, char **argv) {
  prem_diag *diag = prem_diag_new();
  const prem_backend *backend = prem_backend_find(argc > 2 ? argv[2] : "cpu");
  prem_schedule *schedule = NULL;
  if (argc < 2 || !backend)
    return puts("usage: camera_loop FILE [sim|cpu]"), 2;
  prem_status status = prem_schedule_load(argv[1], NULL, &schedule, diag);
  if (status == PREM_OK)
    status = prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag);
  if (status == PREM_OK)
    status = loop(backend, schedule, diag);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    fprintf(stderr, "%s\n", prem_diag_at(diag, i)->reason);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return status == PREM_OK ? 0 : 1;
}
