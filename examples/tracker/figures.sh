#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measure the tracker and draw what was found: one page, and beside it each figure as JSON, text and SVG.
#   figures.sh BUILD FOLDER [STEP...]      accuracy lateness load instants timeline speed heat page; default: all
#
# BUILD is this example's. The environment may say:
#   OTB       a folder of sequences with ground truth, as fetch_otb.sh makes it; without it there is the synthetic video
#   ROUNDS    how often what is measured by the clock is repeated (3)
#   SEEDS     of the synthetic videos (1 2 3 4 5)
#   PREFIX    in front of each run by the clock, as "nice -n -20" or "chrt -f 10"
#   TTPREM_COMMIT  what was built; default: of the checkout that this script lies in
# Needs awk, jq and gnuplot; OpenCV's tracker is measured where python3 has it. About ten minutes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '3,4p' "$0" >&2; exit 2; }
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
steps=("$@")
[ $# -gt 0 ] || steps=(accuracy lateness load instants timeline speed heat page)
readonly tracker=$build/tracker trackview=$build/trackview ttprem=$build/track_ttprem hostile=$build/hostile
for program in "$tracker" "$trackview" "$ttprem" "$hostile"; do
  [ -x "$program" ] || { echo "figures: $program is not built" >&2; exit 1; }
done
readonly rounds=${ROUNDS:-3} seeds=${SEEDS:-1 2 3 4 5} otb=${OTB:-}
read -ra prefix <<<"${PREFIX:-}"
commit=${TTPREM_COMMIT:-$(git -C "$here" describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown)}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# ---- findings as lines ----
say() { # WORD...: a line of words
  local IFS=$'\t'
  echo "$*"
}
begin() { # NAME TITLE QUESTION
  say findings "$@"
  say command "examples/tracker/figures.sh BUILD FOLDER $1"
  say note "The tracker of commit $commit."
}
busy() { # what else had the machine
  local how=${PREFIX:+by \'$PREFIX\'}
  say note "Load averages of the last 1, 5 and 15 minutes when it began: $(cat "$place/began"); when it ended: $(cat "$place/ended"). Runs by the clock were begun ${how:-without a priority}."
}
finish() { # NAME: its lines are in $place/NAME
  "$trackview" findings "$out/$1.json" "$place/$1"
  "$ttprem" experiment "$out/$1.json" -o "$out" >"$out/$1.txt"
  rm -f "$out/$1.png"
  echo "$out/$1.json"
}
numbers() { # NAME <what the tracker printed: frames, P20, AUC, CLE of a pass
  awk -v name="$1" 'index($0, name) == 1 { print $(NF - 3) "\t" $(NF - 2) "\t" $(NF - 1) "\t" $NF; found = 1 }
    END { exit !found }'
}
follow() { # OPTION...: what the tracker prints, run plainly
  "$tracker" --backend plain --output "$place/followed" "$@"
}

# ---- accuracy ----
sequences() { [ -z "$otb" ] || for name in Crossing Football1 Couple; do [ ! -d "$otb/$name" ] || echo "$name"; done; }

opencv_from() { # FRAMES TRUTH SOURCE START: its log, scored
  local log=$place/opencv_kcf.csv
  "$here/opencv_kcf.py" "$1" "$2" "$log" --start "$4"
  "$trackview" score "$3" "$log" | awk 'NR == 2 { print $(NF - 4) "\t" $(NF - 3) "\t" $(NF - 1) "\t" $NF }'
}
opencv_starts() { # FRAMES TRUTH SOURCE COUNT: the mean over starts
  local i
  for ((i = 0; i < starts; ++i)); do opencv_from "$1" "$2" "$3" $(($4 * i / (2 * starts))); done |
    awk -v OFS='\t' '{ n += $1; p += $2; a += $3; c += $4 } END { printf "%d\t%.3f\t%.3f\t%.2f\n", n, p / NR, a / NR, c / NR }'
}
has_opencv() { "$here/opencv_kcf.py" --help >/dev/null 2>&1; }

accuracy_of_sequence() { # NAME
  local source=$otb/$1 scales frames
  for scales in 1 5; do
    follow --scales "$scales" --starts "$starts" "$source" >"$place/said"
    say row "$1" "ours, scales $scales" "one pass" "$(numbers 'one pass' <"$place/said")"
    say row "$1" "ours, scales $scales" "$starts starts" "$(numbers starts <"$place/said")"
  done
  has_opencv || return 0
  "$trackview" save "$source" "$place/frames.pgm" "$place/truth.csv"
  frames=$("$trackview" sum "$source" | sed 's/.*: \([0-9]*\) frames.*/\1/')
  say row "$1" "OpenCV, grey" "one pass" "$(opencv_from "$place/frames.pgm" "$place/truth.csv" "$source" 0)"
  say row "$1" "OpenCV, grey" "$starts starts" "$(opencv_starts "$place/frames.pgm" "$place/truth.csv" "$source" "$frames")"
  say row "$1" "OpenCV, colour" "one pass" "$(opencv_from "$source/img" "$place/truth.csv" "$source" 0)"
  say row "$1" "OpenCV, colour" "$starts starts" "$(opencv_starts "$source/img" "$place/truth.csv" "$source" "$frames")"
}
readonly starts=10
# What moves beside the target: its size, the light, the background; noise; a bar that hides it; all of it.
readonly videos='still= scale=scale=20 light=light=30 pan=pan=40 noise=noise=8 bar=bar=14 all=scale=20,light=20,pan=30,noise=6,bar=14'
accuracy_of_synth() { # NAME SETTINGS: a row for each seed
  local seed source scales
  for seed in $seeds; do
    source=synth:seed=$seed${2:+,$2}
    for scales in 1 5; do
      say row "$1" "$seed" "ours, scales $scales" "$(follow --scales "$scales" "$source" | numbers 'one pass')"
    done
    has_opencv || continue
    "$trackview" save "$source" "$place/frames.pgm" "$place/truth.csv"
    say row "$1" "$seed" "OpenCV" "$(opencv_from "$place/frames.pgm" "$place/truth.csv" "$source" 0)"
  done
}
spread() { # rows of a video, seed, tracker, frames, P20, AUC, CLE: over the seeds
  awk -F'\t' -v OFS='\t' '
    function put(key, name, value,    i) { # sorted
      for (i = n[key, name]++; i > 0 && list[key, name, i] > value; --i) list[key, name, i + 1] = list[key, name, i]
      list[key, name, i + 1] = value
    }
    function median(key, name) { return list[key, name, int((n[key, name] + 1) / 2)] }
    { key = $2 OFS $4; if (!(key in seen)) { seen[key]; keys[++count] = key }
      put(key, "P20", $6 + 0); put(key, "AUC", $7 + 0); put(key, "CLE", $8 + 0) }
    END { for (i = 1; i <= count; ++i) { k = keys[i]; m = n[k, "CLE"]
      print "row", k, m, list[k, "P20", 1], median(k, "AUC"), list[k, "AUC", 1], median(k, "CLE"), list[k, "CLE", m] } }'
}
accuracy() {
  local video
  {
    begin tracker_accuracy "How well the tracker follows" "How far are its boxes from where the target is, and those of OpenCV's KCF on the same frames?"
    say note "One pass begins in the first frame; of several starts, spread over the first half, the mean is taken. P20: share of frames whose centre is at most 20 px off. AUC: area under the success curve, 0.952 at best. CLE: mean distance of the centres."
    say note "OpenCV's KCF never says that it lost its target (its threshold is off). On synthetic videos and where 'grey' is said it sees the grey frames that our tracker sees; where 'colour' is said the pictures in colour, which it uses and ours does not."
    if [ -n "$(sequences)" ]; then
      say table sequences "Sequences of the object tracking benchmark"
      say columns sequence tracker scored frames P20 AUC 'CLE|px'
      for video in $(sequences); do accuracy_of_sequence "$video"; done >"$place/sequences"
      cat "$place/sequences"
    fi
    for video in $videos; do accuracy_of_synth "${video%%=*}" "${video#*=}"; done >"$place/synthetic"
    say table synthetic "Synthetic videos, 300 frames each: over the seeds"
    say columns video tracker seeds 'least P20' 'median AUC' 'least AUC' 'median CLE|px' 'largest CLE|px'
    spread <"$place/synthetic"
    say table synthetic_all "Synthetic videos, each"
    say columns video seed tracker frames P20 AUC 'CLE|px'
    cat "$place/synthetic"
    [ -z "$(sequences)" ] || say chart bars sequences "Area under the success curve" sequence AUC tracker
    say chart bars synthetic "Mean distance of the centres, median of the seeds" video 'median CLE' tracker
  } >"$place/accuracy"
  # Bars stand side by side: of the sequences the starts alone.
  awk -F'\t' '$1 == "table" { inside = $2 == "sequences" } !(inside && $1 == "chart") { print }' "$place/accuracy" |
    sed 's/^chart\tbars\tsequences/chart\tbars\tstarts/' >"$place/with_starts"
  if [ -n "$(sequences)" ]; then
    {
      sed '/^chart/d' "$place/with_starts"
      say table starts "The same, $starts starts alone"
      say columns sequence tracker scored frames P20 AUC 'CLE|px'
      grep "$starts starts" "$place/sequences"
      grep '^chart' "$place/with_starts"
    } >"$place/accuracy"
  fi
  finish accuracy
}

# ---- what lateness costs, by arithmetic ----
late_row() { # NAME SOURCE WHAT OPTION...
  local name=$1 source=$2 what=$3
  shift 3
  follow --starts "$starts" "$@" "$source" >"$place/said"
  say row "$name" "$what" "$(numbers 'one pass' <"$place/said" | cut -f 2-)" "$(numbers starts <"$place/said" | cut -f 2-)"
}
late_rows() { # NAME SOURCE
  local n
  late_row "$1" "$2" "every frame, at once"
  for n in 2 3 4; do late_row "$1" "$2" "every ${n}. frame only" --step "$n"; done
  for n in 1 2 4; do late_row "$1" "$2" "$n frames late" --late "$n"; done
}
lateness() {
  local name
  {
    begin tracker_lateness "What lateness costs" "How well does a tracker follow that leaves frames out, or whose boxes come late?"
    say note "A frame that was left out is scored with the last box; a box that is N frames late with where the target is by then. No clock is in it."
    say note "Scales 1; the synthetic video's background moves and its target by up to 6 px a frame and axis."
    say table lateness "Lateness by arithmetic"
    say columns sequence boxes P20 AUC 'CLE|px' 'P20 of starts' 'AUC of starts' 'CLE of starts|px'
    for name in $(sequences); do late_rows "$name" "$otb/$name"; done
    late_rows synthetic synth:pan=40,speed=1536
    say chart bars lateness "Area under the success curve, mean of $starts starts" boxes 'AUC of starts' sequence
  } >"$place/lateness"
  finish lateness
}

# ---- by the clock ----
timed() { # OPTION...: what the tracker prints of a camera
  "${prefix[@]}" "$tracker" --camera --output "$place/timed" "$@"
}
modes_of() { # ROUND: in another order in each, so that none always follows the same company
  case $(($1 % 3)) in
  1) echo tt free lock ;;
  2) echo free lock tt ;;
  0) echo lock tt free ;;
  esac
}

