#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run all tests: tools/test.sh. Or some of them: tools/test.sh STEP...
#
#   format  sources are as .clang-format would write them, and say their licence
#   test    release build with warnings as errors, with the GPU backend where there is a CUDA compiler;
#           suites, CLI tests, dependency law, installing, a kernel out of tree
#   shared  the same as a shared library: installing, a kernel and the experiments out of tree; without a
#           GPU the tutorial, the tracker, the examples that take work while they run and the templates of
#           `ttprem new` here, without device code
#   asan    the suites and CLI tests under the address and undefined-behaviour sanitizers, device code as well
#   tsan    the suites that start threads under the thread sanitizer
#   fuzz    libFuzzer on the reader, the checker, kept plans and traces at the same time, for FUZZ_SECONDS (default 20)
#   tidy    clang-tidy on every source, the GPU backend's apart, without its analyzer
#   analyze the analyzer, which walks through all paths, on what is shipped: not among the default steps,
#           since it takes as long as all suites
#
# asan builds the GPU backend for the emulated GPU (tests/emulator/) where the CUDA Toolkit is; tsan and fuzz build
# without it, so that builds of both kinds are tested.
# A busy machine may make a test fail that judges times (the word `timing` in tests/CMakeLists.txt says which do). Such
# a one runs once again, alone, unless a sanitizer has reported something. When it passes then, it counts as passed and
# is named; what it said first stays in the output.
#
# Builds are kept in build-STEP/. The last line counts over all steps; what needs a GPU is skipped without
# one.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly default_steps=(format test shared asan tsan fuzz tidy) all_steps=(format test shared asan tsan fuzz tidy analyze)
readonly fuzz_seconds=${FUZZ_SECONDS:-20}
passed=0
failed=0
skipped=0
failures=()
log=$(mktemp)
trap 'rm -f "$log" "$log.first"' EXIT

count() { # NAME PASSED FAILED
  passed=$((passed + $2))
  failed=$((failed + $3))
  if [ "$3" -gt 0 ]; then failures+=("$1"); fi
}

# One command that counts as one test.
check() { # NAME COMMAND...
  local name=$1
  shift
  if "$@"; then count "$name" 1 0; else count "$name" 0 1; fi
}

# Without a GPU device code is compiled for the newest kind alone, and by the out-of-tree kernel for the oldest.
# Nobody can run it then, so that nobody waits for fast code either: that takes nvcc twenty times as long.
gpus=()
has_gpu() { nvidia-smi -L >/dev/null 2>&1; }
quick_device_code() {
  if PATH=$PATH:/usr/local/cuda/bin nvcc --help 2>/dev/null | grep -- '--Ofast-compile' >/dev/null; then
    echo -Ofc=max
  else
    echo -Xptxas=-O0
  fi
}

build() { # PRESET [TARGET...]
  cmake --preset "$1" "${gpus[@]}" >"$log" 2>&1 || { cat "$log"; return 1; }
  cmake --build --preset "$1" ${2:+--target "${@:2}"} >"$log" 2>&1 || { cat "$log"; return 1; }
}

# What a sanitizer writes when it has found something. A leak does not count: a case that fails leaves what it had open.
readonly sanitizer_report='ERROR: AddressSanitizer|WARNING: ThreadSanitizer|runtime error'

# Of the tests of a CTest run that failed: those that judge times, where no sanitizer has said anything.
failed_by_time() { # PRESET
  local results=build-$1/Testing/Temporary name
  [ -f "$results/LastTestsFailed.log" ] || return 0
  cp "$results/LastTest.log" "$log.first" # CTest begins another one whenever it is called
  comm -12 <(sed 's/^[0-9]*://' "$results/LastTestsFailed.log" | sort) \
    <(ctest --test-dir "build-$1" -N -L '^timing$' | sed -n 's/^ *Test *#[0-9]*: //p' | sort) |
    while read -r name; do
      awk -v name="$name" '/^[0-9]+\/[0-9]+ Test(ing)?: / { is_it = $3 == name } is_it' "$log.first" |
        grep -E "$sanitizer_report" >/dev/null || echo "$name"
    done
}

