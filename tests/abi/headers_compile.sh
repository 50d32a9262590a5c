#!/bin/sh
# Each header of the ABI, drafts included, compiles alone and without a warning as C11, C17 and C++11 to C++20, with
# every compiler that is installed. It also compiles as C11 for other data models and byte orders, as freestanding code
# because their C libraries are not installed.
set -eu
root=$1
include=$root/plugin_api/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checked=0
# check COMPILER LANGUAGE STANDARD HEADER [OPTION]...: compiles the header alone
check() {
  compiler=$1 language=$2 standard=$3 header=$4
  shift 4
  printf '#include "epiphyte/%s"\n' "$header" > "$work/unit.$language"
  if ! "$compiler" "-std=$standard" "$@" -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$include" "$work/unit.$language"; then
    echo "$header does not compile as $standard with $compiler $*" >&2
    exit 1
  fi
  checked=$((checked + 1))
}
for header in "$include"/epiphyte/ep_*.h "$include"/epiphyte/draft/ep_*.h; do
  name=${header#"$include/epiphyte/"}
  for compiler in gcc clang; do
    command -v "$compiler" > /dev/null || continue
    for standard in c11 c17; do check "$compiler" c "$standard" "$name"; done
  done
  if command -v gcc > /dev/null && [ "$(uname -m)" = x86_64 ]; then check gcc c c11 "$name" -ffreestanding -m32; fi
  if command -v clang > /dev/null; then
    for target in i386-linux-gnu armv7-linux-gnueabihf aarch64-linux-gnu s390x-linux-gnu i686-pc-windows-msvc \
                  x86_64-pc-windows-msvc; do
      check clang c c11 "$name" -ffreestanding "--target=$target"
    done
  fi
  for compiler in g++ clang++; do
    command -v "$compiler" > /dev/null || continue
    for standard in c++11 c++14 c++17 c++20; do check "$compiler" cpp "$standard" "$name"; done
  done
done
[ "$checked" -ge 60 ] || { echo "only $checked combinations were checked" >&2; exit 1; }
echo "$checked combinations of header, language and compiler are clean"
