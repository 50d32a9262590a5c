#include "plugins/cpu/onednn/finite_sums.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/simd/convert/quantize.h"

namespace epiphyte::cpu {
namespace {

// The bits of magnitudes have the order of the magnitudes; NaN is above all of them.
uint32_t MagnitudeBits(const float* x, int64_t n) {
  const simd::Range range = simd::RangeWithZero(x, n);
  return std::bit_cast<uint32_t>(std::fabs(std::fabs(range.low) > std::fabs(range.high) ? range.low : range.high));
}
uint32_t MagnitudeBits(const BFloat16* x, int64_t n) {
  int16_t most = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, static_cast<int16_t>(x[i].bits & 0x7FFF));
  return static_cast<uint32_t>(most) << 16;
}
uint32_t MagnitudeBits(const Float16* x, int64_t n) {
  int16_t most = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, static_cast<int16_t>(x[i].bits & 0x7FFF));
  Float16 largest;
  largest.bits = static_cast<uint16_t>(most);
  return std::bit_cast<uint32_t>(static_cast<float>(largest));
}

template <typename T>
float LargestOf(OpContext& context, const void* data, int64_t count) {
  constexpr int64_t kShare = 1 << 15;
  std::atomic<uint32_t> most = 0;
  context.ParallelFor(count, kShare, [&](int64_t begin, int64_t end) {
    const uint32_t bits = MagnitudeBits(static_cast<const T*>(data) + begin, end - begin);
    uint32_t known = most.load(std::memory_order_relaxed);
    while (known < bits && !most.compare_exchange_weak(known, bits, std::memory_order_relaxed)) {
    }
  });
  return std::bit_cast<float>(most.load(std::memory_order_relaxed));
}

}  // namespace

Numbers NumbersOf(const Tensor& tensor) {
  if (tensor.layout == nullptr) return {tensor.data, tensor.Count(), tensor.type, tensor.limit};
  const MemoryDesc& desc = tensor.layout->desc;
  const bool narrow = TypeOf(desc) == dnnl::memory::data_type::bf16;
  return {tensor.data, static_cast<int64_t>(desc.get_size() / (narrow ? sizeof(BFloat16) : sizeof(float))),
          narrow ? EP_TYPE_BFLOAT16 : EP_TYPE_FLOAT, tensor.limit};
}

float LargestMagnitude(OpContext& context, const Numbers& numbers) {
  if (numbers.data == nullptr) return 0;
  if (std::isfinite(numbers.limit)) return numbers.limit;
  switch (numbers.type) {
    case EP_TYPE_FLOAT: return LargestOf<float>(context, numbers.data, numbers.count);
    case EP_TYPE_BFLOAT16: return LargestOf<BFloat16>(context, numbers.data, numbers.count);
    case EP_TYPE_FLOAT16: return LargestOf<Float16>(context, numbers.data, numbers.count);
    default: return std::numeric_limits<float>::quiet_NaN();
  }
}

FiniteSums::FiniteSums(OpContext& context, const PackedWeights& weights, int64_t terms)
    : most_(weights.parts ? std::numeric_limits<double>::quiet_NaN()
                          : static_cast<double>(terms) *
                                static_cast<double>(LargestMagnitude(
                                    context, {weights.data, weights.count(),
                                              weights.for_bfloat16() ? EP_TYPE_BFLOAT16 : weights.type}))) {}

float FiniteSums::Limit(OpContext& context, const Numbers& factors, const Numbers& bias,
                        const Numbers& residual) const {
  // Upper bound for the rounding errors of long sums and of bfloat16 GEMMs.
  constexpr double kRounding = 1 + 0x1p-4, kMost = std::numeric_limits<float>::max() / 4;
  const auto largest = [&](const Numbers& numbers) { return static_cast<double>(LargestMagnitude(context, numbers)); };
  const double limit = (most_ * largest(factors) + largest(bias) + largest(residual)) * kRounding;
  return limit < kMost ? static_cast<float>(limit) : std::numeric_limits<float>::infinity();
}

}  // namespace epiphyte::cpu
