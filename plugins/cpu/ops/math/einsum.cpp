// Einsum: contracts two operands at a time, each time as a batch of GEMMs.
#include <algorithm>
#include <map>
#include <optional>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/einsum.hpp"
#include "plugins/cpu/kernel/blocked_product.h"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/ops/math/einsum_product.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/elementwise/arithmetic.h"
#include "plugins/cpu/simd/gemm/tile_matmul.h"

namespace epiphyte::cpu {
namespace {

using Labels = kit::EinsumLabels;

bool Contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Strided data with one label for each dimension. Integers are computed as unsigned numbers, which wrap.
template <typename C>
struct Operand {
  const C* data = nullptr;
  std::vector<C> owned;
  std::map<int, int64_t> strides;  // 0 for a broadcast dimension of size 1
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

  // Returns the operand's data in the order of `labels`, summed over all its other labels.
  std::vector<C> Arrange(const Operand<C>& operand, const Labels& labels) const {
    Labels summed;
    for (const auto& [label, stride] : operand.strides) {
      if (!Contains(labels, label)) summed.push_back(label);
    }
    std::vector<C> result(static_cast<size_t>(Count(labels)));
    // without this, a large outer label would loop over nothing
    if (result.empty() || Count(summed) == 0) return result;
    size_t at = 0;
    Walk(operand, labels, 0, 0, [&](int64_t offset) {
      C sum{};
      Walk(operand, summed, 0, offset, [&](int64_t inner) { sum += operand.data[inner]; });
      result[at++] = sum;
    });
    return result;
  }

  // a times b with the labels in `kept`. If the result's dimensions have the order of `wanted`, it is written to
  // `target` (unless null).
  Operand<C> Multiply(OpContext& context, const Operand<C>& a, const Operand<C>& b, const Labels& kept,
                      const Labels& wanted, C* target) const {
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
    const auto place = [&](int label) { return std::find(wanted.begin(), wanted.end(), label) - wanted.begin(); };
    for (Labels* group : {&batch, &rows, &columns})
      std::stable_sort(group->begin(), group->end(), [&](int p, int q) { return place(p) < place(q); });
    std::stable_sort(inner.begin(), inner.end(), [&](int p, int q) { return a.strides.at(p) > a.strides.at(q); });
    const int64_t m = Count(rows), n = Count(columns), k = Count(inner), products = Count(batch);
    const bool a_lies = Uses(a, {batch, rows, inner}) && Step(a, rows) && (k == 1 || Step(a, inner) == 1);
    // Blocked GEMMs support any column stride.
    constexpr bool kBlocked = !std::is_same_v<C, float>;
    const bool b_lies = Uses(b, {batch, inner, columns}) && Step(b, inner) &&
                        (kBlocked ? Step(b, columns).has_value() : n == 1 || Step(b, columns) == 1);
    const Operand<C> left = a_lies ? View(a) : Arranged(a, Join({batch, rows, inner}));
    const Operand<C> right = b_lies ? View(b) : Arranged(b, Join({batch, inner, columns}));
    const Labels order = Join({batch, rows, columns});
    Operand<C> result;
    const int64_t lines = kit::CheckedMultiply(products, m);
    const int64_t count = kit::CheckedMultiply(lines, n);
    const bool direct = target != nullptr && order == wanted;
    if (!direct) result.owned.resize(static_cast<size_t>(count));
    C* const y = direct ? target : result.owned.data();
    const int64_t a_row = *Step(left, rows), b_row = *Step(right, inner), b_column = *Step(right, columns);
    const auto a_of = [&](int64_t product) { return left.data + Offset(left, batch, product); };
    const auto b_of = [&](int64_t product) { return right.data + Offset(right, batch, product); };
    if constexpr (kBlocked) {
      MultiplyBlocked<C>(context, count == 0 ? 0 : products, [&](int64_t i) {
        return BlockedProduct<C>{a_of(i), a_row, b_of(i), b_row, b_column, y + i * m * n, n, m, n, k};
      });
    } else {
      // Tasks are rows of all GEMMs, so that a single large GEMM is divided too.
      if (direct) std::fill_n(y, count, C{});
      ParallelLoop(context, count == 0 ? 0 : lines, kit::CheckedMultiply(n, k), [&](int64_t begin, int64_t end) {
        while (begin < end) {
          const int64_t product = begin / m;
          const int64_t height = std::min(end, (product + 1) * m) - begin;
          simd::TileMatMul(simd::TileOperands<C>{a_of(product) + begin % m * a_row, a_row, b_of(product), b_row,
                                                 y + begin * n, n, height, n, k});
          begin += height;
        }
      });
    }
    result.data = y;
    SetStrides(result, order);
    return result;
  }

