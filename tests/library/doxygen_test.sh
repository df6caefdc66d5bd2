#!/bin/bash
# Runs Doxygen over the public headers, and fails at its first warning.
#
# Usage: doxygen_test.sh REPOSITORY
set -euo pipefail
cd "$1"
if ! command -v doxygen >/dev/null; then
  printf 'doxygen\tlibrary_doxygen\tdoxygen is not installed\n' >>"${CLOCHE_MISSING_LOG:-/dev/null}"
  exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
check() { { cat docs/Doxyfile && printf 'OUTPUT_DIRECTORY=%s\nINPUT=%s\n' "$out" "$1"; } | doxygen -; }
check include/cloche
[[ -s $out/html/classcloche_1_1Sandbox.html ]]

# It would not pass if something was left unexplained.
mkdir "$out/bad"
printf '/// @file\n/// A header.\n#pragma once\nnamespace bad {\nvoid unexplained();\n}\n' >"$out/bad/bad.hpp"
if check "$out/bad" 2>/dev/null; then
  echo "a function without a comment was let through" >&2
  exit 1
fi
