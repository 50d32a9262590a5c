#include "core/runtime/value_places.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/device/transfer.h"

namespace epiphyte::core {
namespace {

// Begin of a tensor's bytes: an offset in a buffer or, with a null buffer, an address.
std::pair<const EpBuffer*, uint64_t> Begin(const Value& tensor) {
  if (!tensor.IsOnDevice()) return {nullptr, reinterpret_cast<uintptr_t>(tensor.data())};
  return {tensor.storage()->buffer(), tensor.storage()->offset()};
}

// Plugins are compared too, because handles of two plugins may be equal by chance.
bool IsOneSpace(const Value& a, const Value& b) {
  if (a.IsOnDevice() != b.IsOnDevice()) return false;
  if (!a.IsOnDevice()) return true;
  return &PieceOf(a)->pool()->plugin() == &PieceOf(b)->pool()->plugin() &&
         a.storage()->buffer() == b.storage()->buffer();
}

}  // namespace

bool IsWithin(const Value& tensor, const PluginDevice* device, uint32_t set) {
  if (!tensor.IsOnDevice()) return Place{}.In(set);
  const DeviceAllocation& piece = *PieceOf(tensor);
  return device != nullptr && &piece.pool()->plugin() == &device->plugin() && piece.device() == device->index() &&
         Place{piece.memory()}.In(set);
}

EpCopyEnd CopyEndOf(const Value& tensor) {
  if (!tensor.IsOnDevice()) return {nullptr, const_cast<void*>(tensor.data()), 0};
  return {tensor.storage()->buffer(), nullptr, tensor.storage()->offset()};
}

bool IsSameMemory(const Value& a, const Value& b) {
  return a.IsTensor() && b.IsTensor() && IsOneSpace(a, b) && Begin(a).second == Begin(b).second &&
         a.byte_size() == b.byte_size();
}

bool Overlap(const Value& a, const Value& b) {
  const auto overlaps_with = [](const Value& other) {
    return [&other](const ValuePtr& element) { return Overlap(*element, other); };
  };
  if (!a.IsTensor()) return std::any_of(a.elements().begin(), a.elements().end(), overlaps_with(b));
  if (!b.IsTensor()) return Overlap(b, a);
  if (!IsOneSpace(a, b)) return false;
  const uint64_t first = Begin(a).second;
  const uint64_t second = Begin(b).second;
  return first < second + b.byte_size() && second < first + a.byte_size();
}

}  // namespace epiphyte::core
