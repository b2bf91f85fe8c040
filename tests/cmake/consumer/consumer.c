/* Load a schedule with the installed library and see that a backend can run it; print its name. */
#include <stdio.h>

#include <ttprem/ttprem.h>

int main(int argc, char **argv) {
  prem_schedule *schedule = NULL;
  prem_machine machine;
  if (argc != 2 || prem_schedule_load(argv[1], NULL, &schedule, NULL) != PREM_OK ||
      prem_backend_probe(prem_backend_find("sim"), &machine, NULL) != PREM_OK)
    return 1;
  printf("%s %s\n", prem_version(), schedule->name);
  prem_schedule_free(schedule);
  return 0;
}
