// Operators that make a tensor from parameters: Constant, ConstantOfShape, Range.
#include <algorithm>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/range.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

// A tensor from the model, owned by the kernel.
struct Stored {
  ElementType type = EP_TYPE_FLOAT;
  Dims dims;
  std::vector<uint8_t> bytes;
  std::vector<std::string> strings;

  void Assign(const Tensor& tensor) {
    type = tensor.type;
    dims = tensor.dims;
    if (type == EP_TYPE_STRING)
      strings = *tensor.strings;
    else if (tensor.Bytes() != 0)
      bytes.assign(tensor.as<uint8_t>(), tensor.as<uint8_t>() + tensor.Bytes());
  }
  template <typename T>
  void Assign(ElementType element_type, const std::vector<T>& values, bool scalar) {
    type = element_type;
    if (!scalar) dims = Dims{static_cast<int64_t>(values.size())};
    const auto* data = reinterpret_cast<const uint8_t*>(values.data());
    bytes.assign(data, data + values.size() * sizeof(T));
  }
};

class ConstantKernel : public Kernel {
 public:
  explicit ConstantKernel(const KernelInit& init) {
    const ir::Node& node = init.node();
    if (const ir::Tensor* value = node.TensorOf("value"); value != nullptr) {
      value_.Assign(ViewOf(*value));
    } else if (const ir::Attribute* sparse = node.Find("sparse_value"); sparse != nullptr) {
      AssignSparse(*sparse, init.OutputInfo(0));
    } else if (node.Has("value_float")) {
      value_.Assign(EP_TYPE_FLOAT, std::vector<float>{node.Float("value_float", 0)}, true);
    } else if (node.Has("value_floats")) {
      value_.Assign(EP_TYPE_FLOAT, node.Floats("value_floats"), false);
    } else if (node.Has("value_int")) {
      value_.Assign(EP_TYPE_INT64, std::vector<int64_t>{node.Int("value_int", 0)}, true);
    } else if (node.Has("value_ints")) {
      value_.Assign(EP_TYPE_INT64, node.Ints("value_ints"), false);
    } else if (node.Has("value_string")) {
      value_.type = EP_TYPE_STRING;
      value_.strings = {node.String("value_string")};
    } else if (node.Has("value_strings")) {
      value_.type = EP_TYPE_STRING;
      value_.strings = node.Strings("value_strings");
      value_.dims = Dims{static_cast<int64_t>(value_.strings.size())};
    } else {
      FailOp(
          "no value attribute found, one of value, sparse_value, value_float(s), value_int(s), value_string(s) "
          "expected");
    }
  }

  void Run(OpContext& context) const override {
    Tensor& y = context.Output(0, value_.type, value_.dims);
    if (value_.type == EP_TYPE_STRING)
      *y.strings = value_.strings;
    else
      std::copy_n(value_.bytes.data(), value_.bytes.size(), y.as<uint8_t>());
  }

 private:
  // The dense shape comes from the output's type, because plugins do not see it in the attribute.
  void AssignSparse(const ir::Attribute& sparse, const ir::Value& output) {
    if (sparse.tensors.size() != 2 || !output.IsStatic())
      FailOp("a sparse value without values, indices and a known shape found, all three expected");
    const Tensor values = ViewOf(sparse.tensors[0]);
    const Tensor indices = ViewOf(sparse.tensors[1]);
    value_.type = values.type;
    value_.dims = Dims(std::span<const int64_t>(output.dims));
    const int64_t count = kit::CheckedCount(value_.dims), entries = values.Count();
    const auto rank = static_cast<int64_t>(value_.dims.size());
    const bool flat = indices.rank() == 1;
    if (indices.type != EP_TYPE_INT64 || indices.Count() != entries * (flat ? 1 : rank) || IsPacked(values.type))
      FailOp("sparse indices of shape {} found for {} values of rank {}, one or a tuple for each expected",
             ShapeText(indices.dims), entries, rank);
    const bool is_string = value_.type == EP_TYPE_STRING;
    const auto unit = static_cast<int64_t>(is_string ? 0 : UnitBytes(value_.type));
    if (is_string) value_.strings.resize(static_cast<size_t>(count));
    value_.bytes.resize(static_cast<size_t>(kit::CheckedMultiply(count, unit)));
    const int64_t* index = indices.as<int64_t>();
    for (int64_t i = 0; i < entries; ++i) {
      int64_t at = 0;
      if (flat) {
        at = index[i];
      } else {
        for (int64_t k = 0; k < rank; ++k) {
          const int64_t dim = value_.dims[static_cast<size_t>(k)], coordinate = index[i * rank + k];
          if (coordinate < 0 || coordinate >= dim)
            FailOp("sparse index {} found for a dimension of {}, a smaller one expected", coordinate, dim);
          at = at * dim + coordinate;
        }
      }
      if (at < 0 || at >= count) FailOp("sparse index {} found for {} elements, a smaller one expected", at, count);
      if (is_string)
        value_.strings[static_cast<size_t>(at)] = (*values.strings)[static_cast<size_t>(i)];
      else
        std::copy_n(values.as<uint8_t>() + i * unit, unit, value_.bytes.data() + at * unit);
    }
  }

