#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A trace for Perfetto, decoded by protobuf's own compiler against Perfetto's schema: nothing unknown in
# it, every slice ends on its track, every name and track was announced before it is used.
#   perfetto.sh TTPREM
# ctest: TTPREM
set -euo pipefail
ttprem=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
if ! command -v protoc >/dev/null; then
  echo "perfetto: no protoc here" >&2
  exit 77
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

cp "$here"/../cli/inputs/small.cfg .
"$ttprem" run --quiet --backend sim small.cfg --repeat 3 --trace trace.csv >/dev/null
"$ttprem" trace --quiet trace.csv --format perfetto -o trace.perfetto

judge() { # FILE SLICES
  protoc -I "$here" --decode=perfetto.protos.Trace "$here/perfetto.proto" <"$1" >decoded

  # A field that the schema does not know is shown by its number.
  if grep -nE '^ *[0-9]+[ :{]' decoded; then
    echo "perfetto: fields that the schema does not know" >&2
    exit 1
  fi

  # Text form: one packet after the other, in the order of the file.
  awk -v phases="$2" '
    function fail(what) { print "perfetto: packet " packets ": " what >"/dev/stderr"; failed = 1 }
    function unquoted(text) { gsub(/^"|"$/, "", text); return text }
    /^packet \{/ { ++packets; kind = type = track = name = note = uuid = parent = ""; delete path; next }
    / \{$/ { path[++depth] = $1; if (depth == 1) kind = $1; next }
    /^ +\}$/ {
      if (path[depth] == "event_names") events[iid] = text
      if (path[depth] == "debug_annotation_names") notes[iid] = text
      if (path[depth] == "debug_annotations" && !(note in notes)) fail("note " note " has no name")
      --depth
      next
    }
    $1 == "iid:" { iid = $2 }
    $1 == "name:" { text = unquoted($2) }
    $1 == "uuid:" { uuid = $2; tracks[uuid] = 1 }
    $1 == "parent_uuid:" && !($2 in tracks) { fail("a track of an unknown group") }
    $1 == "timestamp:" { if ($2 < 0 || $2 > 1e15) fail("time " $2 " is not rebased"); at = $2 }
    $1 == "trusted_packet_sequence_id:" && $2 != 1 { fail("another sequence") }
    $1 == "sequence_flags:" { if (packets == 1 && $2 != 1) fail("begins without a clear state") }
    $1 == "type:" { type = $2 }
    $1 == "track_uuid:" { track = $2; if (!(track in tracks)) fail("an event of unknown track " track) }
    $1 == "name_iid:" && path[depth] == "track_event" { name = $2; if (!(name in events)) fail("event name " name) }
    $1 == "name_iid:" && path[depth] == "debug_annotations" { note = $2 }
    /^\}$/ && kind == "track_event" {
      if (type == "TYPE_SLICE_BEGIN") {
        if (track in open) fail("a slice within a slice on track " track)
        open[track] = at
        ++slices
      } else if (type == "TYPE_SLICE_END") {
        if (!(track in open) || open[track] > at) fail("no slice to end on track " track)
        delete open[track]
      } else if (type == "TYPE_INSTANT") {
        ++instants
      } else {
        fail("an event of type " type)
      }
    }
    END {
      for (track in open) fail("an open slice on track " track)
      if (slices != phases) fail(slices " slices of " phases " phases")
      if (instants == 0) fail("no release")
      exit failed
    }' decoded
}

judge trace.perfetto "$(($(wc -l <trace.csv) - 1))"

# Of a live session: 5 frames with 6 phases each, and for each one a wait for a buffer and one for its result.
"$ttprem" run --live --quiet --backend sim --frames 5 "$here/../../examples/camera_loop/camera.cfg" \
  --timeline live.perfetto >/dev/null
judge live.perfetto $((5 * 6 + 5 + 5))
