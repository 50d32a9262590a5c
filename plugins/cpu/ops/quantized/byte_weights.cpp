#include "plugins/cpu/ops/quantized/byte_weights.h"

#include <algorithm>
#include <vector>

#include "plugins/cpu/simd/window/byte_rows.h"

namespace epiphyte::cpu {
namespace {

uint64_t SizeOf(const BytesToPack& bytes) {
  const simd::ByteMatrix& w = bytes.first;
  const int64_t panels = simd::BytePanelBytes(w.columns, w.outer * w.inner);
  return static_cast<uint64_t>(bytes.groups) *
         static_cast<uint64_t>(panels + 2 * simd::BytePanelColumns(w.columns) * static_cast<int64_t>(sizeof(int32_t)));
}

// Memory order: panels, then sums, then negated zero points.
ByteWeights ViewOfPacked(const BytesToPack& bytes, const void* memory) {
  ByteWeights weights;
  weights.groups = bytes.groups;
  weights.columns = bytes.first.columns;
  weights.k = bytes.first.outer * bytes.first.inner;
  weights.panels = static_cast<const int8_t*>(memory);
  weights.sums = reinterpret_cast<const int32_t*>(weights.PanelsOf(bytes.groups));
  weights.minus_zeros = weights.sums + bytes.groups * weights.padded();
  return weights;
}

[[noreturn]] void FailNotStored() {
  throw kit::Error(EP_STATUS_INVALID_GRAPH, "the context holds no weights of this kind; compile the model again");
}

void ForgetZeros(ByteWeights& weights) {
  const int32_t* const end = weights.minus_zeros + weights.groups * weights.padded();
  if (std::all_of(weights.minus_zeros, end, [](int32_t zero) { return zero == 0; })) weights.minus_zeros = nullptr;
}

// True when all numbers of the column minus `zero` fit in a byte.
bool StaysByte(const simd::ByteMatrix& w, int64_t column, int32_t zero) {
  const uint8_t* const from = w.data + column * w.column_stride;
  for (int64_t o = 0; o < w.outer; ++o) {
    for (int64_t i = 0; i < w.inner; ++i) {
      const int32_t number = static_cast<int8_t>(from[o * w.outer_stride + i * w.inner_stride] ^ w.flip) - zero;
      if (number < -128 || number > 127) return false;
    }
  }
  return true;
}

// Zero point `index`, in the number range of packed weights.
int32_t ZeroAt(const BytesToPack& bytes, int64_t index) {
  return (bytes.zero == nullptr ? 0 : ByteAt(*bytes.zero, index)) - (bytes.is_signed ? 0 : 128);
}
int32_t ZeroOf(const BytesToPack& bytes, int64_t group, int64_t column) {
  const int64_t zeros = bytes.zero == nullptr ? 0 : bytes.zero->Count(), columns = bytes.first.columns;
  return ZeroAt(bytes, zeros <= 1 ? 0 : zeros == columns ? column : group * columns + column);
}

int8_t* PanelOf(const ByteWeights& weights, int64_t group, int64_t first) {
  return const_cast<int8_t*>(weights.PanelsOf(group)) + first * simd::ByteSteps(weights.k) * 4;
}

// Packs the columns of one panel of one group to `panel`. `subtracts_zeros`: subtract zero points where possible, which
// reads every number.
void PackPanel(const BytesToPack& bytes, int64_t group, int64_t first, bool subtracts_zeros, const ByteWeights& packed,
               int8_t* panel) {
  simd::ByteMatrix w = bytes.first;
  w.data += group * bytes.group_stride;
  const int64_t count = std::min(simd::kBytePanel, w.columns - first);
  int32_t subtracted[simd::kBytePanel] = {};
  const int64_t at = group * packed.padded() + first;
  int32_t* const sums = const_cast<int32_t*>(packed.sums) + at;
  int32_t* const minus_zeros = packed.minus_zeros == nullptr ? nullptr : const_cast<int32_t*>(packed.minus_zeros) + at;
  if (minus_zeros != nullptr) std::fill_n(minus_zeros, simd::kBytePanel, 0);
  bool subtracts = false, keeps = false;
  const bool one = bytes.zero == nullptr || bytes.zero->Count() == 1;
  const int32_t first_zero = ZeroOf(bytes, group, first);
  for (int64_t c = 0; c < count && !(one && first_zero == 0); ++c) {
    const int32_t zero = one ? first_zero : ZeroOf(bytes, group, first + c);
    if (zero == 0) continue;
    if (subtracts_zeros && StaysByte(w, first + c, zero)) {
      subtracted[c] = zero;
      subtracts = true;
    } else {
      minus_zeros[c] = -zero;
      keeps = true;
    }
  }
  w.data += first * w.column_stride;
  w.columns = count;
  simd::PackBytePanels(w, 0, count, subtracts ? subtracted : nullptr, panel, sums);
  for (int64_t c = 0; c < count && keeps; ++c)
    sums[c] = static_cast<int32_t>(static_cast<uint32_t>(sums[c]) +
                                   static_cast<uint32_t>(packed.k) * static_cast<uint32_t>(minus_zeros[c]));
}

// `parallel`: a ParallelFor function.
template <typename Parallel>
void Fill(const BytesToPack& bytes, bool subtracts_zeros, void* memory, const Parallel& parallel) {
  const int64_t panels = simd::BytePanelColumns(bytes.first.columns) / simd::kBytePanel;
  const ByteWeights packed = ViewOfPacked(bytes, memory);
  const int64_t cost = std::max<int64_t>(bytes.first.outer * bytes.first.inner * simd::kBytePanel, 1);
  parallel(bytes.groups * panels, std::max<int64_t>(1, (int64_t{1} << 16) / cost), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / panels, first = i % panels * simd::kBytePanel;
      PackPanel(bytes, group, first, subtracts_zeros, packed, PanelOf(packed, group, first));
    }
  });
}

}  // namespace

