// Models: any bytes are a model or an Error. Inference, function bodies and writing run as well.
#include "core/base/error.h"
#include "core/onnx/inference.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/model_writer.h"
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
            })")};
}
