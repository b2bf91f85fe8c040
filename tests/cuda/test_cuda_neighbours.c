/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timing */
/*
 * Live sessions on a GPU that others use: a kernel that holds it while one starts, another process
 * that takes turns with one that runs. Exit status 77 without a GPU, or in a build without the
 * backend.
 *   test_cuda_neighbours [SOURCE_DIR]
 *   test_cuda_neighbours --spin MS      the other process
 */
#define LIVE_BACKEND "cuda"
#include "tests/common/has_gpu.h"
#include "tests/common/live_threads.h"
#include "tests/cuda/spinner.h"

#include <spawn.h>

#ifndef WITH_CUDART /* nobody calls them */
const char *spinner_begin(spinner_room room, int64_t ns) {
  (void)room, (void)ns;
  return "a build without the backend";
}
void spinner_end(void) {}
#endif

enum {
  SKIPPED = 77,
  HELD_MS = 8000,  /* so soon the emulated GPU is not given up for lost */
  START_MS = 6000, /* well before the spinner ends */
  BESIDE_MS = 3000,
  ALONE_MS = 500
};

/* ---- a kernel that holds the GPU --------------------------------------------------------------
 */

static void run_one_frame(void) {
  float value;
  bench b = start_bench(queues(4));
  ck_assert_int_eq(feed(b.live, b.x, 7, NULL), PREM_OK);
  ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, NULL), PREM_OK);
  ck_assert_float_eq(value, 8);
  close_bench(&b);
}

/* Whether a module's kernels are loaded at once or when they are first used: a start that finds no
 * room ends in time and says so. */
START_TEST(a_start_beside_a_spinner_ends) { /* E1 */
  static const char *const loadings[] = {"EAGER", "LAZY"};
  static const spinner_room rooms[] = {SPINNER_ALL, SPINNER_SCRATCH};
  setenv("CUDA_MODULE_LOADING", loadings[_i % 2], 1); /* read when CUDA begins */
  run_one_frame();
  bench b = open_bench(queues(4));
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *why = spinner_begin(rooms[_i / 2], HELD_MS * (int64_t)MS);
  ck_assert_msg(why == NULL, "no spinner: %s", why);
  const int64_t from_ns = prem_live_now_ns(b.live);
  const prem_status status =
      prem_live_start(b.live, &(prem_live_request){.mode = PREM_MODE_TT}, diag);
  const int64_t took_ns = prem_live_now_ns(b.live) - from_ns;
  printf("%s, %s: start: %s after %lld ms\n", loadings[_i % 2],
         rooms[_i / 2] == SPINNER_ALL ? "all" : "scratchpad", prem_status_text(status),
         (long long)(took_ns / MS));
  ck_assert_int_eq(status, PREM_ERR_MACHINE);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  ck_assert_msg(strstr(prem_diag_at(diag, 0)->reason, "another program holds the GPU") != NULL,
                "%s", prem_diag_at(diag, 0)->reason);
  if (!IS_EMULATED)
    ck_assert_int_lt(took_ns, START_MS * (int64_t)MS);
  spinner_end();
  close_bench(&b);
  if (IS_EMULATED) /* a GPU that was held for so long this process has given up */
    run_one_frame();
}
END_TEST

/* ---- another process --------------------------------------------------------------------------
 */

/* It says when it spins, and ends by itself. */
static int spin(int64_t ms) {
  const char *why = spinner_begin(SPINNER_ALL, ms * MS);
  puts(why ? why : "spins");
  fflush(stdout);
  if (!why)
    spinner_end();
  return why != NULL;
}

