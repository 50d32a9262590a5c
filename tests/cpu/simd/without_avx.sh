#!/bin/sh
# Runs the CPU plugin on an emulated CPU without AVX: tests of kernels and plans, with the same bounds as on any CPU, and
# a model with the command line, which loads the plugin's library.
#
#   without_avx.sh BUILD_FOLDER EMULATOR ARGUMENT...
set -eu
build=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$@" "$build/tests_bin/cpu_tests" --gtest_brief=1 \
  --gtest_filter='Rnn*:*Attention*:*RowProduct*:*Quantiz*:*Lrn*:*Reduction*:*Elementwise*'

"$build/tests_bin/write_onnx_text" "$work/model.onnx" '<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 64] x, float[64, 48] w, float scale, uint8 zero) => (uint8[2, 48] y) {
    a = MatMul(x, w) b = Softmax(a) c = Tanh(b) d = Sqrt(c) y = QuantizeLinear(d, scale, zero) }'
"$@" "$build/bin/epiphyte" run "$work/model.onnx" --ep cpu --outputs "$work" > /dev/null
[ -s "$work/output_0.pb" ] || { echo "epiphyte run wrote no output" >&2; exit 1; }
