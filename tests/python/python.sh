#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package of a build: its suites, its tutorial's code and its notebook.
#   python.sh BUILD [SUITE...]
# ctest: BUILD threads timing long release
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
shift
if [ ! -e "$build/python/ttprem/_declarations.py" ]; then
  echo "python: this build has no Python package; it takes a Python with cffi (on Debian: python3-cffi)" >&2
  exit 77
fi
for python in "${PYTHON-}" python3 /usr/bin/python3 none; do
  if [ "$python" = none ]; then
    echo "python: no Python with cffi and numpy; on Debian: python3-cffi python3-numpy" >&2
    exit 77
  fi
  if [ -n "$python" ] && "$python" -c 'import _cffi_backend, numpy' 2>/dev/null; then break; fi
done
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset TTPREM_LIBRARY TTPREM_INCLUDE
export PYTHONPATH=$build/python:$here PYTHONDONTWRITEBYTECODE=1
cd "$place"
if [ $# -eq 0 ]; then set -- test_declarations test_schedule test_results test_live test_kernel test_documents; fi
"$python" -W error::ResourceWarning -m unittest -b "$@"
