# For the tests of examples: does what a vendor does, in a separate folder, with only the installed package.
#
# . common.sh BUILD PREFIX      sets $build, $prefix, $work (working folder, removed at the end), $epiphyte
set -eu
build=$1
prefix=$2
epiphyte=$prefix/bin/epiphyte
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The machine's plugins and the user's settings are hidden.
export XDG_DATA_HOME="$work/none" XDG_CONFIG_HOME="$work/none"
unset EPIPHYTE_PLUGIN_PATH
export CMAKE_GENERATOR=Ninja
cd "$work"

fail() { echo "$*" >&2; exit 1; }

# quietly COMMAND...: runs the command and shows its output only when it fails
quietly() { "$@" > "$work/quietly.log" 2>&1 || { cat "$work/quietly.log"; fail "failed: $*"; }; }

# build_plugin FOLDER: configures and builds the plugin, and runs its tests, which run the conformance suite
build_plugin() {
  quietly cmake -S "$1" -B "$1/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  quietly cmake --build "$1/build"
  ! grep -iq 'warning' "$work/quietly.log" || { cat "$work/quietly.log"; fail "$1 compiles with warnings"; }
  quietly ctest --test-dir "$1/build" --output-on-failure --no-tests=error
  export EPIPHYTE_PLUGIN_PATH="$1/build"
}

# model FILE TEXT: writes a model
model() { "$build/tests_bin/write_onnx_text" "$work/$1" "<ir_version: 8, opset_import: [\"\" : 17]> g $2"; }

# placed MODEL EP: prints the providers of the model's nodes, in order
placed() {
  "$epiphyte" place "$1" --ep "$2" --json > place.json
  sed -n 's/^      "provider": "\(.*\)".*/\1/p' place.json | tr '\n' ' '
}

# same_numbers MODEL EP: fails unless the model gives the CPU provider's numbers, both compiled and loaded from a
# context
same_numbers() {
  name=${1%.onnx}
  "$epiphyte" run "$1" --ep cpu --seed 7 --outputs "$name.cpu" > /dev/null
  "$epiphyte" run "$1" --ep "$2" --seed 7 --outputs "$name.plain" > /dev/null
  rm -f "${name}_ctx.onnx" "${name}"_*.bin
  "$epiphyte" compile "$1" --ep "$2" > /dev/null
  [ -f "${name}_ctx.onnx" ] || fail "no context model for $1: $(ls)"
  "$epiphyte" run "${name}_ctx.onnx" --ep "$2" --seed 7 --outputs "$name.context" > /dev/null
  for output in "$name.cpu"/*.pb; do
    cmp "$output" "$name.plain/$(basename "$output")" || fail "$1: $2 gives other numbers than cpu"
    cmp "$output" "$name.context/$(basename "$output")" || fail "$1: the context gives other numbers than cpu"
  done
}
