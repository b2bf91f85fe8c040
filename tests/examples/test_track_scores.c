/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a tracker: cases worked out by hand, and random ones counted once more; its logs and
 * the ground truth, which come back as they were. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "examples/tracker/instants.h"
#include "examples/tracker/scored.h"
#include "examples/tracker/truth.h"
#include "examples/tracker/video.h"
#include "prem/base/random.h"

#include "tests/common/folder.h"
#include "tests/common/suite.h"

/* ---- scores ---- */

GROUP("scores");

TEST(boxes_are_compared_as_by_hand) {
  const box one = {10, 20, 40, 30}, same = one, beside = {50, 20, 40, 30};
  const box shifted = {30, 20, 40, 30}, inner = {20, 30, 10, 10}, up = {13, 24, 40, 30};
  ck_assert_double_eq(box_overlap(&one, &same), 1);
  ck_assert_double_eq(box_overlap(&one, &beside), 0);             /* they touch */
  ck_assert_double_eq(box_overlap(&one, &shifted), 600.0 / 1800); /* 20x30 of 2x1200 - 600 */
  ck_assert_double_eq(box_overlap(&inner, &one), 100.0 / 1200);
  ck_assert_double_eq(box_distance(&one, &up), 5); /* 3, 4, 5 */
  ck_assert_double_eq(box_distance(&one, &inner), hypot(5, 0));
}

TEST(a_perfect_tracker_has_all_but_the_last_threshold) {
  const box truth[3] = {{0, 0, 10, 10}, {1, 1, 10, 10}, {2, 2, 10, 10}};
  score result;
  score_boxes(truth, truth, 3, &result);
  ck_assert_int_eq(result.frames, 3);
  ck_assert_double_eq(result.centre_error, 0);
  ck_assert_double_eq(result.overlap, 1);
  ck_assert_double_eq(result.precision[0], 1);
  ck_assert_double_eq(result.success[19], 1);
  ck_assert_double_eq(result.success[20], 0); /* more than 1 is nothing */
  ck_assert_double_eq_tol(result.auc, 20.0 / 21, 1e-15);
}

TEST(four_frames_by_hand) {
  /* distances 0, 5, 20, 21; overlaps 1, 1/3 (half a box aside), 0, 0; the fifth is not marked */
  const box truth[5] = {{0, 0, 10, 10}, {0, 0, 10, 10}, {0, 0, 10, 10}, {0, 0, 10, 10}, {.w = 0}};
  const box tracked[5] = {
      {0, 0, 10, 10}, {5, 0, 10, 10}, {0, 20, 10, 10}, {21, 0, 10, 10}, {500, 0, 1, 1}};
  score result;
  score_boxes(truth, tracked, 5, &result);
  ck_assert_int_eq(result.frames, 4);
  ck_assert_double_eq(result.centre_error, 46.0 / 4);
  ck_assert_double_eq_tol(result.overlap, (1 + 1.0 / 3) / 4, 1e-15);
  ck_assert_double_eq(result.precision[4], 0.25);
  ck_assert_double_eq(result.p5, 0.5);   /* 5 px are within 5 px */
  ck_assert_double_eq(result.p20, 0.75); /* and 20 within 20 */
  ck_assert_double_eq(result.precision[21], 1);
  ck_assert_double_eq(result.success[0], 0.5);  /* an overlap of 0 is not more than 0 */
  ck_assert_double_eq(result.success[6], 0.5);  /* 1/3 > 0.30 */
  ck_assert_double_eq(result.success[7], 0.25); /* 1/3 < 0.35 */
  ck_assert_double_eq_tol(result.auc, (7 * 0.5 + 13 * 0.25) / 21, 1e-15);
}

TEST(no_number_is_far_off) {
  const box truth[2] = {{0, 0, 10, 10}, {0, 0, 10, 10}};
  const box tracked[2] = {{NAN, 0, 10, 10}, {0, 0, 0, 0}};
  score result;
  score_boxes(truth, tracked, 2, &result);
  ck_assert_int_eq(result.frames, 2);
  ck_assert_double_eq(result.centre_error, 1e6);
  ck_assert_double_eq(result.precision[50], 0);
  ck_assert_double_eq(result.auc, 0);
}

