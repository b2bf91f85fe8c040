/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem doctor: what disturbs runs on this machine, and the command against it. It only reads. */
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

typedef enum verdict { OK, DISTURBS, UNKNOWN } verdict;

enum { CAP_LOCK = 14, CAP_NICE = 23 }; /* bits of CapEff: CAP_IPC_LOCK, CAP_SYS_NICE */

typedef struct doctor {
  const char *root; /* where /proc and /sys are: "" on this machine */
  int items, disturbing;
  uint64_t capabilities;
} doctor;

typedef struct line_text {
  char text[256];
} line_text;

/* ---- what is said ---------------------------------------------------------------------------- */

PREM_PRINTF(5, 6)
static void say(doctor *d, verdict found, const char *item, const char *remedy, const char *format,
                ...) {
  static const char *const words[] = {"ok", "disturbs", "unknown"};
  char head[64], text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  snprintf(head, sizeof head, "%-8s  %-18s  ", words[found], item);
  command_print_wrapped(head, text);
  if (found == DISTURBS)
    printf("    do: %s\n", remedy); /* a command stays on one line of 80 columns */
  ++d->items;
  d->disturbing += found == DISTURBS;
}

/* ---- what is read ---------------------------------------------------------------------------- */

static FILE *open_fact(const doctor *d, const char *path) {
  char whole[4096];
  snprintf(whole, sizeof whole, "%s%s", d->root, path);
  return fopen(whole, "r");
}

/* The first line of a file that begins with `head`, without it and its end; "" where there is none.
 */
