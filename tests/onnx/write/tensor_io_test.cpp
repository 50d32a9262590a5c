// Values in files: TensorProto, SequenceProto, OptionalProto, MapProto.
#include "core/onnx/write/tensor_io.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "core/onnx/model_reader.h"
#include "tests/framework/temp_dir.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::StatusCode;
using core::Type;
using core::TypePtr;
using core::Value;
using core::ValuePtr;

template <typename T>
ValuePtr Make(DataType type, std::vector<int64_t> dims, const std::vector<T>& elements) {
  ValuePtr value = Value::Tensor(type, dims);
  std::copy(elements.begin(), elements.end(), static_cast<T*>(value->mutable_data()));
  return value;
}

// Expects equal kinds, types, dims and elements.
void ExpectEqual(const Value& a, const Value& b) {
  ASSERT_EQ(a.kind(), b.kind());
  ASSERT_EQ(a.elements().size(), b.elements().size());
  for (size_t i = 0; i < a.elements().size(); ++i) ExpectEqual(*a.elements()[i], *b.elements()[i]);
  if (!a.IsTensor()) return;
  ASSERT_EQ(a.type(), b.type());
  ASSERT_TRUE(std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end()));
  if (a.type() == DataType::kString) {
    for (uint64_t i = 0; i < a.element_count(); ++i) EXPECT_EQ(a.string_at(i), b.string_at(i));
  } else if (a.byte_size() > 0) {
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.byte_size()), 0);
  }
}

void ExpectRoundTrip(const TempDir& dir, const Value& value, const TypePtr& type) {
  core::WriteValueFile(dir / "v.pb", value, *type, "name");
  ExpectEqual(value, *core::ReadValueFile(dir / "v.pb", *type));
}

TEST(TensorIo, RoundTrips) {
  TempDir dir;
  const TypePtr floats = Type::Tensor(DataType::kFloat);
  const TypePtr strings = Type::Tensor(DataType::kString);
  const ValuePtr tensor = Make<float>(DataType::kFloat, {2, 2}, {1, 2, 3, 4});
  const ValuePtr large = Make<float>(DataType::kFloat, {5000}, std::vector<float>(5000, 1.5f));
  const ValuePtr text = Value::Strings(std::vector<int64_t>{2}, {"a", "bc"});
  ExpectRoundTrip(dir, *tensor, floats);
  ExpectRoundTrip(dir, *large, floats);
  ExpectRoundTrip(dir, *text, strings);
  ExpectRoundTrip(dir, *Make<uint8_t>(DataType::kInt4, {3}, {0x21, 0x03}), Type::Tensor(DataType::kInt4));
  ExpectRoundTrip(dir, *Make<float>(DataType::kFloat, {0, 3}, {}), floats);
  ExpectRoundTrip(dir, *Value::Sequence(DataType::kFloat, {tensor, large}), Type::Sequence(floats));
  ExpectRoundTrip(dir, *Value::Sequence(DataType::kFloat, {}), Type::Sequence(floats));
  ExpectRoundTrip(dir, *tensor, Type::Optional(floats));
  ExpectRoundTrip(dir, *Value::EmptyOptional(), Type::Optional(floats));
  ExpectRoundTrip(dir, *Value::Sequence(DataType::kFloat, {tensor}), Type::Optional(Type::Sequence(floats)));
  const ValuePtr by_name = Value::Map(text, Make<float>(DataType::kFloat, {2}, {5, 6}));
  const ValuePtr by_number = Value::Map(Make<int64_t>(DataType::kInt64, {2}, {7, 8}), text);
  ExpectRoundTrip(dir, *by_name, Type::Map(DataType::kString, floats));
  ExpectRoundTrip(dir, *by_number, Type::Map(DataType::kInt64, strings));
  ExpectRoundTrip(dir, *Value::Sequence(DataType::kUndefined, {by_name, by_name}),
                  Type::Sequence(Type::Map(DataType::kString, floats)));
}

TEST(TensorIo, ProtobufReadsWhatIsWritten) {
  TempDir dir;
  const ValuePtr tensor = Make<float>(DataType::kFloat, {2}, {1, 2});
  core::WriteValueFile(dir / "t.pb", *tensor, *Type::Tensor(DataType::kFloat), "t");
  onnx::TensorProto proto;
  ASSERT_TRUE(proto.ParseFromString(ReadFile(dir / "t.pb")));
  EXPECT_EQ(proto.name(), "t");
  EXPECT_EQ(proto.raw_data().size(), 8u);
  const TypePtr type = Type::Sequence(Type::Tensor(DataType::kFloat));
  core::WriteValueFile(dir / "s.pb", *Value::Sequence(DataType::kFloat, {tensor, tensor}), *type, "s");
  onnx::SequenceProto sequence;
  ASSERT_TRUE(sequence.ParseFromString(ReadFile(dir / "s.pb")));
  EXPECT_EQ(sequence.elem_type(), onnx::SequenceProto::TENSOR);
  EXPECT_EQ(sequence.tensor_values_size(), 2);
}

