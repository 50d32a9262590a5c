// Tensor: a dense tensor that the suite owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "epiphyte/ep_type.h"

namespace epiphyte::conformance {

struct Tensor {
  EpElementType type = EP_TYPE_FLOAT;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
};
Tensor FloatTensor(std::vector<int64_t> dims, std::span<const float> data);
Tensor ByteTensor(std::vector<int64_t> dims, std::span<const int8_t> data);  // makes a tensor of int8
// Returns the elements of a float or int8 tensor.
std::vector<float> FloatsOf(const Tensor& tensor);

}  // namespace epiphyte::conformance
