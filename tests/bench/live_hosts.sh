#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Frames through a live session whose host is stopped now and then, loaded, and killed: nothing may be lost,
# shown twice or torn, and after a kill the next session has the machine.
#   live_hosts.sh BENCH_LIVE BACKEND [SECONDS]     SECONDS of each kind, 10; a frame of 2 MiB a millisecond
set -euo pipefail
readonly bench=$1 backend=$2 seconds=${3:-10}
readonly period_ns=${PERIOD_NS:-1000000} floats=${FLOATS:-524288}
others=()
trap 'kill -9 "${others[@]}" 2>/dev/null || true' EXIT
failed=0

judge() { # WHAT STATUS
  echo "== $1: exit status $2"
  if [ "$2" -ne 0 ]; then failed=$((failed + 1)); fi
}

started() { # SECONDS: the bench in the background; its number in $session
  timeout $((seconds + 60)) "$bench" "$backend" "$1" "$period_ns" "$floats" &
  others=($!)
  sleep 0.5
  session=$(pgrep -P "${others[0]}")
}

started "$seconds"
status=0
for ((i = 0; i < 2 * seconds - 2; ++i)); do
  kill -STOP "$session" 2>/dev/null || break
  sleep 0.1
  kill -CONT "$session"
  sleep 0.4
done
wait "${others[0]}" || status=$?
judge "stopped for 100 ms twice a second" "$status"

spinning=()
for ((i = 0; i < 2 * $(nproc); ++i)); do
  while :; do :; done &
  spinning+=($!)
done
others=("${spinning[@]}")
status=0
timeout $((seconds + 60)) "$bench" "$backend" "$seconds" "$period_ns" "$floats" || status=$?
judge "beside $((2 * $(nproc))) busy loops" "$status"
kill "${spinning[@]}"
wait "${spinning[@]}" 2>/dev/null || true

for ((i = 0; i < 5; ++i)); do
  started 30
  sleep 1
  kill -KILL "$session"
  wait "${others[0]}" 2>/dev/null || true
done
status=0
timeout 60 "$bench" "$backend" 2 "$period_ns" "$floats" || status=$?
judge "after five that were killed" "$status"
echo "$failed failed"
exit $((failed > 0))
