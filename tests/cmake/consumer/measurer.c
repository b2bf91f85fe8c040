/* Sum up a handful of numbers with the installed measuring library, and check a schedule's name
 * beside it; print what consumer.c prints. */
#include <stdio.h>

#include <ttprem/ttprem.h>
#include <ttprem/ttprem_measure.h>

int main(int argc, char **argv) {
  prem_schedule *schedule = NULL;
  int64_t times_ns[] = {30, 10, 20};
  prem_summary summary;
  prem_summarise(times_ns, 3, &summary);
  if (argc != 2 || summary.max != 30 ||
      prem_schedule_load(argv[1], NULL, &schedule, NULL) != PREM_OK)
    return 1;
  printf("%s %s\n", prem_version(), schedule->name);
  prem_schedule_free(schedule);
  return 0;
}
