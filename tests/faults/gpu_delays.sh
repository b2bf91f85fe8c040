#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Are stamps taken where the thing happens? On a GPU. Exit status 77 without one.
#   gpu_delays.sh BIN
# BIN has delayed_ttprem (the CMakeLists.txt here), in which one unit is 1 us slow on each of six blocks:
# the starter on block 0, the writer on 1, the compute warps to start on 2, the watcher to see a landing
# on 3, the compute warps to compute on 4, the writer to see a landing on 5. The stamps of that block and
# phase have to show it, and nobody else's.
set -euo pipefail
bin=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
if "$bin/delayed_ttprem" info 2>&1 | grep '^cuda: not available'; then exit 77; fi
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT

timeout 60 "$bin/delayed_ttprem" run --quiet "$here/delays.cfg" --backend cuda --mode tt --repeat 20 \
  --trace - >"$trace"

# Medians over all tiles and runs; lengths beside those of the undisturbed blocks 6 and 7.
awk -F, '
  NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  $column["release_ns"] != "" {
    key = $column["phase"] " " $column["block"]
    n = count[key]++
    late[key, n] = $column["start_ns"] - $column["release_ns"]
    length_ns[key, n] = $column["end_ns"] - $column["start_ns"]
  }
  function median(of, key,   i, j, n, sorted, x) {
    n = count[key]
    for (i = 0; i < n; i++) {
      x = of[key, i]
      for (j = i; j > 0 && sorted[j - 1] > x; j--) sorted[j] = sorted[j - 1]
      sorted[j] = x
    }
    return sorted[int(n / 2)]
  }
  function judge(what, phase, block, found, planted) {
    ok = planted ? found >= 864 && found <= 1500 : found >= -500 && found <= 500
    printf "%-8s %s of %s on block %d: %d ns%s\n", ok ? "ok" : "FAILED", what, phase, block, found,
      planted ? ", 1000 planted" : ""
    failed += !ok
  }
  END {
    split("prefetch compute writeback", phases, " ")
    for (p = 1; p <= 3; p++)
      for (b = 0; b < 8; b++) {
        key = phases[p] " " b
        usual = median(length_ns, phases[p] " " 6 + b % 2) # tiles at either edge
        judge("lateness", phases[p], b, median(late, key), phases[p] b == "prefetch0" ||
          phases[p] b == "writeback1" || phases[p] b == "compute2")
        judge("extra length", phases[p], b, median(length_ns, key) - usual, phases[p] b == "prefetch3" ||
          phases[p] b == "compute4" || phases[p] b == "writeback5")
      }
    print failed + 0 " failed"
    exit failed > 0
  }' "$trace"
