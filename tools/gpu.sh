#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For a GPU machine that has CUDA and a shell, but neither our packages nor a network.
#
#   tools/gpu.sh pack [CMAKE OPTION...]     here, in the tree; needs nvcc, no GPU
#       builds everything and makes build-gpu/ttprem-gpu.tar.gz: this script, the commands, the GPU's
#       tests, the schedules, and the libraries that a bare system lacks.
#       -DTTPREM_CUDA_ARCHITECTURES=90a-real builds for one kind of GPU only.
#   ttprem-gpu/gpu.sh measure [-o FOLDER] [STEP...]     there, unpacked; steps, default all:
#       check      the GPU's tests; every schedule with data in all modes and by all engines
#       faults     faults planted on purpose: delays, which the stamps have to show; then the right
#                  message, and the GPU free again in a second
#       sanitize   compute-sanitizer on small schedules
#       measure    the measurements, one JSON and table each, with the GPU's state before and after
#       h200_conv2d  what experiments/figures/h200_conv2d/ shows, in nine minutes at most
#       task_graphs  what experiments/figures/task_graphs/ shows, in ten minutes at most: profiled, planned,
#                  checked and measured. GRAPHS="h200_kcf" takes some of its figures, PERCENT=1 so much
#                  of all counts, for a try; PROFILING="--margin 20" adds options of `ttprem profile`
#       best_effort  critical tasks beside a full load: gate, ordinary kernels, priorities, partitions, in
#                  ten minutes at most
#       isolate    certificates over as many hyperperiods as there is time for: 100 000 of four convolutions
#                  on time, and what else the step's lines say; PERCENT as above
#       exclusive  the same for one task at a time at the memory, and what that costs
#       experiments  the tables and figures of the literature, one JSON each: a thesis's, with thesis.md in
#                  ten minutes at most, then the others
#       live       live sessions: frames for a minute (LIVE_SECONDS=600 for ten), with a host that is
#                  stopped, loaded and killed and beside another process, then the experiments of
#                  experiments/live/, one JSON each
#       writes FOLDER/STEP/ (FOLDER: results) and FOLDER.tar.gz; FOLDER/measure/ and FOLDER/experiments/
#       are what evidence/ keeps. Every command has a limit in time: none keeps the GPU for
#       ever. On a machine with several GPUs CUDA_VISIBLE_DEVICES says which one; each can have a
#       measurement of its own at the same time, in a FOLDER of its own.
#       STRETCH=150 gives the figures of four tasks, which are an H200's, so many percent of their times:
#       for a GPU whose memory is slower.
set -euo pipefail
here=$(realpath "$(dirname "$0")")

