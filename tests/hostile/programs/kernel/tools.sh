#!/bin/sh
# tries: the tools that a system has for its administrator: mount, unshare, nsenter, chroot, mknod, hostname, dmesg, renice, chrt, su, sudo
# must: be refused what each wants, whether the tool is there or not
[ -n "$CLOCHE_HOSTILE" ] && [ -e /attack/attack.py ] || exit 98
PATH=$PATH:/usr/sbin:/sbin
mkdir -p /tmp/m
must_fail() {
  if said=$("$@" 2>&1 </dev/null); then
    echo "HOLE $*"
  else
    echo "HELD $*: $(echo "$said" | head -n 1)"
  fi
}
must_fail mount -t tmpfs planted /tmp/m
must_fail mount --bind /etc /tmp/m
must_fail umount /dev/shm
must_fail unshare --mount true
must_fail unshare --user --map-root-user true
must_fail unshare --net true
must_fail nsenter --target 1 --mount true
must_fail chroot / true
must_fail mknod /tmp/node c 1 3
must_fail hostname planted
must_fail renice -n -5 -p $$
must_fail chrt --fifo 1 true
must_fail chown root:root /tmp/m
must_fail su -c true
must_fail sudo -n true
must_fail setpriv --reuid 0 true
must_fail ip link set lo down
must_fail sh -c 'kill -STOP 1'
echo DONE
