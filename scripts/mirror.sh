# Where this machine gets Debian 12 from, as mmdebstrap wants to be told. Sourced, never run.
# shellcheck shell=bash

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# The lines of a sources.list that has Debian 12's own packages and nothing of a third party.
bookworm_sources() {
  # shellcheck disable=SC2016 # apt's variables, not the shell's
  local format='$(REPO_URI) $(CODENAME) $(ORIGIN)' mirrors
  mirrors=$(apt-get indextargets --format "$format" 'Created-By: Packages' 'Component: main' 2>/dev/null |
    awk '$3 == "Debian" && $2 ~ /^bookworm(-updates|-security)?$/ && !seen[$1, $2]++ {print $1, $2}')
  # A machine of another release, or one that has not yet fetched its lists.
  if ! grep -q ' bookworm$' <<<"$mirrors"; then mirrors='http://deb.debian.org/debian bookworm'; fi
  while read -r mirror; do echo "deb [signed-by=$KEYRING] $mirror main"; done <<<"$mirrors"
}

# The options that make mmdebstrap's apt reach the mirror the way the machine's own apt does, one a line.
apt_options() {
  apt-config dump | sed -n -E 's/^(Acquire::(http|https)::[Pp]roxy.* "[^"]+";)$/--aptopt=\1/p'
}

# Usage: debootstrap_into DIRECTORY [MMDEBSTRAP OPTION]...
debootstrap_into() {
  local into=$1 options
  shift
  [[ -r $KEYRING ]] || die "there is no $KEYRING; scripts/install-deps test installs it"
  mapfile -t options < <(apt_options)
  bookworm_sources | mmdebstrap --quiet --mode=root --format=directory "${options[@]}" "$@" bookworm "$into" -
}
