// Functions of one element: arithmetic, rounding, transcendental functions, activations; IsNaN and IsInf.
#include <algorithm>
#include <iterator>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/math/host_math.h"
#include "plugins/vulkan/ops/math/map.h"

namespace epiphyte::vulkan {
namespace {

constexpr kit::TypeSet kSignedTypes = kDeviceFloats | kit::Types(EP_TYPE_INT8, EP_TYPE_INT32, EP_TYPE_INT64);
constexpr kit::TypeSet kNumberTypes = kDeviceFloats | kDeviceIntegers;
constexpr kit::TypeSet kBool = kit::Types(EP_TYPE_BOOL);

struct Row {
  std::string_view op_type;
  MapOp op;
  kit::TypeSet types = kDeviceFloats;
  // Attributes that are the operation's parameters p0 and p1, and their defaults.
  const char* attributes[2] = {nullptr, nullptr};
  float defaults[2] = {0, 0};
};

constexpr Row kRows[] = {
    {"Abs", MapOp::kAbs, kNumberTypes},
    {"Neg", MapOp::kNeg, kSignedTypes},
    {"Sign", MapOp::kSign, kNumberTypes},
    {"Not", MapOp::kNot, kBool},
    {"BitwiseNot", MapOp::kBitwiseNot, kDeviceIntegers},
    {"Relu", MapOp::kRelu, kSignedTypes},
    {"Exp", MapOp::kExp},
    {"Log", MapOp::kLog},
    {"Sqrt", MapOp::kSqrt},
    {"Reciprocal", MapOp::kReciprocal},
    {"Floor", MapOp::kFloor},
    {"Ceil", MapOp::kCeil},
    {"Round", MapOp::kRound},
    {"Erf", MapOp::kErf},
    {"Sin", MapOp::kSin},
    {"Cos", MapOp::kCos},
    {"Tan", MapOp::kTan},
    {"Asin", MapOp::kAsin},
    {"Acos", MapOp::kAcos},
    {"Atan", MapOp::kAtan},
    {"Sinh", MapOp::kSinh},
    {"Cosh", MapOp::kCosh},
    {"Asinh", MapOp::kAsinh},
    {"Acosh", MapOp::kAcosh},
    {"Atanh", MapOp::kAtanh},
    {"Tanh", MapOp::kTanh},
    {"Sigmoid", MapOp::kSigmoid},
    {"Softplus", MapOp::kSoftplus},
    {"Softsign", MapOp::kSoftsign},
    {"HardSwish", MapOp::kHardSwish},
    {"Mish", MapOp::kMish},
    {"LeakyRelu", MapOp::kLeakyRelu, kDeviceFloats, {"alpha"}, {0.01f}},
    {"Elu", MapOp::kElu, kDeviceFloats, {"alpha"}, {1.0f}},
    {"Celu", MapOp::kCelu, kDeviceFloats, {"alpha"}, {1.0f}},
    {"Selu", MapOp::kSelu, kDeviceFloats, {"alpha", "gamma"}, {1.67326319217681884765625f, 1.05070102214813232421875f}},
    {"HardSigmoid", MapOp::kHardSigmoid, kDeviceFloats, {"alpha", "beta"}, {0.2f, 0.5f}},
    {"Swish", MapOp::kSwishBy, kDeviceFloats, {"alpha"}, {1.0f}},
    {"ThresholdedRelu", MapOp::kThresholdedRelu, kDeviceFloats, {"alpha"}, {1.0f}},
    {"Shrink", MapOp::kShrink, kDeviceFloats, {"bias", "lambd"}, {0.0f, 0.5f}},
};

MapStep StepOf(const ir::Node& node) {
  const Row* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op_type == node.op_type; });
  if (row == std::end(kRows)) kit::FailWith(EP_STATUS_FAIL, "no element-wise function is called ", node.op_type);
  float values[2] = {row->defaults[0], row->defaults[1]};
  // Selu's constants had fewer digits before opset 6.
  if (row->op == MapOp::kSelu && node.since_version < 6) values[0] = 1.6732f, values[1] = 1.0507f;
  for (int i = 0; i < 2; ++i)
    if (row->attributes[i] != nullptr) values[i] = node.Float(row->attributes[i], values[i]);
  return {row->op, MapParameter::Of(values[0]), MapParameter::Of(values[1])};
}

// Maps input 0 to output 0, which may have another type.
void RecordStep(Recording& r, const MapStep& step) {
  const EpElementType type = r.InputType(0);
  const Dims dims = r.InputDims(0);
  const MapOperand x = {r.InputTensor(0), dims};
  const int32_t y = r.Output(0, MakesBool(step.op) ? EP_TYPE_BOOL : type, dims);
  AddElementwise(r, type, step, {&x, 1}, y, dims);
}

void RecordUnary(Recording& r) { RecordStep(r, StepOf(r.node())); }

void RecordGelu(Recording& r) {
  RecordStep(r, {r.node().String("approximate", "none") == "tanh" ? MapOp::kGeluTanh : MapOp::kGelu});
}
std::string CheckGelu(const NodeCheck& check) {
  const std::string approximate = check.node().String("approximate", "none");
  if (approximate == "none" || approximate == "tanh") return {};
  return "attribute approximate is '" + approximate + "'; none or tanh expected";
}

void RecordIsNaN(Recording& r) { RecordStep(r, {MapOp::kIsNaN}); }
void RecordIsInf(Recording& r) {
  const auto flag = [&](std::string_view name) { return MapParameter::Of(r.node().Int(name, 1) != 0 ? 1.0f : 0.0f); };
  RecordStep(r, {MapOp::kIsInf, flag("detect_positive"), flag("detect_negative")});
}

}  // namespace

void Register_unary(OperatorTable& table) {
  for (const Row& row : kRows)
    table.Add({.op_type = row.op_type, .types = row.types, .record = RecordUnary, .on_host = UnaryOnHost});
  table.Add({.op_type = "Gelu", .check = CheckGelu, .record = RecordGelu});
  table.Add({.op_type = "IsNaN", .record = RecordIsNaN});
  table.Add({.op_type = "IsInf", .record = RecordIsInf});
}

}  // namespace epiphyte::vulkan
