#include "plugins/vulkan/ops/math/host_math.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/signature/cast_type.hpp"
#include "epiphyte/kit/signature/legacy_broadcast.hpp"

namespace epiphyte::vulkan {
namespace {

// Arithmetic on integers wraps around, which C++ defines for unsigned ones only.
uint64_t Bits(int64_t value) { return static_cast<uint64_t>(value); }
int64_t Wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t Divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? Wrap(0 - Bits(a)) : a / b;
}
double Divide(double a, double b) { return a / b; }

int64_t Remainder(int64_t a, int64_t b, bool of_dividend) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return !of_dividend && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double Remainder(double a, double b, bool of_dividend) {
  const double rest = std::fmod(a, b);
  return !of_dividend && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t Power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1, factor = Bits(base);
  for (uint64_t rest = Bits(exponent); rest != 0; rest >>= 1, factor *= factor)
    if ((rest & 1) != 0) result *= factor;
  return Wrap(result);
}
double Power(double base, double exponent) { return std::pow(base, exponent); }

template <typename Value>
Value Larger(Value a, Value b) {
  return a >= b || a != a ? a : b;
}
template <typename Value>
Value Smaller(Value a, Value b) {
  return a <= b || a != a ? a : b;
}

// A function of two int64 or two double. It computes with integers as unsigned ones, so that they wrap around.
#define EPIPHYTE_HOST_ARITHMETIC(symbol)               \
  [](auto a, auto b) {                                 \
    if constexpr (std::is_same_v<decltype(a), double>) \
      return a symbol b;                               \
    else                                               \
      return Wrap(Bits(a) symbol Bits(b));             \
  }

std::vector<HostTensor> Binary(const ir::Node& node, const HostTensor& a, const HostTensor& b) {
  const std::string_view op = node.op_type;
  const auto same = [&](const auto& f) { return HostBinary(a.type, a, b, f); };
  const auto flag = [&](const auto& f) { return HostBinary(EP_TYPE_BOOL, a, b, f); };
  if (op == "Add") return same(EPIPHYTE_HOST_ARITHMETIC(+));
  if (op == "Sub") return same(EPIPHYTE_HOST_ARITHMETIC(-));
  if (op == "Mul") return same(EPIPHYTE_HOST_ARITHMETIC(*));
  if (op == "Div") return same([](auto x, auto y) { return Divide(x, y); });
  if (op == "Mod")
    return same([of_dividend = node.Int("fmod", 0) != 0](auto x, auto y) { return Remainder(x, y, of_dividend); });
  if (op == "Equal") return flag([](auto x, auto y) { return int64_t{x == y}; });
  if (op == "Less") return flag([](auto x, auto y) { return int64_t{x < y}; });
  if (op == "LessOrEqual") return flag([](auto x, auto y) { return int64_t{x <= y}; });
  if (op == "Greater") return flag([](auto x, auto y) { return int64_t{x > y}; });
  if (op == "GreaterOrEqual") return flag([](auto x, auto y) { return int64_t{x >= y}; });
  if (op == "And") return flag([](auto x, auto y) { return int64_t{x != 0 && y != 0}; });
  if (op == "Or") return flag([](auto x, auto y) { return int64_t{x != 0 || y != 0}; });
  if (op == "Xor") return flag([](auto x, auto y) { return int64_t{(x != 0) != (y != 0)}; });
  return {};
}

std::vector<HostTensor> Pow(const HostTensor& a, const HostTensor& b) {
  if (a.IsFloat() == b.IsFloat()) return HostBinary(a.type, a, b, [](auto x, auto y) { return Power(x, y); });
  HostTensor base = a, exponent = b;
  if (!a.IsFloat()) base = {.type = EP_TYPE_DOUBLE, .dims = a.dims, .ints = {}, .floats = HostNumbers(a)};
  if (!b.IsFloat()) exponent = {.type = EP_TYPE_DOUBLE, .dims = b.dims, .ints = {}, .floats = HostNumbers(b)};
  // A result that int64 may not hold is left to the device.
  for (double value : base.floats)
    for (double power : exponent.floats)
      if (!a.IsFloat() && !(std::fabs(std::pow(value, power)) < 0x1p62)) return {};
  return HostBinary(a.type, base, exponent, [](double x, double y) { return std::pow(x, y); });
}

// Truncates a float to an integer of a type, as shaders/integer_of_float.glsl does.
int64_t Truncate(EpElementType type, double value) {
  const bool narrow = kit::ElementBytes(type, 1) < 4 || type == EP_TYPE_INT32;
  const double limit = narrow ? 0x1p31 : 0x1p63;
  if (value < limit && value >= -limit) return static_cast<int64_t>(value);
  return narrow ? INT32_MIN : INT64_MIN;
}

HostTensor CastTo(EpElementType type, const HostTensor& x) {
  return HostUnary(type, x, [type](auto value) {
    using Value = decltype(value);
    const bool to_float = HostTensor{.type = type, .dims = {}, .ints = {}, .floats = {}}.IsFloat();
    if constexpr (std::is_same_v<Value, double>) {
      if (type == EP_TYPE_BOOL) return value != 0 ? 1.0 : 0.0;
      // The conversion back is exact: a truncated double is a double.
      return to_float ? value : static_cast<double>(Truncate(type, value));
    } else {
      return value;
    }
  });
}

}  // namespace

