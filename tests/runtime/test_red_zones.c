/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that write outside of their views: which store, by which tile, on sim and on cpu, in runs
 * and in live sessions; and what is no such store. */
/* ctest: threads */
#include "runtime/core/red_zones.h"
#include "tests/common/live.h"
#include "tests/common/suite.h"

enum { ROWS = 20, COLUMNS = 12, TILE_ROWS = 8 /* the last of three tiles is cut to 4 */ };

/* ---- a kernel that copies, and writes once more ---------------------------------------------- */

static struct {
  int32_t port; /* -1: nowhere */
  int32_t tile;
  int64_t row, column;
} more;

static int32_t work_bytes;
static _Atomic int computed;

static prem_status scribble_bind(prem_bind *bind) {
  bind->new_rank[1] = bind->rank[0];
  memcpy(bind->new_shape[1], bind->shape[0], sizeof bind->new_shape[1]);
  const prem_status status = prem_bind_tile(bind, bind->rank[0], bind->shape[0], &bind->window[0]);
  bind->window[1] = bind->window[0];
  bind->work_bytes = work_bytes;
  return status;
}

static void scribble_compute(const void *params, const prem_view *views) {
  (void)params;
  for (int32_t p = 0; p < views[1].extent[1]; ++p)
    for (int32_t r = 0; r < views[1].extent[2]; ++r)
      for (int32_t c = 0; c < views[1].extent[3]; ++c)
        ((float *)views[1].data)[p * views[1].pitch[1] + r * views[1].pitch[2] + c] =
            ((const float *)views[0].data)[p * views[0].pitch[1] + r * views[0].pitch[2] + c];
  ++computed;
  if (more.port < 0 || views[1].origin[2] != (int64_t)more.tile * TILE_ROWS)
    return;
  if (more.port == 2)
    ((unsigned char *)views[2].data)[more.column] = 1;
  else
    PREM_AT(float, views[more.port], more.row, more.column) = 1;
}

static void scribble_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const int64_t *shape = arrays[1].shape;
  memcpy(arrays[1].data, arrays[0].data,
         (size_t)(shape[0] * shape[1] * shape[2] * shape[3]) * sizeof(float));
}

static const prem_port scribble_ports[] = {{"in", PREM_IN, PREM_F32}, {"out", PREM_OUT, PREM_F32}};
static const prem_kernel scribble = {.name = "scribble",
                                     .summary = "copies, and writes once more",
                                     .ports = scribble_ports,
                                     .port_count = 2,
                                     .bind = scribble_bind,
                                     .compute = scribble_compute,
                                     .reference = scribble_reference};
static const prem_kernel scrawl = {.name = "scrawl",
                                   .summary = "the same as a compatible interval",
                                   .ports = scribble_ports,
                                   .port_count = 2,
                                   .bind = scribble_bind,
                                   .compute = scribble_compute,
                                   .reference = scribble_reference,
                                   .compatible = true};

/* ---- running it ------------------------------------------------------------------------------ */

static prem_schedule *load(const char *source) {
  static const prem_kernel *const kernels[] = {&scribble, &scrawl};
  static const prem_registry registry = {kernels, 2};
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = schedule_from_text_lenient(source, diag);
  prem_diag_free(diag);
  schedule->tasks[0].broken = schedule->bound = false; /* the built-in kernels lack these two */
  diag = prem_diag_new();
  if (prem_prepare(schedule, &registry, NULL, NULL, diag) != PREM_OK)
    abort_with("prepare", diag);
  prem_diag_free(diag);
  return schedule;
}

#define PHASES                                                                                     \
  "prefetch: { wcet_ns = 100000L; }; compute: { wcet_ns = 100000L; };"                             \
  "writeback: { wcet_ns = 100000L; };"

