#include "tests/models/external_weights.h"

#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/models/random_weights.h"

namespace epiphyte::test {
namespace {

constexpr uint64_t kAlignment = 4096;  // lets a reader map each tensor by itself

}  // namespace

ExternalWeights::ExternalWeights(const std::filesystem::path& path, std::string location)
    : path_(path), location_(std::move(location)), stream_(path, std::ios::binary | std::ios::trunc) {
  if (!stream_) throw std::runtime_error("can't create " + path_.string());
}

ExternalWeights::Range ExternalWeights::Add(const std::string& tensor_name, uint64_t element_count, float deviation,
                                            float mean) {
  const auto known = ranges_.find(tensor_name);
  if (known != ranges_.end()) return known->second;

  const uint64_t padding = (kAlignment - size_ % kAlignment) % kAlignment;
  const std::vector<char> zeros(padding);
  stream_.write(zeros.data(), static_cast<std::streamsize>(padding));
  size_ += padding;

  std::vector<float> values(element_count);
  FillRandom(tensor_name, deviation, mean, values);
  const Range range{size_, element_count * sizeof(float)};
  stream_.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(range.length));
  size_ += range.length;
  ranges_.emplace(tensor_name, range);
  return range;
}

void ExternalWeights::Close() {
  stream_.close();
  if (!stream_) throw std::runtime_error("can't write " + path_.string() + "; is the disk full?");
}

}  // namespace epiphyte::test
