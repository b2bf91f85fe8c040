#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Figures for a slower memory: each plan stretched is one still, with the same phases and all times in one ratio.
#   stretch.sh TTPREM
# ctest: TTPREM release
set -euo pipefail
ttprem=$(realpath "$1")
cd "$(dirname "$0")/../.."
stretch=experiments/figures/h200_conv2d/stretch.sh
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "stretch: $*" >&2
  exit 1
}

verdict_of() { "$ttprem" check "$1" 2>&1 | tail -n 1; }

count=0
for figure in schedules/figures/h200_{conv2d,increment}*.cfg; do
  case $figure in *_tune.cfg) continue ;; esac # which asks for more than the memory delivers
  "$stretch" "$figure" 150 >"$place/stretched.cfg"
  was=$(verdict_of "$figure") is=$(verdict_of "$place/stretched.cfg")
  [[ $was =~ ok,\ ([0-9]+)\ phases,\ hyperperiod\ ([0-9]+)\ ns ]] || fail "$figure: $was"
  phases=${BASH_REMATCH[1]} length=${BASH_REMATCH[2]}
  [[ $is =~ ok,\ ([0-9]+)\ phases,\ hyperperiod\ ([0-9]+)\ ns ]] || fail "$figure stretched: $is"
  [ "${BASH_REMATCH[1]}" -eq "$phases" ] || fail "$figure: $phases phases are ${BASH_REMATCH[1]}"
  # "# Times of FILE with NEW ns for each OLD."
  read -r new old < <(sed -nE '1s/.* with ([0-9]+) ns for each ([0-9]+)\.$/\1 \2/p' "$place/stretched.cfg")
  [ $((new * 100)) -ge $((old * 150)) ] && [ $((new % 32)) -eq 0 ] || fail "$figure: $new ns for $old"
  [ $((BASH_REMATCH[2] * old)) -eq $((length * new)) ] || fail "$figure: $length ns are ${BASH_REMATCH[2]}"
  count=$((count + 1))
done
[ "$count" -gt 5 ] || fail "only $count figures"

echo 'version = 1; name = "none";' >"$place/none.cfg"
if "$stretch" "$place/none.cfg" 150 >"$place/out" 2>"$place/said"; then fail "a file without times is taken"; fi
grep 'has no times' "$place/said" >/dev/null || fail "a file without times: $(cat "$place/said")"
for wrong in 0 -5 1.5 abc 10000 ''; do
  if "$stretch" "$figure" "$wrong" >"$place/out" 2>"$place/said"; then fail "'$wrong' percent are taken"; fi
  grep "PERCENT '$wrong' is no whole number" "$place/said" >/dev/null || fail "'$wrong' percent: $(cat "$place/said")"
done
if "$stretch" "$place/missing.cfg" 150 >"$place/out" 2>"$place/said"; then fail "a file that is not there is taken"; fi
grep 'cannot be read' "$place/said" >/dev/null || fail "a file that is not there: $(cat "$place/said")"
echo "stretch: $count figures"