load_round() { # ROUND
  local period mode ahead modes
  modes=$(modes_of "$1")
  if (($1 % 2)); then modes="tt_75 $modes"; else modes="$modes tt_75"; fi
  for period in 20 10 7 5 4 3 2.5; do
    for mode in $modes; do
      if [ "$mode" = tt_75 ]; then ahead=(--ahead 75); else ahead=(); fi
      # A plan has no room below 3 ms: then it keeps that period, and frames are left out.
      timed --mode "${mode%_75}" "${ahead[@]}" --period "$(awk "BEGIN { print ($period < 3 ? 3 : $period) }")ms" --every "${period}ms" \
        "$load_video" >"$place/said"
      awk -v OFS='\t' -v key="$1$(printf '\t')$period$(printf '\t')$mode" '/ frames, / { frames = $1; tracked = $3 }
        /^frame to boxes/ { age = $5 } /^streaming/ { print "row", key, tracked / frames * 100, age, $3, $4 }' "$place/said"
    done
  done
}
readonly load_video=synth:pan=40,speed=1536
load() {
  local round
  {
    begin tracker_load "Accuracy over load" "How well does the tracker follow a camera that is as fast as the machine, and faster?"
    say note "300 frames of $load_video, one target, one scale, 2 blocks. A frame is scored with the box that could be seen when it was taken. Rounds are interleaved, with the modes in another order in each; a row is the median of $rounds, with the least and the largest."
    say note "A frame comes three quarters of a period before the plan takes it, or less, from a quarter on, where only that lets its box be there when the next one comes; of tt_75 always three quarters."
    for ((round = 1; round <= rounds; ++round)); do load_round "$round"; done >"$place/loads"
    cut -d' ' -f1-3 /proc/loadavg >"$place/ended"
    busy
    say table load "A frame every so often"
    say columns 'period|ms' mode 'AUC' 'least AUC' 'largest AUC' 'P20' 'frames with a result|%' 'frame to boxes|ms'
    sort -t "$(printf '\t')" -k 3,3gr -k 4,4 -k 8,8g "$place/loads" | awk -F'\t' -v OFS='\t' '
      function put() { if (n) print "row", before, auc[int((n + 1) / 2)], auc[1], auc[n], p[int((n + 1) / 2)], share / n, age / n }
      { key = $3 OFS $4 } key != before { put(); n = share = age = 0; before = key }
      { auc[++n] = $8; p[n] = $7; share += $5; age += $6 } END { put() }'
    say table load_all "Each run"
    say columns round 'period|ms' mode 'frames with a result|%' 'frame to boxes|ms' 'P20' 'AUC'
    cat "$place/loads"
    say chart lines load "Streaming accuracy over the time between frames" period AUC mode
  } >"$place/load"
  finish load
}

