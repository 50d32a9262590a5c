// Small models that the tests of context models compile.
//
//   TempDir dir;
//   const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
//   const std::filesystem::path context = CompileMatMul(*environment, dir);
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/runtime/session.h"
#include "tests/context/context_proto.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {

// Compiles [2, 3] x [3, 2] for the CPU, and returns the path of the context model in `dir`.
inline std::filesystem::path CompileMatMul(core::Environment& environment, const TempDir& dir, bool embed = false) {
  const std::filesystem::path model = dir.Write("model.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 2] y) {
      w = Constant <value = float[3, 2] {1, 2, 3, 4, 5, 6}> ()
      y = MatMul(x, w)
    })"));
  core::SessionOptions options = OptionsFor({"cpu"});
  options.Set("ep.context_enable", "1");
  options.Set("ep.context_embed_mode", embed ? "1" : "0");
  core::Session session(environment, model, options);
  return dir / "model_ctx.onnx";
}

// Adds the initializer "w", float[rows, columns], with equal elements.
inline void AddEvenWeights(onnx::ModelProto* model, int64_t rows, int64_t columns) {
  onnx::TensorProto* weights = model->mutable_graph()->add_initializer();
  weights->set_name("w");
  weights->set_data_type(onnx::TensorProto::FLOAT);
  weights->add_dims(rows);
  weights->add_dims(columns);
  weights->mutable_raw_data()->resize(static_cast<size_t>(rows * columns * 4), '\x3f');
}

}  // namespace epiphyte::test
