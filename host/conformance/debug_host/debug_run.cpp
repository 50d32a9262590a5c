#include "host/conformance/debug_host/debug_run.h"

#include <algorithm>
#include <cstring>

#include "host/conformance/debug_host/debug_host.h"

namespace epiphyte::conformance {

// A reference to a value that the plugin holds.
struct DebugRun::ValueState {
  DebugRun* run;
  Content content;
  bool released = false;
};

namespace {

constexpr uint32_t kMaxRank = EP_MAX_RANK;

std::string Shape(std::span<const int64_t> dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() > 1 ? "," : "") + std::to_string(dim);
  return text + "]";
}

EpStatus* EP_CALL GetInfo(const EpRun* run, EpRunInfo* info) {
  const DebugRun* mine = DebugRun::Find(run, "EpRunApi::GetInfo");
  return mine == nullptr ? DebugRun::NoRun() : mine->GetInfo(info);
}
EpStatus* EP_CALL AllocateOutput(EpRun* run, uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank,
                                 void** data) {
  DebugRun* mine = DebugRun::Find(run, "AllocateOutput");
  return mine == nullptr ? DebugRun::NoRun() : mine->AllocateOutput(index, type, dims, rank, data);
}
EpStatus* EP_CALL SetStringOutput(EpRun* run, uint32_t index, const int64_t* dims, uint32_t rank, const EpString*) {
  DebugRun* mine = DebugRun::Find(run, "SetStringOutput");
  void* data = nullptr;
  return mine == nullptr ? DebugRun::NoRun() : mine->AllocateOutput(index, EP_TYPE_STRING, dims, rank, &data);
}
EpStatus* EP_CALL CreateTensor(EpRun* run, EpElementType type, const int64_t* dims, uint32_t rank, EpValue** value,
                               void** data) {
  DebugRun* mine = DebugRun::Find(run, "CreateTensor");
  return mine == nullptr ? DebugRun::NoRun() : mine->CreateTensor(type, dims, rank, value, data);
}
EpStatus* EP_CALL CreateStringTensor(EpRun* run, const int64_t* dims, uint32_t rank, const EpString*, EpValue** value) {
  DebugRun* mine = DebugRun::Find(run, "CreateStringTensor");
  void* data = nullptr;
  return mine == nullptr ? DebugRun::NoRun() : mine->CreateTensor(EP_TYPE_STRING, dims, rank, value, &data);
}
EpStatus* EP_CALL CreateSequence(EpRun* run, EpElementType, EpValue* const* elements, uint64_t count, EpValue** value) {
  DebugRun* mine = DebugRun::Find(run, "CreateSequence");
  return mine == nullptr ? DebugRun::NoRun() : mine->Nest(EP_KIND_SEQUENCE, elements, count, value);
}
EpStatus* EP_CALL CreateMap(EpRun* run, EpValue* keys, EpValue* values, EpValue** value) {
  DebugRun* mine = DebugRun::Find(run, "CreateMap");
  EpValue* const both[] = {keys, values};
  return mine == nullptr ? DebugRun::NoRun() : mine->Nest(EP_KIND_MAP, both, 2, value);
}
EpStatus* EP_CALL CreateEmptyOptional(EpRun* run, EpValue** value) {
  DebugRun* mine = DebugRun::Find(run, "CreateEmptyOptional");
  return mine == nullptr ? DebugRun::NoRun() : mine->Nest(EP_KIND_UNKNOWN, nullptr, 0, value);
}
EpStatus* EP_CALL ShareValue(EpRun* run, const EpValueView* view, EpValue** value) {
  DebugRun* mine = DebugRun::Find(run, "ShareValue");
  return mine == nullptr ? DebugRun::NoRun() : mine->ShareValue(view, value);
}
EpStatus* EP_CALL SetOutput(EpRun* run, uint32_t index, EpValue* value) {
  DebugRun* mine = DebugRun::Find(run, "SetOutput");
  return mine == nullptr ? DebugRun::NoRun() : mine->SetOutput(index, value);
}
void EP_CALL ReleaseValue(EpValue* value) { DebugRun::ReleaseValue(value); }
uint32_t EP_CALL IsCancelled(const EpRun* run) {
  DebugRun* mine =
      Live<EpRun, DebugRun>().Require(run, "EpRunApi::IsCancelled", Rule::kRunEndsWithExecute, Rule::kDoesNotCrash);
  return mine == nullptr ? 1 : mine->IsCancelled();
}
EpStatus* EP_CALL SetCancelListener(EpRun* run, EpCancelListener listener, void* user) {
  DebugRun* mine = DebugRun::Find(run, "EpRunApi::SetCancelListener");
  if (mine == nullptr) return DebugRun::NoRun();
  if (listener != nullptr && mine->IsCancelled() != 0) listener(user);
  return nullptr;
}
EpStatus* EP_CALL TakeMemory(EpRun* run, uint64_t bytes) {
  DebugRun* mine = DebugRun::Find(run, "TakeMemory");
  return mine == nullptr ? DebugRun::NoRun() : mine->TakeMemory(bytes);
}
void EP_CALL ReturnMemory(EpRun* run, uint64_t) { DebugRun::Find(run, "ReturnMemory"); }

}  // namespace

