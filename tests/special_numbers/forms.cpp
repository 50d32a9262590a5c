#include "tests/special_numbers/form.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace epiphyte::test::special_numbers {
namespace {

struct Part {
  std::string name;
  std::string inputs;  // inputs of the graph
  std::string nodes;   // nodes that make "p" (products) or "y" (activations)
  std::string output;  // shape of the model's output
};

// Returns products with the nodes that may stand between them and an activation.
std::vector<Part> Products() {
  std::vector<Part> parts;
  const auto product = [&](std::string name, const std::string& x, const std::string& w, const std::string& b,
                           const std::string& y, const std::string& node) {
    const std::string inputs = "float" + x + " x, float" + w + " w", residual = ", float" + y + " x_residual";
    parts.push_back({name, inputs, "p = " + node + "(x, w)\n", y});
    if (b.empty()) return;
    parts.push_back({name + "Bias", inputs + ", float" + b + " w_bias",
                     node == "MatMul" ? "m = MatMul(x, w)\np = Add(m, w_bias)\n" : "p = " + node + "(x, w, w_bias)\n",
                     y});
    parts.push_back({name + "Residual", inputs + residual, "m = " + node + "(x, w)\np = Add(m, x_residual)\n", y});
  };
  product("RowProduct", "[1,70]", "[70,52]", "", "[1,52]", "MatMul");
  product("FewRowsProduct", "[7,40]", "[40,52]", "[52]", "[7,52]", "MatMul");
  product("ManyRowsProduct", "[200,72]", "[72,96]", "[96]", "[200,96]", "MatMul");
  product("BatchedProduct", "[2,9,72]", "[72,40]", "[40]", "[2,9,40]", "MatMul");
  product("ColumnProduct", "[30,40]", "[40,1]", "", "[30,1]", "MatMul");
  parts.push_back(
      {"ComputedProduct", "float[2,9,16] x, float[2,16,24] x_right", "p = MatMul(x, x_right)\n", "[2,9,24]"});
  product("Gemm", "[20,40]", "[40,52]", "[52]", "[20,52]", "Gemm");
  product("TransposedGemm", "[20,40]", "[52,40]", "[52]", "[20,52]", "Gemm <transB = 1>");
  parts.push_back({"GemmOfComputedWeights", "float[20,40] x, float[40,52] x_right, float[52] w_bias",
                   "p = Gemm(x, x_right, w_bias)\n", "[20,52]"});
  product("ImageConvolution", "[1,3,17,19]", "[16,3,3,3]", "[16]", "[1,16,15,17]", "Conv");
  product("Convolution", "[2,32,12,11]", "[40,32,3,3]", "[40]", "[2,40,12,11]", "Conv <pads = [1, 1, 1, 1]>");
  product("StridedConvolution", "[1,16,15,15]", "[24,16,3,3]", "[24]", "[1,24,7,7]", "Conv <strides = [2, 2]>");
  product("PointConvolution", "[1,32,9,9]", "[48,32,1,1]", "[48]", "[1,48,9,9]", "Conv");
  product("DepthwiseConvolution", "[1,24,13,13]", "[24,1,3,3]", "[24]", "[1,24,13,13]",
          "Conv <group = 24, pads = [1, 1, 1, 1]>");
  product("GroupedConvolution", "[1,32,9,9]", "[32,8,3,3]", "[32]", "[1,32,7,7]", "Conv <group = 4>");
  product("LineConvolution", "[2,20,40]", "[24,20,5]", "[24]", "[2,24,36]", "Conv");
  product("VolumeConvolution", "[1,4,6,7,8]", "[6,4,3,3,3]", "[6]", "[1,6,4,5,6]", "Conv");
  product("TransposedConvolution", "[1,16,6,6]", "[16,12,3,3]", "[12]", "[1,12,8,8]", "ConvTranspose");
  parts.push_back({"ConvolutionOfComputedWeights", "float[1,8,9,9] x, float[12,8,3,3] x_weights",
                   "p = Conv(x, x_weights)\n", "[1,12,7,7]"});
  parts.push_back({"NormalizedConvolution",
                   "float[1,16,9,9] x, float[24,16,3,3] w, float[24] w_scale, float[24] w_bias, float[24] w_mean, "
                   "float[24] positive_variance",
                   "c = Conv(x, w)\np = BatchNormalization(c, w_scale, w_bias, w_mean, positive_variance)\n",
                   "[1,24,7,7]"});
  parts.push_back({"BatchNormalization",
                   "float[2,24,7,9] x, float[24] w_scale, float[24] w_bias, float[24] w_mean, "
                   "float[24] positive_variance",
                   "p = BatchNormalization(x, w_scale, w_bias, w_mean, positive_variance)\n", "[2,24,7,9]"});
  parts.push_back({"FlattenedProduct", "float[2,9,32] x, float[32,40] w, float[40] w_bias",
                   "s = Constant <value_ints = [-1, 32]>()\nt = Constant <value_ints = [2, 9, 40]>()\n"
                   "f = Reshape(x, s)\nm = MatMul(f, w)\na = Add(m, w_bias)\np = Reshape(a, t)\n",
                   "[2,9,40]"});
  parts.push_back({"Sum", "float[3,50] x, float[3,50] x_other", "p = Add(x, x_other)\n", "[3,50]"});
  return parts;
}

// Returns functions that make "y" from "p".
std::vector<Part> Activations() {
  const std::string zero = ", float zero", six = ", float six", both = zero + six;
  return {
      {"Relu", "", "y = Relu(p)", ""},
      {"LeakyRelu", "", "y = LeakyRelu <alpha = 0.1>(p)", ""},
      {"Clip", both, "y = Clip(p, zero, six)", ""},
      {"ClipFromBelow", ", float minus_one", "y = Clip(p, minus_one)", ""},
      {"ClipFromAbove", six, "y = Clip(p, absent, six)", ""},
      {"ReluAndClip", both, "q = Relu(p)\ny = Clip(q, zero, six)", ""},
      {"Max", zero, "y = Max(p, zero)", ""},
      {"MaxFirst", zero, "y = Max(zero, p)", ""},
      {"MinOfMax", both, "q = Max(p, zero)\ny = Min(q, six)", ""},
      {"MaxOfMin", both, "q = Min(six, p)\ny = Max(q, zero)", ""},
      {"Sigmoid", "", "y = Sigmoid(p)", ""},
      {"Tanh", "", "y = Tanh(p)", ""},
      {"Swish", "", "q = Sigmoid(p)\ny = Mul(p, q)", ""},
      {"HardSwish", "", "y = HardSwish(p)", ""},
      {"HardSwishOfClip", ", float three, float six, float zero",
       "h = Add(p, three)\ni = Clip(h, zero, six)\nj = Mul(p, i)\ny = Div(j, six)", ""},
      {"HardSwishOfHardSigmoid", "", "q = HardSigmoid <alpha = 0.16666667, beta = 0.5>(p)\ny = Mul(p, q)", ""},
      {"HardSigmoid", "", "y = HardSigmoid(p)", ""},
      {"Gelu", "", "y = Gelu(p)", ""},
      {"GeluOfTanh", "", "y = Gelu <approximate = \"tanh\">(p)", ""},
      {"Elu", "", "y = Elu(p)", ""},
      {"Softplus", "", "y = Softplus(p)", ""},
      {"Mish", "", "h = Softplus(p)\ni = Tanh(h)\ny = Mul(p, i)", ""},
      {"Abs", "", "y = Abs(p)", ""},
      {"Exp", "", "y = Exp(p)", ""},
  };
}

bool IsTakenOften(std::string_view activation) {
  constexpr std::string_view kOften[] = {"Relu", "Clip", "MinOfMax", "Sigmoid", "Swish", "HardSwish"};
  return std::find(std::begin(kOften), std::end(kOften), activation) != std::end(kOften);
}

void AddOthers(std::vector<Form>* forms) {
  const auto add = [&](std::string name, const std::string& inputs, const std::string& output, const std::string& nodes,
                       double bound = 1e-4) {
    forms->push_back({std::move(name), "g (" + inputs + ") => (float" + output + " y) {\n" + nodes + "}", bound});
  };
  add("ElementwiseChain", "float[3,50] x, float[50] x_row, float half, float[3,1] w_column", "[3,50]",
      "a = Mul(x, x_row)\nb = Sub(a, w_column)\nc = Max(b, half)\nd = Sqrt(c)\ne = Min(d, x)\ny = Div(e, x_row)");
  add("ElementwiseFunctions", "float[3,50] x", "[3,50]",
      "a = Abs(x)\nb = Neg(a)\nc = Exp(b)\nd = Reciprocal(c)\ne = Log(d)\nf = Erf(e)\ny = Tanh(f)");
  add("ElementwiseLimits", "float[2,70] x, float[2,70] x_other, float six, float minus_one", "[2,70]",
      "a = Max(x, x_other)\nb = Min(a, six)\nc = Relu(b)\nd = Elu(c)\ne = Clip(d, minus_one, six)\n"
      "f = LeakyRelu(e)\ng = Softplus(f)\nh = HardSigmoid(g)\ny = HardSwish(h)");
  add("Squares", "float[3,50] x, float two, float three", "[3,50]",
      "a = Pow(x, two)\nb = Pow(x, three)\nc = Mul(x, x)\nd = Add(a, b)\ny = Sub(d, c)");
  add("WrittenSoftmax", "float[5,40] x", "[5,40]",
      "axis = Constant <value_ints = [1]>()\nm = ReduceMax(x, axis)\nz = Sub(x, m)\ne = Exp(z)\n"
      "s = ReduceSum(e, axis)\ny = Div(e, s)");
  add("WrittenLogSoftmax", "float[5,40] x", "[5,40]",
      "axis = Constant <value_ints = [1]>()\nm = ReduceMax(x, axis)\nz = Sub(x, m)\nl = ReduceLogSumExp(z, axis)\n"
      "y = Sub(z, l)");
  add("WrittenGelu", "float[5,40] x, float root_of_2, float one, float half", "[5,40]",
      "a = Div(x, root_of_2)\ne = Erf(a)\nf = Add(e, one)\np = Mul(x, f)\ny = Mul(p, half)");
  add("WrittenGeluOfTanh", "float[5,40] x, float three, float cubic, float root_of_2_by_pi, float one, float half",
      "[5,40]",
      "q = Pow(x, three)\nc = Mul(q, cubic)\ns = Add(x, c)\na = Mul(s, root_of_2_by_pi)\nt = Tanh(a)\n"
      "u = Add(t, one)\nh = Mul(x, half)\ny = Mul(h, u)");
  const std::string normal =
      "axis = Constant <value_ints = [-1]>()\nm = ReduceMean(x, axis)\nd = Sub(x, m)\nq = Pow(d, two)\n"
      "v = ReduceMean(q, axis)\ne = Add(v, epsilon)\nr = Sqrt(e)\nn = Div(d, r)\ns = Mul(n, w_scale)\n"
      "y = Add(s, w_bias)";
  add("WrittenLayerNormalization", "float[4,48] x, float two, float epsilon, float[48] w_scale, float[48] w_bias",
      "[4,48]", normal);
  add("WrittenRmsNormalization", "float[4,48] x, float two, float epsilon, float[48] w_scale", "[4,48]",
      "axis = Constant <value_ints = [-1]>()\nq = Pow(x, two)\nv = ReduceMean(q, axis)\ne = Add(v, epsilon)\n"
      "r = Sqrt(e)\nn = Div(x, r)\ny = Mul(n, w_scale)");
  add("SkippedLayerNormalization", "float[4,48] x, float[4,48] x_skip, float[48] w_scale, float[48] w_bias", "[4,48]",
      "s = Add(x, x_skip)\ny = LayerNormalization(s, w_scale, w_bias)");
  add("WrittenInstanceNormalization", "float[2,6,5,7] x, float epsilon, float[6,1,1] w_scale, float[6,1,1] w_bias",
      "[2,6,5,7]",
      "axes = Constant <value_ints = [2, 3]>()\nm = ReduceMean(x, axes)\nd = Sub(x, m)\nq = Mul(d, d)\n"
      "v = ReduceMean(q, axes)\ne = Add(v, epsilon)\nr = Sqrt(e)\nn = Div(d, r)\ns = Mul(n, w_scale)\n"
      "y = Add(s, w_bias)");
  add("WrittenGroupNormalization",
      "float[2,6,5,7] x, float[3] ones, float[3] zeros, float[6,1,1] w_scale, float[6,1,1] w_bias", "[2,6,5,7]",
      "s = Constant <value_ints = [0, 3, -1]>()\nt = Constant <value_ints = [2, 6, 5, 7]>()\ng = Reshape(x, s)\n"
      "n = InstanceNormalization(g, ones, zeros)\nb = Reshape(n, t)\nm = Mul(b, w_scale)\ny = Add(m, w_bias)");
  add("WrittenAttention", "float[1,2,9,16] x, float[1,2,12,16] x_keys, float[1,2,12,16] x_values, float half",
      "[1,2,9,16]",
      "t = Transpose <perm = [0, 1, 3, 2]>(x_keys)\nm = MatMul(x, t)\ns = Mul(m, half)\np = Softmax(s)\n"
      "y = MatMul(p, x_values)");
  add("MaskedAttention",
      "float[1,2,9,16] x, float[1,2,12,16] x_keys, float[1,2,12,16] x_values, float[1,1,9,12] x_mask, float half",
      "[1,2,9,16]",
      "t = Transpose <perm = [0, 1, 3, 2]>(x_keys)\nm = MatMul(x, t)\ns = Mul(m, half)\na = Add(s, x_mask)\n"
      "p = Softmax(a)\ny = MatMul(p, x_values)");
  add("WrittenRotaryEmbedding", "float[1,2,3,8] x, float[3,4] w_cosines, float[3,4] w_sines", "[1,2,3,8]",
      "from = Constant <value_ints = [0]>()\nmiddle = Constant <value_ints = [4]>()\nto = Constant <value_ints = "
      "[8]>()\n"
      "last = Constant <value_ints = [3]>()\nc = Concat <axis = -1>(w_cosines, w_cosines)\n"
      "s = Concat <axis = -1>(w_sines, w_sines)\nf = Slice(x, from, middle, last)\ng = Slice(x, middle, to, last)\n"
      "n = Neg(g)\nt = Concat <axis = -1>(n, f)\na = Mul(x, c)\nb = Mul(t, s)\ny = Add(a, b)");
  const std::string pads = "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]>()\n";
  add("PaddedConvolution", "float[1,16,9,9] x, float[24,16,3,3] w, float zero", "[1,24,9,9]",
      pads + "q = Pad(x, p, zero)\nc = Conv(q, w)\ny = Relu(c)");
  add("PaddedMaxPool", "float[1,16,9,9] x, float zero", "[1,16,9,9]",
      pads + "r = Relu(x)\nq = Pad(r, p, zero)\ny = MaxPool <kernel_shape = [3, 3]>(q)");
  add("PaddedAveragePool", "float[1,16,9,9] x, float zero", "[1,16,9,9]",
      pads + "q = Pad(x, p, zero)\ny = AveragePool <kernel_shape = [3, 3], count_include_pad = 1>(q)");
  add("PooledConvolution", "float[1,16,13,13] x, float[32,16,3,3] w", "[1,32,5,5]",
      "c = Conv(x, w)\nr = Relu(c)\ny = MaxPool <kernel_shape = [3, 3], strides = [2, 2]>(r)");
  add("PooledSigns", "float[1,16,13,13] x, float[32,16,3,3] w", "[1,32,9,9]",
      "c = Conv(x, w)\ny = MaxPool <kernel_shape = [3, 3]>(c)");
  add("ScaledConvolution", "float[1,16,9,9] x, float[24,16,3,3] w, float[24,1,1] w_factor, float[24,1,1] w_offset",
      "[1,24,7,7]", "c = Conv(x, w)\nm = Mul(c, w_factor)\na = Add(m, w_offset)\ny = Relu(a)");
  add("TwoConvolutions", "float[1,16,9,9] x, float[24,16,3,3] w, float[24,24,3,3] w_second", "[1,24,5,5]",
      "c = Conv(x, w)\nr = Relu(c)\nd = Conv(r, w_second)\ny = Relu(d)");
  add("ResidualBlock", "float[1,24,9,9] x, float[24,24,3,3] w, float[24,24,1,1] w_second", "[1,24,9,9]",
      "c = Conv <pads = [1, 1, 1, 1]>(x, w)\nr = Relu(c)\nd = Conv(r, w_second)\ns = Add(d, x)\ny = Relu(s)");
  add("SumOfTwo", "float[3,50] x, float[3,50] x_other", "[3,50]", "s = Sum(x, x_other)\ny = Relu(s)");
  add("SumOfProductAndRow", "float[6,40] x, float[40,52] w, float[52] w_row", "[6,52]",
      "m = MatMul(x, w)\ns = Sum(m, w_row)\ny = Relu(s)");
}

}  // namespace

std::vector<Form> AllForms() {
  std::vector<Form> forms;
  for (const Part& product : Products()) {
    // With an addition in between, a few activations are sufficient.
    const bool adds = product.name.ends_with("Bias") || product.name.ends_with("Residual");
    for (const Part& activation : Activations()) {
      if (adds && !IsTakenOften(activation.name)) continue;
      forms.push_back({product.name + "_" + activation.name, "g (" + product.inputs + activation.inputs +
                                                                 ") => (float" + product.output + " y) {\n" +
                                                                 product.nodes + activation.nodes + "}"});
      // The product 9 may be rounded to its type before the power 8000 is, or only the power is rounded.
      if (activation.name == "Exp") forms.back().epsilons = 8;
    }
  }
  AddOthers(&forms);
  return forms;
}

}  // namespace epiphyte::test::special_numbers
