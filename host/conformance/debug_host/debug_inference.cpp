#include "host/conformance/debug_host/debug_inference.h"

#include <cstring>

#include "core/abi/type_from_abi.h"
#include "core/base/error.h"
#include "host/conformance/debug_host/debug_host.h"

namespace epiphyte::conformance {
namespace {

DebugInference* Require(const EpInference* inference, const char* function) {
  return Live<EpInference, DebugInference>().Require(inference, function, Rule::kInferenceEndsWithTheCall,
                                                     Rule::kInferenceEndsWithTheCall);
}
EpStatus* NoInference() {
  return DebugHost::Current().NewStatus(EP_STATUS_INVALID_ARGUMENT, "the inference is of no use here");
}

EpStatus* EP_CALL GetInts(EpInference* inference, uint64_t input, const int64_t** values, uint64_t* count) {
  const DebugInference* mine = Require(inference, "GetInts");
  return mine == nullptr ? NoInference() : mine->GetInts(input, values, count);
}
EpStatus* EP_CALL SetOutput(EpInference* inference, uint64_t output, const EpTypeInfo* type) {
  DebugInference* mine = Require(inference, "EpInferenceApi::SetOutput");
  return mine == nullptr ? NoInference() : mine->SetOutput(output, type);
}

}  // namespace

const EpInferenceApi kDebugInferenceApi = {sizeof(EpInferenceApi), 0, GetInts, SetOutput};

DebugInference::DebugInference(size_t outputs, const std::vector<std::vector<int64_t>>& ints)
    : types_(outputs), handle_(Live<EpInference, DebugInference>().Open(this)) {
  constexpr Rule kRule = Rule::kInferenceEndsWithTheCall;
  for (const std::vector<int64_t>& known : ints) {
    std::unique_ptr<LentMemory> lent;
    if (!known.empty()) {
      const size_t bytes = known.size() * sizeof(int64_t);
      lent = std::make_unique<LentMemory>(bytes, LentMemory::Rules{"what GetInts gave", kRule, kRule, kRule});
      std::memcpy(lent->data(), known.data(), bytes);
      lent->MakeReadOnly();
    }
    ints_.push_back(std::move(lent));
  }
}

DebugInference::~DebugInference() { Live<EpInference, DebugInference>().Close(handle_); }

EpStatus* DebugInference::GetInts(uint64_t input, const int64_t** values, uint64_t* count) const {
  if (values == nullptr || count == nullptr) {
    return DebugHost::Current().NewStatus(EP_STATUS_INVALID_ARGUMENT,
                                          "GetInts: a place for the values and one for their number are expected");
  }
  const LentMemory* known = input < ints_.size() ? ints_[static_cast<size_t>(input)].get() : nullptr;
  *values = known == nullptr ? nullptr : reinterpret_cast<const int64_t*>(known->data());
  *count = known == nullptr ? 0 : known->size() / sizeof(int64_t);
  return nullptr;
}

EpStatus* DebugInference::SetOutput(uint64_t output, const EpTypeInfo* type) {
  DebugHost& host = DebugHost::Current();
  if (output >= types_.size()) {
    return host.Refuse(Rule::kInferredTypesAreTypes, "SetOutput was called for output " + std::to_string(output) +
                                                         " of " + std::to_string(types_.size()));
  }
  const std::string which = "SetOutput of output " + std::to_string(output) + ": ";
  if (type == nullptr) return host.Refuse(Rule::kInferredTypesAreTypes, which + "the type is null");
  try {
    const core::TypePtr known = core::TypeFromAbi(*type);
    types_[static_cast<size_t>(output)] = known->kind() == EP_KIND_UNKNOWN ? "" : known->ToString();
  } catch (const core::Error& error) {
    return host.Refuse(Rule::kInferredTypesAreTypes, which + error.message());
  }
  return nullptr;
}

}  // namespace epiphyte::conformance
