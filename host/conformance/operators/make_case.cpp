#include "host/conformance/operators/make_case.h"

#include <algorithm>
#include <cmath>

#include "epiphyte/kit/signature/signature.hpp"
#include "host/conformance/operators/hostile.h"
#include "host/conformance/operators/quantized_form.h"

namespace epiphyte::operators {
namespace {

uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

// Returns the last opset in which the operator has the same form and meaning as in `opset`.
int64_t LastOpsetAlike(const OperatorCases& op, int64_t opset) {
  constexpr int64_t kNewest = 25;
  // Versions in which an operator's meaning changes but not its form, or in which the operator is removed.
  constexpr std::pair<std::string_view, int64_t> kChanges[] = {
      {"Hardmax", 13}, {"LogSoftmax", 13}, {"Scatter", 11}, {"Softmax", 13}, {"Upsample", 10}};
  if (!op.domain.empty()) return opset;
  int64_t last = kNewest;
  for (const auto& [op_type, version] : kChanges)
    if (op.op_type == op_type && version > opset) last = version - 1;
  for (const kit::Signature& signature : kit::FindSignatures("", op.op_type))
    if (signature.since_version > opset) last = std::min<int64_t>(last, signature.since_version - 1);
  return std::max(last, opset);
}

Case Make(const OperatorCases& cases, Generator make, Random& random) {
  Case c;
  c.op_type = cases.op_type;
  c.domain = cases.domain;
  make(random, c);
  return c;
}

struct OtherFormula {
  std::string_view op_type;
  std::string_view why;
};
constexpr OtherFormula kOtherFormulas[] = {
    {"Attention", "an infinite score makes a row NaN or hides it, by where the scale stands"},
    {"BatchNormalization", "scale and mean become a factor and an offset"},
    {"CumSum", "infinities of both signs"},
    {"DFT", "sums by halves"},
    {"DeformConv", "an element of weight 0 is multiplied or left out"},
    {"DynamicQuantizeLinear", "ONNX doesn't say what byte NaN becomes"},
    {"Einsum", "labels of one operand alone are summed before the product, or after it"},
    {"GridSample", "an element of weight 0 is multiplied or left out"},
    {"GroupNormalization", "scale and mean become a factor and an offset"},
    {"Hardmax", "the place of a NaN"},
    {"InstanceNormalization", "scale and mean become a factor and an offset"},
    {"QuantizeLinear", "ONNX doesn't say what number NaN becomes"},
    {"RMSNormalization", "the mean square of an infinity"},
    {"ReduceLogSumExp", "the largest is subtracted or not"},
    {"ReduceProd", "0 and an infinity in any order"},
    {"Resize", "an element of weight 0 is multiplied or left out"},
    {"RoiAlign", "an element of weight 0 is multiplied or left out"},
    {"STFT", "sums by halves"},
    {"SoftmaxCrossEntropyLoss", "an infinite score"},
    {"Upsample", "an element of weight 0 is multiplied or left out"},
};

constexpr Form kForms[] = {Form::kPlain, Form::kSpecial, Form::kBad, Form::kHostile, Form::kQuantized};

}  // namespace

std::string_view NameOf(Form form) {
  switch (form) {
    case Form::kPlain: return "plain";
    case Form::kSpecial: return "special";
    case Form::kBad: return "bad";
    case Form::kHostile: return "hostile";
    default: return "quantized";
  }
}
std::span<const Form> AllForms() { return kForms; }

std::string_view WhyNoSpecialCases(const OperatorCases& cases) {
  for (const OtherFormula& other : kOtherFormulas)
    if (cases.domain.empty() && cases.op_type == other.op_type) return other.why;
  return "";
}

Case MakeSpecialCase(const OperatorCases& cases, uint64_t number) {
  Random random(HashOf(cases.op_type) + number, number % 2 == 0 ? 2 : 10);
  return Make(cases, cases.make, random);
}

Case MakeCase(const OperatorCases& cases, Generator make, uint64_t number) {
  Random random(HashOf(cases.op_type) + number);
  Case c = Make(cases, make, random);
  if (make == cases.make && number % 2 == 1) c.opset = random.Int(c.opset, LastOpsetAlike(cases, c.opset));
  return c;
}

std::optional<Case> MakeFormOf(const OperatorCases& cases, Form form, uint64_t number) {
  switch (form) {
    case Form::kPlain: return MakeCase(cases, cases.make, number);
    case Form::kSpecial:
      return WhyNoSpecialCases(cases).empty() ? std::optional(MakeSpecialCase(cases, number)) : std::nullopt;
    case Form::kBad:
      return cases.make_bad == nullptr ? std::nullopt : std::optional(MakeCase(cases, cases.make_bad, number));
    case Form::kHostile: {
      Case c = MakeCase(cases, cases.make, number);
      MakeHostile(&c, number);
      return c;
    }
    case Form::kQuantized: {
      Random random(HashOf(cases.op_type) + number);
      random.DrawOnGrid();
      Case c = Make(cases, cases.make, random);
      return Quantize(&c, random) ? std::optional(std::move(c)) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace epiphyte::operators
