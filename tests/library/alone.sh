#!/bin/bash
# Runs a program as on a host where Cloche was never used and whose only runtime is crun: what others keep in /var/lib and
# /run is hidden from it, and what it leaves there is gone after it.
#
# Usage: alone.sh PROGRAM [ARGUMENT]...
set -euo pipefail
if [[ ${CLOCHE_ALONE-} != yes ]]; then
  CLOCHE_ALONE=yes exec unshare --mount --propagation private "$0" "$@"
fi
unset CLOCHE_ALONE
mount -t tmpfs -o mode=755 tmpfs /var/lib
mount -t tmpfs -o mode=755 tmpfs /run
for runtime in runsc runc; do
  if place=$(command -v "$runtime"); then mount --bind /dev/null "$place"; fi
done
exec "$@"
