#!/bin/sh
# Generated bindings for other languages have declarations and plain constants, but no macros with arguments or computed
# values. This test checks that the list of such macros is known, that each is only a convenience, and that a plugin
# without any macro compiles, loads and runs.
set -eu
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
include=$work/prefix/include

# The computed macros and those with arguments. Each is a convenience of C; the second column is its replacement in
# other languages.
cat > "$work/known" <<'KNOWN'
EP_ABI_VERSION           EP_ABI_MAJOR and EP_ABI_MINOR
EP_ABI_VERSION_MAJOR     a shift
EP_ABI_VERSION_MINOR     a mask
EP_CALL                  part of each declaration
EP_EXPORT                the language's own way to export a function
EP_EXTERN_C              the language's own way to leave names alone
EP_EXTERN_C_BEGIN        part of each declaration
EP_EXTERN_C_END          part of each declaration
EP_HAS_FIELD             struct_size against offset and size of a field
EP_MAKE_ABI_VERSION      a shift
EP_SIZE_THROUGH          offset and size of a field
KNOWN
for header in "$include"/epiphyte/*.h "$include"/epiphyte/draft/*.h; do
  # Include guards are empty macros, and so is EP_CALL on this platform.
  gcc -std=c11 -I"$include" -E -dD "$header" | awk -v include="$include/epiphyte/" '
    /^# [0-9]+ "/ { ours = index($0, include) > 0; next }
    !ours || !/^#define / { next }
    { name = $2; value = $0; sub(/^#define [^ ]+ */, "", value); with_arguments = name ~ /\(/; sub(/\(.*/, "", name) }
    name ~ /^EPIPHYTE_.*_H_$/ { next }
    !with_arguments && value ~ /^(-?(0[xX][0-9a-fA-F]+|[0-9]+)[uU]?|"[^"]*")$/ { next }
    { print name }'
done | sort -u > "$work/computed"
unknown=$(awk '{ print $1 }' "$work/known" | sort | comm -13 - "$work/computed")
if [ -n "$unknown" ]; then
  echo "macros that no generator of bindings sees:" $unknown "- make each a plain number or string, or a convenience that the test knows" >&2
  exit 1
fi

"$source/make_bindings.sh" "$include" > "$work/bindings.h"
! grep -q '#define' "$work/bindings.h" || { echo "the bindings have macros" >&2; exit 1; }
for compiler in gcc clang; do
  command -v "$compiler" > /dev/null || continue
  "$compiler" -std=c11 -Wall -Wextra -pedantic -Werror -Wno-unused-const-variable -I"$work" -fPIC -shared \
    -Wl,-z,defs -o "$work/libbare.so" "$source/bare_plugin.c"
  exported=$(nm -D --defined-only "$work/libbare.so" | awk '{ print $3 }')
  [ "$exported" = EpPluginQuery ] || { echo "the plugin exports:" $exported >&2; exit 1; }
  cp "$source/bare.yaml" "$work"
  "$build/tests_bin/write_onnx_text" "$work/model.onnx" '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { a = Neg(x) b = Sigmoid(a) y = Neg(b) }'
  # placed EXPECTED FLAG...: fails unless Neg, Sigmoid and Neg are placed on the providers EXPECTED
  placed() {
    expected=$1
    shift
    EPIPHYTE_PLUGIN_PATH=$work "$work/prefix/bin/epiphyte" place "$work/model.onnx" --ep bare --json "$@" > "$work/place.json"
    found=$(sed -n 's/^      "provider": "\(.*\)".*/\1/p' "$work/place.json" | tr '\n' ' ')
    [ "$found" = "$expected" ] || { cat "$work/place.json"; echo "Neg, Sigmoid and Neg went to: $found" >&2; exit 1; }
  }
  placed "bare cpu bare "
  placed "cpu cpu cpu " --ep-option bare.claim=false
  # A value that doesn't fit the declared option must never reach the plugin.
  ! EPIPHYTE_PLUGIN_PATH=$work "$work/prefix/bin/epiphyte" place "$work/model.onnx" --ep bare --ep-option bare.claim=maybe 2> "$work/refused" \
    || { echo "the option claim=maybe was taken" >&2; exit 1; }
  grep -q "option 'claim' is 'maybe', true or false expected" "$work/refused" || { cat "$work/refused" >&2; exit 1; }
  # The state of other plugins does not matter here, so doctor may fail.
  EPIPHYTE_PLUGIN_PATH=$work "$work/prefix/bin/epiphyte" doctor bare > "$work/doctor" || :
  grep -q "option    claim = true (true, false)  false: no node is claimed" "$work/doctor" || { cat "$work/doctor" >&2; exit 1; }
  for ep in cpu bare; do
    EPIPHYTE_PLUGIN_PATH=$work "$work/prefix/bin/epiphyte" run "$work/model.onnx" --ep $ep --seed 7 --outputs "$work/$ep" > /dev/null
  done
  cmp "$work/cpu/output_0.pb" "$work/bare/output_0.pb" || { echo "bare gives other numbers than cpu" >&2; exit 1; }
done
echo "a plugin was written without a macro; $(wc -l < "$work/computed") macros are conveniences"
