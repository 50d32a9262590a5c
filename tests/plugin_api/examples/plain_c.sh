#!/bin/sh
# plain_c.sh BUILD PREFIX EXAMPLES: builds the plain-C example out of tree, and places, compiles, reloads and runs
# models.
. "$(dirname "$0")/common.sh"
cp -r "$3/plain_c" vendor
build_plugin "$work/vendor"
"$epiphyte" plugins | grep -q '^ *plain_c' || { "$epiphyte" plugins; fail "the vendor's plugin is not listed"; }

model model.onnx '(float[4] x) => (float[4] y) { a = Neg(x) b = Sigmoid(a) c = Abs(b) y = Neg(c) }'
found=$(placed model.onnx plain_c)
[ "$found" = "plain_c cpu plain_c plain_c " ] || fail "Neg, Sigmoid, Abs and Neg went to: $found"
same_numbers model.onnx plain_c
[ -f model_plain_c.bin ] || { ls; fail "the context model is incomplete"; }

# The model has two inputs and three outputs, and nothing connects the first output with the others. It must still be
# one partition.
model wide.onnx '(float[4] p, float[4] q) => (float[4] a, float[4] b, float[4] d) { a = Neg(p) b = Abs(q) c = Neg(b) d = Neg(c) }'
"$epiphyte" place wide.onnx --ep plain_c > place.txt
grep -q '4 nodes: plain_c 4 in 1 partition' place.txt || { cat place.txt; fail "plain_c did not get all in one partition"; }
same_numbers wide.onnx plain_c
echo "a plain C plugin was built out of tree, compiled models and ran them from their contexts"
