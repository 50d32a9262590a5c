#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/window/byte_rows.cpp"
#include "plugins/cpu/simd/window/byte_rows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/byte_dot-inl.h"
#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
HWY_INLINE void MaxRows(const uint8_t* const* rows, int64_t count, uint8_t* y, int64_t n) {
  const hn::ScalableTag<T> d;
  Make(d, reinterpret_cast<T*>(y), n, [=](const auto& load) EPIPHYTE_INLINE {
    auto most = load(d, reinterpret_cast<const T*>(rows[0]));
    for (int64_t r = 1; r < count; ++r) most = hn::Max(most, load(d, reinterpret_cast<const T*>(rows[r])));
    return most;
  });
}
void MaxUnsigned(const uint8_t* const* rows, int64_t count, uint8_t* y, int64_t n) {
  MaxRows<uint8_t>(rows, count, y, n);
}
void MaxSigned(const uint8_t* const* rows, int64_t count, uint8_t* y, int64_t n) { MaxRows<int8_t>(rows, count, y, n); }

template <typename T>
HWY_INLINE void SumRows(const uint8_t* const* rows, int64_t count, int32_t* y, int64_t n) {
  const Sums d;
  const hn::Rebind<T, Sums> bytes;
  Make(d, y, n, [=](const auto& load) EPIPHYTE_INLINE {
    Sum sum = hn::Zero(d);
    for (int64_t r = 0; r < count; ++r)
      sum = hn::Add(sum, hn::PromoteTo(d, load(bytes, reinterpret_cast<const T*>(rows[r]))));
    return sum;
  });
}
void SumUnsigned(const uint8_t* const* rows, int64_t count, int32_t* y, int64_t n) {
  SumRows<uint8_t>(rows, count, y, n);
}
void SumSigned(const uint8_t* const* rows, int64_t count, int32_t* y, int64_t n) { SumRows<int8_t>(rows, count, y, n); }

using Words = hn::Repartition<uint16_t, Sums>;
constexpr int64_t kBytes = static_cast<int64_t>(hn::MaxLanes(Bytes()));

// Sums of a vector of channels, of which the first `n` exist. The four result vectors each have four channels of every
// block of 16, as interleaving leaves them. `sum` holds the initial sums. Rows are read from byte `from` on.
template <class Way, bool kFlips>
HWY_INLINE void Depthwise(const ByteDepthwise& p, const uint8_t* const* rows, int64_t from, int64_t first, int64_t n,
                          Sum (&sum)[4]) {
  const Bytes d;
  const Words dw;
  const Sums ds;
  const int64_t block = first / kDepthwiseBlock, inside = first % kDepthwiseBlock;
  const int8_t* weights = p.weights + block * kDepthwiseBlock * p.steps * 4 + inside;
  const auto flip = hn::Set(d, p.flip);
  const auto load = [&](const uint8_t* row) EPIPHYTE_INLINE {
    const auto bytes = n >= kBytes ? hn::LoadU(d, row + from) : LoadPart(d, row + from, static_cast<size_t>(n));
    return kFlips ? hn::Xor(bytes, flip) : bytes;
  };
  for (int64_t step = 0; step < p.steps; ++step, rows += 4, weights += 4 * kDepthwiseBlock) {
    const auto a = load(rows[0]), b = load(rows[1]), c = load(rows[2]), e = load(rows[3]);
    const auto low_ab = hn::BitCast(dw, hn::InterleaveLower(d, a, b)),
               high_ab = hn::BitCast(dw, hn::InterleaveUpper(d, a, b));
    const auto low_ce = hn::BitCast(dw, hn::InterleaveLower(d, c, e)),
               high_ce = hn::BitCast(dw, hn::InterleaveUpper(d, c, e));
    const auto add = [&](int j, hn::Vec<Words> fours) EPIPHYTE_INLINE {
      const Sum w = hn::Load(ds, reinterpret_cast<const int32_t*>(weights + j * kDepthwiseBlock));
      sum[j] = Way::Add(sum[j], Way::FactorsOf(hn::BitCast(ds, fours)), Way::Weights(w));
    };
    add(0, hn::InterleaveLower(dw, low_ab, low_ce));
    add(1, hn::InterleaveUpper(dw, low_ab, low_ce));
    add(2, hn::InterleaveLower(dw, high_ab, high_ce));
    add(3, hn::InterleaveUpper(dw, high_ab, high_ce));
  }
}

