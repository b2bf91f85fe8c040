/* SPDX-License-Identifier: Apache-2.0 */
#include "follow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plain.h"
#include "track_box.h"

enum { IN_HAND = 2 /* frames that are on their way */ };
static const int64_t patience_ns = 10000000000;

/* A run of it. */
typedef struct follower {
  const follow_request *request;
  follow_result *out;
  prem_diag *diag;
  video *frames;
  prem_live *live;
  int32_t frame_stream, command_stream, boxes_stream;
  int64_t zero_ns;    /* when the first frame was taken */
  int64_t boxes_ns;   /* from a hyperperiod's begin until its boxes are shown, by the plan */
  int64_t *submitted; /* [taken] which frame was the n-th that was handed over */
  int64_t submitted_count, room;
  int64_t instant_room;
  bool is_cut_short; /* the video could not be read to its end */
} follower;

/* ---- what is put down ------------------------------------------------------------------------ */

static bool is_stopped(const follower *f) {
  return f->request->stop && *f->request->stop;
}

/* Of the n-th frame that was taken. */
static int64_t frame_number(const follower *f, int64_t n) {
  return f->request->start + n * f->request->step;
}

/* `taken_ns`: an instant of the session's clock. `is_submitted`: the frame found a buffer. */
static prem_status note_taken(follower *f, int64_t taken_ns, bool is_submitted) {
  follow_result *out = f->out;
  if (out->taken == f->room) {
    const int64_t room = f->room ? 2 * f->room : 1024;
    int64_t *taken = realloc(out->taken_ns, (size_t)room * sizeof *taken);
    if (taken)
      out->taken_ns = taken;
    int64_t *submitted = realloc(f->submitted, (size_t)room * sizeof *submitted);
    if (submitted)
      f->submitted = submitted;
    if (!taken || !submitted)
      return PREM_ERR_MEMORY;
    f->room = room;
  }
  if (out->taken == 0)
    f->zero_ns = taken_ns;
  if (is_submitted)
    f->submitted[f->submitted_count++] = out->taken;
  else
    ++out->lost;
  out->taken_ns[out->taken++] = taken_ns - f->zero_ns;
  return PREM_OK;
}

static track_status status_of(const float *row) {
  return row[BOX_STATUS] == (float)TARGET_STARTED ? TRACK_STARTED
         : row[BOX_STATUS] == (float)TARGET_FOUND ? TRACK_TRACKED
                                                  : TRACK_LOST;
}

prem_status follow_note(track_log *log, int64_t frame, int32_t targets, const float *rows,
                        int64_t pitch, int64_t published_ns) {
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < targets && status == PREM_OK; ++t) {
    const float *at = rows + t * pitch;
    const bool refused = at[BOX_STATUS] == (float)TARGET_REFUSED;
    const track_row row = {
        .frame = frame,
        .target = t,
        .where = {at[BOX_X], at[BOX_Y], refused ? 0 : at[BOX_WIDTH], refused ? 0 : at[BOX_HEIGHT]},
        .peak = at[BOX_PEAK],
        .status = status_of(at),
        .published_ns = published_ns};
    status = track_log_add(log, &row);
  }
  return status;
}

static prem_status note_boxes(follower *f, int64_t frame, const float *rows, int64_t pitch,
                              int64_t published_ns) {
  const follow_request *request = f->request;
  if (++f->out->tracked > request->logged && request->logged > 0)
    return PREM_OK;
  return follow_note(&f->out->log, frame_number(f, frame), request->setting.targets, rows, pitch,
                     published_ns);
}

/* Before the n-th frame to take: those between, if there is time for it. */
static prem_status go_to_frame(follower *f, int64_t n) {
  const int64_t lasts_ns = f->request->lasts_ns;
  if (n > 1 && lasts_ns > 0 && f->live && prem_live_now_ns(f->live) - f->zero_ns > lasts_ns)
    return PREM_ERR_ENDED;
  return n > 0 ? video_skip(f->frames, f->request->step - 1, f->diag) : PREM_OK;
}

