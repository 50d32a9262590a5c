// Quads: words of four bytes (shaders/quads.glsl), by which convolutions and GEMMs multiply byte inputs by constant
// weights. Results are int32 sums, or are requantised. Weights are packed when a partition is compiled. The packed data
// also has a table with bias, zero point, sum of weights and requantisation factor of each filter
// (kit/qdq/integer_product.hpp).
//
//     void PackQLinearConv(Packing& packing) { PackQuads(packing, kOperands, PackedFilters::OfConv(w->dims, groups)); }
//     …
//     if (HasQuads(r)) return RecordQuads(r, product);   // else use the kernels that take any parameters
//
// The graph alone decides what a packed product contains, so the weights of a context suit every device.
#pragma once

#include <array>
#include <cstdint>

#include "epiphyte/kit/fuse/operators.hpp"
#include "plugins/vulkan/ops/nn/packed_filters.h"
#include "plugins/vulkan/ops/quantized/quantization.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// Input indices of a node. Requantised products have the inputs of QLinearConv and QLinearMatMul: the scale of the
// input is input 1, that of the weights 4, that of y 6; the zero point of y is input 7, the optional bias 8.
struct ProductOperands {
  size_t x, w, x_zero, w_zero;
  bool requantized = false;
};
inline constexpr ProductOperands kIntegerOperands = {0, 1, 2, 3};
inline constexpr ProductOperands kQLinearOperands = {0, 3, 2, 5, true};

// Packs constant weights of that shape, and releases them. Does nothing when one of the parameters that go into the
// table isn't constant, or the input may have several zero points.
void PackQuads(Packing& packing, const ProductOperands& operands, const PackedFilters& shape);
bool HasQuads(const Recording& r);
// Why PackQuads can't pack a node of the kit's operators, which have no other kernel; "" if it can.
std::string WhyNoQuads(const NodeCheck& check);
[[noreturn]] void FailNotPacked();

// Value of Operator::bindings for operators that call RecordQuads.
inline constexpr uint32_t kQuadBindings = 5;

// Adds an ONNX operator with a requantised result, and the kit's operator of the same name.
template <std::string (*kCheck)(const NodeCheck& check)>
void AddRequantized(OperatorTable& table, Operator requantized) {
  requantized.first_version = 10;
  requantized.types = kDeviceBytes;
  requantized.check = kCheck;
  table.Add(requantized);
  requantized.domain = kit::fuse::kDomain;
  requantized.first_version = 1;
  requantized.check = [](const NodeCheck& check) {
    const std::string why = WhyNoQuads(check);
    return why.empty() ? kCheck(check) : why;
  };
  requantized.bindings = kQuadBindings;
  table.Add(requantized);
}

struct QuadProduct {
  ProductOperands operands = kIntegerOperands;
  PackedFilters filters;
  int64_t images = 1;
  // Spatial sizes; 1 for absent dimensions. `in` is the size of the input's planes. `padded` is the size of the padded
  // plane that is read, which starts `before` elements in front of the plane.
  std::array<int64_t, 3> in = {1, 1, 1}, padded = {1, 1, 1}, before = {0, 0, 0};
  std::array<int64_t, 3> kernel = {1, 1, 1}, dilations = {1, 1, 1}, strides = {1, 1, 1}, out = {1, 1, 1};
  int64_t rows = 0;  // rows of a GEMM, for which all sizes above are 1; 0: it is a convolution
  EpElementType y_type = EP_TYPE_INT32;
  Dims y;  // [images, filters, positions…], or [rows…, filters]
};

// Adds output 0 and the dispatches that compute it. Throws INVALID_GRAPH if the packed data doesn't have that shape.
void RecordQuads(Recording& r, const QuadProduct& product);

}  // namespace epiphyte::vulkan
