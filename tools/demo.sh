#!/usr/bin/env bash
# From nothing to measured times: set up, build, plan, check and compare a schedule that finds the
# edges of a photograph. Everything it makes is under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly root=$PWD build=$PWD/build demo=$PWD/build/demo

step() { printf '\n== %s\n' "$*" >&2; }

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

draw_scene() {
  echo "no photograph to be had (offline?); drawing a scene instead" >&2
  gnuplot <<'PLOT'
set terminal pngcairo size 512,512
set output "scene.png.new"
set margins 0, 0, 0, 0
unset border; unset tics; unset key; unset colorbox
set palette gray
set samples 512; set isosamples 512
set xrange [-1:1]; set yrange [-1:1]
hill(x, y) = sin(9 * x) * cos(7 * y) + (x * x + y * y < 0.3 ? 1.5 : 0)
plot "++" using 1:2:(hill($1, $2)) with image
PLOT
  mv scene.png.new scene.png
}

step "set-up"
tools/setup.sh

step "build"
cmake --preset release >/dev/null
cmake --build --preset release >&2

mkdir -p "$demo"
cd "$demo"
step "a picture"
if [ -f scene.png ]; then
  echo "the one of last time: build/demo/scene.png" >&2
else
  fetch_photograph || draw_scene
fi
cp "$root/schedules/examples/demo.cfg" demo.cfg

step "plan: decide when every phase of every tile starts"
"$build/ttprem" plan --time-limit 1 demo.cfg -o planned.cfg
step "check: let the independent checker judge the plan"
"$build/ttprem" check planned.cfg
step "compare: the same tiles run free, by a lock, and by the clock"
"$build/ttprem" compare planned.cfg --json result.json --picture picture.svg --picture picture.png
"$build/ttprem" report result.json -o report.html

cat >&2 <<'EOT'

Under build/demo/:
  scene.png                         the picture that went in
  edges_horizontal.png, edges_vertical.png   what came out, verified after every run
  planned.cfg                       the schedule with its plan
  picture.svg, picture.png          scheduled against real phases
  report.html                       all of it on one page, for a browser
  result.json, result.*.csv         every number, with the raw samples and the first run's phases
EOT