// Permutes the numbers of a vector of channels into the order of such sums, and back.
template <typename T>
HWY_INLINE void ToOrderOfSums(const T* natural, T* sums) {
  const hn::CappedTag<T, 4> four;
  for (int b = 0; b < kLanes / 4; ++b)
    for (int j = 0; j < 4; ++j) hn::StoreU(hn::LoadU(four, natural + 16 * b + 4 * j), four, sums + j * kLanes + 4 * b);
}
HWY_INLINE void FromOrderOfSums(const int32_t* sums, int32_t* natural) {
  const hn::CappedTag<int32_t, 4> four;
  for (int b = 0; b < kLanes / 4; ++b)
    for (int j = 0; j < 4; ++j) hn::StoreU(hn::LoadU(four, sums + j * kLanes + 4 * b), four, natural + 16 * b + 4 * j);
}

template <class Way, bool kFlips>
HWY_INLINE void DepthwiseAll(const ByteDepthwise& p) {
  const Sums d;
  const hn::ScalableTag<float> df;
  const FourRounding rounding(p.zero, p.low, p.high);
  HWY_ALIGN int32_t sums[4 * kLanes], natural[4 * kLanes];
  HWY_ALIGN float ordered[4 * kLanes] = {};
  for (int64_t first = 0; first < p.channels; first += kBytes) {
    const int64_t n = std::min(kBytes, p.channels - first);
    ToOrderOfSums(p.start + first, sums);
    if (p.result == ByteResult::kRequantized) ToOrderOfSums(p.factor + first, ordered);
    Sum start[4];
    hn::Vec<hn::ScalableTag<float>> factor[4];
    for (int j = 0; j < 4; ++j) {
      start[j] = hn::Load(d, sums + j * kLanes);
      factor[j] = hn::Load(df, ordered + j * kLanes);
    }
    for (int64_t position = 0; position < p.positions; ++position) {
      Sum sum[4] = {start[0], start[1], start[2], start[3]};
      const bool runs = position >= p.run_first && position < p.run_end;
      const int64_t of_rows = runs ? p.run_first : position;
      const int64_t from = first + (position - of_rows) * p.run_step;
      Depthwise<Way, kFlips>(p, p.rows + of_rows * p.steps * 4, from, first, n, sum);
      const int64_t at = position * p.channels + first;
      if (p.result == ByteResult::kRequantized) {
        hn::Vec<hn::ScalableTag<float>> values[4];
        for (int j = 0; j < 4; ++j) values[j] = hn::Mul(hn::ConvertTo(df, sum[j]), factor[j]);
        const auto bytes = rounding(values);
        uint8_t* const to = static_cast<uint8_t*>(p.y) + at;
        if (n == kBytes) {
          hn::StoreU(bytes, Bytes(), to);
        } else {
          StorePart(Bytes(), bytes, to, static_cast<size_t>(n));
        }
        continue;
      }
      for (int j = 0; j < 4; ++j) hn::Store(sum[j], d, sums + j * kLanes);
      FromOrderOfSums(sums, natural);
      if (p.result == ByteResult::kSums) {
        std::memcpy(static_cast<int32_t*>(p.y) + at, natural, static_cast<size_t>(n) * sizeof(int32_t));
      } else {
        ScaleSums(natural, p.factor + first, p.bias == nullptr ? nullptr : p.bias + first,
                  static_cast<float*>(p.y) + at, n);
      }
    }
  }
}
template <class Way>
HWY_INLINE void DepthwiseOfType(const ByteDepthwise& p) {
  if (p.flip != 0) return DepthwiseAll<Way, true>(p);
  DepthwiseAll<Way, false>(p);
}
void DepthwiseByWords(const ByteDepthwise& p) { DepthwiseOfType<ByWords>(p); }
void DepthwiseByVnni(const ByteDepthwise& p) { DepthwiseOfType<ByVnni>(p); }

