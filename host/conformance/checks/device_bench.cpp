#include "host/conformance/checks/device_bench.h"

#include <algorithm>

namespace epiphyte::conformance {

DeviceBench::DeviceBench(Journal& journal, const Target& target, std::initializer_list<Rule> rules)
    : bench_(journal, target), devices_(bench_.plugin().devices()) {
  if (devices_ == nullptr) {
    NotApplicable(journal, rules, "the plugin has no ep.device");
    return;
  }
  RenewProvider();
  constexpr size_t kMostDevices = 4;
  const std::vector<const EpDeviceInfo*> all = bench_.plugin().Devices();
  for (uint32_t i = 0; i < all.size() && indices_.size() < kMostDevices; ++i) {
    if ((all[i]->flags & (EP_DEVICE_COMPILE_ONLY | EP_DEVICE_LOST)) == 0) indices_.push_back(i);
  }
  if (indices_.empty()) {
    devices_ = nullptr;
    NotApplicable(journal, rules, "every device is COMPILE_ONLY or LOST");
    return;
  }
  for (const uint32_t device : indices_) {
    const std::vector<DeviceMemory>& memories = devices_->Memories(device);
    for (uint32_t memory = 0; memory < memories.size(); ++memory) {
      places_.push_back({device, memory});
      unit_ = std::max(unit_, memories[memory].alignment);
    }
  }
}

void DeviceBench::RenewProvider() {
  if (session_ != nullptr) session_->Close();
  session_ = std::make_unique<Session>(bench_.plugin(), Session::Setup{});
}

void DeviceBench::Finish() {
  if (session_ != nullptr) session_->Close();
  bench_.Finish();
}

std::vector<std::byte> Pattern(size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  uint32_t state = seed * 2654435761u + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

std::unique_ptr<LentMemory> SourceOf(std::span<const std::byte> bytes) {
  auto memory = std::make_unique<LentMemory>(
      bytes.size(), LentMemory::Rules{"the source of a copy", Rule::kCopiesEnd, Rule::kCopiesEnd, Rule::kCopiesEnd});
  std::copy(bytes.begin(), bytes.end(), memory->data());
  memory->MakeReadOnly();
  return memory;
}

std::unique_ptr<LentMemory> TargetOf(size_t size) {
  return std::make_unique<LentMemory>(
      size, LentMemory::Rules{"the target of a copy", Rule::kCopiesEnd, Rule::kCopiesEnd, Rule::kCopiesEnd});
}

void Send(Stream& stream, std::span<const std::byte> bytes, const Buffer& buffer, uint64_t offset) {
  const std::unique_ptr<LentMemory> source = SourceOf(bytes);
  stream.Copy({{At(source->data()), At(buffer, offset), bytes.size()}});
  stream.Finish();
}

std::vector<std::byte> Receive(DebugHost& host, Stream& stream, const Buffer& buffer, uint64_t size, uint64_t offset) {
  const std::unique_ptr<LentMemory> target = TargetOf(size);
  stream.Copy({{At(buffer, offset), At(target->data()), size}});
  stream.Finish();
  Demand(host, target->SurroundingsAreUntouched(), Rule::kCopiesEnd,
         "bytes around the target of a copy were written to");
  return {target->data(), target->data() + size};
}

}  // namespace epiphyte::conformance
