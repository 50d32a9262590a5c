#!/bin/sh
# No struct of the ABI has padding at its end, on any data model that an installed compiler knows. A field that is
# appended later would lie in that padding, and would seem to be present in structs that were filled without it.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/unit.c" <<'END'
#include "epiphyte/draft/ep_device.h"
#include "epiphyte/draft/ep_explain.h"
#include "epiphyte/ep_onnx.h"
#include "epiphyte/ep_options.h"
#include "epiphyte/ep_plugin.h"
#include "epiphyte/ep_profile.h"
#include "epiphyte/ep_run_limits.h"
#include "epiphyte/ep_schema.h"
#include "epiphyte/ep_share.h"
#define EP_STRUCT(type)
#define EP_FIELD(type, field)
#define EP_STRUCT_END(type, last) \
  _Static_assert(EP_SIZE_THROUGH(type, last) == sizeof(type), #type " has padding at its end");
#include "abi_fields.inc"
END
"$root/tests/abi/abi_fields.sh" "$root/plugin_api/include" > "$work/abi_fields.inc"
checked=0
# Freestanding: the headers need nothing but stddef and stdint, which compilers bring for targets without a C library.
check() {
  printf 'int nothing;\n' > "$work/empty.c"
  "$@" -ffreestanding -fsyntax-only "$work/empty.c" 2> /dev/null || return 0
  "$@" -std=c11 -Wall -Wextra -pedantic -Werror -ffreestanding -fsyntax-only -I"$work" -I"$root/plugin_api/include" \
    "$work/unit.c" || { echo "with: $*" >&2; exit 1; }
  checked=$((checked + 1))
}
command -v gcc > /dev/null && check gcc && check gcc -m32
if command -v clang > /dev/null; then
  for target in x86_64-linux-gnu i686-linux-gnu armv7-linux-gnueabihf aarch64-linux-gnu riscv32-unknown-elf \
      x86_64-w64-windows-gnu i686-w64-windows-gnu; do
    check clang --target=$target
  done
fi
[ "$checked" -ge 2 ] || { echo "only $checked data models were checked" >&2; exit 1; }
echo "no struct has padding at its end in $checked data models"
