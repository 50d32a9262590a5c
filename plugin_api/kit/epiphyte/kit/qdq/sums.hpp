// Whether int32 holds the sums of a product of quantised numbers,
//
//   sum = Σ (qx - xz)(qw - wz) + bias
//
// for every input that there can be. Integers wrap where it doesn't, which floats never do.
//
//   const qdq::Sums sums{filters, [&](int64_t element) { return element / weights_of_filter; }};
//   if (!qdq::HoldsSums(graph, weights, x, w, bias, sums)) return Decline("…");
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "epiphyte/kit/graph/ir.hpp"
#include "epiphyte/kit/qdq/quantization.hpp"

namespace epiphyte::kit::qdq {

// Outputs that are sums over other weights. Each has as many of these.
struct Sums {
  int64_t outputs = 1;
  std::function<int64_t(int64_t element)> output_of;  // of the weights' elements
};

// `weights`: the value with the stored numbers. If it isn't a constant of bytes that are there, each may be any.
// `bias`: that of output i is number i % its size; empty: there is none. x has one scale.
bool HoldsSums(const ir::Graph& graph, int32_t weights, const Quantization& x, const Quantization& w,
               std::span<const int32_t> bias, const Sums& sums);

}  // namespace epiphyte::kit::qdq
