/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of a live session against the rules of Prometheus' text form, version 0.0.4, by a
 * reader that knows these rules and nothing of the writer. */
#include "tests/common/live.h"
#include "tests/common/suite.h"

#include <ctype.h>
#include <math.h>

#include "ttprem/tally.h"

/* ---- the independent reader ----------------------------------------------------------------- */

enum { MAX_SAMPLES = 512, TEXT = 256 };

typedef struct sample {
  char name[TEXT], labels[4 * TEXT]; /* labels: "k=v|k=v|", in their order, without `le` */
  double value, le;                  /* le: NAN where there is none */
} sample;

typedef struct reading {
  const char *at, *fault; /* NULL: all is well */
  char metric[TEXT], type[TEXT];
  char seen[64][TEXT]; /* metrics that were announced */
  int seen_count;
  bool has_help;
  sample samples[MAX_SAMPLES];
  int count;
} reading;

static bool refuse(reading *r, const char *fault) {
  if (!r->fault)
    r->fault = fault;
  return false;
}

static bool take(reading *r, const char *text) {
  if (strncmp(r->at, text, strlen(text)) != 0)
    return false;
  r->at += strlen(text);
  return true;
}

/* [a-zA-Z_:][a-zA-Z0-9_:]*; labels have no colon. */
static bool take_name(reading *r, char name[TEXT], bool allows_colon) {
  int length = 0;
  while (isalnum((unsigned char)*r->at) || *r->at == '_' || (allows_colon && *r->at == ':'))
    name[length++] = *r->at++;
  name[length] = '\0';
  return (length > 0 && !isdigit((unsigned char)name[0])) || refuse(r, "no name");
}

static bool take_quoted(reading *r, char value[TEXT]) {
  int length = 0;
  if (!take(r, "\""))
    return refuse(r, "a label without a quote");
  for (; *r->at != '"'; ++r->at) {
    if (*r->at == '\n' || *r->at == '\0')
      return refuse(r, "a label that does not end");
    const bool is_escaped = *r->at == '\\';
    if (is_escaped && !strchr("\\\"n", *++r->at))
      return refuse(r, "an unknown escape");
    value[length++] = is_escaped && *r->at == 'n' ? '\n' : *r->at;
  }
  value[length] = '\0';
  ++r->at;
  return true;
}

static bool take_number(reading *r, double *value) {
  char *end;
  *value = strtod(r->at, &end);
  if (end == r->at)
    return refuse(r, "no number");
  r->at = end;
  return true;
}

static bool take_labels(reading *r, sample *of) {
  while (!take(r, "}")) {
    char key[TEXT], value[TEXT];
    if (!take_name(r, key, false) || !take(r, "="))
      return refuse(r, "a label without a value");
    if (!take_quoted(r, value))
      return false;
    if (strcmp(key, "le") == 0)
      of->le = strcmp(value, "+Inf") == 0 ? (double)INFINITY : strtod(value, NULL);
    else
      strcat(of->labels, text("%s=%s|", key, value));
    if (!take(r, ",") && *r->at != '}')
      return refuse(r, "labels without a comma");
  }
  return true;
}

/* A histogram's samples have endings of their own. */
static bool is_of_metric(const reading *r, const char *name) {
  const size_t length = strlen(r->metric);
  if (strncmp(name, r->metric, length) != 0)
    return false;
  const char *ending = name + length;
  if (strcmp(r->type, "histogram") != 0)
    return !*ending;
  return !strcmp(ending, "_bucket") || !strcmp(ending, "_sum") || !strcmp(ending, "_count");
}

static bool is_twice(const reading *r, const sample *of) {
  for (int i = 0; i < r->count; ++i)
    if (!strcmp(r->samples[i].name, of->name) && !strcmp(r->samples[i].labels, of->labels) &&
        (isnan(of->le) || r->samples[i].le == of->le))
      return true;
  return false;
}

