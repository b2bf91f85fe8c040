#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run the experiments that run schedules on the CPU, quickly: experiments_schedules.sh TTPREM
#
# What the numbers are depends on the machine; that they are there, complete, of verified outputs and
# drawn does not. An interruption keeps what there is.
# ctest: TTPREM alone release
set -euo pipefail
cd "$(dirname "$0")/../.."
ttprem=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}

has_line() { # FILE LINE
  grep -qF -- "$2" "$1" || fail "$1 has no line with: $2"
}

# NAME TABLE...: besides tables measured here each experiment quotes the original's.
check() {
  local name=$1 json=$scratch/$1.json table
  "$ttprem" experiment "$name" --quiet --backend cpu --quick -o "$scratch" >"$scratch/$name.txt" ||
    fail "$name: exit status $?"
  has_line "$json" '"complete": true'
  has_line "$json" '"output_ok": true'
  for table in "${@:2}"; do has_line "$json" "\"name\": \"$table\""; done
  grep -q '"verdict": "..*[0-9]' "$json" || fail "$name: a verdict without a number"
  if command -v gnuplot >/dev/null; then
    [ -s "$scratch/$name.svg" ] || fail "$name: no picture"
    grep -q '<path' "$scratch/$name.svg" || fail "$name: an empty picture"
  fi
}

check convolution scenarios jitter thesis
check tile_offset offsets jitter thesis
check phase_cdf prefetch compute writeback durations bounds thesis
check phase_shift prefetch_shift writeback_shift thesis
check token_cost modes thesis
check intruders responses releases phases stops activity distribution
if [ "$(nproc)" -gt 1 ]; then
  check interference_matrix pairs
  check kcf_heat_map free tt
fi
has_line "$scratch/convolution.txt" "tt, exclusive"
# Thirteen rows more are the original's: two of its table, eleven of its figure.
[ "$(grep -c '^ *"kernel-wise",$' "$scratch/tile_offset.json")" = 34 ] ||
  fail "tile_offset: not free running and twenty offsets"
# The original's table 4.1 beside ours.
has_line "$scratch/convolution.json" '"beside": "table_4_1"'
has_line "$scratch/convolution.txt" "on time, 1.17 knees"

# Interrupted, an experiment keeps what it has.
if [ "$(nproc)" -gt 1 ]; then
  status=0
  timeout --preserve-status -s INT -k 5 1 "$ttprem" experiment interference_matrix --backend cpu \
    -o "$scratch/interrupted" >/dev/null 2>"$scratch/stderr" || status=$?
  [ "$status" = 130 ] || fail "interrupted: exit status $status, $(cat "$scratch/stderr")"
  has_line "$scratch/interrupted/interference_matrix.json" '"complete": false'
fi
