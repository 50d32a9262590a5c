#include "tests/models/rewrite/model_file.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace epiphyte::test {
namespace {

std::string ReadExternal(const onnx::TensorProto& tensor, const std::filesystem::path& folder) {
  std::string location;
  uint64_t offset = 0, length = 0;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = std::stoull(entry.value());
    if (entry.key() == "length") length = std::stoull(entry.value());
  }
  std::string bytes(length, '\0');
  std::ifstream stream(folder / location, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(length))) {
    throw std::runtime_error("can't read tensor '" + tensor.name() + "': " + std::to_string(length) + " bytes at " +
                             std::to_string(offset) + " of " + (folder / location).string());
  }
  return bytes;
}

}  // namespace

int64_t ModelFile::Opset() const {
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return import.version();
  }
  return 0;
}

void ModelFile::SetOpset(int64_t version) {
  for (onnx::OperatorSetIdProto& import : *model.mutable_opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") import.set_version(version);
  }
}

std::string ModelFile::Bytes(const onnx::TensorProto& tensor) const {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return ReadExternal(tensor, folder);
  if (tensor.float_data_size() == 0) return tensor.raw_data();
  return {reinterpret_cast<const char*>(tensor.float_data().data()),
          static_cast<size_t>(tensor.float_data_size()) * sizeof(float)};
}

std::vector<float> ModelFile::Floats(const onnx::TensorProto& tensor) const {
  const std::string bytes = Bytes(tensor);
  std::vector<float> values(static_cast<size_t>(ElementCount(tensor)));
  if (tensor.data_type() != onnx::TensorProto::FLOAT || bytes.size() != values.size() * sizeof(float)) {
    throw std::runtime_error("tensor '" + tensor.name() + "' isn't " + std::to_string(values.size()) + " floats");
  }
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

ModelFile ReadModelFile(const std::filesystem::path& path) {
  ModelFile file;
  file.folder = path.parent_path();
  std::ifstream stream(path, std::ios::binary);
  if (!stream || !file.model.ParseFromIstream(&stream)) throw std::runtime_error(path.string() + " is no ONNX model");
  return file;
}

bool IsOneFloat(const onnx::TensorProto& tensor) {
  return tensor.data_type() == onnx::TensorProto::FLOAT && ElementCount(tensor) == 1 &&
         tensor.data_location() != onnx::TensorProto::EXTERNAL;
}

int64_t ElementCount(const onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) count *= dim;
  return count;
}

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t IntAttribute(const onnx::NodeProto& node, const std::string& name, int64_t fallback) {
  const onnx::AttributeProto* attribute = FindAttribute(node, name);
  return attribute == nullptr ? fallback : attribute->i();
}

float FloatAttribute(const onnx::NodeProto& node, const std::string& name, float fallback) {
  const onnx::AttributeProto* attribute = FindAttribute(node, name);
  return attribute == nullptr ? fallback : attribute->f();
}

}  // namespace epiphyte::test
