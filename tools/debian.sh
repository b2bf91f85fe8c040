#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make the Debian source package of what is committed, build its packages without a GPU backend, and have lintian
# judge both: tools/debian.sh FOLDER. It needs debhelper, dh-python and lintian, and what debian/control lists.
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: tools/debian.sh FOLDER" >&2
  exit 2
fi
mkdir -p "$1"
folder=$(realpath "$1")
cd "$(dirname "$0")/.."
for tool in dh dh_python3 lintian dpkg-buildpackage; do
  if ! command -v $tool >/dev/null; then
    echo "debian: no $tool: apt-get install debhelper dh-python lintian dpkg-dev" >&2
    exit 77
  fi
done
version=$(dpkg-parsechangelog -l debian/changelog -S Version)
name=ttprem-${version%-*}
rm -rf "${folder:?}/$name"
git archive --prefix="$name/" HEAD -- . ':(exclude)debian' | xz >"$folder/ttprem_${version%-*}.orig.tar.xz"
git archive --prefix="$name/" HEAD | tar -x -C "$folder"
(cd "$folder/$name" && dpkg-buildpackage --no-sign)
lintian --allow-root --fail-on error,warning "$folder/ttprem_${version}_$(dpkg --print-architecture).changes"
# What lies in the Python package is whole.
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
dpkg-deb -x "$folder/python3-ttprem_${version}_$(dpkg --print-architecture).deb" "$unpacked"
PYTHONPATH=$unpacked/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c \
  'import ttprem._library as l; assert "dist-packages/ttprem/" in l.library_path, l.library_path'
echo "debian: packages in $folder"
