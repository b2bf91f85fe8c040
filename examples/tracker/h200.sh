#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measure the tracker on a GPU, an H200 say, and its baselines beside it: one folder of results in nine minutes at most.
#   h200.sh BUILD FOLDER [STEP...]      bits clock one baselines rate heat ffts; default: all. And: blocks, long, stopped
#     bits       the log is that of the kernels' references, bit for bit: 1, 3 and 64 targets
#     clock      all targets at the period: frames lost, boxes against their planned instant; alone and in company
#     one        one target: from a frame to its position, shown at once and at its instant
#     baselines  the same two as ordinary CUDA
#     rate       frames a second, as fast as they go
#     heat       where a frame's time goes
#     ffts       Fourier transforms beside cuFFT's
#     blocks     one target at once, and frames a second, with other numbers of blocks and threads
#     long       clock alone, for LONG seconds
#     stopped    clock alone, the host stopped (SIGSTOP) for 3 ms twenty times; without a queue, and with one of 8 frames
#
# BUILD is this example's. The environment may say:
#   BACKEND (cuda)  TARGETS (64)  SCALES (5)  SIZE (1280x960)  PERIOD_US (1000)  PUBLISH_US (nine tenths of it)
#   BLOCKS    of the step of that name, BLOCKSxTHREADS each (16x352 132x352 132x608 264x352 264x480)
#   QUEUE     frames that wait in a queue (0): as many periods older, and none lost to a host that is late by less
#   DURATION  seconds of the run on time and alone (60); the others take a quarter or a sixth       LONG (600)
#   LIMIT     begin nothing behind so many seconds (520)      CHECKED  targets whose bits are compared (1 3 64)
#   TTPREM_COMMIT  what was built; default: of the checkout that this script lies in
# A command that fails, or has no time, is told at the end, and the next one begins. Exit status: 0, or 1 where one did.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '3,12p' "$0" >&2; exit 2; }
build=$(realpath "$1") && mkdir -p "$2" && out=$(realpath "$2") || exit 2
shift 2
steps=("$@")
[ $# -gt 0 ] || steps=(bits clock one baselines rate heat ffts)
readonly tracker=$build/tracker trackview=$build/trackview baselines=$build/track_baselines hostile=$build/hostile
for program in "$tracker" "$trackview" "$hostile" "$build/track_ttprem"; do
  [ -x "$program" ] || { echo "h200: $program is not built" >&2; exit 1; }
done
readonly backend=${BACKEND:-cuda} targets=${TARGETS:-64} scales=${SCALES:-5} size=${SIZE:-1280x960}
readonly period_us=${PERIOD_US:-1000} duration=${DURATION:-60} long=${LONG:-600} checked=${CHECKED:-1 3 64}
until=${LIMIT:-520} # seconds since the script began
queue=${QUEUE:-0}
readonly publish_us=${PUBLISH_US:-$((period_us * 9 / 10))}
[[ $queue =~ ^[0-9]+$ ]] || { echo "h200: QUEUE '$queue' is no whole number; see the head of this script" >&2; exit 2; }
for number in "$targets" "$scales" "$period_us" "$publish_us" "$duration" "$long" "$until"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || { echo "h200: '$number' is no whole number above 0; see the head of this script" >&2; exit 2; }
done
for step in "${steps[@]}"; do
  case $step in
  bits | clock | one | baselines | rate | heat | ffts | blocks | long | stopped) ;;
  *) echo "h200: '$step' is none of bits, clock, one, baselines, rate, heat, ffts, blocks, long, stopped" >&2 && exit 2 ;;
  esac
done
commit=${TTPREM_COMMIT:-$(git -C "$here" describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown)}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'interrupted=yes' INT TERM
failed=() interrupted=
: >"$out/steps.txt"

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
# Their targets are up to 27 pixels wide: windows of a reach of 1 do, 42 pixels.
readonly everything=(--reach 1 "synth:frames=0,targets=$targets,size=$size,box=24x20,scale=15")
readonly single=synth:frames=0,scale=15
video_of() { if [ "$1" = 1 ]; then video=("$single"); else video=("${everything[@]}"); fi; } # TARGETS: into `video`
frames_in() { echo $(($1 * 1000000 / period_us + 1)); } # SECONDS

