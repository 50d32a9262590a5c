// Entries appended to a written model: protobuf reads them as metadata, and the core finds them at the end of the file.
#include "core/onnx/write/metadata_entry.h"

#include "tests/framework/onnx_text.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::LastMetadataEntry;
using core::MetadataEntry;

std::string Plain() {
  return OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) })");
}

TEST(MetadataEntry, IsPartOfTheModelForProtobuf) {
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Plain() + MetadataEntry("author", "somebody")));
  ASSERT_EQ(proto.metadata_props_size(), 1);
  EXPECT_EQ(proto.metadata_props(0).key(), "author");
  EXPECT_EQ(proto.metadata_props(0).value(), "somebody");
}

TEST(LastMetadataEntry, FindsKeyAndSizeAtTheVeryEndOnly) {
  const std::string model = Plain() + MetadataEntry("author", "somebody");
  const auto found = LastMetadataEntry(model, "author", 8);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->offset, Plain().size());
  EXPECT_EQ(found->value, "somebody");
  EXPECT_FALSE(LastMetadataEntry(model, "author", 7).has_value());
  EXPECT_FALSE(LastMetadataEntry(model, "editor", 8).has_value());
  EXPECT_FALSE(LastMetadataEntry(model + MetadataEntry("k", "v"), "author", 8).has_value());
  EXPECT_FALSE(LastMetadataEntry(Plain(), "author", 8).has_value());
  EXPECT_FALSE(LastMetadataEntry("", "author", 8).has_value());
}

TEST(LastMetadataEntry, KnowsLengthsOfMoreThanOneByte) {
  const std::string value(300, 'v');
  const std::string model = Plain() + MetadataEntry(std::string(200, 'k'), value);
  const auto found = LastMetadataEntry(model, std::string(200, 'k'), value.size());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->value, value);
}

}  // namespace
}  // namespace epiphyte::test
