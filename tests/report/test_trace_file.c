/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in other forms: what Perfetto gets is decoded again, by a reader that knows protobuf's
 * wire format and Perfetto's field numbers and nothing of the writer. */
#include <stdio.h>

#include "ttprem/trace_file.h"

#include "tests/common/suite.h"

/* Traces without jobs, or without the issue, are older ones; all of them are read. */
#define HEADER      "run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns\n"
#define JOBS_HEADER "run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns,job\n"
#define NEW_HEADER  "run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns,job,issue_ns\n"

static prem_diag *diag;
static char *written;
static size_t written_bytes;

static prem_status convert(const char *text, prem_trace_options options) {
  FILE *in = fmemopen((char *)text, strlen(text), "r");
  free(written);
  FILE *out = open_memstream(&written, &written_bytes);
  prem_status status = prem_trace_convert(in, "t.csv", &options, out, diag);
  fclose(out);
  fclose(in);
  return status;
}

static prem_trace_options all_of(prem_trace_format format) {
  return (prem_trace_options){.format = format, .run = -1};
}

static void set_up(void) {
  diag = prem_diag_new();
}

static void tear_down(void) {
  prem_diag_free(diag);
  free(written);
  written = NULL;
}

/* ---- the independent reader ----------------------------------------------------------------- */

typedef struct field {
  uint64_t number, value; /* value: of a varint */
  const uint8_t *bytes;   /* of a message or text */
  size_t count;
} field;

typedef struct span {
  const uint8_t *at, *end;
} span;

static uint64_t read_varint(span *from) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    if (from->at == from->end || shift >= 64) /* asserting every byte would take seconds */
      ck_abort_msg("a number that does not end");
    uint8_t byte = *from->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return value;
  }
}

static bool next_field(span *from, field *out) {
  if (from->at == from->end)
    return false;
  uint64_t tag = read_varint(from);
  *out = (field){.number = tag >> 3};
  if ((tag & 7) == 0) {
    out->value = read_varint(from);
    return true;
  }
  out->count = read_varint(from);
  if ((tag & 7) != 2 || out->count > (size_t)(from->end - from->at))
    ck_abort_msg("field %lu is no whole message or text", (unsigned long)out->number);
  out->bytes = from->at;
  from->at += out->count;
  return true;
}

static span inside(const field *message) {
  return (span){message->bytes, message->bytes + message->count};
}

static void copy_text(const field *text, char *to) {
  ck_assert(text->bytes && text->count < 200);
  memcpy(to, text->bytes, text->count);
  to[text->count] = 0;
}

