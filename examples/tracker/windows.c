/* SPDX-License-Identifier: Apache-2.0 */
#include "windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "follow.h"
#include "instants.h"

enum { LEAST_FRAMES = 4, MOST_FRAMES = 40 };
static const int64_t limit_ns = 2000000000; /* of all frames */

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t regions_of(const track_setting *setting) {
  return (int64_t)setting->targets * (setting->scales + 1);
}

/* What the machine needs for all regions of a frame, and more: with 10 ms as the least period, a
 * core's 1.5 ms for each. */
static int64_t work_ns(const track_setting *setting, int64_t least_ns) {
  return regions_of(setting) * least_ns * 3 / 20;
}

/* As many as an idle machine follows within the limit; a busy one ends earlier. */
static int64_t frames_for(const track_setting *setting, int64_t least_ns) {
  const int64_t frames = limit_ns / work_ns(setting, least_ns);
  return frames < LEAST_FRAMES ? LEAST_FRAMES : frames > MOST_FRAMES ? MOST_FRAMES : frames;
}

/* What 95 of 100 phases did not exceed. The first hyperperiod finds nothing in caches. */
static prem_status take_times(const prem_trace *trace, track_windows *out) {
  static instants times[TRACK_MOST_TASKS][PREM_PHASE_COUNT];
  prem_status status = PREM_OK;
  for (int64_t i = 0; i < trace->record_count && status == PREM_OK; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (record->hyperperiod > 0)
      status = instants_add(&times[record->task][record->phase], record->end_ns - record->start_ns);
  }
  for (int t = 0; t < TRACK_MOST_TASKS; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      instants_sort(&times[t][p]);
      out->ns[t][p] = instants_at(&times[t][p], 0.95);
      instants_free(&times[t][p]);
    }
  return status;
}

static prem_status measure(const track_setting *setting, const prem_backend *backend,
                           const box *boxes, int64_t least_ns, const volatile sig_atomic_t *stop,
                           track_windows *times, int64_t *frames, prem_diag *diag) {
  char source[96];
  follow_result found;
  follow_request request = {.backend = backend,
                            .mode = PREM_MODE_FREE,
                            .video = {.source = source},
                            .step = 1,
                            .boxes = boxes,
                            .setting = *setting,
                            .stop = stop};
  snprintf(source, sizeof source, "synth:size=%" PRId32 "x%" PRId32 ",box=8x8,noise=32,frames=0",
           setting->columns, setting->rows);
  request.frames = request.traced = frames_for(setting, least_ns);
  request.lasts_ns = limit_ns;
  request.logged = 1;
  request.setting.feeding = TRACK_EACH;
  request.setting.publish_ns = 0;
  request.setting.profile = NULL;
  request.setting.windows = NULL;
  request.setting.wcet_factor = 0.05F; /* free, none is waited for; and frames follow each other */
  request.setting.period_ns = 1000000 + work_ns(setting, least_ns) / 2;
  prem_status status = follow(&request, &found, diag);
  if (status == PREM_OK && found.trace)
    status = take_times(found.trace, times);
  *frames = found.tracked;
  follow_free(&found);
  return status;
}

/* Where the plan ends; -1: there is none in that period. */
static int64_t plan_end_ns(const track_setting *setting, const prem_backend *backend) {
  prem_schedule *schedule;
  if (track_schedule_make(setting, backend, &schedule, NULL) != PREM_OK)
    return -1;
  const int64_t end_ns = track_schedule_end_ns(schedule, NULL);
  prem_schedule_free(schedule);
  return end_ns;
}

/* The sum of all windows of a block, were its tiles shared out evenly: more than any plan takes. */
static int64_t longest_ns(const track_setting *setting, const track_windows *windows) {
  int64_t longest = 0;
  for (int t = 0; t < TRACK_MOST_TASKS; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      longest += windows->ns[t][p];
  return longest * (1 + 8 * regions_of(setting));
}

static track_windows windows_of(const track_windows *times, int percent) {
  track_windows windows = {.percent = percent};
  for (int t = 0; t < TRACK_MOST_TASKS; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      windows.ns[t][p] = (times->ns[t][p] * percent / 100 / 100 + 1) * 100;
  return windows;
}

prem_status windows_measure(const track_setting *setting, const prem_backend *backend,
                            const box *boxes, int64_t period_ns, int64_t least_ns,
                            const volatile sig_atomic_t *stop, windows_found *out,
                            prem_diag *diag) {
  static const int percents[] = {150, 125, 100, 75, 50};
  const int64_t begin_ns = now_ns();
  track_windows times = {0};
  *out = (windows_found){.period_ns = period_ns};
  prem_status status = measure(setting, backend, boxes, least_ns, stop, &times, &out->frames, diag);
  if (status != PREM_OK)
    return status;
  out->windows = windows_of(&times, percents[0]);
  track_setting with = *setting;
  with.windows = &out->windows;
  with.profile = NULL;
  with.period_ns = period_ns ? period_ns : longest_ns(setting, &out->windows);
  if (with.publish_ns > with.period_ns)
    with.publish_ns = 0;
  int64_t end_ns = plan_end_ns(&with, backend);
  for (size_t i = 1; end_ns < 0 && i < sizeof percents / sizeof *percents; ++i) {
    out->windows = windows_of(&times, percents[i]);
    end_ns = plan_end_ns(&with, backend);
  }
  out->fits = end_ns >= 0;
  if (out->fits && period_ns == 0) {
    const int64_t grid_ns = least_ns / 10, wanted_ns = end_ns * 5 / 4;
    out->period_ns = wanted_ns < least_ns ? least_ns : (wanted_ns / grid_ns + 1) * grid_ns;
  }
  out->took_ns = now_ns() - begin_ns;
  return PREM_OK;
}
