#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Faults planted on purpose, on a GPU: each ends with the right message and exit status, and the GPU
# serves the next process within a second more than it always takes. Exit status 77 without a GPU.
#   gpu_faults.sh BIN SCHEDULES
# BIN has ttprem, and faulty_ttprem and run_again of the CMakeLists.txt here; SCHEDULES has examples/.
set -euo pipefail
bin=$(realpath "$1") schedules=$(realpath "$2")
faults=$(realpath "$(dirname "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
readonly kills=${KILLS:-20} interrupts=${INTERRUPTS:-100}
# nobody's input files are needed
readonly small=$schedules/examples/increment.cfg long=$schedules/examples/mixed.cfg
failed=0

if "$bin/ttprem" info 2>&1 | grep '^cuda: not available'; then exit 77; fi

say() { printf '%-8s %s\n' "$1" "$2"; }
fail() {
  say FAILED "$1"
  failed=$((failed + 1))
}
now_ms() { echo $(($(date +%s%N) / 1000000)); }

next_run_ms() { # how long a small run takes now; must be right
  local began
  began=$(now_ms)
  timeout 30 "$bin/ttprem" run --quiet --backend cuda --repeat 1 "$small" >"$scratch/next" 2>&1 ||
    { cat "$scratch/next" >&2; return 1; }
  echo $(($(now_ms) - began))
}

# A second more than on an untouched GPU is too long.
is_free() { # AFTER WHAT
  local ms
  if ! ms=$(next_run_ms); then
    fail "$1: the next run fails"
  elif ((ms > usual_ms + 1000)); then
    fail "$1: the next run takes $ms ms, usual are $usual_ms"
  else
    say ok "$1; next run $ms ms, usual $usual_ms"
  fi
}

expect() { # STATUS MESSAGE SECONDS COMMAND...: ends in time, with this status, and says so
  local want=$1 message=$2 seconds=$3 status=0 began
  shift 3
  began=$(now_ms)
  timeout -k 5 "$seconds" "$@" >"$scratch/said" 2>&1 </dev/null || status=$?
  took_ms=$(($(now_ms) - began))
  if [ "$status" != "$want" ]; then
    fail "exit status $status instead of $want: $*"
    cat "$scratch/said"
  elif ! grep -Eq "$message" "$scratch/said"; then
    fail "does not say '$message': $*"
    cat "$scratch/said"
  else
    grep -Eo "[^:]*($message).*" "$scratch/said" | head -n 1 | cut -c 1-200
  fi
}

next_run_ms >/dev/null
usual_ms=$(next_run_ms)

for mode in tt free lock; do
  expect 4 "a compute does not return" 10 "$bin/faulty_ttprem" run --backend cuda --mode $mode \
    --repeat 1 "$faults/endless.cfg"
  is_free "endless compute, $mode, $took_ms ms"
  expect 4 "block [01]" 10 "$bin/faulty_ttprem" run --backend cuda --mode $mode --repeat 1 \
    "$faults/slow.cfg"
  is_free "compute of 600 ms, $mode, $took_ms ms"
  expect 4 "lost the GPU" 20 "$bin/faulty_ttprem" run --backend cuda --mode $mode --repeat 1 \
    "$faults/window.cfg"
  is_free "window outside of all arrays, $mode, $took_ms ms"
done
# A live session waits for five seconds; it would end by itself, as if nothing were wrong, after a minute.
for mode in tt free lock; do
  expect 4 "a compute does not return" 20 "$bin/faulty_ttprem" run --live --backend cuda --mode $mode \
    --duration 60 "$faults/endless_live.cfg"
  is_free "endless compute in a live session, $mode, $took_ms ms"
done
for engine in cp_async vector; do
  expect 4 "lost the GPU" 20 "$bin/faulty_ttprem" run --backend cuda --mode free --engine $engine \
    --repeat 1 "$faults/window.cfg"
  is_free "window outside of all arrays, $engine, $took_ms ms"
done
expect 4 "token|waited" 10 "$bin/faulty_ttprem" run --backend cuda --mode lock --repeat 1 \
  "$faults/tokens.cfg"
is_free "lock not given back, $took_ms ms"

# Wrong in one of 50 hyperperiods, the 24th, over which the next one writes: who looks at the last of each five does
# not see it, who looks at each third or at all of them does.
for mode in tt free lock; do
  run_wrong=("$bin/faulty_ttprem" run --backend cuda --mode $mode "$faults/wrong.cfg")
  expect 0 "verified after 10 of 50 hyperperiods" 20 "${run_wrong[@]}"
  expect 1 "wrong output: 1 elements differ; the first is hold.out\[0, 0, 80, 0\]" 20 "${run_wrong[@]}" --verify-every 3
  expect 1 "wrong output: 1 elements differ; the first is hold.out\[0, 0, 80, 0\]" 20 "${run_wrong[@]}" --verify-every 1
  is_free "one wrong output of 50, $mode, $took_ms ms"
done

# In the same process: a stall is over, a compute without an end and a broken context are not.
expect 0 "." 20 "$bin/run_again" cuda "$faults/slow.cfg" "$small"
is_free "the same process goes on after a stall"
expect 4 "start the program again" 20 "$bin/run_again" cuda "$faults/endless.cfg" "$small"
is_free "the same process refuses after an endless compute"
expect 4 "start the program again" 20 "$bin/run_again" cuda "$faults/window.cfg" "$small"
is_free "the same process refuses after a broken context"

# kill -9 and Ctrl-C at random instants of a run that would take a minute, starting included.
stop_at_random() { # SIGNAL MOST_MS
  local began
  # a shell without job control has its background commands ignore Ctrl-C
  env --default-signal=INT "$bin/ttprem" run --quiet --backend cuda --mode tt --duration 60 --scenario resident \
    --json "$scratch/$1.json" "$long" >"$scratch/said" 2>&1 </dev/null &
  local pid=$!
  sleep "$(printf '%d.%03d' $((RANDOM % $2 / 1000)) $((RANDOM % 1000)))"
  began=$(now_ms)
  kill "-$1" "$pid" 2>/dev/null || true
  status=0
  wait "$pid" 2>/dev/null || status=$?
  took_ms=$(($(now_ms) - began))
}
worst_ms=0
for ((i = 0; i < kills; ++i)); do
  stop_at_random KILL 1600
  if ! ms=$(next_run_ms); then fail "kill -9 number $i: the next run fails"; continue; fi
  if ((ms > worst_ms)); then worst_ms=$ms; fi
done
if ((worst_ms > usual_ms + 1000)); then
  fail "kill -9: a next run takes $worst_ms ms, usual are $usual_ms"
else
  say ok "kill -9, $kills times; slowest next run $worst_ms ms, usual $usual_ms"
fi
worst_ms=0 kept=0
for ((i = 0; i < interrupts; ++i)); do
  rm -f "$scratch/INT.json"
  stop_at_random INT 1600
  if [ "$status" != 130 ]; then
    fail "Ctrl-C number $i: exit status $status"
    cat "$scratch/said"
  fi
  if ((took_ms > worst_ms)); then worst_ms=$took_ms; fi
  if [ -s "$scratch/INT.json" ]; then kept=$((kept + 1)); fi
done
if ((worst_ms > 1000)); then
  fail "Ctrl-C: the slowest end took $worst_ms ms"
else
  say ok "Ctrl-C, $interrupts times; slowest end $worst_ms ms; $kept kept a result"
fi
is_free "all"
[ "$failed" -eq 0 ]
