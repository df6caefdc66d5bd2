# Ends what a command has started in a shell that lives on: SHELL LEAVE SIGNAL MARK JOB... Says how many processes it
# found.
#
# The command's are those that descend from the shell, or lost their parent and went to the shell's own, and started at
# MARK (hundredths of a second since boot) or later; the shell's JOBs of before are not. The shell itself gets the signal
# LEAVE: 39, by which its driver leaves the command, or 0, which does nothing.
shell=$1 leave=$2 signal=$3 mark=$4
shift 4
jobs=" $* "
kill -"$leave" "$shell" 2>/dev/null

rows= reaper=0
for file in /proc/[0-9]*/stat; do
  { read -r row <"$file"; } 2>/dev/null || continue
  pid=${row%% *}
  # shellcheck disable=SC2086 # its words are wanted; a name with blanks and brackets is cut off first
  set -- ${row##*) }
  [ "$1" = Z ] && continue
  [ "$pid" = "$shell" ] && reaper=$2
  rows="$rows$pid $2 ${20}
"
done
[ "$reaper" -gt 1 ] || reaper=none

found=" " count=0 grows=yes
while [ -n "$grows" ]; do
  grows=
  while read -r pid parent start; do
    [ -n "$pid" ] && [ "$pid" != "$shell" ] || continue
    case $found in *" $pid "*) continue ;; esac
    case $found in
      *" $parent "*) ;;
      *)
        [ "$parent" = "$shell" ] || [ "$parent" = "$reaper" ] || continue
        [ "$start" -ge "$mark" ] || continue
        case $jobs in *" $pid "*) continue ;; esac
        ;;
    esac
    found="$found$pid " count=$((count + 1)) grows=yes
  done <<ROWS
$rows
ROWS
done
for pid in $found; do kill -"$signal" "$pid" 2>/dev/null; done
echo "$count"
