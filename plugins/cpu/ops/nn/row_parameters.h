// Scales and biases for the normalization of rows.
#pragma once

#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/cpu/kernel/small_floats.h"
#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {

// Returns the scale or bias with one element for each element of a row, in the type of the computation. A smaller or
// 16-bit parameter is expanded into scratch memory.
template <typename T>
const Compute<T>* RowParameters(OpContext& context, const Tensor& parameters, const Dims& row, ElementType type) {
  if (parameters.type != type) {
    FailOp("scale or bias is {}, expected {}", TypeName(parameters.type), TypeName(type));
  }
  const auto scratch = [&]<typename U>(int64_t count) {
    return static_cast<U*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(U)));
  };
  const Compute<T>* values = nullptr;
  if constexpr (kIsSmallFloat<T>) {
    float* floats = scratch.template operator()<float>(parameters.Count());
    SmallFloats<T>().load(parameters.as<T>(), floats, parameters.Count());
    values = floats;
  } else {
    values = parameters.as<T>();
  }
  if (parameters.Count() == row.Count()) return values;
  const Dims shape = kit::BroadcastShape(parameters.dims, row);
  if (shape.Count() != row.Count()) {
    FailOp("scale or bias of shape {} does not broadcast to {}", ShapeText(parameters.dims), ShapeText(row));
  }
  Compute<T>* expanded = scratch.template operator()<Compute<T>>(row.Count());
  const kit::BroadcastLoop<1> loop(shape, {&parameters.dims});
  loop.Run(0, loop.count(), [&](int64_t n, int64_t offset, const kit::BroadcastLoop<1>::Operands& in) {
    for (int64_t i = 0; i < n; ++i) expanded[offset + i] = values[in[0].offset + i * in[0].stride];
  });
  return expanded;
}

}  // namespace epiphyte::cpu
