#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The log of late releases says what the trace of the same runs does, no more and no less.
#   late_log.sh TTPREM [BACKEND [FILE]]     cpu; an example whose windows are far too short
# ctest: TTPREM release
set -euo pipefail
ttprem=$(realpath "$1") backend=${2:-cpu}
file=${3:+$(realpath "$3")}
examples=$(realpath "$(dirname "$0")/../../schedules/examples")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
if [ -n "$file" ]; then cp "$file" file.cfg; else sed 's/wcet_ns = [0-9]*L/wcet_ns = 64L/g; s/late_ns = [0-9]*L/late_ns = 1L/' "$examples/conv2d.cfg" >file.cfg; fi
timeout 300 "$ttprem" run file.cfg --backend "$backend" --mode tt --repeat 5 --quiet --with-disturbed --no-save \
  --trace trace.csv --late-log late.csv --json result.json >/dev/null
late_ns=$(grep -m 1 '"late_ns": ' result.json | tr -dc 0-9)
awk -F, -v late="$late_ns" 'NR > 1 && $6 != "" && $8 - $6 > late { print "tt," $1 "," $2 "," $3 "," $4 "," $5 "," $8 - $6 }' \
  trace.csv | sort >expected
sed 1d late.csv | sort >found
head -n 1 late.csv | grep -qx 'mode,run,task,block,tile,phase,late_ns'
[ -s expected ] || { echo "nothing was late"; exit 1; }
diff expected found | head
cmp expected found
# Without a trace as well; and in one place at a time.
timeout 300 "$ttprem" compare file.cfg --backend "$backend" --modes tt,free --repeat 3 --quiet --with-disturbed --no-save \
  --no-records --late-log late.csv --json result.json >/dev/null
counted=$(awk -F'[:,]' '/^      "late_releases": / { sum += $2 } END { print sum + 0 }' result.json)
logged=$(sed 1d late.csv | wc -l)
echo "$(wc -l <expected) late releases, each logged; $logged of $counted without records"
[ "$counted" -gt 0 ] && [ "$logged" = "$counted" ] && [ "$(cut -d, -f1 late.csv | sort -u | tr '\n' ' ')" = "mode tt " ]
if "$ttprem" run file.cfg --backend sim --late-log same --trace same 2>message; then exit 1; fi
grep -q 'cannot both go to same' message
if "$ttprem" run file.cfg --backend sim --late-log no/such/folder/l.csv 2>message; then exit 1; fi
grep -q 'cannot write no/such/folder/l.csv' message
