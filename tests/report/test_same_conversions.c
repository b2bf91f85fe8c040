/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of which every line is drawn, with names, ends and faults of all kinds, come out in each
 * form, or are refused, as they were, to the last byte (see tests/common/golden.h): others show
 * that it is right.
 */
#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "ttprem/trace_file.h"

enum { TRACES = 360, NAMES = 400 };

static uint64_t state;

static int32_t draw(int32_t low, int32_t high) {
  return planted_between(&state, low, high);
}

static bool chance(int32_t of) {
  return draw(1, of) == 1;
}

/* ---- lines ---------------------------------------------------------------------------------- */

typedef struct drawn_trace {
  int32_t tasks, blocks, launches, lines, fault_at; /* line; below 0: none */
  int64_t step_ns, length_ns;
  bool is_one_kind, returns; /* ends with CR LF */
} drawn_trace;

/* As a file has it: with quotes where it needs them. */
static const char *drawn_name(int32_t number) {
  static const char *const odd[] = {"\"a,b\"", "\"q\"\"\"", "\"'=sum\"",
                                    "x",       "\303\244",  "\"'-x\""};
  if (number < 6)
    return odd[number];
  return text("task%" PRId32, number);
}

/* One of the things that no trace has, or hardly any. */
static void print_fault(FILE *file) {
  static const char largest[] = "0,x,65535,2147483647,compute,0,4611686018427387904,"
                                "4611686018427387904,4611686018427387904\n";
  static const char *const faults[] = {
      "\n",
      "\r\n",
      ",\n",
      "0,x,0,0,compute,,0,0\n",
      "0,x,0,0,compute,,0,0,0,0\n",
      "0,,0,0,compute,,0,0,0\n",
      "0,\"x,0,0,compute,,0,0,0\n",
      "0,\"x\"y,0,0,compute,,0,0,0\n",
      "0,\"x\"\"\",0,0,compute,,4611686018427387904,4611686018427387904,4611686018427387904\n",
      largest,
      "0,x,65536,0,compute,,0,0,0\n",
      "0,x,0,2147483648,compute,,0,0,0\n",
      "4611686018427387905,x,0,0,compute,,0,0,0\n",
      "0,x,0,0,compute,4611686018427387905,0,0,0\n",
      "0,x,0,0,compute,,0,0,9223372036854775807\n",
      "0,x,0,0,compute,,0,0,9223372036854775808\n",
      "0,x,0,0,compute,,0,0,99999999999999999999999999999999999999999999999999\n",
      "-0,x,0,0,compute,,0,0,0\n",
      "0,x,-1,0,compute,,0,0,0\n",
      "0,x,0,-1,compute,,0,0,0\n",
      "0,x,0,0,compute,-,0,0,0\n",
      "0,x,0,0,compute,,,0,0\n",
      "0,x,0,0,compute,,0,1,0\n",
      "0,x,0,0,compute,,5,0,0\n",
      "0,x,0,0,computes,,0,0,0\n",
      "0,x,0,0,,,0,0,0\n",
      "0,x\001,0,0,compute,,0,0,0\n",
      "0,\"x\t\",0,0,compute,,0,0,0\n",
      "0,\"\",0,0,compute,,0,0,0\n",
      "0, x,0,0,compute,,0,0,0\n",
      "0,x,0 ,0,compute,,0,0,0\n",
      "0,x,0x1,0,compute,,0,0,0\n",
      "0,x,1.5,0,compute,,0,0,0\n",
      "0,'=x,0,0,compute,,0,0,0\n",
      "0,\"'x\",0,0,compute,,0,0,0\n",
      "run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns\n",
  };
  const int32_t count = (int32_t)(sizeof faults / sizeof *faults), number = draw(0, count + 3);
  if (number < count)
    fputs(faults[number], file);
  else if (number < count + 2) /* the longest name, and one letter more */
    fprintf(file, "0,%0*d,0,0,compute,,0,0,0\n", PREM_NAME_BYTES - 1 + number - count, 1);
  else if (number == count + 2) { /* a zero byte */
    fputs("0,x", file);
    fputc(0, file);
    fputs(",0,0,compute,,0,0,0\n", file);
  } else
    fprintf(file, "0,x,0,0,compute,,0,0,%0*d\n", draw(38, 45), 7);
}

