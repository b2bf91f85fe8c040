#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draw every experiment of a machine again from its JSON: draw.sh TTPREM FOLDER (cpu/experiments, ...)
set -euo pipefail
ttprem=$(realpath "$1")
folder=$(realpath "$2")
for json in "$folder"/*.json; do
  "$ttprem" experiment "$json" -o "$folder" >"${json%.json}.txt"
  rm -f "${json%.json}.png" # the SVG says it all
done