usage() {
  sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

# ---- what is checked and measured ----------------------------------------------------------------

readonly modes=(tt free lock legacy launched) engines=(bulk cp_async vector)
readonly baselines=legacy,launched,graph,gated_graph,priority,partition,copy
readonly tiled_modes=tt,free,lock all_modes=tt,free,lock,$baselines

# limit NAME SECONDS COMMAND...: the command's output goes to NAME.log
step_check() {
  local program schedule engine name
  for program in "$here"/bin/test_cuda*; do
    limit "${program##*/}" 300 "$program" "$here"
  done
  # As if the GPU had one queue for all streams: nothing in them may wait for another.
  CUDA_DEVICE_MAX_CONNECTIONS=1 limit test_cuda_live.one_queue 300 "$here/bin/test_cuda_live" "$here"
  # Kernels are loaded at their first launch, if not told otherwise; a session may wait for none of them.
  CUDA_MODULE_LOADING=EAGER limit test_cuda_live.eager 300 "$here/bin/test_cuda_live" "$here"
  for schedule in $(schedules_with_data); do
    name=$(basename "$schedule" .cfg)
    for engine in "${engines[@]}"; do
      limit "$name.$engine" 120 ttprem compare "$schedule" --backend cuda --modes "$tiled_modes" \
        --engine "$engine" --repeat 20
    done
    limit "$name.baselines" 120 ttprem compare "$schedule" --backend cuda --modes "$baselines" --repeat 20
  done
  limit what_holds 120 "$here/tests/cuda/what_holds.sh" "$here/bin/ttprem" cuda
  limit own_kernel 60 own_ttprem compare own_kernel/sharpen.cfg --backend cuda --modes tt,free,lock \
    --repeat 20
}

step_faults() {
  limit delays 60 "$here/tests/faults/gpu_delays.sh" "$here/bin"
  limit witness_idle 60 witness tests/faults/delays.cfg 10000 1000
  limit witness_loaded 60 witness schedules/figures/h200_conv2d_x4_spare.cfg 4700 4000
  limit faults 480 "$here/tests/faults/gpu_faults.sh" "$here/bin" "$here/schedules"
}

step_sanitize() {
  local tool name mode
  if ! command -v compute-sanitizer >/dev/null; then
    report FAILED 0 "sanitize: no compute-sanitizer on PATH or in /usr/local/cuda/bin"
    return
  fi
  # racecheck cannot follow mbarriers and counts between warps
  for tool in memcheck synccheck; do
    for name in increment conv2d gang; do
      for mode in "${modes[@]}"; do
        limit "$tool.$name.$mode" 120 compute-sanitizer --tool "$tool" --error-exitcode 99 \
          "$here/bin/ttprem" run "schedules/examples/$name.cfg" --backend cuda --mode "$mode" --repeat 2
      done
    done
  done
}

# measure NAME SECONDS ARGUMENTS OF ttprem...: NAME.json, NAME.samples.csv, NAME.txt
step_measure() {
  measure increment             60 compare examples/increment.cfg            --modes $all_modes --repeat 200
  measure conv2d                60 compare examples/conv2d.cfg               --modes $all_modes --repeat 200
  measure two_rates             60 compare examples/two_rates.cfg            --modes $all_modes --repeat 200
  measure mixed                 60 compare examples/mixed.cfg                --modes $all_modes --repeat 200
  measure camera               120 compare examples/camera.cfg               --modes $all_modes --repeat 200
  measure h200_conv2d_x4       420 compare figures/h200_conv2d_x4.cfg
  measure h200_releases         60 run     figures/h200_releases.cfg          --mode tt --repeat 1900
  measure thesis_tile_kernelwise  120 compare figures/thesis_tile_kernelwise.cfg  --modes $all_modes --repeat 200
  measure thesis_tile_blockwise   120 compare figures/thesis_tile_blockwise.cfg   --modes $all_modes --repeat 200
  measure thesis_phase_kernelwise 120 compare figures/thesis_phase_kernelwise.cfg --modes $all_modes --repeat 200
  measure thesis_phase_blockwise  120 compare figures/thesis_phase_blockwise.cfg  --modes $all_modes --repeat 200
}

# The most important first: what finds no time any more is left out, and said. Long series have only
# counts: stamps of all their phases would find no room.
step_h200_conv2d() {
  local end=$((SECONDS + 520)) four=figures/h200_conv2d_x4_large.cfg every
  local resident=figures/h200_conv2d_x4_large_resident.cfg
  every=$(modes_of_gpu)
  until_end table            120 compare $four --modes "$every" --repeat 1000 --no-records
  until_end table_recorded    60 compare $four --modes legacy,copy,free,tt --repeat 100
  until_end resident         100 compare $resident --no-records
  until_end isolate           60 isolate $four --repeat 40
  until_end free_tiles        30 compare figures/h200_conv2d_x4_free.cfg --modes legacy,copy,free,tt --repeat 100
  until_end gang              30 compare figures/h200_conv2d_x4_gang.cfg --modes legacy,free,tt --repeat 100
  until_end resident_recorded 40 compare $resident --repeat 2000
  until_end table_7x7         40 compare figures/h200_conv2d_7x7_x4.cfg --modes "$every" --repeat 60
  until_end table_increment   40 compare figures/h200_increment_x4.cfg --modes "$every" --repeat 100
  until_end isolate_gang      60 isolate figures/h200_conv2d_x4_gang.cfg --repeat 20
  until_end tune             100 tune figures/h200_conv2d_x4_tune.cfg --from $((736 * ${STRETCH:-100} / 100 / 32 * 32)) \
    --to $((960 * ${STRETCH:-100} / 100 / 32 * 32)) --sweep=32 --tries 2 \
    --precision 3 --rounds 2 --late 0.01 --overruns 100
  until_end profile           60 profile $four --times planned --regulated --steady --repeat 300 \
    -o h200_conv2d_x4_large.profile.cfg
  measure_pauses "$resident"
  count_bytes "$resident"
  find . -name '*.csv' -exec gzip -9n {} +
}

step_task_graphs() {
  local end=$((SECONDS + 580)) name
  for name in ${GRAPHS:-h200_kcf h200_chain h200_multi_rate}; do
    case $name in
    # 5 ms a hyperperiod, in which something else may have the GPU for a moment
    h200_multi_rate) task_graph "$name" 300 10000 400 --repeat 30 --margin 20 --quantile 99.9 ;;
    # Turns of profile and plan find the longest times of many hyperperiods: little room is enough.
    h200_chain) task_graph "$name" 300 100000 500 --repeat 200 --margin 5 --steady ;;
    *) task_graph "$name" 300 100000 500 --repeat 200 --margin 15 --steady ;;
    esac
  done
  find . -name '*.csv' -exec gzip -9n {} +
}

