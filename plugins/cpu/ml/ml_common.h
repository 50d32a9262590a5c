// What the operators of ai.onnx.ml share: inputs of any number type, and what happens to scores at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

// The elements of a tensor of numbers (or bool) as T.
template <typename T>
std::vector<T> NumbersOf(const Tensor& tensor, std::string_view what);

// A tensor seen as rows: [N,C]; a vector is one row, or, for `as_column`, one feature of many rows.
struct Rows {
  int64_t count = 0;
  int64_t width = 0;
};
Rows RowsOf(const Tensor& tensor);

enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
PostTransform PostTransformOf(const ir::Node& node);

// Applies the transform to the scores of one row.
template <typename T>
void Transform(PostTransform transform, std::span<T> scores);

// How the second score of a classifier with two classes and one score is made up.
enum class SecondClass {
  kNone,
  kComplement,  // scores are probabilities: 1 - p, p
  kOpposite,    // scores are margins: -m, m
};
// One row of scores, completed and transformed. Two scores made of one are transformed by LOGISTIC only: existing
// models rely on that.
template <typename T>
std::vector<T> FinishScores(PostTransform transform, SecondClass second, std::vector<T> scores);

// Labels of classes: integers or strings.
struct Labels {
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
  Labels(const ir::Node& node, std::string_view integers_name, std::string_view strings_name);
  bool are_strings() const { return !strings.empty(); }
  size_t size() const { return are_strings() ? strings.size() : integers.size(); }
};
// Output 0: a label for each row.
class LabelWriter {
 public:
  LabelWriter(OpContext& context, const Labels& labels, int64_t rows);
  void Set(int64_t row, size_t label);
  // What stands for positive and negative where there are no labels for both.
  void SetPlain(int64_t row, int64_t value);

 private:
  const Labels& labels_;
  Tensor& output_;
};

}  // namespace epiphyte::cpu
