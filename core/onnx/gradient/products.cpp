// Matrix products.
#include <algorithm>
#include <numeric>

#include "core/onnx/gradient/rules.h"

namespace epiphyte::core::gradient {
namespace {

Value SwapLastTwo(Emitter& e, Value x) {
  Axes perm(e.RankOf(x));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return e.Transpose(x, std::move(perm));
}

// A vector is a row on the left and a column on the right. The dimension that is added for this isn't in the result.
void MatMul(Step& s) {
  Emitter& e = s.e();
  const bool row = s.RankFrom(1, 0) == 1, column = s.RankFrom(1, 1) == 1;
  const Value a = row ? e.Unsqueeze(s.In(0), {0}) : s.In(0);
  const Value b = column ? e.Unsqueeze(s.In(1), {1}) : s.In(1);
  Value g = s.g();
  if (column) g = e.Unsqueeze(g, {static_cast<int64_t>(e.RankOf(g))});
  if (row) g = e.Unsqueeze(g, {static_cast<int64_t>(e.RankOf(g)) - 1});
  if (s.Wants(0)) {
    const Value part = e.SumTo(e.Op("MatMul", {g, SwapLastTwo(e, b)}), a);
    s.Give(0, row ? e.Squeeze(part, {0}) : part);
  }
  if (s.Wants(1)) {
    const Value part = e.SumTo(e.Op("MatMul", {SwapLastTwo(e, a), g}), b);
    s.Give(1, column ? e.Squeeze(part, {1}) : part);
  }
}

void Gemm(Step& s) {
  Emitter& e = s.e();
  const bool turn_a = s.Int("transA", 0) != 0, turn_b = s.Int("transB", 0) != 0;
  const double alpha = s.Float("alpha", 1), beta = s.Float("beta", 1);
  const auto product = [&](Value left, bool turn_left, Value right, bool turn_right) {
    return e.Op("Gemm", {left, right},
                Attributes(Attribute::Float("alpha", static_cast<float>(alpha)),
                           Attribute::Int("transA", turn_left ? 1 : 0), Attribute::Int("transB", turn_right ? 1 : 0)));
  };
  if (s.Wants(0)) s.Give(0, turn_a ? product(s.In(1), turn_b, s.g(), true) : product(s.g(), false, s.In(1), !turn_b));
  if (s.Wants(1)) s.Give(1, turn_b ? product(s.g(), true, s.In(0), turn_a) : product(s.In(0), !turn_a, s.g(), false));
  if (s.Wants(2)) s.GiveSum(2, beta == 1 ? s.g() : e.Times(s.g(), beta));
}

constexpr NamedRule kProductRules[] = {{"Gemm", Gemm}, {"MatMul", MatMul}};

}  // namespace

std::span<const NamedRule> ProductRules() { return kProductRules; }

}  // namespace epiphyte::core::gradient