static bool read_sample(reading *r) {
  sample *of = &r->samples[r->count];
  *of = (sample){.le = (double)NAN};
  if (!take_name(r, of->name, true))
    return false;
  if (take(r, "{") && !take_labels(r, of))
    return false;
  if (!take(r, " ") || !take_number(r, &of->value))
    return refuse(r, "no value");
  if (!take(r, "\n"))
    return refuse(r, "a line that does not end");
  if (!is_of_metric(r, of->name))
    return refuse(r, "a sample away from its TYPE");
  if (is_twice(r, of))
    return refuse(r, "a series twice");
  if (!strcmp(r->type, "counter") && (of->value < 0 || !strstr(of->name, "_total")))
    return refuse(r, "no counter");
  ck_assert_int_lt(++r->count, MAX_SAMPLES);
  return true;
}

static bool read_head(reading *r) {
  char name[TEXT];
  const bool is_help = take(r, "HELP ");
  if (!is_help && !take(r, "TYPE "))
    return refuse(r, "a comment that is neither HELP nor TYPE");
  if (!take_name(r, name, true) || !take(r, " "))
    return refuse(r, "a head without a text");
  for (int i = 0; i < r->seen_count && is_help; ++i)
    if (strcmp(r->seen[i], name) == 0)
      return refuse(r, "a metric twice");
  if (is_help)
    strcpy(r->seen[r->seen_count++], name);
  if (!is_help && (!r->has_help || strcmp(name, r->metric) != 0))
    return refuse(r, "TYPE without HELP");
  strcpy(r->metric, name);
  r->has_help = is_help;
  const size_t length = strcspn(r->at, "\n");
  snprintf(r->type, sizeof r->type, "%.*s", (int)length, r->at);
  r->at += length;
  if (!is_help && !strstr("counter gauge histogram", r->type))
    return refuse(r, "an unknown type");
  return take(r, "\n") || refuse(r, "a line that does not end");
}

/* Buckets ascend, counts never fall, and the last one has all. */
static bool judge_buckets(reading *r) {
  for (int i = 0; i < r->count; ++i) {
    const sample *of = &r->samples[i], *next = of + 1;
    if (isnan(of->le))
      continue;
    if (isinf(of->le)) {
      if (i + 2 >= r->count || !strstr(next[1].name, "_count") || next[1].value != of->value ||
          strcmp(next[1].labels, of->labels) != 0)
        return refuse(r, "+Inf is not the count");
    } else if (i + 1 == r->count || !(next->le > of->le) || next->value < of->value) {
      return refuse(r, "buckets out of order");
    }
  }
  return true;
}

static reading *read_all(const char *text) {
  reading *r = calloc(1, sizeof *r);
  r->at = text;
  while (*r->at && !r->fault)
    if (take(r, "# "))
      read_head(r);
    else
      read_sample(r);
  if (!r->fault)
    judge_buckets(r);
  return r;
}

static double value_of(const reading *r, const char *name, const char *labels, double le) {
  for (int i = 0; i < r->count; ++i)
    if (!strcmp(r->samples[i].name, name) && strstr(r->samples[i].labels, labels) &&
        (isnan(le) || r->samples[i].le == le))
      return r->samples[i].value;
  ck_abort_msg("there is no %s{%s}", name, labels);
  return 0;
}

