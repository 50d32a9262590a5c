// The tests of models_test.cpp for models that take minutes.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/models/quantizer/quantizer_fixture.h"
#include "tests/npu/ep/models/npu_models.h"

namespace epiphyte::test {
namespace {

TEST_F(NpuModels, MobileNetV2Over64Images) { ExpectTopLikeCpu("mobilenetv2_qdq", 64); }

TEST_F(NpuModels, ResNet50Over64Images) { ExpectTopLikeCpu("resnet50_qdq", 64); }

TEST_F(NpuModels, ResNet50WithSharedDequantize) { ExpectSharedDequantizeChangesNothing("resnet50_qdq"); }

TEST_F(NpuModels, BertBase) { ExpectNearCpu("bert_base_qdq", {.share = 0.95, .partitions = 2, .signal_to_noise = 24}); }

TEST_F(NpuModels, LlamaPrefill) {
  ExpectNearCpu("llama_prefill_qdq", {.share = 0.25, .partitions = 25, .signal_to_noise = 24});
}

TEST_F(NpuModels, LlamaDecode) {
  ExpectNearCpu("llama_decode_qdq", {.share = 0.25, .partitions = 25, .signal_to_noise = 24});
}

// A context session skips the search of compiling. The demo promises that it takes a fiftieth of the time.
TEST_F(NpuModels, AContextSessionCostsAFiftiethOfCompiling) {
  const std::filesystem::path model = Write("resnet50_qdq");
  const auto seconds = [](const auto& make) {
    const auto began = std::chrono::steady_clock::now();
    const Session session = make();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  SessionOptions thorough;
  thorough.AddProvider("npu", {{"effort", "exhaustive"}});
  thorough.AddProvider("cpu");
  SessionOptions writing = thorough;
  writing.Set("ep.context_enable", "1");
  writing.Set("ep.context_file_path", (folder() / "thorough_ctx.onnx").string());
  { const Session session(BundledEnvironment(), model, writing); }
  double compiling = 1e9, loading = 1e9;
  for (int i = 0; i < 3; ++i) {
    compiling = std::min(compiling, seconds([&] { return Session(BundledEnvironment(), model, thorough); }));
    for (int k = 0; k < 3; ++k)
      loading = std::min(
          loading, seconds([&] { return Session(BundledEnvironment(), folder() / "thorough_ctx.onnx", thorough); }));
  }
  std::printf("compiled in %.3f s, loaded in %.4f s: %.4f\n", compiling, loading, loading / compiling);
  EXPECT_LE(loading, 0.02 * compiling);
}

}  // namespace
}  // namespace epiphyte::test
