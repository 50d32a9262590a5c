// TfIdfVectorizer: counts the n-grams of a pool in each row, with gaps of up to max_skip_count elements.
#include <algorithm>
#include <map>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/kernel/move.h"

namespace epiphyte::cpu {
namespace {

// The pool as a tree with a level for each element of an n-gram. Elements are numbers; strings are numbered first.
struct Gram {
  int64_t id = -1;  // index in ngram_indexes, if an n-gram ends here
  std::map<int64_t, Gram> next;
};

class TfIdfVectorizerKernel : public Kernel {
 public:
  explicit TfIdfVectorizerKernel(const KernelInit& init) {
    const ir::Node& node = init.node();
    mode_ = node.String("mode", "");
    if (mode_ != "TF" && mode_ != "IDF" && mode_ != "TFIDF")
      FailOp("mode '{}' found, TF, IDF or TFIDF expected", mode_);
    least_ = node.Int("min_gram_length", 0);
    most_ = node.Int("max_gram_length", 0);
    skips_ = node.Int("max_skip_count", -1);
    if (least_ < 1 || most_ < least_ || most_ > kLongestGram || skips_ < 0 || skips_ > INT32_MAX)
      FailOp(
          "min_gram_length {}, max_gram_length {} and max_skip_count {} found, 1 <= min <= max <= {} and 0 <= skip "
          "expected",
          least_, most_, skips_, kLongestGram);
    indexes_ = node.Ints("ngram_indexes");
    weights_ = node.Floats("weights");
    if (indexes_.empty()) FailOp("no ngram_indexes found, at least one expected");
    for (int64_t index : indexes_) {
      if (index < 0 || index > INT32_MAX) FailOp("ngram index {} found, at least 0 expected", index);
      width_ = std::max(width_, index + 1);
    }
    if (!weights_.empty() && weights_.size() != indexes_.size())
      FailOp("{} weights found for {} n-grams, as many expected", weights_.size(), indexes_.size());
    Build(node);
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() > 2) FailOp("input of shape {} found, [C] or [B,C] expected", ShapeText(x.dims));
    const bool batched = x.rank() == 2;
    const int64_t rows = batched ? x.dims[0] : 1;
    const int64_t columns = x.rank() == 0 ? 1 : x.dims[x.rank() - 1];
    const std::vector<int64_t> items = Items(context, x);
    const Dims dims = batched ? Dims{rows, width_} : Dims{width_};
    kit::CheckedCount(dims);
    float* out = context.Output(0, EP_TYPE_FLOAT, dims).as<float>();
    std::fill_n(out, rows * width_, 0.0f);
    for (int64_t r = 0; r < rows; ++r) {
      float* row = out + r * width_;
      std::vector<int64_t> counts(indexes_.size());
      CountRow(items.data() + r * columns, columns, counts);
      for (size_t id = 0; id < counts.size(); ++id) {
        if (counts[id] == 0) continue;
        const float weight = mode_ == "TF" || weights_.empty() ? 1.0f : weights_[id];
        row[indexes_[id]] += mode_ == "IDF" ? weight : weight * static_cast<float>(counts[id]);
      }
    }
  }

 private:
  static constexpr int64_t kLongestGram = 1024;  // maximum number of tree levels; destruction of the tree is recursive

  void Build(const ir::Node& node) {
    std::vector<int64_t> pool = node.Ints("pool_int64s");
    strings_ = pool.empty() && node.Has("pool_strings");
    if (strings_)
      for (const std::string& text : node.Strings("pool_strings"))
        pool.push_back(numbers_.emplace(text, static_cast<int64_t>(numbers_.size())).first->second);
    const std::vector<int64_t> starts = node.Ints("ngram_counts");
    size_t id = 0;
    for (size_t length = 1; length <= starts.size(); ++length) {
      const int64_t begin = starts[length - 1];
      const int64_t end = length < starts.size() ? starts[length] : static_cast<int64_t>(pool.size());
      if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.size()) ||
          (end - begin) % static_cast<int64_t>(length) != 0)
        FailOp("ngram_counts {} found for a pool of {}, rising starts of whole n-grams expected", ShapeText(starts),
               pool.size());
      const bool wanted = static_cast<int64_t>(length) >= least_ && static_cast<int64_t>(length) <= most_;
      for (int64_t at = begin; at < end; at += static_cast<int64_t>(length), ++id) {
        if (id >= indexes_.size())
          FailOp("{} ngram_indexes found, one for each n-gram of the pool expected", indexes_.size());
        if (!wanted) continue;
        Gram* gram = &root_;
        for (size_t i = 0; i < length; ++i) gram = &gram->next[pool[static_cast<size_t>(at) + i]];
        gram->id = static_cast<int64_t>(id);
      }
    }
  }

  std::vector<int64_t> Items(OpContext& context, const Tensor& x) const {
    std::vector<int64_t> items(static_cast<size_t>(x.Count()));
    if ((x.type == EP_TYPE_STRING) != strings_)
      FailOp("input of type {} found, the type of the pool expected", TypeName(x.type));
    if (!strings_) {
      std::copy_n(Int64Data(context, x, "input"), items.size(), items.begin());
      return items;
    }
    for (size_t i = 0; i < items.size(); ++i) {
      const auto found = numbers_.find((*x.strings)[i]);
      items[i] = found == numbers_.end() ? -1 : found->second;
    }
    return items;
  }

  void CountRow(const int64_t* row, int64_t columns, std::vector<int64_t>& counts) const {
    int64_t shortest = least_;
    for (int64_t distance = 1; distance <= skips_ + 1 && distance <= std::max<int64_t>(columns, 1); ++distance) {
      for (int64_t start = 0; start < columns; ++start) {
        const Gram* gram = &root_;
        int64_t length = 1;
        for (int64_t at = start; at < columns && length <= most_; at += distance, ++length) {
          const auto found = gram->next.find(row[at]);
          if (found == gram->next.end()) break;
          gram = &found->second;
          if (length >= shortest && gram->id >= 0) ++counts[static_cast<size_t>(gram->id)];
        }
      }
      // Gaps make no difference for single elements, so they count once.
      if (shortest == 1 && ++shortest > most_) break;
    }
  }

  std::string mode_;
  int64_t least_ = 1;
  int64_t most_ = 1;
  int64_t skips_ = 0;
  int64_t width_ = 0;
  bool strings_ = false;
  std::vector<int64_t> indexes_;
  std::vector<float> weights_;
  std::map<std::string, int64_t> numbers_;
  Gram root_;
};

}  // namespace

void Register_tfidf_vectorizer(KernelRegistry& registry) { registry.Add<TfIdfVectorizerKernel>("TfIdfVectorizer"); }

}  // namespace epiphyte::cpu
