#!/bin/sh
# What a vendor does: installs the package, builds a plugin against it in a folder of its own, points the host at it,
# places, compiles, reloads and runs a model with it.
set -eu
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
cp -r "$source" "$work/vendor"
cmake -G Ninja -S "$work/vendor" -B "$work/vendor/build" -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/vendor/build" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
export EPIPHYTE_PLUGIN_PATH=$work/vendor/build
"$work/prefix/bin/ep_conformance" "$work/vendor/build/negator.yaml" || { echo "the vendor's plugin breaks rules" >&2; exit 1; }
epiphyte=$work/prefix/bin/epiphyte
"$epiphyte" plugins | grep -q '^ *negator' || { "$epiphyte" plugins; echo "the vendor's plugin is not listed" >&2; exit 1; }
"$build/tests_bin/write_onnx_text" "$work/model.onnx" '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { a = Neg(x) b = Sigmoid(a) c = Abs(b) y = Neg(c) }'
cd "$work"
"$epiphyte" place model.onnx --ep negator --json > place.json
placed=$(sed -n 's/^      "provider": "\(.*\)".*/\1/p' place.json | tr '\n' ' ')
[ "$placed" = "negator cpu negator negator " ] || { cat place.json; echo "Neg, Sigmoid, Abs and Neg went to: $placed" >&2; exit 1; }
"$epiphyte" run model.onnx --ep cpu --seed 7 --outputs cpu > /dev/null
"$epiphyte" run model.onnx --ep negator --seed 7 --outputs plain > /dev/null
cmp cpu/output_0.pb plain/output_0.pb || { echo "negator gives other numbers than cpu" >&2; exit 1; }
"$epiphyte" compile model.onnx --ep negator > /dev/null
[ -f model_ctx.onnx ] && [ -f model_negator.bin ] || { ls; echo "the context model is incomplete" >&2; exit 1; }
"$epiphyte" run model_ctx.onnx --seed 7 --outputs context > /dev/null
cmp plain/output_0.pb context/output_0.pb || { echo "the context gives other numbers" >&2; exit 1; }

# Two inputs, three outputs, nothing that connects the first with the others: one partition all the same.
"$build/tests_bin/write_onnx_text" "$work/wide.onnx" '<ir_version: 8, opset_import: ["" : 17]> g (float[4] p, float[4] q) => (float[4] a, float[4] b, float[4] d) { a = Neg(p) b = Abs(q) c = Neg(b) d = Neg(c) }'
"$epiphyte" place wide.onnx --ep negator | grep -q '4 nodes: negator 4 in 1 partition' || { "$epiphyte" place wide.onnx --ep negator; echo "negator did not get all in one partition" >&2; exit 1; }
"$epiphyte" run wide.onnx --ep cpu --seed 7 --outputs wide_cpu > /dev/null
"$epiphyte" run wide.onnx --ep negator --seed 7 --outputs wide_plain > /dev/null
"$epiphyte" compile wide.onnx --ep negator > /dev/null
"$epiphyte" run wide_ctx.onnx --seed 7 --outputs wide_context > /dev/null
for output in 0 1 2; do
  cmp wide_cpu/output_$output.pb wide_plain/output_$output.pb || { echo "negator gives other numbers than cpu" >&2; exit 1; }
  cmp wide_cpu/output_$output.pb wide_context/output_$output.pb || { echo "the context of the wide model gives other numbers" >&2; exit 1; }
done
echo "a plain C plugin was built out of tree, compiled a model and ran it from its context"
