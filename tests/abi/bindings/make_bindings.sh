#!/bin/sh
# make_bindings.sh INCLUDE: writes to standard output a C header with what a generator of bindings makes of the ABI's
# headers: the preprocessed declarations, and the macros that are one number or one string. It leaves out every other
# macro.
set -eu
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for header in "$include"/epiphyte/*.h "$include"/epiphyte/draft/*.h; do
  printf '#include "%s"\n' "${header#"$include/"}"
done > "$work/all.c"
gcc -std=c11 -I"$include" -E -P "$work/all.c"
gcc -std=c11 -I"$include" -E -dD "$work/all.c" | awk -v include="$include/epiphyte/" '
  /^# [0-9]+ "/ { ours = index($0, include) > 0; next }
  !ours || !/^#define / { next }
  { name = $2; value = $0; sub(/^#define [^ ]+ */, "", value) }
  name ~ /\(/ || value == "" { next }
  # An enumerator of C11 is an int, so a constant with the highest bit of 32 set becomes a uint32_t.
  value ~ /^0[xX][89a-fA-F][0-9a-fA-F]*[uU]$/ && length(value) == 11 { printf "static const uint32_t %s = %s;\n", name, value; next }
  value ~ /^-?(0[xX][0-9a-fA-F]+|[0-9]+)[uU]?$/ { printf "enum { %s = %s };\n", name, value; next }
  value ~ /^"[^"]*"$/ { printf "static const char %s[] = %s;\n", name, value }'
