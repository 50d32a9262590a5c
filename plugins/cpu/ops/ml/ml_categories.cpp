// ai.onnx.ml, categories and numbers: CategoryMapper, LabelEncoder, OneHotEncoder.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/ml/ml_common.h"

namespace epiphyte::cpu {
namespace {

const std::vector<std::string>& StringsOf(const Tensor& x) { return *x.strings; }

class CategoryMapperKernel : public Kernel {
 public:
  explicit CategoryMapperKernel(const KernelInit& init)
      : default_string_(init.node().String("default_string", "_Unused")),
        default_integer_(init.node().Int("default_int64", -1)) {
    const std::vector<std::string> strings = init.node().Strings("cats_strings");
    const std::vector<int64_t> integers = init.node().Ints("cats_int64s");
    if (strings.size() != integers.size())
      FailOp("{} cats_strings and {} cats_int64s found, as many expected", strings.size(), integers.size());
    for (size_t i = 0; i < strings.size(); ++i) {
      to_integer_.emplace(strings[i], integers[i]);
      to_string_.emplace(integers[i], strings[i]);
    }
  }
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.type == EP_TYPE_STRING) {
      int64_t* y = context.Output(0, EP_TYPE_INT64, x.dims).as<int64_t>();
      for (const std::string& text : StringsOf(x)) {
        const auto found = to_integer_.find(text);
        *y++ = found == to_integer_.end() ? default_integer_ : found->second;
      }
    } else if (x.type == EP_TYPE_INT64) {
      std::vector<std::string>& y = *context.Output(0, EP_TYPE_STRING, x.dims).strings;
      for (size_t i = 0; i < y.size(); ++i) {
        const auto found = to_string_.find(x.as<int64_t>()[i]);
        y[i] = found == to_string_.end() ? default_string_ : found->second;
      }
    } else {
      FailOp("input of type {} found, string or int64 expected", TypeName(x.type));
    }
  }

 private:
  std::string default_string_;
  int64_t default_integer_;
  std::unordered_map<std::string, int64_t> to_integer_;
  std::unordered_map<int64_t, std::string> to_string_;
};

// A list of keys or values, given by an attribute in one of several types.
struct Column {
  ElementType type = EP_TYPE_UNDEFINED;
  std::vector<std::string> strings;
  std::vector<int64_t> integers;  // for int64 and the smaller integers
  std::vector<double> reals;      // for float and double
  size_t size() const { return type == EP_TYPE_STRING ? strings.size() : IsReal() ? reals.size() : integers.size(); }
  bool IsReal() const { return type == EP_TYPE_FLOAT || type == EP_TYPE_DOUBLE; }

  bool FromTensor(const ir::Tensor* tensor, std::string_view name) {
    if (tensor == nullptr) return false;
    type = tensor->type;
    if (type == EP_TYPE_STRING) {
      strings = *tensor->strings;
    } else if (IsReal()) {
      reals = NumbersOf<double>(ViewOf(*tensor), name);
    } else {
      Dispatch<int64_t, int32_t, int16_t>(
          type, name, [&]<typename T>() { integers.assign(tensor->as<T>(), tensor->as<T>() + tensor->Count()); });
    }
    return true;
  }
};

