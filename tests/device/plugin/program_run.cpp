// The arithmetic of programs. An output may share the memory of its first input if AliasesOf allows it.
#include <algorithm>
#include <cstring>

#include "epiphyte/kit/abi/error.hpp"
#include "tests/device/plugin/program.h"

namespace epiphyte::test::device {
namespace {

const float* Floats(const Place& place) { return reinterpret_cast<const float*>(place.data); }
float* Floats(Place& place) { return reinterpret_cast<float*>(place.data); }

// Returns the stride of the operand for each dimension of the result; 0 for a dimension that is broadcast.
std::vector<uint64_t> StridesOf(std::span<const int64_t> operand, size_t rank) {
  std::vector<uint64_t> strides(rank, 0);
  uint64_t stride = 1;
  for (size_t i = operand.size(); i-- > 0;) {
    if (operand[i] != 1) strides[rank - operand.size() + i] = stride;
    stride *= static_cast<uint64_t>(operand[i]);
  }
  return strides;
}

// Returns the index of the operand's element (or block) for element `index` of a tensor of shape `dims`.
uint64_t IndexOf(uint64_t index, std::span<const int64_t> dims, const std::vector<uint64_t>& strides) {
  uint64_t at = 0;
  for (size_t d = dims.size(); d-- > 0;) {
    const auto dim = static_cast<uint64_t>(dims[d]);
    at += index % dim * strides[d];
    index /= dim;
  }
  return at;
}

template <typename Function>
void Binary(const Place& a, const Place& b, Place out, Function function) {
  const uint64_t count = CountOf(out.dims);
  const bool is_plain = a.dims == out.dims && b.dims == out.dims;
  const std::vector<uint64_t> of_a = StridesOf(a.dims, out.dims.size());
  const std::vector<uint64_t> of_b = StridesOf(b.dims, out.dims.size());
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at_a = is_plain ? i : IndexOf(i, out.dims, of_a);
    const uint64_t at_b = is_plain ? i : IndexOf(i, out.dims, of_b);
    Floats(out)[i] = function(Floats(a)[at_a], Floats(b)[at_b]);
  }
}

template <typename Function>
void Unary(const Place& a, Place out, Function function) {
  const uint64_t count = CountOf(out.dims);
  for (uint64_t i = 0; i < count; ++i) Floats(out)[i] = function(Floats(a)[i]);
}

void MatMul(const Place& a, const Place& b, Place out) {
  const size_t batch_rank = out.dims.size() - 2;
  const std::span<const int64_t> batch(out.dims.data(), batch_rank);
  const auto rows = static_cast<uint64_t>(out.dims[batch_rank]);
  const auto columns = static_cast<uint64_t>(out.dims.back());
  const auto depth = static_cast<uint64_t>(a.dims.back());
  const auto of_a = StridesOf(std::span(a.dims).first(a.dims.size() - 2), batch_rank);
  const auto of_b = StridesOf(std::span(b.dims).first(b.dims.size() - 2), batch_rank);
  const uint64_t batches = CountOf(batch);
  for (uint64_t i = 0; i < batches; ++i) {
    const float* left = Floats(a) + IndexOf(i, batch, of_a) * rows * depth;
    const float* right = Floats(b) + IndexOf(i, batch, of_b) * depth * columns;
    float* result = Floats(out) + i * rows * columns;
    std::fill_n(result, rows * columns, 0.0f);
    for (uint64_t row = 0; row < rows; ++row) {
      for (uint64_t k = 0; k < depth; ++k) {
        const float factor = left[row * depth + k];
        for (uint64_t column = 0; column < columns; ++column) {
          result[row * columns + column] += factor * right[k * columns + column];
        }
      }
    }
  }
}

// TensorScatter with mode linear along the second last axis.
void TensorScatter(const Place& cache, const Place& update, const Place* indices, Place out) {
  const uint64_t count = CountOf(cache.dims);
  const size_t axis = cache.dims.size() - 2;
  const auto batches = static_cast<uint64_t>(cache.dims[0]);
  const int64_t room = cache.dims[axis];
  const int64_t length = update.dims[axis];
  std::vector<uint64_t> begins(batches, 0);
  for (uint64_t i = 0; indices != nullptr && i < batches; ++i) {
    int64_t begin = 0;
    std::memcpy(&begin, indices->data + i * sizeof begin, sizeof begin);
    if (begin < 0 || begin > room - length) {
      throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "TensorScatter: write index " + std::to_string(begin) +
                                                       " found, 0 to " + std::to_string(room - length) + " expected");
    }
    begins[i] = static_cast<uint64_t>(begin);
  }
  if (count == 0) return;
  if (out.data != cache.data) std::memcpy(out.data, cache.data, count * sizeof(float));
  const auto row = static_cast<uint64_t>(cache.dims.back());
  const auto of_cache = static_cast<uint64_t>(room) * row;
  const auto of_update = static_cast<uint64_t>(length) * row;
  const uint64_t blocks = count / of_cache;
  for (uint64_t i = 0; of_update != 0 && i < blocks; ++i) {
    const uint64_t begin = begins[i / (blocks / batches)];
    std::memcpy(Floats(out) + i * of_cache + begin * row, Floats(update) + i * of_update, of_update * sizeof(float));
  }
}

}  // namespace

void Run(const Program& program, std::span<const Place> places) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const Place& a = places[step.inputs[0]];
    const Place& b = places[step.inputs[1] == kAbsent ? step.inputs[0] : step.inputs[1]];
    const Place& out = places[program.FirstStep() + i];
    switch (step.op) {
      case Op::kAdd: Binary(a, b, out, [](float x, float y) { return x + y; }); break;
      case Op::kSub: Binary(a, b, out, [](float x, float y) { return x - y; }); break;
      case Op::kMul: Binary(a, b, out, [](float x, float y) { return x * y; }); break;
      case Op::kNeg: Unary(a, out, [](float x) { return -x; }); break;
      case Op::kRelu: Unary(a, out, [](float x) { return x > 0 ? x : 0; }); break;
      case Op::kIdentity: Unary(a, out, [](float x) { return x; }); break;
      case Op::kMatMul: MatMul(a, b, out); break;
      case Op::kTensorScatter:
        TensorScatter(a, b, step.inputs[2] == kAbsent ? nullptr : &places[step.inputs[2]], out);
        break;
    }
  }
}

}  // namespace epiphyte::test::device
