#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From nothing to measured times: set up, build, plan and check a schedule that finds the edges of a
# photograph; see what it is worth, exactly in the simulator, as recorded on an H200, and measured on
# this machine's CPU. Everything it makes is under build/.
#   tools/demo.sh [OPTION...]    options go to CMake: -DTTPREM_CUDA=OFF leaves the GPU backend out
set -euo pipefail
cd "$(dirname "$0")/.."
readonly root=$PWD build=$PWD/build demo=$PWD/build/demo

step() { printf '\n== %s\n' "$*" >&2; }
title() { printf '\n== %s\n\n' "$*"; }
ttprem() { "$build/ttprem" "$@"; }

# value FILE LABEL KEY: the number of a row of a result; "null" where there is none.
value() {
  awk -v label="\"$2\"," -v key="\"$3\":" '
    $1 == "\"label\":" { inside = $2 == label }
    inside && $1 == key { sub(/,$/, "", $2); print $2; exit }' "$1"
}

in_us() { awk -v ns="$1" 'BEGIN { printf "%.4g", ns / 1000 }'; }

# A public-domain photograph of 512 x 512 pixels out of a package of Debian's (3 MB, not installed).
fetch_photograph() {
  local scratch image=./usr/lib/python3/dist-packages/imageio/resources/images/astronaut.png
  scratch=$(mktemp -d)
  if (cd "$scratch" && apt-get download -q python3-imageio >/dev/null 2>&1 &&
    dpkg-deb --fsys-tarfile python3-imageio_*.deb | tar -xf - "$image" &&
    mv "$image" "$demo/scene.png.new") && mv "$demo/scene.png.new" "$demo/scene.png"; then
    echo "the photograph of an astronaut, from Debian's python3-imageio" >&2
  fi
  rm -rf "$scratch"
  [ -f "$demo/scene.png" ]
}

shipped_scene() {
  echo "no photograph to be had (offline?); the scene of the examples instead" >&2
  cp "$root/schedules/examples/scene.png" scene.png
}

step "set-up"
tools/setup.sh

step "build"
cmake --preset release "$@" >/dev/null
cmake --build --preset release >&2

mkdir -p "$demo"
cd "$demo"
step "a picture"
if [ -f scene.png ]; then
  echo "the one of last time: build/demo/scene.png" >&2
else
  fetch_photograph || shipped_scene
fi
cp "$root/schedules/examples/demo.cfg" demo.cfg

step "plan: decide when every phase of every tile starts"
ttprem plan --time-limit 1 demo.cfg -o planned.cfg
step "check: let the independent checker judge the plan"
ttprem check planned.cfg

title "1 of 3, exact: the simulator, where two memory phases at once take twice as long"
ttprem compare planned.cfg --backend sim --no-save --json exact.json >exact.txt
ttprem isolate planned.cfg --backend sim --json alone.json >alone.txt
awk '/^response times/ { exit } 1' exact.txt
awk '/^Furthest/ { inside = 1 } inside && !NF { exit } inside' alone.txt

title "2 of 3, recorded: four convolutions that fill an H200, 1000 runs of each mode"
"$root/tools/evidence.sh" unpack h200_conv2d "$demo/recorded"
recorded=$demo/recorded/h200/h200_conv2d/table.json
# Its phases are those of a run that kept them, of the same commit and GPU.
ttprem report "${recorded%.json}_recorded.json" "$recorded" -o h200.html
awk '/^response times/ { exit } 1' "${recorded%.json}.txt"

title "3 of 3, measured: this machine's CPU, an ordinary system that takes a core away when it likes"
ttprem compare planned.cfg --backend cpu --repeat 2000 --duration 30s --json result.json \
  --picture picture.svg --picture picture.png >measured.txt || [ $? -eq 3 ] # 3: no job was undisturbed
awk '/^phases:/ { exit } 1' measured.txt
ttprem report result.json -o report.html

# ---- what was seen ---------------------------------------------------------------------------

# moved MODE: how far its response times moved in company, at most.
moved() {
  awk -v mode="$1" '/^Furthest/ { inside = 1 } inside && !NF { exit }
    inside && $1 == mode && $3 > most { most = $3 }
    END { printf "%d", most }' alone.txt
}
# disturbed MODE: "12 of 2000", as the table has it.
disturbed() { awk -v mode="$1" '$1 == mode { sub("/", " of ", $2); print $2; exit }' measured.txt; }

seen_here() {
  local tt free
  tt=$(value result.json tt jitter_ns) free=$(value result.json free jitter_ns)
  if [ "$tt" = null ] || [ "$free" = null ]; then
    echo "this machine is too busy: something else took a core from $(disturbed tt) jobs of tt and from $(disturbed free) of free."
  else
    echo "the makespan moved by $(in_us "$tt") us in tt and $(in_us "$free") us in free, not counting runs with the $(disturbed tt) jobs of tt and the $(disturbed free) of free from which something else took a core."
  fi
}

fold -s -w 98 <<EOF

What was seen
1. Exact: when another task came, tt's response times moved by $(moved tt) ns, free's by $(in_us "$(moved free)") us.
2. Recorded on an H200: over 1000 runs the makespan moved by $(value "$recorded" tt jitter_ns) ns in tt and $(in_us "$(value "$recorded" free jitter_ns)") us in free.
3. Here: $(seen_here)
EOF
cat <<'EOF'

Files, under build/demo/
  h200.html                         the H200's page, for a browser: start here
  report.html                       the same of this machine's CPU
  picture.svg, picture.png          scheduled against real phases on the CPU
  planned.cfg                       the schedule with its plan
  exact.txt, alone.txt, measured.txt   the whole tables, causes of late releases included
  scene.png                         the picture that went in
  edges_horizontal.png, edges_vertical.png   what came out, verified after every run
  result.json, result.*.csv         every number, disturbed jobs too, and the raw samples
EOF
cat <<'EOF'

To call ttprem from here on, in the root of this tree:
  export PATH="$PWD/build:$PATH"
  ttprem plan schedules/examples/smallest.cfg -o planned.cfg && ttprem run planned.cfg --backend sim
EOF
echo 'A whole application, a tracker on the CPU: examples/tracker/demo.sh'
if ttprem info 2>/dev/null | grep '^cuda: [^n]' >/dev/null; then
  echo 'On the GPU here: ttprem compare schedules/figures/h200_conv2d_x4.cfg --backend cuda (an H200), or build/demo/planned.cfg'
fi
