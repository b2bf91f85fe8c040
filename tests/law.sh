#!/usr/bin/env bash
# The dependency law of CONTRIBUTING.md: which room may include from which.
# Prints every breach as file:line and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

# A file belongs to the longest of these that its path begins with. Checker and planners know nothing of
# each other: the second opinion is worth nothing if it is the first one again.
declare -A may_use=(
  [include]="include"
  [prem/base]="include prem/base"
  [prem/model]="include prem/base prem/model"
  [prem/file]="include prem/base prem/model prem/file"
  [schedules/checker]="include prem/base prem/model schedules/checker"
  [schedules/planner]="include prem/base prem/model schedules/planner"
  [kernels]="kernels" # and kernel.h, see below
  [runtime/core]="include prem/base prem/model runtime/core"
  [runtime/sim]="include prem/base prem/model runtime/core runtime/sim"
  [runtime/cpu]="include prem/base prem/model runtime/core runtime/cpu"
  [runtime/cuda/device]="include kernels runtime/core runtime/cuda/device"
  [runtime/cuda/host]="include prem/base prem/model runtime/core runtime/cuda/device runtime/cuda/host"
  [runtime/cuda/baselines]="include kernels runtime/core runtime/cuda/device runtime/cuda/host runtime/cuda/baselines"
  [runtime/cuda]="include prem/base prem/model runtime/core runtime/cuda/device runtime/cuda/host runtime/cuda/baselines runtime/cuda"
  [runtime/session]="include prem/base prem/model runtime/core runtime/sim runtime/cpu runtime/cuda runtime/session"
  [measure]="include prem/base measure"
  [report]="include prem/base measure report"
  [experiments/studies]="include prem/base measure report experiments/studies"
  [experiments/machine]="include prem/base measure report experiments experiments/common experiments/machine"
  [experiments/thesis]="include prem/base measure report experiments experiments/common experiments/thesis"
  [experiments/common]="include prem/base measure report experiments experiments/common"
  [experiments]="include prem/base experiments"
  [tools]="include prem/base prem/model prem/file schedules/checker schedules/planner kernels runtime/core runtime/sim runtime/cpu runtime/cuda/device runtime/cuda/host runtime/cuda/baselines runtime/cuda runtime/session measure report experiments/studies experiments/machine experiments/thesis experiments/common experiments tools"
  [tests]="include prem/base prem/model prem/file schedules/checker schedules/planner kernels runtime/core runtime/sim runtime/cpu runtime/cuda/device runtime/cuda/host runtime/cuda/baselines runtime/cuda runtime/session measure report experiments/studies experiments/machine experiments/thesis experiments/common experiments tools tests"
)
folders=(include prem schedules kernels runtime measure report experiments tools tests)
breaches=0

breach() {
  echo "$1" >&2
  breaches=$((breaches + 1))
}

room_of() { # PATH: into $room
  room=${1%/*}
  while [ -z "${may_use[$room]-}" ]; do
    if [[ $room != */* ]]; then
      room=
      return
    fi
    room=${room%/*}
  done
}

judge() { # FILE LINE INCLUDED
  local file=$1 line=$2 included=$3 from to
  local target=$included
  if [[ $included == ttprem/* ]]; then target=include/$included; fi
  if [ ! -f "$target" ] && [ "$included" != kernels/kernel_headers.h ]; then
    breach "$file:$line: \"$included\" is no file of this tree: an include has its path from the root"
    return
  fi
  room_of "$file" && from=$room
  room_of "$target" && to=$room
  if [ "$from" = kernels ] && [ "$to" = include ]; then
    [ "$included" = ttprem/kernel.h ] ||
      breach "$file:$line: kernels/ may include ttprem/kernel.h alone, not \"$included\""
  elif [[ " ${may_use[$from]} " != *" $to "* ]]; then
    breach "$file:$line: $from/ may not include \"$included\" of $to/"
  fi
}

files=0
while IFS= read -r file; do
  files=$((files + 1))
  while IFS=: read -r line included; do
    judge "$file" "$line" "$included"
  done < <(sed -nE '/^[[:space:]]*#[[:space:]]*include[[:space:]]*"/{=;s/^[^"]*"([^"]*)".*/\1/p}' \
    "$file" | paste -d: - -)
done < <(find "${folders[@]}" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) \
  ! -path 'tests/own_kernel/*' ! -path 'tests/consumer/*' | sort)

if [ "$breaches" -gt 0 ]; then
  echo "law: $breaches breaches in $files files" >&2
  exit 1
fi
echo "law: $files files keep the law"