# As a user does it: measure the times, plan, check. Then all modes beside each other, relaunched; what
# late releases are due to, from stamps of all phases; and many hyperperiods, counts only.
task_graph() { # NAME RUNS HYPERPERIODS RECORDED OPTION OF profile...
  local name=$1 runs=$2 hyperperiods=$3 recorded=$4 turn how=--anew
  shift 4
  cp "schedules/figures/$name.cfg" .
  # shellcheck disable=SC2086
  until_end "${name}_profile" 100 profile "$name.cfg" --times company --scenario resident "$@" ${PROFILING-} \
    -o "$name.profile.cfg"
  if [ ! -s "$name.profile.cfg" ]; then return; fi
  limit "${name}_plan" 60 ttprem plan "$name.cfg" -o "$name.cfg"
  # By a plan phases take other times than in company. The first turn makes windows as short as the
  # plan allows; those behind it only widen them, where shorter ones have moved something, until no
  # time gets longer: then this plan is the one that was measured.
  if [ "$name" != h200_multi_rate ]; then
    for turn in 1 2 3 4 5 6; do
      # shellcheck disable=SC2086
      until_end "${name}_turn$turn" 60 profile "$name.cfg" --times planned $how --scenario resident "$@" \
        --repeat 20000 --rounds 2 ${PROFILING-} -o "$name.profile.cfg"
      limit "${name}_plan" 60 ttprem plan "$name.cfg" -o "$name.cfg"
      if grep -qs '^ttprem: 0 times are longer' "${name}_turn$turn.txt"; then break; fi
      how=--raise
    done
  fi
  limit "${name}_check" 60 ttprem check "$name.cfg"
  until_end "${name}_recorded" 60 compare "$name.cfg" --modes tt,free,graph --scenario resident \
    --repeat "$(part_of "$recorded")"
  until_end "${name}_table" 120 compare "$name.cfg" --modes "$(modes_of_gpu)" --scenario relaunch \
    --repeat "$(part_of "$runs")" --no-records
  until_end "${name}_resident" 240 compare "$name.cfg" --modes tt,free,graph --scenario resident \
    --repeat "$(part_of "$hyperperiods")" --no-records
}

# A critical task beside a load that streams through the memory, as docs/how-to-keep-a-task-on-time-beside-a-load.md
# has it: what the load costs it with a gate, and in the ways that others would take.
step_best_effort() {
  local end=$((SECONDS + 580)) ways=tt,free,legacy,gated_graph,priority,partition
  beside_load best_effort_300      20000 $ways
  beside_load best_effort_100     100000 tt,partition
  beside_load best_effort_kcf       5000 $ways
  beside_load best_effort_chain     5000 $ways
  beside_load best_effort_product   5000 $ways
  beside_load best_effort_reads     5000 $ways
  beside_load best_effort_computes  5000 $ways
}