enum { MAX = 400, SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

typedef struct named {
  uint64_t number;
  char name[200];
} named;

/** Everything that was in the trace, tracks and names resolved. */
static struct {
  named tracks[MAX], names[MAX], notes[MAX];
  int track_count, name_count, note_count;
  int begin_count, end_count, instant_count;
  char text[8192]; /* one line an event: "AT KIND TRACK|NAME|NOTE=VALUE..." */
} trace;

static const char *find_name(const named *list, int count, uint64_t number) {
  for (int i = 0; i < count; ++i)
    if (list[i].number == number)
      return list[i].name;
  ck_abort_msg("number %lu has no name", (unsigned long)number);
  return "";
}

static void read_name(const field *entry, named *list, int *count) {
  span from = inside(entry);
  named *to = &list[(*count)++];
  ck_assert_int_le(*count, MAX);
  for (field f; next_field(&from, &f);) {
    if (f.number == 1)
      to->number = f.value;
    if (f.number == 2)
      copy_text(&f, to->name);
  }
}

static void read_interned(const field *message) {
  span from = inside(message);
  for (field f; next_field(&from, &f);) {
    if (f.number == 2)
      read_name(&f, trace.names, &trace.name_count);
    else if (f.number == 3)
      read_name(&f, trace.notes, &trace.note_count);
  }
}

static void read_note(const field *message, char *text) {
  span from = inside(message);
  uint64_t name = 0, value = 0;
  for (field f; next_field(&from, &f);) {
    if (f.number == 1)
      name = f.value;
    if (f.number == 4)
      value = f.value;
  }
  sprintf(text + strlen(text), "|%s=%ld", find_name(trace.notes, trace.note_count, name),
          (long)value);
}

static void read_event(const field *message, uint64_t at_ns) {
  span from = inside(message);
  uint64_t type = 0, track = 0, name = 0;
  char notes[512] = "";
  for (field f; next_field(&from, &f);) {
    if (f.number == 9)
      type = f.value;
    if (f.number == 11)
      track = f.value;
    if (f.number == 10)
      name = f.value;
    if (f.number == 4)
      read_note(&f, notes);
  }
  const char *kinds[] = {"", "begin", "end", "instant"};
  ck_assert(type >= SLICE_BEGIN && type <= INSTANT);
  trace.begin_count += type == SLICE_BEGIN;
  trace.end_count += type == SLICE_END;
  trace.instant_count += type == INSTANT;
  sprintf(trace.text + strlen(trace.text), "%lu %s %s|%s%s\n", (unsigned long)at_ns, kinds[type],
          find_name(trace.tracks, trace.track_count, track),
          type == SLICE_END ? "" : find_name(trace.names, trace.name_count, name), notes);
}

static void read_packet(const field *packet, bool first) {
  span from = inside(packet);
  uint64_t at_ns = 0, sequence = 0, flags = 0;
  field event = {0};
  for (field f; next_field(&from, &f);) {
    switch (f.number) {
    case 8:
      at_ns = f.value;
      break;
    case 10:
      sequence = f.value;
      break;
    case 11:
      event = f;
      break;
    case 12:
      read_interned(&f);
      break;
    case 13:
      flags = f.value;
      break;
    default:
      ck_assert_uint_eq(f.number, 60);
      read_name(&f, trace.tracks, &trace.track_count);
    }
  }
  ck_assert_uint_ne(sequence, 0);
  ck_assert_uint_eq(flags, first ? 1 : 2); /* state cleared at first, needed by all others */
  if (event.bytes)
    read_event(&event, at_ns);
}

static void decode(void) {
  memset(&trace, 0, sizeof trace);
  span from = {(const uint8_t *)written, (const uint8_t *)written + written_bytes};
  int packets = 0;
  for (field packet; next_field(&from, &packet); ++packets) {
    ck_assert_uint_eq(packet.number, 1);
    read_packet(&packet, packets == 0);
  }
  ck_assert_int_eq(trace.begin_count, trace.end_count);
}

/* ---- Perfetto ------------------------------------------------------------------------------- */

GROUP("perfetto", .set_up = set_up, .tear_down = tear_down);

TEST(phases_are_slices_and_releases_instants) {
  prem_trace_options options = all_of(PREM_TRACE_PERFETTO);
  options.late_ns = 10;
  ck_assert_int_eq(convert(HEADER "0,a,3,7,prefetch,100,90,140,200\n"
                                  "0,a,3,7,compute,,200,200,300\n",
                           options),
                   PREM_OK);
  decode();
  ck_assert_str_eq(trace.text, "100 instant block 3|late release a prefetch|tile=7|lateness_ns=40"
                               "|waited for data or buffer, ns=0|then begun after, ns=40\n"
                               "140 begin block 3|a prefetch|tile=7|run=0\n"
                               "200 end block 3|\n"
                               "200 begin block 3|a compute|tile=7|run=0\n"
                               "300 end block 3|\n");
}

TEST(a_release_within_the_limit_is_not_late) {
  prem_trace_options options = all_of(PREM_TRACE_PERFETTO);
  options.late_ns = 40;
  ck_assert_int_eq(convert(HEADER "0,a,3,7,prefetch,100,120,140,200\n", options), PREM_OK);
  decode();
  ck_assert_ptr_nonnull(
      strstr(trace.text, "100 instant block 3|release a prefetch|tile=7|lateness_ns=40\n"));
}

TEST(what_runs_at_once_stands_on_tracks_of_its_own) {
  ck_assert_int_eq(convert(HEADER "0,a,0,0,prefetch,,0,0,10\n"
                                  "0,a,0,0,compute,,10,10,30\n"
                                  "0,a,0,1,prefetch,,10,10,25\n"
                                  "0,a,0,2,writeback,,20,20,40\n"
                                  "0,b,1,0,prefetch,,20,20,30\n",
                           all_of(PREM_TRACE_PERFETTO)),
                   PREM_OK);
  decode();
  ck_assert_ptr_nonnull(strstr(trace.text, "0 begin block 0 memory|a prefetch|tile=0"));
  ck_assert_ptr_nonnull(strstr(trace.text, "10 begin block 0 compute|a compute|tile=0"));
  ck_assert_ptr_nonnull(strstr(trace.text, "10 begin block 0 memory|a prefetch|tile=1"));
  ck_assert_ptr_nonnull(strstr(trace.text, "20 begin block 0 memory (2)|a writeback|tile=2"));
  ck_assert_ptr_nonnull(strstr(trace.text, "20 begin block 1|b prefetch|tile=0"));
}

TEST(what_the_host_did_stands_in_a_group_of_its_own) {
  prem_array arrays[] = {{.name = "x"}, {.name = "y"}};
  prem_live_port ports[] = {{.array = 0}, {.array = 1, .is_output = true}};
  const prem_schedule schedule = {
      .arrays = arrays, .array_count = 2, .live = ports, .live_count = 2, .live_input_count = 1};
  const prem_host_event events[] = {
      {.deed = PREM_HOST_ACQUIRED, .frame = 4, .begin_ns = 990, .end_ns = 1000},
      {.deed = PREM_HOST_ACQUIRED, .frame = 5, .begin_ns = 1010, .end_ns = 1020},
      {.deed = PREM_HOST_SUBMITTED, .frame = 5, .begin_ns = 1021, .end_ns = 1021},
      {.deed = PREM_HOST_SHOWN,
       .stream = 1,
       .frame = 3,
       .begin_ns = 1300,
       .end_ns = 1300,
       .age_ns = 279,
       .lateness_ns = -7},
      {.deed = PREM_HOST_WAITED, .stream = 1, .frame = 3, .begin_ns = 1100, .end_ns = 1310},
      {.deed = PREM_HOST_SHOWN,
       .stream = 1,
       .frame = 4,
       .begin_ns = 1320,
       .end_ns = 1320,
       .age_ns = INT64_MIN},
      {.deed = PREM_HOST_RELEASED, .stream = 1, .frame = 3, .begin_ns = 1401, .end_ns = 1401}};
  prem_trace_options options = all_of(PREM_TRACE_PERFETTO);
  options.shift_ns = 50;
  FILE *in = fmemopen(HEADER "0,a,3,7,prefetch,,0,0,200\n", strlen(HEADER) + 26, "r");
  FILE *out = open_memstream(&written, &written_bytes);
  ck_assert_int_eq(prem_trace_convert(in, "t.csv", &options, out, diag), PREM_OK);
  /* one event before the time line begins, one behind its end */
  prem_trace_add_host(&schedule, events, 7, 1000, 1400, out);
  fclose(out);
  fclose(in);
  decode();
  ck_assert_str_eq(trace.text, "50 begin block 3|a prefetch|tile=7|run=0\n"
                               "250 end block 3|\n"
                               "10 begin x (in)|wait for a buffer|frame=5\n"
                               "20 end x (in)|\n"
                               "21 instant x (in)|submit|frame=5\n"
                               "300 instant y (out)|shown|frame=3|shown after it was due, ns=-7"
                               "|age_ns=279\n"
                               "100 begin y (out)|wait for a result|frame=3\n"
                               "310 end y (out)|\n"
                               "320 instant y (out)|shown|frame=4|shown after it was due, ns=0\n");
}

TEST(slices_say_their_job) {
  const char text[] = JOBS_HEADER "0,a,0,0,prefetch,,0,5,9,2\n0,a,0,1,compute,,9,9,12,3\n";
  ck_assert_int_eq(convert(text, all_of(PREM_TRACE_CSV)), PREM_OK);
  ck_assert_str_eq(written, text);
  ck_assert_int_eq(convert(text, all_of(PREM_TRACE_PERFETTO)), PREM_OK);
  decode();
  ck_assert_ptr_nonnull(strstr(trace.text, "job=3"));
}

TEST(launches_follow_each_other) {
  ck_assert_int_eq(convert(HEADER "0,a,0,0,prefetch,0,0,5,100\n"
                                  "0,a,1,1,prefetch,20,0,20,90\n"
                                  "1,a,0,0,prefetch,0,0,3,80\n",
                           all_of(PREM_TRACE_PERFETTO)),
                   PREM_OK);
  decode();
  ck_assert_ptr_nonnull(strstr(trace.text, "100 instant block 0|late release a prefetch|tile=0"));
  ck_assert_ptr_nonnull(strstr(trace.text, "103 begin block 0|a prefetch|tile=0|run=1\n180 end"));
}

/* Launches are told apart from the second line on: these two were not at work at once. */
TEST(a_launch_of_one_phase_ends_before_the_next_one) {
  ck_assert_int_eq(convert(HEADER "0,a,0,0,prefetch,,0,5,100\n"
                                  "1,a,0,0,compute,,0,3,80\n",
                           all_of(PREM_TRACE_PERFETTO)),
                   PREM_OK);
  decode();
  ck_assert_ptr_nonnull(strstr(trace.text, "5 begin block 0|a prefetch|tile=0"));
  ck_assert_ptr_nonnull(strstr(trace.text, "103 begin block 0|a compute|tile=0|run=1"));
}

TEST(hyperperiods_of_one_launch_keep_their_times) {
  ck_assert_int_eq(convert(HEADER "0,a,0,0,prefetch,0,0,0,100\n"
                                  "1,a,0,0,prefetch,200,0,200,300\n"
                                  "0,a,1,1,writeback,200,0,210,290\n",
                           all_of(PREM_TRACE_PERFETTO)),
                   PREM_OK);
  decode();
  ck_assert_ptr_nonnull(strstr(trace.text, "200 begin block 0|a prefetch|tile=0|run=1\n300 end"));
  ck_assert_ptr_nonnull(strstr(trace.text, "210 begin block 1|a writeback|tile=1|run=0\n290 end"));
}

/* ---- CSV, and what is chosen ---------------------------------------------------------------- */

GROUP("csv", .set_up = set_up, .tear_down = tear_down);

TEST(csv_comes_out_as_it_went_in) {
  const char text[] = HEADER "0,\"edge, \"\"fast\"\"\",0,0,prefetch,0,0,0,1900\n"
                             "1,b,1,1,writeback,,4,5,6\n";
  ck_assert_int_eq(convert(text, all_of(PREM_TRACE_CSV)), PREM_OK);
  ck_assert_str_eq(written, text);
}

TEST(a_run_and_a_task_are_chosen) {
  const char text[] = HEADER "0,a,0,0,prefetch,0,0,0,1\n0,b,0,0,prefetch,0,0,2,3\n"
                             "1,a,0,0,prefetch,0,0,0,1\n1,b,0,0,prefetch,0,0,2,4\n";
  prem_trace_options options = {.format = PREM_TRACE_CSV, .run = 1, .task = "b"};
  ck_assert_int_eq(convert(text, options), PREM_OK);
  ck_assert_str_eq(written, HEADER "1,b,0,0,prefetch,0,0,2,4\n");
  options.task = "c";
  ck_assert_int_eq(convert(text, options), PREM_ERR_INVALID);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "of task 'c' of run 1"));
}

