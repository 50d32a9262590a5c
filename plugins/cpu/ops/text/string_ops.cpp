// Operators on strings: StringNormalizer, StringConcat, StringSplit.
#include <algorithm>
#include <unordered_set>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/text/utf8.h"

namespace epiphyte::cpu {
namespace {

const Tensor& Strings(OpContext& context, size_t input) {
  const Tensor& x = context.Input(input);
  if (x.type != EP_TYPE_STRING) FailOp("input {} of type {} found, strings expected", input, TypeName(x.type));
  return x;
}

class StringNormalizerKernel : public Kernel {
 public:
  explicit StringNormalizerKernel(const KernelInit& init)
      : case_sensitive_(init.node().Int("is_case_sensitive", 0) != 0),
        action_(init.node().String("case_change_action", "NONE")) {
    if (action_ != "NONE" && action_ != "LOWER" && action_ != "UPPER")
      FailOp("case_change_action '{}' found, NONE, LOWER or UPPER expected", action_);
    for (const std::string& word : init.node().Strings("stopwords")) stop_words_.insert(Key(word));
  }
  void Run(OpContext& context) const override {
    const Tensor& x = Strings(context, 0);
    if (x.rank() < 1 || x.rank() > 2 || (x.rank() == 2 && x.dims[0] != 1))
      FailOp("input of shape {} found, [C] or [1,C] expected", ShapeText(x.dims));
    std::vector<std::string> kept;
    for (const std::string& word : *x.strings) {
      if (!stop_words_.empty() && stop_words_.contains(Key(word))) continue;
      if (action_ == "NONE")
        kept.push_back(word);
      else
        kept.push_back(MapUtf8(word, action_ == "LOWER" ? ToLower : ToUpper));
    }
    if (kept.empty()) kept.emplace_back();
    const auto count = static_cast<int64_t>(kept.size());
    *context.Output(0, EP_TYPE_STRING, x.rank() == 1 ? Dims{count} : Dims{1, count}).strings = std::move(kept);
  }

 private:
  std::string Key(const std::string& word) const { return case_sensitive_ ? word : MapUtf8(word, ToLower); }

  bool case_sensitive_;
  std::string action_;
  std::unordered_set<std::string> stop_words_;
};

class StringConcatKernel : public Kernel {
 public:
  explicit StringConcatKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const Tensor& a = Strings(context, 0);
    const Tensor& b = Strings(context, 1);
    const size_t rank = std::max(a.rank(), b.rank());
    kit::StridedBlock walk;
    walk.dims = Dims(rank, 1);
    walk.from = Steps(a, rank, walk.dims);
    walk.to = Steps(b, rank, walk.dims);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t from = DimOf(a, rank, i), to = DimOf(b, rank, i);
      if (from != to && from != 1 && to != 1)
        FailOp("inputs of shapes {} and {} found, shapes that broadcast expected", ShapeText(a.dims),
               ShapeText(b.dims));
    }
    const int64_t count = kit::CheckedCount(walk.dims);
    std::vector<std::string>& out = *context.Output(0, EP_TYPE_STRING, walk.dims).strings;
    if (count == 0) return;
    uint64_t bytes = 0;
    kit::Odometer sizes(walk, rank, 0);
    for (int64_t i = 0; i < count; ++i, sizes.Next())
      bytes +=
          (*a.strings)[static_cast<size_t>(sizes.from())].size() + (*b.strings)[static_cast<size_t>(sizes.to())].size();
    context.CountMemory(bytes);
    kit::Odometer at(walk, rank, 0);
    for (int64_t i = 0; i < count; ++i, at.Next())
      out[static_cast<size_t>(i)] =
          (*a.strings)[static_cast<size_t>(at.from())] + (*b.strings)[static_cast<size_t>(at.to())];
  }

 private:
  static int64_t DimOf(const Tensor& x, size_t rank, size_t i) {
    return i + x.rank() < rank ? 1 : x.dims[i + x.rank() - rank];
  }
  // Strides of x in the broadcast shape; enlarges that shape to include x's dimensions.
  static Dims Steps(const Tensor& x, size_t rank, Dims& shape) {
    const Dims strides = kit::RowMajorStrides(x.dims);
    Dims steps(rank, 0);
    for (size_t i = rank - x.rank(); i < rank; ++i) {
      const int64_t dim = DimOf(x, rank, i);
      if (dim == 1) continue;
      shape[i] = dim;
      steps[i] = strides[i + x.rank() - rank];
    }
    return steps;
  }
};

// StringSplit by the rules of Python's str.split.
class StringSplitKernel : public Kernel {
 public:
  explicit StringSplitKernel(const KernelInit& init)
      : delimiter_(init.node().String("delimiter", "")), most_(init.node().Int("maxsplit", -1)) {}
  void Run(OpContext& context) const override {
    const Tensor& x = Strings(context, 0);
    const int64_t count = x.Count();
    std::vector<std::vector<std::string>> parts(static_cast<size_t>(count));
    size_t widest = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = delimiter_.empty() ? SplitAtSpace((*x.strings)[i]) : SplitAtDelimiter((*x.strings)[i]);
      widest = std::max(widest, parts[i].size());
    }
    Dims dims = x.dims;
    dims.push_back(static_cast<int64_t>(widest));
    kit::CheckedCount(dims);
    std::vector<std::string>& out = *context.Output(0, EP_TYPE_STRING, dims).strings;
    int64_t* lengths = context.Output(1, EP_TYPE_INT64, x.dims).as<int64_t>();
    for (size_t i = 0; i < parts.size(); ++i) {
      lengths[i] = static_cast<int64_t>(parts[i].size());
      std::move(parts[i].begin(), parts[i].end(), out.begin() + static_cast<int64_t>(i * widest));
    }
  }

 private:
  bool MoreSplits(size_t done) const { return most_ < 0 || done < static_cast<size_t>(most_); }

  std::vector<std::string> SplitAtDelimiter(std::string_view text) const {
    std::vector<std::string> parts;
    while (MoreSplits(parts.size())) {
      const size_t end = text.find(delimiter_);
      if (end == std::string_view::npos) break;
      parts.emplace_back(text.substr(0, end));
      text.remove_prefix(end + delimiter_.size());
    }
    parts.emplace_back(text);
    return parts;
  }

  std::vector<std::string> SplitAtSpace(std::string_view text) const {
    constexpr std::string_view kSpace = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
    std::vector<std::string> parts;
    while (true) {
      const size_t begin = text.find_first_not_of(kSpace);
      if (begin == std::string_view::npos) return parts;
      text.remove_prefix(begin);
      const size_t end = text.find_first_of(kSpace);
      if (end == std::string_view::npos || !MoreSplits(parts.size())) {
        parts.emplace_back(text);
        return parts;
      }
      parts.emplace_back(text.substr(0, end));
      text.remove_prefix(end);
    }
  }

  std::string delimiter_;
  int64_t most_;
};

}  // namespace

void Register_string_ops(KernelRegistry& registry) {
  registry.Add<StringNormalizerKernel>("StringNormalizer");
  registry.Add<StringConcatKernel>("StringConcat");
  registry.Add<StringSplitKernel>("StringSplit");
}

}  // namespace epiphyte::cpu
