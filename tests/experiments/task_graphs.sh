#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The figures of task graphs as their users make them ready, with times made up: task_graphs.sh TTPREM
#
# Without their profile they say what is missing; with one they are planned and checked, a simulated
# run keeps every release, and the tiles make what the untiled tasks make.
# ctest: TTPREM release timing
set -euo pipefail
cd "$(dirname "$0")/../.."
ttprem=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}

# Phases of unequal length, so that blocks are out of step with each other.
make_up_profile() { # SCHEDULE
  local task number=0
  echo 'version = 1; tasks = ('
  for task in $(grep -oP '{ name = "\K\w+(?="; kernel)' "$1"); do
    [ "$number" = 0 ] || echo ,
    number=$((number + 1))
    printf '{ name = "%s"; prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = %dL; }; writeback: { wcet_ns = %dL; }; }' \
      "$task" $((2000 + 37 * number)) $((500 + 11 * number)) $((1500 + 23 * number))
  done
  echo ');'
}

for name in h200_kcf h200_chain h200_multi_rate; do
  file=$scratch/$name.cfg json=$scratch/$name.json
  cp "schedules/figures/$name.cfg" "$file"

  "$ttprem" check --quiet "$file" >/dev/null || [ $? = 1 ] || fail "$name: check ended with $?"
  if "$ttprem" plan --quiet "$file" -o "$scratch/none.cfg" 2>"$scratch/said"; then
    fail "$name: planned without times"
  fi
  grep -q 'run `ttprem fit`' "$scratch/said" || fail "$name: without a profile: $(cat "$scratch/said")"

  make_up_profile "$file" >"$scratch/$name.profile.cfg"
  "$ttprem" plan --quiet "$file" -o "$file" --time-limit 1 || fail "$name: not planned"
  "$ttprem" check --quiet "$file" >/dev/null || fail "$name: its plan is refused"
  "$ttprem" compare --quiet "$file" --backend sim --modes tt,free --strict --json "$json" >/dev/null ||
    fail "$name: exit status $? in the simulator"
  [ "$(grep -c '"output_ok": true' "$json")" -ge 2 ] || fail "$name: wrong output"
done

# Every tile by a thread of its own.
sed 's/sms = 132;  blocks_per_sm = 2;  block_threads = 384;/blocks = 264;/' "$scratch/h200_kcf.cfg" >"$scratch/cpu.cfg"
"$ttprem" run --quiet --with-disturbed "$scratch/cpu.cfg" --backend cpu --mode free --repeat 2 >/dev/null ||
  fail "h200_kcf: exit status $? on the CPU"
