/* SPDX-License-Identifier: Apache-2.0 */
/* A health monitor: the camera is late once, so a job overruns and the session degrades to its
 * basic mode; the monitor hears of it and switches back, and changes an operator's coefficients
 * while all runs: monitor FILE [BACKEND]. */
#include <inttypes.h>
#include <stdio.h>

#include <ttprem/ttprem.h>

enum { FRAMES = 12, LATE = 4, BLUR = 8, MS = 1000000, PERIOD = 20 * MS };

typedef struct application {
  const prem_schedule *schedule;
  prem_live *live;
  int64_t start_ns;
  int quiet; /* frames since the last event that matters */
  prem_diag *diag;
} application;

/* What has happened since the last look. */
static void listen(application *app) {
  prem_live_event event;
  while (prem_live_listen(app->live, prem_live_now_ns(app->live), &event, NULL) == PREM_OK) {
    const char *of = event.task >= 0 ? app->schedule->tasks[event.task].name : "session";
    if (event.kind == PREM_EVENT_MISSING) /* of what is off */
      continue;
    printf("%4" PRId64 " ms: %s, %s, job %" PRId64 ", value %" PRId64 "\n",
           (event.at_ns - app->start_ns) / MS, prem_live_event_name(event.kind), of, event.job,
           event.value);
    app->quiet = event.kind == PREM_EVENT_OVERRUN ? 0 : app->quiet;
  }
}

/* Every pixel the mean of those around it, from the next hyperperiod on. */
static prem_status blur(application *app) {
  double coefficients[9];
  for (int i = 0; i < 9; ++i)
    coefficients[i] = 1.0 / 9;
  const int32_t edges = prem_schedule_find_task(app->schedule, "edges");
  prem_status status = prem_live_set(app->live, edges, "coefficients", coefficients, 9, app->diag);
  return status == PREM_OK ? prem_live_apply(app->live, app->diag) : status;
}

static prem_status handle_frame(application *app, int number) {
  const int32_t image = prem_live_find(app->live, "image");
  const int64_t due_ns = app->start_ns + number * (int64_t)PERIOD;
  prem_frame in, out;
  prem_live_sleep_until(app->live, due_ns + (number == LATE ? 14 * MS : 0));
  prem_status status = prem_live_acquire(app->live, image, due_ns + PERIOD, &in, app->diag);
  for (int64_t row = 0; status == PREM_OK && row < in.shape[2]; ++row)
    for (int64_t column = 0; column < in.shape[3]; ++column)
      ((float *)((char *)in.data + row * in.pitch_bytes[2]))[column] = 9;
  if (status == PREM_OK)
    status = prem_live_submit(app->live, &in, app->diag);
  if (status == PREM_OK)
    status = prem_live_wait(app->live, prem_live_find(app->live, "edges"), due_ns + 50 * PERIOD,
                            &out, app->diag);
  if (status != PREM_OK)
    return status;
  const float inner = ((float *)((char *)out.data + out.pitch_bytes[2]))[1];
  printf("frame %d: %g inside\n", number, (double)inner);
  status = prem_live_release(app->live, &out, app->diag);
  listen(app);
  if (status == PREM_OK && ++app->quiet == 3) /* for three frames now */
    status =
        prem_live_switch(app->live, prem_live_find_operating_mode(app->live, "full"), app->diag);
  return status == PREM_OK && number == BLUR ? blur(app) : status;
}

int main(int argc, char **argv) {
  application app = {.diag = prem_diag_new()};
  const prem_backend *backend = prem_backend_find(argc > 2 ? argv[2] : "cpu");
  prem_schedule *schedule = NULL;
  if (argc < 2 || !backend)
    return puts("usage: monitor FILE [sim|cpu]"), 2;
  prem_status status = prem_schedule_load(argv[1], NULL, &schedule, app.diag);
  app.schedule = schedule;
  if (status == PREM_OK)
    status = prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, app.diag);
  if (status == PREM_OK)
    status = prem_live_open(backend, schedule, &app.live, app.diag);
  if (status == PREM_OK) {
    app.start_ns = prem_live_now_ns(app.live) + 50 * MS;
    status = prem_live_start(
        app.live, &(prem_live_request){.start_ns = app.start_ns, .events = true}, app.diag);
  }
  for (int number = 0; number < FRAMES && status == PREM_OK; ++number)
    status = handle_frame(&app, number);
  if (status == PREM_OK)
    status = prem_live_stop(app.live, true, prem_live_now_ns(app.live) + 1000 * MS, app.diag);
  if (status == PREM_OK)
    listen(&app);
  prem_live_close(app.live);
  for (size_t i = 0; i < prem_diag_count(app.diag); ++i)
    fprintf(stderr, "%s\n", prem_diag_at(app.diag, i)->reason);
  prem_schedule_free(schedule);
  prem_diag_free(app.diag);
  return status == PREM_OK ? 0 : 1;
}
