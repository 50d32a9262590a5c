// The functions of DebugRun that only a kernel on a device calls.
#include "host/conformance/debug_host/debug_host.h"
#include "host/conformance/debug_host/debug_run.h"

namespace epiphyte::conformance {
namespace {

// The exception that ends a check must not pass through the plugin, so it becomes a status here.
template <typename Function>
EpStatus* WithoutThrowing(const Function& function) {
  try {
    return function();
  } catch (const CheckEnded&) {
    return DebugHost::Current().NewStatus(EP_STATUS_FAIL, "a rule was broken");
  }
}

EpStatus* NotOnADevice() {
  return DebugHost::Current().NewStatus(EP_STATUS_INVALID_ARGUMENT,
                                        "the kernel is on no device: it is not ASYNC and names no memories");
}

EpStatus* EP_CALL GetStream(EpRun* run, EpStream** stream) {
  DebugRun* mine = DebugRun::Find(run, "GetStream");
  return mine == nullptr ? DebugRun::NoRun() : mine->GetStream(stream);
}
EpStatus* EP_CALL AllocateOutput(EpRun* run, uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank,
                                 const EpTensorView** output) {
  DebugRun* mine = DebugRun::Find(run, "EpDeviceRunApi::AllocateOutput");
  if (mine == nullptr) return DebugRun::NoRun();
  return WithoutThrowing([&] { return mine->AllocateOutputAnywhere(index, type, dims, rank, output); });
}
EpStatus* EP_CALL AdoptOutput(EpRun* run, uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank,
                              uint32_t memory, EpBuffer* buffer, uint64_t size, uint64_t offset) {
  DebugRun* mine = DebugRun::Find(run, "AdoptOutput");
  if (mine == nullptr) return DebugRun::NoRun();
  return WithoutThrowing([&] { return mine->AdoptOutput(index, type, dims, rank, memory, buffer, size, offset); });
}

}  // namespace

const EpDeviceRunApi kDebugDeviceRunApi = {sizeof(EpDeviceRunApi), 0, GetStream, AllocateOutput, AdoptOutput};

EpStatus* DebugRun::GetStream(EpStream** stream) {
  if (device_ == nullptr) return NotOnADevice();
  *stream = device_->stream().handle();
  return nullptr;
}

EpStatus* DebugRun::AllocateOutputAnywhere(uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank,
                                           const EpTensorView** output) {
  if (device_ == nullptr) return NotOnADevice();
  Content content;
  if (EpStatus* status = NewOutput(index, type, dims, rank, &content)) return status;
  const uint64_t bytes = ByteSize(type, content.dims);
  const DeviceRun::Room room = device_->RoomFor(index, bytes);
  content.on_device = room.piece != nullptr;
  if (room.piece == nullptr) {
    content.memory = room.input < 0 ? OutputMemory(index, content) : input_memory_[static_cast<size_t>(room.input)];
  }
  output_views_.push_back(
      std::make_unique<Arena>(4096, LentMemory::Rules{"the view of output " + std::to_string(index), Rule::kOutputsEnd,
                                                      Rule::kOutputsEnd, Rule::kRunEndsWithExecute}));
  Arena& arena = *output_views_.back();
  auto* view = arena.New<EpTensorView>();
  view->struct_size = sizeof(EpTensorView);
  view->element_type = type;
  view->rank = rank;
  view->dims = arena.Copy(std::span<const int64_t>(content.dims));
  view->element_count = 1;
  for (const int64_t dim : content.dims) view->element_count *= static_cast<uint64_t>(dim);
  view->byte_size = bytes;
  Place(room.piece, content.memory.get(), view);
  arena.Lend();
  outputs_[index] = std::move(content);
  *output = view;
  return nullptr;
}

EpStatus* DebugRun::AdoptOutput(uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank, uint32_t memory,
                                EpBuffer* buffer, uint64_t size, uint64_t offset) {
  if (device_ == nullptr) return NotOnADevice();
  Content content;
  if (EpStatus* status = NewOutput(index, type, dims, rank, &content)) return status;
  if (EpStatus* status = device_->Adopt(index, ByteSize(type, content.dims), memory, buffer, size, offset))
    return status;
  content.on_device = true;
  outputs_[index] = std::move(content);
  return nullptr;
}

}  // namespace epiphyte::conformance