const EpRunApi kDebugRunApi = {sizeof(EpRunApi),
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
const EpRunLimitsApi kDebugRunLimitsApi = {sizeof(EpRunLimitsApi), 0, TakeMemory, ReturnMemory};

DebugRun* DebugRun::Find(const EpRun* run, const char* function) {
  return Live<EpRun, DebugRun>().Require(run, function, Rule::kRunEndsWithExecute, Rule::kRunStaysOnItsThread);
}

EpStatus* DebugRun::NoRun() {
  return DebugHost::Current().NewStatus(EP_STATUS_INVALID_ARGUMENT, "the run is of no use here");
}

DebugRun::DebugRun(const std::vector<Tensor>& inputs, std::vector<ValueSpec> declared, unsigned char fill,
                   DeviceRun* device)
    : device_(device),
      arena_(16 << 10, {"a view of an input", Rule::kInputsAreReadOnly, Rule::kInputsEnd, Rule::kRunEndsWithExecute}),
      declared_(std::move(declared)),
      fill_(fill),
      outputs_(declared_.size()),
      handle_(Live<EpRun, DebugRun>().Open(this)) {
  static std::atomic<uint64_t> last_run{0};
  auto** views = arena_.New<const EpValueView*>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& from = inputs[i];
    const DeviceRun::Piece* piece = device_ == nullptr ? nullptr : device_->Input(i);
    std::shared_ptr<LentMemory> memory;
    if (piece == nullptr) {
      memory = std::make_shared<LentMemory>(
          from.bytes.size(),
          LentMemory::Rules{"input " + std::to_string(i), Rule::kInputsAreReadOnly, Rule::kInputsEnd, MemoryEnds()});
      std::copy(from.bytes.begin(), from.bytes.end(), memory->data());
      if (device_ == nullptr || !device_->MayBeOverwritten(i)) memory->MakeReadOnly();
    }
    auto* tensor = arena_.New<EpTensorView>();
    tensor->struct_size = sizeof(EpTensorView);
    tensor->element_type = from.type;
    tensor->rank = static_cast<uint32_t>(from.dims.size());
    tensor->dims = arena_.Copy(std::span(from.dims));
    tensor->element_count = 1;
    for (const int64_t dim : from.dims) tensor->element_count *= static_cast<uint64_t>(dim);
    tensor->byte_size = from.bytes.size();
    Place(piece, memory.get(), tensor);
    auto* view = arena_.New<EpValueView>();
    view->struct_size = sizeof(EpValueView);
    view->kind = EP_KIND_TENSOR;
    view->tensor = tensor;
    views[i] = view;
    input_memory_.push_back(std::move(memory));
    Content content;
    content.type = from.type;
    content.dims = from.dims;
    content.given = false;
    input_contents_.push_back(std::move(content));
  }
  info_.struct_size = sizeof(info_);
  info_.input_count = static_cast<uint32_t>(inputs.size());
  info_.output_count = static_cast<uint32_t>(declared_.size());
  info_.thread_count = DebugHost::kThreads;
  info_.inputs = views;
  info_.tag = arena_.Copy("conformance");
  info_.run_id = ++last_run;
  arena_.Lend();
}

DebugRun::~DebugRun() { End(); }

// Submitted work may use the memory after Execute.
Rule DebugRun::MemoryEnds() const {
  return device_ != nullptr && device_->async() ? Rule::kWorkEndsWithItsPoint : Rule::kRunEndsWithExecute;
}

void DebugRun::Place(const DeviceRun::Piece* piece, const LentMemory* memory, EpTensorView* view) {
  if (piece == nullptr) {
    view->data = memory->data();
    return;
  }
  view->buffer = piece->buffer;
  view->device = piece->device;
  view->memory = piece->memory;
  view->offset = piece->offset;
}

void DebugRun::EndCall() {
  if (!in_call_) return;
  in_call_ = false;
  Live<EpRun, DebugRun>().Close(handle_);
  for (EpValue* value : values_) Live<EpValue, ValueState>().Close(value);
  for (const auto& view : output_views_) view->TakeAway();
  arena_.TakeAway();
}

void DebugRun::End() {
  EndCall();
  if (!open_) return;
  open_ = false;
  for (const auto& memory : input_memory_) {
    if (memory != nullptr) memory->TakeAway();
  }
  for (const auto& output : outputs_) {
    if (output && output->memory != nullptr) output->memory->TakeAway();
  }
}