TEST(the_reader_finds_faults) {
  static const char *const broken[][2] = {
      {"x_total 1\n", "a sample away from its TYPE"},
      {"# TYPE x_total counter\nx_total 1\n", "TYPE without HELP"},
      {"# HELP x_total t\n# TYPE x_total counter\nx_total 1", "a line that does not end"},
      {"# HELP x_total t\n# TYPE x_total counter\nx_total{a=\"\\q\"} 1\n", "an unknown escape"},
      {"# HELP x_total t\n# TYPE x_total counter\nx_total{a=\"\n\"} 1\n",
       "a label that does not end"},
      {"# HELP x_total t\n# TYPE x_total counter\nx_total 1\nx_total 2\n", "a series twice"},
      {"# HELP x t\n# TYPE x counter\nx 1\n", "no counter"},
      {"# HELP x t\n# TYPE x number\nx 1\n", "an unknown type"},
      {"# HELP x t\n# TYPE x gauge\nx 1\n# HELP x t\n", "a metric twice"},
      {"# HELP h t\n# TYPE h histogram\nh_bucket{le=\"2\"} 3\nh_bucket{le=\"1\"} 3\n",
       "buckets out of order"},
      {"# HELP h t\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 3\nh_sum 1\nh_count 4\n",
       "+Inf is not the count"},
  };
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; ++i) {
    FREED reading *r = read_all(broken[i][0]);
    ck_assert_msg(r->fault && !strcmp(r->fault, broken[i][1]), "%s: found %s", broken[i][1],
                  r->fault ? r->fault : "nothing");
  }
}

/* ---- what is written ------------------------------------------------------------------------ */

static reading *metrics_of(const prem_tally *tally) {
  FREED char *written = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&written, &bytes);
  prem_tally_write_metrics(tally, file);
  fclose(file);
  reading *r = read_all(written);
  ck_assert_msg(!r->fault, "%s: %s", r->fault, written);
  return r;
}

static prem_schedule *small_schedule(void) {
  return checked_schedule(increment_file(1000, 1, "",
                                         "inputs = ( { array = \"x\"; } );"
                                         "outputs = ( { array = \"y\"; } );"));
}

TEST(counts_of_a_session_keep_the_rules) {
  OWNED(prem_schedule) *schedule = small_schedule();
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  OWNED(prem_tally) *tally = NULL;
  prem_frame frame;
  float value;
  ck_assert_int_eq(prem_tally_new(schedule, "sim", PREM_MODE_TT, 0, &tally), PREM_OK);
  prem_live_sleep_until(live, 1);
  ck_assert_int_eq(feed(live, 0, 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.mode = PREM_MODE_TT});
  prem_tally_begin(tally, live);
  for (int i = 0; i < 3; ++i) {
    ck_assert_int_eq(fetch(live, 1, 10000, &value, &frame), PREM_OK);
    prem_tally_result(tally, &frame, NULL);
  }
  prem_tally_look(tally, live);
  tally->streams[0].unfed = 7;
  FREED reading *r = metrics_of(tally);
  const char *x = "schedule=live|backend=sim|mode=tt|stream=x|";
  const char *y = "schedule=live|backend=sim|mode=tt|stream=y|";
  const double any = (double)NAN;
  ck_assert_double_eq(value_of(r, "ttprem_live_frames_total", text("%sdirection=in", x), any), 1);
  ck_assert_double_eq(value_of(r, "ttprem_live_frames_total", text("%sdirection=out", y), any), 3);
  ck_assert_double_eq(value_of(r, "ttprem_live_unfed_total", x, any), 7);
  ck_assert_double_eq(value_of(r, "ttprem_live_seen_total", y, any), 3);
  ck_assert_double_eq(value_of(r, "ttprem_live_repeated_total", y, any), 2);
  ck_assert_double_eq(value_of(r, "ttprem_live_task_overruns_total", "task=a|", any), 0);
  ck_assert_double_eq(value_of(r, "ttprem_live_running", "", any), 1);
  ck_assert_double_eq(value_of(r, "ttprem_build_info", "version=" PREM_VERSION "|", any), 1);
  /* of 400, 1400 and 2400 ns */
  ck_assert_double_eq(value_of(r, "ttprem_live_age_seconds_bucket", y, 1e-6), 1);
  ck_assert_double_eq(value_of(r, "ttprem_live_age_seconds_bucket", y, 2e-6), 2);
  ck_assert_double_eq(value_of(r, "ttprem_live_age_seconds_bucket", y, 10), 3);
  ck_assert_double_eq_tol(value_of(r, "ttprem_live_age_seconds_sum", y, any), 4.2e-6, 1e-12);
}

