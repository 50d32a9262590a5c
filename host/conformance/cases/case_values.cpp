#include "host/conformance/cases/case_values.h"

#include <algorithm>

#include "core/onnx/write/tensor_io.h"

namespace epiphyte::conformance {

core::ValuePtr ReadCaseValue(const std::filesystem::path& file, const core::Type& type) {
  const core::ValuePtr value = core::ReadValueFile(file, type);
  const bool wants_bfloat16 = type.IsTensor() && type.element_type() == core::DataType::kBfloat16;
  if (!wants_bfloat16 || !value->IsTensor() || value->type() != core::DataType::kUint16) return value;
  core::ValuePtr same_bits = core::Value::Tensor(core::DataType::kBfloat16, value->dims());
  std::copy_n(value->data_as<uint16_t>(), value->element_count(), static_cast<uint16_t*>(same_bits->mutable_data()));
  return same_bits;
}

}  // namespace epiphyte::conformance
