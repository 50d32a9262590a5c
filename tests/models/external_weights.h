// ExternalWeights: one file of weights that several models refer to, as exporters of large models write it.
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

// Below this, an exporter keeps a weight in the model even when it writes external data.
inline constexpr uint64_t kExternalThresholdBytes = 1024;

class ExternalWeights {
 public:
  struct Range {
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  // Writes to `path`; models will name the file `location`.
  ExternalWeights(const std::filesystem::path& path, std::string location);

  // The tensor's place in the file; it is written when its name is new.
  Range Add(const std::string& tensor_name, uint64_t element_count, float deviation, float mean);
  // Variant for a tensor with bytes in memory. For a name that was added before, the bytes must be the same. Throws
  // std::logic_error when they aren't.
  Range Add(const std::string& tensor_name, std::string_view bytes);
  // Says in the tensor that its elements are there.
  void Refer(onnx::TensorProto* tensor, const Range& range) const;
  // Throws std::runtime_error unless everything has reached the file.
  void Close();

 private:
  Range Write(const std::string& tensor_name, const void* data, uint64_t length);

  std::filesystem::path path_;
  std::string location_;
  std::ofstream stream_;
  uint64_t size_ = 0;
  std::map<std::string, Range> ranges_;
  std::map<std::string, size_t> hashes_;  // hashes of weights that were given as bytes
};

}  // namespace epiphyte::test
