#!/bin/sh
# Every ABI header compiles alone, as C11 and C17 and as C++11 to C++20, by every compiler at hand, without a warning.
set -eu
root=$1
include=$root/plugin_api/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checked=0
check() {
  compiler=$1 language=$2 standard=$3 header=$4
  printf '#include "epiphyte/%s"\n' "$header" > "$work/unit.$language"
  if ! "$compiler" "-std=$standard" -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$include" "$work/unit.$language"; then
    echo "$header does not compile as $standard with $compiler" >&2
    exit 1
  fi
  checked=$((checked + 1))
}
for header in "$include"/epiphyte/ep_*.h; do
  name=$(basename "$header")
  for compiler in gcc clang; do
    command -v "$compiler" > /dev/null || continue
    for standard in c11 c17; do check "$compiler" c "$standard" "$name"; done
  done
  for compiler in g++ clang++; do
    command -v "$compiler" > /dev/null || continue
    for standard in c++11 c++14 c++17 c++20; do check "$compiler" cpp "$standard" "$name"; done
  done
done
[ "$checked" -ge 60 ] || { echo "only $checked combinations were checked" >&2; exit 1; }
echo "$checked combinations of header, language and compiler are clean"
