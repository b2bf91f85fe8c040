#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A figure for a GPU whose memory is slower: stretch.sh FILE.cfg PERCENT, on stdout
#
# All times are whole multiples of a unit, 928 ns, say. The unit is stretched by PERCENT and rounded up to whole steps
# of the clock, and all times go with it, so that the plan stays what it is.
set -euo pipefail
if [ $# -ne 2 ]; then
  sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
[ -r "$1" ] || { echo "stretch: $1 cannot be read" >&2; exit 2; }
[[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || { echo "stretch: PERCENT '$2' is no whole number from 1 to 9999" >&2; exit 2; }

readonly place='\<(wcet|busy|start|step|hyperperiod|publish|period|deadline|lead)_ns = [0-9]+L'
unit=$({ grep -oE "$place" "$1" || true; } | sed -E 's/.* = ([0-9]+)L/\1/' | awk '
  { a = $1; while (a > 0) { b = unit % a; unit = a; a = b } }
  END { print unit + 0 }')
step=$(sed -nE 's/.*\<clock_step_ns = ([0-9]+)L.*/\1/p;' "$1" | head -n 1)
if [ "$unit" -eq 0 ] || [ "${step:-0}" -eq 0 ]; then
  echo "stretch: $1 has no times, or says no clock_step_ns" >&2
  exit 1
fi
readonly stretched=$(((unit * $2 + 100 * step - 1) / (100 * step) * step))
echo "# Times of $(basename "$1") with $stretched ns for each $unit."
awk -v place="$place" -v unit="$unit" -v stretched="$stretched" '
  {
    gsub(/\\</, "", place)
    done = ""
    while (match($0, place)) {
      before = substr($0, 1, RSTART - 1); time = substr($0, RSTART, RLENGTH)
      $0 = substr($0, RSTART + RLENGTH)
      split(time, part, / = /)
      done = done before (before ~ /[a-z_]$/ ? time : sprintf("%s = %.0fL", part[1], int(part[2]) / unit * stretched))
    }
    print done $0
  }' "$1"