static prem_status note_end(follower *f, prem_status status) {
  f->is_cut_short = status != PREM_OK && status != PREM_ERR_ENDED;
  return status;
}

/* The n-th frame to take. */
static prem_status next_frame(follower *f, int64_t n, uint8_t *pixels, size_t pitch_bytes) {
  const prem_status status = go_to_frame(f, n);
  return note_end(f,
                  status == PREM_OK ? video_next(f->frames, pixels, pitch_bytes, f->diag) : status);
}

/* The same where it lies. */
static prem_status look_at_frame(follower *f, int64_t n, const uint8_t **pixels) {
  const prem_status status = go_to_frame(f, n);
  return note_end(f, status == PREM_OK ? video_look(f->frames, pixels, f->diag) : status);
}

/* Whatever ended the frames, the session has results of those before. */
static bool has_more_results(const follower *f, prem_status end) {
  return end == PREM_OK || end == PREM_ERR_ENDED || end == PREM_ERR_INTERRUPTED || f->is_cut_short;
}

void follow_command(const box *boxes, int32_t targets, float *rows, int64_t pitch) {
  for (int32_t t = 0; t < targets; ++t) {
    float *row = rows + t * pitch;
    memset(row, 0, COMMAND_NUMBERS * sizeof *row);
    row[COMMAND_SERIAL] = 1;
    row[COMMAND_X] = boxes[t].x;
    row[COMMAND_Y] = boxes[t].y;
    row[COMMAND_WIDTH] = boxes[t].w;
    row[COMMAND_HEIGHT] = boxes[t].h;
  }
}

/* ---- without a schedule ---------------------------------------------------------------------- */

static prem_status follow_plainly(follower *f, const prem_schedule *schedule) {
  const follow_request *request = f->request;
  plain_tracker *plain = plain_new(schedule);
  prem_status status = plain ? PREM_OK : PREM_ERR_MEMORY;
  if (plain)
    follow_command(request->boxes, request->setting.targets, plain_array(plain, "command"),
                   COMMAND_NUMBERS);
  for (int64_t n = 0; status == PREM_OK && (request->frames == 0 || n < request->frames); ++n) {
    if (is_stopped(f))
      status = PREM_ERR_INTERRUPTED;
    else
      status = next_frame(f, n, plain_array(plain, "frame"), (size_t)request->setting.columns);
    if (status == PREM_OK)
      status = note_taken(f, 0, true);
    if (status == PREM_OK && !plain_step(plain))
      status = PREM_ERR_MEMORY;
    if (status == PREM_OK)
      status = note_boxes(f, n, plain_array(plain, "boxes"), BOX_NUMBERS, TRACK_NO_TIME);
  }
  plain_free(plain);
  return status == PREM_ERR_ENDED ? PREM_OK : status;
}

/* ---- live ------------------------------------------------------------------------------------ */

static prem_status command(follower *f) {
  prem_frame frame;
  prem_status status = prem_live_acquire(f->live, f->command_stream, 0, &frame, f->diag);
  if (status != PREM_OK)
    return status;
  follow_command(f->request->boxes, f->request->setting.targets, frame.data,
                 frame.pitch_bytes[2] / (int64_t)sizeof(float));
  return prem_live_submit(f->live, &frame, f->diag);
}

static int64_t planned_ns(const follower *f, const prem_frame *frame) {
  prem_live_state state;
  prem_live_look(f->live, &state);
  return state.start_ns + frame->job * f->request->setting.period_ns +
         f->request->setting.publish_ns;
}

static prem_status note_instant(follower *f, const follow_instant *instant) {
  follow_result *out = f->out;
  if (out->tracked == f->instant_room) {
    const int64_t room = f->instant_room ? 2 * f->instant_room : 1024;
    follow_instant *instants = realloc(out->instants, (size_t)room * sizeof *instants);
    if (!instants)
      return PREM_ERR_MEMORY;
    out->instants = instants;
    f->instant_room = room;
  }
  out->instants[out->tracked] = *instant;
  return PREM_OK;
}

