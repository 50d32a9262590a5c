#include "tests/onnx_backend/value_files.h"

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include "core/onnx/write/tensor_io.h"

namespace epiphyte::test {

namespace fs = std::filesystem;

std::vector<fs::path> NumberedFiles(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> files;
  for (size_t i = 0;; ++i) {
    fs::path file = folder / (std::string(prefix) + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return files;
    files.push_back(std::move(file));
  }
}

std::vector<core::ValuePtr> ReadTensorFiles(const fs::path& folder, std::string_view prefix) {
  std::vector<core::ValuePtr> values;
  for (const fs::path& file : NumberedFiles(folder, prefix)) {
    std::ifstream stream(file, std::ios::binary);
    onnx::TensorProto tensor;
    if (!tensor.ParseFromIstream(&stream)) throw std::runtime_error(file.string() + " does not hold a TensorProto");
    const core::TypePtr type = core::Type::Tensor(static_cast<core::DataType>(tensor.data_type()));
    values.push_back(core::ReadValueFile(file, *type));
  }
  return values;
}

core::ValuePtr Thinned(const core::Value& tensor) {
  const uint64_t count = (tensor.element_count() + kThinning - 1) / kThinning;
  const int64_t dims[] = {static_cast<int64_t>(count)};
  core::ValuePtr thinned = core::Value::Tensor(tensor.type(), dims);
  const uint64_t size = count == 0 ? 0 : tensor.byte_size() / tensor.element_count();
  const auto* from = static_cast<const std::byte*>(tensor.data());
  auto* to = static_cast<std::byte*>(thinned->mutable_data());
  for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * size, from + i * kThinning * size, size);
  return thinned;
}

}  // namespace epiphyte::test
