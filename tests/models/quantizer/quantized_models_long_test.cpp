// The large quantized models: their operators in QDQ units, and their distance from the original models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/framework/temp_dir.h"
#include "tests/models/models.h"
#include "tests/models/quantizer/model_measure.h"
#include "tests/models/quantizer/quantized_models.h"
#include "tests/models/quantizer/quantizer_fixture.h"
#include "tests/models/rewrite/graph_index.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

fs::path Folder() {
  static const TempDir own;
  return SharedModels(EPIPHYTE_BINARY_DIR, own.path());
}

// Reads a model with all weights inside, so that scales can be read.
onnx::ModelProto Read(const std::string& name) {
  const fs::path path = WriteQuantizedModel(name, Folder());
  EXPECT_NO_THROW(onnx::checker::check_model(path.string()));
  ModelFile file = ReadModelFile(path);
  for (onnx::TensorProto& tensor : *file.model.mutable_graph()->mutable_initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    tensor.set_raw_data(file.Bytes(tensor));
    tensor.clear_data_location();
  }
  return std::move(file.model);
}

std::map<std::string, int> Counted(const std::vector<std::string>& names) {
  std::map<std::string, int> counts;
  for (const std::string& name : names) ++counts[name];
  return counts;
}

int UnitCount(const onnx::ModelProto& model) {
  return static_cast<int>(UnitsOf(model).size() - FloatOperatorsOf(model).size());
}

void Print(const std::string& name, const Agreement& agreement) {
  std::printf("%s: %s\n", name.c_str(), AgreementText(agreement).c_str());
}

TEST(QuantizedResNet50, IsOfUnitsAlone) {
  const onnx::ModelProto model = Read("resnet50_qdq");
  EXPECT_THAT(FloatOperatorsOf(model), IsEmpty());
  EXPECT_EQ(UnitCount(model), 73);  // 53 Conv, 16 Add, MaxPool, GlobalAveragePool, Flatten, Gemm
}

TEST(QuantizedResNet50, AgreesWithTheFloatModel) {
  const Agreement agreement = Compare("resnet50", Folder(), 64);
  Print("resnet50", agreement);
  EXPECT_GT(agreement.signal_to_noise, 18);
  EXPECT_GT(agreement.cosine, 0.99);
  EXPECT_EQ(agreement.same_top, 64);
  EXPECT_EQ(agreement.tops, 64);
}

TEST(QuantizedBertBase, HasOnlyEmbeddingsAndMasksInFloat) {
  const onnx::ModelProto model = Read("bert_base_qdq");
  EXPECT_THAT(
      Counted(FloatOperatorsOf(model)),
      UnorderedElementsAre(std::pair("float Gather", 3), std::pair("float Add", 2), std::pair("float Unsqueeze", 2),
                           std::pair("float Cast", 1), std::pair("float Sub", 1), std::pair("float Mul", 1)));
}

TEST(QuantizedBertBase, AgreesWithTheFloatModel) {
  const Agreement agreement = Compare("bert_base", Folder(), 4);
  Print("bert_base", agreement);
  EXPECT_GT(agreement.signal_to_noise, 20);
  EXPECT_GE(agreement.same_top, agreement.rows * 85 / 100);
}

// Products, Softmax and the gates are in units. Rotations, norms and the residual stream between them stay float.
TEST(QuantizedLlama, HasItsProductsInUnits) {
  for (const char* name : {"llama_prefill_qdq", "llama_decode_qdq"}) {
    const onnx::ModelProto model = Read(name);
    std::map<std::string, int> units = Counted(UnitsOf(model));
    EXPECT_EQ(units["MatMul"], 8 * 9 + 1) << name;
    EXPECT_EQ(units["float MatMul"], 1) << name;  // rotary positions
    EXPECT_EQ(units["Softmax"], 8) << name;
    EXPECT_EQ(units["Sigmoid"], 8) << name;
  }
}

TEST(QuantizedLlama, AgreesWithTheFloatModels) {
  for (const char* name : {"llama_prefill", "llama_decode"}) {
    const Agreement agreement = Compare(name, Folder(), 4);
    Print(name, agreement);
    EXPECT_GT(agreement.signal_to_noise, 18) << name;
    EXPECT_GT(agreement.cosine, 0.99) << name;
  }
}

TEST(QuantizedLlama, SharesEachWeightOfThePair) {
  const auto places = [](const std::string& name) {
    const ModelFile file = ReadModelFile(WriteQuantizedModel(name, Folder()));
    std::map<std::string, std::string> found;
    for (const onnx::TensorProto& tensor : file.model.graph().initializer()) {
      for (const auto& entry : tensor.external_data()) found[tensor.name()] += entry.value() + " ";
    }
    return found;
  };
  const auto prefill = places("llama_prefill_qdq");
  EXPECT_EQ(prefill, places("llama_decode_qdq"));
  EXPECT_TRUE(prefill.contains("lm_head_quantized"));
  EXPECT_TRUE(prefill.contains("model.embed_tokens"));
  // Numbers and scales of 7 products in each of 8 layers and of the head, the embedding table, and 17 norms.
  EXPECT_GE(prefill.size(), 57u * 2 + 1 + 17);
}

TEST(QuantizedBertBase, HasNoLooseEnds) {
  const onnx::ModelProto model = Read("bert_base_qdq");
  const GraphIndex index(model.graph());
  for (const onnx::NodeProto& node : model.graph().node()) {
    for (const std::string& output : node.output()) {
      EXPECT_TRUE(index.IsOutput(output) || !index.Readers(output).empty()) << output;
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