std::vector<Tensor> DebugRun::TakeOutputs() {
  DebugHost& host = DebugHost::Current();
  std::vector<Tensor> taken;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i]) {
      host.Violate(Rule::kEveryOutputIsSet, "Execute succeeded and did not set output " + std::to_string(i));
      continue;
    }
    const Content& content = *outputs_[i];
    Tensor tensor = {content.type, content.dims, {}};
    if (content.memory != nullptr) {
      if (!content.memory->SurroundingsAreUntouched()) {
        host.Violate(Rule::kOutputsEnd, "bytes around output " + std::to_string(i) + " were written to");
      }
      tensor.bytes.assign(content.memory->data(), content.memory->data() + content.memory->size());
    }
    if (content.on_device)
      tensor.bytes = device_->Output(static_cast<uint32_t>(i), ByteSize(content.type, content.dims));
    taken.push_back(std::move(tensor));
  }
  End();
  return taken;
}

EpStatus* DebugRun::GetInfo(EpRunInfo* info) const {
  return DebugHost::Current().FillRoom(info, info_, "EpRunApi::GetInfo");
}

EpStatus* DebugRun::NewContent(EpElementType type, const int64_t* dims, uint32_t rank, Content* content) {
  DebugHost& host = DebugHost::Current();
  if (rank > kMaxRank) {
    return host.Refuse(Rule::kShapesAreShapes, "a tensor of rank " + std::to_string(rank) + ", at most " +
                                                   std::to_string(kMaxRank) + " is allowed");
  }
  if (rank > 0 && dims == nullptr) return host.Refuse(Rule::kShapesAreShapes, "a tensor with a rank and without dims");
  content->type = type;
  content->dims.assign(dims, dims + rank);
  for (const int64_t dim : content->dims) {
    if (dim < 0) return host.Refuse(Rule::kShapesAreShapes, "a tensor with dims " + Shape(content->dims));
  }
  return nullptr;
}

EpStatus* DebugRun::CheckDeclared(uint32_t index, const Content& content) const {
  DebugHost& host = DebugHost::Current();
  const ValueSpec& declared = declared_[index];
  const std::string output = "output " + std::to_string(index) + " is ";
  if (content.kind != EP_KIND_TENSOR) {
    return host.Refuse(Rule::kOutputsHaveTheirKind,
                       output + "of kind " + std::to_string(content.kind) + ", the graph declares a tensor");
  }
  if (content.type != declared.type) {
    return host.Refuse(Rule::kOutputsHaveTheirType, output + "of element type " + std::to_string(content.type) +
                                                        ", the graph declares " + std::to_string(declared.type));
  }
  const bool fits = std::equal(content.dims.begin(), content.dims.end(), declared.dims.begin(), declared.dims.end(),
                               [](int64_t found, int64_t expected) { return expected < 0 || found == expected; });
  if (fits) return nullptr;
  return host.Refuse(Rule::kOutputsHaveTheirDims,
                     output + Shape(content.dims) + ", the graph declares " + Shape(declared.dims));
}

EpStatus* DebugRun::NewOutput(uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank,
                              Content* content) {
  DebugHost& host = DebugHost::Current();
  if (index >= outputs_.size()) {
    return host.Refuse(Rule::kOutputsByIndex, "output " + std::to_string(index) + " was allocated, the partition has " +
                                                  std::to_string(outputs_.size()));
  }
  if (outputs_[index]) return host.Refuse(Rule::kEachOutputOnce, "output " + std::to_string(index) + " was set twice");
  if (EpStatus* status = NewContent(type, dims, rank, content)) return status;
  if (EpStatus* status = CheckDeclared(index, *content)) return status;
  if (!refuse_memory_) return nullptr;
  has_refused_ = true;
  return host.NewStatus(EP_STATUS_FAIL, "the run may not take more memory; raise session.max_run_bytes");
}

std::shared_ptr<LentMemory> DebugRun::OutputMemory(uint32_t index, const Content& content) const {
  const uint64_t bytes = ByteSize(content.type, content.dims);
  auto memory = std::make_shared<LentMemory>(
      bytes, LentMemory::Rules{"output " + std::to_string(index), Rule::kOutputsEnd, Rule::kOutputsEnd, MemoryEnds()});
  std::memset(memory->data(), fill_, bytes);
  return memory;
}

EpStatus* DebugRun::AllocateOutput(uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank,
                                   void** data) {
  Content content;
  if (EpStatus* status = NewOutput(index, type, dims, rank, &content)) return status;
  content.memory = OutputMemory(index, content);
  *data = content.memory->data();
  outputs_[index] = std::move(content);
  return nullptr;
}

