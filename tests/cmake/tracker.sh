#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tracker of examples/tracker, built from an installed ttprem: the same bits on every backend as by the kernels'
# references, how well it follows, what it says of videos and targets that it cannot follow.
#   tracker.sh BUILD
# ctest: BUILD long release timing
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "tracker: $*" >&2
  exit 1
}

cmake --install "$build" --prefix "$place/usr" >/dev/null
# Without a GPU that could run them, one kind of GPU code is enough, and nobody waits for fast code.
flags=$(sed -n 's/^CMAKE_CUDA_FLAGS:[A-Z]*=//p' "$build/CMakeCache.txt")
options=(-DCMAKE_PREFIX_PATH="$place/usr")
backends="sim cpu"
if nvidia-smi -L >/dev/null 2>&1; then
  "$build/ttprem" info | grep '^cuda: not available' >/dev/null || backends+=" cuda"
else
  options+=(-DTTPREM_CUDA_ARCHITECTURES=75-real -DCMAKE_CUDA_FLAGS="$flags -Xptxas=-O0")
fi
cp -r "$here/../../examples/tracker" "$place/tracker"
cmake -S "$place/tracker" -B "$place/build" -G Ninja "${options[@]}" >"$place/log" 2>&1 &&
  cmake --build "$place/build" >>"$place/log" 2>&1 || fail "$(cat "$place/log")"
cd "$place"
tracker=$place/build/tracker

run() { # FOLDER OPTION...
  timeout 300 "$tracker" -o "$@" >"$place/said" 2>&1 || fail "$*: $(cat "$place/said")"
}
score() { # NAME COLUMN of `said`
  awk -v name="$1" -v column="$2" 'index($0, name) == 1 { print $(NF - 3 + column) }' "$place/said"
}
holds() { awk "BEGIN { exit !($1) }"; }

# ---- one target, and several that grow and shrink: the same bits ----
for video in "synth --frames 300" "synth:targets=3,scale=20,light=20,pan=30,noise=6,frames=12 --scales 3"; do
  # shellcheck disable=SC2086 # words
  run plain $video --backend plain
  cp said of_plain
  for backend in $backends; do
    frames=300
    [ "$backend" != cpu ] || frames=40
    # shellcheck disable=SC2086
    run "$backend" $video --backend "$backend" --frames "$frames"
    rows=$(wc -l <"$backend/track.csv")
    [ "$rows" -ge 37 ] || fail "$video on $backend: $rows rows"
    head -n "$rows" plain/track.csv | cmp - "$backend/track.csv" || fail "$video: another log on $backend than by the references"
  done
  for mode in free lock; do
    # shellcheck disable=SC2086
    run mode $video --backend sim --mode "$mode" --frames 12
    head -n "$(wc -l <mode/track.csv)" plain/track.csv | cmp - mode/track.csv || fail "$video: another log in mode $mode"
  done
  if [ "$video" = "synth --frames 300" ]; then
    cp of_plain said
    holds "$(score 'one pass' 1) == 1 && $(score 'one pass' 3) <= 0.6" || fail "it follows badly: $(cat said)"
  fi
done
for file in track.csv track.png track.html scores.json schedule.cfg; do
  [ -s "plain/$file" ] || fail "there is no $file"
done

# ---- windows are measured where the run has a clock, and only there; company changes no bit ----
period() { sed -n 's/.*period_ns = \([0-9]*\)L.*/\1/p' "$1/schedule.cfg" | sort -u; }
run measured "synth:targets=4,size=901x700" --scales 7 --frames 4
grep -q '^windows measured on [0-9]* frames' said && grep -q '^# Windows: measured' measured/schedule.cfg || fail "no windows: $(cat said)"
run slack "synth:targets=4,size=901x700" --scales 7 --frames 4 --slack 1
grep -q '^# Windows: built in' slack/schedule.cfg && [ "$(period slack)" = 160000000 ] || fail "--slack: $(head -3 slack/schedule.cfg)"
cmp measured/track.csv slack/track.csv || fail "other windows, another log"
run builtin --backend sim --frames 12
"$tracker" --backend sim --schedule | cmp - builtin/schedule.cfg || fail "sim: another schedule than --schedule prints"
# Where they do not fit they get less room. A machine that is busy from time to time may find them half or twice as
# long as a moment ago: then each attempt begins with a measurement of its own.
narrow() { # fails where the machine is another one than for `measured`
  local options=(--scales 7 --frames 4 --period "$(($(period measured) * 55 / 100))ns") percent
  if ! timeout 300 "$tracker" -o narrow "synth:targets=4,size=901x700" "${options[@]}" >said 2>&1; then
    grep -q 'windows as they were measured on [0-9]* frames do not fit' said || fail "half the period: $(cat said)"
    return 1
  fi
  cmp measured/track.csv narrow/track.csv || fail "less room, another log"
  percent=$(sed -n 's/^# Windows: measured before the run: \([0-9]*\) %.*/\1/p' narrow/schedule.cfg)
  [ "${percent:-150}" -lt 150 ]
}
for attempt in 1 2 3 4 5 6 7 8; do
  [ "$attempt" -eq 1 ] || run measured "synth:targets=4,size=901x700" --scales 7 --frames 4
  if narrow; then break; fi
  [ "$attempt" -lt 8 ] || fail "half the period: $(cat said; head -3 narrow/schedule.cfg)"
