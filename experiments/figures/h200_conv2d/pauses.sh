#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pauses of the memory in a trace of mode tt, and the late releases behind them:
# pauses.sh TRACE.csv[.gz] [LATE_NS]
#
# TRACE is of `ttprem run --trace`. The prefetches of a task that are released at one instant are a
# group; how long half of them take is its length. A pause is where groups one after the other take
# more than 1.35 times what half of all groups take; it begins with the release of the first of them.
# Groups that slow from the very start of a launch are cold and no pause. Printed: how many
# pauses, the time from one to the next, how many phases began more than LATE_NS (128) behind their
# release, and of these how many within some us after the beginning of a pause, beside the share of
# all time that this is.
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
if [[ ! ${2-128} =~ ^[0-9]+$ ]]; then
  echo "pauses: LATE_NS is '$2', must be a whole number of ns" >&2
  exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Events, a line each: launch, time, G and a group's length, or L for a late release. A launch is what
# has one time: a run, or the hyperperiods of a resident one, whose times go on.
gzip -cdf "$1" | awk -F, -v late_ns="${2-128}" '
  function half_of(key, count,    i, j, gap, value, sorted) { # how long half of a group take
    for (i = 0; i < count; ++i) sorted[i] = lasted[key, i]
    for (gap = int(count / 2); gap > 0; gap = int(gap / 2))
      for (i = gap; i < count; ++i) {
        value = sorted[i]
        for (j = i; j >= gap && sorted[j - gap] > value; j -= gap) sorted[j] = sorted[j - gap]
        sorted[j] = value
      }
    return sorted[int((count - 1) / 2)]
  }
  function close_run(    i, least, most) {
    for (i = 0; i < groups; ++i) {
      if (i == 0 || released[i] < least) least = released[i]
      if (i == 0 || released[i] > most) most = released[i]
    }
    if (groups && least <= restarts_below) ++launch
    if (groups) restarts_below = least + (most - least) / 2
    for (i = 0; i < groups; ++i)
      printf "%d %.0f G %.0f\n", launch, released[i], half_of(i, size[i])
    for (i = 0; i < lates; ++i) printf "%d %.0f L\n", launch, late[i]
    split("", number); split("", size); split("", lasted)
    groups = lates = 0
  }
  BEGIN { restarts_below = -1 }
  NR == 1 {
    if ($0 !~ /^run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns(,job(,issue_ns)?)?$/) {
      print "pauses: this is no trace of ttprem run --trace: its first line is " $0 >"/dev/stderr"
      failed = 1
      exit 1
    }
    next
  }
  $1 != run { close_run(); run = $1 }
  $6 == "" { next }
  {
    ++releases
    if ($8 - $6 > late_ns) late[lates++] = $8
  }
  $5 == "prefetch" {
    key = $2 "," $6
    if (!(key in number)) { number[key] = groups; released[groups] = $6 + 0; size[groups++] = 0 }
    lasted[number[key], size[number[key]]++] = $9 - $8
  }
  END {
    if (failed) exit 1
    close_run()
    printf "%.0f\n", releases >"'"$scratch"'/releases"
  }' | sort -k1,1n -k2,2n -k3,3 >"$scratch/events"

median() { # of the numbers in a sorted file
  awk '{ value[NR] = $1 } END { print NR ? value[int((NR + 1) / 2)] : 0 }' "$1"
}

awk '$3 == "G" { print $4 }' "$scratch/events" | sort -n >"$scratch/lengths"
if [ ! -s "$scratch/lengths" ]; then
  echo "pauses: $1: no released prefetch in it" >&2
  exit 1
fi
usual_ns=$(median "$scratch/lengths")

awk -v usual="$usual_ns" -v scratch="$scratch" -v releases="$(cat "$scratch/releases")" '
  function close_pause(    i, left) {
    left = (at < next_ns ? at : next_ns) - begin
    for (i = 1; i <= windows && paused; ++i)
      inside[i] += left < window[i] ? left : window[i]
    paused = 0
  }
  function begin_pause() {
    next_ns = $2; close_pause()
    if (pauses_here++) print $2 - begin >(scratch "/intervals")
    ++pauses; paused = 1; begin = $2
  }
  function close_launch() {
    next_ns = at; close_pause()
    watched += at - from
    pauses_here = 0
  }
  BEGIN { windows = split("5000 10000 15000 20000", window, " ") }
  NR == 1 || $1 != launch {
    if (NR > 1) close_launch()
    launch = $1; from = $2; slow = 0; seen = 0
  }
  { at = $2 }
  $3 == "G" {
    slow_before = slow; slow = $4 > 1.35 * usual
    if (slow && !seen) cold = 1
    if (!slow) cold = 0
    seen = 1
    if (slow && cold) ++cold_groups
    else if (slow && !slow_before) begin_pause()
  }
  $3 == "L" {
    ++lates
    for (i = 1; i <= windows; ++i) behind[i] += paused && $2 - begin < window[i]
  }
  END {
    close_launch()
    printf "%.0f groups of prefetches take %.0f ns, half of them; a pause is above %.0f ns\n",
      groups = NR - lates, usual, 1.35 * usual
    if (cold_groups) printf "%.0f groups at the start of a launch are cold and left out\n", cold_groups
    printf "%.0f pauses in %.3f ms\n", pauses, watched / 1e6
    printf "%.0f of %.0f releases are late\n", lates, releases
    printf "%-28s %10s %12s %12s\n", "after a pause begins", "late", "% of late", "% of time"
    for (i = 1; i <= windows; ++i)
      printf "%-28s %10.0f %12s %12.3f\n", "  within " window[i] / 1000 " us", behind[i],
        lates ? sprintf("%.3f", 100 * behind[i] / lates) : "-",
        watched ? 100 * inside[i] / watched : 0
    printf "%-28s %10.0f %12s\n", "  later, or before any", lates - behind[windows],
      lates ? sprintf("%.3f", 100 * (lates - behind[windows]) / lates) : "-"
  }' "$scratch/events" >"$scratch/said"

if [ -s "$scratch/intervals" ]; then
  sort -n "$scratch/intervals" >"$scratch/sorted"
  awk -v middle="$(median "$scratch/sorted")" 'NR == 1 { least = $1 } { longest = $1 }
    END { printf "from one to the next: %.3f us (%.3f to %.3f)\n", middle / 1000, least / 1000,
      longest / 1000 }' "$scratch/sorted" >"$scratch/interval"
else
  echo "from one to the next: nothing to say" >"$scratch/interval"
fi
sed "/ pauses in /r $scratch/interval" "$scratch/said"
