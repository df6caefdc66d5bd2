# shellcheck shell=sh disable=SC2172
# The shell driver for a sh that is not bash; bash_driver.sh describes its protocol. Descriptors are 6 to 9 here, since
# such a shell has no larger ones, and the state handed to a successor is without functions and traps, which it cannot
# print.
__cloche_driver=$1 __cloche_status=0 __cloche_flags='' __cloche_id=''
if [ $# -eq 1 ]; then
  exec 6<&0 7>&3 8>&1 9>&2 </dev/null 3>&-
  unset CLOCHE_EVENT_FD
else
  eval "$4" 2>/dev/null
  __cloche_status=$3 __cloche_id=$2
fi
set --
__cloche_running=''
__cloche_is() { return "$1"; }
__cloche_hand_over() {
  __cloche_running=''
  { set +euxv; trap : HUP INT QUIT PIPE TERM; } 2>/dev/null
  printf 'leaving %s\0' "$__cloche_id" >&7
  # shellcheck disable=SC2016 # the successor's own $1
  exec /bin/sh -c 'eval "$1"' sh "$__cloche_driver" "$__cloche_id" "$1" "$(export -p; set)
__cloche_flags=$2" </dev/null >&8 2>&9
}
trap '__cloche_hand_over $? "$-"' EXIT
trap '[ -z "$__cloche_running" ] || exit 130' 39
if [ -n "$__cloche_id" ]; then
  printf 'moved %s %s %s\0' "$__cloche_id" "$__cloche_status" "${PWD-}" >&7
else
  printf 'ready %s\0' "$$" >&7
fi
while :; do
  while
    {
      __cloche_last=$?
      if [ -n "$__cloche_running" ]; then
        __cloche_running='' __cloche_status=$__cloche_last __cloche_flags=$-
        set +euxv
        printf 'end %s %s %s\0' "$__cloche_id" "$__cloche_status" "${PWD-}" >&7
      fi
      while :; do
        IFS='' read -r __cloche_request <&6 || { trap - EXIT; exit 0; }
        case $__cloche_request in "run "*) break ;; esac
      done
      __cloche_request=${__cloche_request#run }
      __cloche_id=${__cloche_request%% *}
      __cloche_request=${__cloche_request#* }
      __cloche_input=${__cloche_request%% *}
      __cloche_request=$(printf '%bx' "${__cloche_request#* }")
      __cloche_request=${__cloche_request%x}
      __cloche_uptime=-
      IFS=' ' read -r __cloche_uptime __cloche_rest </proc/uptime
      printf 'begin %s %s ' "$__cloche_id" "$__cloche_uptime" >&7
      jobs -l >&7
      printf '\0' >&7
      for __cloche_flag in v x u e; do
        case $__cloche_flags in *"$__cloche_flag"*) __cloche_request="set -$__cloche_flag; $__cloche_request" ;; esac
      done
    } 2>/dev/null
  do
    __cloche_running=1
    if [ "$__cloche_input" = - ]; then
      __cloche_is "$__cloche_status"
      eval "$__cloche_request"
    else
      __cloche_is "$__cloche_status"
      eval "$__cloche_request" <"$__cloche_input"
    fi
  done
done
