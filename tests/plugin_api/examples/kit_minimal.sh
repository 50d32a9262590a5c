#!/bin/sh
# kit_minimal.sh BUILD PREFIX EXAMPLES: builds the small kit plugin out of tree and tests its constants, contexts and
# option.
. "$(dirname "$0")/common.sh"
cp -r "$3/kit_minimal" vendor
lines=$(wc -l < vendor/kit_minimal.cpp)
[ "$lines" -lt 150 ] || fail "kit_minimal.cpp has $lines lines; it is to stay below 150"
build_plugin "$work/vendor"

model model.onnx '(float[2,3] x, float[2,3] z) => (float[2,3] y, float[2,3] r) <float[2,3] w = {1, -2, 3, -4, 5, -6}> { a = Add(x, w) r = Relu(a) s = Sigmoid(r) b = Add(s, z) c = Add(b, b) y = Relu(c) }'
found=$(placed model.onnx kit_minimal)
[ "$found" = "kit_minimal kit_minimal cpu kit_minimal kit_minimal kit_minimal " ] || fail "the nodes went to: $found"
same_numbers model.onnx kit_minimal
[ -f model_kit_minimal.bin ] || { ls; fail "the context model is incomplete"; }

# The declared option is shown and checked, and has an effect.
"$epiphyte" doctor kit_minimal | grep -q 'min_elements' || { "$epiphyte" doctor kit_minimal; fail "doctor doesn't show the option"; }
"$epiphyte" place model.onnx --ep kit_minimal --ep-option kit_minimal.min_elements=7 > few.txt
grep -q 'kit_minimal [1-9]' few.txt && { cat few.txt; fail "small tensors were taken"; }
for bad in min_elements=few min_elements=-1 min_element=1; do
  ! "$epiphyte" run model.onnx --ep kit_minimal --ep-option "kit_minimal.$bad" > /dev/null 2> err.txt || fail "$bad is accepted"
  [ "$(wc -l < err.txt)" -eq 1 ] && grep -q min_elements err.txt || { cat err.txt; fail "$bad: one line that names the option is expected"; }
done
echo "the small kit plugin was built out of tree and does what it says"
