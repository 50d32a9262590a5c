// ai.onnx.ml, maps: CastMap, DictVectorizer, ZipMap.
#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/ml/ml_common.h"

namespace epiphyte::cpu {
namespace {

struct Map {
  const Tensor& keys;
  const Tensor& values;
};

Map MapOf(OpContext& context, size_t input) {
  const Datum& datum = context.InputDatum(input);
  if (datum.kind != Datum::Kind::kMap || !datum.elements || datum.elements->size() != 2)
    FailOp("input {} is no map, one expected", input);
  const Map map{(*datum.elements)[0].tensor, (*datum.elements)[1].tensor};
  if (map.keys.Count() != map.values.Count())
    FailOp("a map of {} keys and {} values found, as many expected", map.keys.Count(), map.values.Count());
  return map;
}

class CastMapKernel : public Kernel {
 public:
  explicit CastMapKernel(const KernelInit& init)
      : target_(init.node().String("cast_to", "TO_FLOAT")), length_(init.node().Int("max_map", 1)) {
    if (target_ != "TO_FLOAT" && target_ != "TO_STRING" && target_ != "TO_INT64")
      FailOp("cast_to '{}' found, TO_FLOAT, TO_STRING or TO_INT64 expected", target_);
    const std::string form = init.node().String("map_form", "DENSE");
    if (form != "DENSE" && form != "SPARSE") FailOp("map_form '{}' found, DENSE or SPARSE expected", form);
    sparse_ = form == "SPARSE";
    if (sparse_ && (length_ < 1 || length_ > INT32_MAX)) FailOp("max_map {} found, at least 1 expected", length_);
  }
  void Run(OpContext& context) const override {
    const Map map = MapOf(context, 0);
    if (map.keys.type != EP_TYPE_INT64 || (map.values.type != EP_TYPE_FLOAT && map.values.type != EP_TYPE_STRING))
      FailOp("a map from {} to {} found, from int64 to float or string expected", TypeName(map.keys.type),
             TypeName(map.values.type));
    const int64_t* keys = map.keys.as<int64_t>();
    std::vector<size_t> order(static_cast<size_t>(map.keys.Count()));
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
    const int64_t length = sparse_ ? length_ : map.keys.Count();
    // Position of each entry in the output.
    std::vector<std::pair<int64_t, size_t>> places;
    for (size_t i = 0; i < order.size(); ++i) {
      const int64_t at = sparse_ ? keys[order[i]] : static_cast<int64_t>(i);
      if (at < 0 || (sparse_ && at >= length)) FailOp("key {} found, a value in [0, {}] expected", at, length - 1);
      places.emplace_back(at, order[i]);
    }
    const Dims dims{1, length};
    if (target_ == "TO_STRING") {
      std::vector<std::string>& y = *context.Output(0, EP_TYPE_STRING, dims).strings;
      if (sparse_) std::fill(y.begin(), y.end(), std::string(1, '0'));
      for (const auto& [at, from] : places) y[static_cast<size_t>(at)] = Text(map.values, from);
    } else if (target_ == "TO_FLOAT") {
      float* y = context.Output(0, EP_TYPE_FLOAT, dims).as<float>();
      std::fill_n(y, length, 0.0f);
      for (const auto& [at, from] : places) y[at] = static_cast<float>(Number(map.values, from));
    } else {
      int64_t* y = context.Output(0, EP_TYPE_INT64, dims).as<int64_t>();
      std::fill_n(y, length, int64_t{0});
      for (const auto& [at, from] : places) {
        const double number = Number(map.values, from);
        if (!(number > -0x1p63 && number < 0x1p63)) FailOp("value {} found, an integer of 64 bits expected", number);
        y[at] = static_cast<int64_t>(number);
      }
    }
  }

 private:
  static double Number(const Tensor& values, size_t i) {
    if (values.type == EP_TYPE_FLOAT) return values.as<float>()[i];
    const std::string& text = (*values.strings)[i];
    double number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size())
      FailOp("value '{}' found, a number expected", text);
    return number;
  }
  static std::string Text(const Tensor& values, size_t i) {
    return values.type == EP_TYPE_STRING ? (*values.strings)[i] : FormatText("{:f}", values.as<float>()[i]);
  }