/* @return its process; its output in *from */
static pid_t start_spinner(FILE **from) {
  char self[4096] = "", ms[16];
  int ends[2];
  pid_t process = -1;
  ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  snprintf(ms, sizeof ms, "%d", BESIDE_MS);
  char *const arguments[] = {self, "--spin", ms, NULL};
  ck_assert_int_eq(pipe(ends), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  ck_assert_int_eq(posix_spawn(&process, self, &actions, NULL, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  *from = fdopen(ends[0], "r");
  ck_assert_ptr_nonnull(*from);
  return process;
}

typedef struct traffic {
  uint64_t sent, shown, next_input;
} traffic;

static prem_status take_one(const bench *b, int64_t until_ns, traffic *t) {
  float value;
  prem_frame frame;
  const prem_status status = fetch(b->live, b->y, until_ns, &value, &frame);
  if (status != PREM_OK)
    return status;
  ck_assert_float_eq(value, (float)(frame.input + 1));
  ck_assert_uint_ge(frame.input, t->next_input);
  t->next_input = frame.input + 1;
  ++t->shown;
  return PREM_OK;
}

/* Frames for so long, or while the other process is there. */
static void pass_frames(const bench *b, int64_t ms, pid_t process, traffic *t) {
  const int64_t until_ns = in_ms(b, ms);
  while (process > 0 ? waitpid(process, NULL, WNOHANG) == 0 : in_ms(b, 0) < until_ns) {
    t->sent += feed(b->live, b->x, (float)t->sent, NULL) == PREM_OK;
    const prem_status status = take_one(b, in_ms(b, 5), t);
    ck_assert(status == PREM_OK || status == PREM_ERR_TIMEOUT);
  }
}

/* The GPU serves both in turns. What that costs is counted and said, and no frame is. */
START_TEST(turns_of_another_process_are_counted) { /* E25 */
  bench b = start_bench(queues(8));
  traffic t = {0};
  prem_live_clocks alone, beside;
  prem_live_state state;
  prem_live_counts x, y;
  char said[256] = "";
  FILE *from;
  pass_frames(&b, ALONE_MS, -1, &t);
  prem_live_compare_clocks(b.live, &alone);
  const pid_t process = start_spinner(&from);
  ck_assert_ptr_nonnull(fgets(said, sizeof said, from));
  ck_assert_msg(strcmp(said, "spins\n") == 0, "the other process: %s", said);
  pass_frames(&b, 0, process, &t);
  fclose(from);
  prem_live_compare_clocks(b.live, &beside);
  const uint64_t by_then = t.shown;
  pass_frames(&b, ALONE_MS, -1, &t);
  ck_assert_uint_gt(t.shown, by_then); /* alone again */
  ck_assert_int_eq(prem_live_stop(b.live, true, in_ms(&b, 60000), NULL), PREM_OK);
  while (take_one(&b, 0, &t) == PREM_OK) {
  }
  prem_live_look(b.live, &state);
  prem_live_count(b.live, b.x, &x);
  prem_live_count(b.live, b.y, &y);
  printf("alone: %lld gaps, %lld us at longest, in %lld questions; beside another process: %lld, "
         "%lld us, in %lld; %llu frames, %llu dropped\n",
         (long long)alone.gaps, (long long)alone.gap_max_ns / 1000, (long long)alone.questions,
         (long long)(beside.gaps - alone.gaps), (long long)beside.gap_max_ns / 1000,
         (long long)(beside.questions - alone.questions), (unsigned long long)t.sent,
         (unsigned long long)y.dropped);
  ck_assert_int_eq(state.end, PREM_LIVE_STOPPED);
  ck_assert_uint_eq(x.frames, t.sent);
  ck_assert_uint_eq(x.taken, t.sent);
  ck_assert_uint_eq(y.frames, t.shown);
  ck_assert_uint_eq(t.shown + y.dropped, t.sent);
  if (!IS_EMULATED) {
    ck_assert_int_eq(alone.gaps, 0);
    ck_assert_int_gt(beside.gaps, 0);
    ck_assert_int_lt(beside.gap_max_ns, INT64_C(1000) * MS);
  }
  close_bench(&b);
}
END_TEST

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--spin") == 0)
    return spin(atoi(argv[2]));
  if (!has_gpu()) {
    printf("skipped: no GPU, or a build without it\n");
    return SKIPPED;
  }
  Suite *suite = suite_create("cuda_neighbours");
  TCase *cases = tcase_create("cuda_neighbours");
  tcase_set_timeout(cases, 120);
  tcase_add_loop_test(cases, a_start_beside_a_spinner_ends, 0, IS_EMULATED ? 1 : 4);
  tcase_add_test(cases, turns_of_another_process_are_counted);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
