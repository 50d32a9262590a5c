// Tensors as models store them: raw, typed, sparse, external.
#include <gmock/gmock.h>

#include <cstring>

#include "core/onnx/read/tensor_reader.h"
#include "tests/framework/temp_dir.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::ConstantPtr;
using core::DataType;
using core::StatusCode;

onnx::TensorProto Tensor(DataType type, const std::vector<int64_t>& dims) {
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(static_cast<int32_t>(type));
  for (const int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

ConstantPtr Read(const google::protobuf::MessageLite& tensor) {
  const std::string bytes = tensor.SerializeAsString();
  return core::TensorReader(nullptr, nullptr).Read(bytes, "tensor").constant;
}

template <typename T>
std::vector<T> Elements(const ConstantPtr& constant) {
  std::vector<T> elements(constant->byte_size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), constant->data(), constant->byte_size());
  return elements;
}

TEST(TypedData, EveryTypeIsDecodedFromItsField) {
  onnx::TensorProto tensor = Tensor(DataType::kFloat, {2});
  tensor.add_float_data(1.5f);
  tensor.add_float_data(-2);
  EXPECT_THAT(Elements<float>(Read(tensor)), testing::ElementsAre(1.5f, -2.0f));

  tensor = Tensor(DataType::kComplex64, {1});
  tensor.add_float_data(1);
  tensor.add_float_data(2);
  EXPECT_THAT(Elements<float>(Read(tensor)), testing::ElementsAre(1.0f, 2.0f));

  tensor = Tensor(DataType::kDouble, {1});
  tensor.add_double_data(0.1);
  EXPECT_THAT(Elements<double>(Read(tensor)), testing::ElementsAre(0.1));

  tensor = Tensor(DataType::kComplex128, {1});
  tensor.add_double_data(3);
  tensor.add_double_data(4);
  EXPECT_THAT(Elements<double>(Read(tensor)), testing::ElementsAre(3.0, 4.0));

  tensor = Tensor(DataType::kInt64, {2});
  tensor.add_int64_data(-1);
  tensor.add_int64_data(INT64_MIN);
  EXPECT_THAT(Elements<int64_t>(Read(tensor)), testing::ElementsAre(-1, INT64_MIN));

  tensor = Tensor(DataType::kUint64, {1});
  tensor.add_uint64_data(UINT64_MAX);
  EXPECT_THAT(Elements<uint64_t>(Read(tensor)), testing::ElementsAre(UINT64_MAX));

  tensor = Tensor(DataType::kUint32, {1});
  tensor.add_uint64_data(UINT32_MAX);
  EXPECT_THAT(Elements<uint32_t>(Read(tensor)), testing::ElementsAre(UINT32_MAX));

  tensor = Tensor(DataType::kString, {2});
  tensor.add_string_data("a");
  tensor.add_string_data("");
  EXPECT_THAT(Read(tensor)->strings(), testing::ElementsAre("a", ""));
}

TEST(TypedData, SmallTypesComeAsInt32) {
  const auto read = [](DataType type) {
    onnx::TensorProto tensor = Tensor(type, {3});
    for (const int value : {1, 0, 127}) tensor.add_int32_data(value);
    return Read(tensor);
  };
  EXPECT_THAT(Elements<int32_t>(read(DataType::kInt32)), testing::ElementsAre(1, 0, 127));
  for (const DataType type : {DataType::kInt16, DataType::kUint16, DataType::kFloat16, DataType::kBfloat16}) {
    EXPECT_THAT(Elements<uint16_t>(read(type)), testing::ElementsAre(1, 0, 127)) << core::DataTypeName(type);
  }
  for (const DataType type :
       {DataType::kInt8, DataType::kUint8, DataType::kBool, DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ,
        DataType::kFloat8E5M2, DataType::kFloat8E5M2FNUZ, DataType::kFloat8E8M0}) {
    EXPECT_THAT(Elements<uint8_t>(read(type)), testing::ElementsAre(1, 0, 127)) << core::DataTypeName(type);
  }
}

TEST(TypedData, TypesBelowAByteComePacked) {
  for (const DataType type : {DataType::kInt4, DataType::kUint4, DataType::kFloat4E2M1}) {
    onnx::TensorProto tensor = Tensor(type, {3});
    tensor.add_int32_data(0x21);
    tensor.add_int32_data(0x03);
    EXPECT_THAT(Elements<uint8_t>(Read(tensor)), testing::ElementsAre(0x21, 0x03)) << core::DataTypeName(type);
  }
  for (const DataType type : {DataType::kInt2, DataType::kUint2}) {
    onnx::TensorProto tensor = Tensor(type, {5});
    tensor.add_int32_data(0xe4);
    tensor.add_int32_data(0x01);
    EXPECT_THAT(Elements<uint8_t>(Read(tensor)), testing::ElementsAre(0xe4, 0x01)) << core::DataTypeName(type);
  }
}

TEST(TypedData, UnpackedFieldsAreReadToo) {
  // The message has data_type 7, dims 2, and int64_data 5 and 6, each a field of its own.
  const std::string bytes("\x10\x07\x08\x02\x38\x05\x38\x06", 8);
  const ConstantPtr constant = core::TensorReader(nullptr, nullptr).Read(bytes, "tensor").constant;
  EXPECT_THAT(Elements<int64_t>(constant), testing::ElementsAre(5, 6));
}

TEST(TensorReader, EmptyTensorsNeedNoData) {
  EXPECT_EQ(Read(Tensor(DataType::kFloat, {0}))->element_count(), 0u);
  EXPECT_EQ(Read(Tensor(DataType::kString, {2, 0}))->element_count(), 0u);
}

TEST(TensorReader, RefusesDataThatDoesNotFit) {
  const auto refuse = [](const onnx::TensorProto& tensor, std::vector<std::string> parts) {
    ExpectError([&] { Read(tensor); }, StatusCode::kInvalidGraph, parts);
  };
  onnx::TensorProto tensor = Tensor(DataType::kFloat, {2, 3});
  tensor.set_raw_data("12345");
  refuse(tensor, {"tensor 'w'", "5 bytes", "24 expected", "float[2,3]"});
  tensor.add_float_data(1);
  refuse(tensor, {"tensor 'w'", "twice"});
  tensor.clear_raw_data();
  refuse(tensor, {"1 numbers in float_data", "6 expected"});
  tensor.clear_float_data();
  refuse(tensor, {"0 numbers", "6 expected"});
  tensor.add_int64_data(1);
  refuse(tensor, {"field 7", "float_data expected"});
  refuse(Tensor(DataType::kUndefined, {1}), {"element type 0"});
  refuse(Tensor(static_cast<DataType>(99), {1}), {"element type 99", "1 to 26"});
  refuse(Tensor(DataType::kFloat, {-1}), {"tensor 'w'", "-1"});
  refuse(Tensor(DataType::kFloat, {INT64_MAX, INT64_MAX, 4}), {"tensor 'w'"});
  refuse(Tensor(DataType::kDouble, {INT64_MAX}), {"tensor 'w'"});
  tensor = Tensor(DataType::kString, {1});
  tensor.set_raw_data("x");
  refuse(tensor, {"string_data expected"});
}

onnx::SparseTensorProto Sparse(const std::vector<int64_t>& dims, const std::vector<float>& values,
                               const std::vector<int64_t>& indices, const std::vector<int64_t>& index_dims) {
  onnx::SparseTensorProto sparse;
  *sparse.mutable_values() = Tensor(DataType::kFloat, {static_cast<int64_t>(values.size())});
  for (const float value : values) sparse.mutable_values()->add_float_data(value);
  *sparse.mutable_indices() = Tensor(DataType::kInt64, index_dims);
  for (const int64_t index : indices) sparse.mutable_indices()->add_int64_data(index);
  for (const int64_t dim : dims) sparse.add_dims(dim);
  return sparse;
}

ConstantPtr ReadSparse(const onnx::SparseTensorProto& sparse) {
  const std::string bytes = sparse.SerializeAsString();
  return core::TensorReader(nullptr, nullptr).ReadSparse(bytes, "tensor").constant;
}

TEST(SparseTensor, BecomesDense) {
  EXPECT_THAT(Elements<float>(ReadSparse(Sparse({2, 3}, {5, 6}, {1, 5}, {2}))), testing::ElementsAre(0, 5, 0, 0, 0, 6));
  EXPECT_THAT(Elements<float>(ReadSparse(Sparse({2, 3}, {5, 6}, {0, 1, 1, 2}, {2, 2}))),
              testing::ElementsAre(0, 5, 0, 0, 0, 6));
}

// A few bytes of a file must not unfold to much memory, neither one tensor alone nor all together.
TEST(SparseTensor, UnfoldsNoMoreThanTheValuesAreWorth) {
  const auto bytes = [](int64_t count) { return Sparse({count}, {5}, {1}, {1}).SerializeAsString(); };
  const int64_t floats = core::TensorReader::kMostUnfoldedBytes / sizeof(float);
  EXPECT_NO_THROW(ReadSparse(Sparse({floats}, {5}, {1}, {1})));
  ExpectError([&] { ReadSparse(Sparse({floats + 1000}, {5}, {1}, {1})); }, StatusCode::kNotImplemented,
              {"67112864 bytes when dense", "4 are values", "store it dense"});
  const core::TensorReader reader(nullptr, nullptr);
  const std::string half = bytes(floats / 2);
  reader.ReadSparse(half, "first");
  reader.ReadSparse(half, "second");
  ExpectError([&] { reader.ReadSparse(half, "third"); }, StatusCode::kNotImplemented, {"when dense"});
}

TEST(SparseTensor, RefusesIndicesOutsideAndHugeShapes) {
  ExpectError([] { ReadSparse(Sparse({2, 3}, {5}, {6}, {1})); }, StatusCode::kInvalidGraph, {"outside"});
  ExpectError([] { ReadSparse(Sparse({2, 3}, {5}, {-1}, {1})); }, StatusCode::kInvalidGraph, {"outside"});
  ExpectError([] { ReadSparse(Sparse({2, 3}, {5}, {0, 3}, {1, 2})); }, StatusCode::kInvalidGraph, {"outside"});
  ExpectError([] { ReadSparse(Sparse({2, 3}, {5, 6}, {0}, {1})); }, StatusCode::kInvalidGraph, {"int64[2,2] expected"});
  ExpectError([] { ReadSparse(Sparse({int64_t{1} << 40}, {5}, {0}, {1})); }, StatusCode::kNotImplemented, {"bytes"});
}

TEST(SparseTensor, InitializersAndConstantNodesAreDense) {
  ProtoModel source;
  source.Input("x", kFloat, {"2", "3"}).Output("y").Output("z");
  onnx::SparseTensorProto initializer = Sparse({2, 3}, {5}, {1}, {1});
  initializer.mutable_values()->set_name("s");
  *source.graph().add_sparse_initializer() = initializer;
  source.Node("Add", {"x", "s"}, {"y"});
  onnx::NodeProto& node = source.Node("Constant", {}, {"z"});
  *ProtoModel::Attribute(node, "sparse_value", onnx::AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor() =
      Sparse({4}, {7}, {2}, {1});
  const core::Model model = source.Read();
  EXPECT_THAT(Elements<float>(model.graph->FindValue("s")->constant()), testing::ElementsAre(0, 5, 0, 0, 0, 0));
  const core::Attribute* value = model.graph->FindValue("z")->producer()->FindAttribute("value");
  ASSERT_NE(value, nullptr);
  EXPECT_THAT(Elements<float>(value->t()), testing::ElementsAre(0, 0, 7, 0));
  EXPECT_EQ(TypeOf(model, "z"), "tensor(float)[4]");
}

// --- external data

ProtoModel ExternalModel(const std::string& location, const std::string& offset, const std::string& length) {
  ProtoModel source;
  source.Input("x", kFloat, {"4"}).Output("y");
  onnx::TensorProto& w = source.Initializer("w", kFloat, {4});
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&w](const char* key, const std::string& value) {
    if (value.empty()) return;
    onnx::StringStringEntryProto* added = w.add_external_data();
    added->set_key(key);
    added->set_value(value);
  };
  entry("location", location);
  entry("offset", offset);
  entry("length", length);
  entry("checksum", "ignored");
  source.Node("Add", {"x", "w"}, {"y"});
  return source;
}

std::string Floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST(ExternalData, IsMappedBesideTheModel) {
  TempDir dir;
  dir.Write("data/w.bin", std::string(64, 'x') + Floats({1, 2, 3, 4}) + "rest");
  const auto path = dir.Write("m.onnx", ExternalModel("data/w.bin", "64", "16").Bytes());
  const core::Model model = core::ReadModelFile(path, {});
  const core::ValueDef* w = model.graph->FindValue("w");
  EXPECT_THAT(Elements<float>(w->constant()), testing::ElementsAre(1, 2, 3, 4));
  ASSERT_NE(w->external, nullptr);
  EXPECT_EQ(w->external->file, "data/w.bin");
  EXPECT_EQ(w->external->offset, 64u);
  EXPECT_EQ(w->external->length, 16u);
}

TEST(ExternalData, IsFoundInTheFolderOfTheOptions) {
  TempDir dir, models;
  dir.Write("w.bin", Floats({1, 2, 3, 4}));
  const ProtoModel source = ExternalModel("w.bin", "", "");
  core::ReadOptions options;
  options.external_data_folder = dir.path();
  EXPECT_THAT(Elements<float>(source.Read(options).graph->FindValue("w")->constant()),
              testing::ElementsAre(1, 2, 3, 4));
  const auto path = models.Write("m.onnx", source.Bytes());
  EXPECT_THAT(Elements<float>(core::ReadModelFile(path, options).graph->FindValue("w")->constant()),
              testing::ElementsAre(1, 2, 3, 4));
  ExpectError([&] { source.Read(); }, StatusCode::kInvalidArgument, {"tensor 'w'", "'w.bin'", "in memory", "folder"});
}

TEST(ExternalData, UnalignedBytesAreCopied) {
  TempDir dir;
  dir.Write("w.bin", "abc" + Floats({1, 2, 3, 4}));
  const auto path = dir.Write("m.onnx", ExternalModel("w.bin", "3", "16").Bytes());
  const core::ConstantPtr w = core::ReadModelFile(path, {}).graph->FindValue("w")->constant();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(w->data()) % 4, 0u);
  EXPECT_THAT(Elements<float>(w), testing::ElementsAre(1, 2, 3, 4));
}

