#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The site, with search, from the pages of the tree:
#   tools/site.sh FOLDER
# It opens from the folder, with its search, without a server and without a network.
# Needs mkdocs, scdoc and mandoc (on Debian: packages of these names).
set -euo pipefail
[ $# -eq 1 ] || { sed -n 's/^# //p' "$0" | sed 1d >&2; exit 2; }
for program in mkdocs scdoc mandoc; do
  command -v $program >/dev/null || { echo "site: no $program; on Debian: the package $program" >&2; exit 3; }
done
tools=$(realpath "$(dirname "$0")")
mkdir -p "$1"
site=$(realpath "$1")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
python3 "$tools/site.py" stage "$stage"
mkdocs build --strict --config-file "$stage/mkdocs.yml" --site-dir "$site"
python3 "$tools/site.py" search "$site"
python3 "$tools/site.py" llms "$site"
python3 "$tools/site.py" check "$site"