beside_load() { # NAME HYPERPERIODS MODES
  local name=$1 hyperperiods=$2 ways=$3 turn turns=0
  cp "schedules/figures/$name.cfg" .
  until_end "${name}_profile" 60 profile "$name.cfg" --margin 10 --repeat 2000 -o "$name.profile.cfg"
  limit "${name}_plan" 60 ttprem plan "$name.cfg" -o "$name.cfg"
  for turn in --anew --raise --raise; do # bounds are what is in flight when the gate closes
    until_end "${name}_turn$((++turns))" 60 profile "$name.cfg" --margin 10 --times planned $turn --repeat 2000 \
      -o "$name.profile.cfg"
    limit "${name}_plan" 60 ttprem plan "$name.cfg" -o "$name.cfg"
  done
  limit "${name}_check" 60 ttprem check "$name.cfg"
  until_end "$name" 200 isolate "$name.cfg" --sentinel --modes "$ways" --repeat "$(part_of "$hyperperiods")"
}

# Longest times want many hyperperiods: on time, where they are the claim, as many as fit.
step_isolate() {
  local end=$((SECONDS + 580)) four=figures/h200_conv2d_x4_large.cfg
  until_end four            240 isolate $four --modes tt --scenario resident --repeat "$(part_of 100000)"
  until_end four_others     240 isolate $four --modes free,partition --scenario resident --repeat "$(part_of 50000)"
  until_end four_lock        60 isolate $four --modes lock --scenario resident --repeat "$(part_of 500)"
  cp "$out"/task_graphs/h200_multi_rate*.cfg . 2>/dev/null || true
  if [ -s h200_multi_rate.cfg ]; then
    until_end multi_rate    100 isolate h200_multi_rate.cfg --modes tt,free --scenario resident \
      --repeat "$(part_of 500)"
  fi
  find . -name '*.csv' -exec gzip -9n {} +
}

step_exclusive() {
  local end=$((SECONDS + 420)) exclusive=figures/h200_conv2d_x4_exclusive.cfg
  until_end table    30 compare $exclusive --modes tt,free,legacy,priority,copy --repeat "$(part_of 1000)" --no-records
  until_end isolate 380 isolate $exclusive --modes tt --scenario resident --repeat "$(part_of 100000)"
  find . -name '*.csv' -exec gzip -9n {} +
}

part_of() { # COUNT
  local part=$(($1 * ${PERCENT:-100} / 100))
  echo $((part > 10 ? part : 10))
}

# When the memory stands still, and what is late then: from all stamps of 60 hyperperiods and of
# those that are discarded.
measure_pauses() { # SCHEDULE
  until_end trace 40 run "$1" --mode tt --repeat 60 --trace trace.csv
  limit pauses 40 "$here/pauses.sh" trace.csv
  mv pauses.log pauses.txt
  rm -f trace.csv
}

# What the memory's own counters say of a launch: of 70 hyperperiods, 20 of which go before those
# that count.
count_bytes() { # SCHEDULE
  local mode
  if ! command -v ncu >/dev/null; then
    report skipped 0 "memory_bytes: no ncu on PATH or in /usr/local/cuda/bin"
    return
  fi
  for mode in tt free; do
    limit "memory_bytes_$mode" 40 ncu --kernel-name executive --launch-count 3 \
      --metrics dram__bytes_read.sum,dram__bytes_write.sum --cache-control none --clock-control none \
      ttprem run "schedules/$1" --backend cuda --mode "$mode" --repeat 500 --no-records
    mv "memory_bytes_$mode.log" "memory_bytes_$mode.txt"
  done
}

step_experiments() {
  gpu_state "before the experiments"
  # The thesis is a group that keeps to eight minutes by itself, its findings one file each.
  limit thesis 600 ttprem experiment thesis --backend cuda -o .
  gpu_state "after the thesis"
  mv thesis.log thesis.txt
  local name
  for name in block_placement precedence memory_pause intruders execution_models queue_kinds task_queue errands; do
    limit "$name" 150 ttprem experiment "$name" --backend cuda -o .
  done
  gpu_state "after the experiments"
}

