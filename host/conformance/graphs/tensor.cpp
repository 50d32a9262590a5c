#include "host/conformance/graphs/tensor.h"

#include <cstring>
#include <utility>

namespace epiphyte::conformance {

Tensor FloatTensor(std::vector<int64_t> dims, std::span<const float> data) {
  Tensor tensor = {EP_TYPE_FLOAT, std::move(dims), std::vector<std::byte>(data.size_bytes())};
  if (!data.empty()) std::memcpy(tensor.bytes.data(), data.data(), data.size_bytes());
  return tensor;
}

Tensor ByteTensor(std::vector<int64_t> dims, std::span<const int8_t> data) {
  Tensor tensor = {EP_TYPE_INT8, std::move(dims), std::vector<std::byte>(data.size())};
  if (!data.empty()) std::memcpy(tensor.bytes.data(), data.data(), data.size());
  return tensor;
}

std::vector<float> FloatsOf(const Tensor& tensor) {
  if (tensor.type == EP_TYPE_INT8) {
    std::vector<float> floats;
    for (const std::byte byte : tensor.bytes) floats.push_back(static_cast<float>(static_cast<int8_t>(byte)));
    return floats;
  }
  std::vector<float> floats(tensor.bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), tensor.bytes.data(), floats.size() * sizeof(float));
  return floats;
}

}  // namespace epiphyte::conformance
