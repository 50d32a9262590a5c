#include "tests/onnx_backend/value_files.h"

#include <onnx/onnx_pb.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "core/onnx/tensor_io.h"

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

}  // namespace epiphyte::test