class LabelEncoderKernel : public Kernel {
 public:
  explicit LabelEncoderKernel(const KernelInit& init) {
    const ir::Node& node = init.node();
    if (node.since_version < 2) {
      const std::vector<std::string> classes = node.Strings("classes_strings");
      Column strings, numbers;
      strings.type = EP_TYPE_STRING;
      strings.strings = classes;
      numbers.type = EP_TYPE_INT64;
      for (size_t i = 0; i < classes.size(); ++i) numbers.integers.push_back(static_cast<int64_t>(i));
      // The node maps in both directions; the input's type selects one.
      keys_ = init.InputInfo(0).type == EP_TYPE_INT64 ? numbers : strings;
      values_ = init.InputInfo(0).type == EP_TYPE_INT64 ? strings : numbers;
    } else {
      keys_ = ColumnOf(node, "keys");
      values_ = ColumnOf(node, "values");
    }
    if (keys_.size() != values_.size())
      FailOp("{} keys and {} values found, as many expected", keys_.size(), values_.size());
    fallback_ = FallbackOf(node);
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (keys_.type == EP_TYPE_STRING) {
        by_string_.emplace(keys_.strings[i], i);
      } else if (!keys_.IsReal()) {
        by_integer_.emplace(keys_.integers[i], i);
      } else if (std::isnan(keys_.reals[i])) {
        if (nan_ < 0) nan_ = static_cast<int64_t>(i);
      } else {
        by_real_.emplace(keys_.reals[i], i);
      }
    }
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.type != keys_.type)
      FailOp("input of type {} found, the keys' type {} expected", TypeName(x.type), TypeName(keys_.type));
    const int64_t count = x.Count();
    std::vector<int64_t> found(static_cast<size_t>(count));
    for (size_t i = 0; i < found.size(); ++i) found[i] = Find(x, i);
    Tensor& y = context.Output(0, values_.type, x.dims);
    if (values_.type == EP_TYPE_STRING) {
      for (size_t i = 0; i < found.size(); ++i)
        (*y.strings)[i] = found[i] < 0 ? fallback_.strings[0] : values_.strings[static_cast<size_t>(found[i])];
      return;
    }
    Dispatch<float, double, int64_t, int32_t, int16_t>(values_.type, "LabelEncoder", [&]<typename T>() {
      T* to = y.as<T>();
      for (size_t i = 0; i < found.size(); ++i) {
        const auto at = static_cast<size_t>(std::max<int64_t>(found[i], 0));
        if constexpr (std::is_integral_v<T>)
          to[i] = static_cast<T>(found[i] < 0 ? fallback_.integers[0] : values_.integers[at]);
        else
          to[i] = static_cast<T>(found[i] < 0 ? fallback_.reals[0] : values_.reals[at]);
      }
    });
  }

 private:
  static Column ColumnOf(const ir::Node& node, const std::string& prefix) {
    Column column;
    if (column.FromTensor(node.TensorOf(prefix + "_tensor"), prefix)) return column;
    if (node.Has(prefix + "_strings")) {
      column.type = EP_TYPE_STRING;
      column.strings = node.Strings(prefix + "_strings");
    } else if (node.Has(prefix + "_int64s")) {
      column.type = EP_TYPE_INT64;
      column.integers = node.Ints(prefix + "_int64s");
    } else if (node.Has(prefix + "_floats")) {
      column.type = EP_TYPE_FLOAT;
      const std::vector<float> floats = node.Floats(prefix + "_floats");
      column.reals.assign(floats.begin(), floats.end());
    } else {
      FailOp("no {} found, an attribute {}_tensor, _strings, _int64s or _floats expected", prefix, prefix);
    }
    return column;
  }

  Column FallbackOf(const ir::Node& node) const {
    Column fallback;
    if (fallback.FromTensor(node.TensorOf("default_tensor"), "default_tensor")) {
      if (fallback.type != values_.type || fallback.size() != 1)
        FailOp("a default_tensor of type {} found, one element of the values' type {} expected",
               TypeName(fallback.type), TypeName(values_.type));
      return fallback;
    }
    fallback.type = values_.type;
    fallback.strings = {node.String("default_string", "_Unused")};
    fallback.integers = {node.Int("default_int64", -1)};
    fallback.reals = {node.Float("default_float", -0.0f)};
    return fallback;
  }

  int64_t Find(const Tensor& x, size_t i) const {
    const auto place = [](const auto& map, const auto& key) {
      const auto at = map.find(key);
      return at == map.end() ? int64_t{-1} : static_cast<int64_t>(at->second);
    };
    switch (x.type) {
      case EP_TYPE_STRING: return place(by_string_, StringsOf(x)[i]);
      case EP_TYPE_INT64: return place(by_integer_, x.as<int64_t>()[i]);
      case EP_TYPE_INT32: return place(by_integer_, int64_t{x.as<int32_t>()[i]});
      case EP_TYPE_INT16: return place(by_integer_, int64_t{x.as<int16_t>()[i]});
      default: {
        const double key = x.type == EP_TYPE_FLOAT ? static_cast<double>(x.as<float>()[i]) : x.as<double>()[i];
        return std::isnan(key) ? nan_ : place(by_real_, key);
      }
    }
  }

  Column keys_;
  Column values_;
  Column fallback_;
  std::unordered_map<std::string, size_t> by_string_;
  std::unordered_map<int64_t, size_t> by_integer_;
  std::unordered_map<double, size_t> by_real_;
  int64_t nan_ = -1;
};

class OneHotEncoderKernel : public Kernel {
 public:
  explicit OneHotEncoderKernel(const KernelInit& init)
      : categories_(init.node(), "cats_int64s", "cats_strings"), zeros_(init.node().Int("zeros", 1) != 0) {
    for (size_t i = 0; i < categories_.size(); ++i) {
      if (categories_.are_strings())
        by_string_.emplace(categories_.strings[i], i);
      else
        by_integer_.emplace(categories_.integers[i], i);
    }
  }
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    Dims dims = x.dims;
    const auto width = static_cast<int64_t>(categories_.size());
    dims.push_back(width);
    const int64_t total = kit::CheckedCount(dims), count = x.Count();
    if ((x.type == EP_TYPE_STRING) != categories_.are_strings())
      FailOp("input of type {} found, the type of the categories expected", TypeName(x.type));
    float* y = context.Output(0, EP_TYPE_FLOAT, dims).as<float>();
    std::fill_n(y, total, 0.0f);
    std::vector<double> numbers;
    if (x.type != EP_TYPE_STRING) numbers = NumbersOf<double>(x, "OneHotEncoder");
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = x.type == EP_TYPE_STRING ? Find(by_string_, StringsOf(x)[static_cast<size_t>(i)])
                                                  : FindNumber(x, numbers, static_cast<size_t>(i));
      if (at >= 0)
        y[i * width + at] = 1;
      else if (!zeros_)
        FailOp("an element that is in no category found, one of {} expected", width);
    }
  }

 private:
  template <typename Map, typename Key>
  static int64_t Find(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? -1 : static_cast<int64_t>(found->second);
  }
  int64_t FindNumber(const Tensor& x, const std::vector<double>& numbers, size_t i) const {
    if (x.type == EP_TYPE_INT64) return Find(by_integer_, x.as<int64_t>()[i]);
    if (!(std::abs(numbers[i]) < 0x1p62)) return -1;
    return Find(by_integer_, static_cast<int64_t>(numbers[i]));
  }

  Labels categories_;
  bool zeros_;
  std::unordered_map<std::string, size_t> by_string_;
  std::unordered_map<int64_t, size_t> by_integer_;
};

}  // namespace

void Register_ml_categories(KernelRegistry& registry) {
  registry.Add<CategoryMapperKernel>("CategoryMapper", 1, kAnyType, INT64_MAX, kMlDomain);
  registry.Add<LabelEncoderKernel>("LabelEncoder", 1, kAnyType, INT64_MAX, kMlDomain);
  registry.Add<OneHotEncoderKernel>("OneHotEncoder", 1, kAnyType, INT64_MAX, kMlDomain);
}

}  // namespace epiphyte::cpu
