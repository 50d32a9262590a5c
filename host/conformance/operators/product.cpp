// Matrix products.
#include <algorithm>
#include <cmath>
#include <map>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

// Error bound of a sum of `terms` products, in steps at the magnitude of the summands. 16-bit types are summed in
// float.
Bound OfProducts(DataType type, int64_t terms, std::vector<Number> sizes) {
  if (!IsFloat(type)) return {};
  if (type == DataType::kFloat16 || type == DataType::kBfloat16) return {.ulps = 2, .sizes = std::move(sizes)};
  return {.ulps = 4 + std::sqrt(static_cast<Number>(terms)), .sizes = std::move(sizes)};
}

// Sizes of a product's three sides. A few are larger than a block of any kernel.
struct Sides {
  int64_t m, n, k;
};
Sides SidesOf(Random& random) {
  const int64_t most = random.Chance(15) ? 150 : 40;
  Sides sides{random.Size(most), random.Size(most), random.Size(most)};
  if (random.Chance(8)) sides.k = random.Int(100, 1500), sides.m = random.Int(1, 8), sides.n = random.Int(1, 40);
  if (random.Chance(5)) sides.n = random.Int(100, 1500), sides.m = random.Int(1, 4);
  return sides;
}

DataType ProductType(Random& random) {
  return random.Chance(80) ? random.FloatType()
                           : random.Pick({DataType::kInt32, DataType::kInt64, DataType::kUint32, DataType::kUint64});
}

void MatMul(Random& random, Case& c) {
  const DataType type = ProductType(random);
  const Sides sides = SidesOf(random);
  Dims batch = random.Shape(0, 3, 6);
  Dims a_dims = PartOf(random, batch);
  Dims b_dims = random.Chance(50) ? Dims{} : PartOf(random, batch);
  a_dims.insert(a_dims.end(), {sides.m, sides.k});
  b_dims.insert(b_dims.end(), {sides.k, sides.n});
  const bool row = a_dims.size() == 2 && random.Chance(15);
  const bool column = b_dims.size() == 2 && random.Chance(15);
  if (row) a_dims = {sides.k};
  if (column) b_dims = {sides.k};
  const Array a = random.Values(type, a_dims, Draw::kPlain);
  const Array b = random.Values(type, b_dims, Draw::kPlain);
  c.Input(a);
  c.Input(b);

  const Array left(type, row ? Dims{1, sides.k} : a.dims, a.values);
  const Array right(type, column ? Dims{sides.k, 1} : b.dims, b.values);
  const int64_t m = left.dims[left.dims.size() - 2];
  const int64_t n = right.dims.back();
  const Dims batches = Spread(Dims(left.dims.begin(), left.dims.end() - 2), Dims(right.dims.begin(), right.dims.end() - 2));
  Dims full = batches;
  full.insert(full.end(), {m, n});
  Array y(type, full);
  std::vector<Number> sizes(y.values.size());
  const auto at = [](const Array& matrix, const Dims& index, int64_t i, int64_t j) {
    int64_t place = 0;
    const size_t skipped = index.size() - matrix.dims.size();
    for (size_t axis = 0; axis + 2 < matrix.dims.size(); ++axis)
      place = place * matrix.dims[axis] + (matrix.dims[axis] == 1 ? 0 : index[skipped + axis]);
    return matrix[(place * matrix.dims[matrix.dims.size() - 2] + i) * matrix.dims.back() + j];
  };
  ForEachIndex(full, [&](const Dims& index, int64_t i) {
    const int64_t r = index[index.size() - 2];
    for (int64_t k = 0; k < sides.k; ++k) {
      const Number term = at(left, index, r, k) * at(right, index, k, index.back());
      y[i] += term;
      sizes[static_cast<size_t>(i)] += std::fabs(term);
    }
  });
  y.dims = batches;
  if (!row) y.dims.push_back(m);
  if (!column) y.dims.push_back(n);
  c.Output(y, OfProducts(type, sides.k, std::move(sizes)));
}