TEST(a_trace_of_nothing_is_one) {
  ck_assert_int_eq(convert(HEADER, all_of(PREM_TRACE_PERFETTO)), PREM_OK);
  decode();
  ck_assert_int_eq(trace.begin_count, 0);
  ck_assert_int_eq(convert(HEADER, all_of(PREM_TRACE_CSV)), PREM_OK);
  ck_assert_str_eq(written, HEADER);
}

/* ---- broken input --------------------------------------------------------------------------- */

#define LONG_63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

static const struct {
  const char *text;
  int line;
  const char *reason;
} broken[] = {
    {"", 1, "empty"},
    {"run,task\n", 1, "not the header"},
    {JOBS_HEADER "0,a,0,0,prefetch,0,0,0,10\n", 2, "9 fields where the header has 10"},
    {JOBS_HEADER "0,a,0,0,prefetch,0,0,0,10,\n", 2, "job: '' is not an integer"},
    {JOBS_HEADER "0,a,0,0,prefetch,0,0,0,10,-1\n", 2, "job: -1 is not from 0"},
    {NEW_HEADER "0,a,0,0,prefetch,0,0,0,10,0\n", 2, "10 fields where the header has 11"},
    {NEW_HEADER "0,a,0,0,prefetch,0,0,0,10,0,-1\n", 2, "issue_ns: -1 is not from 0"},
    {NEW_HEADER "0,a,0,0,prefetch,0,0,0,10,0,4294967296\n", 2, "issue_ns: 4294967296 is not"},
    {HEADER "0,a,0,0,prefetch,0,0,0,10\n0,a,0,1,pref", 3, "cut short"},
    {HEADER "0,a,0,0,prefetch,0,0,0\n", 2, "8 fields where the header has 9"},
    {"\n" HEADER, 1, "not the header"},
    {HEADER "\n0,a,0,0,prefetch,0,0,0,10\n", 2, "1 fields where the header has 9"},
    {HEADER "0,a,0,0,fetch,0,0,0,10\n", 2, "'fetch' is none of"},
    {HEADER "0,a,0,0,prefetch,0,0,x1,10\n", 2, "start_ns: 'x1' is not an integer"},
    {HEADER "0,a,0,0,prefetch,0,0,,10\n", 2, "start_ns: '' is not an integer"},
    {HEADER "0,a,0,0,prefetch,0,0,99999999999999999999,10\n", 2, "is not an integer"},
    {HEADER "0,a,-1,0,prefetch,0,0,0,10\n", 2, "block: -1 is not from 0"},
    {HEADER "0,a,70000,0,prefetch,0,0,0,10\n", 2, "block: 70000 is not from 0"},
    {HEADER "0,a,0,0,prefetch,0,0,20,10\n", 2, "end_ns 10 is before start_ns 20"},
    {HEADER "0,,0,0,prefetch,0,0,0,10\n", 2, "task: ''"},
    {HEADER "0,\"a,0,0,prefetch,0,0,0,10\n", 2, "quoted"},
    {HEADER "0,ab\x1b,0,0,prefetch,0,0,0,10\n", 2, "has U+001B at offset 2, which no name has"},
    {HEADER "0,a,65536,0,prefetch,0,0,0,10\n", 2, "block: 65536 is not from 0 to 65535"},
    {HEADER "0," LONG_63 "x,0,0,prefetch,0,0,0,10\n", 2, "is no name of 1 to 63 bytes"},
    {HEADER "0,a,0,0,prefetch,0,0,50,60\n0,a,1,0,prefetch,0,0,40,45\n", 3, "not in order"},
};

