// Common parts of the ai.onnx.ml operators: inputs of any numeric type, and the final transform of scores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

// Elements of a tensor of numbers (or bool), converted to T.
template <typename T>
std::vector<T> NumbersOf(const Tensor& tensor, std::string_view what);

// A tensor as rows [N,C]. A vector is one row, or with `as_column` many rows of one feature.
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

// How a classifier with two classes and one score derives the second score.
enum class SecondClass {
  kNone,
  kComplement,  // scores are probabilities: 1 - p, p
  kOpposite,    // scores are margins: -m, m
};
// Completes and transforms one row of scores. Two scores derived from one are transformed only by LOGISTIC, because
// existing models rely on that.
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
  // Labels for positive and negative when a class has none.
  void SetPlain(int64_t row, int64_t value);

 private:
  const Labels& labels_;
  Tensor& output_;
};

}  // namespace epiphyte::cpu
