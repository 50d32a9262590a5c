#include "tests/npu/ep/models/npu_models.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "tests/models/model_store.h"
#include "tests/models/models.h"
#include "tests/models/quantizer/quantized_models.h"
#include "tests/models/quantizer/quantizer_fixture.h"
#include "tests/models/rewrite/model_file.h"
#include "tests/models/sample_inputs.h"

namespace epiphyte::test {
namespace {

size_t Best(const Value& logits) {
  const auto floats = logits.Data<float>();
  return static_cast<size_t>(std::max_element(floats.begin(), floats.end()) - floats.begin());
}

// Returns the distance of the largest logit from the second largest.
float Lead(const Value& logits) {
  const auto floats = logits.Data<float>();
  std::vector<float> sorted(floats.begin(), floats.end());
  std::nth_element(sorted.begin(), sorted.begin() + 1, sorted.end(), std::greater<>());
  return *std::max_element(sorted.begin(), sorted.end()) - sorted[1];
}

// Returns the quantum (scale) of the model's first output.
float QuantumOf(const std::filesystem::path& path) {
  const onnx::ModelProto model = ReadModelFile(path).model;
  return LinearOf(model, *ProducerOf(model, model.graph().output(0).name())).scale;
}

std::filesystem::path FolderOfModels() {
  static const TempDir own;
  return SharedModels(EPIPHYTE_BINARY_DIR, own.path());
}

}  // namespace

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

std::vector<Value> RunSample(const Session& session, const std::string& model, uint64_t index) {
  std::vector<NamedValue> inputs;
  for (const onnx::TensorProto& tensor : SampleInputs(model, index))
    inputs.emplace_back(tensor.name(), ToValue(tensor));
  return session.Run(inputs);
}

bool SameBits(const Value& a, const Value& b) {
  const auto x = a.Data<float>(), y = b.Data<float>();
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

double SignalToNoise(const Value& expected, const Value& found) {
  EXPECT_EQ(expected.shape(), found.shape());
  if (expected.shape() != found.shape()) return 0;
  return SignalToNoise(expected.Data<float>(), found.Data<float>());
}

double Placed::Share() const {
  double all = 0;
  for (const auto& [provider, count] : nodes) all += count;
  return nodes.contains("npu") ? nodes.at("npu") / all : 0;
}

Placed PlacedOf(const Session& session) {
  Placed placed;
  for (const NodePlacement& node : session.placement().nodes()) {
    if (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear") continue;
    ++placed.nodes[node.provider];
    if (node.provider == "npu") ++placed.partitions[node.partition];
  }
  return placed;
}

std::filesystem::path NpuModels::Write(const std::string& name) { return WriteQuantizedModel(name, FolderOfModels()); }

Session NpuModels::CompileContext(const std::filesystem::path& model, const std::string& context,
                                  const std::map<std::string, std::string>& more) const {
  SessionOptions options = Providers({"npu", "cpu"});
  options.Set("ep.context_enable", "1");
  options.Set("ep.context_file_path", (folder_ / (context + ".onnx")).string());
  for (const auto& [key, value] : more) options.Set(key, value);
  return Session(BundledEnvironment(), model, options);
}

std::vector<uint64_t> NpuModels::SizesOfBinaries() const {
  std::vector<uint64_t> sizes;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    if (entry.path().string().ends_with("_npu.bin")) sizes.push_back(entry.file_size());
  return sizes;
}

void NpuModels::ExpectTopLikeCpu(const std::string& name, int images) {
  const std::filesystem::path model = Write(name);
  const Session cpu(BundledEnvironment(), model, Providers({"cpu"}));
  const Session npu = CompileContext(model, "npu_ctx");
  const Placed placed = PlacedOf(npu);
  EXPECT_GE(placed.Share(), 0.95);
  EXPECT_EQ(placed.partitions.size(), 1u);
  const Session loaded(BundledEnvironment(), folder_ / "npu_ctx.onnx", Providers({"npu", "cpu"}));
  EXPECT_TRUE(loaded.has_context());
  const float quantum = QuantumOf(model);
  int equal = 0, ties = 0;
  for (int i = 0; i < images; ++i) {
    const Value expected = std::move(RunSample(cpu, name, kFirstSample + i)[0]);
    const Value found = std::move(RunSample(npu, name, kFirstSample + i)[0]);
    const bool is_tie = Lead(expected) <= 1.001f * quantum;
    const bool is_equal = Best(found) == Best(expected);
    equal += is_equal ? 1 : 0;
    ties += is_tie && !is_equal ? 1 : 0;
    EXPECT_TRUE(is_equal || is_tie) << "image " << i << ": class " << Best(found) << " here, on the CPU "
                                    << Best(expected) << " by " << Lead(expected) / quantum << " quanta";
    if (i != 0) continue;
    EXPECT_TRUE(SameBits(RunSample(loaded, name, kFirstSample)[0], found));
  }
  std::printf("%s: top-1 equal in %d of %d, %d differ where the CPU's two best are a quantum apart or less\n",
              name.c_str(), equal, images, ties);
}

void NpuModels::ExpectNearCpu(const std::string& name, const Bounds& bounds) {
  const std::filesystem::path model = Write(name);
  const std::vector<Value> expected =
      RunSample(Session(BundledEnvironment(), model, Providers({"cpu"})), name, kFirstSample);
  const Session npu(BundledEnvironment(), model, Providers({"npu", "cpu"}));
  const Placed placed = PlacedOf(npu);
  const std::vector<Value> found = RunSample(npu, name, kFirstSample);
  double least = 1000;
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) least = std::min(least, SignalToNoise(expected[i], found[i]));
  std::printf("%s: %.1f %% of the nodes on the NPU in %zu partitions, outputs within %.1f dB of the CPU's\n",
              name.c_str(), 100 * placed.Share(), placed.partitions.size(), least);
  EXPECT_GE(placed.Share(), bounds.share);
  EXPECT_LE(placed.partitions.size(), bounds.partitions);
  EXPECT_GE(least, bounds.signal_to_noise);

  CompileContext(model, "near_ctx");
  const Session loaded(BundledEnvironment(), folder_ / "near_ctx.onnx", Providers({"npu", "cpu"}));
  EXPECT_TRUE(loaded.has_context());
  const std::vector<Value> again = RunSample(loaded, name, kFirstSample);
  ASSERT_EQ(again.size(), found.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(SameBits(again[i], found[i])) << "output " << i;
}

void NpuModels::ExpectSharedDequantizeChangesNothing(const std::string& name) {
  QuantizedModelOptions options;
  std::vector<Sample> samples;
  for (int i = 1; i <= options.samples; ++i) samples.push_back(SampleInputs(name, static_cast<uint64_t>(i)));
  // Both models are written here: ranges depend on the CPU plugin, and stored models may have been made with an earlier
  // one.
  const auto write = [&](bool dedicated) {
    options.quantize.dedicated_dequantize = dedicated;
    const std::filesystem::path path = folder_ / (name + (dedicated ? "_dedicated.onnx" : "_shared.onnx"));
    SaveModel(QuantizeModel(ReadModelFile(WriteOriginalOf(name, FolderOfModels())), samples, options.quantize), path);
    return path;
  };

  const Session dedicated(BundledEnvironment(), write(true), Providers({"npu", "cpu"}));
  const Session shared(BundledEnvironment(), write(false), Providers({"npu", "cpu"}));
  const Placed expected = PlacedOf(dedicated), found = PlacedOf(shared);
  EXPECT_EQ(found.nodes, expected.nodes);
  EXPECT_EQ(found.partitions.size(), 1u);
  EXPECT_GE(found.Share(), 0.95);
  EXPECT_TRUE(SameBits(RunSample(shared, name, kFirstSample)[0], RunSample(dedicated, name, kFirstSample)[0]));
}

}  // namespace epiphyte::test
