/* SPDX-License-Identifier: Apache-2.0 */
/* Send a hundred patches to a server while its schedule runs for a second on the CPU, and say how
 * long they took: errands FILE. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include <ttprem/ttprem.h>

enum { PATCHES = 100, SECOND = 1000 /* hyperperiods */, LOOK = 1 /* the task */ };
static prem_session *session;
static prem_trace *trace;
static prem_status ran;

static void *run(void *diag) {
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = SECOND};
  ran = prem_session_run(session, &request, trace, diag);
  return NULL;
}

/* One that has ended; its room is free again. False: none has for a second. */
static bool collect(int *done, int64_t *longest_ns) {
  prem_errand errand;
  if (prem_errand_collect(session, 1000000000, &errand) != PREM_OK)
    return false;
  prem_errand_release(session, &errand);
  *done += errand.end == PREM_ERRAND_DONE;
  if (errand.end == PREM_ERRAND_DONE && errand.end_ns - errand.arrival_ns > *longest_ns)
    *longest_ns = errand.end_ns - errand.arrival_ns;
  return true;
}

static void send_all(void) {
  int sent = 0, done = 0;
  int64_t longest_ns = 0;
  bool goes_on = true;
  while (sent < PATCHES && goes_on) {
    prem_errand errand;
    prem_errand_view patch;
    if (prem_errand_acquire(session, LOOK, &errand) == PREM_OK) {
      prem_errand_port(session, &errand, "in", &patch);
      ((float *)patch.data)[0] = (float)sent; /* and whatever else it is about */
      sent += prem_errand_send(session, &errand) == PREM_OK;
    } else { /* all rooms are in use */
      goes_on = collect(&done, &longest_ns);
    }
  }
  while (done < sent && collect(&done, &longest_ns)) {
  }
  printf("%d of %d done, the longest took %" PRId64 " us\n", done, sent, longest_ns / 1000);
}

int main(int argc, char **argv) {
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  pthread_t runner;
  const prem_backend *cpu = prem_backend_find("cpu");
  if (argc != 2)
    return puts("usage: errands FILE"), 2;
  prem_status status = prem_schedule_load(argv[1], NULL, &schedule, diag);
  if (status == PREM_OK)
    status = prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag);
  if (status == PREM_OK)
    status = prem_session_open(cpu, schedule, &session, diag);
  if (status == PREM_OK)
    status = prem_session_trace_new(session, SECOND, 0, &trace);
  if (status == PREM_OK && pthread_create(&runner, NULL, run, diag) == 0) {
    send_all();
    pthread_join(runner, NULL);
    status = ran;
  }
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    fprintf(stderr, "%s\n", prem_diag_at(diag, i)->reason);
  prem_trace_free(trace);
  prem_session_close(session);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return status == PREM_OK ? 0 : 1;
}
