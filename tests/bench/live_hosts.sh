#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Frames through a live session whose host is stopped now and then, loaded, and killed: nothing may be lost,
# shown twice, torn or too old, and after a kill the next session has the machine. A host that is stopped for
# longer than a session on a GPU waits (30 s): the session has drained, and says why; on other backends it goes on.
# On a GPU beside another process as well.
#   live_hosts.sh BENCH_LIVE BACKEND [SECONDS]     SECONDS of each kind, 10; a frame of 2 MiB a millisecond
# STOP_S=2: stopped for so long in the one long stop, 40. KINDS="away beside" takes some of: stopped aged away busy
# beside killed. For `beside` test_cuda_neighbours lies beside BENCH_LIVE.
set -euo pipefail
readonly bench=$1 backend=$2 seconds=${3:-10} stop_s=${STOP_S:-40}
readonly kinds=${KINDS:-stopped aged away busy beside killed}
readonly period_ns=${PERIOD_NS:-1000000} floats=${FLOATS:-524288}
others=()
trap 'kill -9 "${others[@]}" 2>/dev/null || true' EXIT
failed=0

judge() { # WHAT STATUS
  echo "== $1: exit status $2"
  if [ "$2" -ne 0 ]; then failed=$((failed + 1)); fi
}

started() { # SECONDS [OPTION]: the bench in the background; its number in $session
  timeout $((seconds + stop_s + 60)) "$bench" "${@:2}" "$backend" "$1" "$period_ns" "$floats" &
  others=($!)
  sleep 0.5
  session=$(pgrep -P "${others[0]}")
}

ended() { # WHAT: judge what was started
  local status=0
  wait "${others[0]}" || status=$?
  judge "$1" "$status"
}

stop_again_and_again() {
  for ((i = 0; i < 2 * seconds - 2; ++i)); do
    kill -STOP "$session" 2>/dev/null || break
    sleep 0.1
    kill -CONT "$session"
    sleep 0.4
  done
}

kind_stopped() {
  started "$seconds"
  stop_again_and_again
  ended "stopped for 100 ms twice a second"
}

kind_aged() {
  started "$seconds" --aged
  stop_again_and_again
  ended "the same, and frames become too old"
}

kind_away() { # as under a debugger
  local options=()
  if [ "$backend" = cuda ] && [ "$stop_s" -gt 30 ]; then options=(--silent); fi
  started $((stop_s + 5)) "${options[@]}"
  sleep 1
  kill -STOP "$session"
  sleep "$stop_s"
  kill -CONT "$session"
  ended "stopped for $stop_s s"
}

kind_busy() {
  local spinning=() status=0
  for ((i = 0; i < 2 * $(nproc); ++i)); do
    while :; do :; done &
    spinning+=($!)
  done
  others=("${spinning[@]}")
  timeout $((seconds + 60)) "$bench" "$backend" "$seconds" "$period_ns" "$floats" || status=$?
  judge "beside $((2 * $(nproc))) busy loops" "$status"
  kill "${spinning[@]}"
  wait "${spinning[@]}" 2>/dev/null || true
}

kind_beside() { # a kernel of another process takes turns with the session's
  local spinner status=0
  spinner=$(dirname "$bench")/test_cuda_neighbours
  if [ "$backend" != cuda ]; then
    echo "== beside another process on the GPU: none on $backend"
    return
  fi
  if [ ! -x "$spinner" ]; then
    echo "there is no $spinner" >&2
    judge "beside another process on the GPU" 1
    return
  fi
  started $((seconds + 1))
  timeout $((seconds + 60)) "$spinner" --spin $((1000 * seconds)) || status=$?
  if [ "$status" -ne 0 ]; then judge "the other process" "$status"; fi
  ended "beside another process on the GPU"
}

kind_killed() {
  local status=0
  for ((i = 0; i < 5; ++i)); do
    started 30
    sleep 1
    kill -KILL "$session"
    wait "${others[0]}" 2>/dev/null || true
  done
  timeout 60 "$bench" "$backend" 2 "$period_ns" "$floats" || status=$?
  judge "after five that were killed" "$status"
}

for kind in $kinds; do
  case $kind in
  stopped | aged | away | busy | beside | killed) "kind_$kind" ;;
  *)
    echo "live_hosts: there is no kind '$kind'" >&2
    exit 2
    ;;
  esac
done
echo "$failed failed"
exit $((failed > 0))