void BadMatMul(Random& random, Case& c) {
  const int64_t k = random.Int(1, 20);
  c.Input(random.Values(DataType::kFloat, {random.Int(1, 5), k}, Draw::kPlain));
  c.Input(random.Values(DataType::kFloat, {k + random.Int(1, 5), random.Int(1, 5)}, Draw::kPlain));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void Gemm(Random& random, Case& c) {
  c.opset = random.Int(13, 21);
  const DataType type = ProductType(random);
  const Sides sides = SidesOf(random);
  const bool a_turned = random.Chance(40);
  const bool b_turned = random.Chance(40);
  if (a_turned || random.Chance(30)) c.Set("transA", a_turned);
  if (b_turned || random.Chance(30)) c.Set("transB", b_turned);
  Number alpha = 1;
  Number beta = 1;
  if (random.Chance(40)) c.Set("alpha", static_cast<float>(alpha = static_cast<Number>(random.Int(IsFloat(type) ? -4 : 1, 4)) / (IsFloat(type) ? 2 : 1)));
  if (random.Chance(40)) c.Set("beta", static_cast<float>(beta = static_cast<Number>(random.Int(IsFloat(type) ? -4 : 1, 4)) / (IsFloat(type) ? 2 : 1)));
  const Array a = random.Values(type, a_turned ? Dims{sides.k, sides.m} : Dims{sides.m, sides.k}, Draw::kPlain);
  const Array b = random.Values(type, b_turned ? Dims{sides.n, sides.k} : Dims{sides.k, sides.n}, Draw::kPlain);
  c.Input(a);
  c.Input(b);
  const Dims dims = {sides.m, sides.n};
  Array added(type, {});
  if (random.Chance(70)) {
    added = random.Values(type, PartOf(random, dims), Draw::kPlain);
    c.Input(added);
  }
  Array y(type, dims);
  std::vector<Number> sizes;
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    Number sum = 0;
    Number size = 0;
    for (int64_t k = 0; k < sides.k; ++k) {
      const Number term = (a_turned ? a.At({k, index[0]}) : a.At({index[0], k})) *
                          (b_turned ? b.At({index[1], k}) : b.At({k, index[1]}));
      sum += term;
      size += std::fabs(term);
    }
    const Number other = beta * SpreadAt(added, index);
    y[i] = alpha * sum + other;
    sizes.push_back(std::fabs(alpha) * size + std::fabs(other));
  });
  c.Output(y, OfProducts(type, sides.k, std::move(sizes)));
}

void BadGemm(Random& random, Case& c) {
  const int64_t m = random.Int(2, 9);
  const int64_t n = random.Int(2, 9);
  c.Input(random.Values(DataType::kFloat, {m, 4}, Draw::kPlain));
  c.Input(random.Values(DataType::kFloat, {random.Chance(50) ? 5 : 4, n}, Draw::kPlain));
  c.Input(random.Values(DataType::kFloat, {m + 1, n + 1}, Draw::kPlain));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void Einsum(Random& random, Case& c) {
  DataType type = ProductType(random);
  if (type == DataType::kBfloat16) type = DataType::kFloat16;
  const std::string letters = "abcdeXY";
  std::map<char, int64_t> sizes_of;
  for (char letter : letters) sizes_of[letter] = random.Chance(3) ? 0 : random.Int(1, 7);
  const bool ellipsis = random.Chance(25);
  const Dims spread = ellipsis ? random.Shape(0, 2, 6) : Dims{};

  std::vector<std::string> terms;
  std::vector<Array> inputs;
  const int64_t count = random.Pick({1, 2, 2, 2, 2, 3});
  for (int64_t i = 0; i < count; ++i) {
    std::string term;
    const int64_t rank = random.Int(i == 0 && !ellipsis ? 1 : 0, 4);
    for (int64_t j = 0; j < rank; ++j) term += letters[static_cast<size_t>(random.Int(0, count > 2 ? 3 : 6))];
    if (random.Chance(90)) {  // diagonals are rare
      std::string once;
      for (char letter : term)
        if (once.find(letter) == std::string::npos) once += letter;
      term = once;
    }
    Dims dims;
    for (char letter : term) dims.push_back(sizes_of[letter]);
    if (ellipsis) {
      const auto at = static_cast<size_t>(random.Int(0, static_cast<int64_t>(term.size())));
      dims.insert(dims.begin() + static_cast<int64_t>(at), spread.begin(), spread.end());
      term.insert(at, "...");
    }
    terms.push_back(term);
    inputs.push_back(random.Values(type, dims, Draw::kPlain));
    c.Input(inputs.back());
  }
  std::map<char, int> uses;
  for (const std::string& term : terms)
    for (char letter : term)
      if (letter != '.') ++uses[letter];
  std::string result;
  const bool implicit = random.Chance(25);
  if (implicit) {
    for (const auto& [letter, times] : uses)
      if (times == 1) result += letter;
    if (ellipsis) result = "..." + result;
  } else {
    std::vector<char> kept;
    for (const auto& [letter, times] : uses)
      if (random.Chance(60)) kept.push_back(letter);
    random.Shuffle(&kept);
    result.assign(kept.begin(), kept.end());
    if (ellipsis) result.insert(static_cast<size_t>(random.Int(0, static_cast<int64_t>(result.size()))), "...");
  }
  std::string equation = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) equation += (random.Chance(30) ? ", " : ",") + terms[i];
  if (!implicit) equation += (random.Chance(50) ? " -> " : "->") + result;
  c.Set("equation", equation);

  // All indices in one order: the kept letters, the ellipsis, and the letters that are summed over.
  std::string order;
  Dims dims;
  size_t ellipsis_at = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] == '.') {
      ellipsis_at = dims.size();
      dims.insert(dims.end(), spread.begin(), spread.end());
      i += 2;
      order += std::string(spread.size(), '.');
    } else {
      dims.push_back(sizes_of[result[i]]);
      order += result[i];
    }
  }
  const size_t kept = dims.size();
  for (const auto& [letter, times] : uses) {
    if (order.find(letter) != std::string::npos) continue;
    order += letter;
    dims.push_back(sizes_of[letter]);
  }
  Array y(type, Dims(dims.begin(), dims.begin() + static_cast<int64_t>(kept)));
  std::vector<Number> sizes(y.values.size());
  const Dims strides = StridesOf(y.dims);
  int64_t summed = 1;
  for (size_t axis = kept; axis < dims.size(); ++axis) summed *= dims[axis];
  ForEachIndex(dims, [&](const Dims& index, int64_t) {
    Number term = 1;
    for (size_t input = 0; input < inputs.size(); ++input) {
      Dims at;
      for (size_t i = 0; i < terms[input].size(); ++i) {
        if (terms[input][i] == '.') {
          for (size_t axis = 0; axis < spread.size(); ++axis) at.push_back(index[ellipsis_at + axis]);
          i += 2;
        } else {
          at.push_back(index[order.find(terms[input][i])]);
        }
      }
      term *= inputs[input].At(at);
    }
    int64_t to = 0;
    for (size_t axis = 0; axis < kept; ++axis) to += index[axis] * strides[axis];
    y[to] += term;
    sizes[static_cast<size_t>(to)] += std::fabs(term);
  });
  if (!IsFloat(type))
    for (Number& value : y.values) value = Wrap(type, static_cast<__int128>(value));
  Bound bound = OfProducts(type, summed, std::move(sizes));
  // A product of three operands is computed as two products, with rounding in between.
  if (inputs.size() > 2) bound.ulps *= 4;
  c.Output(y, std::move(bound));
}