EpValue* DebugRun::Give(Content content) {
  EpValue* value = Live<EpValue, ValueState>().Open(new ValueState{this, std::move(content)});
  values_.push_back(value);
  return value;
}

EpStatus* DebugRun::CreateTensor(EpElementType type, const int64_t* dims, uint32_t rank, EpValue** value, void** data) {
  Content content;
  if (EpStatus* status = NewContent(type, dims, rank, &content)) return status;
  const uint64_t bytes = ByteSize(type, content.dims);
  content.memory = std::make_shared<LentMemory>(
      bytes, LentMemory::Rules{"a value", Rule::kOutputsEnd, Rule::kOutputsEnd, Rule::kRunEndsWithExecute});
  std::memset(content.memory->data(), fill_, bytes);
  *data = content.memory->data();
  *value = Give(std::move(content));
  return nullptr;
}

// Returns the state of the value if the plugin may use it now; else null.
DebugRun::ValueState* DebugRun::Use(EpValue* value, const char* function) {
  DebugHost& host = DebugHost::Current();
  ValueState* state =
      Live<EpValue, ValueState>().Require(value, function, Rule::kValuesOfThisRun, Rule::kRunStaysOnItsThread);
  if (state == nullptr) return nullptr;
  if (state->run != this) {
    host.Violate(Rule::kValuesOfThisRun, std::string(function) + " was called with a value of another run");
    return nullptr;
  }
  if (!state->released) return state;
  host.Violate(Rule::kReleasedValuesAreGone,
               std::string(function) + " was called with a value that was released before");
  return nullptr;
}

EpStatus* DebugRun::Nest(EpTypeKind kind, EpValue* const* elements, uint64_t count, EpValue** value) {
  for (uint64_t i = 0; i < count; ++i) {
    if (Use(elements[i], kind == EP_KIND_MAP ? "CreateMap" : "CreateSequence") == nullptr) return NoRun();
  }
  Content content;
  content.kind = kind;
  *value = Give(std::move(content));
  return nullptr;
}

EpStatus* DebugRun::ShareValue(const EpValueView* view, EpValue** value) {
  for (uint32_t i = 0; i < info_.input_count; ++i) {
    if (info_.inputs[i] != view) continue;
    Content content = input_contents_[i];
    // Even for an input in device memory, the suite knows the numbers.
    const std::span<const std::byte> input =
        input_memory_[i] == nullptr ? std::span<const std::byte>(device_->given(i).bytes)
                                    : std::span<const std::byte>(input_memory_[i]->data(), input_memory_[i]->size());
    content.memory = std::make_shared<LentMemory>(
        input.size(),
        LentMemory::Rules{"a shared input", Rule::kInputsAreReadOnly, Rule::kInputsEnd, Rule::kRunEndsWithExecute});
    std::copy(input.begin(), input.end(), content.memory->data());
    *value = Give(std::move(content));
    return nullptr;
  }
  return DebugHost::Current().Refuse(Rule::kViewsAreTheHosts, "ShareValue was called with a view that is of no input");
}

EpStatus* DebugRun::SetOutput(uint32_t index, EpValue* value) {
  DebugHost& host = DebugHost::Current();
  if (index >= outputs_.size()) {
    return host.Refuse(Rule::kOutputsByIndex, "output " + std::to_string(index) + " was set, the partition has " +
                                                  std::to_string(outputs_.size()));
  }
  ValueState* state = Use(value, "SetOutput");
  if (state == nullptr) return NoRun();
  if (outputs_[index]) return host.Refuse(Rule::kEachOutputOnce, "output " + std::to_string(index) + " was set twice");
  if (EpStatus* status = CheckDeclared(index, state->content)) return status;
  outputs_[index] = state->content;
  return nullptr;
}

void DebugRun::ReleaseValue(EpValue* value) {
  if (value == nullptr) return;
  ValueState* state =
      Live<EpValue, ValueState>().Require(value, "ReleaseValue", Rule::kValuesOfThisRun, Rule::kRunStaysOnItsThread);
  if (state == nullptr) return;
  if (state->released) {
    DebugHost::Current().Violate(Rule::kValuesReleasedOnce,
                                 "ReleaseValue was called with a value that was released before");
  }
  state->released = true;
}

EpStatus* DebugRun::TakeMemory(uint64_t) {
  if (!refuse_memory_) return nullptr;
  has_refused_ = true;
  return DebugHost::Current().NewStatus(EP_STATUS_FAIL,
                                        "the run may not take more memory; raise session.max_run_bytes");
}

uint32_t DebugRun::IsCancelled() {
  if (cancelled_) told_ = true;
  return cancelled_ ? 1 : 0;
}

}  // namespace epiphyte::conformance
