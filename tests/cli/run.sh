#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run one CLI test: run.sh [--update] TTPREM CASE
#
# CASE.case is a shell script that calls `ttprem`. The folder CASE, if there is one, has what it must give:
#   stdout, stderr   exactly this text; nothing where there is no such file
#   status           its exit status; 0 where there is none
#   files            the files that it leaves in its working folder, one a line; else none
# The files of inputs/ and all other files of CASE are copied to the working folder first. $SOURCE is
# the root of the tree.
# --update writes the expectations anew: read the difference before you commit it.
set -eu

update=
if [ "$1" = --update ]; then
  update=yes
  shift
fi
ttprem=$(realpath "$1")
case=$(realpath "${2%.case}")
SOURCE=$(realpath "$(dirname "$0")/../..")
PATH=$(dirname "$ttprem"):$PATH
ARGP_HELP_FMT=
LC_ALL=C
CUDA_VISIBLE_DEVICES= # the same text with a GPU and without
export SOURCE PATH ARGP_HELP_FMT LC_ALL CUDA_VISIBLE_DEVICES

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work" "$scratch/found"
cp "$SOURCE"/tests/cli/inputs/* "$scratch/work"
for file in "$case"/*; do
  case ${file##*/} in
  stdout | stderr | status | files) ;;
  *) if [ -f "$file" ]; then cp "$file" "$scratch/work"; fi ;;
  esac
done
(cd "$scratch/work" && ls) >"$scratch/before"

status=0
(cd "$scratch/work" && sh "$case.case") </dev/null >"$scratch/found/stdout" \
  2>"$scratch/found/stderr" || status=$?
echo "$status" >"$scratch/found/status"
(cd "$scratch/work" && ls) | comm -13 "$scratch/before" - >"$scratch/found/files"
: >"$scratch/empty"
echo 0 >"$scratch/zero"

result=0
for name in status stdout stderr files; do
  default=$scratch/empty
  if [ "$name" = status ]; then default=$scratch/zero; fi
  if [ -n "$update" ]; then
    rm -f "$case/$name"
    cmp -s "$default" "$scratch/found/$name" || { mkdir -p "$case" && cp "$scratch/found/$name" "$case/$name"; }
    continue
  fi
  expected=$case/$name
  [ -f "$expected" ] || expected=$default
  diff -u --label "expected $name" --label "found $name" "$expected" "$scratch/found/$name" ||
    result=1
done
exit "$result"
