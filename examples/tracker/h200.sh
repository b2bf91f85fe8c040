#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measure the tracker on a GPU, an H200 say, and its baselines beside it: one folder of results in nine minutes at most.
#   h200.sh BUILD FOLDER [STEP...]      bits clock one baselines rate heat ffts page; default: all. And: load, blocks, long, stopped
#     bits       the log is that of the kernels' references, bit for bit: 1, 3 and 64 targets; all sequences of OTB
#     clock      all targets at the period: frames lost, boxes against their planned instant; alone and in company
#     one        one target: from a frame to its position, shown at once and at its instant
#     baselines  the same two as ordinary CUDA
#     rate       frames a second, as fast as they go
#     heat       where a frame's time goes
#     ffts       Fourier transforms beside cuFFT's
#     load       how well targets are followed that move while boxes are under way, over the time between frames
#     page       index.html, of all that lies in FOLDER: on another machine, where there is gnuplot, if need be
#     blocks     one target at once, and frames a second, with other numbers of blocks and threads
#     long       clock alone, for LONG seconds
#     stopped    clock alone, the host stopped (SIGSTOP) for 3 ms twenty times; without a queue, and with one of 8 frames
#
# BUILD is this example's. The environment may say:
#   BACKEND (cuda)  TARGETS (64)  SCALES (5)  SIZE (1280x960)  PERIOD_US (1000)  PUBLISH_US (nine tenths of it)
#   BLOCKS    of the step of that name, BLOCKSxTHREADS each (16x352 132x352 132x608 264x352 264x480)
#   QUEUE     frames that wait in a queue (0): as many periods older, and none lost to a host that is late by less
#   DURATION  seconds of the run on time and alone (60); the others take a quarter or a sixth       LONG (600)
#   LOAD      of the step of that name, per cent of PERIOD_US from frame to frame (200 100 60 40 35 30 25 20)
#   ROUNDS    how often they are measured (3), in 50 s each at most
#   LIMIT     begin nothing behind so many seconds (520)      CHECKED  targets whose bits are compared (1 3 64)
#   OTB       a folder of sequences, as fetch_otb.sh makes it, whose bits are compared as well (none); where there is no ffmpeg,
#             of NAME.pgm and NAME.csv, as `trackview save` makes them
#   TTPREM_COMMIT  what was built; default: of the checkout that this script lies in
# A command that fails, or has no time, is told at the end, and the next one begins. Exit status: 0, or 1 where one did.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '3,16p' "$0" >&2; exit 2; }
build=$(realpath "$1") && mkdir -p "$2" && out=$(realpath "$2") || exit 2
shift 2
steps=("$@")
if [ $# -eq 0 ]; then
  steps=(bits clock one baselines rate heat ffts)
  ! command -v gnuplot >/dev/null || steps+=(page)
fi
readonly tracker=$build/tracker trackview=$build/trackview baselines=$build/track_baselines hostile=$build/hostile
for program in "$tracker" "$trackview" "$hostile" "$build/track_ttprem"; do
  [ -x "$program" ] || { echo "h200: $program is not built" >&2; exit 1; }
done
readonly backend=${BACKEND:-cuda} targets=${TARGETS:-64} scales=${SCALES:-5} size=${SIZE:-1280x960}
readonly period_us=${PERIOD_US:-1000} duration=${DURATION:-60} long=${LONG:-600} checked=${CHECKED:-1 3 64}
readonly load=${LOAD:-200 100 60 40 35 30 25 20} rounds=${ROUNDS:-3}
until=${LIMIT:-520} # seconds since the script began
queue=${QUEUE:-0}
[[ $queue =~ ^[0-9]+$ ]] || { echo "h200: QUEUE '$queue' is no whole number; see the head of this script" >&2; exit 2; }
for number in "$targets" "$scales" "$period_us" "${PUBLISH_US:-1}" "$duration" "$long" "$until" "$rounds" $load; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || { echo "h200: '$number' is no whole number above 0; see the head of this script" >&2; exit 2; }
done
[ -z "${OTB:-}" ] || [ -d "$OTB" ] || { echo "h200: OTB '$OTB' is no folder; see the head of this script" >&2; exit 2; }
readonly publish_us=${PUBLISH_US:-$((period_us * 9 / 10))}
for step in "${steps[@]}"; do
  case $step in
  bits | clock | one | baselines | rate | heat | ffts | load | page | blocks | long | stopped) ;;
  *) echo "h200: '$step' is none of bits, clock, one, baselines, rate, heat, ffts, load, page, blocks, long, stopped" >&2 && exit 2 ;;
  esac
