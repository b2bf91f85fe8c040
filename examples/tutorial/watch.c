/* SPDX-License-Identifier: Apache-2.0 */
/* Watch what moves in front of a camera. One frame comes late and one not at all, so that there is
 * something to hear of: watch FILE [BACKEND]. */
#include <inttypes.h>
#include <stdio.h>

#include <ttprem/ttprem.h>

enum { FRAMES = 14, LATE = 5, ABSENT = 9, MS = 1000000, PERIOD = 20 * MS };

typedef struct application {
  const prem_schedule *schedule;
  prem_live *live;
  int32_t frame, found; /* streams */
  int64_t start_ns;
  int quiet; /* results since the last overrun */
  prem_diag *diag;
} application;

/* The camera: stripes, and a bright square that goes to the right. */
static void take_picture(const prem_frame *frame, int number) {
  for (int64_t row = 0; row < frame->shape[2]; ++row) {
    uint8_t *pixel = (uint8_t *)frame->data + row * frame->pitch_bytes[2];
    for (int64_t column = 0; column < frame->shape[3]; ++column) {
      const int64_t right = column - 8 * number;
      pixel[column] = row / 24 == 2 && right >= 0 && right < 24 ? 240 : 60 + column / 8 % 2 * 20;
    }
  }
}

static prem_status feed(application *app, int number) {
  const int64_t due_ns = app->start_ns + number * (int64_t)PERIOD;
  prem_frame in;
  prem_live_sleep_until(app->live, due_ns + (number == LATE ? 8 * MS : 0));
  if (number == ABSENT)
    return PREM_OK;
  prem_status status = prem_live_acquire(app->live, app->frame, due_ns + PERIOD, &in, app->diag);
  if (status == PREM_ERR_FULL) {
    printf("frame %d: no buffer\n", number);
    return PREM_OK;
  }
  if (status != PREM_OK)
    return status;
  take_picture(&in, number);
  return prem_live_submit(app->live, &in, app->diag);
}

/* What was found, if it is there until the next frame is due. */
static prem_status show(application *app, int number) {
  const int64_t until_ns = app->start_ns + (number + 1) * (int64_t)PERIOD;
  prem_frame out;
  prem_status status = prem_live_wait(app->live, app->found, until_ns, &out, app->diag);
  if (status == PREM_ERR_TIMEOUT) {
    printf("frame %d: no result\n", number);
    return PREM_OK;
  }
  if (status != PREM_OK)
    return status;
  const int32_t *found = out.data;
  printf("frame %d: %" PRId32 " pixels moved, around row %" PRId32 ", column %" PRId32 "\n", number,
         found[2], found[0], found[1]);
  ++app->quiet;
  return prem_live_release(app->live, &out, app->diag);
}

/* What has happened since the last look. Three good frames behind an overrun all is on again. */
static prem_status listen(application *app) {
  const int32_t full = prem_live_find_operating_mode(app->live, "full");
  prem_live_event event;
  while (prem_live_listen(app->live, prem_live_now_ns(app->live), &event, NULL) == PREM_OK) {
    if (event.kind == PREM_EVENT_MISSING && event.stream != app->frame)
      continue; /* what is not made cannot be shown */
    printf("%4" PRId64 " ms: %s, %s\n", (event.at_ns - app->start_ns) / MS,
           prem_live_event_name(event.kind),
           event.task >= 0                 ? app->schedule->tasks[event.task].name
           : event.kind != PREM_EVENT_MODE ? "frame"
           : event.value == full           ? "full"
                                           : "basic");
    app->quiet = event.kind == PREM_EVENT_OVERRUN ? 0 : app->quiet;
  }
  return app->quiet == 3 ? prem_live_switch(app->live, full, app->diag) : PREM_OK;
}

static prem_status watch(application *app, const prem_backend *backend) {
  prem_status status = prem_live_open(backend, app->schedule, &app->live, app->diag);
  if (status != PREM_OK)
    return status;
  app->frame = prem_live_find(app->live, "frame");
  app->found = prem_live_find(app->live, "found");
  status = prem_live_start(app->live, &(prem_live_request){.events = true}, app->diag);
  prem_live_state state;
  prem_live_look(app->live, &state);
  app->start_ns = state.start_ns;
  for (int number = 0; number < FRAMES && status == PREM_OK; ++number) {
    status = feed(app, number);
    if (status == PREM_OK)
      status = show(app, number);
    if (status == PREM_OK)
      status = listen(app);
  }
  if (status == PREM_OK)
    status = prem_live_stop(app->live, true, prem_live_now_ns(app->live) + 5000 * MS, app->diag);
  return status;
}

int main(int argc, char **argv) {
  application app = {.diag = prem_diag_new()};
  const prem_backend *backend = prem_backend_find(argc > 2 ? argv[2] : "cpu");
  prem_schedule *schedule = NULL;
  if (argc < 2 || !backend)
    return puts("usage: watch FILE [sim|cpu]"), 2;
  prem_status status = prem_schedule_load(argv[1], NULL, &schedule, app.diag);
  if (status == PREM_OK)
    status = prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, app.diag);
  app.schedule = schedule;
  if (status == PREM_OK)
    status = watch(&app, backend);
  prem_live_close(app.live);
  for (size_t i = 0; i < prem_diag_count(app.diag); ++i) {
    char line[512];
    prem_problem_format(prem_diag_at(app.diag, i), line, sizeof line);
    fprintf(stderr, "watch: %s\n", line);
  }
  prem_schedule_free(schedule);
  prem_diag_free(app.diag);
  return status == PREM_OK ? 0 : 1;
}