  Stored value_;
};

class ConstantOfShapeKernel : public Kernel {
 public:
  explicit ConstantOfShapeKernel(const KernelInit& init) {
    if (const ir::Tensor* value = init.node().TensorOf("value"); value != nullptr) {
      if (value->Count() != 1) FailOp("a value of shape {} found, one element expected", ShapeText(value->dims));
      value_.Assign(ViewOf(*value));
    } else {
      value_.Assign(EP_TYPE_FLOAT, std::vector<float>{0.0f}, true);
    }
  }

  void Run(OpContext& context) const override {
    const Dims dims = IntegersOf(context.Input(0), "shape");
    kit::CheckedCount(dims);
    Tensor stored;
    stored.type = value_.type;
    stored.data = const_cast<uint8_t*>(value_.bytes.data());
    WithUnit(value_.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveTarget<T> target(context, 0, value_.type, dims);
      T value{};
      if constexpr (std::is_same_v<T, std::string>)
        value = value_.strings[0];
      else
        value = *MoveSource<T>(context, stored).data();
      StridedMove(context, dims, &value, Dims(dims.size(), 0), target.data());
    });
  }

 private:
  Stored value_;
};

class RangeKernel : public Kernel {
 public:
  explicit RangeKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const Tensor& start = Parameter(context, 0, "start", kNumbers);
    Parameter(context, 1, "limit", TypeBit(start.type));
    Parameter(context, 2, "delta", TypeBit(start.type));
    DispatchNumbers(start.type, "Range", [&]<typename T>() { Fill<T>(context); });
  }

 private:
  template <typename T>
  static void Fill(OpContext& context) {
    using C = Compute<T>;
    const C start = static_cast<C>(*context.Input(0).as<T>());
    const C limit = static_cast<C>(*context.Input(1).as<T>());
    const C delta = static_cast<C>(*context.Input(2).as<T>());
    using Wide = std::conditional_t<!std::is_integral_v<T>, double,
                                    std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>>;
    const int64_t count = kit::RangeCount(static_cast<Wide>(start), static_cast<Wide>(limit), static_cast<Wide>(delta));
    T* out = context.Output(0, kTypeOf<T>, Dims{count}).template as<T>();
    if constexpr (std::is_integral_v<T>) {
      // Computes several elements at a time by additions, which SIMD has for every width. Numbers wrap around.
      using U = std::make_unsigned_t<T>;
      constexpr int64_t kTogether = 16;
      U next[kTogether];
      for (int64_t k = 0; k < kTogether; ++k)
        next[k] =
            static_cast<U>(static_cast<uint64_t>(start) + static_cast<uint64_t>(k) * static_cast<uint64_t>(delta));
      const U step = static_cast<U>(static_cast<uint64_t>(kTogether) * static_cast<uint64_t>(delta));
      for (int64_t i = 0; i < count; i += kTogether) {
        const int64_t some = std::min(kTogether, count - i);
        if (some == kTogether) {
          for (int64_t k = 0; k < kTogether; ++k) {
            out[i + k] = static_cast<T>(next[k]);
            next[k] = static_cast<U>(next[k] + step);
          }
        } else {
          for (int64_t k = 0; k < some; ++k) out[i + k] = static_cast<T>(next[k]);
        }
      }
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(start + static_cast<C>(i) * delta);
    }
  }
};

}  // namespace

void Register_generate(KernelRegistry& registry) {
  registry.Add<ConstantKernel>("Constant");
  registry.Add<ConstantOfShapeKernel>("ConstantOfShape");
  registry.Add<RangeKernel>("Range", 1, kNumbers);
}

}  // namespace epiphyte::cpu
