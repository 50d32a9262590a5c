// Einsum: operands are contracted two at a time, each time as a batch of matrix products.
#include <algorithm>
#include <map>
#include <optional>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/einsum.hpp"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/ops/math/einsum_product.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/arithmetic.h"
#include "plugins/cpu/simd/tile_matmul.h"

namespace epiphyte::cpu {
namespace {

using Labels = kit::EinsumLabels;

bool Contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Strided data with one label a dimension. Integers are computed as unsigned numbers, which wrap.
template <typename C>
struct Operand {
  const C* data = nullptr;
  std::vector<C> owned;
  std::map<int, int64_t> strides;  // 0 where a dimension of size 1 is broadcast
};

template <typename C>
class Contraction {
 public:
  explicit Contraction(const std::map<int, int64_t>& sizes) : sizes_(sizes) {}

  int64_t Count(const Labels& labels) const {
    int64_t count = 1;
    for (int label : labels) count = kit::CheckedMultiply(count, sizes_.at(label));
    return count;
  }

  // The operand's data in the order of `labels`, summed over all it has besides.
  std::vector<C> Arrange(const Operand<C>& operand, const Labels& labels) const {
    Labels summed;
    for (const auto& [label, stride] : operand.strides) {
      if (!Contains(labels, label)) summed.push_back(label);
    }
    std::vector<C> result(static_cast<size_t>(Count(labels)));
    if (result.empty() || Count(summed) == 0) return result;  // an outer label could still go on for ages
    size_t at = 0;
    Walk(operand, labels, 0, 0, [&](int64_t offset) {
      C sum{};
      Walk(operand, summed, 0, offset, [&](int64_t inner) { sum += operand.data[inner]; });
      result[at++] = sum;
    });
    return result;
  }

  // a times b, keeping the labels in `kept`.
  Operand<C> Multiply(OpContext& context, const Operand<C>& a, const Operand<C>& b, const Labels& kept) const {
    Labels batch, rows, columns, inner;
    for (const auto& [label, stride] : a.strides) {
      const bool shared = b.strides.count(label) != 0;
      const bool keep = Contains(kept, label);
      if (shared) (keep ? batch : inner).push_back(label);
      if (!shared && keep) rows.push_back(label);
    }
    for (const auto& [label, stride] : b.strides) {
      if (a.strides.count(label) == 0 && Contains(kept, label)) columns.push_back(label);
    }
    const std::vector<C> left = Arrange(a, Join({batch, rows, inner}));
    const std::vector<C> right = Arrange(b, Join({batch, inner, columns}));
    const int64_t m = Count(rows), n = Count(columns), k = Count(inner);
    Operand<C> result;
    const int64_t lines = kit::CheckedMultiply(Count(batch), m);
    result.owned.resize(static_cast<size_t>(kit::CheckedMultiply(lines, n)));
    // Shares are rows of all products, so that a single large one is divided too.
    ParallelLoop(context, result.owned.empty() ? 0 : lines, kit::CheckedMultiply(n, k),
                 [&](int64_t begin, int64_t end) {
                   while (begin < end) {
                     const int64_t product = begin / m;
                     const int64_t count = std::min(end, (product + 1) * m) - begin;
                     simd::TileMatMul(left.data() + begin * k, k, right.data() + product * k * n, n,
                                      result.owned.data() + begin * n, n, count, n, k);
                     begin += count;
                   }
                 });
    result.data = result.owned.data();
    int64_t stride = 1;
    const Labels order = Join({batch, rows, columns});
    for (size_t i = order.size(); i-- > 0;) {
      result.strides[order[i]] = stride;
      stride = kit::CheckedMultiply(stride, sizes_.at(order[i]));
    }
    return result;
  }

