#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where readings of the clock stand in the machine code: of a kernel that reads clock(), stores four words,
# and reads it again; as plain calls, and as the experiments read it. Needs nvcc,
# readelf and od. An instruction has 16 bytes (since sm_70), and its lowest 12 bits say what it is.
# Usage: machine_code.sh [sm_90 ...]
set -euo pipefail
export PATH=$PATH:/usr/local/cuda/bin
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/kernel.cu" <<'CODE'
#ifdef PINNED
static __device__ __forceinline__ unsigned now() {
  unsigned cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}
#else
#define now() ((unsigned)clock())
#endif
extern "C" __global__ void four_stores(unsigned *words) {
  const unsigned begin = now();
  for (unsigned i = 0; i < 4; ++i)
    words[i] = i;
  const unsigned end = now();
  words[0] = end - begin;
}
CODE

order() { # CUBIN: a word each, up to the kernel's end; register 80 is the clock's lower half
  local offset size
  read -r offset size < <(readelf -SW "$1" 2>/dev/null |
    sed -nE 's/.* \.text\.four_stores +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) .*/\1 \2/p')
  od -An -v -t x8 -w16 -j $((16#$offset)) -N $((16#$size)) "$1" | while read -r low high; do
    case ${low: -3} in
    805 | 9c3 | 919) if [ "${high: -4:2}" = 50 ]; then echo "clock(${low: -3})"; else echo .; fi ;;
    986) echo store ;;
    94d) echo end && break ;;
    *) echo . ;;
    esac
  done | tr '\n' ' ' | sed -E 's/(\. )+/. /g'
  echo
}

nvcc --version | sed -n 's/^Cuda.*release/release/p'
for target in "${@:-sm_90}"; do
  for level in 1 3; do
    for form in PLAIN PINNED; do
      nvcc -cubin -arch="$target" -Xptxas -O$level -D$form -o "$scratch/out.cubin" "$scratch/kernel.cu"
      printf '%-7s -O%s %-7s ' "$target" "$level" "${form,,}"
      order "$scratch/out.cubin"
    done
  done
done
