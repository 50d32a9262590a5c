// ExternalWeights is a file of weights that several models refer to, as exporters of large models write it.
//
//   ExternalWeights weights("llama.weights");
//   weights.Create(temporary_path);
//   auto [offset, length] = weights.Add("lm_head", 1024 * 16000, 0.02f, 0);
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace epiphyte::test {

// Weights below this size stay in the model, as in exporters that write external data.
inline constexpr uint64_t kExternalThresholdBytes = 1024;

class ExternalWeights {
 public:
  struct Range {
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  // Writes to `path`. Models will refer to the file as `location`.
  ExternalWeights(const std::filesystem::path& path, std::string location);

  // Writes the tensor if its name is new, and returns its range in the file.
  Range Add(const std::string& tensor_name, uint64_t element_count, float deviation, float mean);
  // Writes a tensor with bytes in memory. Throws std::logic_error if the name was added before with other bytes.
  Range Add(const std::string& tensor_name, std::string_view bytes);
  // Makes the tensor refer to the range in the file.
  void Refer(onnx::TensorProto* tensor, const Range& range) const;
  // Closes the file. Throws std::runtime_error unless everything has been written.
  void Close();

 private:
  Range Write(const std::string& tensor_name, const void* data, uint64_t length);

  std::filesystem::path path_;
  std::string location_;
  std::ofstream stream_;
  uint64_t size_ = 0;
  std::map<std::string, Range> ranges_;
  std::map<std::string, size_t> hashes_;  // hashes of weights that were added as bytes
};

}  // namespace epiphyte::test