/* Pixels of a grid that lie in both boxes, and in either: what an overlap is. */
static double overlap_by_counting(const box *one, const box *other) {
  int both = 0, either = 0;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 64; ++column) {
      const float x = (float)column + 0.5F, y = (float)row + 0.5F;
      const int in = x > one->x && x < one->x + one->w && y > one->y && y < one->y + one->h;
      const int in_other =
          x > other->x && x < other->x + other->w && y > other->y && y < other->y + other->h;
      both += in && in_other;
      either += in || in_other;
    }
  return (double)both / either;
}

static box random_box(uint64_t *random) {
  box one;
  one.x = (float)prem_random_below(random, 40);
  one.y = (float)prem_random_below(random, 40);
  one.w = (float)(1 + prem_random_below(random, 24));
  one.h = (float)(1 + prem_random_below(random, 24));
  return one;
}

static double distance_by_hand(const box *one, const box *other) {
  const double across = (double)one->x + one->w / 2.0 - other->x - other->w / 2.0;
  const double down = (double)one->y + one->h / 2.0 - other->y - other->h / 2.0;
  return hypot(across, down);
}

/* An imperfect tracker's numbers, counted threshold by threshold. */
TEST(random_tracks_are_scored_as_by_counting) {
  enum { FRAMES = 40 };
  uint64_t random = 7;
  for (int round = 0; round < 50; ++round) {
    box where[FRAMES], tracked[FRAMES];
    double sum = 0, area = 0;
    score result;
    for (int i = 0; i < FRAMES; ++i) {
      where[i] = random_box(&random);
      tracked[i] = random_box(&random);
      sum += distance_by_hand(&where[i], &tracked[i]);
    }
    score_boxes(where, tracked, FRAMES, &result);
    ck_assert_double_eq_tol(result.centre_error, sum / FRAMES, 1e-9);
    for (int t = 0; t <= 20; ++t) {
      int more = 0, near = 0;
      for (int i = 0; i < FRAMES; ++i) {
        more += overlap_by_counting(&where[i], &tracked[i]) * 20 > t + 1e-9;
        near += distance_by_hand(&where[i], &tracked[i]) <= t;
      }
      ck_assert_double_eq_tol(result.success[t], more / (double)FRAMES, 1e-12);
      ck_assert_double_eq_tol(result.precision[t], near / (double)FRAMES, 1e-12);
      area += more / (double)FRAMES;
    }
    ck_assert_double_eq_tol(result.auc, area / 21, 1e-12);
  }
}

TEST(starts_and_their_mean) {
  const score scores[3] = {
      {.frames = 10, .centre_error = 2, .success = {1}, .precision = {[20] = 1}},
      {.frames = 0, .centre_error = 99},
      {.frames = 30, .centre_error = 4, .success = {0.5}}};
  score mean;
  score_mean(scores, 3, &mean);
  ck_assert_int_eq(mean.frames, 40);
  ck_assert_double_eq(mean.centre_error, 3); /* each start has the same weight */
  ck_assert_double_eq(mean.p20, 0.5);
  ck_assert_double_eq_tol(mean.auc, 0.75 / 21, 1e-15);
  ck_assert_int_eq(score_start(120, 0, 10), 0);
  ck_assert_int_eq(score_start(120, 1, 10), 6); /* n / 20 */
  ck_assert_int_eq(score_start(120, 9, 10), 54);
}

/* ---- which box when ---- */

static void add(track_log *log, int64_t frame, int32_t target, float x, int64_t published_ns) {
  const track_row row = {frame, target, {x, 0, 10, 10}, 0.5F, TRACK_TRACKED, published_ns};
  ck_assert_int_eq(track_log_add(log, &row), PREM_OK);
}

TEST(a_frame_without_a_row_keeps_the_last_box) {
  track_log log = {0};
  box boxes[6];
  add(&log, 3, 0, 30, TRACK_NO_TIME);
  add(&log, 1, 0, 10, TRACK_NO_TIME);
  add(&log, 2, 1, 99, TRACK_NO_TIME); /* another target's */
  add(&log, 4, 0, 40, TRACK_NO_TIME);
  log.rows[3].where.w = NAN; /* said, but no box: it does not count as the one before */
  score_by_frame(&log, 0, boxes, 6);
  ck_assert(!box_is_known(&boxes[0]));
  ck_assert_float_eq(boxes[1].x, 10);
  ck_assert_float_eq(boxes[2].x, 10);
  ck_assert_float_eq(boxes[3].x, 30);
  ck_assert(!box_is_known(&boxes[4]));
  ck_assert(!box_is_known(&boxes[5]));
  track_log_free(&log);
}

