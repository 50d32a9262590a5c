// Quantised networks on the simulated NPU: nearly all of each in one partition, results as the CPU's, contexts that
// give the same bits, and several providers in one context model.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "epiphyte/environment.hpp"
#include "epiphyte/session.hpp"
#include "tests/framework/temp_dir.h"
#include "tests/models/quantizer/calibrate.h"
#include "tests/models/quantizer/quantized_models.h"
#include "tests/models/quantizer/quantizer_fixture.h"
#include "tests/models/sample_inputs.h"

namespace epiphyte::test {
namespace {

using testing::HasSubstr;

constexpr uint64_t kFirstImage = 100;  // those before it calibrated

SessionOptions Providers(const std::vector<std::string>& names) {
  SessionOptions options;
  for (const std::string& name : names) {
    if (name == "npu") {
      options.AddProvider(name, {{"effort", "fast"}});
    } else {
      options.AddProvider(name);
    }
  }
  return options;
}

std::vector<Value> RunImage(const Session& session, const std::string& model, uint64_t index) {
  std::vector<NamedValue> inputs;
  for (const onnx::TensorProto& tensor : SampleInputs(model, index))
    inputs.emplace_back(tensor.name(), ToValue(tensor));
  return session.Run(inputs);
}

size_t Best(const Value& value) {
  const auto floats = value.Data<float>();
  return static_cast<size_t>(std::max_element(floats.begin(), floats.end()) - floats.begin());
}

bool SameBits(const Value& a, const Value& b) {
  const auto x = a.Data<float>(), y = b.Data<float>();
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

// Nodes that compute, by provider, and how many partitions of the NPU there are.
struct Placed {
  std::map<std::string, int> nodes;
  std::map<std::string, int> partitions;  // of the NPU
  double Share() const {
    double all = 0;
    for (const auto& [provider, count] : nodes) all += count;
    return nodes.contains("npu") ? nodes.at("npu") / all : 0;
  }
};
Placed PlacedOf(const Session& session) {
  Placed placed;
  for (const NodePlacement& node : session.placement().nodes()) {
    if (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear") continue;
    ++placed.nodes[node.provider];
    if (node.provider == "npu") ++placed.partitions[node.partition];
  }
  return placed;
}

class NpuModels : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& name) { return WriteQuantizedModel(name, folder_.path()); }
  const TempDir& folder() const { return folder_; }

  // Of those that the NPU's plugin wrote.
  std::vector<uint64_t> SizesOfBinaries() const {
    std::vector<uint64_t> sizes;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      if (entry.path().string().ends_with("_npu.bin")) sizes.push_back(entry.file_size());
    return sizes;
  }

  // Nearly all of it in one partition; the best class of each image is the CPU's; and so from a context, bit for bit.
  void ExpectLikeCpu(const std::string& name, int images) {
    const std::filesystem::path model = Write(name);
    const Session cpu(BundledEnvironment(), model, Providers({"cpu"}));
    SessionOptions compiling = Providers({"npu", "cpu"});
    compiling.Set("ep.context_enable", "1");
    compiling.Set("ep.context_file_path", (folder_ / "npu_ctx.onnx").string());
    const Session npu(BundledEnvironment(), model, compiling);
    const Placed placed = PlacedOf(npu);
    EXPECT_GE(placed.Share(), 0.95);
    EXPECT_EQ(placed.partitions.size(), 1u);
    const Session loaded(BundledEnvironment(), folder_ / "npu_ctx.onnx", Providers({"npu", "cpu"}));
    EXPECT_TRUE(loaded.has_context());
    for (int i = 0; i < images; ++i) {
      const std::vector<Value> expected = RunImage(cpu, name, kFirstImage + i),
                               found = RunImage(npu, name, kFirstImage + i);
      EXPECT_EQ(Best(found[0]), Best(expected[0])) << "image " << i;
      if (i != 0) continue;
      EXPECT_TRUE(SameBits(RunImage(loaded, name, kFirstImage)[0], found[0]));
    }
  }

 private:
  TempDir folder_;
};

TEST_F(NpuModels, MobileNetV2) { ExpectLikeCpu("mobilenetv2_qdq", 8); }

TEST_F(NpuModels, ResNet50) { ExpectLikeCpu("resnet50_qdq", 4); }

// What remains of a transformer runs on the CPU.
TEST_F(NpuModels, LlamaSharesItsWeightsInOneBinary) {
  Write("llama_prefill_qdq");
  const std::vector<std::string> names = {"llama_prefill_qdq", "llama_decode_qdq"};
  {
    SessionOptions options = Providers({"npu", "cpu"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_file_path", (folder() / "alone.onnx").string());
    const Session session(BundledEnvironment(), folder() / "llama_prefill_qdq.onnx", options);
  }
  const std::vector<uint64_t> alone = SizesOfBinaries();
  for (const char* file : {"alone.onnx", "alone_npu.bin", "alone_cpu.bin"}) std::filesystem::remove(folder() / file);
  for (const std::string& name : names) {
    SessionOptions options = Providers({"npu", "cpu"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.share_ep_contexts", "1");
    options.Set("ep.context_node_name_prefix", name);
    options.Set("ep.context_file_path", (folder() / (name + "_ctx.onnx")).string());
    if (name == names.back()) options.Set("ep.stop_share_ep_contexts", "1");
    const Session session(BundledEnvironment(), folder() / (name + ".onnx"), options);
  }
  const std::vector<uint64_t> shared = SizesOfBinaries();
  ASSERT_EQ(alone.size(), 1u);
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_LE(static_cast<double>(shared[0]), 1.05 * static_cast<double>(alone[0]));
  for (const std::string& name : names) {
    SessionOptions options = Providers({"npu", "cpu"});
    options.Set("ep.share_ep_contexts", "1");
    const Session session(BundledEnvironment(), folder() / (name + "_ctx.onnx"), options);
    EXPECT_TRUE(session.has_context());
    EXPECT_FALSE(RunImage(session, name, kFirstImage).empty());
  }
}

}  // namespace
}  // namespace epiphyte::test
