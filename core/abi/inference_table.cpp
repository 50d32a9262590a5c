// The host's table of ep_schema.h.
#include "core/abi/handles.h"
#include "core/abi/type_from_abi.h"

namespace epiphyte::core {
namespace {

template <typename Body>
EpStatus* OnOpenInference(const EpInference* handle, Body body) {
  return Guard([&] {
    EpInference* inference = CallScopedHandle<EpInference>::Find(handle);
    if (inference == nullptr) {
      Fail(StatusCode::kInvalidArgument,
           "an inference was used outside of the InferTypes call that it was given to, or on another thread");
    }
    body(*inference);
  });
}

EpStatus* EP_CALL GetInts(EpInference* handle, uint64_t input, const int64_t** values, uint64_t* count) {
  return OnOpenInference(handle, [&](EpInference& inference) {
    if (values == nullptr || count == nullptr) {
      Fail(StatusCode::kInvalidArgument, "GetInts: a place for the values and one for their number are expected");
    }
    *values = nullptr;
    *count = 0;
    if (input >= inference.ints.size()) return;
    auto& found = inference.ints[static_cast<size_t>(input)];
    if (!found) found = inference.node.ints(static_cast<size_t>(input));
    if (!found) return;
    *values = found->data();
    *count = found->size();
  });
}

EpStatus* EP_CALL SetOutput(EpInference* handle, uint64_t output, const EpTypeInfo* type) {
  return OnOpenInference(handle, [&](EpInference& inference) {
    if (output >= inference.outputs.size()) {
      Fail(StatusCode::kInvalidArgument, "SetOutput: output {} of {} was set", output, inference.outputs.size());
    }
    if (type == nullptr) Fail(StatusCode::kInvalidArgument, "SetOutput: the type of output {} is null", output);
    inference.outputs[static_cast<size_t>(output)] = TypeFromAbi(*type);
  });
}

}  // namespace

const EpInferenceApi kInferenceApi = {sizeof(EpInferenceApi), 0, GetInts, SetOutput};

}  // namespace epiphyte::core
