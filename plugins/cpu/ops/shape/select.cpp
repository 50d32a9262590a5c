// Operators with an output size that depends on a condition: NonZero, Compress.
#include <algorithm>

#include "plugins/cpu/ops/shape/axis_items.h"

namespace epiphyte::cpu {
namespace {

// Bits that distinguish an element from zero: all but the sign for types with a negative zero.
uint64_t MagnitudeMask(ElementType type) {
  switch (type) {
    case EP_TYPE_FLOAT: return 0x7FFFFFFFu;
    case EP_TYPE_DOUBLE: return INT64_MAX;
    case EP_TYPE_FLOAT16:
    case EP_TYPE_BFLOAT16: return 0x7FFFu;
    case EP_TYPE_FLOAT8E4M3FN:
    case EP_TYPE_FLOAT8E5M2: return 0x7Fu;
    case EP_TYPE_FLOAT4E2M1: return 0x7u;
    case EP_TYPE_COMPLEX64: return 0x7FFFFFFF7FFFFFFFu;
    default: return UINT64_MAX;
  }
}

template <typename T>
bool IsNonZero(const T& element, uint64_t mask) {
  if constexpr (std::is_same_v<T, std::string>)
    return !element.empty();
  else if constexpr (std::is_same_v<T, Unit16>)
    return ((element.low | element.high) & static_cast<uint64_t>(INT64_MAX)) != 0;
  else
    return (element & mask) != 0;
}

class NonZeroKernel : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kNever; }

  explicit NonZeroKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims& dims = x.dims;
    const auto rank = static_cast<int64_t>(dims.size());
    const int64_t count = x.Count();
    const uint64_t mask = MagnitudeMask(x.type);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      const T* from = source.data();
      int64_t found = 0;
      for (int64_t i = 0; i < count; ++i) found += IsNonZero(from[i], mask);
      int64_t* const out = context.Output(0, EP_TYPE_INT64, Dims{rank, found}).template as<int64_t>();
      if (found == 0 || rank == 0) return;  // a scalar has no axes to index
      // Pieces of rows along the last axis. Positions in a piece are collected without branches, which would be
      // mispredicted.
      constexpr int64_t kPiece = 256;
      const int64_t row = dims.back();
      int64_t places[kPiece];
      Dims outer(dims.size() - 1, 0);
      int64_t at = 0;
      for (int64_t first = 0; first < count; first += row) {
        for (int64_t column = 0; column < row; column += kPiece) {
          const T* const piece = from + first + column;
          const int64_t size = std::min(kPiece, row - column);
          int64_t n = 0;
          for (int64_t i = 0; i < size; ++i) {
            places[n] = column + i;
            n += IsNonZero(piece[i], mask);
          }
          for (size_t k = 0; k < outer.size(); ++k)
            std::fill_n(out + static_cast<int64_t>(k) * found + at, n, outer[k]);
          std::copy_n(places, n, out + (rank - 1) * found + at);
          at += n;
        }
        for (size_t k = outer.size(); k-- > 0 && ++outer[k] == dims[k];) outer[k] = 0;
      }
    });
  }
};

class CompressKernel : public Kernel {
 public:
  explicit CompressKernel(const KernelInit& init)
      : has_axis_(init.node().Has("axis")), axis_(init.node().Int("axis", 0)) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& condition = context.Input(1);
    if (condition.type != EP_TYPE_BOOL || condition.rank() != 1)
      FailOp("condition of type {} and shape {} found, a vector of bool expected", TypeName(condition.type),
             ShapeText(condition.dims));
    const AxisItems items(x, has_axis_, axis_);
    if (condition.Count() > items.count)
      FailOp("a condition of {} elements found for a dimension of {}, at most that many expected", condition.Count(),
             items.count);
    const auto* chosen = condition.as<uint8_t>();
    // Branchless, because branches would be mispredicted.
    std::vector<int64_t> places(static_cast<size_t>(condition.Count()) + 1);
    size_t found = 0;
    for (int64_t i = 0; i < condition.Count(); ++i) {
      places[found] = i;
      found += chosen[i] != 0 ? 1 : 0;
    }
    places.resize(found);
    items.Emit(context, x, places);
  }

 private:
  bool has_axis_;
  int64_t axis_;
};

}  // namespace

void Register_select(KernelRegistry& registry) {
  registry.Add<NonZeroKernel>("NonZero");
  registry.Add<CompressKernel>("Compress");
}

}  // namespace epiphyte::cpu
