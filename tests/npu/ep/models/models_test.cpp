// Quantized networks on the simulated NPU: nearly all nodes of each are in one partition, results are those of the CPU,
// and contexts give the same bits. models_long_test.cpp has more images, and models that take longer to write.
#include "tests/models/quantizer/quantizer_fixture.h"
#include "tests/npu/ep/models/npu_models.h"

namespace epiphyte::test {
namespace {

TEST_F(NpuModels, MobileNetV2) { ExpectTopLikeCpu("mobilenetv2_qdq", 16); }

TEST_F(NpuModels, ResNet50) { ExpectTopLikeCpu("resnet50_qdq", 4); }

TEST_F(NpuModels, MobileNetV2WithSharedDequantize) { ExpectSharedDequantizeChangesNothing("mobilenetv2_qdq"); }

// The nodes of a transformer that the NPU doesn't take run on the CPU.
TEST_F(NpuModels, LlamaSharesItsWeightsInOneBinary) {
  const std::vector<std::string> names = {"llama_prefill_qdq", "llama_decode_qdq"};
  CompileContext(Write("llama_prefill_qdq"), "alone");
  const std::vector<uint64_t> alone = SizesOfBinaries();
  for (const char* file : {"alone.onnx", "alone_npu.bin", "alone_cpu.bin"}) std::filesystem::remove(folder() / file);
  for (const std::string& name : names)
    CompileContext(Write(name), name + "_ctx",
                   {{"ep.share_ep_contexts", "1"},
                    {"ep.context_node_name_prefix", name},
                    {"ep.stop_share_ep_contexts", name == names.back() ? "1" : "0"}});
  const std::vector<uint64_t> shared = SizesOfBinaries();
  ASSERT_EQ(alone.size(), 1u);
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_LE(static_cast<double>(shared[0]), 1.05 * static_cast<double>(alone[0]));
  for (const std::string& name : names) {
    SessionOptions options = Providers({"npu", "cpu"});
    options.Set("ep.share_ep_contexts", "1");
    const Session session(BundledEnvironment(), folder() / (name + "_ctx.onnx"), options);
    EXPECT_TRUE(session.has_context());
    const std::vector<Value> expected =
        RunSample(Session(BundledEnvironment(), Write(name), Providers({"cpu"})), name, kFirstSample);
    const std::vector<Value> found = RunSample(session, name, kFirstSample);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_GE(SignalToNoise(expected[i], found[i]), 24) << name << ", output " << i;
  }
}

}  // namespace
}  // namespace epiphyte::test