std::vector<HostTensor> UnaryOnHost(const ir::Node& node, HostInputs inputs) {
  const HostTensor& x = *inputs[0];
  const std::string_view op = node.op_type;
  const auto apply = [&](const auto& f) { return std::vector<HostTensor>{HostUnary(x.type, x, f)}; };
  if (op == "Not") return apply([](auto value) { return int64_t{value == 0}; });
  if (!x.IsFloat()) {
    const auto integer = [&](int64_t (*f)(int64_t)) {
      return apply([f](auto value) { return f(static_cast<int64_t>(value)); });
    };
    if (op == "Abs") return integer([](int64_t value) { return value < 0 ? Wrap(0 - Bits(value)) : value; });
    if (op == "Neg") return integer([](int64_t value) { return Wrap(0 - Bits(value)); });
    if (op == "Sign") return integer([](int64_t value) { return int64_t{value > 0} - int64_t{value < 0}; });
    if (op == "Relu") return integer([](int64_t value) { return std::max<int64_t>(value, 0); });
    if (op == "BitwiseNot") return integer([](int64_t value) { return ~value; });
    return {};
  }
  const auto real = [&](double (*f)(double)) {
    return apply([f](auto value) { return f(static_cast<double>(value)); });
  };
  if (op == "Abs") return real([](double value) { return std::fabs(value); });
  if (op == "Neg") return real([](double value) { return -value; });
  if (op == "Sign") return real([](double value) { return value != value ? value : (value > 0) - (value < 0) + 0.0; });
  if (op == "Floor") return real([](double value) { return std::floor(value); });
  if (op == "Ceil") return real([](double value) { return std::ceil(value); });
  if (op == "Round") return real([](double value) { return std::nearbyint(value); });
  if (op == "Sqrt") return real([](double value) { return std::sqrt(value); });
  if (op == "Reciprocal") return real([](double value) { return 1 / value; });
  if (op == "Relu") return real([](double value) { return value < 0 ? 0 : value; });
  return {};
}

std::vector<HostTensor> BinaryOnHost(const ir::Node& node, HostInputs inputs) {
  const HostTensor& a = *inputs[0];
  HostTensor b = *inputs[1];
  b.dims = kit::LegacyBroadcast(node).Align(a.dims, b.dims);
  if (node.op_type == "Pow") return Pow(a, b);
  return a.type == b.type ? Binary(node, a, b) : std::vector<HostTensor>{};
}

std::vector<HostTensor> VariadicOnHost(const ir::Node& node, HostInputs inputs) {
  HostTensor result = *inputs[0];
  for (const HostTensor* next : inputs.subspan(1)) {
    if (next->type != result.type) return {};
    std::vector<HostTensor> both;
    if (node.op_type == "Max")
      both = HostBinary(result.type, result, *next, [](auto a, auto b) { return Larger(a, b); });
    else if (node.op_type == "Min")
      both = HostBinary(result.type, result, *next, [](auto a, auto b) { return Smaller(a, b); });
    else
      both = HostBinary(result.type, result, *next, EPIPHYTE_HOST_ARITHMETIC(+));
    if (both.empty()) return {};
    result = std::move(both[0]);
  }
  if (node.op_type == "Mean")
    result = HostUnary(result.type, result,
                       [n = inputs.size()](auto sum) { return static_cast<double>(sum) / static_cast<double>(n); });
  return {std::move(result)};
}

std::vector<HostTensor> ClipOnHost(const ir::Node& node, HostInputs inputs) {
  HostTensor low, high;
  const HostTensor* bounds[] = {HostInput(inputs, 1), HostInput(inputs, 2)};
  const bool from_attributes = node.since_version < 11;
  if (from_attributes && node.Has("min")) {
    low = {.type = inputs[0]->type, .dims = {}, .ints = {}, .floats = {static_cast<double>(node.Float("min", 0))}};
    bounds[0] = &low;
  }
  if (from_attributes && node.Has("max")) {
    high = {.type = inputs[0]->type, .dims = {}, .ints = {}, .floats = {static_cast<double>(node.Float("max", 0))}};
    bounds[1] = &high;
  }
  std::vector<HostTensor> result = {*inputs[0]};
  for (int i = 0; i < 2; ++i) {
    if (bounds[i] == nullptr) continue;
    if (bounds[i]->Count() != 1 || bounds[i]->type != result[0].type) return {};
    const HostTensor bound = HostReshape(*bounds[i], {});
    const HostTensor x = std::move(result[0]);
    if (i == 0)
      result = HostBinary(x.type, x, bound,
                          [](auto value, auto least) { return value >= least || value != value ? value : least; });
    else
      result = HostBinary(x.type, x, bound,
                          [](auto value, auto most) { return value <= most || value != value ? value : most; });
  }
  return result;
}

std::vector<HostTensor> WhereOnHost(const ir::Node&, HostInputs inputs) {
  const HostTensor &condition = *inputs[0], &x = *inputs[1], &y = *inputs[2];
  if (x.type != y.type) return {};
  const Dims* shapes[] = {&condition.dims, &x.dims, &y.dims};
  const Dims out = kit::BroadcastShape(shapes);
  if (!FitsHost(out)) return {};
  const std::vector<int64_t> use = BroadcastPositions(condition.dims, out);
  HostTensor result = HostTake(x, out, BroadcastPositions(x.dims, out));
  const HostTensor other = HostTake(y, out, BroadcastPositions(y.dims, out));
  for (size_t i = 0; i < use.size(); ++i) {
    if (condition.ints.at(static_cast<size_t>(use[i])) != 0) continue;
    if (result.IsFloat())
      result.floats[i] = other.floats[i];
    else
      result.ints[i] = other.ints[i];
  }
  return {std::move(result)};
}

std::vector<HostTensor> CastOnHost(const ir::Node& node, HostInputs inputs) {
  const EpElementType type = node.op_type == "Cast" ? kit::CastType(node) : inputs[1]->type;
  if (!IsHostType(type)) return {};
  return {CastTo(type, *inputs[0])};
}

}  // namespace epiphyte::vulkan
