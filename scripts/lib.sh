# What the scripts share: where things are, how they speak, how they become root. Sourced, never run.
# shellcheck shell=bash disable=SC2034

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Root filesystems and the engine's images live outside the tree, so that a fresh clone finds them.
CACHE=${CLOCHE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cloche}
ROOTS=$CACHE/roots
# Runtimes newer than Debian's; scripts/modern-runtimes builds them.
MODERN=$CACHE/modern
ENGINE_DIR=${CLOCHE_ENGINE_DIR:-/run/cloche-test-engine}

say() { printf '%s\n' "$*" >&2; }
warn() { say "${0##*/}: warning: $*"; }
die() {
  say "${0##*/}: $*"
  exit 1
}

# Prints the comment a script opens with (after its first line): its documentation and its --help are one text.
print_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

# Runs the calling script again as root, with the caller's home (so the same cache) and settings.
# Usage: become_root "$@"
become_root() {
  [[ $EUID -eq 0 ]] && return
  command -v sudo >/dev/null || die "root is required; run the script as root, or install sudo"
  local settings=("HOME=$HOME") name
  for name in CI DOCKER_HOST DOCKER_TLS_VERIFY DOCKER_CERT_PATH XDG_CACHE_HOME http_proxy https_proxy no_proxy \
    "${!CLOCHE_@}" "${!SANDBOX_@}" "${!CTEST_@}" "${!GTEST_@}"; do
    [[ -v $name ]] && settings+=("$name=${!name}")
  done
  exec sudo env "${settings[@]}" "$0" "$@"
}

# One word that names a list of files and strings, to tell whether something built from them is current.
checksum_of() { printf '%s\n' "$@" | sha256sum | cut -c1-24; }

# Waits until a command succeeds. Usage: wait_until SECONDS COMMAND...
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}
