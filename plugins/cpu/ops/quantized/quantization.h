// Scales and zero points of a tensor: one for all, one for each index of an axis, or one for each block of an axis.
// ScaleRows cuts the tensor into rows; in each row there is one parameter, or one for each element.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {

class ScaleRows {
 public:
  struct Row {
    int64_t offset;     // first element
    int64_t count;      // number of elements
    int64_t parameter;  // index of the first scale
    int64_t stride;     // stride of the scales: 0 or 1
  };

  // Throws when the scale's shape doesn't fit.
  ScaleRows(const Dims& x, const Dims& scale, int64_t axis, int64_t block) {
    if (block < 0) FailOp("block_size is {}, expected a positive number", block);
    if (scale.size() == 0 || (scale.Count() == 1 && block == 0)) {
      total_ = x.Count();
      count_ = kPiece;
      rows_ = (total_ + kPiece - 1) / kPiece;
      return;
    }
    const size_t at = kit::NormalizeAxis(axis, x.size());
    const kit::AxisView view(x, at);
    size_ = view.size;
    if (block == 0) {
      if (scale.size() != 1 || scale[0] != view.size) {
        FailOp("scale has shape {}, expected one or {} elements for input {}", ShapeText(scale), view.size,
               ShapeText(x));
      }
      along_ = view.inner == 1;
      rows_ = along_ ? view.outer : view.outer * view.size;
      count_ = along_ ? view.size : view.inner;
    } else {
      blocks_ = view.size / block + (view.size % block != 0 ? 1 : 0);
      Dims expected = x;
      expected[at] = blocks_;
      if (!(scale == expected)) {
        FailOp("scale has shape {}, expected {} for blocks of {}", ShapeText(scale), ShapeText(expected), block);
      }
      block_ = block;
      rows_ = view.outer * view.size;
      count_ = view.inner;
    }
    total_ = x.Count();
    if (total_ == 0) rows_ = 0;
  }

  int64_t rows() const { return rows_; }
  int64_t row_size() const { return count_; }

  Row Get(int64_t i) const {
    const int64_t offset = i * count_;
    const int64_t count = std::min(count_, total_ - offset);
    if (block_ != 0) {
      return {offset, count, (i / size_ * blocks_ + i % size_ / block_) * count_, 1};
    }
    if (along_) return {offset, count, 0, 1};
    return {offset, count, size_ == 0 ? 0 : i % size_, 0};
  }

 private:
  static constexpr int64_t kPiece = 4096;  // with one scale, the tensor is cut into pieces for the threads
  int64_t total_ = 0;
  int64_t rows_ = 0;
  int64_t count_ = 1;
  int64_t size_ = 0;  // size of the axis
  int64_t block_ = 0;
  int64_t blocks_ = 0;
  bool along_ = false;
};

// Converts a scale that ScaleRows has checked to floats.
inline const float* ScaleFloats(OpContext& context, const Tensor& scale) {
  const int64_t count = scale.Count();
  float* values = static_cast<float*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(float)));
  LoadFloats(scale, 0, count, values);
  return values;
}

// Zero points for the scales, as floats; zeros when the input is left out.
inline const float* ZeroPointFloats(OpContext& context, const Tensor* zero, const Tensor& scale) {
  const int64_t count = scale.Count();
  if (zero != nullptr) {
    if (!(zero->dims == scale.dims) && !(zero->Count() == 1 && count == 1))
      FailOp("zero point has shape {}, expected that of the scale, {}", ShapeText(zero->dims), ShapeText(scale.dims));
    return ScaleFloats(context, *zero);
  }
  float* values = static_cast<float*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(float)));
  std::fill_n(values, count, 0.0f);
  return values;
}

// Output 0 with the dimensions and order of dense `x`, but another type. An object in a node's State.
class OutputInOrder {
 public:
  Tensor& Make(OpContext& context, const Tensor& x, ElementType type) {
    if (x.layout == nullptr) return context.Output(0, type, x.dims);
    if (from_ != x.layout || layout_ == nullptr || type_ != type || !(dims_ == x.dims)) {
      layout_ = MakeLayout(*x.layout->order, type, x.dims);
      from_ = x.layout;
      dims_ = x.dims;
      type_ = type;
    }
    return context.OutputWithLayout(0, type, x.dims, layout_, ElementBytes(type, static_cast<uint64_t>(x.Count())));
  }

 private:
  std::shared_ptr<const Layout> from_, layout_;
  Dims dims_;
  ElementType type_ = EP_TYPE_UNDEFINED;
};

// Input 0: in its own layout when its elements can be processed in any order, otherwise row-major.
inline const Tensor& ElementsInput(OpContext& context, bool one_scale) {
  const Tensor& x = context.AnyLayoutInput(0);
  const bool as_it_lies = x.layout == nullptr || (one_scale && x.layout->order && IsDense(x));
  return as_it_lies ? x : context.Input(0);
}

}  // namespace epiphyte::cpu