# ---- bits ----
bits() {
  local n s frames options
  for n in $checked; do
    for s in 1 "$scales"; do
      frames=$((600 / (n * (s + 1)) + 5))
      options=(--frames "$frames" --targets "$n" --scales "$s" "synth:targets=$n,size=$size,box=24x20,scale=15,noise=4")
      [ "$n" = 1 ] || options+=(--reach 1) # as below: regions are cut otherwise
      [ ! -e "$place/bits_${n}x$s" ] || continue
      mkdir "$place/bits_${n}x$s"
      rm -rf "$place/plain" "$place/bits"
      run "bits_${n}x${s}_references" 60 "$tracker" --backend plain -o "$place/plain" "${options[@]}" || continue
      run "bits_${n}x$s" 60 "$tracker" --backend "$backend" -o "$place/bits" "${options[@]}" || continue
      if cmp "$place/plain/track.csv" "$place/bits/track.csv" >>"$out/bits_${n}x$s.txt" 2>&1; then
        echo "equal to the references' log" >>"$out/bits_${n}x$s.txt"
      else
        missed "bits_${n}x$s" "another log than by the references"
      fi
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
      --hold 60 --log 100 --frames "$(frames_in "$sixth")" --targets 1 --scales 1 -o "$place/$name" "$single" || continue
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
      --log 100 --frames "$(frames_in 2)" --targets 1 --scales 1 --blocks "$count" --threads "$threads" -o "$place/$name" "$single" || true
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

# ---- what was found ----
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
      "$(number "$file" ' ([0-9]+) results late')" "$(number "$file" ' ([0-9]+) jobs behind')" \
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
    say note "Commit $commit, backend $backend; $targets targets at $scales scales in $size, a frame every $period_us us, boxes planned $publish_us us behind it; runs of $duration s, others of a quarter or a sixth."
    for file in ${failed[@]+"${failed[@]}"}; do say note "Missing: $file"; done
    say table steps "What was run"
    say columns step result
    sed -E 's/^([^ ]+) +(.*)$/row\t\1\t\2/' "$out/steps.txt"
    if compgen -G "$out/clock_*.txt" >/dev/null || compgen -G "$out/one_*.txt" >/dev/null || compgen -G "$out/long_*.txt" >/dev/null || compgen -G "$out/stopped_*.txt" >/dev/null; then
      say table clock "Frames by the clock"
      say columns run frames 'with a result' 'found no room' 'results late' 'jobs behind their deadline' 'frame to boxes|ms' 'longest|ms' "behind the plan's instant|ns"
      clock_rows
      say chart bars clock "From a frame to its boxes, mean" run 'frame to boxes'
    fi
    if compgen -G "$out/rate_*.txt" >/dev/null; then
      say table rate "As fast as they go"
      say columns run 'frames a second'
      rate_rows
      say chart bars rate "Frames a second, as fast as they go" run 'frames a second'
    fi
  } >"$place/lines"
  "$trackview" findings "$out/h200.json" "$place/lines" || missed summary "trackview findings"
  for file in "$place"/*.instants.csv; do
    [ ! -e "$file" ] || runs+=("$(basename "$file" .instants.csv)=$file")
  done
  [ ${#runs[@]} -eq 0 ] || "$trackview" instants "$out/instants.json" "${runs[@]}" || missed summary "trackview instants"
  for file in h200 instants; do
    [ ! -e "$out/$file.json" ] || timeout 60 "$build/track_ttprem" experiment "$out/$file.json" -o "$place" >"$out/$file.txt" 2>/dev/null
    [ ! -e "$place/$file.svg" ] || cp "$place/$file.svg" "$out/"
  done
}

provenance _before
for step in "${steps[@]}"; do "$step"; done
provenance _after
summary
echo "$out: $SECONDS s"
[ ${#failed[@]} -eq 0 ] && exit 0
printf 'h200: %d failed or left out:\n' ${#failed[@]} >&2
printf '  %s\n' "${failed[@]}" >&2
exit 1
