// A context of more than 3 GiB is generated, and loaded again within 1.2 times the memory of its weights. It is refused
// when it is to be embedded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "tests/faults/program.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kLayers = 49;
constexpr int64_t kSize = 4096;
constexpr uint64_t kLayerBytes = uint64_t{kSize} * kSize * sizeof(float);
constexpr uint64_t kWeightBytes = kLayers * kLayerBytes;
static_assert(kWeightBytes >= uint64_t{3} << 30);
constexpr std::chrono::seconds kLimit(1500);

// A model that computes y = x[2,3] · first[3,4096] · w0 · w1 · … · last[4096,2]. The large weights are in large.data.
std::string LargeModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_name("large");
  const auto add_value = [](onnx::ValueInfoProto* value, const char* name, std::initializer_list<int64_t> dims) {
    value->set_name(name);
    auto* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
  };
  add_value(graph->add_input(), "x", {2, 3});
  add_value(graph->add_output(), "y", {2, 2});
  const auto add_weight = [&](const std::string& name, int64_t rows, int64_t columns) {
    onnx::TensorProto* weight = graph->add_initializer();
    weight->set_name(name);
    weight->set_data_type(onnx::TensorProto::FLOAT);
    weight->add_dims(rows);
    weight->add_dims(columns);
    return weight;
  };
  const auto add_product = [&](const std::string& left, const std::string& right, const std::string& result) {
    onnx::NodeProto* node = graph->add_node();
    node->set_op_type("MatMul");
    node->set_name(result);
    node->add_input(left);
    node->add_input(right);
    node->add_output(result);
  };
  const std::vector<float> narrow(static_cast<size_t>(kSize) * 3, 1.0f / 16);
  const auto set_data = [&](onnx::TensorProto* weight, int64_t count) {
    weight->set_raw_data(narrow.data(), static_cast<size_t>(count) * sizeof(float));
  };
  set_data(add_weight("first", 3, kSize), 3 * kSize);
  add_product("x", "first", "v0");
  for (int i = 0; i < kLayers; ++i) {
    const std::string name = "w" + std::to_string(i);
    onnx::TensorProto* weight = add_weight(name, kSize, kSize);
    weight->set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair<const char*, std::string>{"location", "large.data"},
                                     {"offset", std::to_string(static_cast<uint64_t>(i) * kLayerBytes)},
                                     {"length", std::to_string(kLayerBytes)}}) {
      onnx::StringStringEntryProto* entry = weight->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    add_product("v" + std::to_string(i), name, "v" + std::to_string(i + 1));
  }
  set_data(add_weight("last", kSize, 2), 2 * kSize);
  add_product("v" + std::to_string(kLayers), "last", "y");
  return model.SerializeAsString();
}

// The weights differ in each layer and row. Their size keeps the products near 1.
void WriteWeights(const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  constexpr float kWidth = 0.0541266f;  // width of a uniform distribution with deviation 1/sqrt(4096)
  std::vector<float> row(kSize);
  uint32_t state = 1;
  for (int64_t i = 0; i < kLayers * kSize; ++i) {
    for (float& weight : row) {
      state = state * 1664525u + 1013904223u;
      weight = (static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5f) * kWidth;
    }
    file.write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(kSize * sizeof(float)));
  }
  if (!file.flush()) throw std::runtime_error("no room for " + path.string());
}

// First line and peak memory in bytes of `faults_worker peak …`.
struct Peak {
  std::string result;
  uint64_t bytes = 0;
  double seconds = 0;
};

Peak Measure(std::vector<std::string> words) {
  words.insert(words.begin(), "peak");
  const auto begin = std::chrono::steady_clock::now();
  ProgramEnd end = RunWorker(words, {}, kLimit);
  EXPECT_TRUE(end.in_time && end.code == 0) << end.code << " " << end.signal << " " << end.err;
  std::istringstream lines(end.out);
  Peak peak;
  std::getline(lines, peak.result);
  uint64_t kibibytes = 0;
  lines >> kibibytes;
  peak.bytes = kibibytes * 1024;
  peak.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return peak;
}

double Gib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

TEST(LargeContext, IsGeneratedAndReloadedWithinItsMemory) {
  TempDir dir;
  const uint64_t needed = 3 * kWeightBytes;
  ASSERT_GE(fs::space(dir.path()).available, needed)
      << "this test needs " << Gib(needed) << " GiB below " << dir.path() << "; set TMPDIR to a larger disk";
  const fs::path model = dir.Write("large.onnx", LargeModel());
  WriteWeights(dir / "large.data");

  const Peak plain = Measure({"run", model.string()});
  const Numbers expected = NumbersFrom(plain.result);
  ASSERT_EQ(expected.size(), 1u) << plain.result;

  const Peak generated = Measure({"compile", model.string()});
  ASSERT_EQ(generated.result, "OK");
  fs::remove(dir / "large.data");  // the context must not need the source's data
  const uint64_t context_bytes = fs::file_size(dir / "large_cpu.bin");
  EXPECT_GE(context_bytes, uint64_t{3} << 30);
  // The source's weights leave memory while the compiled ones are made from them, so both are never in memory at once.
  for (const Peak* peak : {&plain, &generated})
    EXPECT_LE(static_cast<double>(peak->bytes), 1.2 * static_cast<double>(kWeightBytes));

  const std::string context = (dir / "large_ctx.onnx").string();
  const Peak full = Measure({"run", context});
  const Peak header = Measure({"run", context, "ep.context_verify=header"});
  for (const Peak* peak : {&full, &header}) {
    EXPECT_TRUE(AreClose(NumbersFrom(peak->result), expected)) << peak->result << " expected " << plain.result;
    EXPECT_LE(static_cast<double>(peak->bytes), 1.2 * static_cast<double>(kWeightBytes));
  }
  std::printf("weights %.2f GiB, context %.2f GiB\n", Gib(kWeightBytes), Gib(context_bytes));
  std::printf("plain model: peak %.2f GiB (%.2fx), %.1f s\n", Gib(plain.bytes), Gib(plain.bytes) / Gib(kWeightBytes),
              plain.seconds);
  std::printf("generation:  peak %.2f GiB (%.2fx), %.1f s\n", Gib(generated.bytes),
              Gib(generated.bytes) / Gib(kWeightBytes), generated.seconds);
  std::printf("reload:      peak %.2f GiB (%.2fx), %.1f s; from header: peak %.2f GiB, %.1f s\n", Gib(full.bytes),
              Gib(full.bytes) / Gib(kWeightBytes), full.seconds, Gib(header.bytes), header.seconds);
}

TEST(LargeContext, IsNotEmbedded) {
  TempDir dir;
  const uint64_t needed = 2 * kWeightBytes;
  ASSERT_GE(fs::space(dir.path()).available, needed) << "this test needs room below " << dir.path();
  const fs::path model = dir.Write("large.onnx", LargeModel());
  WriteWeights(dir / "large.data");
  const Peak refused = Measure({"compile", model.string(), "ep.context_embed_mode=1"});
  EXPECT_THAT(refused.result,
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("2 GiB"), HasSubstr("ep.context_embed_mode=0")));
  EXPECT_THAT(FileNames(dir.path()), testing::ElementsAre("large.data", "large.onnx"));
  std::printf("refusal to embed: peak %.2f GiB, %.1f s: %s\n", Gib(refused.bytes), refused.seconds,
              refused.result.c_str());
}

}  // namespace
}  // namespace epiphyte::test
