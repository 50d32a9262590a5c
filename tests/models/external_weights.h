// ExternalWeights: one file of weights that several models refer to, as exporters of large models write it.
//
//   ExternalWeights weights("llama.weights");
//   weights.Create(temporary_path);
//   auto [offset, length] = weights.Add("lm_head", 1024 * 16000, 0.02f, 0);
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace epiphyte::test {

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
  const std::string& location() const { return location_; }
  // Throws std::runtime_error unless everything has reached the file.
  void Close();

 private:
  std::filesystem::path path_;
  std::string location_;
  std::ofstream stream_;
  uint64_t size_ = 0;
  std::map<std::string, Range> ranges_;
};

}  // namespace epiphyte::test