 private:
  // A view of the same elements; the operand owns the memory.
  static Operand<C> View(const Operand<C>& operand) {
    Operand<C> view;
    view.data = operand.data;
    view.strides = operand.strides;
    return view;
  }
  Operand<C> Arranged(const Operand<C>& operand, const Labels& labels) const {
    Operand<C> arranged;
    arranged.owned = Arrange(operand, labels);
    arranged.data = arranged.owned.data();
    SetStrides(arranged, labels);
    return arranged;
  }
  void SetStrides(Operand<C>& operand, const Labels& order) const {
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      operand.strides[order[i]] = stride;
      stride = kit::CheckedMultiply(stride, sizes_.at(order[i]));
    }
  }
  // True when the operand has exactly these labels.
  static bool Uses(const Operand<C>& operand, std::initializer_list<Labels> groups) {
    size_t count = 0;
    for (const Labels& group : groups) count += group.size();
    return operand.strides.size() == count;
  }
  // Stride when the labels are one joined dimension of the operand's memory.
  std::optional<int64_t> Step(const Operand<C>& operand, const Labels& labels) const {
    std::optional<int64_t> step;
    int64_t next = 0;
    for (size_t i = labels.size(); i-- > 0;) {
      const int64_t size = sizes_.at(labels[i]), stride = operand.strides.at(labels[i]);
      if (size == 1) continue;
      if (step && stride != next) return std::nullopt;
      if (!step) step = stride;
      next = stride * size;
    }
    return step.value_or(1);
  }
  // Offset of the batch's i-th GEMM.
  int64_t Offset(const Operand<C>& operand, const Labels& batch, int64_t i) const {
    int64_t offset = 0;
    for (size_t d = batch.size(); d-- > 0;) {
      const int64_t size = sizes_.at(batch[d]);
      offset += i % size * operand.strides.at(batch[d]);
      i /= size;
    }
    return offset;
  }

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
    if (depth + 1 == labels.size()) {
      for (int64_t i = 0; i < size; ++i) visit(offset + i * stride);
      return;
    }
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
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

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
    if (RunMove(context, shape, y) || (y.type == EP_TYPE_FLOAT && RunProduct(context, shape, y))) return;
    DispatchNumbers(y.type, "Einsum", [&]<typename T>() { RunTyped<T>(context, shape, y.as<T>()); });
  }

 private:
  struct State {
    Dims a, b;
    std::optional<EinsumProduct> product;
  };

  // Returns false unless the operation is only a transposition of one operand.
  static bool RunMove(OpContext& context, const kit::EinsumShape& shape, Tensor& y) {
    if (context.InputCount() != 1) return false;
    const Tensor& x = context.Input(0);
    const Labels& labels = shape.operands[0];
    if (!std::is_permutation(labels.begin(), labels.end(), shape.output.begin(), shape.output.end())) return false;
    const Dims strides = kit::RowMajorStrides(x.dims);
    Dims moved;
    // Each label occurs once in the output, and also in the operand.
    for (int label : shape.output) {
      const auto at = static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
      moved.push_back(strides[at]);
    }
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      if constexpr (!std::is_same_v<T, std::string>) StridedMove(context, shape.y, x.as<T>(), moved, y.as<T>());
    });
    return true;
  }

  // Returns false when the operation is not a GEMM of two operands that oneDNN supports.
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
      C* target = nullptr;
      if constexpr (sizeof(T) == sizeof(C)) target = i + 1 == labels.size() ? reinterpret_cast<C*>(y) : nullptr;
      result =
          contraction.Multiply(context, result, Load<T, C>(context.Input(i), labels[i]), kept, shape.output, target);
      if (target != nullptr && result.data == target) return;
    }
    const std::vector<C> arranged = contraction.Arrange(result, shape.output);
    for (size_t i = 0; i < arranged.size(); ++i) y[i] = static_cast<T>(arranged[i]);
  }

  template <typename T, typename C>
  static Operand<C> Load(const Tensor& tensor, const Labels& labels) {
    Operand<C> operand;
    if constexpr (sizeof(T) == sizeof(C)) {
      operand.data = reinterpret_cast<const C*>(tensor.as<T>());
    } else {
      const int64_t count = tensor.Count();
      operand.owned.resize(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) operand.owned[static_cast<size_t>(i)] = static_cast<C>(tensor.as<T>()[i]);
      operand.data = operand.owned.data();
    }
    int64_t stride = 1;
    for (size_t i = labels.size(); i-- > 0;) {
      // A label that occurs twice selects the diagonal.
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
