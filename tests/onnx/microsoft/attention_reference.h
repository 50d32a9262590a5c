// The reference softmax(Q K^T * scale + added) V in double, and conversions between the operators' layouts.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>

#include "tests/onnx/microsoft/call.h"

namespace epiphyte::test::microsoft {

// Number that is added to the score of {batch, head, query, key}; -infinity masks the key.
using Added = std::function<double(const Dims&)>;
inline constexpr double kHidden = -std::numeric_limits<double>::infinity();

struct AttentionRule {
  double scale = 0;  // 0: one over the square root of the size of a head
  double softcap = 0;
  std::function<double(int64_t head)> sink;  // a logit beside those of the keys
  Added added;
};

// Computes attention of q [batch, heads, queries, size], k [batch, groups, keys, size] and v [batch, groups, keys,
// width].
inline Array AttentionOf(const Array& q, const Array& k, const Array& v, const AttentionRule& rule) {
  const int64_t keys = k.dims[2];
  const int64_t each = q.dims[1] / k.dims[1];
  const double scale = rule.scale != 0 ? rule.scale : 1 / std::sqrt(static_cast<double>(q.dims[3]));
  Array y = Make({q.dims[0], q.dims[1], q.dims[2], v.dims[3]}, [](const Dims&) { return 0; });
  for (int64_t b = 0; b < q.dims[0]; ++b) {
    for (int64_t n = 0; n < q.dims[1]; ++n) {
      for (int64_t s = 0; s < q.dims[2]; ++s) {
        std::vector<double> scores;
        for (int64_t t = 0; t < keys; ++t) {
          double score = 0;
          for (int64_t i = 0; i < q.dims[3]; ++i) score += q.At({b, n, s, i}) * k.At({b, n / each, t, i});
          score *= scale;
          if (rule.softcap != 0) score = rule.softcap * std::tanh(score / rule.softcap);
          scores.push_back(score + (rule.added ? rule.added({b, n, s, t}) : 0));
        }
        const double top = *std::max_element(scores.begin(), scores.end());
        double sum = rule.sink ? std::exp(rule.sink(n) - top) : 0;
        for (double& score : scores) sum += score = std::exp(score - top);
        for (int64_t t = 0; t < keys; ++t) {
          for (int64_t i = 0; i < v.dims[3]; ++i)
            y.Ref({b, n, s, i}) += scores[static_cast<size_t>(t)] / sum * v.At({b, n / each, t, i});
        }
      }
    }
  }
  return y;
}

// Converts [batch, sequence, from… heads * size] to [batch, heads, sequence, size].
inline Array HeadsOf(const Array& x, int64_t heads, int64_t size, int64_t from = 0) {
  return Make({x.dims[0], heads, x.dims[1], size}, [&](const Dims& i) {
    return x.At({i[0], i[2], from + i[1] * size + i[3]});
  });
}
// Converts [batch, heads, sequence, size] to [batch, sequence, heads * size].
inline Array Merged(const Array& x) {
  const int64_t size = x.dims[3];
  return Make({x.dims[0], x.dims[2], x.dims[1] * size}, [&](const Dims& i) {
    return x.At({i[0], i[2] / size, i[1], i[2] % size});
  });
}
// Concatenates `a` and `b` along dimension 2.
inline Array Joined(const Array& a, const Array& b) {
  Dims dims = a.dims;
  dims[2] += b.dims[2];
  return Make(dims, [&](const Dims& i) {
    return i[2] < a.dims[2] ? a.At(i) : b.At({i[0], i[1], i[2] - a.dims[2], i[3]});
  });
}
// Returns the slice at `index` of the first dimension, without that dimension.
inline Array PartOf(const Array& x, int64_t index) {
  return Make(Dims(x.dims.begin() + 1, x.dims.end()), [&](const Dims& i) {
    Dims from = {index};
    from.insert(from.end(), i.begin(), i.end());
    return x.At(from);
  });
}

}  // namespace epiphyte::test::microsoft