step_live() {
  local name seconds=${LIVE_SECONDS:-60}
  gpu_state "before live sessions"
  limit frames $((seconds + 60)) bench_live cuda "$seconds"
  limit aged 120 bench_live --aged cuda 20
  limit hosts 300 "$here/tests/bench/live_hosts.sh" "$here/bin/bench_live" cuda 10
  limit lateness 200 "$here/tests/bench/live_lateness.sh" ttprem cuda schedules/figures/h200_conv2d_x4_live.cfg
  for name in live_overhead live_increment host_memory live_work live_pipeline live_commands live_stress; do
    limit "$name" 150 ttprem experiment "$name" --backend cuda -o .
  done
  gpu_state "after live sessions"
}

# ---- on the GPU machine --------------------------------------------------------------------------

report() { # VERDICT SECONDS NAME
  printf '%-7s %5s s  %s\n' "$1" "$2" "$3" | tee -a "$out/summary.txt"
  if [ "$1" = FAILED ]; then failed=$((failed + 1)); fi
}

limit() { # NAME SECONDS COMMAND...
  local name=$1 seconds=$2 began=$SECONDS status=0
  shift 2
  printf '$ %s\n' "$*" >"$name.log"
  timeout -k 10 "$seconds" "$@" >>"$name.log" 2>&1 </dev/null || status=$?
  case $status in
  0) report ok $((SECONDS - began)) "$name" ;;
  3) report missing $((SECONDS - began)) "$name: $(grep -A 1 'LEFT OUT' "$name.log" | tr '\n' ' ')" ;;
  77) report skipped $((SECONDS - began)) "$name: $(tail -n 1 "$name.log")" ;;
  124 | 137) report FAILED $((SECONDS - began)) "$name: not done after $seconds s" ;;
  *) report FAILED $((SECONDS - began)) "$name: exit status $status: $(tail -n 1 "$name.log")" ;;
  esac
}

until_end() { # NAME SECONDS VERB SCHEDULE OPTION...: as measure, and not beyond the second $end
  local left=$((end - SECONDS))
  if [ "$left" -lt 10 ]; then
    report FAILED 0 "$1: no time was left"
    return
  fi
  measure "$1" $(($2 < left ? $2 : left)) "${@:3}"
}

# What the backend has, separated by commas.
modes_of_gpu() { sed -n '/^cuda: /,$s/^ *modes  *//p' "$out/info/info.log" | head -n 1 | tr ' ' ','; }

measure() { # NAME SECONDS VERB SCHEDULE OPTION...; the schedule of the step's folder, or of the tree
  local name=$1 seconds=$2 verb=$3 schedule=$4
  shift 4
  if [ ! -e "$schedule" ]; then schedule=schedules/$schedule; fi
  gpu_state "before $name"
  limit "$name" "$seconds" ttprem "$verb" "$schedule" --backend cuda "$@" --json "$name.json"
  gpu_state "after $name"
  tail -n +2 "$name.log" >"$name.txt" # the command is in the JSON
  rm "$name.log"
}

gpu_state() { # WHEN: a run during which the clocks were held down is worth nothing
  local reasons of_gpu=()
  if [ -n "${CUDA_VISIBLE_DEVICES-}" ]; then of_gpu=(-i "$CUDA_VISIBLE_DEVICES"); fi
  {
    printf '\n# %s, %s\n' "$1" "$(date -u +%FT%TZ)"
    timeout 20 nvidia-smi "${of_gpu[@]}" --format=csv \
      --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw,pstate
    if reasons=$(timeout 20 nvidia-smi "${of_gpu[@]}" -q -d PERFORMANCE); then
      grep ': Active' <<<"$reasons" || echo "no reason to hold a clock down"
    fi
  } >>gpu.txt 2>&1 || true
}

