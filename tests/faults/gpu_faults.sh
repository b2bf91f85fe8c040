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
readonly serves=$schedules/examples/work_while_it_runs.cfg
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

# A server serves, and a planned task or the server itself computes for ever.
for mode in tt free; do
  for fault in serving endless_server; do
    expect 4 "a compute does not return" 10 "$bin/faulty_ttprem" run --backend cuda --mode $mode \
      --errands dense --repeat 1 "$faults/$fault.cfg"
    is_free "endless compute, $fault, $mode, $took_ms ms"
  done
done

# In the same process: a stall is over, a compute without an end and a broken context are not.
expect 0 "." 20 "$bin/run_again" cuda "$faults/slow.cfg" "$small"
is_free "the same process goes on after a stall"
expect 4 "start the program again" 20 "$bin/run_again" cuda "$faults/endless.cfg" "$small"
is_free "the same process refuses after an endless compute"
expect 4 "start the program again" 20 "$bin/run_again" cuda "$faults/window.cfg" "$small"
is_free "the same process refuses after a broken context"

# kill -9 and Ctrl-C at random instants of a run that would take a minute, starting included.
stop_at_random() { # SIGNAL MOST_MS RUN...
  local signal=$1 most_ms=$2 began
  shift 2
  # a shell without job control has its background commands ignore Ctrl-C
  env --default-signal=INT "$bin/ttprem" run --quiet --backend cuda --mode tt --duration 60 --scenario resident \
    --json "$scratch/$signal.json" "$@" >"$scratch/said" 2>&1 </dev/null &
  local pid=$!
  sleep "$(printf '%d.%03d' $((RANDOM % most_ms / 1000)) $((RANDOM % 1000)))"
  began=$(now_ms)
  kill "-$signal" "$pid" 2>/dev/null || true
  status=0
  wait "$pid" 2>/dev/null || status=$?
  took_ms=$(($(now_ms) - began))
}

# Each errand that was sent has ended once, and some were sent.
all_have_ended() { # JSON
  awk -F '[:, ]+' '/"errands":/ { of = 1 }  /"late":/ { of = 0 }
    of && /"sent":/ { sent += $3 }  of && /"(done|expired|fault|aborted)":/ { ended += $3 }
    END { exit !(sent > 0 && sent == ended) }' "$1"
}

kill_often() { # WHAT RUN...
  local what=$1 worst_ms=0 ms
  shift
  for ((i = 0; i < kills; ++i)); do
    stop_at_random KILL 1600 "$@"
    if ! ms=$(next_run_ms); then fail "kill -9 number $i, $what: the next run fails"; continue; fi
    if ((ms > worst_ms)); then worst_ms=$ms; fi
  done
  if ((worst_ms > usual_ms + 1000)); then
    fail "kill -9, $what: a next run takes $worst_ms ms, usual are $usual_ms"
  else
    say ok "kill -9, $what, $kills times; slowest next run $worst_ms ms, usual $usual_ms"
  fi
}

interrupt_often() { # TIMES WHAT RUN...
  local times=$1 what=$2 worst_ms=0
  shift 2
  kept=0
  for ((i = 0; i < times; ++i)); do
    rm -f "$scratch/INT.json"
    stop_at_random INT 1600 "$@"
    if [ "$status" != 130 ]; then
      fail "Ctrl-C number $i, $what: exit status $status"
      cat "$scratch/said"
    fi
    if ((took_ms > worst_ms)); then worst_ms=$took_ms; fi
    [ -s "$scratch/INT.json" ] || continue
    kept=$((kept + 1))
    if [[ " $* " == *" --errands "* ]] && ! all_have_ended "$scratch/INT.json"; then
      fail "Ctrl-C number $i, $what: errands were sent that have not ended"
      grep -A 8 '"errands":' "$scratch/INT.json" || true
    fi
  done
  if ((worst_ms > 1000)); then
    fail "Ctrl-C, $what: the slowest end took $worst_ms ms"
  else
    say ok "Ctrl-C, $what, $times times; slowest end $worst_ms ms; $kept kept a result"
  fi
}

kill_often "phases" "$long"
kill_often "a server" --errands dense "$serves"
interrupt_often "$interrupts" "phases" "$long"
interrupt_often "$kills" "a server" --errands dense "$serves"
if ((kept == 0)); then fail "Ctrl-C, a server: no run kept a result, so no errand was counted"; fi
is_free "all"
[ "$failed" -eq 0 ]
