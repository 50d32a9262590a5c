// Cast and CastLike. Pairs of plain types have their own loop. The 8-bit floats and packed types go through float, or
// through integers where that is exact. Strings are parsed and formatted.
#include <algorithm>

#include "epiphyte/kit/signature/cast_type.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/convert/convert.h"

namespace epiphyte::cpu {
namespace {

constexpr TypeSet kPlain = kNumbers | Types(EP_TYPE_BOOL);
constexpr TypeSet kPackedIntegers = Types(EP_TYPE_UINT4, EP_TYPE_INT4, EP_TYPE_UINT2, EP_TYPE_INT2);

bool IsOneOf(ElementType type, TypeSet set) { return type > 0 && type < 64 && (set & TypeBit(type)) != 0; }

template <typename Body>
void DispatchPlain(ElementType type, Body&& body) {
  Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, uint8_t, int8_t, uint16_t, int16_t, uint32_t, uint64_t,
           bool>(type, "Cast", std::forward<Body>(body));
}

template <typename To, typename From>
To ConvertOne(From value) {
  if constexpr (kIsSmallFloat<From>) {
    return ConvertOne<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return TruncateTo<To>(value);
  } else if constexpr (std::is_same_v<From, double> && kIsSmallFloat<To>) {
    return To(RoundToOdd(value));
  } else if constexpr (kIsSmallFloat<To>) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void ConvertPlain(const From* from, To* to, int64_t n) {
  if constexpr (std::is_same_v<From, float> != std::is_same_v<To, float>) {
    simd::ConvertLoop<From, To>()(from, to, n);
  } else if constexpr (kIsSmallFloat<From> != kIsSmallFloat<To>) {
    // The conversion goes through floats, as for single elements.
    float block[kFloatBlock];
    ForEachFloatBlock(n, [&](int64_t at, int64_t count) {
      if constexpr (std::is_same_v<From, double>) {
        for (int64_t i = 0; i < count; ++i) block[i] = RoundToOdd(from[at + i]);
      } else {
        simd::ConvertLoop<From, float>()(from + at, block, count);
      }
      simd::ConvertLoop<float, To>()(block, to + at, count);
    });
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = ConvertOne<To>(from[i]);
  }
}

template <typename T>
std::string ToText(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (kIsFloat<T>) {
    return FormatFloat(static_cast<Compute<T>>(value));
  } else {
    return std::to_string(value);
  }
}

template <typename T>
T FromText(const std::string& text) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    return ParseUnsigned(text);
  } else if constexpr (std::is_integral_v<T>) {
    return ConvertOne<T>(ParseInteger(text));
  } else {
    return ConvertOne<T>(ParseFloat(text));
  }
}

// Stores the low bits of integers in a packed integer type.
void StoreLowBits(const Tensor& from, Tensor& to) {
  const int64_t count = from.Count();
  std::fill_n(to.as<uint8_t>(), to.Bytes(), uint8_t{0});
  DispatchIntegers(from.type, "Cast", [&]<typename T>() {
    const bool nibbles = to.type == EP_TYPE_UINT4 || to.type == EP_TYPE_INT4;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<unsigned>(from.as<T>()[i]);
      const auto index = static_cast<uint64_t>(i);
      nibbles ? StorePacked<4>(to.as<uint8_t>(), index, value) : StorePacked<2>(to.as<uint8_t>(), index, value);
    }
  });
}

class Caster {
 public:
  Caster(OpContext& context, const ConvertOptions& options) : context_(context), options_(options) {}

  void Convert(const Tensor& from, Tensor& to) const {
    if (from.type == EP_TYPE_STRING) return FromStrings(from, to);
    if (to.type == EP_TYPE_STRING) return ToStrings(from, to);
    if (IsOneOf(from.type, kPlain) && IsOneOf(to.type, kPlain)) return Plain(from, to);
    if (IsOneOf(from.type, kIntegers) && IsOneOf(to.type, kPackedIntegers)) return StoreLowBits(from, to);
    ThroughFloat(from, to);
  }

 private:
  void Plain(const Tensor& from, Tensor& to) const {
    DispatchPlain(from.type, [&]<typename From>() {
      DispatchPlain(to.type, [&]<typename To>() {
        ParallelLoop(context_, from.Count(), 1, [&](int64_t begin, int64_t end) {
          ConvertPlain(from.as<From>() + begin, to.as<To>() + begin, end - begin);
        });
      });
    });
  }