static const char *file_of(const char *shape, const char *tile, const char *more_settings) {
  return text("version = 1; name = \"s\"; platform: { blocks = 2; };\n"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ %s ]; fill = \"random\"; } );\n"
              "tasks = ( { name = \"t\"; kernel = \"scribble\"; blocks = 2; tile = [ %s ];\n"
              "  arrays: { in = \"x\"; out = \"new\"; }; " PHASES " } );\n%s",
              shape, tile, more_settings);
}

static const char *said(const prem_diag *diag) {
  if (prem_diag_count(diag) == 0)
    return "";
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  return text("%d: %s", prem_diag_at(diag, 0)->line, prem_diag_at(diag, 0)->reason);
}

/* What two runs of it say; a session that has told is asked again. */
static const char *run_on(const char *backend, const char *source) {
  OWNED(prem_schedule) *schedule = load(source);
  OWNED(prem_session) *session = open_on(backend, schedule);
  OWNED(prem_trace) *trace = NULL;
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 2};
  const char *all[2];
  ck_assert_int_eq(prem_trace_new(schedule, 2, 100, &trace), PREM_OK);
  for (int run = 0; run < 2; ++run) {
    OWNED(prem_diag) *diag = prem_diag_new();
    prem_verdict verdict;
    const prem_status status = prem_session_run(session, &request, trace, diag);
    all[run] = said(diag);
    ck_assert_int_eq(status, *all[run] ? PREM_ERR_WRONG : PREM_OK);
    if (!*all[run]) {
      ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
      ck_assert(verdict.ok);
    }
  }
  ck_assert_str_eq(all[0], all[1]);
  return all[0];
}

static void write_more(int32_t port, int32_t tile, int64_t row, int64_t column) {
  more.port = port;
  more.tile = tile;
  more.row = row;
  more.column = column;
  work_bytes = 0;
}

static const char *scribbled(const char *store, const char *size) {
  return text("3: kernel 'scribble' wrote %s, whose view has %s elements; compute may write to its "
              "views alone",
              store, size);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const char *const backends[] = {"sim", "cpu"};

TESTS(stores_outside_are_told, 2) {
  const char *source = file_of("20, 12", "8, 12", "");
  const char *backend = backends[_i];
  write_more(1, 0, 10, 0);
  ck_assert_str_eq(run_on(backend, source),
                   scribbled("row 10, column 0 of 'out' in tile 0", "8 x 12"));
  write_more(1, 1, -1, 11);
  ck_assert_str_eq(run_on(backend, source),
                   scribbled("row -1, column 11 of 'out' in tile 1", "8 x 12"));
  write_more(0, 2, 8, 3);
  ck_assert_str_eq(run_on(backend, source),
                   scribbled("row 8, column 3 of 'in' in tile 2", "8 x 12"));
  write_more(0, 0, -3, 0);
  ck_assert_str_eq(run_on(backend, source),
                   scribbled("row -3, column 0 of 'in' in tile 0", "8 x 12"));
}

TESTS(stores_in_views_are_not, 2) {
  const char *backend = backends[_i];
  write_more(-1, 0, 0, 0);
  ck_assert_str_eq(run_on(backend, file_of("20, 12", "8, 12", "")), "");
  write_more(0, 0, 7, 11); /* the tile's own copy */
  ck_assert_str_eq(run_on(backend, file_of("20, 12", "8, 12", "")), "");
  write_more(1, 0, 0, 11); /* the rest of a piece of 16 bytes */
  ck_assert_str_eq(run_on(backend, file_of("20, 11", "8, 11", "")), "");
  write_more(2, 0, 0, 63);
  work_bytes = 64;
  ck_assert_str_eq(run_on(backend, file_of("20, 12", "8, 12", "")), "");
}

/* On cpu these lie in buffers, and do no harm there. */
TEST(the_simulator_sees_more) {
  write_more(1, 2, 4, 0); /* of the tile that is cut */
  ck_assert_str_eq(run_on("sim", file_of("20, 12", "8, 12", "")),
                   scribbled("row 4, column 0 of 'out' in tile 2", "4 x 12"));
  write_more(1, 0, 8, 0);
  work_bytes = 64;
  ck_assert_str_eq(run_on("sim", file_of("20, 12", "8, 12", "")),
                   scribbled("row 8, column 0 of 'out' in tile 0", "8 x 12"));
  write_more(2, 0, 0, 64);
  work_bytes = 64;
  ck_assert_str_eq(run_on("sim", file_of("20, 12", "8, 12", "")),
                   scribbled("row 1, column 0 of 'work area' in tile 0", "1 x 64"));
  write_more(1, 0, 0, 70);
  ck_assert_str_eq(run_on("sim", file_of("256", "64", "")),
                   scribbled("row 1, column 6 of 'out' in tile 0", "1 x 64"));
  write_more(1, 0, 6, 1);
  ck_assert_str_eq(run_on("sim", file_of("3, 2, 8", "3, 2, 8", "")),
                   scribbled("row 6, column 1 of 'out' in tile 0", "6 x 8"));
}

/* Their views are the arrays. */
TEST(compatible_intervals) {
  const char *source =
      "version = 1; name = \"s\"; platform: { blocks = 2; };\n"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16, 12 ]; fill = \"random\"; } );\n"
      "tasks = ( { name = \"t\"; kernel = \"scrawl\"; blocks = 2; tile = [ 8, 6 ];\n"
      "  arrays: { in = \"x\"; out = \"new\"; }; compute: { wcet_ns = 100000L; }; } );\n";
  write_more(-1, 0, 0, 0);
  ck_assert_str_eq(run_on("sim", source), "");
  ck_assert_str_eq(run_on("cpu", source), "");
}