TEST(ExternalData, RefusesWhatIsNotThereOrEscapes) {
  TempDir dir;
  dir.Write("outside.bin", Floats({1, 2, 3, 4}));
  dir.Write("in/w.bin", Floats({1, 2, 3, 4}));
  const auto refuse = [&](const std::string& location, const std::string& offset, const std::string& length,
                          std::vector<std::string> parts) {
    const auto path = dir.Write("in/m.onnx", ExternalModel(location, offset, length).Bytes());
    ExpectError([&] { core::ReadModelFile(path, {}); }, StatusCode::kInvalidGraph, parts);
  };
  refuse("none.bin", "", "", {"'w'", "none.bin"});
  refuse("../outside.bin", "", "", {"'w'", "../outside.bin"});
  refuse((dir / "outside.bin").string(), "", "", {"'w'"});
  refuse("", "", "", {"'w'", "location"});
  refuse("w.bin", "4", "16", {"'w'", "bytes 4 to 20", "which has 16"});
  refuse("w.bin", "18446744073709551615", "16", {"'w'"});
  refuse("w.bin", "17", "", {"'w'", "17"});
  refuse("w.bin", "0", "12", {"'w'", "12 bytes", "16 expected"});
  refuse("w.bin", "-1", "16", {"offset", "'-1'"});
  refuse("w.bin", "1e1", "16", {"offset", "'1e1'"});
}

TEST(ExternalData, AGitLfsPointerIsRecognised) {
  TempDir dir;
  dir.Write("w.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 16\n");
  const auto path = dir.Write("m.onnx", ExternalModel("w.bin", "0", "16").Bytes());
  ExpectError([&] { core::ReadModelFile(path, {}); }, StatusCode::kInvalidGraph,
              {"file 'w.bin'", "tensor 'w'", "a Git LFS pointer", "git lfs pull"});
  // A pointer file is refused even if it has all the requested bytes.
  const auto short_path = dir.Write("short.onnx", ExternalModel("w.bin", "16", "16").Bytes());
  ExpectError([&] { core::ReadModelFile(short_path, {}); }, StatusCode::kInvalidGraph, {"a Git LFS pointer"});
}

}  // namespace
}  // namespace epiphyte::test
