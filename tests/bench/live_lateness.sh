#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does a live session leave a static plan's lateness as it was? The same tasks, in turn as a plan that repeats by
# itself and with a session's task, frames and answers beside them: when did their phases begin, against their releases?
#   live_lateness.sh TTPREM BACKEND STATIC.cfg LIVE.cfg [ROUNDS [TASKS]]     5 rounds; TASKS a pattern, ^conv
# Computes that are chained to their prefetches have no release. Of each run a million phases at most are looked at, and
# its first two hyperperiods are not.
set -euo pipefail
readonly ttprem=$1 backend=$2 fixed=$3 live=$4 rounds=${5:-5} tasks=${6:-^conv}
readonly late_ns=128
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Times of the tasks' phases, as: phase, lateness in ns
latenesses() {
  awk -F, -v tasks="$tasks" 'NR > 1 && $1 >= 2 && $2 ~ tasks && $6 != "" { print $5, $8 - $6 }' "$place/trace.csv"
}

for ((round = 1; round <= rounds; ++round)); do
  timeout 60 "$ttprem" run "$fixed" --backend "$backend" --mode tt --scenario resident --repeat 28 --quiet --trace "$place/trace.csv" >/dev/null
  latenesses >>"$place/static"
  timeout 60 "$ttprem" run --live "$live" --backend "$backend" --mode tt --duration 50ms --quiet --trace "$place/trace.csv" >"$place/said"
  latenesses >>"$place/live"
  echo "== live, round $round:" "$(sed -n '/^frame /p' "$place/said")" "| $(sed -n '/^answer /p' "$place/said" | head -n 1)"
done
printf '%-10s %-9s %10s %10s %8s %8s %10s\n' tasks phase releases "late>$late_ns" 'p50 ns' 'p99 ns' 'largest ns'
for kind in static live; do
  for phase in prefetch writeback; do
    awk -v phase=$phase '$1 == phase { print $2 }' "$place/$kind" | sort -n | awk -v kind=$kind -v phase=$phase -v late=$late_ns '
      { ns[NR] = $1; beyond += $1 > late }
      END { printf "%-10s %-9s %10d %10d %8d %8d %10d\n", kind, phase, NR, beyond, ns[int((NR + 1) / 2)], ns[int((NR * 99 + 99) / 100)], ns[NR] }'
  done
done
