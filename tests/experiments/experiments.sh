#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every experiment that makes sense on a CPU, in one quick look at all: it ends well, its outputs are right, and
# it leaves its findings and, where there is gnuplot, its pictures. An interruption keeps what there is.
# Usage: experiments.sh TTPREM
#
# What the numbers are depends on the machine; that they are there, complete and drawn does not.
# ctest: TTPREM alone release timing
set -euo pipefail
ttprem=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

fail() {
  echo "experiments: $1" >&2
  failures=$((failures + 1))
}

has_line() { # FILE LINE
  grep -qF -- "$2" "$1" || fail "$1 has no line with: $2"
}

# Lists are as long as caches ask for, and large ones would take a minute: every machine looks here as if it had
# the same, small ones. Its cores stay its own.
cores=$(nproc --all)
small_caches="package:1 l3:1(size=5242880) l2:$cores(size=1048576) l1d:1(size=32768) core:1 pu:1"
status=0
HWLOC_SYNTHETIC=$small_caches HWLOC_THISSYSTEM=1 \
  "$ttprem" experiment all --backend cpu --quick --schedules "$root/schedules" -o out >text 2>said || status=$?
if [ "$status" -ne 0 ]; then
  fail "exit status $status"
  cat said >&2
fi

count=0
while read -r name backends; do
  [[ " $backends " == *" cpu "* ]] || continue
  count=$((count + 1))
  file=out/$name.json
  if grep -q "^$name: " said && [ ! -f "$file" ]; then
    echo "$name: $(grep -m 1 "^$name: " said)" # the machine cannot do it
    continue
  fi
  [ -f "$file" ] || { fail "$name: no findings"; continue; }
  has_line "$file" '"complete": true'
  ! grep -q '"output_ok": false' "$file" || fail "$name: wrong output"
  grep -q '"verdict": "..*"' "$file" || fail "$name: no verdict"
  if [ -n "$(command -v gnuplot)" ]; then
    for picture in svg png; do
      [ -s "out/$name.$picture" ] || fail "$name: no $picture"
    done
  fi
done < <("$ttprem" experiment list | sed -E 's/^([a-z0-9_]+) +(([a-z]+ )*[a-z]+)  .*/\1 \2/')
[ "$count" -gt 5 ] || fail "only $count experiments make sense on a CPU"
# A quick look repeats within its time, and says so of what would have taken longer.
grep -q 'To keep within its time [1-9]' out/*.json || fail "no quick look kept within its time"
grep -q '"name": "sizes"' out/cache_sizes.json && grep -q '^ *5120\.0,$' out/cache_sizes.json ||
  fail "cache_sizes: not the caches that the machine says it has"

# NAME TABLE...: those that run schedules. Besides tables measured here each quotes the original's.
check() {
  local json=out/$1.json table
  has_line "$json" '"output_ok": true'
  for table in "${@:2}"; do has_line "$json" "\"name\": \"$table\""; done
  "$ttprem" experiment "$json" >"$1.txt" || fail "$1: its findings cannot be printed again"
  # A busy machine disturbs all runs; then there is no verdict, and a note says of what.
  if grep -q '"verdict": "No verdict: of some runs none counted' "$json"; then return; fi
  grep -q '"verdict": "..*[0-9]' "$json" || fail "$1: a verdict without a number"
  if [ -n "$(command -v gnuplot)" ]; then grep -q '<path' "out/$1.svg" || fail "$1: an empty picture"; fi
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
has_line convolution.txt "tt, exclusive"
# Thirteen rows more are the original's: two of its table, eleven of its figure.
[ "$(grep -c '^ *"kernel-wise",$' out/tile_offset.json)" = 34 ] ||
  fail "tile_offset: not free running and twenty offsets"
# The original's table 4.1 beside ours.
has_line out/convolution.json '"beside": "table_4_1"'
has_line convolution.txt "on time, 1.17 knees"
# All of a CPU's intruders are there, and nothing was left out.
for intruder in nobody 'other process' 'busy cores'; do
  grep -q "^  $intruder  *tt " intruders.txt || fail "intruders: no row of: $intruder"
done
! grep 'Not measured' intruders.txt || fail "an intruder was left out"

# Interrupted, an experiment keeps what it has.
if [ "$(nproc)" -gt 1 ]; then
  for seconds in 1 5 20; do # a machine that is so busy that it has not begun yet gets more time
    status=0
    timeout --preserve-status -s INT -k 5 "$seconds" "$ttprem" experiment interference_matrix --backend cpu \
      -o interrupted >/dev/null 2>stderr || status=$?
    [ ! -s interrupted/interference_matrix.json ] || break
  done
  [ "$status" = 130 ] || fail "interrupted: exit status $status, $(cat stderr)"
  has_line interrupted/interference_matrix.json '"complete": false'
fi

echo "experiments: $count run, $failures failures"
[ "$failures" -eq 0 ]
