#include "plugins/vulkan/ops/nn/packed_filters.h"

#include <cstring>
#include <vector>

#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::vulkan {
namespace {

constexpr char kKey[] = "filters";

}  // namespace

PackedFilters PackedFilters::OfConv(const Dims& w, int64_t groups) {
  const int64_t taps = w.Count(2, w.size());
  return {.groups = groups,
          .filters = w[0] / groups,
          .channels = w[1],
          .taps = taps,
          .group_stride = w[0] / groups * w[1] * taps,
          .filter_stride = w[1] * taps,
          .channel_stride = taps};
}

PackedFilters PackedFilters::OfConvTranspose(const Dims& w, int64_t groups) {
  const int64_t taps = w.Count(2, w.size());
  return {.groups = groups,
          .filters = w[1],
          .channels = w[0] / groups,
          .taps = taps,
          .group_stride = w[0] / groups * w[1] * taps,
          .filter_stride = taps,
          .channel_stride = w[1] * taps};
}

void PackedFilters::Pack(Packing& packing, size_t input) const {
  const ir::Tensor* w = packing.Constant(input);
  if (w == nullptr) return;
  const size_t element = kit::ElementBytes(w->type, 1);
  std::vector<std::byte> packed(static_cast<size_t>(kit::CheckedCount(dims())) * element);
  const auto* from = static_cast<const std::byte*>(w->data);
  std::byte* to = packed.data();
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t first = 0; first < blocks() * kBlock; first += kBlock) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t channel = 0; channel < channels; ++channel) {
          for (int64_t filter = first; filter < first + kBlock; ++filter, to += element) {
            if (filter >= filters) continue;
            const int64_t at = group * group_stride + filter * filter_stride + channel * channel_stride + tap;
            std::memcpy(to, from + static_cast<size_t>(at) * element, element);
          }
        }
      }
    }
  }
  packing.Put(kKey, std::move(packed));
  packing.Release(input);
}

int32_t PackedFilters::Tensor(Recording& r, size_t input) const {
  const EpElementType type = r.InputType(input);
  if (r.HasPacked(kKey)) return r.Packed(kKey, type, dims());
  const int32_t packed = r.Scratch(type, dims());
  const int64_t count = dims().Count();
  r.Add({.shader = Recording::MoverFor("conv_pack", type),
         .parameters = {Word(groups), Word(filters), Word(channels), Word(taps), Word(group_stride),
                        Word(filter_stride), Word(channel_stride)},
         .bindings = {r.Read(input), Recording::Write(packed)},
         .groups = r.GroupsFor(count),
         .work = static_cast<uint64_t>(count)});
  return packed;
}

}  // namespace epiphyte::vulkan
