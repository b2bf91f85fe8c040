#!/bin/sh
# The kernel keeps the contract, and in a schedule its outputs are those of its reference.
#   sh test.sh        with ttprem on PATH
set -eu
cd "$(dirname "$0")"
ttprem kernel-test sharpen.h
cmake -B build .
cmake --build build
build/own_ttprem plan sharpen.cfg --time-limit 0 -o build/planned.cfg
build/own_ttprem check build/planned.cfg
build/own_ttprem run build/planned.cfg --backend sim --strict