# Tasks of the kernel "none" have no data that a GPU could work on; where a profile is still to be
# measured there are no times to plan with.
schedules_with_data() {
  local schedule
  for schedule in $(grep -lE 'kernel *=' schedules/*/*.cfg | xargs grep -L '"none"'); do
    if profiles_are_there "$schedule"; then echo "$schedule"; fi
  done
}

profiles_are_there() { # SCHEDULE
  local profile
  for profile in $(grep -oE '"[^"]+\.profile\.cfg"' "$1" | tr -d '"'); do
    if [ ! -e "$(dirname "$1")/$profile" ]; then return 1; fi
  done
}

# A folder of its own for each step. Commands in the results name their schedules as in the tree.
in_folder() { # STEP COMMAND...
  mkdir -p "$out/$1"
  cd "$out/$1"
  shift
  ln -sfn "$schedules" schedules
  ln -sfn "$here/own_kernel" own_kernel
  "$@"
  rm -f schedules own_kernel
}

# The figures of four tasks for a GPU whose memory is slower, beside all others as they are.
stretch() { # PERCENT
  local figure
  schedules=$out/schedules
  rm -rf "$schedules"
  mkdir -p "$out"
  cp -r "$here/schedules" "$schedules"
  for figure in "$here"/schedules/figures/h200_{conv2d,increment}*.cfg; do
    case $figure in *_tune.cfg) continue ;; esac # which is as short as can be for every GPU
    "$here/stretch.sh" "$figure" "$1" >"$schedules/figures/$(basename "$figure")"
  done
}

measure_all() {
  local step
  out=$here/results
  if [ "${1-}" = -o ]; then
    out=$(realpath -m "${2:?-o needs a folder}")
    shift 2
  fi
  if [ $# -eq 0 ]; then set -- check faults sanitize measure h200_conv2d task_graphs best_effort isolate exclusive experiments live; fi
  for step in "$@"; do
    case $step in check | faults | sanitize | measure | h200_conv2d | task_graphs | best_effort | isolate | exclusive | experiments | live) ;; *) usage ;; esac
  done
  if [ ! -x "$here/bin/ttprem" ]; then
    echo "gpu: this is not a packed folder; make one with tools/gpu.sh pack" >&2
    exit 2
  fi
  export PATH=$here/bin:$PATH:/usr/local/cuda/bin
  if [ -n "${STRETCH-}" ]; then
    [[ $STRETCH =~ ^[1-9][0-9]{0,3}$ ]] || { echo "gpu: STRETCH '$STRETCH' is no whole number of percent from 1 to 9999" >&2; exit 2; }
    stretch "$STRETCH"
  fi
  in_folder info limit info 60 ttprem info
  if ! grep -q '^cuda: ' "$out/info/info.log" || grep '^cuda: not available' "$out/info/info.log"; then
    echo "gpu: nothing to measure here" >&2
    exit 77
  fi
  for step in "$@"; do in_folder "$step" "step_$step"; done
  tar -C "$(dirname "$out")" -czf "$out.tar.gz" "${out##*/}"
  echo "$failed failed; results: $out.tar.gz"
  [ "$failed" -eq 0 ]
}

# ---- in the tree ---------------------------------------------------------------------------------

# The system's C library has to be that of the machine; everything else travels.
libraries_of() { # PROGRAM...
  ldd "$@" | awk '$2 == "=>" { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libpthread|libdl|librt)\.so'
}

# What the packages of the libraries say about their licences; texts that all share are written out.
copy_licences() { # FOLDER LIBRARY...
  local folder=$1 library package notice
  shift
  mkdir -p "$folder"
  cp report/page/uPlot.LICENSE "$folder"
  for library in "$@"; do
    library=$(realpath "$library") # as the package knows it, which may be without /usr
    package=$(dpkg -S "$library" "${library#/usr}" 2>/dev/null | sed 's/:.*//;q') || true
    notice=/usr/share/doc/$package/copyright
    if [ -z "$package" ] || [ ! -f "$notice" ]; then
      echo "pack: $library has no licence beside it; install it as a Debian package" >&2
      return 1
    fi
    cp -L "$notice" "$folder/$package"
    grep -oE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$notice" | sort -u |
      while read -r common; do [ ! -f "$common" ] || cp -L "$common" "$folder"; done || true
  done
  cat >"$folder/README" <<'END'
The programs in bin/ are ttprem's own (../LICENSE) and hold NVIDIA's CUDA runtime library, cudart_static,
under the CUDA Toolkit's End User License Agreement, https://docs.nvidia.com/cuda/eula/. The libraries in lib/ are
those of Debian, unchanged: each package's notice is here under its name, its source at
https://sources.debian.org/. They may be replaced by others of the same name.
END
}

