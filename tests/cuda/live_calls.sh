#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest: BUILD CUDA release
# While a live session is on the GPU nobody may call what can wait for it: the objects whose code runs then
# call of CUDA, and of the backend's other parts, what stands here alone.
#   live_calls.sh BUILD CUDA     CUDA: 1 if the GPU backend is in the build, else 0
set -euo pipefail
readonly build=$1 cuda=$2 host=runtime/cuda/host
if [ "$cuda" -eq 0 ]; then
  echo "skipped: a build without the GPU backend"
  exit 77
fi
cd "$(dirname "$0")/../.."

# They enqueue, or look: none waits. Copies are to and from locked memory, else they would.
readonly allowed='cudaEventQuery cudaEventRecord cudaMemcpy2DAsync cudaMemcpyAsync cudaStreamQuery
prem_cuda_enter prem_cuda_has_to_end prem_cuda_live_fetch prem_cuda_report prem_cuda_stop_blocks'
# Called once it is over only.
readonly at_the_end='prem_cuda_say_broken prem_cuda_say_fault'
# Of a run with servers, which a session has not: it reads the host's memory alone.
readonly of_servers='prem_cuda_servers_look'

failed=0
for name in live_frames live_watch watch; do
  object=$build/CMakeFiles/ttprem.dir/$host/$name.c.o
  while read -r symbol; do
    case " $(tr '\n' ' ' <<<"$allowed $at_the_end $of_servers") " in
    *" $symbol "*) ;;
    *)
      echo "$host/$name.c: calls $symbol, which is not on the list" >&2
      failed=$((failed + 1))
      ;;
    esac
  done < <(nm -u "$object" | grep -oE '\b(cu[A-Z]|cuda|prem_cuda_)\w*')
done
# What enters the GPU chooses it for the thread, and does no more.
if ! tr -d '\n' <$host/probe.c | grep 'prem_cuda_enter(const prem_cuda_device \*gpu) {  return cudaSetDevice(gpu->number);}' >/dev/null; then
  echo "$host/probe.c: prem_cuda_enter() does more than choose the device" >&2
  failed=$((failed + 1))
fi
# Called over a pointer: the one function of the driver.
if [ "$(grep -ohE 'live->write\b' $host/live_frames.c | wc -l)" -ne 1 ] ||
  ! grep -q '"cuStreamWriteValue64"' $host/live_memory.c; then
  echo "$host/live_frames.c: live->write is no longer cuStreamWriteValue64 alone" >&2
  failed=$((failed + 1))
fi
echo "live_calls: $failed calls that may wait"
exit $((failed > 0))
