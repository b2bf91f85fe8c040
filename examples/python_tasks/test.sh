#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The schedule can be planned, the checker accepts the plan, and on the simulator it keeps every instant.
#   sh test.sh        $PYTHON is a Python that has python3-ttprem; python3 if it names none
set -eu
cd "$(dirname "$0")"
exec "${PYTHON:-python3}" python_tasks.py sim