template <typename T, class Function>
HWY_INLINE void Combine(const ByteCombination& combination, const Function& function) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<hn::ScalableTag<float>>;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<T, decltype(d)> bytes;
  const T* const left = reinterpret_cast<const T*>(combination.a.data);
  const T* const right = reinterpret_cast<const T*>(combination.b.data);
  const QuantParams a_end = combination.a.quant_params, b_end = combination.b.quant_params;
  uint8_t* const y = combination.y;
  const int64_t n = combination.n;
  const auto real = [d](V number, QuantParams end) EPIPHYTE_INLINE {
    return InRegister(hn::Mul(hn::Sub(number, hn::Set(d, end.zero)), hn::Set(d, end.scale)));
  };
  const V a_first = real(hn::Set(d, static_cast<float>(n > 0 ? left[0] : 0)), a_end);
  const V b_first = real(hn::Set(d, static_cast<float>(n > 0 ? right[0] : 0)), b_end);
  const V scale = hn::Set(d, combination.y_end.scale);
  const Rounding rounding(static_cast<int32_t>(combination.y_end.zero), combination.low, combination.high);
  const auto finish = [=](V p, V q) EPIPHYTE_INLINE { return LowBytes(rounding(hn::Div(function(p, q), scale))); };
  const auto load_real = [=](const auto& load, const T* from, QuantParams end) EPIPHYTE_INLINE {
    return real(hn::ConvertTo(d, hn::PromoteTo(di, load(bytes, from))), end);
  };
  const hn::Rebind<uint8_t, decltype(d)> out;
  if (combination.a.stride == 0) {
    Make(out, y, n, [=](const auto& load) EPIPHYTE_INLINE { return finish(a_first, load_real(load, right, b_end)); });
  } else if (combination.b.stride == 0) {
    Make(out, y, n, [=](const auto& load) EPIPHYTE_INLINE { return finish(load_real(load, left, a_end), b_first); });
  } else {
    Make(out, y, n, [=](const auto& load) EPIPHYTE_INLINE {
      return finish(load_real(load, left, a_end), load_real(load, right, b_end));
    });
  }
}

// Adds by fewer steps, which round differently. Four vectors go to `exact` if one of them is so near to the middle
// between two results that the difference may matter.
template <typename T>
class NearSum {
 public:
  using V = hn::Vec<hn::ScalableTag<float>>;
  static constexpr int64_t kStep = 4 * kLanes;

  HWY_INLINE NearSum(QuantParams a, QuantParams b, QuantParams y, int32_t low, int32_t high) : order_(OrderOfFours()) {
    const double a_factor = static_cast<double>(a.scale) / y.scale, b_factor = static_cast<double>(b.scale) / y.scale;
    // Bound of the difference between both results before they are rounded to integers, for results that are bytes. The
    // exact way rounds each term, their sum and the quotient by 2^-24. Here the factors, `rest` and two sums are
    // rounded; `rest` and the first sum are up to 255 (1 + a + b). Together that is 1020 a + 1275 b + 2046 times 2^-24.
    const double error = 0x1.2p-24 * (1300 * (a_factor + b_factor) + 2100);
    suits_ = error < 0.125;
    const Floats d;
    limit_ = hn::Set(d, static_cast<float>(0.5 - error));
    of_a_ = hn::Set(d, static_cast<float>(a_factor));
    of_b_ = hn::Set(d, static_cast<float>(b_factor));
    rest_ = hn::Set(d, static_cast<float>(y.zero - a.zero * a_factor - b.zero * b_factor));
    lowest_ = hn::Set(Numbers(), static_cast<T>(low));
    highest_ = hn::Set(Numbers(), static_cast<T>(high));
  }

  bool suits() const { return suits_; }

  // Contribution of numbers of b to a result.
  HWY_INLINE V Term(V b) const { return hn::MulAdd(b, of_b_, rest_); }
  HWY_INLINE void Terms(const uint8_t* b, V (&terms)[4]) const {
    for (int v = 0; v < 4; ++v) terms[v] = Term(Load(b + v * kLanes));
  }