/* One result, if there is one until then. */
static prem_status take_result(follower *f, int64_t until_ns) {
  follow_result *out = f->out;
  prem_frame frame;
  prem_status status = prem_live_wait(f->live, f->boxes_stream, until_ns, &frame, f->diag);
  if (status != PREM_OK)
    return status;
  const int64_t way_ns = frame.published_ns - planned_ns(f, &frame);
  out->late += (frame.flags & PREM_FRAME_LATE) != 0;
  out->late_max_ns = way_ns > out->late_max_ns ? way_ns : out->late_max_ns;
  out->early_max_ns = -way_ns > out->early_max_ns ? -way_ns : out->early_max_ns;
  if (frame.input < (uint64_t)f->submitted_count) {
    const int64_t of = f->submitted[frame.input], shown_ns = frame.published_ns - f->zero_ns;
    const int64_t age_ns = shown_ns - out->taken_ns[of]; /* frame.captured_ns: of the command */
    out->age_sum_ns += age_ns;
    out->age_max_ns = age_ns > out->age_max_ns ? age_ns : out->age_max_ns;
    const follow_instant instant = {frame_number(f, of), shown_ns - way_ns, shown_ns};
    status = note_instant(f, &instant);
    if (status == PREM_OK)
      status =
          note_boxes(f, of, frame.data, frame.pitch_bytes[2] / (int64_t)sizeof(float), shown_ns);
  }
  const prem_status released = prem_live_release(f->live, &frame, f->diag);
  return status == PREM_OK ? released : status;
}

static prem_status late_result(follower *f) {
  prem_diag_add(f->diag, PREM_ERROR, 0, (prem_place){0}, "boxes",
                "no result for %" PRId64 " s: the session stands still; give its windows more time "
                "(--slack, --period), or see whether it goes with --backend sim",
                patience_ns / INT64_C(1000000000));
  return PREM_ERR_TIMEOUT;
}

static prem_status await_result(follower *f) {
  const prem_status status = take_result(f, prem_live_now_ns(f->live) + patience_ns);
  return status == PREM_ERR_TIMEOUT ? late_result(f) : status;
}

/* The next frame, read right into a buffer of the session. */
static prem_status hand_over(follower *f, int64_t n) {
  prem_frame frame;
  prem_status status = prem_live_acquire(f->live, f->frame_stream,
                                         prem_live_now_ns(f->live) + patience_ns, &frame, f->diag);
  if (status == PREM_ERR_FULL)
    return late_result(f);
  if (status != PREM_OK)
    return status;
  status = next_frame(f, n, frame.data, (size_t)frame.pitch_bytes[2]);
  if (status != PREM_OK) {
    prem_live_release(f->live, &frame, f->diag);
    return status;
  }
  frame.captured_ns = prem_live_now_ns(f->live);
  status = note_taken(f, frame.captured_ns, true);
  return status == PREM_OK ? prem_live_submit(f->live, &frame, f->diag) : status;
}

/* Results until the next frame is due. */
static prem_status take_results(follower *f, int64_t until_ns) {
  prem_status status = PREM_OK;
  while (status == PREM_OK)
    status = take_result(f, until_ns);
  return status == PREM_ERR_TIMEOUT ? PREM_OK : status;
}

