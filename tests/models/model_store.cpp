#include "tests/models/model_store.h"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "tests/models/builder.h"

namespace epiphyte::test {

namespace fs = std::filesystem;

fs::path ModelPath(std::string_view name, const fs::path& folder) { return folder / (std::string(name) + ".onnx"); }

fs::path TemporaryPath(const fs::path& path) { return path.string() + ".tmp" + std::to_string(getpid()); }

bool IsCurrent(const fs::path& path, const std::string& variant) {
  std::ifstream stream(path, std::ios::binary);
  std::string head(256, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(stream.gcount()));
  // The stamp contains the IR version, which depends on the opset.
  for (int opset : {9, 11, 13, 17, 21}) {
    if (head.starts_with(ModelStamp(opset, variant))) return true;
  }
  return false;
}

void SaveModel(const onnx::ModelProto& model, const fs::path& path) {
  const fs::path temporary = TemporaryPath(path);
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    if (!stream || !model.SerializeToOstream(&stream) || !stream.flush()) {
      throw std::runtime_error("can't write " + temporary.string() + "; is the disk full?");
    }
  }
  fs::rename(temporary, path);
}

}  // namespace epiphyte::test