done
commit=${TTPREM_COMMIT:-$(git -C "$here" describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown)}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'interrupted=yes' INT TERM
failed=() interrupted=

# ---- running ----
say() { # WORD...: a line of words
  local IFS=$'\t'
  echo "$*"
}
tell() { # NAME WHAT: one line of steps.txt
  printf '%-28s %s\n' "$1" "$2" | tee -a "$out/steps.txt"
}
missed() { # NAME WHY
  failed+=("$1: $2")
  tell "$1" "$2"
}
# run NAME SECONDS COMMAND...: what it says goes to NAME.txt, behind the command and the date.
run() {
  local name=$1 seconds=$2 status=0 begun=$SECONDS left=$((until - SECONDS))
  shift 2
  [ -z "$interrupted" ] || { missed "$name" "interrupted before it"; return 1; }
  [ "$left" -gt 0 ] || { missed "$name" "no time was left"; return 1; }
  [ "$seconds" -le $((left + 10)) ] || seconds=$((left + 10))
  printf '# %s\n# commit %s, %s\n' "$*" "$commit" "$(date -u +%FT%TZ)" >"$out/$name.txt"
  timeout -k 10 "$seconds" "$@" >>"$out/$name.txt" 2>&1 || status=$?
  [ "$status" -eq 0 ] && tell "$name" "$((SECONDS - begun)) s" && return
  missed "$name" "status $status after $((SECONDS - begun)) s: $(tail -n 1 "$out/$name.txt" | cut -c 1-160)"
  return 1
}
attempt() { # as run; that it fails is no failure
  local before=(${failed[@]+"${failed[@]}"})
  run "$@" && return
  failed=(${before[@]+"${before[@]}"})
  return 1
}
provenance() {
  {
    echo "examples/tracker/h200.sh, commit $commit, $(date -u +%FT%TZ), backend $backend"
    echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -sr), load $(cut -d' ' -f1-3 /proc/loadavg)"
    timeout 20 nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw,mig.mode.current,compute_mode \
      --format=csv 2>/dev/null || echo "no nvidia-smi"
    timeout 20 "$build/track_ttprem" info 2>/dev/null
  } >"$out/provenance$1.txt"
}
# Their targets are up to 42 pixels wide: windows of a reach of 1 do.
readonly everything=(--reach 1 "synth:frames=0,targets=$targets,size=$size,box=24x20,scale=15")
readonly single=(--reach 1 synth:frames=0,scale=5)
video_of() { if [ "$1" = 1 ]; then video=("${single[@]}"); else video=("${everything[@]}"); fi; } # TARGETS: into `video`
frames_in() { echo $(($1 * 1000000 / period_us + 1)); } # SECONDS

