// HoldsSums: tells whether int32 holds the sums of a GEMM or convolution of quantised numbers,
//
//   sum = Σ (qx - xz)(qw - wz) + bias
//
// for every possible input. Integers wrap on overflow; floats never do.
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

// Outputs that are sums over different weights. Each output has the same number of weights.
struct Sums {
  int64_t outputs = 1;
  std::function<int64_t(int64_t element)> output_of;  // output that an element of the weights belongs to
};

// `weights` is the value with the stored numbers; without constant bytes, each may be any number of its type. `bias`:
// output i uses element i % size; empty: no bias. `x` has one scale.
bool HoldsSums(const ir::Graph& graph, int32_t weights, const Quantization& x, const Quantization& w,
               std::span<const int32_t> bias, const Sums& sums);

}  // namespace epiphyte::kit::qdq
