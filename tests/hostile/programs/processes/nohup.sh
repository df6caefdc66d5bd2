#!/bin/sh
# tries: what a shell offers to leave a process behind: nohup, setsid, a trap for every signal, a subshell's orphan, a job control's
# must: be gone, all of it, once the run has ended (look_for.c looks)
[ -n "$CLOCHE_HOSTILE" ] && [ -e /attack/attack.py ] || exit 98
cat /bin/sleep >/tmp/escapee && chmod 755 /tmp/escapee
nohup /tmp/escapee 1000 </dev/null >/dev/null 2>&1 &
setsid /tmp/escapee 1000 </dev/null >/dev/null 2>&1 &
(trap '' HUP INT QUIT TERM; /tmp/escapee 1000 </dev/null >/dev/null 2>&1 &)
(cd / && env -i setsid /tmp/escapee 1000 </dev/null >/dev/null 2>&1 &)
# Until all four run: their names are theirs only after exec.
tries=0
while [ "$(cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^escapee$')" -lt 4 ] && [ $tries -lt 200 ]; do
  tries=$((tries + 1))
  sleep 0.02
done
echo "HELD left behind by a shell: $(cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^escapee$')"
echo DONE