done
for company in edges copy; do
  run beside --backend sim --frames 12 --beside "$company"
  cmp beside/track.csv builtin/track.csv || fail "--beside $company: another log"
  grep -q "name = \"$company\"" beside/schedule.cfg || fail "--beside $company is not in the schedule"
done
# ---- where the time goes: on sim four strips of 350 us, and two blocks that share them ----
if command -v gnuplot >/dev/null; then
  run heat --backend sim --frames 3 --heat
  tr -d ' \n' <heat/heat.json >rows
  for row in '["features","compute",1400.0]' '["features","0",760.0]' '["features","1",760.0]' '["locate","1",0.0]'; do
    grep -qF "$row" rows || fail "heat.json has no $row"
  done
  grep -qF 'data:image/svg+xml' heat/track.html || fail "the page has no map"
fi

# ---- frames that are smaller than a window ----
for backend in sim cpu; do
  run "small_$backend" --backend "$backend" --frames 5 "synth:size=97x61,box=20x16"
done
[ "$(grep -c tracked small_sim/track.csv)" -eq 4 ] && cmp small_sim/track.csv small_cpu/track.csv || fail "small frames: $(cat small_sim/track.csv)"

# ---- as many blocks as an H200 has SMs: the same bits ----
for setting in "1 1 20" "64 5 2"; do
  read -r targets scales frames <<<"$setting"
  video="synth:targets=$targets,size=1280x960,box=24x20,scale=15,noise=4"
  run plain "$video" --backend plain --targets "$targets" --scales "$scales" --frames "$frames"
  run blocks "$video" --backend sim --blocks 132 --targets "$targets" --scales "$scales" --frames "$frames"
  cmp plain/track.csv blocks/track.csv || fail "$targets targets on 132 blocks: another log"
done

# ---- frames from a pipe, which has no beginning to go back to ----
"$place/build/trackview" save synth:frames=12 frames.pgm truth.csv >/dev/null
run whole --backend plain --truth truth.csv frames.pgm
cat frames.pgm | run pipe --backend sim --truth truth.csv -
cmp whole/track.csv pipe/track.csv || fail "from a pipe: another log"
grep -q '^one pass *12' said && [ ! -e pipe/track.png ] || fail "from a pipe: $(cat said)"

# ---- several starts in a video that tells its length at its end: as in the same one that tells it before ----
{ cat frames.pgm && echo; } >longer.pgm
run starts --backend plain --truth truth.csv --starts 3 frames.pgm
grep '^starts' said >expected
run starts --backend plain --truth truth.csv --starts 3 longer.pgm
grep '^starts' said | cmp - expected || fail "--starts: $(cat said)"

# ---- a profile's path counts from where it is said, not from where the schedule is written ----
{
  echo 'version = 1; tasks = ('
  for task in features correlate respond locate learn_features learn train; do
    printf '{ name = "%s"; prefetch: { wcet_ns = 9000L; }; compute: { wcet_ns = 300000L; }; writeback: { wcet_ns = 9000L; }; }' "$task"
    [ "$task" = train ] || echo ,
  done
  echo ');'
} >here.cfg
run profile --backend sim --frames 5 --profile here.cfg
grep -q '^# Windows: of a profile' profile/schedule.cfg || fail "--profile: $(cat profile/schedule.cfg)"

run short --frames 5 --hold 3 --log 2
[ "$(wc -l <short/track.csv)" -eq 3 ] || fail "--log 2: $(cat short/track.csv)"

