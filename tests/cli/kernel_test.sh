#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ttprem kernel-test: kernels that are right pass, and each mistake is named in one line.
#   kernel_test.sh TTPREM
# ctest: TTPREM long release timing
set -euo pipefail
ttprem=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/tmp" "$place/kernels"
export TMPDIR=$place/tmp
cd "$place/kernels"
status=0
if ! command -v cc >/dev/null || ! command -v c++ >/dev/null; then
  echo "kernel_test: there is no compiler" >&2
  exit 77
fi

fail() {
  echo "kernel_test: $*" >&2
  cat ../out ../err >&2
  status=1
}

# The test ends so, says that, and leaves nothing.
expect() { # STATUS REGEX HEADER [OPTION...]
  local found=0
  "$ttprem" kernel-test "${@:3}" >../out 2>../err || found=$?
  [ "$found" -eq "$1" ] || fail "${*:3}: status $found instead of $1"
  cat ../out ../err | grep -E "$2" >/dev/null || fail "${*:3}: does not say '$2'"
  [ -z "$(ls "$TMPDIR")" ] || fail "${*:3}: leaves $(ls "$TMPDIR")"
}

# A header with a mistake in it is wrong, and a line that begins with its name says so.
wrong() { # REGEX HEADER SED [OPTION...]
  sed "$3" "$2" >"${2##*/}"
  ! cmp -s "$2" "${2##*/}" || fail "'$3' changes nothing"
  expect 1 "^ttprem: $(basename "$2" .h): $1" "${2##*/}" --cases 6 "${@:4}"
}

twice=$source/tests/cli/kernels/twice.h
sharpen=$source/examples/own_kernel/sharpen.h
own_window='  bind->window\[0\] = bind->window\[1\];'

for kernel in conv2d tile_sum walk; do
  expect 0 "^$kernel: ok, 3 cases" "$source/kernels/$kernel.h" --cases 3
done
expect 0 'twice: ok, 6 cases' "$twice" --cases 6
expect 0 'sharpen: ok, 6 cases' "$sharpen" --cases 6 --arg strength=0.5
expect 0 'sharpen: ok, 3 cases' "$sharpen" --schedule "$source/examples/own_kernel/sharpen.cfg"

# Windows and stores.
wrong 'E031: .*out' "$sharpen" "s/$own_window/& bind->window[1].extent[2] += 2;/" --tile '[ 4, 8 ]'
wrong 'E031: .*out' "$sharpen" "s/$own_window/& bind->window[1].extent[2] -= 2;/" --tile '[ 4, 8 ]'
wrong "E031: kernel 'sharpen' wrote row [0-9]+.* of 'out' in tile [0-9]+" "$sharpen" \
  's/PREM_AT(float, out, row, column)/PREM_AT(float, out, row + 3, column)/'
wrong 'tile [0-9]+ on the CPU: .*far outside' "$sharpen" \
  's/PREM_AT(float, out, row, column)/PREM_AT(float, out, row + 9000000, column)/'
wrong 'tile [0-9]+, out\[[0-9]+, [0-9]+\] is [^ ]+ on the CPU; the reference says' "$sharpen" \
  's/column)), *$/column)), /; s/here\[1\], here\[in/here[2], here[in/'

sed 's/  float strength;/  float strength, more[99];/' "$sharpen" >sharpen.h
expect 1 'static assertion failed: "sharpen_params is larger than PREM_PARAMS_BYTES"' sharpen.h

# Lanes.
lanes='tile [0-9]+, out\[[0-9]+, [0-9]+\] is [^ ]+ with [0-9]+ GPU lanes in .*PREM_SYNC\(\) missing'
wrong "$lanes" "$twice" '/PREM_SYNC/d'
wrong "$lanes" "$twice" 's/^  PREM_SYNC.*/float last = half[0]; & half[0] = last;/'
wrong "${lanes/in ./in random .}" "$twice" 's/extent\[3\] \* 4;/extent[3] * 4 + 4;/
  s/^  PREM_SYNC.*/int32_t *sum = (int32_t *)(half + out.extent[2] * columns); *sum = 0; &\
    PREM_LANES(i, 4000) *sum += 1; &\
    if (PREM_FIRST_LANE() \&\& *sum != 4000) half[0] = 7.0F; &/'
wrong 'tile [0-9]+ with .*: lane [0-9]+ waits at a PREM_SYNC\(\) to which lane [0-9]+ does not' "$twice" \
  's/^  PREM_SYNC/  if (PREM_LANE < 40) &/'
wrong 'tile [0-9]+ with .*: it does not end' "$twice" \
  's/^  PREM_SYNC/  for (volatile int32_t on = PREM_LANE == 5; on;) {} &/'

wrong 'tile [0-9]+ with .*: (stopped by the error above|Illegal instruction)' "$twice" \
  's/^  PREM_SYNC/  if (columns * 2147483647 + 2147483640 == 7) half[0] = 1.0F; &/'

# What no kernel can be tested by.
sed 's/bind->rank\[0\] != 2/bind->rank[0] != 7/' "$sharpen" >sharpen.h
expect 1 'takes none of 800 random cases, most often for this: tasks.*arrays.in: has [0-9] dimensions' \
  sharpen.h --cases 2
expect 1 'E031: .*no such argument' "$sharpen" --arg strongth=1
expect 1 'no task of .* has it' "$sharpen" --schedule "$source/schedules/examples/conv2d.cfg"
sed 's/PREM_FN void sharpen_compute/& +/' "$sharpen" >sharpen.h
expect 1 'sharpen.h:[0-9]+:[0-9]+: error' sharpen.h
expect 1 'absent.h: No such file' absent.h
cp "$sharpen" own-sharpen.h
expect 2 'no header of a kernel' own-sharpen.h
expect 2 'is not KEY=VALUE' "$sharpen" --arg strength
expect 2 'leave them out' "$sharpen" --schedule x.cfg --arg strength=1
CC='nobodys-cc -x' expect 3 "^ttprem: there is no compiler 'nobodys-cc -x'" "$sharpen"
CXX=nobodys-cxx expect 3 "^ttprem: there is no compiler 'nobodys-cxx'" "$sharpen"

if command -v clang++ >/dev/null; then
  CC=clang CXX=clang++ expect 0 'conv2d: ok, 3 cases' "$source/kernels/conv2d.h" --cases 3
fi

# Ctrl-C.
"$ttprem" kernel-test "$sharpen" --cases 100000 >../out 2>../err &
sleep 2
kill -INT $!
found=0
wait $! || found=$?
[ "$found" -eq 130 ] || fail "interrupted: status $found"
[ -z "$(ls "$TMPDIR")" ] || fail "interrupted: leaves $(ls "$TMPDIR")"
exit "$status"
