#include "plugins/cpu/ml/ml_common.h"

#include <algorithm>
#include <cmath>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"

namespace epiphyte::cpu {
namespace {

// Winitzki's approximation, used by ONNX's runtimes.
template <typename T>
T InverseErf(T x) {
  const T sign = x < 0 ? T{-1} : T{1};
  const T log = std::log((1 - x) * (1 + x));
  const T v = T(2 / (3.14159265358979323846 * 0.147)) + log / 2;
  return sign * std::sqrt(-v + std::sqrt(v * v - log / T(0.147)));
}

template <typename T>
T Logistic(T x) {
  const T v = 1 / (1 + std::exp(-std::abs(x)));
  return x < 0 ? 1 - v : v;
}

}  // namespace

template <typename T>
std::vector<T> NumbersOf(const Tensor& tensor, std::string_view what) {
  std::vector<T> numbers(static_cast<size_t>(tensor.Count()));
  Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, uint8_t, int8_t, uint16_t, int16_t, uint32_t, uint64_t,
           bool>(tensor.type, what, [&]<typename From>() {
    const From* from = tensor.as<From>();
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(static_cast<Compute<From>>(from[i]));
  });
  return numbers;
}
template std::vector<float> NumbersOf(const Tensor& tensor, std::string_view what);
template std::vector<double> NumbersOf(const Tensor& tensor, std::string_view what);

Rows RowsOf(const Tensor& tensor) {
  if (tensor.rank() == 0 || tensor.rank() > 2)
    FailOp("input of shape {} found, [C] or [N,C] expected", ShapeText(tensor.dims));
  return tensor.rank() == 1 ? Rows{1, tensor.dims[0]} : Rows{tensor.dims[0], tensor.dims[1]};
}

PostTransform PostTransformOf(const ir::Node& node) {
  const std::string name = node.String("post_transform", "NONE");
  if (name == "NONE") return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (name == "PROBIT") return PostTransform::kProbit;
  FailOp("post_transform '{}' found, NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT expected", name);
}

template <typename T>
void Transform(PostTransform transform, std::span<T> scores) {
  switch (transform) {
    case PostTransform::kNone: return;
    case PostTransform::kLogistic:
      for (T& score : scores) score = Logistic(score);
      return;
    case PostTransform::kProbit:
      for (T& score : scores) score = T(1.41421356237309504880) * InverseErf(2 * score - 1);
      return;
    case PostTransform::kSoftmax:
    case PostTransform::kSoftmaxZero: {
      if (scores.empty()) return;
      const T largest = *std::max_element(scores.begin(), scores.end());
      const bool keep_zeros = transform == PostTransform::kSoftmaxZero;
      T sum = 0;
      for (T& score : scores) {
        // Scores of zero belong to classes without any information; SOFTMAX_ZERO leaves them out.
        const bool zero = keep_zeros && std::abs(score) <= T(0.0000001);
        score = zero ? score * std::exp(-largest) : std::exp(score - largest);
        sum += score;
      }
      if (sum != 0)
        for (T& score : scores) score /= sum;
      return;
    }
  }
}
template void Transform(PostTransform transform, std::span<float> scores);
template void Transform(PostTransform transform, std::span<double> scores);

template <typename T>
std::vector<T> FinishScores(PostTransform transform, SecondClass second, std::vector<T> scores) {
  if (scores.size() != 1 || second == SecondClass::kNone) {
    Transform(transform, std::span<T>(scores));
    return scores;
  }
  const T score = scores[0];
  if (transform == PostTransform::kProbit) {
    Transform(transform, std::span<T>(scores));
    return scores;
  }
  if (transform == PostTransform::kLogistic) return {Logistic(-score), Logistic(score)};
  return {second == SecondClass::kComplement ? 1 - score : -score, score};
}
template std::vector<float> FinishScores(PostTransform, SecondClass, std::vector<float>);
template std::vector<double> FinishScores(PostTransform, SecondClass, std::vector<double>);

Labels::Labels(const ir::Node& node, std::string_view integers_name, std::string_view strings_name)
    : integers(node.Ints(integers_name)), strings(node.Strings(strings_name)) {}

LabelWriter::LabelWriter(OpContext& context, const Labels& labels, int64_t rows)
    : labels_(labels), output_(context.Output(0, labels.are_strings() ? EP_TYPE_STRING : EP_TYPE_INT64, Dims{rows})) {}

void LabelWriter::Set(int64_t row, size_t label) {
  if (labels_.are_strings())
    (*output_.strings)[static_cast<size_t>(row)] = labels_.strings[label];
  else
    output_.as<int64_t>()[row] = labels_.integers[label];
}

void LabelWriter::SetPlain(int64_t row, int64_t value) {
  if (labels_.are_strings())
    (*output_.strings)[static_cast<size_t>(row)] = std::to_string(value);
  else
    output_.as<int64_t>()[row] = value;
}

}  // namespace epiphyte::cpu
