#include "plugins/cpu/kernel/elementwise_program.h"

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/simd/simd.h"
#include "plugins/cpu/simd/vector_math.h"

namespace epiphyte::cpu {
namespace {

template <typename F>
EPIPHYTE_INLINE void Each(const float* a, float* y, int64_t n, const F& f) {
#pragma GCC ivdep  // y may be a itself
  for (int64_t i = 0; i < n; ++i) y[i] = f(a[i]);
}

[[noreturn]] void RefuseProgram(const std::string& why) {
  throw OpError(EP_STATUS_INVALID_GRAPH, "its element-wise program makes no sense: " + why);
}

}  // namespace

ElementwiseProgram ReadElementwiseProgram(const NodeDef& node) {
  const std::vector<int64_t> code = node.Ints("code");
  const std::vector<float> parameters = node.Floats("parameters");
  const size_t count = code.size() / 3;
  const size_t inputs = node.inputs.size();
  if (inputs == 0 || inputs > kMostElementwiseInputs)
    RefuseProgram(fmt::format("it has {} inputs; 1 to {} expected", inputs, kMostElementwiseInputs));
  if (count == 0 || count > kMostElementwiseInstructions || code.size() % 3 != 0 || parameters.size() != count * 2)
    RefuseProgram(fmt::format("{} integers and {} parameters found; 3 and 2 for each of 1 to {} instructions expected",
                              code.size(), parameters.size(), kMostElementwiseInstructions));
  ElementwiseProgram program;
  program.instructions.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t* item = code.data() + i * 3;
    if (item[0] < 0 || item[0] >= static_cast<int64_t>(ElementwiseOp::kCount))
      RefuseProgram(fmt::format("instruction {} has operation {}", i, item[0]));
    const auto op = static_cast<ElementwiseOp>(item[0]);
    for (int operand = 1; operand <= 2; ++operand) {
      const int64_t reference = item[operand];
      const bool input = reference >= 0 && reference % 2 == 0 && reference / 2 < static_cast<int64_t>(inputs);
      const bool result = reference >= 0 && reference % 2 == 1 && reference / 2 < static_cast<int64_t>(i);
      const bool parameter = reference == -1 && (IsBinary(op) ? item[3 - operand] != -1 : operand == 2);
      const bool takes_value = IsBinary(op) || operand == 1;
      if (!parameter && !(takes_value && (input || result)))
        RefuseProgram(fmt::format("operand {} of instruction {} is {}", operand - 1, i, reference));
    }
    program.instructions.push_back(
        {op, static_cast<int32_t>(item[1]), static_cast<int32_t>(item[2]), parameters[i * 2], parameters[i * 2 + 1]});
  }
  return program;
}

EPIPHYTE_MULTIVERSION void RunBinary(ElementwiseOp op, const float* a, const float* b, float number, float* y,
                                     int64_t n) {
#define EPIPHYTE_BINARY(expression)                        \
  if (a == nullptr) {                                      \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      const float p = number, q = b[i];                    \
      y[i] = expression;                                   \
    }                                                      \
  } else if (b == nullptr) {                               \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      const float p = a[i], q = number;                    \
      y[i] = expression;                                   \
    }                                                      \
  } else {                                                 \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      const float p = a[i], q = b[i];                      \
      y[i] = expression;                                   \
    }                                                      \
  }                                                        \
  return
  switch (op) {
    case ElementwiseOp::kAdd: EPIPHYTE_BINARY(p + q);
    case ElementwiseOp::kSub: EPIPHYTE_BINARY(p - q);
    case ElementwiseOp::kMul: EPIPHYTE_BINARY(p * q);
    case ElementwiseOp::kDiv: EPIPHYTE_BINARY(p / q);
    // A NaN on either side is the result.
    case ElementwiseOp::kMax: EPIPHYTE_BINARY(p != p ? p : (q > p || q != q ? q : p));
    case ElementwiseOp::kMin: EPIPHYTE_BINARY(p != p ? p : (q < p || q != q ? q : p));
    default: return;
  }
#undef EPIPHYTE_BINARY
}

EPIPHYTE_MULTIVERSION void RunUnary(ElementwiseOp op, const float* a, float p0, float p1, float* y, int64_t n) {
  switch (op) {
    case ElementwiseOp::kRelu: return Each(a, y, n, [](float x) { return x < 0.0f ? 0.0f : x; });
    case ElementwiseOp::kSigmoid: return Each(a, y, n, [](float x) { return vm::Sigmoid(x); });
    case ElementwiseOp::kTanh: return Each(a, y, n, [](float x) { return vm::Tanh(x); });
    case ElementwiseOp::kNeg: return Each(a, y, n, [](float x) { return -x; });
    case ElementwiseOp::kAbs: return Each(a, y, n, [](float x) { return vm::Bits(vm::Bits(x) & 0x7FFFFFFFu); });
    case ElementwiseOp::kSqrt: return Each(a, y, n, [](float x) { return __builtin_sqrtf(x); });
    case ElementwiseOp::kExp: return Each(a, y, n, [](float x) { return vm::Exp(x); });
    case ElementwiseOp::kLog: return Each(a, y, n, [](float x) { return vm::Log(x); });
    case ElementwiseOp::kErf: return Each(a, y, n, [](float x) { return vm::Erf(x); });
    case ElementwiseOp::kReciprocal: return Each(a, y, n, [](float x) { return 1.0f / x; });
    case ElementwiseOp::kSoftplus: return Each(a, y, n, [](float x) { return vm::Softplus(x); });
    case ElementwiseOp::kHardSwish:
      return Each(a, y, n, [](float x) {
        const float t = x * (1.0f / 6.0f) + 0.5f;
        return x * (t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t);
      });
    case ElementwiseOp::kGelu:
      return Each(a, y, n, [](float x) { return 0.5f * x * (1.0f + vm::Erf(x * 0.707106781f)); });
    case ElementwiseOp::kGeluTanh:
      return Each(a, y, n,
                  [](float x) { return 0.5f * x * (1.0f + vm::Tanh(0.797884561f * (x + 0.044715f * x * x * x))); });
    case ElementwiseOp::kSquare: return Each(a, y, n, [](float x) { return x * x; });
    case ElementwiseOp::kCube: return Each(a, y, n, [](float x) { return x * x * x; });
    case ElementwiseOp::kSwish: return Each(a, y, n, [](float x) { return x * vm::Sigmoid(x); });
    case ElementwiseOp::kLeakyRelu: return Each(a, y, n, [p0](float x) { return x < 0.0f ? x * p0 : x; });
    case ElementwiseOp::kElu: return Each(a, y, n, [p0](float x) { return x < 0.0f ? p0 * vm::Expm1(x) : x; });
    case ElementwiseOp::kHardSigmoid:
      return Each(a, y, n, [p0, p1](float x) {
        const float t = x * p0 + p1;
        return t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
      });
    case ElementwiseOp::kClip: return Each(a, y, n, [p0, p1](float x) { return x < p0 ? p0 : x > p1 ? p1 : x; });
    default: return;
  }
}

}  // namespace epiphyte::cpu
