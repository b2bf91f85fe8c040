#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a gate holds, and what it cannot: a load that grows after planning, one that does not know the gate, a
# host that is stopped, a critical task that takes longer than planned. Each is done for real, and what is
# counted has to be what happened. A table says what held.
#   what_holds.sh TTPREM [BACKEND [FILE]]
# BACKEND is cpu (what needs other times than a computer's is on sim), or cuda, in more than a minute; exit status
# 77 without a GPU. FILE has a critical task and a load whose tile = [ N ]: its times are measured on cuda.
# ctest: TTPREM alone release timing
set -euo pipefail
ttprem=$(realpath "$1") backend=${2:-cpu}
schedules=$(realpath "$(dirname "$0")/../../schedules")
file=$schedules/examples/beside_a_load.cfg
[ "$backend" = cpu ] || file=$schedules/figures/best_effort_300.cfg
file=$(realpath "${3:-$file}")
if [ "$backend" = cuda ] && "$ttprem" info 2>&1 | grep '^cuda: not available'; then exit 77; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

row() { # CASE SEEN CONDITION
  local verdict=ok
  [ "$3" != - ] || verdict=seen # nothing to judge
  [ "$3" != 0 ] || { verdict=FAILED; failures=$((failures + 1)); }
  printf '%-6s  %-42s  %s\n' "$verdict" "$1" "$2" | tee -a table
}
in_json() { grep -m 1 "\"$2\": " "$1" | tr -dc '0-9.-'; } # FILE MEMBER: the first one
is() { awk "BEGIN { print ($1) ? 1 : 0 }"; }
prem() { timeout 120 "$ttprem" "$@" --quiet; }
measured() { # NAME HYPERPERIODS OPTION...: NAME.cfg in mode tt; NAME.json, NAME.txt
  prem run "$1.cfg" --backend "$backend" --mode tt --repeat "$2" --json "$1.json" "${@:3}" >"$1.txt" 2>&1 ||
    [ "$backend" = cpu ] || { cat "$1.txt"; exit 1; } # a busy computer may leave no undisturbed job
}
# The load's tile in times of what it is.
load_times() { awk -v by="$1" '/class = "best_effort"/ { load = 1 }
  load && match($0, /tile = \[ [0-9]+ \]/) {
    tile = substr($0, RSTART + 9, RLENGTH - 11) * by
    $0 = substr($0, 1, RSTART - 1) "tile = [ " tile " ]" substr($0, RSTART + RLENGTH); load = 0
  } { print }'; }

# ---- a plan that keeps what it promises --------------------------------------------------------------

load_times 0.5 <"$file" >small.cfg
profile=$(sed -n 's/^profiles:.*= "\(.*\)";.*/\1/p' small.cfg)
if [ -n "$profile" ]; then
  prem profile small.cfg --backend "$backend" --margin 10 --repeat 200 -o "$profile" >/dev/null
  prem plan small.cfg -o small.cfg >/dev/null
  for turn in --anew --raise; do
    prem profile small.cfg --backend "$backend" --margin 10 --times planned $turn --repeat 500 -o "$profile" >/dev/null
    [ $turn = --raise ] || prem plan small.cfg -o small.cfg >/dev/null
  done
else # a bound that a copy of the whole tile does not keep
  awk '/class = "best_effort"/ { load = 1 } load { gsub(/wcet_ns = [0-9]+L/, "wcet_ns = 600L") } { print }' small.cfg >bounded.cfg
  mv bounded.cfg small.cfg
fi
prem plan small.cfg -o planned.cfg >/dev/null
prem check planned.cfg >/dev/null
measured planned 2000
kept=$(in_json planned.json gate_overruns)
row "as planned" "$kept overruns of the gate" -

# ---- a load that grows after planning ----------------------------------------------------------------

load_times 2 <planned.cfg >doubled.cfg
status=0
prem check doubled.cfg >said 2>&1 || status=$?
row "bytes doubled after planning" "refused: $(grep -o 'E0[0-9]*' said | head -1), exit status $status" \
  "$(is "$status == 1 && $(grep -c E044 said) > 0")"
sed -i '/^ *kernels = "/d; s/ kernels = "[0-9a-f]*";//' doubled.cfg
measured doubled 2000 --with-disturbed
more=$(in_json doubled.json gate_overruns)
[ "$backend" = cpu ] && kept=0 # a computer's other work makes some in any case
row "the same, without the plan's word for it" "$more overruns of the gate, the longest $(in_json doubled.json by_ns) ns" \
  "$(is "$more > $kept && $(grep -c 'went on into closed windows' doubled.txt) == 1")"

# ---- a load that does not know the gate --------------------------------------------------------------

# The third word after the mode: the median of a company's responses.
p50() { awk -v company=" $1 +tt +[0-9]" '$0 ~ company { for (i = 1; $i != "tt"; ++i) { } print $(i + 3); exit }' isolated.txt; }
other='no gate' where=sim
[ "$backend" = cpu ] || { other='graph, no gate' where=$backend; }
if [ -n "$profile" ]; then cp planned.cfg foreign.cfg; else prem plan "$file" -o foreign.cfg >/dev/null; fi
prem isolate foreign.cfg --backend "$where" --modes tt --repeat 2000 >isolated.txt
gate=$(p50 gate) foreign=$(p50 "$other")
foreign=${foreign:-0} # not possible here
row "a load that does not know the gate" "median response on $where: $foreign ns, $gate with the gate" "$(is "$foreign > $gate")"

# ---- a host that is stopped for a second -------------------------------------------------------------

hyperperiods=4000 # of cpu: 4 s at a millisecond each
[ "$backend" = cpu ] || hyperperiods=20000
"$ttprem" run planned.cfg --quiet --backend "$backend" --mode tt --repeat $hyperperiods --json stopped.json >stopped.txt 2>&1 &
host=$!
sleep 2
kill -STOP $host
sleep 1
kill -CONT $host
wait $host || true
if [ "$backend" = cpu ]; then
  away=$(in_json stopped.json longest_away_ns)
  row "a host that is stopped for 1 s" "told apart: a core was away for $((away / 1000000)) ms" "$(is "$away > 900000000")"
else
  late=$(in_json stopped.json lateness_max_ns)
  row "a host that is stopped for 1 s" "the GPU went on: latest release $late ns" "$(is "$late < 100000000")"
fi

# ---- a critical task that takes longer than planned --------------------------------------------------

if [ -n "$profile" ]; then
  cp small.cfg short.cfg
  sed -i '/^plan:/,$d' short.cfg
  awk '!done && match($0, /prefetch: *\{ *wcet_ns = [0-9]+/) { # the first task is critical
      n = split(substr($0, RSTART, RLENGTH), words, " ")
      $0 = substr($0, 1, RSTART - 1) "prefetch: { wcet_ns = " int(words[n] / 4) substr($0, RSTART + RLENGTH); done = 1
    } { print }' "$profile" >shorter && mv shorter "$profile"
else
  sed 's/prefetch:  { wcet_ns = 25000L; }/prefetch:  { wcet_ns = 200L; }/' "$file" >short.cfg
fi
prem plan short.cfg -o short.cfg >/dev/null
measured short 2000 --with-disturbed
overruns=$(sed -n 's/^tt: \([0-9]*\) critical phases ended after their windows.*/\1/p' short.txt)
row "a critical task longer than planned" "${overruns:-0} critical phases after their windows, where the gate is open" "$(is "${overruns:-0} > 0")"

[ "$failures" -eq 0 ] || { cat said ./*.txt >&2; exit 1; }