ByteWeights StoreByteWeights(const KernelInit& init, size_t input, const BytesToPack& bytes) {
  const void* const memory = init.Packed("weights", "bytes in panels of 64 by 4, 1", SizeOf(bytes), [&](void* to) {
    if (bytes.first.data == nullptr) FailNotStored();
    Fill(bytes, true, to, [&](int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
      init.ParallelFor(count, grain, body);
    });
  });
  init.Drop(input);
  ByteWeights weights = ViewOfPacked(bytes, memory);
  ForgetZeros(weights);
  return weights;
}

ByteWeights StoreDepthwiseWeights(const KernelInit& init, size_t input, const BytesToPack& bytes) {
  constexpr std::string_view kKey = "depthwise weights", kFormat = "bytes by 64 channels and 4 taps, 1";
  const int64_t channels = bytes.groups, taps = bytes.first.outer * bytes.first.inner;
  simd::ByteMatrix w = bytes.first;
  w.columns = channels;
  w.column_stride = bytes.group_stride;
  std::vector<int32_t> zeros;
  if (w.data == nullptr) {
    std::string format;
    uint64_t size = 0;
    if (init.StoredPacked(kKey, &format, &size) == nullptr) return {};
  } else {
    for (int64_t c = 0; c < channels; ++c) {
      zeros.push_back(ZeroOf(bytes, c, 0));
      if (zeros.back() != 0 && !StaysByte(w, c, zeros.back())) return {};
    }
  }
  const int64_t panels = simd::DepthwiseBytes(channels, taps);
  ByteWeights weights;
  weights.groups = 1;
  weights.columns = channels;
  weights.k = taps;
  const uint64_t size = static_cast<uint64_t>(panels + weights.padded() * static_cast<int64_t>(sizeof(int32_t)));
  const void* const memory = init.Packed(kKey, kFormat, size, [&](void* to) {
    if (w.data == nullptr) FailNotStored();
    auto* const packed = static_cast<int8_t*>(to);
    simd::PackDepthwise(w, zeros.data(), packed, reinterpret_cast<int32_t*>(packed + panels));
  });
  init.Drop(input);
  weights.panels = static_cast<const int8_t*>(memory);
  weights.sums = reinterpret_cast<const int32_t*>(weights.panels + panels);
  return weights;
}

ByteWeights PackByteWeights(OpContext& context, const BytesToPack& bytes) {
  void* const memory = context.Scratch(SizeOf(bytes));
  Fill(bytes, false, memory,
       [&](int64_t count, int64_t grain, const auto& body) { context.ParallelFor(count, grain, body); });
  ByteWeights weights = ViewOfPacked(bytes, memory);
  ForgetZeros(weights);
  return weights;
}

ByteWeights ReserveByteWeights(OpContext& context, const BytesToPack& bytes) {
  ByteWeights weights = ViewOfPacked(bytes, context.Scratch(SizeOf(bytes)));
  bool zeros = false;
  const int64_t count = bytes.zero == nullptr ? 1 : bytes.zero->Count();
  for (int64_t i = 0; i < count && !zeros; ++i) zeros = ZeroAt(bytes, i) != 0;
  if (!zeros) weights.minus_zeros = nullptr;
  return weights;
}

void PackReserved(const BytesToPack& bytes, const ByteWeights& reserved, int64_t group, int64_t first, int8_t* panel) {
  PackPanel(bytes, group, first, false, reserved, panel == nullptr ? PanelOf(reserved, group, first) : panel);
}

}  // namespace epiphyte::cpu