/* Frames every 100 ns; frame 1's box is late, frame 2's overtakes it, frame 3's comes at the
 * instant of frame 4. */
TEST(what_was_published_last_counts) {
  const int64_t taken_ns[6] = {0, 100, 200, 300, 400, 500};
  track_log log = {0};
  box boxes[6];
  add(&log, 0, 0, 1, 50);
  add(&log, 1, 0, 2, 260);
  add(&log, 2, 0, 3, 250);
  add(&log, 3, 0, 4, 400);
  add(&log, 4, 0, 6, 480);
  add(&log, 5, 0, 5, TRACK_NO_TIME);
  add(&log, 3, 0, 7, 480); /* as late as frame 4's, and older */
  ck_assert_int_eq(score_by_time(&log, 0, taken_ns, boxes, 6), PREM_OK);
  ck_assert(!box_is_known(&boxes[0])); /* before anything was published */
  ck_assert_float_eq(boxes[1].x, 1);
  ck_assert_float_eq(boxes[2].x, 1);
  ck_assert_float_eq(boxes[3].x, 2); /* the last one published, though of an older frame */
  ck_assert_float_eq(boxes[4].x, 4); /* at the instant is in time */
  ck_assert_float_eq(boxes[5].x, 6);
  track_log_free(&log);
}

/* Exact boxes of every second frame, each seen from the frame behind its own on: those of the first
 * frame until then, and behind that boxes of one or two frames ago. */
TEST(what_was_seen_is_scored_where_the_targets_are_by_then) {
  enum { FRAMES = 9, TARGETS = 2, START = 4, STEP = 3 };
  const video_request request = {.source = "synth:targets=2,frames=0,speed=1024"};
  video *truth = NULL;
  track_log log = {0};
  int64_t taken_ns[FRAMES];
  box real[FRAMES], began[TARGETS];
  double expected[TARGETS] = {0};
  score found;
  ck_assert_int_eq(video_open(&request, &truth, NULL), PREM_OK);
  for (int32_t t = 0; t < TARGETS; ++t) {
    for (int i = 0; i < FRAMES; ++i) {
      taken_ns[i] = 1000 * i;
      ck_assert(video_truth(truth, START + i * STEP, t, &real[i]));
      const track_row row = {.frame = START + i * STEP,
                             .target = t,
                             .where = real[i],
                             .published_ns = 1000 * i + 1000};
      if (i % 2 == 0)
        ck_assert_int_eq(track_log_add(&log, &row), PREM_OK);
    }
    began[t] = real[0];
    for (int i = 1; i < FRAMES; ++i)
      expected[t] += box_distance(&real[i], &real[(i - 1) / 2 * 2]) / FRAMES;
  }
  const taken_frames frames = {START, STEP, FRAMES, taken_ns};
  ck_assert_int_eq(scored_streaming(truth, &log, began, TARGETS, &frames, &found), PREM_OK);
  ck_assert_int_eq(found.frames, TARGETS * FRAMES);
  ck_assert_double_gt(expected[0], 1);
  ck_assert_double_eq_tol(found.centre_error, (expected[0] + expected[1]) / TARGETS, 1e-9);
  track_log_free(&log);
  video_close(truth);
}

/* ---- logs ---- */

static bool same_bits(float one, float other) {
  uint32_t bits, other_bits;
  memcpy(&bits, &one, sizeof bits);
  memcpy(&other_bits, &other, sizeof other_bits);
  return bits == other_bits;
}

GROUP("files", .first = enter_folder, .last = remove_folder);

TEST(a_log_comes_back_bit_by_bit) {
  track_log log = {0}, again = {0};
  uint64_t random = 3;
  for (int64_t i = 0; i < 3000; ++i) {
    track_row row = {.frame = i, .target = (int32_t)(i % 64), .status = (track_status)(i % 4)};
    float *const numbers[] = {&row.where.x, &row.where.y, &row.where.w, &row.where.h, &row.peak};
    for (int j = 0; j < 5; ++j) {
      uint32_t bits = (uint32_t)prem_random_next(&random);
      memcpy(numbers[j], &bits, sizeof bits);
      if (!isfinite(*numbers[j]))
        *numbers[j] = -0.0F;
    }
    row.published_ns = i % 3 ? (int64_t)prem_random_next(&random) / 2 : TRACK_NO_TIME;
    ck_assert_int_eq(track_log_add(&log, &row), PREM_OK);
  }
  log.rows[5].peak = NAN;
  ck_assert_int_eq(track_log_write(&log, "log.csv", true, NULL), PREM_OK);
  ck_assert_int_eq(track_log_read("log.csv", &again, NULL), PREM_OK);
  ck_assert_uint_eq(again.count, log.count);
  ck_assert_int_eq(track_log_targets(&again), 64);
  ck_assert(isnan(again.rows[5].peak));
  log.rows[5].peak = again.rows[5].peak = 0;
  for (size_t i = 0; i < log.count; ++i) {
    const track_row *one = &log.rows[i], *other = &again.rows[i];
    ck_assert(one->frame == other->frame && one->target == other->target &&
              one->status == other->status && one->published_ns == other->published_ns);
    ck_assert(same_bits(one->where.x, other->where.x) && same_bits(one->where.y, other->where.y) &&
              same_bits(one->where.w, other->where.w) && same_bits(one->where.h, other->where.h) &&
              same_bits(one->peak, other->peak));
  }
  track_log_free(&log);
  track_log_free(&again);
}

