# shellcheck shell=sh
# Ends what a command has started in a shell that lives on: SHELL LEAVE SIGNAL MARK JOB... Says how many processes it
# found.
#
# The command's are those that descend from the shell, or lost their parent and went to the shell's own (or, where there
# are no subreapers, to process 1), and started at MARK (hundredths of a second since boot) or later; the shell's JOBs
# of before are not. The shell itself gets the signal LEAVE: 39, by which its driver leaves the command, or 0, which
# does nothing.
shell=$1 leave=$2 signal=$3 mark=$4
shift 4
jobs=" $* "
slack=2 # gVisor's clocks differ by so much

# Every process that has not ended, one a line: pid, parent, session, time of its start.
rows='' reaper=none session=none
for file in /proc/[0-9]*/stat; do
  { read -r row <"$file"; } 2>/dev/null || continue
  pid=${row%% *}
  # shellcheck disable=SC2086 # its words are wanted; a name with blanks and brackets is cut off first
  set -- ${row##*) }
  [ "$1" = Z ] && continue
  [ "$pid" = "$shell" ] && reaper=$2 session=$4
  rows="$rows$pid $2 $4 ${20}
"
done

found=' ' count=0 grows=yes
while [ -n "$grows" ]; do
  grows=''
  while read -r pid parent within start; do
    case $found$shell' ' in *" $pid "*) continue ;; esac
    [ -n "$pid" ] || continue
    case $found in
      *" $parent "*) ;;
      *)
        case $parent in
          "$shell") ;;
          1) [ "$within" = "$session" ] || continue ;;
          "$reaper") ;;
          *) continue ;;
        esac
        [ $((start + slack)) -ge "$mark" ] || continue
        case $jobs in *" $pid "*) continue ;; esac
        ;;
    esac
    found="$found$pid " count=$((count + 1)) grows=yes
  done <<ROWS
$rows
ROWS
done

# Not before: what the shell starts to hand its state over is not the command's.
kill -"$leave" "$shell" 2>/dev/null
for pid in $found; do kill -"$signal" "$pid" 2>/dev/null; done
echo "$count"