# ---- its schedule is a file as any other ----
"$tracker" --schedule >tracker.cfg
"$place/build/track_ttprem" plan tracker.cfg --time-limit 1 -o planned.cfg 2>/dev/null && "$place/build/track_ttprem" check planned.cfg >/dev/null ||
  fail "its schedule has no plan that the checker accepts"

# ---- the commands of the tutorial's last chapter ----
ln -s ../build "$place/tracker/build"
HOME=$place "$here/console.sh" "$here/../../docs/tutorial.md" tracker

# ---- frames by the clock: none is counted twice ----
run camera --camera --frames 50 --publish 9ms
awk -F, 'NR > 1 { if ($1 <= last) exit 1; last = $1 } BEGIN { last = -1 }' camera/track.csv || fail "frames out of order"
holds "$(score streaming 1) > 0" || fail "nothing was scored as it was shown: $(cat said)"

# ---- a process that stood still goes on with the frame that has come: those before are lost, and are not handed on late ----
# A busy machine begins later, so that it has to be stopped later.
for seconds in 1.5 3 5 8; do
  "$tracker" --camera --hold 30 --frames 300 --period 10ms -o behind synth:frames=0 >said 2>&1 &
  follower=$!
  sleep "$seconds"
  kill -STOP $follower && sleep 0.5 && kill -CONT $follower || true
  wait $follower || fail "a process that stood still: $(cat said)"
  if holds "$(sed -nE 's/.* ([0-9]+) found no room;.*/\1/p' said) >= 25"; then break; fi
  [ "$seconds" != 8 ] || fail "frames of the time that the process stood still: $(cat said)"
done

# ---- on sim, boxes are shown at their planned instant to the nanosecond; frames come three quarters of a period before they are taken ----
run exact --backend sim --camera --frames 20 --period 10ms --publish 9ms
[ "$(head -n 2 exact/instants.csv | paste -sd ' ')" = "frame,planned_ns,shown_ns 0,16500000,16500000" ] &&
  [ "$(awk -F, '$2 == $3' exact/instants.csv | wc -l)" -eq 20 ] || fail "instants: $(cat exact/instants.csv)"

# ---- a quarter of a period before: boxes are half a period younger, and the same ----
run ahead --backend sim --camera --ahead 25 --frames 20 --period 10ms --publish 9ms
grep -q '^frame to boxes: mean 11.500 ms, longest 11.500 ms' said || fail "--ahead: $(cat said)"
cmp <(cut -d, -f 1-8 exact/track.csv) <(cut -d, -f 1-8 ahead/track.csv) || fail "--ahead: another log"

# ---- frames that wait in a queue: boxes are as many periods older, and the same ----
run queued --backend sim --camera --queue 4 --frames 20 --period 10ms --publish 9ms
grep -q '^frame to boxes: mean 51.500 ms, longest 56.500 ms' said || fail "--queue: $(cat said)"
cmp exact/track.csv queued/track.csv || fail "--queue: another log"
cmp exact/instants.csv queued/instants.csv || fail "--queue: other instants"
for option in "--queue 4" "--publish 9ms" "--ahead 25"; do
  status=0
  "$tracker" --frames 5 $option -o alone >said 2>&1 || status=$?
  [ "$status" -eq 2 ] && grep -q -- "${option% *} is for frames that come by the clock; give --camera as well" said ||
    fail "$option without --camera: status $status, $(cat said)"
done

# ---- frames that begin the work, by the clock: none waits for the one before, as it does without ----
run each --backend sim --frames 20
grep -q "^frame to boxes: mean 18.609 ms" said || fail "one behind the other: $(cat said)"
run every --backend sim --frames 20 --every 20ms
grep -q '^frame to boxes: mean 1.090 ms, longest 1.090 ms' said || fail "--every: $(cat said)"
cmp each/track.csv every/track.csv || fail "--every: another log"

# ---- what lateness costs: frames left out, boxes late ----
for backend in plain sim; do
  run step --backend "$backend" --frames 7 --step 3
  [ "$(cut -d, -f 1 step/track.csv | paste -sd ' ')" = "frame 0 3 6 9 12 15 18" ] || fail "--step on $backend: $(cat step/track.csv)"