  std::string target_;
  bool sparse_;
  int64_t length_;
};

class DictVectorizerKernel : public Kernel {
 public:
  explicit DictVectorizerKernel(const KernelInit& init)
      : vocabulary_(init.node(), "int64_vocabulary", "string_vocabulary") {}
  void Run(OpContext& context) const override {
    const Map map = MapOf(context, 0);
    const bool strings = vocabulary_.are_strings();
    if (map.keys.type != (strings ? EP_TYPE_STRING : EP_TYPE_INT64))
      FailOp("a map with keys of type {} found, the vocabulary's type expected", TypeName(map.keys.type));
    const auto count = static_cast<size_t>(map.keys.Count());
    std::unordered_map<std::string, size_t> by_string;
    std::unordered_map<int64_t, size_t> by_integer;
    for (size_t i = 0; i < count; ++i) {
      if (strings)
        by_string.emplace((*map.keys.strings)[i], i);
      else
        by_integer.emplace(map.keys.as<int64_t>()[i], i);
    }
    WithUnit(map.values.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, map.values);
      MoveTarget<T> target(context, 0, map.values.type, Dims{1, static_cast<int64_t>(vocabulary_.size())});
      for (size_t i = 0; i < vocabulary_.size(); ++i) {
        const T* value = nullptr;
        if (strings) {
          const auto found = by_string.find(vocabulary_.strings[i]);
          if (found != by_string.end()) value = source.data() + found->second;
        } else {
          const auto found = by_integer.find(vocabulary_.integers[i]);
          if (found != by_integer.end()) value = source.data() + found->second;
        }
        target.data()[i] = value == nullptr ? T{} : *value;
      }
    });
  }

 private:
  Labels vocabulary_;
};

// Converts each row of scores to a map from label to score.
class ZipMapKernel : public Kernel {
 public:
  explicit ZipMapKernel(const KernelInit& init) : labels_(init.node(), "classlabels_int64s", "classlabels_strings") {
    if (labels_.size() == 0) FailOp("no class labels found, classlabels_int64s or classlabels_strings expected");
  }
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Rows rows = RowsOf(x);
    if (x.type != EP_TYPE_FLOAT || rows.width != static_cast<int64_t>(labels_.size()))
      FailOp("input of type {} and shape {} found, float with {} columns expected", TypeName(x.type), ShapeText(x.dims),
             labels_.size());
    const Dims dims{rows.width};
    // All maps share their keys.
    Datum keys;
    keys.kind = Datum::Kind::kTensor;
    keys.tensor.dims = dims;
    if (labels_.are_strings()) {
      keys.tensor.type = EP_TYPE_STRING;
      keys.tensor.strings = std::make_shared<std::vector<std::string>>(labels_.strings);
    } else {
      auto owned = std::make_shared<std::vector<int64_t>>(labels_.integers);
      keys.tensor.type = EP_TYPE_INT64;
      keys.tensor.data = owned->data();
      keys.owner = owned;
    }
    auto scores = std::make_shared<std::vector<float>>(x.as<float>(), x.as<float>() + x.Count());
    Datum sequence;
    sequence.kind = Datum::Kind::kSequence;
    sequence.elements = std::make_shared<std::vector<Datum>>();
    for (int64_t r = 0; r < rows.count; ++r) {
      Datum values;
      values.kind = Datum::Kind::kTensor;
      values.tensor.type = EP_TYPE_FLOAT;
      values.tensor.dims = dims;
      values.tensor.data = scores->data() + r * rows.width;
      values.owner = scores;
      Datum map;
      map.kind = Datum::Kind::kMap;
      map.elements = std::make_shared<std::vector<Datum>>(std::vector<Datum>{keys, std::move(values)});
      sequence.elements->push_back(std::move(map));
    }
    context.SetOutput(0, std::move(sequence));
  }

 private:
  Labels labels_;
};

}  // namespace

void Register_ml_maps(KernelRegistry& registry) {
  registry.Add<CastMapKernel>("CastMap", 1, kAnyType, INT64_MAX, kMlDomain);
  registry.Add<DictVectorizerKernel>("DictVectorizer", 1, kAnyType, INT64_MAX, kMlDomain);
  registry.Add<ZipMapKernel>("ZipMap", 1, kAnyType, INT64_MAX, kMlDomain);
}

}  // namespace epiphyte::cpu
