#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make the root of the Containerfile without a container engine, from Debian's packages and what is committed; then run the
# demo and all tests in it: tools/root.sh FOLDER [COMMAND]. COMMAND, run by bash instead of demo and tests. As root, with
# mmdebstrap. FOLDER is made anew, and stays.
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: tools/root.sh FOLDER [COMMAND]" >&2
  exit 2
fi
if ! command -v mmdebstrap >/dev/null || [ "$(id -u)" -ne 0 ]; then
  echo "root: needs root and mmdebstrap: apt-get install mmdebstrap" >&2
  exit 77
fi
if [ -e "$1" ]; then
  echo "root: $1 is there already; remove it, or name another folder" >&2
  exit 2
fi
root=$(realpath -m "$1") command=${2-"tools/demo.sh && tools/test.sh"}
cd "$(dirname "$0")/.."
debian=$(sed -n 's|^FROM docker.io/library/debian:||p' Containerfile)
case $debian in
  12) suite=bookworm ;;
  *) echo "root: Containerfile: FROM: no Debian '$debian' is known here" >&2; exit 1 ;;
esac
mmdebstrap --variant=apt "$suite" "$root"
folder=$(sed -n 's/^WORKDIR //p' Containerfile)
# A clone, since tests ask git for the tree's files.
git clone --quiet . "$root$folder"

# In namespaces of its own: what it starts and mounts ends with it.
inside() { # COMMAND
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/tmp" &&
    exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      LANG=C.UTF-8 bash -c "cd $2 && $3"' - "$root" "$folder" "$1"
}
while read -r step; do
  echo "root: $step"
  inside "$step" </dev/null
done < <(sed -n 's/^RUN //p' Containerfile)
echo "root: $command"
inside "$command"