# Pictures for the schedules that read some: noise.
draw_input() { # FOLDER NAME.png ROWS COLUMNS
  "$1/bin/ttprem" run --quiet --backend sim - >/dev/null <<CFG
version = 1; name = "noise"; platform: { blocks = 1; };
arrays = ( { name = "noise"; type = "f32"; shape = [ $3, $4 ]; fill = "random";
             save = "$1/schedules/examples/$2"; } );
tasks = ( { name = "a"; kernel = "noop"; blocks = 1; tiles = 1; compute: { wcet_ns = 1000L; }; } );
CFG
}

pack() {
  cd "$here/.."
  tools/setup.sh --tests
  local build=$PWD/build-gpu name=ttprem-gpu source tests=() libraries=()
  local folder=$build/$name
  # RPATH and not RUNPATH: it serves the libraries of the libraries as well.
  local options=(-DCMAKE_BUILD_RPATH="\$ORIGIN/../lib"
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags" "$@")
  for source in tests/cuda/test_cuda*.c; do tests+=("$(basename "$source" .c)"); done

  cmake --preset test -B "$build" -DTTPREM_CUDA=ON -DTTPREM_Z3=OFF -DTTPREM_PYTHON=OFF "${options[@]}" >/dev/null
  cmake --build "$build" --target ttprem_command ttprem_base ttprem_measure_base man_pages bench_live "${tests[@]}" >&2
  cmake --install "$build" --prefix "$build/installed" >/dev/null
  cmake -S examples/own_kernel -B "$build/own" -G Ninja -DCMAKE_PREFIX_PATH="$build/installed" \
    "${options[@]}" >/dev/null
  cmake --build "$build/own" --target own_ttprem >&2
  cmake -S tests/faults -B "$build/faults" -G Ninja -DCMAKE_PREFIX_PATH="$build/installed" \
    "${options[@]}" >/dev/null
  cmake --build "$build/faults" >&2

  rm -rf "$folder"
  mkdir -p "$folder/bin" "$folder/lib" "$folder/own_kernel" "$folder/schedules"
  cp "$build/ttprem" "$build/own/own_ttprem" "$build"/faults/{faulty_ttprem,delayed_ttprem,run_again,witness} \
    "$build/tests/bench_live" "${tests[@]/#/$build/tests/}" "$folder/bin"
  strip "$folder"/bin/*
  mapfile -t libraries < <(libraries_of "$folder"/bin/*)
  cp -L -t "$folder/lib" "${libraries[@]}"
  copy_licences "$folder/licences" "${libraries[@]}"
  if libraries_of "$folder"/bin/* | grep -v "^$folder/"; then
    echo "pack: these libraries would not be found on another machine" >&2
    exit 1
  fi
  cp -r schedules/examples schedules/figures schedules/sets "$folder/schedules"
  draw_input "$folder" scene.png 512 512
  draw_input "$folder" frame.png 1080 1920
  cp examples/own_kernel/sharpen.cfg "$folder/own_kernel"
  mkdir -p "$folder"/tests/{bench,cuda,faults}
  cp tests/bench/live_hosts.sh tests/bench/live_lateness.sh "$folder/tests/bench"
  cp tests/cuda/*.cfg tests/cuda/what_holds.sh "$folder/tests/cuda"
  cp tests/faults/*.cfg tests/faults/gpu_faults.sh tests/faults/gpu_delays.sh "$folder/tests/faults"
  cp tools/gpu.sh experiments/figures/h200_conv2d/{pauses,stretch}.sh LICENSE "$folder"
  tar -C "$build" -czf "$folder.tar.gz" "$name"
  du -h "$folder.tar.gz"
}

failed=0
schedules=$here/schedules
case ${1-} in
pack) shift && pack "$@" ;;
measure) shift && measure_all "$@" ;;
*) usage ;;
esac
