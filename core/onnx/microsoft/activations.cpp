// Variants of Gelu, and biases in front of it.
#include "core/onnx/microsoft/forms.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

void BuildGelu(Body& body) { body.Return(0, Gelu(body, body.Need(0, "X"), body.FloatTypeOf(0))); }

void BuildFastGelu(Body& body) {
  body.Return(0, GeluTanh(body, body.AddIf(body.Need(0, "X"), body.In(1)), body.FloatTypeOf(0)));
}

void BuildBiasGelu(Body& body) {
  body.Return(0, Gelu(body, body.Add(body.Need(0, "A"), body.Need(1, "B")), body.FloatTypeOf(0)));
}

// x * sigmoid(alpha * x)
void BuildQuickGelu(Body& body) {
  const Name x = body.Need(0, "X");
  const float alpha = body.Float("alpha", 1.702f);
  const Name scaled = alpha == 1.0f ? x : body.Mul(x, body.Number(alpha, body.FloatTypeOf(0)));
  body.Return(0, body.Mul(x, body.Op("Sigmoid", {scaled})));
}

constexpr Operator kActivationOperators[] = {
    {"BiasGelu", 2, 2, 1, "", BuildBiasGelu},
    {"FastGelu", 1, 2, 1, "", BuildFastGelu},
    {"Gelu", 1, 1, 1, "", BuildGelu},
    {"QuickGelu", 1, 1, 1, "alpha:f", BuildQuickGelu},
};

}  // namespace

std::span<const Operator> ActivationOperators() { return kActivationOperators; }

}  // namespace epiphyte::core::microsoft