# ---- bits ----
same_bits() { # NAME OPTION...: by the references, and by the backend
  local name=$1
  shift
  rm -rf "$place/plain" "$place/bits"
  run "${name}_references" 60 "$tracker" --backend plain -o "$place/plain" "$@" || return
  run "$name" 60 "$tracker" --backend "$backend" -o "$place/bits" "$@" || return
  if cmp "$place/plain/track.csv" "$place/bits/track.csv" >>"$out/$name.txt" 2>&1; then
    echo "equal to the references' log" >>"$out/$name.txt"
  else
    missed "$name" "another log than by the references"
  fi
}
bits() {
  local n s frames options source
  for source in ${OTB:+"$OTB"/*}; do
    options=("$source")
    [[ $source != *.pgm ]] || options+=(--truth "${source%.pgm}.csv")
    [ -d "$source" ] || [ ${#options[@]} -gt 1 ] || continue
    for s in 1 5; do same_bits "bits_$(basename "$source" .pgm)x$s" --scales "$s" "${options[@]}"; done
  done
  for n in $checked; do
    for s in 1 "$scales"; do
      frames=$((600 / (n * (s + 1)) + 5))
      options=(--frames "$frames" --targets "$n" --scales "$s" "synth:targets=$n,size=$size,box=24x20,scale=15,noise=4")
      [ "$n" = 1 ] && [ "$s" != 1 ] || options+=(--reach 1) # as below: regions are cut otherwise
      [ ! -e "$place/bits_${n}x$s" ] || continue
      mkdir "$place/bits_${n}x$s"
      same_bits "bits_${n}x$s" "${options[@]}"
    done
  done
}

# ---- by the clock ----
timed() { # NAME SECONDS TARGETS SCALES MODE OPTION...: frames by the clock, as many as come in so many seconds
  local name=$1 seconds=$2 n=$3 s=$4 mode=$5 video
  shift 5
  video_of "$n"
  run "$name" $((seconds + 60)) "$tracker" --backend "$backend" --mode "$mode" --camera --queue "$queue" --period "${period_us}us" \
    --publish "${publish_us}us" --hold 60 --log 100 --frames "$(frames_in "$seconds")" --targets "$n" --scales "$s" \
    -o "$place/$name" "$@" "${video[@]}" || return 1
  keep "$name" "$place/$name/instants.csv"
  cp "$place/$name/schedule.cfg" "$out/$name.cfg"
}
keep() { # NAME FILE: its instants
  [ -s "$2" ] && gzip -9nc "$2" >"$out/$1.instants.csv.gz" && cp "$2" "$place/$1.instants.csv"
}
clock() {
  local quarter=$(((duration + 3) / 4)) mode company other
  timed clock_tt_alone "$duration" "$targets" "$scales" tt || # a plan may have no room in that period: the shortest then
    run clock_tt_own_period $((quarter + 60)) "$tracker" --backend "$backend" --camera --hold 60 --log 100 \
      --frames "$(frames_in "$quarter")" --targets "$targets" --scales "$scales" -o "$place/own_period" "${everything[@]}"
  timed clock_free_alone "$quarter" "$targets" "$scales" free
  for company in edges copy; do
    for mode in tt free; do
      timed "clock_${mode}_$company" "$quarter" "$targets" "$scales" "$mode" --beside "$company"
    done
  done
  "$hostile" $((($(nproc) + 1) / 2)) & # on the host: it feeds the frames
  other=$!
  for mode in tt free; do timed "clock_${mode}_hostile_host" "$quarter" "$targets" "$scales" "$mode"; done
  { kill "$other" && wait "$other"; } 2>/dev/null
}
long() { # beyond the nine minutes
  local before=$until
  until=$((SECONDS + long + 120))
  timed long_tt_alone "$long" "$targets" "$scales" tt
  until=$before
}
stopped() {
  local before=$queue times=20
  for queue in 0 8; do
    { # by then it has measured its windows, and follows
      sleep 8
      for ((i = 1; i <= times; ++i)); do
        follower=$(pgrep -n -f "$place/stopped_queue_$queue") && kill -STOP "$follower" && sleep 0.003 && kill -CONT "$follower" || break
        echo stopped
        sleep 0.3
      done >"$place/stops"
    } 2>/dev/null &
    timed "stopped_queue_$queue" 16 "$targets" "$scales" tt
    wait $!
    echo "The process was stopped for 3 ms $(wc -l <"$place/stops") times" >>"$out/stopped_queue_$queue.txt"
    [ "$(wc -l <"$place/stops")" -eq $times ] || missed "stopped_queue_$queue" "it could not be stopped $times times"
  done
  queue=$before
}
one() {
  local mode sixth=$(((duration + 5) / 6)) name
  for mode in tt free; do timed "one_$mode" "$sixth" 1 1 "$mode"; done
  for mode in tt free; do # a frame begins the work, and finds the one before it done
    name=one_at_once_$mode
    run "$name" $((sixth + 60)) "$tracker" --backend "$backend" --mode "$mode" --period "$((period_us / 2))us" --every "${period_us}us" \
      --hold 60 --log 100 --frames "$(frames_in "$sixth")" --targets 1 --scales 1 -o "$place/$name" "${single[@]}" || continue
    cp "$place/$name/schedule.cfg" "$out/$name.cfg"
  done
}

# ---- as ordinary CUDA ----
ordinary() { # NAME SECONDS TARGETS SCALES OPTION...
  local name=$1 seconds=$2 n=$3 s=$4 way video
  shift 4
  video_of "$n"
  run "$name" $((seconds * 3 + 90)) "$baselines" --period "${period_us}us" --publish "${publish_us}us" --hold 60 --log 100 \
    --frames "$(frames_in "$seconds")" --targets "$n" --scales "$s" --compare $((n > 8 ? 5 : 20)) -o "$place/$name" "$@" "${video[@]}"
  for way in stream priority graph; do
    [ ! -e "$place/$name/$way/instants.csv" ] || keep "${name}_$way" "$place/$name/$way/instants.csv"
  done
  [ ! -e "$place/$name/baselines.json" ] || cp "$place/$name/baselines.json" "$out/$name.json"
}
baselines() {
  local sixth=$(((duration + 5) / 6)) company
  [ -x "$baselines" ] || { missed baselines "track_baselines is not built: there was no CUDA compiler, or no cuFFT"; return; }
  ordinary one_baselines "$sixth" 1 1
  ordinary clock_baselines_alone "$sixth" "$targets" "$scales" --streams 8
  for company in edges copy; do ordinary "clock_baselines_$company" "$sixth" "$targets" "$scales" --streams 8 --beside "$company"; done
}

# ---- as fast as they go ----
rate() {
  local mode part frames=$((duration * 20))
  for mode in tt free; do
    run "rate_$mode" 60 "$tracker" --backend "$backend" --mode "$mode" --hold 60 --log 50 --frames "$frames" --targets "$targets" \
      --scales "$scales" -o "$place/rate" "${everything[@]}"
    [ ! -e "$place/rate/schedule.cfg" ] || mv "$place/rate/schedule.cfg" "$out/rate_$mode.cfg"
    for part in 80 60 50 40 30 25 20; do # of the period, until there is no plan
      attempt "rate_${mode}_$part" 40 "$tracker" --backend "$backend" --mode "$mode" --period "$((period_us * part / 100))us" --hold 60 \
        --log 50 --frames "$frames" --targets "$targets" --scales "$scales" -o "$place/rate" "${everything[@]}" || break
    done
  done
  [ ! -x "$baselines" ] || run rate_baselines 90 "$baselines" --hold 60 --compare 0 --frames "$frames" --targets "$targets" \
    --scales "$scales" --streams 8 -o "$place/rate_baselines" "${everything[@]}"
}

blocks() {
  local of count threads part name
  for of in ${BLOCKS:-16x352 132x352 132x608 264x352 264x480}; do
    count=${of%x*} threads=${of#*x}
    name=one_at_once_free_$of
    attempt "$name" 30 "$tracker" --backend "$backend" --mode free --period "$((period_us / 2))us" --every "${period_us}us" --hold 60 \
      --log 100 --frames "$(frames_in 2)" --targets 1 --scales 1 --blocks "$count" --threads "$threads" -o "$place/$name" "${single[@]}" || true
    [ "$count" -ge 100 ] || continue
    for part in 30 25 20; do # not held up by its period, until there is no plan
      attempt "rate_free_${of}_$part" 40 "$tracker" --backend "$backend" --mode free --period "$((period_us * part / 100))us" --hold 60 \
        --log 50 --frames $((duration * 20)) --targets "$targets" --scales "$scales" --blocks "$count" --threads "$threads" \
        -o "$place/rate" "${everything[@]}" || break
    done
  done
}

heat() {
  run heat 60 "$tracker" --backend "$backend" --heat --hold 60 --frames 45 --targets "$targets" --scales "$scales" -o "$place/heat" "${everything[@]}"
  [ ! -e "$place/heat/heat.json" ] || cp "$place"/heat/heat.* "$out/"
}

ffts() {
  [ -x "$build/track_ffts" ] || { missed ffts "track_ffts is not built: there was no CUDA compiler, or no cuFFT"; return; }
  run ffts 60 "$build/track_ffts"
}

# ---- accuracy over the time between frames ----
# Targets move by up to 4 px a frame along each axis: a box that is a frame late costs a fifth of the accuracy. All runs see
# the same frames, to and fro; from stdin, since the tracker draws no pictures of those.
readonly moving=synth:frames=0,targets=$targets,size=$size,box=24x20,scale=15,speed=1024 held=40
follow_moving() { # run|attempt NAME OPTION...
  local how=$1 name=$2
  shift 2
  "$how" "$name" 60 "$tracker" --backend "$backend" --targets "$targets" --scales "$scales" --reach 1 --hold $held \
    --truth "$place/moving.csv" "$@" - <"$place/moving.pgm"
}
shortest_of() { # into `shortest`: the shortest period that the machine keeps up with, us
  local part taken
  for part in $(tr ' ' '\n' <<<"$load" | sort -n); do # with room for a twentieth more than a frame takes
    follow_moving attempt "load/limit_$part" --period "$((period_us * part / 100))us" --frames 200 -o "$place/load" || continue
    taken=$(number "$out/load/limit_$part.txt" '^taken: ([0-9.]+)')
    shortest=$(awk -v taken="$taken" -v planned=$((period_us * part / 100)) \
      'BEGIN { us = taken > 0 ? 1.05e6 / taken : 0; print int(us > planned ? us + 1 : planned) }')
    return
  done
  return 1
}
planned_for() { # PERIOD: a profile of windows for it, measured once, so that all runs have the same plan
  local name=load/plan_${1}us times=measure
  [ "$backend" != sim ] || times=built-in
  [ ! -e "$place/$1.cfg" ] || return 0
  follow_moving run "$name" --schedule --times $times --camera --period "${1}us" || return 1
  {
    echo 'version = 1; tasks = ('
    sed -nE 's/^( *\{ name = "[a-z_]+";) kernel.*/\1/p; /wcet_ns/p' "$out/$name.txt"
    echo ');'
  } >"$place/$1.cfg"
}
load_run() { # ROUND PERIOD MODE: rows of what it said
  local period=$2 mode=$3 planned=$2 name=load/$3_$2us_$1 frames=$((250000 / $2)) every=() way ahead=()
  [ $frames -ge 100 ] || frames=100
  if [ "$mode" = ordinary ]; then
    run "$name" 60 "$baselines" --period "${period}us" --hold $held --log $frames --frames $frames --targets "$targets" --scales "$scales" \
      --reach 1 --streams 8 --compare 0 --truth "$place/moving.csv" -o "$place/ordinary" "$place/moving.pgm" || return
    for way in stream priority graph; do
      awk -v OFS='\t' -v round="$1" -v period="$period" -v way=$way '$1 != way ":" { next }
        $3 == "frames," { shown = $2 / ($2 + $4) * 100 } $2 == "frame" { age = $6 }
        $2 == "streaming:" { print "row", round, period, way, shown, age, $6 + 0, $8 + 0 }' "$out/$name.txt"
    done >>"$place/loads"
    return
  fi
  # Faster than it can be planned: the plan keeps its period, and frames are left out.
  [ "$period" -ge "$shortest" ] || { planned=$shortest every=(--every "${period}us"); }
  planned_for "$planned" || return
  [ "$mode" != tt_75 ] || ahead=(--ahead 75)
  follow_moving run "$name" --mode "${mode%_75}" "${ahead[@]}" --camera --period "${planned}us" "${every[@]}" --profile "$place/$planned.cfg" --frames $frames \
    -o "$place/load" || return
  awk -v OFS='\t' -v round="$1" -v period="$period" -v mode="$mode" 'BEGIN { age = "-" } / frames, / { shown = $3 / $1 * 100 }
    /^frame to boxes/ { age = $5 } /^streaming/ { print "row", round, period, mode, shown, age, $3, $4 }' "$out/$name.txt" >>"$place/loads"
  if [ "$mode" = tt ] && [ ! -e "$place/track.csv" ]; then # its frames until they turn back, for pictures
    awk -F, -v held=$held 'NR == 1 || $1 < held' "$place/load/track.csv" >"$place/track.csv"
    cp "$place/track.csv" "$out/" && echo "$moving" >"$out/track.video"
  fi
}
load_rounds() {
  local round part mode ways=(tt tt_75 free lock) turn
  [ ! -x "$baselines" ] || [ "$backend" != cuda ] || ways+=(ordinary)
  for ((round = 1; round <= rounds; ++round)); do
    for part in $(tr ' ' '\n' <<<"$load" | sort -nr); do
      turn=$((round % ${#ways[@]})) # another order in each round
      for mode in "${ways[@]:turn}" "${ways[@]:0:turn}"; do
        if [ -n "$interrupted" ] || [ $SECONDS -ge "$until" ]; then
          missed load "ended in round $round at $part % of the period"
          return
        fi
        load_run $round $((period_us * part / 100)) "$mode"
      done
    done
  done
}
load() {
  local shortest='' before=$until
  [ -z "$interrupted" ] && [ $SECONDS -lt "$until" ] || { missed load "no time was left"; return; }
  [ $((SECONDS + rounds * 50)) -ge "$until" ] || until=$((SECONDS + rounds * 50))
  mkdir -p "$out/load"
  : >"$place/loads"
  if ! "$trackview" save "$moving" "$place/moving.pgm" "$place/moving.csv" $held; then
    missed load "there is no such video: $moving"
  elif shortest_of; then
    load_rounds
    load_findings >"$place/lines"
    found_in load
  else
    missed load "there is no plan in any of its periods: $load % of $period_us us"
  fi
  until=$before
}
load_findings() {
  say findings tracker_load "Accuracy over load" "How well are targets followed that move while their boxes are under way?"
  say command "examples/tracker/h200.sh BUILD FOLDER load"
  say note "Commit $commit, backend $backend; $targets targets at $scales scales in $size that move by up to 4 px a frame along each axis. A frame is scored with the boxes that could be seen when it came (AUC; 0.952 at best), the mean over the targets; a quarter of a second of frames a run, at least 100."
  say note "tt, free, lock: the plan's frames come three quarters of a period before it takes them, or less, from a quarter on, where only that lets their boxes be there when the next ones come; of tt_75 always three quarters. It keeps up with a period of $shortest us at least, a twentieth more than a frame takes as fast as they go; where frames come faster the plan keeps that, and frames are left out. stream, priority, graph: ordinary CUDA, which begins a frame when it comes or when the one before is done."
  say note "Rounds are interleaved, with the modes in another order in each; a row is the median of its runs, with the least and the largest."
  awk -F'\t' -v OFS='\t' -v ways="tt tt_75 free lock graph stream priority" '{ print index(ways, $4), $0 }' "$place/loads" |
    sort -t "$(printf '\t')" -k 4,4gr -k 1,1g -k 9,9g | cut -f 2- | awk -F'\t' -v OFS='\t' '
    function put() { if (n) print "row", 1e6 / period, before, n, (auc[int((n + 1) / 2)] + auc[int(n / 2) + 1]) / 2, auc[1], auc[n], p / n, share / n, ages ? age / ages : "-" }
    { key = $3 OFS $4 } key != before { put(); n = share = age = ages = p = 0; before = key; period = $3 }
    { auc[++n] = $8; p += $7; share += $5; age += $6; ages += $6 != "-" } END { put() }' >"$place/medians"
  awk -F'\t' -v us="$period_us" '{ row[$3] = row[$3] (row[$3] ? ", " : "") $4 " " sprintf("%.3f", $6); last = $3 }
    END { if (NR == 0) exit
      printf "verdict\tAUC with a frame every %s us: %s", last, row[last]
      if (us in row && us != last) printf "; every %s us: %s", us, row[us]
      print "." }' "$place/medians"
  say table load "A frame every so often"
  say columns 'frames a second' 'period|us' mode runs AUC 'least AUC' 'largest AUC' P20 'frames with a result|%' 'frame to boxes|ms'
  cat "$place/medians"
  say chart lines load "Accuracy of the boxes that could be seen when a frame came" 'frames a second' AUC mode
  say chart lines load "From a frame to its boxes, mean" 'frames a second' 'frame to boxes' mode
  say chart lines load "Frames that have boxes of their own" 'frames a second' 'frames with a result' mode
  say table load_all "Each run"
  say columns round 'period|us' mode 'frames with a result|%' 'frame to boxes|ms' P20 AUC
  cat "$place/loads"
}

# ---- what was found ----
found_in() { # NAME: its lines are in $place/lines
  if "$trackview" findings "$out/$1.json" "$place/lines"; then draw "$1"; else missed "$1" "trackview findings"; fi
}
draw() { # NAME: as text and, where there is gnuplot, as a picture
  rm -f "$place/$1.svg"
  timeout 60 "$build/track_ttprem" experiment "$out/$1.json" -o "$place" >"$out/$1.txt" 2>/dev/null
  [ ! -e "$place/$1.svg" ] || cp "$place/$1.svg" "$out/"
}
number() { # FILE PATTERN: what the first bracket holds, or -
  local found
  found=$(sed -nE "s/.*$2.*/\1/p" "$1" | head -n 1)
  echo "${found:--}"
}
clock_rows() {
  local file name
  for file in "$out"/clock_*.txt "$out"/one_*.txt "$out"/{long,stopped}_*.txt; do
    name=$(basename "$file" .txt)
    if [ ! -e "$file" ] || [[ $name == *baselines* ]]; then continue; fi
    say row "$name" "$(number "$file" '^([0-9]+) frames,')" "$(number "$file" ' ([0-9]+) with a result')" "$(number "$file" ' ([0-9]+) found no room')" \
      "$(number "$file" ' ([0-9]+) results late')" "$(number "$file" ' ([0-9]+) jobs after')" \
      "$(number "$file" '^frame to boxes: mean ([0-9.]+)')" "$(number "$file" '^frame to boxes:.* longest ([0-9.]+)')" \
      "$(number "$file" "^by the plan's own clock at most ([0-9]+)")"
  done
}
rate_rows() {
  local file way
  for file in "$out"/rate_{tt,free}*.txt; do
    [ ! -e "$file" ] || say row "$(basename "$file" .txt | cut -c 6-)" "$(number "$file" '^taken: ([0-9.]+)')"
  done
  for way in stream priority graph; do
    [ ! -e "$out/rate_baselines.txt" ] || say row "$way" "$(number "$out/rate_baselines.txt" "^$way: .* lost, ([0-9.]+) a second")"
  done
}
summary() {
  local file runs=()
  {
    say findings tracker_h200 "The tracker on a GPU" "Does it keep its instants, and what do ordinary kernels take beside it?"
    say command "examples/tracker/h200.sh BUILD FOLDER ${steps[*]}"
    say note "Commit $commit, backend $backend; $targets targets at $scales scales in $size, a frame every $period_us us, boxes planned $publish_us us after it; runs of $duration s, others of a quarter or a sixth."
    say note "clock_MODE_COMPANY: all targets by the clock; one_MODE: one target; at_once: boxes are shown when they are there. As fast as they go, tt_30 is planned for 30 % of the period; stream, priority and graph are ordinary CUDA."
    for file in ${failed[@]+"${failed[@]}"}; do say note "Missing: $file"; done
    if compgen -G "$out/clock_*.txt" >/dev/null || compgen -G "$out/one_*.txt" >/dev/null || compgen -G "$out/long_*.txt" >/dev/null || compgen -G "$out/stopped_*.txt" >/dev/null; then
      say table clock "Frames by the clock"
      say columns run frames 'with a result' 'found no room' 'results late' 'jobs after their deadline' 'frame to boxes|ms' 'longest|ms' "after the plan's instant|ns"
      clock_rows
      say chart bars clock "From a frame to its boxes, mean" run 'frame to boxes'
    fi
    if compgen -G "$out/rate_*.txt" >/dev/null; then
      say table rate "As fast as they go"
      say columns run 'frames a second'
      rate_rows
      say chart bars rate "Frames a second, as fast as they go" run 'frames a second'
    fi
    say table steps "What was run"
    say columns step result
    sed -E '/^load\/.* [0-9]+ s$/d; s/^([^ ]+) +(.*)$/row\t\1\t\2/' "$out/steps.txt" # load has a table of its own
  } >"$place/lines"
  found_in h200
  for file in "$place"/*.instants.csv; do
    [ ! -e "$file" ] || runs+=("$(basename "$file" .instants.csv)=$file")
  done
  [ ${#runs[@]} -gt 0 ] || return
  if "$trackview" instants "$out/instants.json" "${runs[@]}"; then draw instants; else missed summary "trackview instants"; fi
}

# ---- the page ----
add() { # HEADING TEXT|PICTURE...: those of them that are there
  local heading=$1 file
  shift
  for file; do
    [ -s "$file" ] || continue
    [ -z "$heading" ] || shown+=(--head "$heading")
    shown+=(--add "$file") heading=
  done
}
found() { # HEADING NAME LAST: a picture, and its text up to the table LAST, which is for the file
  draw "$2"
  sed "1d; /^$3/,\$d" "$out/$2.txt" >"$place/$2.txt"
  add "$1" "$out/$2.svg" "$place/$2.txt"
}
instants_of() { # NAME HEADING RUN BASELINES: their distributions beside each other, by short names
  local way file runs=()
  for way in tt free graph stream priority; do
    file=$out/${4}_$way.instants.csv.gz
    case $way in tt | free) file=$out/${3/WAY/$way}.instants.csv.gz ;; esac
    [ -s "$file" ] && gzip -dc "$file" >"$place/$1_$way.csv" && runs+=("$way=$place/$1_$way.csv")
  done
  [ ${#runs[@]} -gt 0 ] && "$trackview" instants "$out/$1.json" "${runs[@]}" && found "$2" "$1" "The same as shares"
}
page() {
  local name company shown=() tracks=() on=
  command -v gnuplot >/dev/null || { missed page "there is no gnuplot: begin it where there is, over the same FOLDER"; return; }
  [ ! -e "$out/load.json" ] || found "How well targets are followed, the faster frames come" load "Each run"
  for company in alone edges copy hostile_host; do
    instants_of "instants_$company" "When boxes of all targets are shown, ${company_words[$company]}" "clock_WAY_$company" "clock_baselines_$company"
  done
  instants_of instants_one "When one target's boxes are shown" one_WAY one_baselines
  [ ! -e "$out/h200.json" ] || found "All runs" h200 "What was run"
  if [ -e "$out/heat.json" ] && timeout 60 "$build/track_ttprem" experiment "$out/heat.json" -o "$place" >"$place/all"; then
    sed '1d; /^Tasks and phases/,$d' "$place/all" >"$place/heat.txt" # its numbers are in the picture
    add "Where a frame's time goes" "$place/heat.svg" "$place/heat.txt"
  fi
  for name in clock_tt_alone rate_tt one_tt; do
    [ -e "$out/$name.cfg" ] || continue
    "$build/track_ttprem" plan "$out/$name.cfg" -q --time-limit 0 --output "$place/planned.cfg" --svg "$out/timeline.svg" || break
    add "One frame as a plan: $name" "$out/timeline.svg"
    break
  done
  if [ -e "$out/provenance_before.txt" ]; then
    sed 's/^/  /' "$out/provenance_before.txt" >"$place/provenance.txt"
    add "Where it was measured" "$place/provenance.txt"
    name=$(sed -n '1s/.*, backend //p' "$out/provenance_before.txt")
    on=$(sed -n "s/^$name: //p" "$out/provenance_before.txt" | head -n 1)
  fi
  if [ -e "$out/track.csv" ]; then
    cp "$out/track.csv" "$place/ttprem KCF.csv" # a tracker is called as its log is
    tracks=("$(cat "$out/track.video")" "$place/ttprem KCF.csv")
  fi
  "$trackview" --title "The tracker on ${on:-a GPU}" ${shown[@]+"${shown[@]}"} page "$out/index.html" ${tracks[@]+"${tracks[@]}"} || { missed page "trackview page"; return; }
  echo "$out/index.html"
}
readonly -A company_words=([alone]=alone [edges]="beside edges of the frame" [copy]="beside a copy" [hostile_host]="beside threads that copy on the host")

# The page shows what was measured, here or elsewhere, and leaves it as it is.
measuring=()
for step in "${steps[@]}"; do [ "$step" = page ] || measuring+=("$step"); done
if [ ${#measuring[@]} -gt 0 ]; then
  : >"$out/steps.txt"
  provenance _before
  for step in "${measuring[@]}"; do "$step"; done
  provenance _after
  summary
fi
[[ " ${steps[*]} " != *" page "* ]] || page
echo "$out: $SECONDS s"
[ ${#failed[@]} -eq 0 ] && exit 0
printf 'h200: %d failed or left out:\n' ${#failed[@]} >&2
printf '  %s\n' "${failed[@]}" >&2
exit 1
