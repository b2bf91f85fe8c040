#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The schedule can be planned, the checker accepts the plan, and on the simulator it keeps every instant.
#   sh test.sh        $PYTHON is a Python that has python3-ttprem; else python3 or /usr/bin/python3
set -eu
cd "$(dirname "$0")"
for python in ${PYTHON:-python3 /usr/bin/python3}; do
  if why=$("$python" -c 'import ttprem' 2>&1); then exec "$python" python_tasks.py sim; fi
done
printf '%s\n' "$why" | tail -n 1 >&2
echo "test.sh: no Python here has ttprem: install python3-ttprem, or name one that has it in PYTHON" >&2
exit 1
