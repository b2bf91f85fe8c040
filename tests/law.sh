#!/usr/bin/env bash
# The dependency law of CONTRIBUTING.md: which folder may include from which.
# Prints every breach as file:line and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

rooms=(include prem schedules kernels runtime experiments tools tests)
declare -A may_use=(
  [include]="include"
  [prem]="include prem"
  [schedules]="include prem schedules"
  [kernels]="kernels" # and kernel.h, see below
  [runtime]="include prem kernels runtime"
  [experiments]="include experiments"
  [tools]="include prem schedules kernels runtime experiments tools"
  [tests]="include prem schedules kernels runtime experiments tools tests"
)
breaches=0

breach() {
  echo "$1" >&2
  breaches=$((breaches + 1))
}

# The file that an #include "..." names: public ones by their folder, all others by their name alone,
# which no two files share.
declare -A room_of=([kernel_headers.h]=kernels) # made by the build from kernels.def
while IFS= read -r file; do
  name=${file##*/}
  if [ -n "${room_of[$name]-}" ]; then
    breach "$file: another file of this name is in ${room_of[$name]}/; names are unique"
  fi
  room_of[$name]=${file%%/*}
done < <(find "${rooms[@]}" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \
  -o -name '*.def' \) | sort)

is_checker() { [[ ${1##*/} == check.* || ${1##*/} == check_* ]]; }

judge() { # FILE LINE INCLUDED
  local file=$1 line=$2 included=$3 name=${3##*/} room=${1%%/*}
  local target=${room_of[$name]-}
  if [ -z "$target" ]; then
    breach "$file:$line: \"$included\" is no file of this tree"
  elif [ "$room" = kernels ] && [ "$target" = include ]; then
    [ "$included" = ttprem/kernel.h ] ||
      breach "$file:$line: kernels/ may include ttprem/kernel.h alone, not \"$included\""
  elif [[ " ${may_use[$room]} " != *" $target "* ]]; then
    breach "$file:$line: $room/ may not include \"$included\" of $target/"
  elif [ "$room" = schedules ] && [ "$target" = schedules ]; then
    # The second opinion is worth nothing if it is the first one again.
    if is_checker "$file" && ! is_checker "$name"; then
      breach "$file:$line: the checker may not include the planners' \"$included\""
    elif ! is_checker "$file" && is_checker "$name"; then
      breach "$file:$line: the planners may not include the checker's \"$included\""
    fi
  fi
}

files=0
while IFS= read -r file; do
  files=$((files + 1))
  while IFS=: read -r line included; do
    judge "$file" "$line" "$included"
  done < <(sed -nE '/^[[:space:]]*#[[:space:]]*include[[:space:]]*"/{=;s/^[^"]*"([^"]*)".*/\1/p}' \
    "$file" | paste -d: - -)
done < <(find "${rooms[@]}" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) | sort)

if [ "$breaches" -gt 0 ]; then
  echo "law: $breaches breaches in $files files" >&2
  exit 1
fi
echo "law: $files files keep the law"