# Build, run CTest, and add its counts to ours.
suites() { # PRESET TARGET [CTEST OPTION...]
  local preset=$1 target=$2
  shift 2
  if ! build "$preset" "$target"; then
    count "$preset: build" 0 1
    return
  fi
  local result=0
  # One more than there are cores: some tests wait for clocks and watchdogs most of their time.
  "${without_aslr[@]}" ctest --test-dir "build-$preset" --parallel "$(($(nproc) + 1))" --output-on-failure "$@" 2>&1 |
    tee "$log" || result=$?
  local summary
  summary=$(sed -nE 's/.*tests passed, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$log")
  if [ -z "$summary" ]; then
    count "$preset: no tests ran" 0 1
    return
  fi
  local bad=${summary% *} of=${summary#* } left_out
  left_out=$(grep -cE '\(Skipped\)$' "$log" || true) # no GPU, say: CTest counts them as passed
  skipped=$((skipped + left_out))
  if [ "$result" -ne 0 ] && [ "$bad" -eq 0 ]; then count "$preset: ctest" 0 1; fi
  local name again=()
  if [ "$bad" -gt 0 ]; then mapfile -t again < <(failed_by_time "$preset"); fi
  for name in "${again[@]}"; do
    if "${without_aslr[@]}" ctest --test-dir "build-$preset" --output-on-failure -R "^$name\$"; then
      echo "passed alone, failed with others: $name"
      bad=$((bad - 1))
    fi
  done
  count "$preset" $((of - bad - left_out)) "$bad"
}

sources() { # FIND CONDITION...
  find include prem schedules kernels runtime measure report studies experiments command tests examples -type f \( "$@" \) | sort
}

format() { sources -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | xargs -P "$(nproc)" -n 100 clang-format --dry-run -Werror; }
untagged() { sources -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.sh' | grep -v '^\(tests/cmake/consumer\|examples/own_kernel\)/' |
  xargs grep -L 'SPDX-License-Identifier: Apache-2.0'; }
licences() { ! untagged | sed 's/$/: says no licence; see any other file/' | grep .; }
step_format() {
  check format format
  check licences licences
}

step_test() {
  local left_out=()
  if ! has_gpu; then
    gpus=(-DTTPREM_CUDA_ARCHITECTURES=90a-real "-DCMAKE_CUDA_FLAGS=$(quick_device_code)")
    left_out=(-E '^(tutorial|tracker|templates|live_examples)$') # the next step runs them
  fi
  suites test all "${left_out[@]}"
  gpus=()
}

step_shared() {
  # What it computes the step before has judged; that it can be linked needs no fast code.
  if ! has_gpu; then gpus=(-DTTPREM_CUDA=OFF -DCMAKE_C_FLAGS_RELEASE=-O1); fi
  if ! build shared; then
    count "shared: build" 0 1
    return
  fi
  gpus=()
  local name names=(install own_kernel experiments) long=()
  # Without a GPU nobody runs the device code of strangers' kernels: own_kernel alone has compiled it, in the step before.
  if ! has_gpu; then long=(tutorial tracker templates live_examples); fi
  local -A process
  for name in "${long[@]}"; do
    "tests/cmake/$name.sh" build-shared >"build-shared/$name.log" 2>&1 &
    process[$name]=$!
  done
  for name in "${names[@]}"; do check "shared: $name" "tests/cmake/$name.sh" build-shared; done
  for name in "${long[@]}"; do check "shared: $name" script_result "$name" "${process[$name]}"; done
}
script_result() { # NAME PROCESS: what it said, when it has failed; one that judges times runs again
  wait "$2" && return
  tail -n 60 "build-shared/$1.log"
  grep '^# ctest: .*timing' "tests/cmake/$1.sh" >/dev/null && "tests/cmake/$1.sh" build-shared || return 1
  echo "passed alone, failed with others: $1"
}

# Without the tests of which a sanitizer would see nothing new; random sets are a tenth (CMakePresets.json).
step_asan() {
  if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then gpus=(-DTTPREM_CUDA=EMULATED); fi
  suites asan all
  gpus=()
}

# Suites that start threads, without their cases that start none (only_threads() in tests/common/rounds.h).
step_tsan() {
  # Kernels that spread addresses widely leave no room for the thread sanitizer's shadow.
  if setarch -R true 2>/dev/null; then without_aslr=(setarch -R); fi
  suites tsan threaded_suites -L threads
  without_aslr=(env)
}

# The build without optimization takes a fourth of the time of one with, and its targets twice as long for an input.
fuzz() { # NAME SECONDS
  local found=build-fuzz/corpus-$1
  mkdir -p "$found"
  tools/keys.py dictionary >"build-fuzz/$1.dict"
  LSAN_OPTIONS=suppressions=tests/lsan.supp:print_suppressions=0 \
    "build-fuzz/tests/fuzz_$1" -max_total_time="$2" -dict="build-fuzz/$1.dict" -timeout=20 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="build-fuzz/$1-" "$found" "tests/fuzz/corpus/$1" >"build-fuzz/$1.log" 2>&1
}
fuzz_result() { # NAME: what it said, when it has ended
  wait "$2" || { tail -n 60 "build-fuzz/$1.log"; return 1; }
  grep -E '^(Done|stat::number_of_executed_units)' "build-fuzz/$1.log"
}
step_fuzz() {
  local targets=(reader check keep trace) target
  if ! build fuzz "${targets[@]/#/fuzz_}"; then
    count "fuzz: build" 0 1
    return
  fi
  local -A process
  for target in "${targets[@]}"; do
    fuzz "$target" "$fuzz_seconds" &
    process[$target]=$!
  done
  for target in "${targets[@]}"; do
    check "fuzz: $target" fuzz_result "$target" "${process[$target]}"
  done
}

clang_tidy() { # CHECKS FIND CONDITION...
  cmake --preset test >"$log" 2>&1 || { cat "$log"; return 1; }
  sources -name '*.c' ! -name 'fuzz_*' ! -path '*/cuda/*' ! -path 'examples/*' ! -path 'tests/cmake/consumer/*' "${@:2}" |
    xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build-test --checks="$1" >"$log" 2>/dev/null ||
    { grep -v '^$' "$log"; return 1; }
}
step_tidy() { check tidy clang_tidy '-clang-analyzer-*'; }
step_analyze() { check analyze clang_tidy '' ! -path 'tests/*'; }

# Into `cpu_s` what all commands until now took of the processors, as `times` writes it: 1m2.345s 0m6.789s.
# In a pipe or `$()` it would say so of a shell of its own.
ask_cpu() {
  times >"$log"
  cpu_s=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' "$log")
}

without_aslr=(env)
steps=("$@")
if [ ${#steps[@]} -eq 0 ]; then steps=("${default_steps[@]}"); fi
for step in "${steps[@]}"; do
  if [[ " ${all_steps[*]} " != *" $step "* ]]; then
    echo "test: no step '$step'; there are: ${all_steps[*]}" >&2
    exit 2
  fi
done

if ! tools/setup.sh --tests; then
  count setup 0 1
  steps=()
fi
for step in "${steps[@]}"; do
  printf '\n== %s\n' "$step"
  ask_cpu
  began=$SECONDS began_cpu_s=$cpu_s
  "step_$step"
  ask_cpu
  echo "$step took $((SECONDS - began)) s, $((cpu_s - began_cpu_s)) s of processor time"
done

echo
if [ "$failed" -gt 0 ]; then printf 'failed: %s\n' "${failures[@]}"; fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
