// TypedData: the fields of a TensorProto that hold elements as protobuf numbers (float_data, int32_data, …). Small
// tensors are often written this way. The fields are collected while the message is walked, and decoded once the type
// is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/constant.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {

class TypedData {
 public:
  // Returns true and keeps the field when it is one of the typed fields.
  bool Take(const WireField& field);
  bool empty() const { return fields_.empty(); }

  // The constant that the fields describe. Throws INVALID_GRAPH, starting with `what`, when the number of elements
  // differs from `dims`, or when they are in a field that doesn't belong to `type`.
  ConstantPtr Decode(DataType type, std::vector<int64_t> dims, std::string_view what) const;

 private:
  std::vector<WireField> fields_;
};

}  // namespace epiphyte::core
