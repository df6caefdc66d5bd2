# shellcheck shell=bash disable=SC1091,SC2016,SC2154,SC2172
# The shell driver for bash: runs one command after the other in one shell, so that its state lives on.
#
# Requests come on stdin, one a line: `run ID INPUT COMMAND`, the command's odd bytes as \0ooo, its stdin a file or `-`. Records go to descriptor 3,
# each with a NUL at its end: `ready PID`, `begin ID UPTIME JOBS`, `end ID STATUS DIRECTORY`, `leaving ID`. These two
# and the original stdout and stderr move to 57 to 60, out of the way of commands.
#
# A shell that ends under a command does not die: it says that it is `leaving` and executes a successor, which reads its
# state from descriptor 56 and tells the end in its place (`moved`). Signal 39 makes the shell leave a command, before
# its next step: leaving from within the handler would be in the middle of whatever bash was doing.
if [[ $# -eq 0 ]]; then
  exec 57<&0 58>&3 59>&1 60>&2 </dev/null 3>&-
  unset CLOCHE_EVENT_FD
  __cloche_flags='' __cloche_status=0 __cloche_id=''
else
  source /dev/fd/56 2>/dev/null
  exec 56<&-
  __cloche_status=$2 __cloche_id=$1
  builtin set --
fi
__cloche_running='' __cloche_left=''
__cloche_is() { return "$1"; }
__cloche_state() {
  builtin declare -p
  builtin declare -f
  builtin alias -p
  builtin shopt -p
  builtin shopt -po
  builtin printf '%s\n' "$__cloche_traps"
}
__cloche_hand_over() {
  { builtin set +euxvT; builtin trap - DEBUG; } 2>/dev/null
  __cloche_running='' __cloche_flags=$2
  builtin printf 'leaving %s\0' "$__cloche_id" >&58
  __cloche_traps=$(builtin trap -p)
  builtin trap : HUP INT QUIT PIPE TERM # caught ones are as ever after an exec; ignored ones would stay ignored
  builtin exec "$BASH" --norc --noprofile -c "$BASH_EXECUTION_STRING" bash "$__cloche_id" "$1" \
    </dev/null >&59 2>&60 56< <(__cloche_state 2>/dev/null)
}
__cloche_leave='[[ ! $__cloche_running || $BASH_COMMAND == __cloche_* ]] || builtin exit 130'
builtin trap '__cloche_hand_over $? $-' EXIT
builtin trap '[[ ! $__cloche_running ]] ||
  { __cloche_left=1; builtin set -T; builtin trap "$__cloche_leave" DEBUG; }' 39
if [[ $__cloche_id ]]; then
  builtin printf 'moved %s %s %s\0' "$__cloche_id" "$__cloche_status" "${PWD-}" >&58
else
  builtin printf 'ready %s\0' "$$" >&58
fi

# The condition of the inner loop tells how the last command ended and takes the next one; a `break` or `continue` of a
# command's own leads back to it. What it does is hidden from set -x by its redirection, and from -e and -u by their
# being off between commands.
while :; do
  while
    {
      __cloche_last=$?
      if [[ $__cloche_running ]]; then
        __cloche_running='' __cloche_status=$__cloche_last __cloche_flags=$-
        builtin set +euxv
        [[ ! $__cloche_left ]] || { builtin trap - DEBUG; builtin set +T; __cloche_left=''; }
        builtin printf 'end %s %s %s\0' "$__cloche_id" "$__cloche_status" "${PWD-}" >&58
      fi
      until IFS='' TMOUT='' builtin read -r -u 57 __cloche_request && [[ $__cloche_request == "run "* ]]; do
        [[ $__cloche_request ]] || { builtin trap - EXIT; builtin exit 0; }
      done
      __cloche_request=${__cloche_request#run }
      __cloche_id=${__cloche_request%% *}
      __cloche_request=${__cloche_request#* }
      __cloche_input=${__cloche_request%% *}
      builtin printf -v __cloche_request '%b' "${__cloche_request#* }"
      __cloche_uptime=-
      IFS=' ' builtin read -r __cloche_uptime __cloche_rest </proc/uptime
      builtin printf 'begin %s %s ' "$__cloche_id" "$__cloche_uptime" >&58
      builtin jobs -l >&58
      builtin printf '\0' >&58
      case $__cloche_flags in
        *[euxv]*) __cloche_request="set -${__cloche_flags//[!euxv]/}; $__cloche_request" ;;
      esac
    } 2>/dev/null
  do
    __cloche_running=1
    if [[ $__cloche_input == - ]]; then
      __cloche_is "$__cloche_status"
      builtin eval "$__cloche_request"
    else
      __cloche_is "$__cloche_status"
      builtin eval "$__cloche_request" <"$__cloche_input"
    fi
  done
done
