#include "tests/models/quantizer/quantized_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/framework/temp_dir.h"
#include "tests/models/models.h"
#include "tests/models/quantizer/fit_classifier.h"
#include "tests/models/quantizer/fit_normalization.h"
#include "tests/models/quantizer/model_measure.h"
#include "tests/models/quantizer/quantizer_fixture.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

TEST(QuantizedMobileNetV2, IsOfUnitsAlone) {
  const TempDir dir;
  const fs::path path = WriteQuantizedModel("mobilenetv2_qdq", SharedModels(EPIPHYTE_BINARY_DIR, dir.path()));
  onnx::ModelProto model = ReadModelFile(path).model;
  EXPECT_NO_THROW(onnx::checker::check_model(model));
  EXPECT_NO_THROW(onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), {true, 1, true}));
  EXPECT_THAT(FloatOperatorsOf(model), IsEmpty());
  EXPECT_EQ(UnitsOf(model).size(), 65u);  // 52 Conv, 10 Add, GlobalAveragePool, Flatten, Gemm
  EXPECT_EQ(CountNodes(model, "Clip"), 0);
}

TEST(QuantizedMobileNetV2, AgreesWithTheFloatModel) {
  const TempDir dir;
  const Agreement agreement = Compare("mobilenetv2", SharedModels(EPIPHYTE_BINARY_DIR, dir.path()), 64);
  std::printf("mobilenetv2: %s\n", AgreementText(agreement).c_str());
  EXPECT_GT(agreement.signal_to_noise, 17);
  EXPECT_GT(agreement.cosine, 0.99);
  EXPECT_GE(agreement.same_top, 60);
  EXPECT_GE(agreement.tops, 55);
}

TEST(WriteQuantizedModel, WritesTheSameBytesEachTimeAndLeavesNothingElse) {
  const TempDir first, second;
  const std::string bytes = ReadFile(WriteQuantizedModel("mobilenetv2_qdq", first.path()));
  EXPECT_EQ(ReadFile(WriteQuantizedModel("mobilenetv2_qdq", second.path())), bytes);
  EXPECT_EQ(std::distance(fs::directory_iterator(first.path()), fs::directory_iterator()), 3)
      << "the network, the fitted one and the quantised one";
}

TEST(WriteQuantizedModel, WritesAgainOnlyForOtherOptions) {
  const TempDir dir;
  const fs::path path = WriteQuantizedModel("mobilenetv2_qdq", dir.path());
  const fs::file_time_type written = fs::last_write_time(path) - std::chrono::hours(1);
  fs::last_write_time(path, written);
  WriteQuantizedModel("mobilenetv2_qdq", dir.path());
  EXPECT_EQ(fs::last_write_time(path), written);
  QuantizedModelOptions options;
  options.quantize.activations = {onnx::TensorProto::INT8, true};
  options.samples = 1;
  WriteQuantizedModel("mobilenetv2_qdq", dir.path(), options);
  EXPECT_NE(fs::last_write_time(path), written);
  const onnx::ModelProto model = ReadModelFile(path).model;
  EXPECT_EQ(LinearOf(model, *FirstNode(model, "QuantizeLinear")).type, onnx::TensorProto::INT8);
}

TEST(WriteQuantizedModel, TakesOnlyNamesOfQuantisedModels) {
  const TempDir dir;
  EXPECT_THROW(WriteQuantizedModel("mobilenetv2", dir.path()), std::invalid_argument);
  EXPECT_THROW(WriteQuantizedModel("nothing_qdq", dir.path()), std::invalid_argument);
}

// The network has one normalization, with a mean and variance that are far from those of its input.
TEST(FitNormalization, GivesEachNormalisationWhatComesToIt) {
  GraphBuilder graph("tiny_network");
  const std::string x = graph.Input("image", onnx::TensorProto::FLOAT, {1, 3, 16, 16});
  const std::string y = BatchNorm(graph, Conv(graph, x, "conv", {.in = 3, .out = 8, .kernel = 5}, true), "bn", 8);
  graph.Output(graph.Node("Clip", {y, graph.FloatConstant(0), graph.FloatConstant(6)}), "features",
               onnx::TensorProto::FLOAT, {1, 8, 12, 12});
  const TempDir dir;
  ModelFile file{FinishModel(std::move(graph), 17), dir.path()};
  std::vector<Sample> images;
  for (int k = 0; k < 4; ++k) images.push_back(RandomSample(file.model, k));
  FitNormalization(&file, images);
  double sum = 0, squares = 0, count = 0;
  ObserveRuns(file, {y}, images, [&](const std::string&, std::span<const float> elements) {
    for (const float element : elements) sum += element, squares += double{element} * element, ++count;
  });
  const double mean = sum / count;
  EXPECT_NEAR(mean, 1, 0.01) << "one deviation above the Clip's lower bound";
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean), 1, 0.15) << "scales are random around 1";
}

TEST(FitClassifier, TellsThePrototypesApart) {
  GraphBuilder graph("tiny_network");
  const std::string x = graph.Input("image", onnx::TensorProto::FLOAT, {1, 3, 16, 16});
  const std::string features = graph.Node("Relu", {graph.Node("Conv", {x, graph.Random("conv", {32, 3, 5, 5}, 0.2f)})});
  graph.Output(Classifier(graph, graph.Node("GlobalAveragePool", {features}), "fc", 32, 12), "logits",
               onnx::TensorProto::FLOAT, {1, 12});
  const TempDir dir;
  ModelFile file{FinishModel(std::move(graph), 17), dir.path()};
  std::vector<Sample> prototypes;
  for (int k = 0; k < 8; ++k) prototypes.push_back(RandomSample(file.model, k));
  FitClassifier(&file, prototypes, 8);
  for (size_t k = 0; k < prototypes.size(); ++k) {
    const std::vector<float> logits = RunModel(file.model, prototypes[k]).at("logits");
    EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), static_cast<std::ptrdiff_t>(k));
  }
  prototypes.resize(13, prototypes[0]);
  EXPECT_THROW(FitClassifier(&file, prototypes, 8), std::invalid_argument);
  EXPECT_THROW(FitClassifier(&file, prototypes, 13), std::invalid_argument);
}

}  // namespace
}  // namespace epiphyte::test