TEST(a_log_without_times_does_not_tell_them) {
  char text[256] = "";
  track_log log = {0};
  add(&log, 0, 0, 0.1F, 12345);
  ck_assert_int_eq(track_log_write(&log, "log.csv", false, NULL), PREM_OK);
  FILE *file = fopen("log.csv", "re");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  ck_assert_str_eq(text, "frame,target,x,y,w,h,peak,status,published_ns\n"
                         "0,0,0.100000001,0,10,10,0.5,tracked,-\n");
  track_log_free(&log);
}

#define HEADER "frame,target,x,y,w,h,peak,status,published_ns\n"
static const struct {
  const char *text, *line, *said;
} broken_logs[] = {
    {"", "log.csv:1: ", "first line must be frame,"},
    {"frame,x\n", "log.csv:1: ", "first line must be frame,"},
    {HEADER "0,0,1,2,3,4,0,tracked\n", "log.csv:2: ", "nine cells"},
    {HEADER "0,0,1,2,3,4,0,tracked,-,7\n", "log.csv:2: ", "nine cells"},
    {HEADER "0,0,1,2,3,4,0,tracked,-\n-1,0,1,2,3,4,0,tracked,-\n", "log.csv:3: ", "frame is"},
    {HEADER "0,70000,1,2,3,4,0,tracked,-\n", "log.csv:2: ", "target is"},
    {HEADER "0,0,1,,3,4,0,tracked,-\n", "log.csv:2: ", "y is"},
    {HEADER "0,0,1,2,3,4x,0,tracked,-\n", "log.csv:2: ", "h is"},
    {HEADER "0,0,1,2,3,4,0,found,-\n", "log.csv:2: ", "status is"},
    {HEADER "0,0,1,2,3,4,0,lost,soon\n", "log.csv:2: ", "published_ns is"},
    {HEADER "0,0,1,2,3,4,0,lost,-", "log.csv:2: ", "cut short"},
};

TESTS(a_broken_log_is_refused_at_its_line, sizeof broken_logs / sizeof *broken_logs) {
  track_log log;
  char line[256];
  OWNED(prem_diag) *diag = prem_diag_new();
  put("log.csv", broken_logs[_i].text);
  ck_assert_int_eq(track_log_read("log.csv", &log, diag), PREM_ERR_PARSE);
  ck_assert_ptr_null(log.rows);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  prem_problem_format(prem_diag_at(diag, 0), line, sizeof line);
  ck_assert_msg(strstr(line, broken_logs[_i].line) == line && strstr(line, broken_logs[_i].said),
                "%s", line);
}

/* ---- ground truth ---- */

TEST(boxes_of_the_benchmark_count_from_one) {
  truth_boxes marked;
  put("boxes.txt", "205\t151\t17\t50\n153,105,26,43\r\n\n  1 1 2.5 3\nNaN,NaN,NaN,NaN\n"
                   "3,4,0,0\n7,8,9,10");
  ck_assert_int_eq(truth_read("boxes.txt", &marked, NULL), PREM_OK);
  ck_assert_int_eq(marked.frames, 6);
  ck_assert_int_eq(marked.targets, 1);
  const box *first = truth_at(&marked, 0, 0), *third = truth_at(&marked, 2, 0);
  ck_assert(first->x == 204 && first->y == 150 && first->w == 17 && first->h == 50);
  ck_assert(third->x == 0 && third->y == 0 && third->w == 2.5F && third->h == 3);
  ck_assert_ptr_null(truth_at(&marked, 3, 0)); /* not marked there */
  ck_assert_ptr_null(truth_at(&marked, 4, 0));
  ck_assert_ptr_nonnull(truth_at(&marked, 5, 0)); /* a last line without its end */
  ck_assert_ptr_null(truth_at(&marked, 6, 0));
  ck_assert_ptr_null(truth_at(&marked, 0, 1));
  truth_free(&marked);
}