# ---- the published instant ----
instants_of() { # ROUND MODE COMPANY
  timed --mode "$2" --period 10ms --publish 9ms --frames 250 synth:frames=0 >/dev/null
  awk -F, -v OFS='\t' -v round="$1" -v mode="$2" -v company="$3" 'NR > 1 { print mode, company, $3 - $2, round }' "$place/timed/instants.csv"
}
instants() {
  local round mode company other
  : >"$place/ways"
  for ((round = 1; round <= rounds; ++round)); do
    for company in alone "beside a copy"; do
      other=
      if [ "$company" != alone ]; then
        "$hostile" &
        other=$!
      fi
      for mode in $(modes_of "$round"); do instants_of "$round" "$mode" "$company" >>"$place/ways"; done
      [ -z "$other" ] || { kill "$other" && wait "$other"; } 2>/dev/null || true
    done
  done
  cut -d' ' -f1-3 /proc/loadavg >"$place/ended"
  {
    begin tracker_instants "When boxes are shown" "How far from its planned instant is a frame's box shown, alone and beside a copy?"
    say note "A frame every 10 ms, its box planned to be shown 9 ms behind it; $rounds rounds of 250 frames in each mode and company, interleaved, the modes in another order in each. The copy is a thread a core that moves 64 MiB over and over. Frames without a result are not in it."
    busy
    say table instants "Shown behind the planned instant"
    say columns mode company frames of 'least|us' 'median|us' 'p99|us' 'longest|us' 'more than 1 ms late|%'
    sort -t "$(printf '\t')" -k 2,2 -k 1,1 -k 3,3g "$place/ways" | awk -F'\t' -v OFS='\t' -v most=$((rounds * 250)) '
      function us(q) { at = int(q * n + 0.999999); return v[at < 1 ? 1 : at] / 1000 }
      function put() { if (n) print "row", before, n, most, us(0), us(0.5), us(0.99), us(1), late / n * 100 }
      { key = $1 OFS $2 } key != before { put(); n = late = 0; before = key } { v[++n] = $3; late += $3 > 1e6 } END { put() }'
    say table instants_all "Each run"
    say columns mode company round frames 'median|us' 'p99|us' 'longest|us' 'more than 1 ms late|%'
    sort -t "$(printf '\t')" -k 2,2 -k 1,1 -k 4,4g -k 3,3g "$place/ways" | awk -F'\t' -v OFS='\t' '
      function us(q) { at = int(q * n + 0.999999); return v[at < 1 ? 1 : at] / 1000 }
      function put() { if (n) print "row", before, n, us(0.5), us(0.99), us(1), late / n * 100 }
      { key = $1 OFS $2 OFS $4 } key != before { put(); n = late = 0; before = key } { v[++n] = $3; late += $3 > 1e6 } END { put() }'
    say table distribution "The same as shares: so many boxes are shown no later"
    say columns 'behind|us' 'share|%' run
    sort -t "$(printf '\t')" -k 2,2 -k 1,1 -k 3,3g "$place/ways" | awk -F'\t' -v OFS='\t' '
      function put(  i, at) { for (i = 0; i <= 100 && n; ++i) { at = int(i * n / 100 + 0.999999); print "row", v[at < 1 ? 1 : at] / 1000, i, before } }
      { key = $1 ", " $2 } key != before { put(); n = 0; before = key } { v[++n] = $3 } END { put() }'
    say chart log-steps distribution "Boxes shown no later than so long behind their instant" behind share run
  } >"$place/instants"
  finish instants
}

