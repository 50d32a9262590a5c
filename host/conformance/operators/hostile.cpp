#include "host/conformance/operators/hostile.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace epiphyte::operators {
namespace {

int64_t AbsurdInteger(Random& random) {
  return random.Pick<int64_t>({0, -1, -2, 1, 2, 5, 17, 1000, int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 40,
                               int64_t{1} << 60, INT64_MAX, INT64_MIN, INT64_MIN + 1, INT32_MAX, INT32_MIN});
}
Number AbsurdReal(Random& random) {
  return random.Pick<Number>({0, -1, NAN, HUGE_VALL, -HUGE_VALL, 1e30L, -1e30L, 1e9L, 1e-30L, 0.5L});
}

DataType AnyElementType(Random& random) {
  return random.Pick({DataType::kFloat, DataType::kDouble, DataType::kFloat16, DataType::kBfloat16, DataType::kInt8,
                      DataType::kUint8, DataType::kInt16, DataType::kUint16, DataType::kInt32, DataType::kUint32,
                      DataType::kInt64, DataType::kUint64, DataType::kBool, DataType::kString, DataType::kComplex64,
                      DataType::kInt4, DataType::kUint4, DataType::kFloat8E4M3FN});
}

// Returns an array of shape `dims` that repeats the elements.
Array Reshaped(const Array& array, const Dims& dims) {
  Array reshaped(array.type, dims);
  for (int64_t i = 0; i < reshaped.count(); ++i) reshaped[i] = array.count() == 0 ? 0 : array[i % array.count()];
  return reshaped;
}

Array Retyped(const Array& array, DataType type) {
  Array retyped(type, array.dims);
  for (int64_t i = 0; i < retyped.count(); ++i) {
    const Number value = array[i];
    const bool is_float = IsFloat(type);
    if (type == DataType::kBool) {
      retyped[i] = value != 0;
    } else if (is_float) {
      retyped[i] = Round(type, value);
    } else if (IsInteger(type)) {
      retyped[i] = std::isfinite(value) ? Round(type, std::trunc(value)) : 0;
    } else {
      retyped[i] = std::isfinite(value) ? std::clamp<Number>(std::trunc(value), -9999, 9999) : 0;
    }
  }
  return retyped;
}

void ChangeShape(Random& random, Array* array) {
  Dims dims = array->dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto any_axis = [&] { return static_cast<size_t>(random.Int(0, rank - 1)); };
  switch (rank == 0 ? 0 : random.Int(0, 5)) {
    case 0: dims.insert(dims.begin() + random.Int(0, rank), random.Pick<int64_t>({0, 1, 2, 3})); break;
    case 1: dims.erase(dims.begin() + random.Int(0, rank - 1)); break;
    case 2: dims[any_axis()] = 0; break;
    case 3: dims[any_axis()] += 1; break;
    case 4: dims[any_axis()] = random.Int(1, 9); break;
    default: random.Shuffle(&dims);
  }
  if (CountOf(dims) <= 100000) *array = Reshaped(*array, dims);
}

void ChangeElement(Random& random, Array* array) {
  if (array->count() == 0) return;
  Number& element = (*array)[random.Int(0, array->count() - 1)];
  if (IsFloat(array->type)) {
    element = Round(array->type, AbsurdReal(random));
  } else if (IsInteger(array->type)) {
    element = std::clamp<Number>(static_cast<Number>(AbsurdInteger(random)), Lowest(array->type), Highest(array->type));
  }
}

void ChangeAttribute(Random& random, AttributeValue* value) {
  if (auto* i = std::get_if<int64_t>(value)) {
    *i = AbsurdInteger(random);
  } else if (auto* f = std::get_if<float>(value)) {
    *f = static_cast<float>(AbsurdReal(random));
  } else if (auto* s = std::get_if<std::string>(value)) {
    *s = random.Pick<const char*>({"", "sideways", "\n", "linear"});
  } else if (auto* ints = std::get_if<std::vector<int64_t>>(value)) {
    if (ints->empty() || random.Chance(30)) {
      ints->push_back(AbsurdInteger(random));
    } else if (random.Chance(30)) {
      ints->pop_back();
    } else {
      (*ints)[static_cast<size_t>(random.Int(0, static_cast<int64_t>(ints->size()) - 1))] = AbsurdInteger(random);
    }
  } else if (auto* floats = std::get_if<std::vector<float>>(value)) {
    floats->push_back(static_cast<float>(AbsurdReal(random)));
  } else if (auto* strings = std::get_if<std::vector<std::string>>(value)) {
    strings->push_back("sideways");
  } else {
    ChangeShape(random, &std::get<Array>(*value));
  }
}

void Change(Random& random, Case* c) {
  if (!c->attributes.empty() && random.Chance(30)) {
    auto at = c->attributes.begin();
    std::advance(at, random.Int(0, static_cast<int64_t>(c->attributes.size()) - 1));
    return ChangeAttribute(random, &at->second);
  }
  if (c->inputs.empty()) return;
  Case::In& input = c->inputs[static_cast<size_t>(random.Int(0, static_cast<int64_t>(c->inputs.size()) - 1))];
  if (!input.array) return;
  const int64_t kind = random.Int(0, 99);
  if (kind < 40) {
    ChangeShape(random, &*input.array);
  } else if (kind < 75) {
    ChangeElement(random, &*input.array);
  } else if (kind < 90) {
    *input.array = Retyped(*input.array, AnyElementType(random));
  } else if (kind < 95) {
    input.array.reset();
  } else {
    c->Input(random.Values(DataType::kFloat, {2}, Draw::kPlain));
  }
}

}  // namespace

void MakeHostile(Case* c, uint64_t number) {
  Random random(~number);
  for (int64_t changes = random.Pick({1, 1, 1, 2, 3}); changes > 0; --changes) Change(random, c);
  // If the node gives outputs, their values are unknown.
  for (Case::Out& output : c->outputs)
    if (output.array) output.array = Array(DataType::kUndefined, {0});
}

}  // namespace epiphyte::operators