  // y = kStep sums of `a` and the terms.
  template <class Exact>
  HWY_INLINE void Add(const uint8_t* a, const V (&terms)[4], uint8_t* y, const Exact& exact) const {
    const Floats d;
    Sum numbers[4];
    V farthest = hn::Zero(d);
    for (int v = 0; v < 4; ++v) {
      const V real = hn::MulAdd(Load(a + v * kLanes), of_a_, terms[v]);
      numbers[v] = NearestSmall(real);
      farthest = GreaterMagnitude(farthest, hn::Sub(real, hn::ConvertTo(d, numbers[v])));
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(farthest, limit_)))) return exact();
    const Sum fours = hn::TableLookupLanes(hn::BitCast(Sums(), BytesOfSums<T>(numbers)), order_);
    hn::StoreU(hn::Min(hn::Max(hn::BitCast(Numbers(), fours), lowest_), highest_), Numbers(), reinterpret_cast<T*>(y));
  }

 private:
  using Floats = hn::ScalableTag<float>;
  using Numbers = hn::Repartition<T, Floats>;

  static HWY_INLINE V Load(const uint8_t* from) {
    const hn::Rebind<T, Floats> bytes;
    return hn::ConvertTo(Floats(), hn::PromoteTo(Sums(), hn::LoadU(bytes, reinterpret_cast<const T*>(from))));
  }

  bool suits_;
  V limit_, of_a_, of_b_, rest_;
  hn::Vec<Numbers> lowest_, highest_;
  decltype(OrderOfFours()) order_;
};

template <typename T>
HWY_INLINE void CombineOf(const ByteCombination& combination) {
  if (combination.operation == ByteOperation::kMul)
    return Combine<T>(combination, [](auto p, auto q) EPIPHYTE_INLINE { return hn::Mul(p, q); });
  ByteCombination sum = combination;
  if (sum.a.stride == 0) std::swap(sum.a, sum.b);
  using Near = NearSum<T>;
  const auto exact = [&sum](int64_t first, int64_t count) HWY_ATTR {
    ByteCombination part = sum;
    part.a.data += first * sum.a.stride;
    part.b.data += first * sum.b.stride;
    part.y += first;
    part.n = count;
    Combine<T>(part, [](auto p, auto q) EPIPHYTE_INLINE { return hn::Add(p, q); });
  };
  const Near near(sum.a.quant_params, sum.b.quant_params, sum.y_end, sum.low, sum.high);
  const uint8_t *const a = sum.a.data, *const b = sum.b.data;
  const int64_t a_stride = sum.a.stride, b_stride = sum.b.stride, n = sum.n;
  uint8_t* const y = sum.y;
  if (n < Near::kStep || a_stride == 0 || !near.suits()) return exact(0, n);
  int64_t i = 0;
  typename Near::V terms[4];
  if (b_stride == 0) {
    const float number = *reinterpret_cast<const T*>(b);
    for (auto& term : terms) term = near.Term(hn::Set(hn::ScalableTag<float>(), number));
  }
  for (; i + Near::kStep <= n; i += Near::kStep) {
    if (b_stride != 0) near.Terms(b + i, terms);
    near.Add(a + i, terms, y + i, [&]() HWY_ATTR { exact(i, Near::kStep); });
  }
  if (i < n) exact(i, n - i);
}

