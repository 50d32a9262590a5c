// Building blocks of Operator::on_host functions: they compute with tensors of a few elements on the host, while a
// program is made. As on the device, integers wrap around their type and floats are rounded to theirs.
//
//     std::vector<HostTensor> AddOnHost(const ir::Node&, HostInputs inputs) {
//       return HostBinary(inputs[0]->type, *inputs[0], *inputs[1], [](auto a, auto b) { return a + b; });
//     }
//
// A result of more than kMostHostElements isn't computed: `on_host` returns nothing, and `record` computes it on the
// device. All functions throw kit::Error(INVALID_ARGUMENT) for invalid arguments.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/vulkan/program/host_tensor.h"

namespace epiphyte::vulkan {

using kit::Dims;

// The inputs of a node, as `on_host` gets them; null: left out.
using HostInputs = std::span<const HostTensor* const>;
inline const HostTensor* HostInput(HostInputs inputs, size_t i) { return i < inputs.size() ? inputs[i] : nullptr; }

// Whether a tensor has few enough elements for the host.
bool FitsHost(const Dims& dims);

// The value that an element of the type stores: integers lose their upper bits, bool is 0 or 1, floats are rounded.
int64_t HoldInteger(EpElementType type, int64_t value);
double HoldFloat(EpElementType type, double value);

// --- Making
HostTensor HostZeros(EpElementType type, const Dims& dims);
HostTensor HostVector(std::span<const int64_t> values);  // int64, of one dimension
HostTensor HostScalar(EpElementType type, int64_t value);

// --- Reading
// The elements of a scalar or a vector of integers, as ONNX gives shapes, axes and pads.
Dims HostDims(const HostTensor& tensor, std::string_view name);
// The only element of a tensor of integers.
int64_t HostInteger(const HostTensor& tensor, std::string_view name);
// All elements as double, integers as well as floats.
std::vector<double> HostNumbers(const HostTensor& tensor);

// --- Moving
// The position sum(i * stride) + offset of each index i of `dims`, in row-major order.
std::vector<int64_t> StridedPositions(const Dims& dims, const Dims& strides, int64_t offset = 0);
// For each element of a tensor of shape `out`, in row-major order, the position of the element in a tensor of shape
// `shape` that is broadcast to it.
std::vector<int64_t> BroadcastPositions(const Dims& shape, const Dims& out);
// The elements of x at `positions`, one for each of `dims`; 0 where a position is negative.
HostTensor HostTake(const HostTensor& x, const Dims& dims, std::span<const int64_t> positions);
// The same elements with other dimensions, which have as many elements.
HostTensor HostReshape(const HostTensor& x, const Dims& dims);

// --- Elementwise. `op` takes int64 or double, whichever the inputs hold. Its result is stored as `type`.
template <typename Op>
HostTensor HostUnary(EpElementType type, const HostTensor& x, const Op& op);
// Broadcasts the inputs, which are both integers or both floats. Returns nothing if the result is too large for the
// host.
template <typename Op>
std::vector<HostTensor> HostBinary(EpElementType type, const HostTensor& a, const HostTensor& b, const Op& op);

// Appends to the tensor. Its `dims` give the final number of elements.
template <typename Value>
void HostAppend(HostTensor& tensor, Value value) {
  if (tensor.IsFloat())
    tensor.floats.push_back(HoldFloat(tensor.type, static_cast<double>(value)));
  else
    tensor.ints.push_back(HoldInteger(tensor.type, static_cast<int64_t>(value)));
}

template <typename Op>
HostTensor HostUnary(EpElementType type, const HostTensor& x, const Op& op) {
  HostTensor y{.type = type, .dims = x.dims, .ints = {}, .floats = {}};
  if (x.IsFloat())
    for (double value : x.floats) HostAppend(y, op(value));
  else
    for (int64_t value : x.ints) HostAppend(y, op(value));
  return y;
}

template <typename Op>
std::vector<HostTensor> HostBinary(EpElementType type, const HostTensor& a, const HostTensor& b, const Op& op) {
  HostTensor y{.type = type, .dims = kit::BroadcastShape(a.dims, b.dims), .ints = {}, .floats = {}};
  if (!FitsHost(y.dims)) return {};
  const std::vector<int64_t> in_a = BroadcastPositions(a.dims, y.dims), in_b = BroadcastPositions(b.dims, y.dims);
  for (size_t i = 0; i < in_a.size(); ++i) {
    const auto at_a = static_cast<size_t>(in_a[i]), at_b = static_cast<size_t>(in_b[i]);
    if (a.IsFloat())
      HostAppend(y, op(a.floats.at(at_a), b.floats.at(at_b)));
    else
      HostAppend(y, op(a.ints.at(at_a), b.ints.at(at_b)));
  }
  return {std::move(y)};
}

}  // namespace epiphyte::vulkan