static line_text fact(const doctor *d, const char *path, const char *head) {
  line_text line = {""};
  FILE *file = open_fact(d, path);
  char *read = NULL;
  size_t room = 0;
  while (file && getline(&read, &room, file) > 0)
    if (!strncmp(read, head, strlen(head))) {
      const char *from = read + strlen(head);
      from += strspn(from, " \t:");
      snprintf(line.text, sizeof line.text, "%.*s", (int)strcspn(from, "\n"), from);
      break;
    }
  free(read);
  if (file)
    fclose(file);
  return line;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void judge_governor(doctor *d) {
  char pattern[4096];
  glob_t found = {0};
  line_text other = {""};
  size_t slow = 0;
  snprintf(pattern, sizeof pattern, "%s/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
           d->root);
  glob(pattern, 0, NULL, &found);
  const size_t count = found.gl_pathc;
  for (size_t i = 0; i < count; ++i) {
    const line_text governor = fact(d, found.gl_pathv[i] + strlen(d->root), "");
    if (!strcmp(governor.text, "performance"))
      continue;
    other = governor;
    ++slow;
  }
  globfree(&found);
  if (count == 0)
    say(d, UNKNOWN, "frequency", "", "this kernel does not set it (no cpufreq)");
  else if (slow == 0)
    say(d, OK, "frequency", "", "governor 'performance' on all cores");
  else
    say(d, DISTURBS, "frequency", "sudo cpupower frequency-set -g performance",
        "governor '%s' on %zu of %zu cores: they get slower while they wait", other.text, slow,
        count);
}

/* The upper half of the cores that are there: "1", "2-3", "8-15". */
static line_text cores_to_isolate(const doctor *d) {
  const line_text online = fact(d, "/sys/devices/system/cpu/online", "");
  const char *last_at = online.text + strlen(online.text);
  while (last_at > online.text && strchr("0123456789", last_at[-1]))
    --last_at;
  const long last = strtol(last_at, NULL, 10), first = (last + 1) / 2;
  line_text cores;
  snprintf(cores.text, sizeof cores.text, first < last ? "%ld-%ld" : "%ld", last > 0 ? first : 1,
           last);
  return cores;
}

static void judge_isolation(doctor *d) {
  static const char path[] = "/sys/devices/system/cpu/isolated";
  FILE *there = open_fact(d, path);
  const line_text cores = fact(d, path, "");
  if (!there)
    say(d, UNKNOWN, "isolated cores", "", "this kernel does not say");
  else if (*cores.text)
    say(d, OK, "isolated cores", "", "%s; use them with `--cores %s`", cores.text, cores.text);
  else {
    const line_text free = cores_to_isolate(d);
    char remedy[1024];
    snprintf(remedy, sizeof remedy, "boot with isolcpus=%s nohz_full=%s, then run with --cores %s",
             free.text, free.text, free.text);
    say(d, DISTURBS, "isolated cores", remedy, "none: the kernel puts other work on every core");
  }
  if (there)
    fclose(there);
}

static void judge_siblings(doctor *d) {
  const line_text active = fact(d, "/sys/devices/system/cpu/smt/active", "");
  if (!*active.text)
    say(d, UNKNOWN, "hyper-threads", "", "this kernel does not say");
  else if (strcmp(active.text, "0"))
    say(d, DISTURBS, "hyper-threads", "echo off | sudo tee /sys/devices/system/cpu/smt/control",
        "on: two threads share the units of a core");
  else
    say(d, OK, "hyper-threads", "", "none");
}

/* Those that could run now, this process among them. */
static void judge_load(doctor *d) {
  double minute = 0;
  int runnable = 0;
  const line_text load = fact(d, "/proc/loadavg", "");
  if (sscanf(load.text, "%lf %*f %*f %d/", &minute, &runnable) != 2)
    say(d, UNKNOWN, "other load", "", "/proc/loadavg cannot be read");
  else if (runnable > 1 || minute >= 0.5)
    say(d, DISTURBS, "other load", "top -o %CPU    # and stop what need not run",
        "%d threads of others want a core now; %.2f in the last minute", runnable - 1, minute);
  else
    say(d, OK, "other load", "", "%.2f threads in the last minute", minute);
}

static void judge_hypervisor(doctor *d) {
  const line_text flags = fact(d, "/proc/cpuinfo", "flags");
  const bool is_virtual = strlen(fact(d, "/sys/hypervisor/type", "").text) > 0;
  FILE *file = open_fact(d, "/proc/cpuinfo");
  char *read = NULL;
  size_t room = 0;
  bool flagged = is_virtual;
  while (file && !flagged && getline(&read, &room, file) > 0)
    flagged = !strncmp(read, "flags", 5) && strstr(read, " hypervisor");
  free(read);
  if (file)
    fclose(file);
  if (flagged)
    say(d, DISTURBS, "virtual machine", "run on the machine itself, or pin the virtual cores",
        "yes: its host may take a core away unseen");
  else if (*flags.text)
    say(d, OK, "virtual machine", "", "no");
  else
    say(d, UNKNOWN, "virtual machine", "", "this processor does not say");
}

static void judge_clock(doctor *d) {
  const line_text clock =
      fact(d, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "");
  if (!*clock.text)
    say(d, UNKNOWN, "clock", "", "this kernel does not say");
  else if (!strcmp(clock.text, "hpet") || !strcmp(clock.text, "acpi_pm") ||
           !strcmp(clock.text, "jiffies") || !strcmp(clock.text, "xen"))
    say(d, DISTURBS, "clock", "dmesg | grep -i -e tsc -e clocksource    # why not the processor's",
        "'%s': each look at it asks the kernel", clock.text);
  else
    say(d, OK, "clock", "", "'%s'", clock.text);
}

/* ---- what this process may do ---------------------------------------------------------------- */

static bool may(const doctor *d, int capability) {
  return d->capabilities >> capability & 1U;
}

static void judge_fifo(doctor *d) {
  const line_text limit = fact(d, "/proc/self/limits", "Max realtime priority");
  const line_text runtime = fact(d, "/proc/sys/kernel/sched_rt_runtime_us", "");
  if (!*limit.text && !may(d, CAP_NICE))
    say(d, UNKNOWN, "real-time priority", "", "/proc/self/limits cannot be read");
  else if (may(d, CAP_NICE) || strtol(limit.text, NULL, 10) > 0)
    say(d, OK, "real-time priority", "", "allowed; use it with `--fifo PRIORITY`");
  else
    say(d, DISTURBS, "real-time priority",
        "echo \"$USER - rtprio 99\" | sudo tee -a /etc/security/limits.conf",
        "not allowed (`ulimit -r` is 0): --fifo would be refused; the remedy counts from the next "
        "login");
  if (!*runtime.text)
    say(d, UNKNOWN, "real-time share", "", "this kernel does not say");
  else if (!strncmp(runtime.text, "-1", 2))
    say(d, OK, "real-time share", "", "no limit");
  else
    say(d, DISTURBS, "real-time share", "sudo sysctl kernel.sched_rt_runtime_us=-1",
        "with --fifo, the kernel stops threads that spin for more than %s us of a second",
        runtime.text);
}

static void judge_memory(doctor *d) {
  const line_text limit = fact(d, "/proc/self/limits", "Max locked memory");
  if (may(d, CAP_LOCK) || !strncmp(limit.text, "unlimited", 9))
    say(d, OK, "locked memory", "", "no limit; use it with `--lock-memory`");
  else if (!*limit.text)
    say(d, UNKNOWN, "locked memory", "", "/proc/self/limits cannot be read");
  else
    say(d, DISTURBS, "locked memory",
        "echo \"$USER - memlock unlimited\" | sudo tee -a /etc/security/limits.conf",
        "at most %ld KiB (`ulimit -l`): pages may be taken away, --lock-memory may be refused; the "
        "remedy counts from the next login",
        strtol(limit.text, NULL, 10) / 1024);
  static const char huge[] = "/sys/kernel/mm/transparent_hugepage/enabled";
  const line_text pages = fact(d, huge, "");
  if (!*pages.text)
    say(d, UNKNOWN, "huge pages", "", "this kernel does not say");
  else if (strstr(pages.text, "[always]"))
    say(d, DISTURBS, "huge pages",
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        "transparent ones, for all memory: the kernel moves pages together while tasks run");
  else
    say(d, OK, "huge pages", "", "for memory that asks for them, or none");
}

static void judge_slack(doctor *d) {
  const line_text slack = fact(d, "/proc/self/timerslack_ns", "");
  const int64_t ns = strtoll(slack.text, NULL, 10);
  if (!*slack.text)
    say(d, UNKNOWN, "timer slack", "", "this kernel does not say");
  else if (ns > 1000)
    say(d, DISTURBS, "timer slack",
        "echo 1 >/proc/$$/timerslack_ns    # in the shell that runs ttprem",
        "sleeps of live sessions end up to %" PRId64 " us late", ns / 1000);
  else
    say(d, OK, "timer slack", "", "%" PRId64 " ns", ns);
}

/* ---- the GPU --------------------------------------------------------------------------------- */

/* The first line that nvidia-smi answers; how many lines there are, -1 where it fails. */
static int ask_gpu(const char *question, line_text *first) {
  char command[256], line[256];
  int lines = 0;
  *first = (line_text){""};
  snprintf(command, sizeof command, "nvidia-smi -i 0 %s --format=csv,noheader 2>/dev/null",
           question);
  FILE *answer = popen(command, "r");
  if (!answer)
    return -1;
  while (fgets(line, sizeof line, answer))
    if (lines++ == 0)
      snprintf(first->text, sizeof first->text, "%.*s", (int)strcspn(line, "\n"), line);
  return pclose(answer) == 0 ? lines : -1;
}

static void judge_gpu(doctor *d) {
  line_text mode, display, process;
  if (ask_gpu("--query-gpu=persistence_mode", &mode) < 0) {
    if (prem_backend_find("cuda"))
      say(d, UNKNOWN, "GPU", "", "there is no nvidia-smi that answers");
    return;
  }
  if (strcmp(mode.text, "Enabled"))
    say(d, DISTURBS, "GPU persistence", "sudo nvidia-smi -i 0 -pm 1",
        "off: the first launch starts the GPU, its clocks begin low");
  else
    say(d, OK, "GPU persistence", "", "on");
  const int processes = ask_gpu("--query-compute-apps=pid,process_name", &process);
  if (processes > 0)
    say(d, DISTURBS, "GPU neighbours", "stop them, or take another GPU by CUDA_VISIBLE_DEVICES",
        "%d that compute, such as process %s", processes, process.text);
  else
    say(d, processes ? UNKNOWN : OK, "GPU neighbours", "", "%s",
        processes ? "nvidia-smi does not say" : "no other process computes");
  if (ask_gpu("--query-gpu=display_active", &display) == 1 && !strcmp(display.text, "Enabled"))
    say(d, DISTURBS, "GPU display",
        "take another GPU for the screen, or sudo systemctl isolate multi-user",
        "a screen is drawn by this GPU");
}

/* ---- the verb -------------------------------------------------------------------------------- */

static error_t parse(int key, char *text, struct argp_state *state) {
  doctor *d = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = NULL;
    return 0;
  case OPTION_ROOT:
    d->root = text;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    .options = command_options[OPTIONS_DOCTOR],
    .parser = parse,
    .children = command_common_children,
    .doc = "Tell what on this machine disturbs runs on backend cpu, and on a GPU where nvidia-smi "
           "is there: a line for each thing, ok, disturbs or unknown, and the command against what "
           "disturbs. Nothing is changed.\v" COMMAND_EXIT_DOC,
};

int verb_doctor(int argc, char **argv) {
  doctor d = {.root = ""};
  command_parse(&argp, argc, argv, &d);
  d.capabilities = strtoull(fact(&d, "/proc/self/status", "CapEff").text, NULL, 16);
  judge_load(&d);
  judge_governor(&d);
  judge_isolation(&d);
  judge_siblings(&d);
  judge_hypervisor(&d);
  judge_clock(&d);
  judge_fifo(&d);
  judge_memory(&d);
  judge_slack(&d);
  judge_gpu(&d);
  printf("\n%d of %d disturb. Backend sim has a clock of its own and feels none of them.\n",
         d.disturbing, d.items);
  return COMMAND_DONE;
}
