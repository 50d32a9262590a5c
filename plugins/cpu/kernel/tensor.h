// Tensor and Datum: what flows between the kernels of one plan.
//
// A Tensor does not own its memory: that belongs to the frame's arena, to the plan's constants, or to the run. It may
// be in a layout of oneDNN's (blocked channels, say) while it travels between kernels that understand this; everyone
// else sees row-major data, because OpContext::Input reorders on demand.
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

// The numbers of EP_TYPE_*; a plain enum so that tables can be written as kFloat.
using ElementType = EpElementType;

using kit::CountElements;
using kit::Dims;
using kit::ElementBytes;
using kit::ShapeText;
using kit::TypeName;

// A layout that isn't row-major; defined by onednn/layout.h.
struct Layout;

struct Tensor {
  ElementType type = EP_TYPE_UNDEFINED;
  Dims dims;
  void* data = nullptr;
  std::shared_ptr<const Layout> layout;               // null: row-major
  std::shared_ptr<std::vector<std::string>> strings;  // type STRING: the elements; data is null then
  // No element of a float tensor has a greater absolute value, and none is NaN. Infinity: nothing is known. A kernel
  // may set it on an output that it has made; what makes an output anew resets it.
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

// A constant's or attribute's elements as kernels see them: in place, not to be written to.
inline Tensor ViewOf(const ir::Tensor& elements) {
  Tensor tensor;
  tensor.type = elements.type;
  tensor.dims = elements.dims;
  tensor.data = const_cast<void*>(elements.data);
  tensor.strings = std::const_pointer_cast<std::vector<std::string>>(elements.strings);
  return tensor;
}

// Any ONNX value.
struct Datum {
  enum class Kind : uint8_t { kAbsent, kTensor, kSequence, kMap, kEmptyOptional };

  Kind kind = Kind::kAbsent;
  Tensor tensor;
  ElementType sequence_type = EP_TYPE_UNDEFINED;  // of the tensors in a sequence
  std::shared_ptr<std::vector<Datum>> elements;   // sequence; map: {keys, values}
  std::shared_ptr<void> owner;                    // keeps tensor.data alive where the frame doesn't
};

}  // namespace epiphyte::cpu
