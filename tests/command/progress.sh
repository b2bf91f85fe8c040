#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Long work says how far it is, on a terminal and nowhere else, and takes the line back.
#   progress.sh TTPREM
# ctest: TTPREM long timing release
set -euo pipefail
ttprem=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
export TTPREM=$ttprem CUDA_VISIBLE_DEVICES=

if ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
  echo "progress: no script(1), or no terminal to be had" >&2
  exit 77
fi

fail() {
  echo "progress: $*; it showed:" >&2
  tr '\r' '\n' <shown | tail -n 20 >&2
  exit 1
}

on_terminal() { script -qec "stty cols ${columns-80}; $*" /dev/null >shown </dev/null; }

# A command that is interrupted; on a machine that is so busy that it has not shown as much yet, later.
until_shown() { # PATTERN SECONDS COMMAND...
  local pattern=$1 seconds
  for seconds in "$2" 6 20; do
    on_terminal timeout -s INT "$seconds" "${@:3}" || true
    if tr '\r' '\n' <shown | grep -E "$pattern" >/dev/null; then return 0; fi
  done
  return 1
}

# Work that is estimated, then interrupted: its line tells the part done and the time left.
long() { # NAME COMMAND...
  local name=$1
  shift
  until_shown '[0-9]+ %, about [0-9]+ (s|min|h) left' 1.7 "$@" || fail "$name: no estimate"
  grep -Pq '\r {20,}\r' shown || fail "$name: the line is not taken back"
}

cp "$here"/../cli/inputs/*.cfg "$here/../../schedules/examples/mixed.cfg" .
long plan "$TTPREM" plan mixed.cfg --steps 100000000 -o planned.cfg
long run "$TTPREM" run increment.cfg --backend cpu --mode free --duration 60
long compare "$TTPREM" compare increment.cfg --backend cpu --modes tt,free --repeat 1000000

columns=30
until_shown ' runs \(' 0.7 "$TTPREM" run increment.cfg --backend cpu --duration 60 || fail "no progress in 30 columns"
unset columns
longest=$(tr '\r' '\n' <shown | grep ' runs (' | awk '{ if (length > n) n = length } END { print n + 0 }')
[ "$longest" -gt 10 ] && [ "$longest" -lt 30 ] || fail "$longest characters in 30 columns"

NO_COLOR=1 until_shown ' runs \(' 0.7 "$TTPREM" run increment.cfg --backend cpu --duration 60 || fail "no progress with NO_COLOR"
if grep -q $'\033' shown; then fail "escape sequences with NO_COLOR"; fi

on_terminal "$TTPREM" run --quiet --with-disturbed increment.cfg --backend cpu --duration 300ms
if grep -q ' runs (' shown; then fail "progress with --quiet"; fi

"$TTPREM" run --with-disturbed increment.cfg --backend cpu --duration 300ms >/dev/null 2>shown
if grep -q ' runs (' shown; then fail "progress without a terminal"; fi

# A live session's line is rewritten in place and fits the terminal; what was lost is told first.
cp "$here/../../examples/camera_loop/camera.cfg" .
columns=60 on_terminal "$TTPREM" run --quiet --live camera.cfg --backend sim --duration 3
if tr '\r' '\n' <shown | grep ' s  in' >/dev/null; then fail "lines of seconds with --quiet"; fi
columns=60 on_terminal "$TTPREM" run --live camera.cfg --backend sim --duration 3
[ "$(grep -c ' 1 s  in.* 3 s  in' shown)" = 1 ] || fail "a line for each second"
longest=$(tr '\r' '\n' <shown | grep ' s  in' | awk '{ if (length > n) n = length } END { print n + 0 }')
[ "$longest" -gt 40 ] && [ "$longest" -lt 60 ] || fail "a line of $longest characters in 60 columns"
