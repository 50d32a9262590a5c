// The run table: outputs that a kernel makes.
#include "core/abi/handles.h"
#include "core/abi/run_checks.h"
#include "core/base/log.h"

namespace epiphyte::core {
namespace {

ValuePtr MakeStrings(RunState* state, const int64_t* dims, uint32_t rank, const EpString* strings) {
  CheckShape(dims, rank);
  uint64_t count = ElementCount(dims, rank);
  if (strings == nullptr && count != 0) NullRunArgument();
  if (state != nullptr) state->TakeTensor(DataTypeBytes(DataType::kComplex128, count));
  std::vector<std::string> copies;
  for (uint64_t i = 0; i < count; ++i) {
    if (strings[i].data == nullptr && strings[i].size != 0) NullRunArgument();
    copies.emplace_back(strings[i].data == nullptr ? "" : strings[i].data, strings[i].size);
  }
  return Value::Strings({dims, rank}, std::move(copies));
}

EpStatus* EP_CALL GetInfo(const EpRun* run, EpRunInfo* info) {
  if (run == nullptr || info == nullptr) {
    return MakeStatus(StatusCode::kInvalidArgument, "a null pointer was passed to a run function");
  }
  EpRunInfo full;
  full.input_count = static_cast<uint32_t>(run->inputs.size());
  full.output_count = static_cast<uint32_t>(run->outputs.size());
  full.thread_count = run->thread_count;
  full.inputs = reinterpret_cast<const EpValueView* const*>(run->inputs.data());
  full.tag = run->state == nullptr || run->state->tag().empty() ? "" : run->state->tag().data();
  full.options = run->options == nullptr ? nullptr : run->options->data();
  full.option_count = run->options == nullptr ? 0 : static_cast<uint32_t>(run->options->size());
  full.reserved = 0;
  full.run_id = run->state == nullptr ? RunState::NextId() : run->state->id();
  full.binding = run->submission == nullptr ? 0 : run->submission->binding;
  return Guard([&] { FillAbi(full, info); });
}

EpStatus* EP_CALL AllocateOutput(EpRun* run, uint32_t index, EpElementType element_type, const int64_t* dims,
                                 uint32_t rank, void** data) {
  return Guard([&] {
    if (run == nullptr || data == nullptr) NullRunArgument();
    CheckIndex(*run, index);
    CheckShape(dims, rank);
    if (element_type == EP_TYPE_STRING)
      Fail(StatusCode::kEpFail, "AllocateOutput can't make strings; use SetStringOutput");
    ValuePtr value;
    if (run->submission == nullptr) [[likely]] {
      value = Value::Tensor(static_cast<DataType>(element_type), {dims, rank}, run->state);
    } else {
      CheckNumbers(element_type, dims, rank);
      value = run->submission->outputs->MakeOnHost(index, static_cast<DataType>(element_type), {dims, rank});
    }
    *data = value->mutable_data();
    run->outputs[index] = std::move(value);
  });
}

EpStatus* EP_CALL SetStringOutput(EpRun* run, uint32_t index, const int64_t* dims, uint32_t rank,
                                  const EpString* strings) {
  return Guard([&] {
    if (run == nullptr) NullRunArgument();
    CheckIndex(*run, index);
    run->outputs[index] = MakeStrings(run->state, dims, rank, strings);
  });
}

EpStatus* EP_CALL CreateTensor(EpRun* run, EpElementType element_type, const int64_t* dims, uint32_t rank,
                               EpValue** value, void** data) {
  return Guard([&] {
    if (run == nullptr || value == nullptr || data == nullptr) NullRunArgument();
    CheckShape(dims, rank);
    if (element_type == EP_TYPE_STRING)
      Fail(StatusCode::kEpFail, "CreateTensor can't make strings; use CreateStringTensor");
    ValuePtr made = Value::Tensor(static_cast<DataType>(element_type), {dims, rank}, run->state);
    void* memory = made->mutable_data();
    *value = run->values.Give(std::move(made));
    *data = memory;
  });
}

EpStatus* EP_CALL CreateStringTensor(EpRun* run, const int64_t* dims, uint32_t rank, const EpString* strings,
                                     EpValue** value) {
  return Guard([&] {
    if (run == nullptr || value == nullptr) NullRunArgument();
    *value = run->values.Give(MakeStrings(run->state, dims, rank, strings));
  });
}

EpStatus* EP_CALL CreateSequence(EpRun* run, EpElementType element_type, EpValue* const* elements, uint64_t count,
                                 EpValue** value) {
  return Guard([&] {
    if (run == nullptr || value == nullptr || (elements == nullptr && count != 0)) NullRunArgument();
    std::vector<ValuePtr> shared;
    for (uint64_t i = 0; i < count; ++i) {
      if (elements[i] == nullptr) NullRunArgument();
      shared.push_back(ValuePtr::Share(run->values.Get(elements[i])));
    }
    *value = run->values.Give(Value::Sequence(static_cast<DataType>(element_type), std::move(shared)));
  });
}

EpStatus* EP_CALL CreateMap(EpRun* run, EpValue* keys, EpValue* values, EpValue** value) {
  return Guard([&] {
    if (run == nullptr || keys == nullptr || values == nullptr || value == nullptr) NullRunArgument();
    *value =
        run->values.Give(Value::Map(ValuePtr::Share(run->values.Get(keys)), ValuePtr::Share(run->values.Get(values))));
  });
}

EpStatus* EP_CALL CreateEmptyOptional(EpRun* run, EpValue** value) {
  return Guard([&] {
    if (run == nullptr || value == nullptr) NullRunArgument();
    *value = run->values.Give(Value::EmptyOptional());
  });
}

EpStatus* EP_CALL ShareValue(EpRun* run, const EpValueView* view, EpValue** value) {
  return Guard([&] {
    if (run == nullptr || view == nullptr || value == nullptr) NullRunArgument();
    *value = run->values.Give(ValuePtr::Share(run->values.Viewed(view)));
  });
}

EpStatus* EP_CALL SetOutput(EpRun* run, uint32_t index, EpValue* value) {
  return Guard([&] {
    if (run == nullptr || value == nullptr) NullRunArgument();
    CheckIndex(*run, index);
    run->outputs[index] = ValuePtr::Share(run->values.Get(value));
  });
}

void EP_CALL ReleaseValue(EpValue* value) {
  if (value == nullptr || RunValues::Release(value)) return;
  LogMessage(LogLevel::kError, "abi",
             "ReleaseValue was given a value that no run of this thread holds, or that was released before; it was "
             "ignored");
}

uint32_t EP_CALL IsCancelled(const EpRun* run) {
  return run != nullptr && run->state != nullptr && run->state->stopped() ? 1 : 0;
}

EpStatus* EP_CALL SetCancelListener(EpRun* run, EpCancelListener listener, void* user) {
  return Guard([&] {
    if (run == nullptr) NullRunArgument();
    run->on_cancel.reset();
    if (listener == nullptr || run->state == nullptr) return;
    run->on_cancel.emplace(run->state->stop(), CancelCall{listener, user});
  });
}

}  // namespace

const EpRunApi kRunApi = {sizeof(EpRunApi),
                          0,
                          GetInfo,
                          AllocateOutput,
                          SetStringOutput,
                          CreateTensor,
                          CreateStringTensor,
                          CreateSequence,
                          CreateMap,
                          CreateEmptyOptional,
                          ShareValue,
                          SetOutput,
                          ReleaseValue,
                          IsCancelled,
                          SetCancelListener};

}  // namespace epiphyte::core
