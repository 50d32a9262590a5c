// Tensor and Datum: the values between the kernels of one plan.
//
// A Tensor does not own its memory: the frame's arena, the plan's constants or the run do. It may have a oneDNN layout
// (such as blocked channels) between kernels that support it. All other kernels see row-major data, because
// OpContext::Input reorders on demand.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "epiphyte/kit/graph/ir.hpp"
#include "epiphyte/kit/shape/dims.hpp"
#include "epiphyte/kit/shape/element_type.hpp"

namespace epiphyte::cpu {

namespace ir = kit::ir;

// The EP_TYPE_* values, as a plain enum so that tables can be written as kFloat.
using ElementType = EpElementType;

using kit::CountElements;
using kit::Dims;
using kit::ElementBytes;
using kit::ShapeText;
using kit::TypeName;

// A layout other than row-major; defined in onednn/layout.h.
struct Layout;

struct Tensor {
  ElementType type = EP_TYPE_UNDEFINED;
  Dims dims;
  void* data = nullptr;
  std::shared_ptr<const Layout> layout;               // null: row-major
  std::shared_ptr<std::vector<std::string>> strings;  // elements of type STRING; data is null then
  // Upper bound of the absolute values in a float tensor without NaN; infinity when unknown. A kernel may set it on an
  // output that it has made. Making an output again resets it.
  float limit = std::numeric_limits<float>::infinity();

  int64_t Count() const { return dims.Count(); }
  uint64_t Bytes() const { return ElementBytes(type, static_cast<uint64_t>(Count())); }
  size_t rank() const { return dims.size(); }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  template <typename T>
  T* as() {
    return static_cast<T*>(data);
  }
};

// A read-only view of a constant's or attribute's elements.
inline Tensor ViewOf(const ir::Tensor& elements) {
  Tensor tensor;
  tensor.type = elements.type;
  tensor.dims = elements.dims;
  tensor.data = const_cast<void*>(elements.data);
  tensor.strings = std::const_pointer_cast<std::vector<std::string>>(elements.strings);
  return tensor;
}

// A value of any ONNX kind.
struct Datum {
  enum class Kind : uint8_t { kAbsent, kTensor, kSequence, kMap, kEmptyOptional };

  Kind kind = Kind::kAbsent;
  Tensor tensor;
  ElementType sequence_type = EP_TYPE_UNDEFINED;  // type of the tensors in a sequence
  std::shared_ptr<std::vector<Datum>> elements;   // sequence; map: {keys, values}
  std::shared_ptr<void> owner;                    // keeps tensor.data alive when the frame does not own it
};

}  // namespace epiphyte::cpu
