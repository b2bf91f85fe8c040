#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command on a machine without GPU and driver, or as good as that: it starts, says in one line
# why it has no GPU, and falls back to the CPU.
#   without_gpu.sh TTPREM CUDA     CUDA: 1 if the GPU backend is in the build, else 0
# ctest: TTPREM CUDA
set -euo pipefail
ttprem=$(realpath "$1") cuda=$2
input=$(realpath "$(dirname "$0")/../cli/inputs/increment.cfg")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CUDA_VISIBLE_DEVICES=

fail() {
  echo "without_gpu: $*" >&2
  exit 1
}

why="not in this build"
if [ "$cuda" = 1 ]; then why="no GPU here: "; fi
listed=0
if "$ttprem" list | grep '^  cuda ' >/dev/null; then listed=1; fi
[ "$listed" = "$cuda" ] || fail "ttprem list shows the backend cuda: $listed"
"$ttprem" info | grep "^cuda: not available: $why" >/dev/null || fail "ttprem info does not say: $why"

status=0
said=$("$ttprem" run --backend cuda "$input" 2>&1) || status=$?
[ "$status" = 3 ] || fail "exit status $status without a GPU, 3 is right"
[[ $said == "ttprem: backend cuda is not available: $why"* ]] || fail "it says: $said"
[ "$(wc -l <<<"$said")" = 1 ] || fail "more than one line: $said"

cd "$scratch"
said=$("$ttprem" run --with-disturbed "$input" 2>&1 >table) || fail "--backend auto does not fall back: $said"
[[ $said == "ttprem: backend cpu: "*"; cuda: $why"* ]] || fail "--backend auto says: $said"
