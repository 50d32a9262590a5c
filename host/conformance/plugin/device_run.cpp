#include "host/conformance/plugin/device_run.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace epiphyte::conformance {
namespace {

constexpr std::byte kBufferFill{0xA5};
constexpr uint64_t kGuard = 64;  // minimum number of bytes before and behind a value

// Returns a memory of a set: 0 for host memory, else the index of a device memory plus 1. `choice` counts modulo the
// set.
uint32_t Pick(uint32_t memories, size_t choice) {
  size_t skip = choice % static_cast<size_t>(std::popcount(memories));
  for (uint32_t bit = 0;; ++bit) {
    if ((memories >> bit & 1) != 0 && skip-- == 0) return bit;
  }
}

bool IsOfNumbers(EpElementType type) { return type != EP_TYPE_STRING && type != EP_TYPE_UNDEFINED; }

}  // namespace

DeviceRun::DeviceRun(PluginDevices& devices, Stream& stream, const core::KernelPlaces& places,
                     const std::vector<Tensor>& inputs, const std::vector<ValueSpec>& declared, Setting setting)
    : devices_(devices),
      stream_(stream),
      places_(places),
      setting_(setting),
      given_(inputs),
      inputs_(inputs.size()),
      outputs_(declared.size()),
      aliased_(declared.size(), -1) {
  std::vector<EpCopy> copies;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t place = Pick(places_.OfInput(i), setting_.input_memory);
    if (place == 0 || !IsOfNumbers(inputs[i].type)) continue;
    inputs_[i] = Make(place - 1, inputs[i].bytes.size());
    Send(inputs_[i], inputs[i].bytes, 0, &copies);
  }
  for (size_t i = 0; i < declared.size(); ++i) {
    const uint32_t place = Pick(places_.OfOutput(i), setting_.output_memory);
    const std::vector<int64_t>& dims = declared[i].dims;
    const bool known = std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
    if (place == 0 || !known || !IsOfNumbers(declared[i].type)) continue;
    outputs_[i] = Make(place - 1, ByteSize(declared[i].type, dims));
    Send(outputs_[i], {}, setting_.fill, &copies);
  }
  stream_.Copy(copies);
  // A kernel that isn't ASYNC must find its inputs already copied.
  if (!places_.async) stream_.Finish();
}

DeviceRun::Slot DeviceRun::Make(uint32_t memory, uint64_t bytes) {
  const DeviceMemory& known = devices_.Memories(places_.device)[memory];
  const uint64_t around = std::max(known.alignment, kGuard);
  const bool guarded = !known.whole() && (known.max_buffer == 0 || bytes + around + kGuard <= known.max_buffer);
  const uint64_t lead = guarded ? around : 0;
  const uint64_t whole = guarded ? lead + bytes + kGuard : std::max<uint64_t>(bytes, 1);
  Slot slot;
  slot.buffer = std::make_unique<Buffer>(devices_, MemoryPlace{places_.device, memory}, whole);
  slot.piece = {slot.buffer->handle(), places_.device, memory, lead};
  slot.size = bytes;
  return slot;
}

void DeviceRun::Send(Slot& slot, std::span<const std::byte> bytes, unsigned char fill, std::vector<EpCopy>* copies) {
  slot.sent = std::make_unique<LentMemory>(
      slot.buffer->size(),
      LentMemory::Rules{"the source of a copy", Rule::kCopiesEnd, Rule::kCopiesEnd, Rule::kCopiesEnd});
  std::byte* data = slot.sent->data();
  std::fill_n(data, slot.buffer->size(), kBufferFill);
  if (bytes.empty()) {
    std::memset(data + slot.piece.offset, fill, slot.size);
  } else {
    std::copy(bytes.begin(), bytes.end(), data + slot.piece.offset);
  }
  slot.sent->MakeReadOnly();
  copies->push_back({At(data), At(*slot.buffer), slot.buffer->size()});
}

const DeviceRun::Piece* DeviceRun::Input(size_t index) const {
  return inputs_[index].buffer == nullptr ? nullptr : &inputs_[index].piece;
}

// Returns whether the output may alias the input, by the kernel's description and the input's memory.
bool DeviceRun::CanAlias(size_t output, size_t input) const {
  if (!setting_.aliases || places_.AliasOf(output) != static_cast<int32_t>(input)) return false;
  const uint32_t place = inputs_[input].buffer == nullptr ? 0 : inputs_[input].piece.memory + 1;
  const bool taken = std::find(aliased_.begin(), aliased_.end(), static_cast<int>(input)) != aliased_.end();
  return !taken && (places_.OfOutput(output) >> place & 1) != 0;
}

bool DeviceRun::MayBeOverwritten(size_t input) const {
  if (inputs_[input].buffer != nullptr) return false;
  for (size_t output = 0; output < outputs_.size(); ++output) {
    if (CanAlias(output, input)) return true;
  }
  return false;
}

