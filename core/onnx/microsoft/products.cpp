// GEMMs and convolutions with fused transposes, factors, biases and activations.
#include "core/onnx/microsoft/forms.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

// activation(Conv(X, W, B) + Z)
void BuildFusedConv(Body& body) {
  const Name conv = body.Op("Conv", {body.Need(0, "X"), body.Need(1, "W"), body.In(2)},
                            body.Copy({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  const std::string activation = body.String("activation", "");
  const DataType type = activation == "Clip" ? body.FloatTypeOf(0) : DataType::kFloat;
  body.Return(0, Activation(body, body.AddIf(conv, body.In(3)), type, activation, body.Floats("activation_params")));
}

// The permutation for transposing the batch and the matrix dimensions of an operand with this rank; empty: none.
std::vector<int64_t> OperandPerm(int64_t rank, bool matrix, bool batch) {
  if (rank < 2 || (!matrix && !(batch && rank > 2))) return {};
  std::vector<int64_t> perm;
  if (batch && rank > 2) {
    for (int64_t i = 1; i < rank - 1; ++i) perm.push_back(i);
    perm.push_back(0);
    perm.push_back(rank - 1);
  } else {
    for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  }
  if (matrix) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return perm;
}

Name Operand(Body& body, size_t input, bool matrix, bool batch) {
  const Name value = body.Need(input, input == 0 ? "A" : "B");
  if (!matrix && !batch) return value;
  const std::vector<int64_t> perm = OperandPerm(static_cast<int64_t>(body.RankOf(input)), matrix, batch);
  return perm.empty() ? value : body.Transpose(value, perm);
}

void BuildFusedMatMul(Body& body) {
  const Name a = Operand(body, 0, body.Int("transA", 0) != 0, body.Int("transBatchA", 0) != 0);
  const Name b = Operand(body, 1, body.Int("transB", 0) != 0, body.Int("transBatchB", 0) != 0);
  const Name product = body.MatMul(a, b);
  const float alpha = body.Float("alpha", 1.0f);
  body.Return(0, alpha == 1.0f ? product : body.Mul(product, body.Number(alpha, body.TypeOf(0))));
}

void BuildFusedGemm(Body& body) {
  const Name gemm = body.Op("Gemm", {body.Need(0, "A"), body.Need(1, "B"), body.In(2)},
                            body.Copy({"alpha", "beta", "transA", "transB"}));
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (!body.HasAttribute(name)) break;
    parameters.push_back(body.Float(name, 0));
  }
  const std::string activation = body.String("activation", "");
  const DataType type = activation == "Clip" ? body.FloatTypeOf(0) : DataType::kFloat;
  body.Return(0, Activation(body, gemm, type, activation, parameters));
}

constexpr Operator kProductOperators[] = {
    {"FusedConv", 2, 4, 1,
     "activation:s activation_params:F auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I", BuildFusedConv},
    {"FusedGemm", 2, 3, 1,
     "activation:s activation_alpha:f activation_beta:f activation_gamma:f alpha:f beta:f transA:i transB:i",
     BuildFusedGemm},
    {"FusedMatMul", 2, 2, 1, "alpha:f transA:i transB:i transBatchA:i transBatchB:i", BuildFusedMatMul},
    {"TransposeMatMul", 2, 2, 1, "alpha:f transA:i transB:i", BuildFusedMatMul},
};

}  // namespace

std::span<const Operator> ProductOperators() { return kProductOperators; }

}  // namespace epiphyte::core::microsoft
