#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs on the emulated GPU, in all modes: outputs are right, by each engine that moves tiles. And a file without
# times is fitted there.
#   runs.sh TTPREM
set -euo pipefail
cd "$(dirname "$0")/../../schedules/examples"
export TTPREM_EMULATED_GPU=1
log=$(mktemp)
place=$(mktemp -d)
trap 'rm -rf "$log" "$place"' EXIT
for run in "conv2d bulk" "increment vector"; do
  read -r schedule engine <<<"$run"
  if ! timeout 900 "$1" compare "$schedule.cfg" --backend cuda --modes tt,free,lock --engine "$engine" --repeat 1 >"$log" 2>&1; then
    echo "$schedule by $engine:"
    cat "$log"
    exit 1
  fi
done

if ! ../../tests/cli/late_log.sh "$1" cuda increment.cfg >"$log" 2>&1; then
  echo "late releases:"
  cat "$log"
  exit 1
fi

# Everything is late there, so that it takes one plan; what is written opens by itself.
cat >"$place/row.cfg" <<'CFG'
version = 1;
name = "row";
platform: { sms = 2; blocks_per_sm = 1; block_threads = 128; clock_step_ns = 32L; scratch_bytes = 16384L;
  resources = ( { name = "memory"; capacity = 2; } ); };
arrays = ( { name = "x"; type = "f32"; shape = [ 128 ]; fill = "random"; } );
tasks = (
  { name = "a"; kernel = "vector_increment"; tile = [ 64 ]; arrays: { in = "x"; out = "new"; }; },
  { name = "b"; kernel = "vector_increment"; tile = [ 64 ]; arrays: { in = "a.out"; out = "new"; };
    after = ( { task = "a"; } ); }
);
measure: { runs = 2; discard = 0; };
CFG
if ! timeout 900 "$1" fit "$place/row.cfg" -o "$place/planned.cfg" --backend cuda --time-limit 1 >"$log" 2>&1 ||
  ! grep -q ' taken' "$log" || ! "$1" check "$place/planned.cfg" >>"$log" 2>&1; then
  echo "fit:"
  cat "$log"
  exit 1
fi
