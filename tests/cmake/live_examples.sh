#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Applications that feed a schedule while it runs, examples/camera_loop, monitor, errands and queens, built
# from an installed ttprem as examples/README.md says: on the simulator the same bytes every time, on the CPU every
# frame and errand submitted, and an end.
#   live_examples.sh BUILD
# ctest: BUILD long release timing
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "live_examples: $*" >&2
  exit 1
}

cmake --install "$build" --prefix "$place/usr" >/dev/null
for name in camera_loop monitor errands; do
  cp -r "$here/../../examples/$name" "$place/$name"
  cmake -S "$place/$name" -B "$place/$name/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" >"$place/log" &&
    cmake --build "$place/$name/build" >>"$place/log" || fail "$(cat "$place/log")"
  [ "$(wc -l <"$place/$name/$name.c")" -le 100 ] || fail "$name.c has more than 100 lines"
done

run() { # NAME SCHEDULE BACKEND OUT
  timeout 600 "$place/$1/build/$1" "$place/$1/$2" ${3:+"$3"} >"$place/$4" 2>&1 || fail "$1 on $3: $(cat "$place/$4")"
}
run camera_loop camera.cfg sim first
run camera_loop camera.cfg sim second
cmp "$place/first" "$place/second"
grep -qx '100 frames in, 100 used, 100 results out, 0 late, at most 35 ms old' "$place/first" ||
  fail "sim: $(cat "$place/first")"
run camera_loop camera.cfg cpu third
# How many are late is the machine's business.
grep -Eq ' frames in, [1-9][0-9]* used, [1-9][0-9]* results out, ' "$place/third" || fail "cpu: $(cat "$place/third")"

run monitor monitor.cfg sim monitor.txt
diff "$here/monitor.txt" "$place/monitor.txt" || fail "monitor on sim: see above"
run monitor monitor.cfg cpu monitor_cpu.txt
# Whether a job overruns there is the machine's business as well.
[ "$(grep -c '^frame' "$place/monitor_cpu.txt")" -eq 12 ] && grep -q ' ms: args, session, job ' "$place/monitor_cpu.txt" &&
  grep -q '^frame 11: 9 inside$' "$place/monitor_cpu.txt" || fail "monitor on cpu: $(cat "$place/monitor_cpu.txt")"

[ "$(wc -l <"$place/errands/errands.c")" -le 80 ] || fail "errands.c has more than 80 lines"
run errands errands.cfg "" errands.txt
grep -Eqx '100 of 100 done, the longest took [0-9]+ us' "$place/errands.txt" || fail "errands: $(cat "$place/errands.txt")"

# The output is right: there are 92 ways, and the kernel's reference counts them alone.
cp -r "$here/../../examples/queens" "$place/queens"
cmake -S "$place/queens" -B "$place/queens/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" >"$place/log" &&
  cmake --build "$place/queens/build" >>"$place/log" || fail "$(cat "$place/log")"
queens=$place/queens/build/queens_ttprem
"$queens" plan --quiet "$place/queens/queens.cfg" -o "$place/planned.cfg"
"$queens" run "$place/planned.cfg" --backend sim --errands dense --repeat 500 >"$place/queens.txt"
grep -Eq '^tt .* ok$' "$place/queens.txt" && grep -Eq '^count +tt +10 +10 +0 +0 ' "$place/queens.txt" || fail "queens: $(cat "$place/queens.txt")"