TEST(TensorIo, RefusesFilesThatHoldSomethingElse) {
  TempDir dir;
  const TypePtr floats = Type::Tensor(DataType::kFloat);
  const auto refuse = [&](std::string_view content, const TypePtr& type, std::vector<std::string> parts) {
    const auto path = dir.Write("v.pb", content);
    parts.push_back("v.pb");
    ExpectError([&] { core::ReadValueFile(path, *type); }, StatusCode::kInvalidProtobuf, parts);
  };
  refuse("no protobuf at all", floats, {});
  refuse("", floats, {"element type 0"});
  core::WriteValueFile(dir / "v.pb", *Make<float>(DataType::kFloat, {4}, {1, 2, 3, 4}), *floats, "");
  const std::string whole = ReadFile(dir / "v.pb");
  for (size_t length = 0; length < whole.size(); ++length) refuse(whole.substr(0, length), floats, {});
  core::WriteValueFile(dir / "v.pb", *Value::Sequence(DataType::kFloat, {Make<float>(DataType::kFloat, {1}, {1})}),
                       *Type::Sequence(floats), "");
  refuse(ReadFile(dir / "v.pb"), Type::Sequence(Type::Map(DataType::kInt64, floats)), {"something other"});
  ExpectError([&] { core::ReadValueFile(dir / "none.pb", *floats); }, StatusCode::kNoSuchFile, {"none.pb"});
}

// Large tensors that are constants are views of the mapped file.
TEST(TensorIo, WhatIsReadMayBeWrittenTo) {
  TempDir dir;
  const TypePtr floats = Type::Tensor(DataType::kFloat);
  const ValuePtr large = Make<float>(DataType::kFloat, {50000}, std::vector<float>(50000, 1.5f));
  core::WriteValueFile(dir / "v.pb", *large, *floats, "v");  // names of several lengths give the data several offsets
  core::WriteValueFile(dir / "vv.pb", *large, *floats, "vv");
  core::WriteValueFile(dir / "vvv.pb", *large, *floats, "vvv");
  core::WriteValueFile(dir / "vvvv.pb", *large, *floats, "vvvv");
  for (const char* name : {"v.pb", "vv.pb", "vvv.pb", "vvvv.pb"}) {
    const ValuePtr value = core::ReadValueFile(dir / name, *floats);
    EXPECT_FALSE(value->IsReadOnly());
    std::fill_n(static_cast<float*>(value->mutable_data()), value->element_count(), 2.0f);
    ExpectEqual(*core::ReadValueFile(dir / name, *floats), *large);
  }
  const ValuePtr numbers = Make<int64_t>(DataType::kInt64, {2}, {7, 8});
  const TypePtr map = Type::Map(DataType::kInt64, floats);
  core::WriteValueFile(dir / "m.pb", *Value::Map(numbers, Make<float>(DataType::kFloat, {2}, {5, 6})), *map, "m");
  const ValuePtr read = core::ReadValueFile(dir / "m.pb", *map);
  for (const ValuePtr& part : read->elements()) std::memset(part->mutable_data(), 0, part->byte_size());
}

// Reads the inputs and outputs of ONNX's own tests with the types that their models declare.
TEST(TensorIo, ReadsTheBackendTestData) {
  TempDir dir;
  size_t read = 0;
  for (const auto& folder : std::filesystem::directory_iterator("/usr/include/onnx/backend/test/data/node/")) {
    const core::Model model = core::ReadModelFile(folder.path() / "model.onnx", {});
    const auto data = folder.path() / "test_data_set_0";
    const auto check = [&](const std::string& kind, const std::vector<core::ValueDef*>& values) {
      for (size_t i = 0; i < values.size(); ++i) {
        const auto file = data / (kind + "_" + std::to_string(i) + ".pb");
        if (!std::filesystem::exists(file)) continue;
        SCOPED_TRACE(file.string());
        const ValuePtr value = core::ReadValueFile(file, *values[i]->type());
        ExpectRoundTrip(dir, *value, values[i]->type());
        ++read;
      }
    };
    check("input", model.graph->inputs());
    check("output", model.graph->outputs());
  }
  EXPECT_GE(read, 2500u);
}

}  // namespace
}  // namespace epiphyte::test
