// Functions of two elements: arithmetic, comparisons, logic, bits, powers and remainders; PRelu.
#include <algorithm>
#include <iterator>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/broadcast.hpp"
#include "epiphyte/kit/signature/legacy_broadcast.hpp"
#include "plugins/vulkan/ops/math/cast.h"
#include "plugins/vulkan/ops/math/host_math.h"
#include "plugins/vulkan/ops/math/map.h"

namespace epiphyte::vulkan {
namespace {

constexpr kit::TypeSet kNumberTypes = kDeviceFloats | kDeviceIntegers;
constexpr kit::TypeSet kBool = kit::Types(EP_TYPE_BOOL);

struct Row {
  std::string_view op_type;
  MapOp op;
  kit::TypeSet types = kNumberTypes;
};

constexpr Row kRows[] = {
    {"Add", MapOp::kAdd},
    {"Sub", MapOp::kSub},
    {"Mul", MapOp::kMul},
    {"Div", MapOp::kDiv},
    {"Mod", MapOp::kMod},
    {"Equal", MapOp::kEqual, kNumberTypes | kBool},
    {"Less", MapOp::kLess},
    {"LessOrEqual", MapOp::kLessOrEqual},
    {"Greater", MapOp::kGreater},
    {"GreaterOrEqual", MapOp::kGreaterOrEqual},
    {"And", MapOp::kAnd, kBool},
    {"Or", MapOp::kOr, kBool},
    {"Xor", MapOp::kXor, kBool},
    {"BitwiseAnd", MapOp::kBitwiseAnd, kDeviceIntegers},
    {"BitwiseOr", MapOp::kBitwiseOr, kDeviceIntegers},
    {"BitwiseXor", MapOp::kBitwiseXor, kDeviceIntegers},
};

// Inputs 0 and 1, aligned for broadcasting, and the result's dimensions.
struct Operands {
  explicit Operands(Recording& r) {
    const Dims a = r.InputDims(0);
    const Dims b = kit::LegacyBroadcast(r.node()).Align(a, r.InputDims(1));
    out = kit::BroadcastShape(a, b);
    operands[0] = {r.InputTensor(0), a};
    operands[1] = {r.InputTensor(1), b};
  }
  MapOperand operands[2];
  Dims out;
};

void RecordStep(Recording& r, const MapStep& step) {
  const Operands given(r);
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, MakesBool(step.op) ? EP_TYPE_BOOL : type, given.out);
  AddElementwise(r, type, step, given.operands, y, given.out);
}

void RecordBinary(Recording& r) {
  const Row* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.op_type == r.node().op_type; });
  if (row == std::end(kRows)) kit::FailWith(EP_STATUS_FAIL, "no function of two elements is called ", r.node().op_type);
  MapStep step = {row->op};
  if (step.op == MapOp::kMod && r.node().Int("fmod", 0) != 0) step.op = MapOp::kFmod;
  RecordStep(r, step);
}

void RecordShift(Recording& r) {
  RecordStep(r, {r.node().String("direction") == "LEFT" ? MapOp::kShiftLeft : MapOp::kShiftRight});
}
std::string CheckShift(const NodeCheck& check) {
  const std::string direction = check.node().String("direction");
  if (direction == "LEFT" || direction == "RIGHT") return {};
  return "attribute direction is '" + direction + "'; LEFT or RIGHT expected";
}

// The slope is broadcast to x since opset 7; before that it has one element or one for each channel.
void RecordPRelu(Recording& r) {
  const Dims x = r.InputDims(0);
  Dims slope = r.InputDims(1);
  if (r.node().since_version < 7 && slope.size() == 1 && slope[0] != 1)
    for (size_t i = 2; i < x.size(); ++i) slope.push_back(1);
  if (!(kit::BroadcastShape(x, slope) == x))
    kit::FailArgument("slope of shape ", kit::ShapeText(r.InputDims(1)), " does not broadcast to ", kit::ShapeText(x));
  const MapOperand operands[] = {{r.InputTensor(0), x}, {r.InputTensor(1), slope}};
  const EpElementType type = r.InputType(0);
  AddElementwise(r, type, {MapOp::kPRelu}, operands, r.Output(0, type, x), x);
}

// --- Pow: the base decides the type of the result; the exponent may have another one.

constexpr kit::TypeSet kBases = kDeviceFloats | kit::Types(EP_TYPE_INT32, EP_TYPE_INT64);

// The type to which exponents are cast for bases of type `base`.
EpElementType ExponentType(EpElementType base, EpElementType exponent) {
  if (kit::Contains(kDeviceFloats, base)) return base;
  return kit::Contains(kDeviceFloats, exponent) ? EP_TYPE_FLOAT : base;
}

std::string CheckPow(const NodeCheck& check) {
  const EpElementType exponent = check.InputType(1);
  if (exponent == ExponentType(check.InputType(0), exponent)) return {};
  return WhyNotCast(check.capabilities(), exponent, ExponentType(check.InputType(0), exponent));
}

// The operation for a constant exponent. Squares, cubes and square roots, which models use, have operations of their
// own.
MapOp PowerOf(double exponent) {
  if (exponent == 2) return MapOp::kSquare;
  if (exponent == 3) return MapOp::kCube;
  return exponent == 0.5 ? MapOp::kSqrt : MapOp::kPow;
}

void RecordPow(Recording& r) {
  const EpElementType type = r.InputType(0);
  const bool is_float = kit::Contains(kDeviceFloats, type);
  const HostTensor* known = r.Host(1);
  if (known != nullptr && known->Count() == 1 && known->dims.size() <= r.InputDims(0).size()) {
    const MapOp op = PowerOf(HostNumbers(*known)[0]);
    if (op != MapOp::kPow && (is_float || op != MapOp::kSqrt)) {
      const Dims dims = r.InputDims(0);
      const MapOperand x = {r.InputTensor(0), dims};
      return AddElementwise(r, type, {op}, {&x, 1}, r.Output(0, type, dims), dims);
    }
  }
  Operands given(r);
  const EpElementType exponent = r.InputType(1);
  const EpElementType wanted = ExponentType(type, exponent);
  if (exponent != wanted) {
    const int32_t cast = r.Scratch(wanted, r.InputDims(1));
    AddCast(r, exponent, given.operands[1].tensor, wanted, cast);
    given.operands[1].tensor = cast;
  }
  const int32_t y = r.Output(0, type, given.out);
  if (wanted == type) return AddElementwise(r, type, {MapOp::kPow}, given.operands, y, given.out);
  AddMap(
      r,
      {.name = Recording::ShaderFor("power", type), .slots = 2, .fours = false, .parameters = {}, .specialization = {}},
      given.operands, y, given.out);
}

}  // namespace

void Register_binary(OperatorTable& table) {
  for (const Row& row : kRows)
    table.Add({.op_type = row.op_type, .types = row.types, .record = RecordBinary, .on_host = BinaryOnHost});
  table.Add({.op_type = "BitShift",
             .types = kit::Types(EP_TYPE_UINT8, EP_TYPE_UINT32),
             .check = CheckShift,
             .record = RecordShift});
  table.Add({.op_type = "PRelu",
             .types = kDeviceFloats | kit::Types(EP_TYPE_INT32, EP_TYPE_INT64, EP_TYPE_UINT32),
             .record = RecordPRelu});
  table.Add({.op_type = "Pow", .types = kBases, .check = CheckPow, .record = RecordPow, .on_host = BinaryOnHost});
}

}  // namespace epiphyte::vulkan