TESTS(broken_input_is_refused_at_its_line, sizeof broken / sizeof broken[0]) {
  ck_assert_int_eq(convert(broken[_i].text, all_of(PREM_TRACE_PERFETTO)), PREM_ERR_PARSE);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  const prem_problem *problem = prem_diag_at(diag, 0);
  ck_assert_str_eq(problem->file, "t.csv");
  ck_assert_int_eq(problem->line, broken[_i].line);
  ck_assert_msg(strstr(problem->reason, broken[_i].reason) != NULL, "%s", problem->reason);
}

TEST(limits_themselves_are_legal) {
  const char *line = "0," LONG_63 ",65535,2147483647,prefetch,,4611686018427387904,"
                     "4611686018427387904,4611686018427387904\n";
  char text[512];
  snprintf(text, sizeof text, "%s%s", HEADER, line);
  ck_assert_int_eq(convert(text, all_of(PREM_TRACE_CSV)), PREM_OK);
  ck_assert_str_eq(written, text);
}

GROUP("perfetto");

/* So many phases of a block at once have a track each; of more it is said where. */
TEST(no_more_than_64_phases_at_once) {
  char text[8192];
  for (int count = 64; count <= 65; ++count) {
    size_t used = (size_t)sprintf(text, HEADER);
    for (int i = 0; i < count; ++i)
      used += (size_t)sprintf(text + used, "0,a,3,%d,prefetch,,0,%d,100\n", i, i);
    const prem_status status = convert(text, all_of(PREM_TRACE_PERFETTO));
    ck_assert_int_eq(status, count == 64 ? PREM_OK : PREM_ERR_PARSE);
    if (count == 64) {
      decode();
      ck_assert_int_eq(trace.begin_count, 64);
    }
  }
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_int_eq(prem_diag_at(diag, 0)->line, 66);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "more than 64 phases of block 3 at once");
}

