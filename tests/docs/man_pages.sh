#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every verb has a man page, with the options of its --help and no others; the format's page has every
# key that the reader knows; and no page makes man or mandoc complain.
#   man_pages.sh TTPREM BUILD
# ctest: TTPREM BUILD release experiments
set -euo pipefail
ttprem=$(realpath "$1")
pages=$(realpath "$2")/docs/man
source=$(realpath "$(dirname "$0")/../..")
export ARGP_HELP_FMT='' LC_ALL=C.UTF-8
status=0

fail() {
  echo "man_pages: $*" >&2
  status=1
}

# "  -o, --output=OUT   where to write" in a --help, "*-o*, *--output*=_OUT_" in a page: both become
# "-o --output=OUT".
help_options() { tr -d _ | sed -nE 's/^  (    |(-.), )(--[a-z-]+(\[?=[^ ]+)?).*/\2 \3/p' | sort; }
page_options() { tr -d '*_\\' <"$1" | sed -nE 's/^((-.), )?(--[a-z-]+(\[?=.+)?)$/\2 \3/p' | sort; }

verbs=$("$ttprem" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 9 ] || fail "verbs are missing in ttprem --help: $verbs"
for verb in '' $verbs; do
  page=$source/docs/man/ttprem${verb:+-$verb}.1.scd
  if [ ! -f "$page" ]; then
    fail "docs/man/${page##*/} is missing"
    continue
  fi
  # shellcheck disable=SC2086 # no verb is no argument
  diff -u --label "ttprem $verb --help" <("$ttprem" $verb --help | help_options) \
    --label "${page##*/}" <(page_options "$page") || fail "$verb: other options than in --help"
  if [ -n "$verb" ]; then
    grep -qF "*ttprem-$verb*(1)" "$source/docs/man/ttprem.1.scd" || fail "ttprem.1: no $verb"
  fi
done

for page in "$source"/docs/man/ttprem-*.1.scd; do
  verb=$(basename "$page" .1.scd)
  grep -qx "${verb#ttprem-}" <<<"$verbs" || fail "${page##*/}: there is no such verb"
done

if [ ! -f "$pages/ttprem.1.gz" ]; then
  echo "man_pages: built without scdoc: pages not judged" >&2
  exit $((status ? status : 77))
fi
for page in "$pages"/*.gz; do
  # scdoc puts empty paragraphs, which show nowhere.
  if command -v mandoc >/dev/null; then
    said=$(mandoc -T lint -W warning "$page" | grep -v 'skipping paragraph macro: PP' || true)
    [ -z "$said" ] || fail "$said"
  fi
  if command -v man >/dev/null; then
    said=$(man --warnings -l "$page" 2>&1 >/dev/null)
    [ -z "$said" ] || fail "${page##*/}: $said"
  fi
done

# The table of keys, against those that the page explains.
keys=$(sed -nE 's/^KEY\([a-z_]+, ([a-z0-9_]+),.*/\1/p' "$source/prem/file/keys.def" | sort -u)
explained=$(gunzip -c "$pages/ttprem-schedule.5.gz" | sed 's/\\f[BRI]/ /g; s/\\&//g' | tr -cs 'a-z0-9_' '\n' | sort -u)
[ "$(wc -l <<<"$keys")" -ge 100 ] || fail "the keys in prem/file/keys.def are not found"
for key in $keys; do
  grep -qx "$key" <<<"$explained" || fail "ttprem-schedule.5: the key $key is missing"
done
exit "$status"