/* Each frame as soon as there are not too many on their way; or, with `every_ns`, by the clock. */
static prem_status feed_each(follower *f) {
  const int64_t frames = f->request->frames, every_ns = f->request->every_ns;
  const follow_result *out = f->out;
  prem_status status = PREM_OK;
  int64_t due_ns = 0;
  for (int64_t n = 0; status == PREM_OK && (frames == 0 || n < frames); ++n) {
    due_ns = n == 0 ? prem_live_now_ns(f->live) : due_ns + every_ns;
    if (n > 0 && every_ns > 0)
      status = take_results(f, due_ns);
    if (status == PREM_OK)
      status = is_stopped(f) ? PREM_ERR_INTERRUPTED : hand_over(f, n);
    if (status == PREM_OK && n + 1 - out->tracked >= IN_HAND)
      status = await_result(f);
  }
  const prem_status end = status;
  while (has_more_results(f, end) && out->tracked < f->submitted_count)
    if ((status = await_result(f)) != PREM_OK)
      return status;
  return end == PREM_ERR_ENDED ? PREM_OK : end;
}

/* So long before a frame is taken it comes: three quarters of a period, since a host that is late
 * by less loses none. Less, down to a quarter, where only that lets its boxes be there when the
 * next one comes, with a tenth of a period to spare. */
static int64_t ahead_ns(const follower *f, int64_t every_ns) {
  const int32_t percent = f->request->ahead_percent;
  if (percent > 0)
    return every_ns * percent / 100;
  const int64_t quarter_ns = every_ns / 4, free_ns = every_ns * 9 / 10 - f->boxes_ns;
  return free_ns < quarter_ns || free_ns > 3 * quarter_ns ? 3 * quarter_ns : free_ns;
}

/* When the first frame comes: of a camera as fast as the plan before a frame is taken; else at
 * once. No host is early, many are late at times: a frame that comes behind its instant is followed
 * by the next one before anybody has looked at it. */
static int64_t first_due_ns(const follower *f, int64_t every_ns) {
  const int64_t now_ns = prem_live_now_ns(f->live), before_ns = ahead_ns(f, every_ns);
  prem_live_state state;
  if (every_ns != f->request->setting.period_ns)
    return now_ns;
  prem_live_look(f->live, &state);
  const int64_t since_ns = now_ns + before_ns - state.start_ns;
  return state.start_ns - before_ns + (since_ns < 0 ? 0 : since_ns / every_ns + 1) * every_ns;
}

/* A camera: frames come when they come, and one that finds no buffer is lost; so is one that this
 * thread comes to when the next one is there already, and those that might wait in a queue. A queue
 * is filled at first: as long as frames are in it, none is missed where this thread is late. */
static prem_status feed_by_clock(follower *f) {
  const track_setting *setting = &f->request->setting;
  const int64_t frames = f->request->frames;
  const int64_t every_ns = f->request->every_ns ? f->request->every_ns : setting->period_ns;
  const size_t width = (size_t)setting->columns;
  prem_status status = PREM_OK;
  int64_t due_ns = 0;
  for (int64_t n = 0; status == PREM_OK && (frames == 0 || n < frames); ++n) {
    const uint8_t *pixels;
    status = is_stopped(f) ? PREM_ERR_INTERRUPTED : look_at_frame(f, n, &pixels);
    if (status != PREM_OK)
      break;
    if (n == 0)
      due_ns = first_due_ns(f, every_ns);
    else if (n > setting->queue)
      due_ns += every_ns;
    status = take_results(f, due_ns);
    const bool is_over = prem_live_now_ns(f->live) - due_ns > (1 + setting->queue) * every_ns;
    prem_frame frame;
    prem_status acquired = status;
    if (status == PREM_OK)
      acquired =
          is_over ? PREM_ERR_FULL : prem_live_acquire(f->live, f->frame_stream, 0, &frame, f->diag);
    if (acquired == PREM_OK || acquired == PREM_ERR_FULL)
      status = note_taken(f, due_ns, acquired == PREM_OK);
    else
      status = acquired;
    if (acquired != PREM_OK || status != PREM_OK)
      continue;
    for (int32_t r = 0; r < setting->rows; ++r)
      memcpy((uint8_t *)frame.data + r * frame.pitch_bytes[2], pixels + (size_t)r * width, width);
    frame.captured_ns = due_ns;
    status = prem_live_submit(f->live, &frame, f->diag);
  }
  const prem_status end = status == PREM_ERR_ENDED ? PREM_OK : status;
  if (has_more_results(f, end))
    status = take_results(f, prem_live_now_ns(f->live) + (2 + setting->queue) * setting->period_ns);
  return status == PREM_OK || status == PREM_ERR_ENDED ? end : status;
}