/* Where one ends as another starts they share a track. */
TEST(a_track_is_free_when_its_phase_ends) {
  static const char *const lines[] = {"0,a,0,0,prefetch,,0,0,10\n", "0,a,0,1,prefetch,,0,10,20\n",
                                      "0,a,0,2,prefetch,,0,19,30\n"};
  int tracks[3];
  char text[512] = HEADER;
  for (int i = 0; i < 3; ++i) {
    strcat(text, lines[i]);
    ck_assert_int_eq(convert(text, all_of(PREM_TRACE_PERFETTO)), PREM_OK);
    decode();
    ck_assert_int_eq(trace.begin_count, i + 1);
    tracks[i] = trace.track_count;
  }
  ck_assert_int_eq(tracks[1], tracks[0]);
  ck_assert_int_eq(tracks[2], tracks[1] + 1);
}

/* The table of names grows: each line keeps the name of its task, whether it is new or not. */
TEST(three_hundred_tasks_keep_their_names) {
  enum { TASKS = 300, ROUNDS_OF_ALL = 3, LINES = TASKS * ROUNDS_OF_ALL };
  char *text = malloc(LINES * 64 + sizeof HEADER);
  char *at = text + sprintf(text, HEADER);
  for (int i = 0; i < LINES; ++i)
    at += sprintf(at, "0,task_%d,%d,0,prefetch,,%d,%d,%d\n", i % TASKS, i % 4, 10 * i, 10 * i,
                  10 * i + 5);
  ck_assert_int_eq(convert(text, all_of(PREM_TRACE_PERFETTO)), PREM_OK);
  free(text);
  span from = {(const uint8_t *)written, (const uint8_t *)written + written_bytes};
  int begun = 0;
  bool first = true;
  memset(&trace, 0, sizeof trace);
  for (field packet; next_field(&from, &packet); first = false) {
    trace.text[0] = '\0';
    const int before = trace.begin_count;
    read_packet(&packet, first);
    if (trace.begin_count == before)
      continue;
    char name[40];
    snprintf(name, sizeof name, "|task_%d", begun++ % TASKS);
    const char *found = strstr(trace.text, name);
    ck_assert_msg(found && !strchr("0123456789", found[strlen(name)]), "%s: %s", name, trace.text);
  }
  ck_assert_int_eq(begun, LINES);
}

TEST(a_long_trace_is_whole) {
  enum { RECORDS = 100000, LINE = 80 };
  FREED char *text = malloc((RECORDS + 2) * LINE);
  char *at = text + sprintf(text, HEADER);
  for (int i = 0; i < RECORDS; ++i)
    at += sprintf(at, "0,a,%d,%d,prefetch,%d,%d,%d,%d\n", i % 5, i, i * 10, i * 10, i * 10,
                  i * 10 + 50);
  ck_assert_int_eq(convert(text, all_of(PREM_TRACE_PERFETTO)), PREM_OK);
  span from = {(const uint8_t *)written, (const uint8_t *)written + written_bytes};
  int events = 0;
  for (field packet, part; next_field(&from, &packet);)
    for (span in = inside(&packet); next_field(&in, &part);)
      events += part.number == 11;
  ck_assert_int_eq(events, 3 * RECORDS);
}