// Handles one block of columns after the other for some rows. So the terms of the added row stay in registers.
template <typename T>
HWY_INLINE void AddRow(const ByteRowSum& sum) {
  using Near = NearSum<T>;
  constexpr int64_t kRows = 32;
  const Near near(sum.a_end, sum.row_end, sum.y_end, sum.low, sum.high);
  const auto exact = [&](int64_t row, int64_t first, int64_t count) HWY_ATTR {
    const int64_t at = row * sum.n + first;
    ByteCombination part;
    part.a = {sum.a + at, 1, sum.a_end};
    part.b = {sum.row + first, 1, sum.row_end};
    part.y_end = sum.y_end;
    part.low = sum.low;
    part.high = sum.high;
    part.y = sum.y + at;
    part.n = count;
    Combine<T>(part, [](auto p, auto q) EPIPHYTE_INLINE { return hn::Add(p, q); });
  };
  for (int64_t row = 0; row < sum.rows; row += kRows) {
    const int64_t end = std::min(sum.rows, row + kRows);
    int64_t i = 0;
    for (; near.suits() && i + Near::kStep <= sum.n; i += Near::kStep) {
      typename Near::V terms[4];
      near.Terms(sum.row + i, terms);
      for (int64_t r = row; r < end; ++r) {
        const int64_t at = r * sum.n + i;
        near.Add(sum.a + at, terms, sum.y + at, [&]() HWY_ATTR { exact(r, i, Near::kStep); });
      }
    }
    for (int64_t r = row; i < sum.n && r < end; ++r) exact(r, i, sum.n - i);
  }
}
void AddRowOfBytes(const ByteRowSum& sum) {
  if (sum.is_signed) return AddRow<int8_t>(sum);
  AddRow<uint8_t>(sum);
}

void CombineAll(const ByteCombination& combination) {
  if (combination.is_signed) return CombineOf<int8_t>(combination);
  CombineOf<uint8_t>(combination);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(MaxUnsigned);
EPIPHYTE_EXPORT(MaxSigned);
EPIPHYTE_EXPORT(SumUnsigned);
EPIPHYTE_EXPORT(SumSigned);
EPIPHYTE_EXPORT(DepthwiseByWords);
EPIPHYTE_EXPORT(DepthwiseByVnni);
EPIPHYTE_EXPORT(CombineAll);
EPIPHYTE_EXPORT(AddRowOfBytes);

void MaxOfByteRows(const uint8_t* const* rows, int64_t count, bool is_signed, uint8_t* y, int64_t n) {
  if (is_signed) return EPIPHYTE_DISPATCH(MaxSigned)(rows, count, y, n);
  EPIPHYTE_DISPATCH(MaxUnsigned)(rows, count, y, n);
}
void SumOfByteRows(const uint8_t* const* rows, int64_t count, bool is_signed, int32_t* y, int64_t n) {
  if (is_signed) return EPIPHYTE_DISPATCH(SumSigned)(rows, count, y, n);
  EPIPHYTE_DISPATCH(SumUnsigned)(rows, count, y, n);
}

void PackDepthwise(const ByteMatrix& w, const int32_t* subtracted, int8_t* packed, int32_t* sums) {
  const int64_t taps = w.outer * w.inner, steps = ByteSteps(taps);
  const int64_t blocks = (w.columns + kDepthwiseBlock - 1) / kDepthwiseBlock;
  std::memset(packed, 0, static_cast<size_t>(DepthwiseBytes(w.columns, taps)));
  std::fill_n(sums, blocks * kDepthwiseBlock, 0);
  for (int64_t c = 0; c < w.columns; ++c) {
    const int64_t inside = c % kDepthwiseBlock;
    // The block of 16 belongs to vector (inside % 16) / 4 of the step.
    int8_t* const to =
        packed + (c - inside) * steps * 4 + inside % 16 / 4 * kDepthwiseBlock + inside / 16 * 16 + inside % 4 * 4;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t from = c * w.column_stride + t / w.inner * w.outer_stride + t % w.inner * w.inner_stride;
      const int32_t number = static_cast<int8_t>(w.data[from] ^ w.flip) - (subtracted == nullptr ? 0 : subtracted[c]);
      to[t / 4 * 4 * kDepthwiseBlock + t % 4] = static_cast<int8_t>(number);
      sums[c] += number;
    }
  }
}

void RunByteDepthwise(const ByteDepthwise& depthwise) {
  if (UsesVnni()) return EPIPHYTE_DISPATCH(DepthwiseByVnni)(depthwise);
  EPIPHYTE_DISPATCH(DepthwiseByWords)(depthwise);
}

void CombineBytes(const ByteCombination& combination) { EPIPHYTE_DISPATCH(CombineAll)(combination); }

void AddByteRow(const ByteRowSum& sum) { EPIPHYTE_DISPATCH(AddRowOfBytes)(sum); }

}  // namespace epiphyte::cpu::simd
#endif