done
run late --backend plain --frames 100
at_once=$(score 'one pass' 3)
run late --backend plain --frames 100 --late 1
one_late=$(score 'one pass' 3)
run late --backend plain --frames 100 --late 4
# The target moves by up to 3 px a frame along each axis: 4.25 in all.
holds "$at_once < 0.6 && $one_late > 1 && $one_late < 4.85 && $(score 'one pass' 3) > 3 * $one_late" ||
  fail "--late: $at_once px, $one_late px, $(cat said)"

# ---- targets that cannot be followed, and one that goes: words, not boxes ----
status_of() { awk -F, -v row="$1" 'NR == row + 1 { print $8 }' tiny/track.csv; }
for box in 10,10,1,1 500,100,20,20 10,10,200,200 10,10,nan,20 10,10,-5,20; do
  run tiny --backend sim --frames 3 --box "$box"
  [ "$(status_of 1) $(status_of 3)" = "lost lost" ] || fail "--box $box: $(cat tiny/track.csv)"
done
grep -q 'warning: target 0: cannot be followed: .* 4 to 85 px' said && grep -q '^lost: 3 of 3 boxes' said || fail "no word of it: $(cat said)"
run tiny --backend sim --frames 3 --box 10,10,20,20
[ "$(status_of 1)" = started ] || fail "a good box: $(cat tiny/track.csv)"
! grep -q 'lost\|cannot be followed' said || fail "a good box: $(cat said)"

refuses() { # STATUS TEXT OPTION...
  local status=0
  timeout 300 "$tracker" -o none "${@:3}" >said 2>&1 || status=$?
  [ "$status" -eq "$1" ] && grep -q -- "$2" said && [ ! -e none ] || fail "${*:3}: status $status: $(cat said)"
}
refuses 2 'is no box' --box 1,2,3
refuses 2 'none of 1, 3, 5, 7' --scales 2
refuses 2 "no backend 'gpu'" --backend gpu
refuses 2 'is no time' --period 10
refuses 2 'no phases to time' --heat --backend plain
refuses 2 'none of measure, built-in' --times guess
refuses 2 'measure goes with backend cpu or cuda' --times measure --backend sim
refuses 2 'measure goes with backend cpu or cuda' --times measure --slack 2
refuses 2 'none of edges, copy' --beside nothing
refuses 1 'no such file\|No such file' nothing.pgm
printf 'P5\n320 240\n255\nshort' >short.pgm
refuses 1 'short.pgm' short.pgm --box 10,10,20,20
refuses 2 "nothing says where the target is" short.pgm
refuses 1 'nothing.cfg: No such file' --profile nothing.cfg
refuses 2 'stdin is read once' --starts 3 -

# ---- a video that breaks off: what there was until then is kept, on its way or not ----
head -c 400000 frames.pgm >cut.pgm
for options in "--backend plain" "--backend sim" "--backend sim --camera"; do
  status=0
  # shellcheck disable=SC2086 # words
  timeout 300 "$tracker" $options --truth truth.csv -o cut cut.pgm >said 2>&1 || status=$?
  [ "$status" -eq 1 ] && grep -q 'cut.pgm: frame 5 is cut short' said || fail "cut short: $options: $status: $(cat said)"
  [ "$(wc -l <cut/track.csv)" -eq 6 ] && [ -s cut/track.png ] || fail "cut short: $options: $(cat said)"
  rm -r cut
done
: >file
refuses 1 "is no folder to write to" -o file --frames 5
! grep -q 'with a result' said || fail "-o file: it is said when all is followed: $(cat said)"

# ---- the script for a GPU, on sim: what fails is told, and the next step begins ----
h200=$here/../../examples/tracker/h200.sh
status=0
BACKEND=sim CHECKED=1 TARGETS=1 SCALES=3 SIZE=320x240 PERIOD_US=20000 DURATION=1 timeout 200 \
  "$h200" "$place/build" "$place/h200" bits one >said 2>&1 || fail "h200.sh: $(cat said)"
