#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs on the emulated GPU, in all modes: outputs are right, by each engine that moves tiles.
#   runs.sh TTPREM
set -euo pipefail
cd "$(dirname "$0")/../../schedules/examples"
export TTPREM_EMULATED_GPU=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for run in "conv2d bulk" "increment vector"; do
  read -r schedule engine <<<"$run"
  if ! timeout 900 "$1" compare "$schedule.cfg" --backend cuda --modes tt,free,lock --engine "$engine" --repeat 1 >"$log" 2>&1; then
    echo "$schedule by $engine:"
    cat "$log"
    exit 1
  fi
done
