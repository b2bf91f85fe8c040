#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each template of `ttprem new`, in an empty folder, with an installed ttprem on PATH and nothing else of this tree:
# its own test passes; and fails once the schedule asks for what cannot be.
# That in Python runs where the build has the package.
#   templates.sh BUILD
# ctest: BUILD long release
set -euo pipefail
build=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cmake --install "$build" --prefix "$place/usr" >/dev/null
PATH=$place/usr/bin:$PATH
export PATH CFLAGS=-O1
if ! nvidia-smi -L >/dev/null 2>&1; then export CUDAFLAGS=-Xptxas=-O0; fi # nobody waits for fast code
mkdir "$place/empty"
cd "$place/empty"

templates='tasks live kernel'
for python in "${PYTHON-}" python3 /usr/bin/python3; do
  if [ -n "$python" ] && [ -e "$build/python/ttprem/_declarations.py" ] && "$python" -c 'import _cffi_backend, numpy' 2>/dev/null; then
    export PYTHON=$python PYTHONPATH=$place/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
    templates+=' python'
    break
  fi
done
case $templates in *python) ;; *) echo 'templates: python is left out: no package in this build, or no Python with cffi and numpy' ;; esac
for template in $templates; do
  ttprem new "plant_$template" --template $template >/dev/null
  sh "plant_$template/test.sh" >"$place/said" 2>&1 ||
    { cat "$place/said" >&2; echo "templates: $template fails its own test" >&2; exit 1; }
  grep -Eq ': (ok,|feasible,) .* phases' "$place/said" || { echo "templates: $template: no plan was judged" >&2; exit 1; }
done
ttprem run --quiet plant_tasks/plant_tasks.cfg --backend cpu --repeat 2 --with-disturbed >"$place/said" ||
  { cat "$place/said" >&2; exit 1; }

# The tests can fail: a deadline, an instant and a contract that cannot be kept.
sed -i 's/deadline_ns = "500us"/deadline_ns = "50us"/' plant_tasks/plant_tasks.cfg
sed -i 's/publish_ns = 15000000L/publish_ns = 1500000L/' plant_live/camera.cfg
sed -i 's/tile = \[ 64, 64 \]/tile = [ 0, 64 ]/' plant_kernel/plant_kernel.cfg
if [ -e plant_python ]; then sed -i 's/deadline_ns="500us"/deadline_ns="50us"/' plant_python/plant_python.py; fi
for template in $templates; do
  if sh "plant_$template/test.sh" >"$place/said" 2>&1; then
    echo "templates: the test of $template passes whatever its schedule says" >&2
    exit 1
  fi
done