[ "$(grep -l "^equal to the references' log" h200/bits_1x[13].txt | wc -l)" -eq 2 ] && [ -s h200/one_tt.instants.csv.gz ] &&
  tr -d ' \n' <h200/h200.json | grep -F '["one_at_once_tt",51,51,0,0,0,1.09' >/dev/null &&
  grep -q '"one_tt"' h200/h200.json && grep -q '"one_free"' h200/instants.json || fail "h200.sh: $(cat said)"
BACKEND=none CHECKED=1 SCALES=1 SIZE=320x240 timeout 100 "$h200" "$place/build" "$place/h200" bits >said 2>&1 || status=$?
[ "$status" -eq 1 ] && grep -q '^bits_1x1 .*no backend .none' said && grep -q '1 failed or left out' said || fail "h200.sh: $status: $(cat said)"
# Boxes are there when the next frame comes, unless frames come earlier than that takes; then faster than there is a plan.
BACKEND=sim TARGETS=1 SCALES=3 SIZE=320x240 PERIOD_US=20000 LOAD="25 100 10" ROUNDS=1 timeout 200 \
  "$h200" "$place/build" "$place/load" load >said 2>&1 || fail "h200.sh load: $(cat said)"
tr -d ' \n' <load/load.json | grep -F '[50,20000,"tt",1,0.714,0.714,0.714,1,100,18],[50,20000,"tt_75",1,0.714,' >/dev/null &&
  tr -d ' \n' <load/load.json | grep -F '[200,5000,"tt",1,0.714,0.714,0.714,1,100,4.5],[200,5000,"tt_75",1,0.553,0.553,0.553,1,100,6.795]' >/dev/null &&
  tr -d ' \n' <load/load.json | grep -F '[500,2000,"tt",1,0.336,0.336,0.336,0.96,40,4.545]' >/dev/null || fail "h200.sh load: $(cat load/load.txt)"
[ "$(wc -l <load/track.csv)" -eq 41 ] || fail "h200.sh load: $(cat load/track.csv)"
cp -r load before
if command -v gnuplot >/dev/null; then
  timeout 100 "$h200" "$place/build" "$place/load" page >said 2>&1 || fail "h200.sh page: $(cat said)"
  for text in '<h2>How well targets are followed' '<h2>All runs' 'data:image/svg+xml' 'data:image/png' 'AUC 0.9'; do
    grep -qF "$text" load/index.html || fail "index.html has no $text"
  done
  rm load/index.html
else
  "$h200" "$place/build" "$place/load" page >said 2>&1 || status=$?
  [ "$status" -eq 1 ] && grep -q 'there is no gnuplot' said || fail "h200.sh page: $status: $(cat said)"
fi
for file in load.json h200.json provenance_before.txt; do cmp "before/$file" "load/$file"; done
for setting in LOAD=abc ROUNDS=0 PERIOD_US=1ms; do
  status=0
  env "$setting" "$h200" "$place/build" "$place/h200" load >said 2>&1 || status=$?
  [ "$status" -eq 2 ] && grep -q "'${setting#*=}' is no whole number above 0" said || fail "h200.sh load, $setting: $status: $(cat said)"
done
status=0
"$h200" "$place/build" "$place/h200" byte >said 2>&1 || status=$?
[ "$status" -eq 2 ] && grep -q "'byte' is none of" said || fail "h200.sh byte: $status: $(cat said)"

# ---- the baselines: what they refuse, that they say when there is no GPU, and on one that they follow ----
baselines=$place/build/track_baselines
if [ -x "$baselines" ]; then
  tracker=$baselines
  refuses 2 'none of stream, priority, graph' --way copy
  refuses 2 'is no number from 1 to 64' --streams 65
  refuses 2 'none of edges, copy' --beside gpu
  refuses 2 'none of 1, 3, 5, 7' --scales 4
  refuses 2 'one SOURCE only' synth synth
  refuses 1 'No such file' nothing.pgm
  { printf 'P5\n320 240\n255\n' && head -c 76800 /dev/zero; } >black.pgm
  refuses 2 'has no ground truth' black.pgm
  if [[ $backends == *cuda* ]]; then
    run baselines --frames 50 --period 5ms --targets 3 --scales 3 synth:targets=3,scale=15
    for way in stream priority graph; do
      holds "$(sed -n "s/^$way: of 20 frames at most \([0-9.]*\) px.*/\1/p" said) < 1" || fail "$way: $(cat said)"
      [ "$(wc -l <"baselines/$way/instants.csv")" -gt 40 ] || fail "$way: $(cat said)"
      grep -q "^$way: frame to boxes: mean 0\.[0-9]* ms" said && holds "$(sed -n "s/^$way: streaming: .*AUC \([0-9.]*\),.*/\1/p" said) > 0.5" || fail "$way: $(cat said)"
    done
  else
    refuses 77 'no GPU' synth
    [ "$(wc -l <said)" -eq 1 ] || fail "without a GPU it says more than a line: $(cat said)"
  fi
fi