DeviceRun::Room DeviceRun::RoomFor(uint32_t output, uint64_t bytes) {
  const int32_t alias = places_.AliasOf(output);
  if (alias >= 0 && CanAlias(output, static_cast<size_t>(alias)) &&
      given_[static_cast<size_t>(alias)].bytes.size() == bytes) {
    const Slot& input = inputs_[static_cast<size_t>(alias)];
    has_aliased_ = true;
    aliased_[output] = alias;
    if (input.buffer != nullptr) return {.piece = &input.piece};
    return {.input = alias};
  }
  if (outputs_[output].buffer != nullptr) return {.piece = &outputs_[output].piece};
  const uint32_t place = Pick(places_.OfOutput(output), setting_.output_memory);
  if (place == 0) return {};
  outputs_[output] = Make(place - 1, bytes);
  return {.piece = &outputs_[output].piece};
}

EpStatus* DeviceRun::Adopt(uint32_t output, uint64_t bytes, uint32_t memory, EpBuffer* buffer, uint64_t size,
                           uint64_t offset) {
  DebugHost& host = devices_.host();
  const std::string what = "output " + std::to_string(output) + " is in a buffer ";
  if (buffer == nullptr) return host.Refuse(Rule::kAdoptedBuffersAreNew, what + "that is null");
  const std::vector<DeviceMemory>& memories = devices_.Memories(places_.device);
  if (memory >= memories.size()) {
    return host.Refuse(Rule::kAdoptedBuffersFit, what + "in memory " + std::to_string(memory) + ", the device has " +
                                                     std::to_string(memories.size()));
  }
  if (offset > size || bytes > size - offset) {
    return host.Refuse(Rule::kAdoptedBuffersFit, what + "of " + std::to_string(size) + " bytes, at offset " +
                                                     std::to_string(offset) + ", and has " + std::to_string(bytes));
  }
  const DeviceMemory& known = memories[memory];
  if (offset % known.alignment != 0 || (known.whole() && offset != 0)) {
    return host.Refuse(Rule::kAdoptedBuffersFit, what + "at offset " + std::to_string(offset) + ", in a memory with " +
                                                     "alignment " + std::to_string(known.alignment));
  }
  Slot slot;
  slot.buffer = Buffer::TryAdopt(devices_, {places_.device, memory}, buffer, size);
  if (slot.buffer == nullptr) return host.Refuse(Rule::kAdoptedBuffersAreNew, what + "that the host has already");
  slot.piece = {buffer, places_.device, memory, offset};
  slot.size = bytes;
  std::swap(outputs_[output], slot);
  unused_.push_back(std::move(slot));
  has_adopted_ = true;
  return nullptr;
}

DebugHost::Failure DeviceRun::Finish(bool succeeded) {
  if (places_.async) stream_.NoteSubmission();
  std::vector<EpCopy> copies;
  for (std::vector<Slot>* slots : {&inputs_, &outputs_}) {
    for (Slot& slot : *slots) {
      if (slot.buffer == nullptr || !succeeded) continue;
      slot.received = std::make_unique<LentMemory>(
          slot.buffer->size(),
          LentMemory::Rules{"the target of a copy", Rule::kCopiesEnd, Rule::kCopiesEnd, Rule::kCopiesEnd});
      copies.push_back({At(*slot.buffer), At(slot.received->data()), slot.buffer->size()});
    }
  }
  const DebugHost::Failure copied = stream_.TryCopy(copies);
  const DebugHost::Failure finished = stream_.TryFinish();
  for (std::vector<Slot>* slots : {&inputs_, &outputs_}) {
    for (Slot& slot : *slots) {
      if (slot.received != nullptr) slot.received->MakeReadOnly();
    }
  }
  if (copied || finished) return copied ? copied : finished;
  if (succeeded) Compare();
  return {};
}

bool DeviceRun::SameAround(const Slot& slot) const {
  const std::byte* before = slot.sent->data();
  const std::byte* after = slot.received->data();
  const uint64_t end = slot.piece.offset + slot.size;
  return std::equal(before, before + slot.piece.offset, after) &&
         std::equal(before + end, before + slot.buffer->size(), after + end);
}

void DeviceRun::Compare() const {
  DebugHost& host = devices_.host();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Slot& slot = inputs_[i];
    if (slot.buffer == nullptr) continue;
    const bool aliased = std::find(aliased_.begin(), aliased_.end(), static_cast<int>(i)) != aliased_.end();
    const bool same =
        aliased || std::equal(slot.sent->data(), slot.sent->data() + slot.sent->size(), slot.received->data());
    if (!same) host.Violate(Rule::kInputsAreReadOnly, "input " + std::to_string(i) + " was written to on the device");
    if (aliased && !SameAround(slot))
      host.Violate(Rule::kOutputsEnd, "bytes around the memory of input " + std::to_string(i) + " were written to");
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Slot& slot = outputs_[i];
    if (slot.buffer == nullptr || slot.sent == nullptr || SameAround(slot)) continue;
    host.Violate(Rule::kOutputsEnd, "bytes around output " + std::to_string(i) + " were written to on the device");
  }
}

std::vector<std::byte> DeviceRun::Output(uint32_t output, uint64_t bytes) const {
  const int alias = aliased_[output];
  const Slot& slot = alias >= 0 ? inputs_[static_cast<size_t>(alias)] : outputs_[output];
  const std::byte* data = slot.received->data() + slot.piece.offset;
  return {data, data + bytes};
}

}  // namespace epiphyte::conformance
