#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the completion offers in zsh and fish: every verb, and every option of each with its values. Skipped, and
# told, where neither shell is there.
#   completion_others.sh TTPREM
# ctest: TTPREM release
set -euo pipefail
ttprem=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
PATH=$(dirname "$ttprem"):$PATH
HOME=$place
export PATH HOME
verbs=$("$ttprem" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 9 ] || { echo "completion_others: verbs are missing in ttprem --help" >&2; exit 1; }
status=0 tried=0

fail() {
  echo "completion_others: $*" >&2
  status=1
}

# In both, a line for each verb, or option, begins with it.
judge() { # SHELL; functions offered_verbs and offered_options VERB ask it
  local verb option
  tried=$((tried + 1))
  offered_verbs >"$place/verbs"
  for verb in $verbs; do
    grep -q "^$verb\b" "$place/verbs" || fail "$1: no verb $verb"
    offered_options "$verb" >"$place/options"
    for option in $("$ttprem" "$verb" --usage | tr -d '\n' | grep -oE -- '--[a-z-]+'); do
      grep -qE -- "^$option(=|:|$)" "$place/options" || fail "$1: $verb: no $option"
    done
  done
}

if command -v zsh >/dev/null; then
  in_zsh() { zsh -fc ". '$source/command/ttprem.zsh'; $1"; }
  offered_verbs() { in_zsh "_ttprem_verbs ttprem"; }
  offered_options() { in_zsh "_ttprem_specs ttprem $1"; }
  judge zsh
  offered_options trace >"$place/options"
  grep -qx -- '--format=:value:(perfetto csv)' "$place/options" || fail "zsh: trace --format has other values"
  grep -qFx -- "*:argument:_files -g '*.csv'" "$place/options" || fail "zsh: trace takes other files"
  offered_options help | grep -q '^\*:argument:(fit plan ' || fail "zsh: help does not offer verbs"
fi
if command -v fish >/dev/null; then
  in_fish() { fish -N -c "source '$source/command/ttprem.fish'; complete -C '$1'"; }
  offered_verbs() { in_fish 'ttprem '; }
  offered_options() { in_fish "ttprem $1 --"; }
  judge fish
  [ "$(in_fish 'ttprem trace -f ' | sort | paste -sd' ')" = 'csv perfetto' ] || fail "fish: trace -f has other values"
  [ "$(in_fish 'ttprem run --mode=la')" = '--mode=launched' ] || fail "fish: run --mode=la is not completed"
  [ "$(in_fish 'ttprem help pl')" = plan ] || fail "fish: help does not offer verbs"
fi
if [ $tried -eq 0 ]; then
  echo "completion_others: neither zsh nor fish is there" >&2
  exit 77
fi
exit $status
