#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetch three sequences with ground truth: Crossing, Couple and Football1 of the object tracking benchmark (Wu, Lim,
# Yang, 2013), some 7 MB, from the repository that its authors keep. They say that it is for research; nothing of it
# is part of ttprem.
#   fetch_otb.sh [FOLDER]        into FOLDER/Crossing and so on; default: otb
set -euo pipefail
readonly repository=https://github.com/jwlim/tracker_benchmark commit=5e1029caba32decf425328f17f2b1a81b9713f66
readonly folder=${1:-otb}
# The tree of each sequence, as git knows it: a name for all of its bytes.
readonly trees='Crossing 1c6cc1318b0417b80a8211186afcdda8f0cb84bb
Couple d2d4cd4d00f61093b9eed39b43ad627202587aec
Football1 f2df6deb13c0110e54ac51e70006006a85649453'

command -v git >/dev/null || { echo "fetch_otb: git is not on the PATH; install git" >&2; exit 1; }
for name in Crossing Couple Football1; do
  if [ -e "$folder/$name" ]; then
    echo "fetch_otb: $folder/$name is there already; remove it, or name another folder" >&2
    exit 1
  fi
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

git init --quiet "$scratch"
cd "$scratch"
git remote add origin "$repository"
git config remote.origin.promisor true
git config remote.origin.partialclonefilter blob:none
git sparse-checkout set data/Crossing data/Couple data/Football1
git fetch --quiet --depth 1 --filter=blob:none origin "$commit"
git checkout --quiet FETCH_HEAD
while read -r name tree; do
  found=$(git rev-parse "HEAD:data/$name")
  if [ "$found" != "$tree" ]; then
    echo "fetch_otb: $name is another: tree $found, expected $tree" >&2
    exit 1
  fi
done <<<"$trees"
git diff --quiet HEAD -- || { echo "fetch_otb: files were changed on their way" >&2; exit 1; }
cd - >/dev/null

mkdir -p "$folder"
for name in Crossing Couple Football1; do mv "$scratch/data/$name" "$folder/$name"; done
echo "fetch_otb: $folder/Crossing, $folder/Couple, $folder/Football1"