/* `y` is made of a frame that comes each time and of one that came once, `w` of that one alone. */
static prem_schedule *blending_schedule(void) {
  const char *phases = "prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 200L; };"
                       " writeback: { wcet_ns = 100L; };";
  return prepared_schedule(
      text("version = 1; name = \"live\"; platform: { blocks = 2; };"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
           "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; },"
           "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },"
           "  { name = \"w\"; type = \"f32\"; shape = [ 8 ]; } );"
           "tasks = ( { name = \"a\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 8 ];"
           "    period_ns = 1000L; arrays: { a = \"x\"; b = \"z\"; out = \"y\"; }; %s },"
           "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
           "    period_ns = 1000L; arrays: { in = \"z\"; out = \"w\"; }; %s } );"
           "live: { inputs = ( { array = \"x\"; }, { array = \"z\"; } );"
           "  outputs = ( { array = \"y\"; kind = \"queuing\"; }, { array = \"w\"; } ); };",
           phases, phases));
}

TEST(an_output_of_several_inputs_has_its_age_by_each) {
  OWNED(prem_schedule) *schedule = blending_schedule();
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  OWNED(prem_tally) *tally = NULL;
  ck_assert_int_eq(prem_tally_new(schedule, "sim", PREM_MODE_TT, 0, &tally), PREM_OK);
  prem_live_sleep_until(live, 1);
  ck_assert_int_eq(feed(live, 1, 9, NULL), PREM_OK);
  for (int i = 0; i < 3; ++i) {
    prem_frame frame;
    ck_assert_int_eq(feed(live, 0, (float)i, NULL), PREM_OK);
    if (i == 0)
      start_live(live, &(prem_live_request){.mode = PREM_MODE_TT});
    for (int32_t s = 2; s < 4; ++s) { /* each 1000 ns */
      ck_assert_int_eq(prem_live_wait(live, s, 10000, &frame, NULL), PREM_OK);
      prem_tally_result(tally, &frame, NULL);
      prem_tally_inputs(tally, live, &frame);
      ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
    }
  }
  prem_tally_look(tally, live);
  const prem_tally_stream *y = &tally->streams[2], *w = &tally->streams[3];
  ck_assert_int_eq(y->ages.max, 2400);          /* of the oldest */
  ck_assert_int_eq(y->inputs[0].ages.max, 900); /* sent when `w` is shown, 100 ns later */
  ck_assert_int_eq(y->inputs[0].ages.min, 400);
  ck_assert_int_eq(y->inputs[1].ages.max, 2400);
  ck_assert_int_eq(y->inputs[1].age.count, 3);
  ck_assert_int_eq(w->inputs[0].age.count + w->inputs[1].age.count, 0); /* of one: as `age` */
  FREED reading *r = metrics_of(tally);
  const char *x = "schedule=live|backend=sim|mode=tt|stream=y|input=x|";
  const char *z = "schedule=live|backend=sim|mode=tt|stream=y|input=z|";
  ck_assert_double_eq(value_of(r, "ttprem_live_input_age_seconds_bucket", x, 1e-6), 3);
  ck_assert_double_eq(value_of(r, "ttprem_live_input_age_seconds_bucket", z, 1e-6), 1);
  ck_assert_double_eq(value_of(r, "ttprem_live_input_age_seconds_count", z, (double)NAN), 3);
}

TEST(labels_are_escaped) {
  OWNED(prem_schedule) *schedule = small_schedule();
  OWNED(prem_tally) *tally = NULL;
  strcpy(schedule->name, "a \"b\" \\n c\nd");
  strcpy(schedule->arrays[0].name, "x{},=\\");
  ck_assert_int_eq(prem_tally_new(schedule, "sim", PREM_MODE_FREE, 0, &tally), PREM_OK);
  FREED reading *r = metrics_of(tally);
  ck_assert_double_eq(value_of(r, "ttprem_live_taken_total",
                               "schedule=a \"b\" \\n c\nd|backend=sim|mode=free|stream=x{},=\\|",
                               (double)NAN),
                      0);
}
