// Output check: does what a kernel made have the kind, element type and static dims that the graph declares? The next
// plugin relies on it without looking, so a wrong output would be read past its end there.
//
//   std::vector<DeclaredOutput> declared = …;                       // once, when the kernel is made
//   if (!declared[i].Fits(*output)) Fail(…, declared[i].Complaint(*output));
#pragma once

#include <string>

#include "core/graph/type.h"
#include "core/graph/value.h"

namespace epiphyte::core {

class DeclaredOutput {
 public:
  // Null and unknown types fit everything.
  explicit DeclaredOutput(TypePtr type) : type_(std::move(type)), info_(type_ ? type_->abi() : nullptr) {}

  // On the path of every run: a tensor costs a few comparisons.
  bool Fits(const Value& value) const { return info_ == nullptr || Fits(*value.abi(), *info_); }
  // "is tensor(float)[3], but the model says tensor(float)[2]"
  std::string Complaint(const Value& value) const;

 private:
  static bool Fits(const EpValueView& value, const EpTypeInfo& type) {
    return type.kind == EP_KIND_TENSOR && value.kind == EP_KIND_TENSOR ? TensorFits(*value.tensor, type)
                                                                       : OtherFits(value, type);
  }
  static bool TensorFits(const EpTensorView& tensor, const EpTypeInfo& type) {
    if (type.element_type != EP_TYPE_UNDEFINED && tensor.element_type != type.element_type) return false;
    if (type.rank < 0) return true;
    if (tensor.rank != static_cast<uint32_t>(type.rank)) return false;
    for (uint32_t i = 0; i < tensor.rank; ++i) {
      if (type.dims[i] >= 0 && type.dims[i] != tensor.dims[i]) return false;
    }
    return true;
  }
  static bool OtherFits(const EpValueView& value, const EpTypeInfo& type);

  TypePtr type_;
  const EpTypeInfo* info_;
};

}  // namespace epiphyte::core
