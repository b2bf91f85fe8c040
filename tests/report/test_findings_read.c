/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that were written, read again. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "ttprem/findings.h"

#include "tests/common/folder.h"
#include "tests/common/suite.h"

static prem_diag *diag;

static void prepare(void) {
  make_folder();
  diag = prem_diag_new();
}

static void clear(void) {
  remove_folder();
  prem_diag_free(diag);
}

static prem_findings *some_findings(void) {
  prem_findings *findings = prem_findings_new("some", "Some findings", "Are there any?");
  prem_findings_verdict(findings, "There are %d %%.", 3);
  prem_findings_note(findings, "100 %% of them are made up.");
  prem_findings_output(findings, true);
  prem_findings_promise(findings, false);
  prem_table *table = prem_findings_table(findings, "numbers", "Numbers", NULL);
  prem_table_column(table, "who", "");
  prem_table_column(table, "x", "ns");
  prem_table_column(table, "y", "%");
  for (int i = 0; i < 3; ++i) {
    prem_table_add_text(table, i == 1 ? "b" : "a");
    prem_table_add_int(table, (int64_t)i << 40);
    prem_table_add_real(table, i == 2 ? (double)NAN : 0.1 * i);
  }
  prem_table *other = prem_findings_table(findings, "other", "Of others", "a thesis");
  prem_table_column(other, "x", "");
  prem_table_add_int(other, 7);
  const prem_chart chart = {.kind = PREM_CHART_LINES,
                            .title = "A chart",
                            .table = "numbers",
                            .x = "x",
                            .y = "y",
                            .series = "who",
                            .log_y = true};
  prem_findings_chart(findings, &chart);
  return findings;
}

GROUP("findings_read", .set_up = prepare, .tear_down = clear);

/* From its tables on, a file holds what was found and nothing of when. */
TEST(nothing_is_lost) {
  const prem_machine machine = {.name = "any"};
  const char *first = in_folder("first.json"), *second = in_folder("second.json");
  OWNED(prem_findings) *written = some_findings(), *read = NULL;
  ck_assert_int_eq(prem_findings_write(written, &machine, "test", first, diag), PREM_OK);
  ck_assert_int_eq(prem_findings_read(first, &read, diag), PREM_OK);
  ck_assert_int_eq(prem_findings_write(read, &machine, "test", second, diag), PREM_OK);
  FREED char *one = content_of(first), *two = content_of(second);
  ck_assert_str_eq(strstr(one, "\"tables\""), strstr(two, "\"tables\""));
  *strstr(one, "\"provenance\"") = *strstr(two, "\"provenance\"") = '\0';
  ck_assert_str_eq(one, two);
}

static const struct {
  const char *bytes;
  prem_status status;
} broken[] = {
    {"", PREM_ERR_PARSE},
    {"[]", PREM_ERR_PARSE},
    {"{\"schema\": \"ttprem.result/1\"}", PREM_ERR_PARSE},
    {"{\"schema\": \"ttprem.findings/2\", \"name\": \"a\", \"title\": \"\", \"question\": \"\"}",
     PREM_ERR_PARSE},
    {"{\"schema\": \"ttprem.findings/1\", \"name\": \"a\"}", PREM_ERR_PARSE},
    {"{\"schema\": \"ttprem.findings/1\", \"name\": \"a\", \"title\": \"\", \"question\": \"\","
     " \"tables\": [{\"name\": \"t\", \"title\": \"\", \"columns\": [{\"name\": \"x\", \"unit\": "
     "\"\"}], \"rows\": [[1, 2]]}]}",
     PREM_ERR_PARSE},
    {"{\"schema\": \"ttprem.findings/1\", \"name\": \"a\", \"title\": \"\", \"question\": \"\","
     " \"charts\": [{\"kind\": \"pie\", \"title\": \"\", \"table\": \"t\", \"x\": \"x\", \"y\": "
     "\"x\"}]}",
     PREM_ERR_PARSE},
    {"{\"schema\": \"ttprem.findings/1\", \"name\": \"a\", \"title\": \"\", \"question\": \"\","
     " \"charts\": [{\"kind\": \"bars\", \"title\": \"\", \"table\": \"t\", \"x\": \"x\", \"y\": "
     "\"x\"}]}",
     PREM_ERR_ARGUMENT}, /* of a table that is not there */
};

TESTS(what_is_broken_is_refused, sizeof broken / sizeof *broken) {
  const char *path = put("first.json", broken[_i].bytes);
  prem_findings *read = NULL;
  ck_assert_int_eq(prem_findings_read(path, &read, diag), broken[_i].status);
  ck_assert_ptr_null(read);
  ck_assert_uint_gt(prem_diag_errors(diag), 0);
}

TEST(a_file_cut_anywhere_is_refused) {
  const prem_machine machine = {.name = "any"};
  const char *path = in_folder("first.json");
  OWNED(prem_findings) *written = some_findings();
  ck_assert_int_eq(prem_findings_write(written, &machine, "test", path, diag), PREM_OK);
  FREED char *whole = content_of(path);
  for (size_t length = strlen(whole) - 3; length > 0; length /= 2) {
    whole[length] = '\0';
    put("first.json", whole);
    prem_findings *read = NULL;
    ck_assert_int_eq(prem_findings_read(path, &read, diag), PREM_ERR_PARSE);
    ck_assert_ptr_null(read);
  }
}

TEST(no_file_no_findings) {
  const char *path = in_folder("second.json");
  prem_findings *read = NULL;
  ck_assert_int_eq(prem_findings_read(path, &read, diag), PREM_ERR_IO);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
}