static void print_lines(FILE *file, const drawn_trace *of, int64_t run, int32_t count,
                        int32_t *line) {
  int64_t start_ns = draw(0, 3) * of->step_ns;
  for (int32_t i = 0; i < count; ++i, ++*line) {
    if (*line == of->fault_at)
      print_fault(file);
    const char *name = drawn_name(draw(0, of->tasks - 1));
    const int32_t block = draw(0, of->blocks - 1), tile = draw(0, 300);
    const int phase = of->is_one_kind ? PREM_COMPUTE : draw(0, PREM_PHASE_COUNT - 1);
    const int64_t ready_ns = start_ns - draw(0, 2) * of->step_ns / 2;
    fprintf(file, "%" PRId64 ",%s,%" PRId32 ",%" PRId32 ",%s,", run, name, block, tile,
            prem_phase_name((prem_phase)phase));
    if (!chance(3) && start_ns >= 2 * of->step_ns)
      fprintf(file, "%" PRId64, start_ns - draw(0, 4) * of->step_ns / 2);
    const int64_t end_ns = start_ns + draw(0, 4) * of->length_ns / 2;
    fprintf(file, ",%" PRId64 ",%" PRId64 ",%" PRId64 "%s\n", ready_ns < 0 ? 0 : ready_ns, start_ns,
            end_ns, of->returns ? "\r" : "");
    start_ns += draw(0, 3) * of->step_ns;
  }
}

static void print_header(FILE *file, bool returns) {
  static const char *const odd[] = {
      "",
      "run,task\n",
      "\n",
      "run,task,block,tile,phase,release_ns,ready_ns,start_ns\n",
      "run,task,block,tile,phase,release_ns,ready_ns,start_ns,end\n",
      "Run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns\n"};
  if (chance(60))
    fputs(odd[draw(0, 5)], file);
  else
    fprintf(file, "run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns%s\n",
            returns ? "\r" : "");
}

static FILE *draw_trace(void) {
  static const int64_t steps_ns[] = {1, 7, 1000, 123456789};
  drawn_trace of = {.tasks = chance(4) ? draw(1, NAMES) : draw(1, 7), .blocks = draw(1, 4)};
  of.launches = chance(2) ? 1 : draw(0, 5);
  of.step_ns = steps_ns[draw(0, 3)];
  of.length_ns = of.step_ns * (chance(6) ? 100 : draw(1, 3));
  of.is_one_kind = chance(3);
  of.returns = chance(6);
  of.fault_at = chance(3) ? draw(0, 30) : -1;
  FILE *file = tmpfile();
  ck_assert_ptr_nonnull(file);
  print_header(file, of.returns);
  int32_t line = 0;
  int64_t run = draw(0, 2);
  for (int32_t launch = 0; launch < of.launches; ++launch) {
    const int32_t most = chance(3) ? 1 : chance(5) ? 400 : 12;
    print_lines(file, &of, run, draw(1, most), &line);
    run += chance(8) ? 0 : 1;
  }
  if (chance(15))
    fputs("0,x,0", file); /* cut short */
  return file;
}

/* ---- what is told --------------------------------------------------------------------------- */

static void tell_conversion(FILE *file, FILE *in, const prem_trace_options *options) {
  char *all = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&all, &bytes);
  prem_diag *diag = prem_diag_new();
  rewind(in);
  const prem_status status = prem_trace_convert(in, "t.csv", options, out, diag);
  fclose(out);
  fprintf(file, "\n  %s, %zu bytes %016" PRIx64, prem_status_text(status), bytes,
          golden_sum(GOLDEN_SUM, all, bytes));
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(file, ", %s", line);
  }
  prem_diag_free(diag);
  free(all);
}

static void tell_trace(FILE *file, FILE *in) {
  static const char *const names[] = {"a,b", "q\"", "=sum", "x", "\303\244", "-x", "task6"};
  for (int format = PREM_TRACE_CSV; format <= PREM_TRACE_CHROME; ++format) {
    prem_trace_options options = {.format = (prem_trace_format)format, .run = -1};
    options.late_ns = draw(0, 3) * draw(0, 1000);
    options.shift_ns = chance(3) ? draw(1, 5000) : 0;
    tell_conversion(file, in, &options);
    options.run = chance(2) ? draw(0, 3) : -1;
    options.task = options.run >= 0 && chance(2) ? NULL : names[draw(0, 6)];
    tell_conversion(file, in, &options);
  }
}

