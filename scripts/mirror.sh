# The Debian 12 mirror of this machine, in the form that mmdebstrap expects, and what packages need from it. Sourced,
# never run.
# shellcheck shell=bash

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# The lines of a sources.list that has Debian 12's own packages and nothing of a third party. None on a machine of another
# release, or on one that has not yet fetched its lists.
bookworm_sources() {
  # shellcheck disable=SC2016 # apt's variables, not the shell's
  local format='$(REPO_URI) $(CODENAME) $(ORIGIN)' mirrors
  mirrors=$(apt-get indextargets --format "$format" 'Created-By: Packages' 'Component: main' 2>/dev/null |
    awk '$3 == "Debian" && $2 ~ /^bookworm(-updates|-security)?$/ && !seen[$1, $2]++ {print $1, $2}')
  grep -q ' bookworm$' <<<"$mirrors" || return 0
  while read -r mirror; do echo "deb [signed-by=$KEYRING] $mirror main"; done <<<"$mirrors"
}

# The options that make mmdebstrap's apt reach the mirror the way the machine's own apt does, one a line.
apt_options() {
  apt-config dump | sed -n -E 's/^(Acquire::(http|https)::[Pp]roxy.* "[^"]+";)$/--aptopt=\1/p'
}

# Usage: debootstrap_into DIRECTORY [MMDEBSTRAP OPTION]...
debootstrap_into() {
  local into=$1 options sources
  shift
  [[ -r $KEYRING ]] || die "$KEYRING is missing; install it with scripts/install-deps test"
  mapfile -t options < <(apt_options)
  options=(--quiet --mode=root --format=directory "${options[@]}" "$@" bookworm "$into")
  sources=$(bookworm_sources)
  if [[ -n $sources ]]; then
    mmdebstrap "${options[@]}" - <<<"$sources"
  else
    mmdebstrap "${options[@]}"  # from Debian's default mirror
  fi
}

# Names of the packages that these depend on, without these themselves. Usage: dependencies_of PACKAGE.deb...
dependencies_of() {
  local own package
  own=$(for package; do dpkg-deb -f "$package" Package; done)
  for package; do
    dpkg-deb -f "$package" Depends | tr ',' '\n' | sed 's/^ *//; s/[ (|].*//; /^$/d'
  done | sort -u | grep -vxF "$own"
}
