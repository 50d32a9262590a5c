// Models: any bytes give a model or an Error. Inference, function bodies and writing run as well.
#include "core/base/error.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/write/model_writer.h"
#include "tests/framework/onnx_text.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace epiphyte::core;
  try {
    Model model = ReadModelMemory(data, size, nullptr, {});
    InlineFunctions(model, [](const Node&) { return false; });
    model.graph->Finalize();
    WriteModel(model, {}, [](const void*, uint64_t) {});
  } catch (const Error&) {
  }
  return 0;
}

std::vector<std::string> SeedInputs() {
  return {epiphyte::test::ChainModel({"Relu", "Softplus", "Celu"}),
          epiphyte::test::OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
            g (int64 n, float[2, N] x) => (float[2, M] y) {
              w = Constant <value = float[2, 3] {1, 2, 3, 4, 5, 6}> ()
              go = Constant <value = bool {1}> ()
              z = Loop (n, go, x) <body = b (int64 i, bool c, float[2, N] v) => (bool keep, float[2, N] next) {
                keep = Identity(c)
                next = Add(v, v)
              }>
              s = Shape(z)
              t = Reshape(z, s)
              y = Concat <axis = 1> (t, w)
            })"),
          epiphyte::test::OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
            g (float[N, 3] x, float[3, 2] w, float[3] b) => (float[3, 2] dw, float[N, 3] ddx) {
              n = LayerNormalization (x, b)
              h = MatMul (n, w)
              s = Softmax (h)
              l = ReduceMean <axes = [1]> (s)
              dw, dx = ai.onnx.preview.training.Gradient <xs = ["w", "x"], zs = ["b"], y = "l"> (w, x, b)
              ddx = ai.onnx.preview.training.Gradient <xs = ["x"], zs = ["w", "b"], y = "dx"> (x, w, b)
            })"),
          epiphyte::test::OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
            g (float[1, 3, 16] x, float[16] row, float[1, 2, 4, 8] past, int32[1] length, int32[1] total,
               float[32, 4] cos, int64[1, 3] positions, int32[1, 3] mask, uint8[1, 4, 6, 6] image, float[1] scale)
              => (float[1, 3, 16] y, uint8[1, 4, 3, 3] z) {
              n, mean, deviation, s = com.microsoft.SkipLayerNormalization <epsilon = 0.001> (x, x, row, row)
              r = com.microsoft.RotaryEmbedding <interleaved = 1> (n, positions, cos, cos)
              a, k, v = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 2, do_rotary = 1,
                local_window_size = 3> (r, s, n, past, past, length, total, cos, cos)
              b = com.microsoft.MultiHeadAttention <num_heads = 4, unidirectional = 1> (a, n, s, absent, mask)
              w = com.microsoft.FusedMatMul <transB = 1, alpha = 0.5> (b, b)
              c = com.microsoft.FusedMatMul (w, n)
              y = com.microsoft.FastGelu (c)
              q = com.microsoft.QLinearAdd (image, scale, absent, image, scale, absent, scale)
              z = com.microsoft.QLinearAveragePool <kernel_shape = [2, 2], strides = [2, 2], channels_last = 0>
                (q, scale, absent, scale)
            })")};
}
