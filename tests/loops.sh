#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Can the executive's loops be read? Each has at most 30 lines, and no function of it has a conditional of the
# preprocessor: those choose between whole functions.
#   loops.sh
# ctest: release
set -euo pipefail
cd "$(dirname "$0")/../runtime/cuda/device"
# How code is laid out tells: a function begins with a brace at the end of a line and ends with one that stands alone
# without an indent; a loop ends before the next line that is indented no more than it, or with the brace there.
awk -v most=30 '
  function close_loops(indent, at) {
    while (depth && indent <= begins[depth]) {
      lines = (indent == begins[depth] && $0 ~ /^ *}/ ? at : at - 1) - first[depth] + 1
      if (lines > longest) longest = lines
      if (lines > most) { printf "%s:%d: a loop of %d lines\n", FILENAME, first[depth], lines; failed = 1 }
      --depth
    }
  }
  FNR == 1 { inside = depth = head = 0 }
  /^[a-z_].*\(/ { head = 1 }
  /^(namespace|struct|enum|union|static_assert)/ { head = 0 }
  /^}/ { close_loops(0, FNR); inside = 0 }
  inside && /^#[ ]*(if|ifdef|ifndef|elif|else)/ { printf "%s:%d: %s in a function\n", FILENAME, FNR, $0; failed = 1 }
  inside && !/^#/ && NF { match($0, /^ */); close_loops(RLENGTH, FNR) }
  inside && /^ +((for|while) \(|do( \{)?$)/ { ++loops; match($0, /^ */); begins[++depth] = RLENGTH; first[depth] = FNR }
  head && /\{$/ { inside = 1; head = 0 }
  END { printf "%d loops, the longest of %d lines\n", loops, longest; exit failed || loops < 40 }
' best_effort.cuh block.cuh compute.cuh engine.cuh record.cuh serve.cuh starter.cuh tokens.cuh waits.cuh watcher.cuh writer.cuh executive.cu
