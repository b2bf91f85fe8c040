/* Load a schedule with the installed library; print its name. */
#include <stdio.h>

#include <ttprem/ttprem.h>

int main(int argc, char **argv) {
  prem_schedule *schedule = NULL;
  if (argc != 2 || prem_schedule_load(argv[1], NULL, &schedule, NULL) != PREM_OK)
    return 1;
  printf("%s %s\n", prem_version(), schedule->name);
  prem_schedule_free(schedule);
  return 0;
}