/* Room for all of their records. */
static prem_status new_trace(const prem_schedule *schedule, int64_t hyperperiods,
                             prem_trace **out) {
  int64_t phases = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    phases += 3 * (int64_t)schedule->tasks[t].tile_count;
  return prem_trace_new(schedule, hyperperiods, phases * hyperperiods, out);
}

static prem_status follow_live(follower *f, const prem_schedule *schedule) {
  const follow_request *request = f->request;
  prem_trace *trace = NULL;
  prem_status status = request->traced > 0 ? new_trace(schedule, request->traced, &trace) : PREM_OK;
  f->out->trace = trace;
  const prem_live_request start = {.mode = request->mode,
                                   .follows_host = request->setting.feeding == TRACK_CAMERA,
                                   .submit_timeout_ns = patience_ns,
                                   .trace = trace};
  if (status == PREM_OK)
    status = prem_live_open(request->backend, schedule, &f->live, f->diag);
  if (status != PREM_OK)
    return status;
  f->frame_stream = prem_live_find(f->live, "frame");
  f->command_stream = prem_live_find(f->live, "command");
  f->boxes_stream = prem_live_find(f->live, "boxes");
  f->boxes_ns = request->setting.publish_ns > 0 ? request->setting.publish_ns
                                                : track_schedule_end_ns(schedule, "locate");
  if (track_schedule_fetches(&request->setting)) /* where it cannot be, it is copied */
    (void)prem_live_keep_on_host(f->live, f->frame_stream, NULL);
  status = command(f);
  if (status == PREM_OK)
    status = prem_live_start(f->live, &start, f->diag);
  if (status == PREM_OK) {
    status = request->setting.feeding == TRACK_EACH ? feed_each(f) : feed_by_clock(f);
    prem_live_state state;
    prem_live_look(f->live, &state);
    f->out->overruns = state.overruns;
    prem_live_counts counts;
    prem_live_count(f->live, f->boxes_stream, &counts);
    f->out->behind_max_ns = counts.behind_ns;
    const prem_status stopped =
        prem_live_stop(f->live, false, prem_live_now_ns(f->live) + patience_ns, f->diag);
    if (status == PREM_OK)
      status = stopped;
  }
  prem_live_close(f->live);
  if (trace)
    prem_trace_sort(trace);
  return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

void follow_free(follow_result *of) {
  track_log_free(&of->log);
  free(of->taken_ns);
  free(of->instants);
  prem_trace_free(of->trace);
  prem_schedule_free(of->schedule);
  *of = (follow_result){0};
}

prem_status follow(const follow_request *given, follow_result *out, prem_diag *diag) {
  follow_request request = *given;
  follower f = {.request = &request, .out = out, .diag = diag};
  prem_schedule *schedule = NULL;
  *out = (follow_result){.early_max_ns = INT64_MIN, .late_max_ns = INT64_MIN};
  f.frames = request.open;
  prem_status status = f.frames ? PREM_OK : video_open(&request.video, &f.frames, diag);
  if (status == PREM_OK) {
    request.setting.rows = video_facts_of(f.frames)->height;
    request.setting.columns = video_facts_of(f.frames)->width;
    status = video_skip(f.frames, request.start, diag);
  }
  if (status == PREM_OK)
    status = track_schedule_make(&request.setting, request.backend, &schedule, diag);
  if (status == PREM_OK)
    status = request.backend ? follow_live(&f, schedule) : follow_plainly(&f, schedule);
  if (out->trace)
    out->schedule = schedule;
  else
    prem_schedule_free(schedule);
  if (!request.open)
    video_close(f.frames);
  free(f.submitted);
  return status;
}
