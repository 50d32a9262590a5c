#!/bin/sh
# kit_full.sh BUILD PREFIX EXAMPLES: builds the large kit plugin out of tree and tests its units, groups, devices,
# verdicts and share groups.
. "$(dirname "$0")/common.sh"
cp -r "$3/kit_full" vendor
lines=$(wc -l < vendor/kit_full.cpp)
[ "$lines" -lt 400 ] || fail "kit_full.cpp has $lines lines; it is to stay below 400"
build_plugin "$work/vendor"

# The model has two QDQ units, a float MatMul with its Relu as a group, and some other nodes. Scales are powers of two,
# so that all results are exact in any order of computation.
weights='float s = {0.5}, float sw = {0.25}, float s2 = {1}, int8 z = {0}, int8 u = {3}, int8[4,3] w = {1, -2, 3, 4, 5, -6, 7, 8, 9, -1, -1, 2}, float[3,2] f = {1, 2, -3, 4, 5, -6}'
nodes='q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) r = Relu(d) rq = QuantizeLinear(r, s, z) e = DequantizeLinear(rq, s, z) v = DequantizeLinear(w, sw, z) m = MatMul(e, v) mq = QuantizeLinear(m, s2, u) o = DequantizeLinear(mq, s2, u) g = MatMul(o, f) y = Relu(g)'
model model.onnx "(float[2,4] x) => (float[2,2] y) <$weights> { $nodes }"
"$epiphyte" place model.onnx --ep kit_full > place.txt
found=$(placed model.onnx kit_full)
[ "$found" = "cpu kit_full kit_full kit_full kit_full kit_full kit_full kit_full cpu kit_full kit_full " ] || { cat place.json; fail "the nodes went to: $found"; }
grep -q 'MatMul+Relu' place.json || { cat place.json; fail "the group's name is not in the placement"; }
same_numbers model.onnx kit_full
[ -f model_kit_full.bin ] || { ls; fail "the context model is incomplete"; }

# Nodes with unknown shapes are declined, with the reason.
model unknown.onnx "(float[N,4] x) => (float[N,4] y) <float s = {0.5}, int8 z = {0}> { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) r = Relu(d) p = QuantizeLinear(r, s, z) y = DequantizeLinear(p, s, z) }"
"$epiphyte" place unknown.onnx --ep kit_full --json > unknown.json
grep -q 'one shape, known before the run' unknown.json || { cat unknown.json; fail "the reason is not told"; }

# The second chip runs contexts of the first, but not the reverse. CheckContext reports both in advance.
on() { echo "kit_full.device=$1"; }
rm -f model_ctx.onnx model_*.bin
"$epiphyte" compile model.onnx --ep kit_full --ep-option "$(on 0)" > /dev/null
"$epiphyte" run model_ctx.onnx --ep kit_full --ep-option "$(on 1)" --seed 7 --outputs second > /dev/null 2> warning.txt
grep -q 'not optimally: it was made for chip X1, here it is chip X2' warning.txt || { cat warning.txt; fail "the verdict is not told"; }
cmp model.cpu/output_0.pb second/output_0.pb || fail "the second chip gives other numbers with the first one's context"
rm -f model_ctx.onnx model_*.bin
"$epiphyte" compile model.onnx --ep kit_full --ep-option "$(on 1)" > /dev/null
"$epiphyte" inspect model_ctx.onnx --check > inspect.txt || { cat inspect.txt; fail "the context can't be used"; }
! "$epiphyte" run model_ctx.onnx --ep kit_full --ep-option "$(on 0)" > /dev/null 2> err.txt || fail "the first chip takes a context of the second"
grep -q 'chip X2' err.txt && [ "$(wc -l < err.txt)" -eq 1 ] || { cat err.txt; fail "one line that names both chips is expected"; }

# A partition that is too large for the first chip is declined in Compile and runs on another provider.
ones=$(awk 'BEGIN { for (i = 1; i < 20000; ++i) printf "1,"; print "1" }')
model big.onnx "(float[1,200] x) => (float[1,100] y) <float[200,100] f = {$ones}> { y = MatMul(x, f) }"
"$epiphyte" compile big.onnx --ep kit_full --ep-option "$(on 1)" > /dev/null
[ -f big_kit_full.bin ] || { ls; fail "the second chip didn't take the large product"; }
"$epiphyte" run big.onnx --ep kit_full --ep-option "$(on 0)" > /dev/null || fail "the large product doesn't run when the first chip declines it"
rm -f big_ctx.onnx big_*.bin
"$epiphyte" compile big.onnx --ep kit_full --ep-option "$(on 0)" > said.txt 2>&1 || true
[ ! -f big_kit_full.bin ] || fail "the first chip took the large product"

# Two models share one payload.
model other.onnx "(float[2,4] x) => (float[2,2] y) <$weights> { $nodes }"
rm -f model_ctx.onnx model_*.bin
"$prefix/bin/ep_weight_sharing_ctx_gen" -e kit_full model.onnx,other.onnx > /dev/null
[ "$(ls ./*.bin | wc -l)" -eq 1 ] || { ls; fail "one payload for both models is expected"; }
for name in model other; do
  "$epiphyte" run "${name}_ctx.onnx" --ep kit_full --seed 7 --outputs "shared.$name" > /dev/null
  cmp model.cpu/output_0.pb "shared.$name/output_0.pb" || fail "$name: the shared context gives other numbers"
done
echo "the large kit plugin was built out of tree and does what it says"
