// Reads, writes and reads again every model of ONNX's backend test data, and compares with libonnx. The tests count the
// models, so that an empty folder can't pass.
#include <filesystem>

#include "core/onnx/infer/inference.h"
#include "core/onnx/write/model_writer.h"
#include "tests/framework/temp_dir.h"
#include "tests/onnx/graph_equal.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::Model;

constexpr const char* kTestData = "/usr/include/onnx/backend/test/data/";
constexpr size_t kAtLeast = 1000;

std::vector<std::filesystem::path> ModelFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kTestData)) {
    if (entry.path().filename() == "model.onnx") files.push_back(entry.path());
  }
  return files;
}

std::string Write(const Model& model) {
  std::string bytes;
  core::WriteModel(model, {},
                   [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
  return bytes;
}

bool PassesChecker(const std::string& bytes) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(bytes)) return false;
  try {
    onnx::checker::check_model(proto);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

TEST(BackendModels, RoundTrip) {
  size_t equal = 0, checked = 0;
  for (const auto& file : ModelFiles()) {
    SCOPED_TRACE(file.string());
    const Model model = core::ReadModelFile(file, {});
    const std::string written = Write(model);
    const Model again = ProtoModel::ReadBytes(written);
    const std::string difference = Difference(*model.graph, *again.graph);
    EXPECT_EQ(difference, "");
    equal += difference.empty() ? 1 : 0;
    if (!PassesChecker(ReadFile(file))) continue;
    EXPECT_TRUE(PassesChecker(written));
    ++checked;
  }
  EXPECT_GE(equal, kAtLeast);
  EXPECT_GE(checked, kAtLeast);
  RecordProperty("models", static_cast<int>(equal));
}

// If libonnx infers a type or shape, the core infers at least as much.
TEST(BackendModels, TypesAreAtLeastThoseOfLibonnx) {
  size_t compared = 0;
  for (const auto& file : ModelFiles()) {
    SCOPED_TRACE(file.string());
    onnx::ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(ReadFile(file)));
    try {
      onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(),
                                         onnx::ShapeInferenceOptions(false, 0, true));
    } catch (const std::exception&) {
      continue;
    }
    const Model model = core::ReadModelFile(file, {});
    const auto compare = [&](const onnx::ValueInfoProto& expected) {
      const core::ValueDef* value = model.graph->FindValue(expected.name());
      if (value == nullptr || !expected.type().has_tensor_type()) return;
      const onnx::TypeProto_Tensor& tensor = expected.type().tensor_type();
      ASSERT_TRUE(value->type()) << expected.name();
      EXPECT_EQ(static_cast<int32_t>(value->type()->element_type()), tensor.elem_type()) << expected.name();
      if (!tensor.has_shape()) return;
      ASSERT_TRUE(value->type()->shape()) << expected.name();
      const core::Shape& shape = *value->type()->shape();
      ASSERT_EQ(static_cast<int>(shape.size()), tensor.shape().dim_size()) << expected.name();
      for (int i = 0; i < tensor.shape().dim_size(); ++i) {
        if (!tensor.shape().dim(i).has_dim_value()) continue;
        EXPECT_EQ(shape[static_cast<size_t>(i)].value, tensor.shape().dim(i).dim_value()) << expected.name();
      }
      ++compared;
    };
    for (const onnx::ValueInfoProto& value : proto.graph().value_info()) compare(value);
    for (const onnx::ValueInfoProto& value : proto.graph().output()) compare(value);
  }
  EXPECT_GE(compared, 2 * kAtLeast);
}

TEST(BackendModels, InlinedFunctionsKeepTheTypesAndCanBeSaved) {
  size_t inlined = 0;
  for (const auto& file : ModelFiles()) {
    SCOPED_TRACE(file.string());
    const Model before = core::ReadModelFile(file, {});
    Model model = core::ReadModelFile(file, {});
    if (!core::InlineFunctions(model, [](const core::Node&) { return false; })) continue;
    ++inlined;
    ASSERT_EQ(model.graph->outputs().size(), before.graph->outputs().size());
    for (size_t i = 0; i < model.graph->outputs().size(); ++i) {
      EXPECT_EQ(Difference(before.graph->outputs()[i]->type(), model.graph->outputs()[i]->type()), "");
    }
    const std::string written = Write(model);
    EXPECT_TRUE(PassesChecker(written));
    EXPECT_EQ(Difference(*model.graph, *ProtoModel::ReadBytes(written).graph), "");
  }
  EXPECT_GE(inlined, 100u);
}

}  // namespace
}  // namespace epiphyte::test