void BadEinsum(Random& random, Case& c) {
  const int64_t k = random.Int(2, 9);
  c.Set("equation", random.Pick<const char*>({"ij,jk->ik", "ij,jk", "ij,jj->i"}));
  c.Input(random.Values(DataType::kFloat, {3, k}, Draw::kPlain));
  c.Input(random.Values(DataType::kFloat, {k + 1, 4}, Draw::kPlain));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void Det(Random& random, Case& c) {
  const DataType type = random.FloatType();
  Dims dims = random.Shape(0, 3, 40);
  const int64_t n = random.Int(1, 5);
  dims.insert(dims.end(), {n, n});
  const Array x = random.Integers(type, dims, -3, 3);
  c.Input(x);
  Array y(type, Dims(dims.begin(), dims.end() - 2));
  std::vector<Number> sizes(y.values.size());
  std::vector<int64_t> columns;
  for (int64_t j = 0; j < n; ++j) columns.push_back(j);
  for (int64_t i = 0; i < y.count(); ++i) {
    std::sort(columns.begin(), columns.end());
    do {  // Leibniz's formula
      Number term = 1;
      for (int64_t r = 0; r < n; ++r) {
        term *= x[(i * n + r) * n + columns[static_cast<size_t>(r)]];
        for (int64_t s = 0; s < r; ++s)
          if (columns[static_cast<size_t>(s)] > columns[static_cast<size_t>(r)]) term = -term;
      }
      y[i] += term;
      sizes[static_cast<size_t>(i)] += std::fabs(term) + 1;
    } while (std::next_permutation(columns.begin(), columns.end()));
  }
  c.Output(y, {.ulps = 8, .sizes = std::move(sizes)});
}

}  // namespace

std::vector<OperatorCases> ProductOperators() {
  return {
      {"Det", "", Det},
      {"Einsum", "", Einsum, BadEinsum},
      {"Gemm", "", Gemm, BadGemm},
      {"MatMul", "", MatMul, BadMatMul},
  };
}

}  // namespace epiphyte::operators
