#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does a live session leave a static plan's lateness as it was? The same plan in turn as one that repeats by itself and as
# a session with frames and answers: when did the phases of the tasks without frames begin, against their releases?
#   live_lateness.sh TTPREM BACKEND FILE.cfg [ROUNDS [TASKS]]     5 rounds; TASKS a pattern, ^conv
# Computes that are chained to their prefetches have no release. Of each run a million phases at most are looked at, and
# its first two hyperperiods are not.
set -euo pipefail
readonly ttprem=$1 backend=$2 file=$3 rounds=${4:-5} tasks=${5:-^conv}
readonly late_ns=128
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Times of the tasks' phases, as: phase, lateness in ns
latenesses() {
  awk -F, -v tasks="$tasks" 'NR > 1 && $1 >= 2 && $2 ~ tasks && $6 != "" { print $5, $8 - $6 }' "$place/trace.csv"
}

for ((round = 1; round <= rounds; ++round)); do
  timeout 60 "$ttprem" run "$file" --backend "$backend" --mode tt --scenario resident --repeat 28 --quiet --trace "$place/trace.csv" >/dev/null
  latenesses >>"$place/static"
  timeout 60 "$ttprem" run --live "$file" --backend "$backend" --mode tt --duration 50ms --quiet --trace "$place/trace.csv" >"$place/said"
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
