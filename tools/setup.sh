#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install what building and running ttprem needs, on Debian 12 or a system like it.
#
#   tools/setup.sh           what the library, the command and the demo need
#   tools/setup.sh --tests   that, and what the tests need
#
# Does nothing, and needs no network, when everything is there. libz3-dev is for the exact engine and
# scdoc for the man pages; without them the build leaves these out. CUDA is never installed: where there
# is a CUDA compiler, on PATH or in /usr/local/cuda/bin, the GPU backend is built with it. Of the tests'
# packages, chromium is by far the largest (some 300 MB): it looks at reports.
set -euo pipefail

packages=(gcc libc6-dev cmake ninja-build pkg-config libconfig-dev libjansson-dev libpng-dev zlib1g-dev
  libhwloc-dev libz3-dev scdoc gnuplot-nox fonts-dejavu-core xz-utils)
case "${1-}" in
  "") ;;
  --tests)
    packages+=(check libsubunit-dev clang clang-format clang-tidy libclang-rt-14-dev lld
      python3-cffi python3-numpy python3-pandas python3-jsonschema mkdocs poppler-utils man-db mandoc
      dpkg-dev lintian chromium nodejs protobuf-compiler jq zsh fish) ;;
  *)
    echo "usage: tools/setup.sh [--tests]" >&2
    exit 2 ;;
esac

if ! PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
  echo "setup: no CUDA compiler: building without the GPU backend" >&2
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: not a Debian system; install the counterparts of: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are there" >&2
  exit 0
fi

install=(apt-get install -y --no-install-recommends "${missing[@]}")
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  # sudo may ask for its password only where somebody can answer.
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root=(sudo)
  else
    echo "setup: ${#missing[@]} packages are missing and this is not root; as root, run:" >&2
    echo "  apt-get update && ${install[*]}" >&2
    exit 1
  fi
fi

echo "setup: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" -q >&2
