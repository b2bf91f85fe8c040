#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a picture of a target that is followed: set up, build ttprem without its GPU backend and
# install it below build/, build the tracker from there, and follow a target through a synthetic video, time-triggered
# on the CPU. Then once more by plain code, for the same bits. Everything it makes is under build/tracker/.
#   examples/tracker/demo.sh [OPTION...]    options go to the tracker: --scales 3, or another video
set -euo pipefail
here=$(realpath "$(dirname "$0")")
readonly root=${here%/examples/tracker} build=${here%/examples/tracker}/build/tracker

step() { printf '\n== %s\n' "$*" >&2; }
# quietly COMMAND...: what it says is shown if it fails.
quietly() { "$@" >"$build/log" 2>&1 || { cat "$build/log" >&2; exit 1; }; }

mkdir -p "$build"
step "set-up"
"$root/tools/setup.sh"

# To compile for GPUs takes minutes.
step "build ttprem, without the GPU backend, and install it in build/tracker/usr"
quietly cmake -S "$root" -B "$build/ttprem" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTTPREM_TESTS=OFF -DTTPREM_CUDA=OFF
quietly cmake --build "$build/ttprem"
quietly cmake --install "$build/ttprem" --prefix "$build/usr"

step "build the tracker from what is installed"
quietly cmake -S "$here" -B "$build/build" -G Ninja -DCMAKE_PREFIX_PATH="$build/usr" -DTRACKER_BASELINES=OFF
quietly cmake --build "$build/build"

step "follow: each frame is a hyperperiod of the plan"
"$build/build/tracker" "$@" --output "$build/followed"
if [[ " $*" != *" --camera"* ]]; then # a camera's frames that come too early are left out, and others the next time
  step "the same by plain code, one kernel after the other"
  "$build/build/tracker" "$@" --backend plain --output "$build/plain" >/dev/null
  cmp "$build/followed/track.csv" "$build/plain/track.csv"
  echo "the same bits: followed/track.csv and plain/track.csv"
fi
cat <<EOF

Look at
  $build/followed/track.png    six frames: what was followed, and where the target really was
  $build/followed/track.html   the same as a page, with curves
Files beside them: track.csv (a box a frame), scores.json, schedule.cfg (the tasks).
To see more: $build/build/tracker --help
EOF