# ---- one frame as a plan ----
timeline() {
  "$tracker" --schedule --period 10ms >"$place/frame.cfg"
  "$ttprem" plan "$place/frame.cfg" -q --steps 2000 --output "$out/timeline.cfg" --svg "$out/timeline.svg"
  echo "$out/timeline.svg"
}

# ---- where the time goes ----
tiles_of() { # PLANNED.cfg: task, how many tiles it has
  tr -d '\n' <"$1" | grep -o '{ task = "[a-z_]*"; phase = "compute";[^}]*}' | awk -F'"' '
    function value(key) { return match($0, key " = [0-9]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : 1 }
    { tiles[$2] += value("count") * value("repeat") } END { for (task in tiles) print task "\t" tiles[task] }'
}
# Of each task: tiles, the medians of its phases in us, their sum over all tiles; then the frame.
profile_rows() { # PROFILE.json TILES
  say table speed "Medians of the phases, and what they sum up to"
  say columns task tiles 'prefetch|us' 'compute|us' 'writeback|us' 'all tiles|us' 'share|%'
  # Steady tiles where there are some; a task of few tiles has cold ones alone.
  jq -r '.tables[] | select(.name == "times") | .rows[] | select(.[2] == "alone") | [.[0], .[1], .[3], .[8]] | @tsv' "$1" |
    awk -F'\t' -v OFS='\t' 'FNR == NR { tiles[$1] = $2; next }
      !($1 in seen) { seen[$1]; names[++count] = $1 }
      !(($1, $2) in ns) || $3 == "steady" { ns[$1, $2] = $4 }
      END {
        for (i = 1; i <= count; ++i) { t = names[i]; sum[t] = tiles[t] * (ns[t, "prefetch"] + ns[t, "compute"] + ns[t, "writeback"]); all += sum[t]; n += tiles[t] }
        for (i = 1; i <= count; ++i) { t = names[i]; print "row", t, tiles[t], ns[t, "prefetch"] / 1000, ns[t, "compute"] / 1000, ns[t, "writeback"] / 1000, sum[t] / 1000, sum[t] / all * 100 }
        printf "verdict\tA frame is %d tiles that take %.2f ms of one core, features %.0f %% of it.\n", n, all / 1e6, (sum["features"] + sum["learn_features"]) / all * 100 }' "$2" -
  say chart bars speed "A frame's time by task, one core" task 'share'
}
speed() {
  {
    begin tracker_speed "Where a frame's time goes" "What do the tracker's phases take, and how many frames a second does a core do?"
    say note "Phases as \`track_ttprem profile\` has measured them in the tracker's schedule, alone; a frame is the sum over the tiles of all tasks by their median, one core."
    "$tracker" --schedule --period 10ms >"$place/frame.cfg"
    "${prefix[@]}" "$ttprem" profile "$place/frame.cfg" --backend cpu -q --repeat 60 --output "$place/profile.cfg" --json "$place/profile.json" >/dev/null
    cut -d' ' -f1-3 /proc/loadavg >"$place/ended"
    busy
    "$ttprem" plan "$place/frame.cfg" -q --time-limit 0 --output "$place/planned.cfg"
    tiles_of "$place/planned.cfg" >"$place/tiles"
    profile_rows "$place/profile.json" "$place/tiles"
  } >"$place/speed"
  finish speed
}

heat() { # three targets that grow and shrink, so that there is something to share out
  "${prefix[@]}" "$tracker" --heat --frames 60 --scales 3 --output "$place/heated" synth:targets=3,scale=20 >/dev/null
  cp "$place/heated/heat.json" "$place/heated/heat.svg" "$out/"
  "$ttprem" experiment "$out/heat.json" -o "$place/heated" >"$out/heat.txt"
  echo "$out/heat.json"
}

# ---- all of it ----
page() {
  local name files=() logs=()
  local -A heading=([accuracy]="How well it follows" [lateness]="What lateness costs" [load]="Accuracy over load"
    [instants]="When boxes are shown" [speed]="What tasks take" [heat]="Where the time goes")
  {
    echo "examples/tracker/figures.sh: the tracker of commit $commit"
    echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -sr), $(date -u +%FT%TZ)"
  } >"$out/provenance.txt"
  files+=(--add "$out/provenance.txt")
  for name in accuracy lateness load instants speed heat; do
    if [ -e "$out/$name.json" ]; then
      files+=(--head "${heading[$name]}" --add "$out/$name.txt" --add "$out/$name.svg")
    fi
  done
  [ ! -e "$out/timeline.svg" ] || files+=(--head "One frame as a plan" --add "$out/timeline.svg")
  follow --scales 5 "$page_video" >/dev/null
  mv "$place/followed/track.csv" "$place/ttprem KCF.csv"
  logs+=("$page_video" "$place/ttprem KCF.csv")
  if has_opencv; then
    "$trackview" save "$page_video" "$place/frames.pgm" "$place/truth.csv"
    "$here/opencv_kcf.py" "$place/frames.pgm" "$place/truth.csv" "$place/OpenCV KCF.csv"
    logs+=("$place/OpenCV KCF.csv")
  fi
  "$trackview" "${files[@]}" page "$out/index.html" "${logs[@]}"
  echo "$out/index.html"
}
readonly page_video=synth:scale=20,light=20,pan=30,noise=6

for step in "${steps[@]}"; do
  cut -d' ' -f1-3 /proc/loadavg >"$place/began"
  case $step in
  accuracy | lateness | load | instants | timeline | speed | heat | page) "$step" ;;
  *) echo "figures: '$step' is none of accuracy, lateness, load, instants, timeline, speed, heat, page" >&2 && exit 2 ;;
  esac
done