  void ThroughFloat(const Tensor& from, Tensor& to) const {
    const int64_t count = from.Count();
    const int64_t chunks = (count + kConvertChunk - 1) / kConvertChunk;
    ParallelLoop(context_, chunks, kConvertChunk * 4, [&](int64_t first, int64_t last) {
      float values[kConvertChunk];
      for (int64_t chunk = first; chunk < last; ++chunk) {
        const int64_t begin = chunk * kConvertChunk;
        const int64_t n = std::min(kConvertChunk, count - begin);
        if (from.type == EP_TYPE_DOUBLE) {
          for (int64_t i = 0; i < n; ++i) values[i] = RoundToOdd(from.as<double>()[begin + i]);
        } else {
          LoadFloats(from, begin, n, values);
        }
        StoreFloats(values, begin, n, to, options_);
      }
    });
  }

  void FromStrings(const Tensor& from, Tensor& to) const {
    const std::vector<std::string>& texts = *from.strings;
    if (!IsOneOf(to.type, kPlain)) {
      for (size_t begin = 0; begin < texts.size(); begin += kConvertChunk) {
        float values[kConvertChunk];
        const size_t n = std::min<size_t>(kConvertChunk, texts.size() - begin);
        for (size_t i = 0; i < n; ++i) values[i] = RoundToOdd(ParseFloat(texts[begin + i]));
        StoreFloats(values, static_cast<int64_t>(begin), static_cast<int64_t>(n), to, options_);
      }
      return;
    }
    DispatchPlain(to.type, [&]<typename T>() {
      for (size_t i = 0; i < texts.size(); ++i) to.as<T>()[i] = FromText<T>(texts[i]);
    });
  }

  void ToStrings(const Tensor& from, Tensor& to) const {
    std::vector<std::string>& texts = *to.strings;
    if (!IsOneOf(from.type, kPlain)) {
      for (size_t i = 0; i < texts.size(); ++i) {
        float value;
        LoadFloats(from, static_cast<int64_t>(i), 1, &value);
        texts[i] = FormatFloat(value);
      }
      return;
    }
    DispatchPlain(from.type, [&]<typename T>() {
      for (size_t i = 0; i < texts.size(); ++i) texts[i] = ToText(from.as<T>()[i]);
    });
  }

  OpContext& context_;
  const ConvertOptions& options_;
};

void CastTo(OpContext& context, ElementType type, const ConvertOptions& options) {
  const Tensor& x = context.Input(0);
  if (x.type == type) return context.OutputAlias(0, 0, x.dims);
  if (x.type == EP_TYPE_COMPLEX64 || x.type == EP_TYPE_COMPLEX128) FailOp("{} can't be cast", TypeName(x.type));
  Tensor& y = context.Output(0, type, x.dims);
  Caster(context, options).Convert(x, y);
}

ConvertOptions ReadOptions(const ir::Node& node) {
  ConvertOptions options;
  options.saturate = node.Int("saturate", 1) != 0;
  // Values out of range are undefined in ONNX; this gives the results in ONNX's test data.
  options.low_bits = node.since_version >= 24;
  const std::string mode = node.String("round_mode", "up");
  if (mode == "down") {
    options.rounding = Float8E8M0::Rounding::kDown;
  } else if (mode == "nearest") {
    options.rounding = Float8E8M0::Rounding::kNearest;
  } else if (mode != "up") {
    FailOp("round_mode is '{}', expected up, down or nearest", mode);
  }
  return options;
}

class CastKernel : public Kernel {
 public:
  explicit CastKernel(const KernelInit& init) : type_(kit::CastType(init.node())), options_(ReadOptions(init.node())) {}
  void Run(OpContext& context) const override { CastTo(context, type_, options_); }

 private:
  ElementType type_;
  ConvertOptions options_;
};

class CastLikeKernel : public Kernel {
 public:
  explicit CastLikeKernel(const KernelInit& init) : options_(ReadOptions(init.node())) {}
  void Run(OpContext& context) const override { CastTo(context, context.AnyLayoutInput(1).type, options_); }

 private:
  ConvertOptions options_;
};

}  // namespace

void Register_cast(KernelRegistry& registry) {
  registry.Add<CastKernel>("Cast", 1);
  registry.Add<CastLikeKernel>("CastLike", 15);
}

}  // namespace epiphyte::cpu
