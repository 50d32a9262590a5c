// The table of libonnx's operators agrees with libonnx's own registry.
#include "core/onnx/schema/libonnx_schemas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/onnx/proto_model.h"

namespace epiphyte::core {
namespace {

using ::testing::Contains;
using ::testing::Not;

std::string Signature(const onnx::OpSchema& schema) {
  std::string text;
  const auto add = [&text](const auto& parameters) {
    for (const onnx::OpSchema::FormalParameter& parameter : parameters) {
      text += parameter.GetName() + ":" + parameter.GetTypeStr() + std::to_string(parameter.GetOption()) + "(";
      std::set<std::string> types;
      for (const std::string* type : parameter.GetTypes()) types.insert(*type);
      for (const std::string& type : types) text += type + " ";
      text += ") ";
    }
  };
  add(schema.inputs());
  text += "-> ";
  add(schema.outputs());
  for (const auto& [name, attribute] : schema.attributes()) text += name + std::to_string(attribute.type) + " ";
  if (schema.HasFunction()) text += schema.GetFunction()->SerializeAsString();
  return text;
}

TEST(LibonnxSchemas, AreThoseOfItsRegistry) {
  size_t compared = 0;
  for (const onnx::OpSchema& expected : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    const std::string label =
        expected.domain() + "." + expected.Name() + " " + std::to_string(expected.since_version());
    const onnx::OpSchema* const found = FindLibonnxSchema(expected.domain(), expected.Name(), expected.since_version());
    ASSERT_NE(found, nullptr) << label;
    EXPECT_EQ(found->Name(), expected.Name());
    EXPECT_EQ(found->domain(), expected.domain()) << label;
    EXPECT_EQ(found->since_version(), expected.since_version()) << label;
    EXPECT_EQ(found->min_input(), expected.min_input()) << label;
    EXPECT_EQ(found->max_input(), expected.max_input()) << label;
    EXPECT_EQ(found->min_output(), expected.min_output()) << label;
    EXPECT_EQ(found->max_output(), expected.max_output()) << label;
    EXPECT_EQ(found->deprecated(), expected.deprecated()) << label;
    EXPECT_EQ(found->has_type_and_shape_inference_function(), expected.has_type_and_shape_inference_function());
    EXPECT_EQ(Signature(*found), Signature(expected)) << label;
    ++compared;
  }
  EXPECT_GT(compared, 400u);
}

TEST(LibonnxSchemas, OfAnOpsetAreTheNewestUpToIt) {
  for (const char* domain : {"", "ai.onnx.ml", "ai.onnx.preview.training"}) {
    for (const std::string_view name : LibonnxOperators(domain)) {
      for (const int opset : {1, 2, 6, 7, 9, 11, 13, 14, 17, 1000}) {
        const onnx::OpSchema* const expected = onnx::OpSchemaRegistry::Schema(std::string(name), opset, domain);
        EXPECT_EQ(LibonnxSinceVersion(domain, name, opset), expected == nullptr ? 0 : expected->since_version())
            << domain << " " << name << " " << opset;
      }
    }
  }
}

TEST(LibonnxSchemas, AreNotThereForOtherNames) {
  EXPECT_EQ(FindLibonnxSchema("", "Addd", 17), nullptr);
  EXPECT_EQ(FindLibonnxSchema("", "", 17), nullptr);
  EXPECT_EQ(FindLibonnxSchema("", "add", 17), nullptr);
  EXPECT_EQ(FindLibonnxSchema("", "Add", 0), nullptr);
  EXPECT_EQ(FindLibonnxSchema("com.example", "Add", 17), nullptr);
  EXPECT_EQ(FindLibonnxSchema("ai.onnx.ml", "Add", 17), nullptr);
  EXPECT_EQ(LibonnxSinceVersion("zzz", "zzz", 17), 0);
}

TEST(LibonnxSchemas, NamesAreListedOncePerDomain) {
  const std::vector<std::string_view> names = LibonnxOperators("");
  EXPECT_THAT(names, Contains("Add"));
  EXPECT_THAT(names, Not(Contains("Scaler")));
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_THAT(LibonnxOperators("ai.onnx.ml"), Contains("Scaler"));
}

TEST(LibonnxSchemas, AreTheSameForAllThreads) {
  std::vector<const onnx::OpSchema*> found(8);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < found.size(); ++i)
      threads.emplace_back([&found, i] { found[i] = FindLibonnxSchema("", "GridSample", 17); });
  }
  EXPECT_NE(found[0], nullptr);
  EXPECT_THAT(found, ::testing::Each(found[0]));
}

}  // namespace
}  // namespace epiphyte::core
