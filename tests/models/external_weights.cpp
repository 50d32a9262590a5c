#include "tests/models/external_weights.h"

#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/models/random_weights.h"

namespace epiphyte::test {
namespace {

constexpr uint64_t kAlignment = 4096;  // in bytes; a reader can map each tensor separately

void AddEntry(onnx::TensorProto* tensor, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto* entry = tensor->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

}  // namespace

ExternalWeights::ExternalWeights(const std::filesystem::path& path, std::string location)
    : path_(path), location_(std::move(location)), stream_(path, std::ios::binary | std::ios::trunc) {
  if (!stream_) throw std::runtime_error("can't create " + path_.string());
}

ExternalWeights::Range ExternalWeights::Add(const std::string& tensor_name, uint64_t element_count, float deviation,
                                            float mean) {
  const auto known = ranges_.find(tensor_name);
  if (known != ranges_.end()) return known->second;
  std::vector<float> values(element_count);
  FillRandom(tensor_name, deviation, mean, values);
  return Write(tensor_name, values.data(), element_count * sizeof(float));
}

ExternalWeights::Range ExternalWeights::Add(const std::string& tensor_name, std::string_view bytes) {
  const size_t hash = std::hash<std::string_view>()(bytes);
  const auto known = ranges_.find(tensor_name);
  if (known == ranges_.end()) {
    hashes_[tensor_name] = hash;
    return Write(tensor_name, bytes.data(), bytes.size());
  }
  if (known->second.length != bytes.size() || hashes_[tensor_name] != hash) {
    throw std::logic_error("two models have different weights named '" + tensor_name + "'");
  }
  return known->second;
}

ExternalWeights::Range ExternalWeights::Write(const std::string& tensor_name, const void* data, uint64_t length) {
  const uint64_t padding = (kAlignment - size_ % kAlignment) % kAlignment;
  const std::vector<char> zeros(padding);
  stream_.write(zeros.data(), static_cast<std::streamsize>(padding));
  size_ += padding;
  const Range range{size_, length};
  stream_.write(static_cast<const char*>(data), static_cast<std::streamsize>(length));
  size_ += length;
  ranges_.emplace(tensor_name, range);
  return range;
}

void ExternalWeights::Refer(onnx::TensorProto* tensor, const Range& range) const {
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  AddEntry(tensor, "location", location_);
  AddEntry(tensor, "offset", std::to_string(range.offset));
  AddEntry(tensor, "length", std::to_string(range.length));
}

void ExternalWeights::Close() {
  stream_.close();
  if (!stream_) throw std::runtime_error("can't write " + path_.string() + "; is the disk full?");
}

}  // namespace epiphyte::test