/* The simulator ends where the store was, and computes nothing after it. */
TEST(the_run_ends_there) {
  write_more(1, 1, 8, 0);
  computed = 0;
  ck_assert_str_ne(run_on("sim", file_of("20, 12", "8, 12", "")), "");
  ck_assert_int_lt(computed, 2 * 3);
}

/* ---- live sessions --------------------------------------------------------------------------- */

TESTS(live_sessions, 2) {
  OWNED(prem_schedule) *schedule =
      load("version = 1; name = \"s\"; platform: { blocks = 1; };\n"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8, 12 ]; } );\n"
           "tasks = ( { name = \"t\"; kernel = \"scribble\"; blocks = 1; tile = [ 8, 12 ];\n"
           "  period_ns = 1000000L; arrays: { in = \"x\"; out = \"new\"; }; " PHASES " } );\n"
           "live: { inputs = ( { array = \"x\"; } ); outputs = ( { array = \"t.out\"; } ); };");
  write_more(1, 0, 10, 0);
  OWNED(prem_live) *live = open_live_on(backends[_i], schedule);
  ck_assert_int_eq(feed(live, prem_live_find(live, "x"), 3, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.mode = PREM_MODE_TT});
  prem_frame frame;
  if (prem_live_wait(live, prem_live_find(live, "t.out"), prem_live_now_ns(live) + 5000000000,
                     &frame, NULL) == PREM_OK) /* on cpu it is shown, and told at the end */
    prem_live_release(live, &frame, NULL);
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_live_stop(live, true, prem_live_now_ns(live) + 5000000000, diag),
                   PREM_ERR_WRONG);
  ck_assert_str_eq(said(diag), scribbled("row 10, column 0 of 'out' in tile 0", "8 x 12"));
}

/* ---- zones ----------------------------------------------------------------------------------- */

TEST(every_byte_counts) {
  enum { SIZE = 75 };
  unsigned char bytes[SIZE + 16];
  for (size_t begin = 0; begin < 9; ++begin)
    for (size_t length = 0; length < SIZE; ++length) {
      prem_red_zone_fill(bytes + begin, length);
      ck_assert_ptr_null(prem_red_zone_broken(bytes + begin, length));
      for (size_t at = 0; at < length; ++at) {
        bytes[begin + at] ^= 4;
        ck_assert_ptr_eq(prem_red_zone_broken(bytes + begin, length), bytes + begin + at);
        bytes[begin + at] ^= 4;
      }
    }
}
