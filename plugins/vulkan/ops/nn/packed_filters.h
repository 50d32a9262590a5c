// PackedFilters: weights of a convolution as its kernels read them: [group][block of 8 filters][tap][channel][8].
// Filters that the last block of a group lacks are zeros.
//
//     PackedFilters::OfConv(w, group).Pack(packing, 1);                     // when a partition is compiled
//     const int32_t weights = PackedFilters::OfConv(w, group).Tensor(r, 1);  // when a program is made
#pragma once

#include <cstdint>

#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

struct PackedFilters {
  static constexpr int64_t kBlock = 8;

  int64_t groups = 1;
  int64_t filters = 0;   // filters of a group
  int64_t channels = 0;  // input channels that a filter reads
  int64_t taps = 0;
  // Strides in the model's tensor, in elements. The taps of a channel are contiguous there.
  int64_t group_stride = 0;
  int64_t filter_stride = 0;
  int64_t channel_stride = 0;

  // From weights [filters of all groups, channels, k…]. The dimensions must fit the number of groups.
  static PackedFilters OfConv(const Dims& w, int64_t groups);
  // From weights [channels of all groups, filters, k…].
  static PackedFilters OfConvTranspose(const Dims& w, int64_t groups);

  int64_t blocks() const { return (filters + kBlock - 1) / kBlock; }  // per group
  Dims dims() const { return {groups * blocks(), taps * channels, kBlock}; }
  // Packs input `input` and releases it, if it is a constant. Otherwise does nothing.
  void Pack(Packing& packing, size_t input) const;
  // The tensor of packed filters: the packed constant or, if the weights are computed, a tensor that an added dispatch
  // fills.
  int32_t Tensor(Recording& r, size_t input) const;
};

}  // namespace epiphyte::vulkan
