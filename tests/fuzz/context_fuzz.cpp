// Payloads of the CPU plugin: any bytes, embedded in a context model without digests, give a kernel or an error. The
// plugin's own digests are made to match, so that the code behind the digest checks is reached.
#include <cstring>
#include <memory>

#include "core/base/error.h"
#include "core/context/context_model.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/write/model_writer.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/sealed_container.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

namespace core = epiphyte::core;
namespace test = epiphyte::test;

constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 2] y) {
    w = Constant <value = float[3, 2] {1, 2, 3, 4, 5, 6}> ()
    product = MatMul(x, w)
    y = Softmax(product)
  })";

core::Environment& Environment() {
  static core::Environment* const kEnvironment = test::BuildTreeEnvironment().release();
  return *kEnvironment;
}

// Returns the context model of kModel, with an embedded payload.
core::Model ContextModel() {
  static const std::string* const kBytes = [] {
    test::TempDir dir;
    core::SessionOptions options = test::OptionsFor({"cpu"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", "1");
    core::Session session(Environment(), dir.Write("m.onnx", test::OnnxFromText(kModel)), options);
    return new std::string(test::ReadFile(dir / "m_ctx.onnx"));
  }();
  return core::ReadModelMemory(kBytes->data(), kBytes->size(), nullptr, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string payload = test::Sealed(std::string(reinterpret_cast<const char*>(data), size));
  core::Model model = ContextModel();
  model.metadata.clear();  // no digests, as in a model of another tool
  core::Node* node = core::FindContextNodes(*model.graph).front();
  node->SetAttribute(core::Attribute::Tensor(
      "ep_cache_context",
      core::Constant::Copy(core::DataType::kUint8, {static_cast<int64_t>(size)}, payload.data(), size)));
  model.graph->Finalize();
  std::string bytes;
  core::WriteModel(model, {},
                   [&](const void* piece, uint64_t length) { bytes.append(static_cast<const char*>(piece), length); });
  try {
    core::Session session(Environment(), bytes.data(), bytes.size(), test::OptionsFor({"cpu"}));
    session.Run(std::vector<core::ValuePtr>{test::Floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  } catch (const core::Error&) {
  }
  return 0;
}

std::vector<std::string> SeedInputs() {
  core::Model model = ContextModel();
  core::ContextAttributes attributes = core::ReadContextAttributes(*core::FindContextNodes(*model.graph).front());
  return {std::string(static_cast<const char*>(attributes.embedded.data), attributes.embedded.size)};
}