START_TEST(of_drawn_lines) {
  enum { WHOLE = 24 };
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  for (int number = 0; number < TRACES; ++number) {
    FILE *file = golden_begin(&lines, number < WHOLE);
    state = (uint64_t)number * 104729 + 7;
    FILE *in = draw_trace();
    fprintf(file, "%d:", number);
    tell_trace(file, in);
    fputc('\n', file);
    fclose(in);
    golden_end(&lines);
  }
  fclose(lines.file);
  golden_judge("conversions.txt", found);
}
END_TEST

/* What a block does at once is looked for in the first 65536 lines. */
START_TEST(of_long_ones) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int i = 0; i < 4; ++i) {
    FILE *in = tmpfile();
    ck_assert_ptr_nonnull(in);
    print_header(in, false);
    const int alone = 65533 + i;
    for (int line = 0; line < alone; ++line)
      fprintf(in, "0,a,1,%d,prefetch,,0,%d,%d\n", line, 4 * line, 4 * line + 2);
    for (int k = 0; k < 2; ++k) {
      const int start_ns = 4 * alone + 8 * k;
      fprintf(in, "0,a,1,0,prefetch,,0,%d,%d\n", start_ns, start_ns + 6);
      fprintf(in, "0,a,1,0,compute,,0,%d,%d\n", start_ns + 1, start_ns + 3);
    }
    fprintf(file, "%d:", alone);
    const prem_trace_options options = {.format = PREM_TRACE_PERFETTO, .run = -1};
    tell_conversion(file, in, &options);
    fputc('\n', file);
    fclose(in);
  }
  fclose(file);
  golden_judge("conversions_long.txt", found);
}
END_TEST

/* ---- the host beside them ------------------------------------------------------------------- */

START_TEST(of_hosts) {
  enum { HOSTS = 60, EVENTS = 40 };
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  prem_schedule *schedule = schedule_from_text(
      "version = 1; name = \"h\"; platform: { blocks = 1; };\n"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; } );\n"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];"
      "  period_ns = 900L; arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 9L; };"
      "  compute: { wcet_ns = 9L; }; writeback: { wcet_ns = 9L; }; } );\n"
      "live: { inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; } ); };\n");
  for (int number = 0; number < HOSTS; ++number) {
    prem_host_event events[EVENTS];
    state = (uint64_t)number * 7919 + 1;
    const int32_t count = draw(0, EVENTS);
    for (int32_t i = 0; i < count; ++i) {
      prem_host_event *event = &events[i];
      *event = (prem_host_event){.deed = (prem_host_deed)draw(0, PREM_HOST_DEEDS - 1)};
      event->stream = draw(0, 1);
      event->frame = (uint64_t)draw(0, 300);
      event->begin_ns = draw(0, 60);
      event->end_ns = event->begin_ns + draw(0, 9);
      event->age_ns = chance(3) ? INT64_MIN : draw(-5, 3000);
      event->lateness_ns = draw(-300, 300);
    }
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    const int64_t zero_ns = draw(0, 20);
    prem_trace_add_host(schedule, events, count, zero_ns, draw(30, 70), out);
    fclose(out);
    fprintf(file, "%d: %zu bytes %016" PRIx64 "\n", number, size,
            golden_sum(GOLDEN_SUM, all, size));
    free(all);
  }
  prem_schedule_free(schedule);
  fclose(file);
  golden_judge("conversions_hosts.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same conversions");
  TCase *cases = tcase_create("lines");
  tcase_set_timeout(cases, 240);
  tcase_add_test(cases, of_drawn_lines);
  suite_add_tcase(suite, cases);
  cases = tcase_create("long");
  tcase_set_timeout(cases, 240);
  tcase_add_test(cases, of_long_ones);
  suite_add_tcase(suite, cases);
  cases = tcase_create("hosts");
  tcase_add_test(cases, of_hosts);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