TEST(a_log_is_ground_truth_as_well) {
  truth_boxes marked;
  track_log log = {0};
  add(&log, 2, 1, 5, TRACK_NO_TIME);
  ck_assert_int_eq(track_log_write(&log, "truth.csv", true, NULL), PREM_OK);
  ck_assert_int_eq(truth_read("truth.csv", &marked, NULL), PREM_OK);
  ck_assert(marked.frames == 3 && marked.targets == 2);
  ck_assert_float_eq(truth_at(&marked, 2, 1)->x, 5);
  ck_assert_ptr_null(truth_at(&marked, 2, 0));
  truth_free(&marked);
  track_log_free(&log);
}

TEST(what_is_no_box_is_refused) {
  static const char *const texts[] = {"1,2,3\n", "1,2,3,4,5\n", "a,b,c,d\n", "", "\n"};
  truth_boxes marked;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    put("boxes.txt", texts[i]);
    ck_assert_int_eq(truth_read("boxes.txt", &marked, NULL), PREM_ERR_PARSE);
    ck_assert_ptr_null(marked.boxes);
  }
  ck_assert_int_eq(truth_read("absent.txt", &marked, NULL), PREM_ERR_IO);
  ck_assert_int_eq(truth_read(".", &marked, NULL), PREM_ERR_IO);
  put("log.csv", HEADER "9000000000000000,0,1,2,3,4,0,truth,-\n"); /* no memory for that */
  ck_assert_int_eq(truth_read("log.csv", &marked, NULL), PREM_ERR_PARSE);
}

/* ---- instants ---- */

GROUP("scores");

TEST(quantiles_are_as_counted_by_hand) {
  instants of = {0};
  const instant_summary none = instants_summary(&of);
  ck_assert_uint_eq(none.count, 0);
  ck_assert_int_eq(none.largest_ns, 0);
  for (int64_t i = 0; i < 2000; ++i) /* -1000 to 999, out of order */
    ck_assert_int_eq(instants_add(&of, (i * 7 + 3) % 2000 - 1000), PREM_OK);
  instants_sort(&of);
  const instant_summary all = instants_summary(&of);
  ck_assert_uint_eq(all.count, 2000);
  ck_assert_int_eq(all.least_ns, -1000);
  ck_assert_int_eq(all.p50_ns, -1); /* 1000 of 2000 do not exceed it */
  ck_assert_int_eq(all.p99_ns, 979);
  ck_assert_int_eq(all.p999_ns, 997);
  ck_assert_int_eq(all.largest_ns, 999);
  instants_free(&of);
}

GROUP("files");

TEST(instants_are_read_as_the_tracker_writes_them) {
  instants of = {0};
  put("instants.csv", "frame,planned_ns,shown_ns\n0,1000,1500\n1,2000,1990\n3,4000,4000\n");
  ck_assert_int_eq(instants_read("instants.csv", &of, NULL), PREM_OK);
  ck_assert_uint_eq(of.count, 3);
  ck_assert_int_eq(of.behind_ns[0], -10);
  ck_assert_int_eq(of.behind_ns[1], 0);
  ck_assert_int_eq(of.behind_ns[2], 500);
  instants_free(&of);
}

static const struct {
  const char *text;
  int line;
} broken_instants[] = {{"", 0},
                       {"frame,shown_ns\n", 1},
                       {"frame,planned_ns,shown_ns\n0,1,2\n1,2\n", 3},
                       {"frame,planned_ns,shown_ns\n0,1,2,3\n", 2},
                       {"frame,planned_ns,shown_ns\n0,1,2", 2}};

TESTS(broken_instants_are_refused_at_their_line, sizeof broken_instants / sizeof *broken_instants) {
  instants of = {0};
  OWNED(prem_diag) *diag = prem_diag_new();
  put("broken.csv", broken_instants[_i].text);
  ck_assert_int_eq(instants_read("broken.csv", &of, diag), PREM_ERR_PARSE);
  ck_assert_int_eq(prem_diag_at(diag, 0)->line, broken_instants[_i].line);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  instants_free(&of);
}
