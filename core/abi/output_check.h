// Output check: whether an output of a kernel has the kind, element type and static dims that the graph declares. The
// next plugin relies on them without a check and would read past the end of a wrong output.
//
// One difference is allowed: dims that the model declares and inference doesn't confirm, in an output that no plugin
// reads. It is the model's mistake and no reason to lose a computed result.
//
//   std::vector<DeclaredOutput> declared = …;                       // once, when the kernel is made
//   if (!declared[i].Fits(*output) && !declared[i].IsModelsMistake(*output)) Fail(…, declared[i].Complaint(*output));
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "core/graph/graph.h"
#include "core/graph/type.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// Everything known of an output before the run.
struct OutputType {
  TypePtr type;
  // Name of the model output that this is, if no node reads it; otherwise "".
  std::string returned_as = {};
  TypePtr inferred = nullptr;  // set if returned_as is: the type by inference alone; null: unknown

  static OutputType Of(const ValueDef* value);
};

class DeclaredOutput {
 public:
  // Null and unknown types fit every value.
  explicit DeclaredOutput(TypePtr type) : DeclaredOutput(OutputType{std::move(type)}) {}
  explicit DeclaredOutput(OutputType type)
      : type_(std::move(type)), info_(type_.type ? type_.type->abi() : nullptr), warned_(type_.returned_as.empty()) {}
  DeclaredOutput(DeclaredOutput&& other) noexcept
      : type_(std::move(other.type_)), info_(other.info_), warned_(other.warned_.load()) {}

  // Runs in every run; it costs a few comparisons for a tensor.
  bool Fits(const Value& value) const { return info_ == nullptr || Fits(*value.abi(), *info_); }
  // Whether a value that doesn't fit differs only in dims that the model alone declares, and goes to the application.
  // Logs a warning, once.
  bool IsModelsMistake(const Value& value) const;
  // Message text: "is tensor(float)[3], but the model says tensor(float)[2]".
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

  OutputType type_;
  const EpTypeInfo* info_;
  mutable std::atomic<bool> warned_;
};

}  // namespace epiphyte::core
