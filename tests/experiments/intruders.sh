#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The other process of the experiment on intruders: it reports, and it never outlives who started it.
# Usage: intruders.sh TTPREM
# ctest: TTPREM alone release timing
set -euo pipefail
ttprem=$(realpath "$1")
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
started=
trap '[ -z "$started" ] || kill -9 $started 2>/dev/null || true; rm -rf "$scratch"' EXIT

fail() {
  echo "intruders: $*" >&2
  exit 1
}

# Until COMMAND succeeds, for SECONDS at most.
await() { # SECONDS COMMAND...
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.02
  done
}

child_of() {
  child=$(grep -lx "PPid:[[:space:]]*$1" /proc/[0-9]*/status 2>/dev/null | head -n 1 | cut -d / -f 3)
  [ -n "$child" ]
}
# Ended, and nobody has to bury it.
is_gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

# It works until its input ends, then says what it did.
mkfifo "$scratch/to"
"$ttprem" experiment intruders --quiet --backend cpu --part 1 <"$scratch/to" >"$scratch/said" &
started=$!
exec 3>"$scratch/to"
await 10 grep -qx 'at work' "$scratch/said" || fail "not at work: $(cat "$scratch/said")"
sleep 0.2
exec 3>&-
wait "$started" || fail "the other process: exit status $?"
started=
moved=$(sed -nE 's/^moved ([0-9]+) watched .*/\1/p' "$scratch/said")
[ "${moved:-0}" -gt 0 ] || fail "it moved nothing: $(cat "$scratch/said")"
[ "$(wc -l <"$scratch/said")" = 2 ] || fail "it said more than two lines: $(cat "$scratch/said")"

# Started and killed, or interrupted, while the other process works.
for signal in KILL INT; do
  "$ttprem" experiment intruders --quiet --backend cpu -o "$scratch/$signal" >/dev/null 2>&1 &
  started=$!
  await 30 child_of "$started" || fail "no other process was started"
  kill -s "$signal" "$started"
  status=0
  { wait "$started"; } 2>/dev/null || status=$?
  started=$child
  await 10 is_gone "$child" || fail "the other process outlives SIG$signal of the one that started it"
  started=
  [ "$signal" = KILL ] || [ "$status" = 130 ] || fail "interrupted: exit status $status"
done
grep -q '"complete": false' "$scratch/INT/intruders.json" || fail "interrupted, and says complete"
echo "intruders: ok"
