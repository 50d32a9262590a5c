#include "plugins/cpu/onednn/weights.h"

#include "epiphyte/kit/memory/heap.hpp"

namespace epiphyte::cpu {

PackedWeights PackWeights(const KernelInit& init, size_t input, std::string_view key, const MemoryDesc& plain,
                          const std::function<MemoryDesc()>& choose, int64_t offset, bool drop) {
  const Tensor* constant = init.PeekConstant(input);
  if (constant == nullptr) return {};
  if (constant->data == nullptr && init.PackedIsCurrent()) {
    std::string format;
    uint64_t bytes = 0;
    PackedWeights found;
    const void* stored = init.StoredPacked(key, &format, &bytes);
    if (stored != nullptr && ParseDesc(format, constant->type, DimsOf(plain), bytes, &found.desc)) {
      found.data = stored;
      if (drop) init.Drop(input);
      return found;
    }
  }
  const MemoryDesc wanted = choose();
  const std::string format = DescToText(wanted);
  if (format.empty()) return {};
  PackedWeights packed;
  packed.desc = wanted;
  packed.data = init.Packed(key, format, wanted.get_size(), [&](void* to) {
    if (constant->data != nullptr) {
      Reorder(plain, constant->as<char>() + ElementBytes(constant->type, static_cast<uint64_t>(offset)), wanted, to);
      return;
    }
    std::string stored_format;
    uint64_t stored_bytes = 0;
    const void* stored = init.StoredPacked(key, &stored_format, &stored_bytes);
    MemoryDesc stored_desc;
    const auto dims = DimsOf(plain);
    if (stored == nullptr || !ParseDesc(stored_format, constant->type, dims, stored_bytes, &stored_desc))
      throw kit::Error(EP_STATUS_INVALID_GRAPH, "the context's packed weights can't be read; compile the model again");
    Reorder(stored_desc, stored, wanted, to);
  });
  if (drop) init.Drop(input);
  return packed;
}

std::shared_ptr<void> Repack(const PackedWeights& packed, const MemoryDesc& wanted) {
  const std::shared_ptr<void> copy(kit::AllocateHeap(wanted.get_size()), kit::FreeHeap);
  Reorder(packed.desc, packed.data, wanted, copy.get());
  return copy;
}

}  // namespace epiphyte::cpu