 private:
  static Labels Join(std::initializer_list<Labels> parts) {
    Labels all;
    for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  template <typename Visit>
  void Walk(const Operand<C>& operand, const Labels& labels, size_t depth, int64_t offset, const Visit& visit) const {
    if (depth == labels.size()) return visit(offset);
    const auto found = operand.strides.find(labels[depth]);
    const int64_t stride = found == operand.strides.end() ? 0 : found->second;
    const int64_t size = sizes_.at(labels[depth]);
    for (int64_t i = 0; i < size; ++i) Walk(operand, labels, depth + 1, offset + i * stride, visit);
  }

  const std::map<int, int64_t>& sizes_;
};

template <typename T, bool = std::is_integral_v<T>>
struct Computing {
  using type = Compute<T>;
};
template <typename T>
struct Computing<T, true> {
  using type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};

class EinsumKernel : public Kernel {
 public:
  static FloatUse FloatUseOf(const ir::Node&) { return FloatUse::kWorthCasts; }

  explicit EinsumKernel(const KernelInit& init)
      : equation_(kit::EinsumEquation::Parse(init.node().String("equation"))) {}

  void Run(OpContext& context) const override {
    std::vector<const Dims*> shapes;
    for (size_t i = 0; i < context.InputCount(); ++i) {
      const Tensor& input = context.Input(i);
      if (input.type != context.Input(0).type) FailOp("operands have different types");
      shapes.push_back(&input.dims);
    }
    const kit::EinsumShape shape(equation_, shapes);
    Tensor& y = context.Output(0, context.Input(0).type, shape.y);
    if (y.type == EP_TYPE_FLOAT && RunProduct(context, shape, y)) return;
    DispatchNumbers(y.type, "Einsum", [&]<typename T>() { RunTyped<T>(context, shape, y.as<T>()); });
  }

 private:
  struct State {
    Dims a, b;
    std::optional<EinsumProduct> product;
  };

  // False when it is no product of two operands that oneDNN has.
  static bool RunProduct(OpContext& context, const kit::EinsumShape& shape, Tensor& y) {
    if (context.InputCount() != 2) return false;
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    if (!EinsumProduct::Suits(shape, a.dims, b.dims)) return false;
    State& state = context.State<State>();
    if (!state.product || !(state.a == a.dims) || !(state.b == b.dims)) {
      state.product.reset();
      try {
        state.product.emplace(shape, a.dims, b.dims);
      } catch (const dnnl::error& error) {
        ThrowIfNoMemory(error);
        return false;
      }
      state.a = a.dims;
      state.b = b.dims;
    }
    state.product->Run(context, a, b, y);
    return true;
  }

  template <typename T>
  static void RunTyped(OpContext& context, const kit::EinsumShape& shape, T* y) {
    using C = typename Computing<T>::type;
    const std::vector<Labels>& labels = shape.operands;
    const Contraction<C> contraction(shape.sizes);
    Operand<C> result = Load<T, C>(context.Input(0), labels[0]);
    for (size_t i = 1; i < labels.size(); ++i) {
      Labels kept = shape.output;
      for (size_t j = i + 1; j < labels.size(); ++j) kept.insert(kept.end(), labels[j].begin(), labels[j].end());
      result = contraction.Multiply(context, result, Load<T, C>(context.Input(i), labels[i]), kept);
    }
    const std::vector<C> arranged = contraction.Arrange(result, shape.output);
    for (size_t i = 0; i < arranged.size(); ++i) y[i] = static_cast<T>(arranged[i]);
  }

  template <typename T, typename C>
  static Operand<C> Load(const Tensor& tensor, const Labels& labels) {
    Operand<C> operand;
    if constexpr (std::is_same_v<T, C>) {
      operand.data = tensor.as<T>();
    } else {
      const int64_t count = tensor.Count();
      operand.owned.resize(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) operand.owned[static_cast<size_t>(i)] = static_cast<C>(tensor.as<T>()[i]);
      operand.data = operand.owned.data();
    }
    int64_t stride = 1;
    for (size_t i = labels.size(); i-- > 0;) {
      // A label that appears twice takes the diagonal.
      operand.strides[labels[i]] += tensor.dims[i] == 1 ? 0 : stride;
      stride *= tensor.dims[i];
    }
    return operand;
  }

  kit::EinsumEquation equation_;
};

}  // namespace

void Register_einsum(KernelRegistry& registry) { registry.Add<EinsumKernel>("Einsum", 12, kNumbers); }

}  // namespace epiphyte::cpu
