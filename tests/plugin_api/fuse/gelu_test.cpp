// Gelu as exporters write it.
#include "epiphyte/kit/fuse/gelu.hpp"

#include <gtest/gtest.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

std::string Gelu(const std::string& body, const std::string& type = "float") {
  std::string text =
      "in x: T[2,3]\nconst half: T[] = [0.5]\nconst one: T[] = [1]\nconst two: T[] = [2]\n"
      "const three: T[] = [3]\nconst root2: T[] = [1.4142135]\nconst inverse: T[] = [0.70710678]\n"
      "const cube: T[] = [0.044715]\nconst k: T[] = [0.7978845608]\n" +
      body + "\nout y";
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos; at += type.size()) text.replace(at, 1, type);
  return Recognised(text, [](kit::ir::Editor& editor) { kit::fuse::FuseGelu(editor); });
}

const std::string kExact = "y = Gelu<approximate=\"none\">(x)\n";
const std::string kTanh = "y = Gelu<approximate=\"tanh\">(x)\n";

TEST(FuseGelu, ExactInEveryOrderOfFactors) {
  const std::string gate = "a = Div@14(x, root2)\ne = Erf@13(a)\ng = Add@14(e, one)\n";
  EXPECT_EQ(Gelu(gate + "p = Mul@14(x, g)\ny = Mul@14(p, half) : T[2,3]"), kExact) << "PyTorch";
  EXPECT_EQ(Gelu(gate + "p = Mul@14(half, x)\ny = Mul@14(p, g) : T[2,3]"), kExact) << "TensorFlow";
  EXPECT_EQ(Gelu(gate + "p = Mul@14(half, g)\ny = Mul@14(x, p) : T[2,3]"), kExact);
  EXPECT_EQ(Gelu(gate + "p = Mul@14(x, g)\ny = Div@14(p, two) : T[2,3]"), kExact);
  EXPECT_EQ(Gelu("a = Mul@14(inverse, x)\ne = Erf@13(a)\ng = Add@14(one, e)\np = Mul@14(g, half)\n"
                 "y = Mul@14(p, x) : T[2,3]"),
            kExact)
      << "torch.export";
}

TEST(FuseGelu, ApproximationWithTheCubeAsAPowerOrAProduct) {
  const std::string tail = "t = Tanh(a)\ng = Add@14(one, t)\nh = Mul@14(x, half)\ny = Mul@14(h, g) : T[2,3]";
  EXPECT_EQ(Gelu("c = Pow@13(x, three)\nd = Mul@14(cube, c)\ns = Add@14(x, d)\na = Mul@14(k, s)\n" + tail), kTanh);
  EXPECT_EQ(
      Gelu("q = Mul@14(x, x)\nc = Mul@14(x, q)\nd = Mul@14(c, cube)\ns = Add@14(d, x)\na = Mul@14(s, k)\n" + tail),
      kTanh);
  EXPECT_EQ(
      Gelu("q = Pow@13(x, two)\nd = Mul@14(cube, q)\ns = Add@14(d, one)\nm = Mul@14(x, s)\na = Mul@14(m, k)\n" + tail),
      kTanh);
}

TEST(FuseGelu, OfEveryFloatType) {
  const std::string body =
      "a = Div@14(x, root2)\ne = Erf@13(a)\ng = Add@14(e, one)\np = Mul@14(x, g)\n"
      "y = Mul@14(p, half) : T[2,3]";
  for (const char* type : {"float", "double", "float16", "bfloat16"}) EXPECT_EQ(Gelu(body, type), kExact) << type;
}

TEST(FuseGelu, StaysWhereSomethingIsMissing) {
  const auto operators = [](const std::string& text) {
    return RecognisedOperators(text, [](kit::ir::Editor& editor) { kit::fuse::FuseGelu(editor); });
  };
  EXPECT_EQ(operators("in x: float[2]\ny = Mul@14(x) : float[2]\nout y"), "Mul") << "an operand";
  EXPECT_EQ(operators("in x: float[2]\nconst half: float[] = [0.5]\ne = Erf()\np = Mul@14(x, e)\n"
                      "y = Mul@14(p, half) : float[2]\nout y"),
            "Erf Mul Mul");
}

}  // namespace
}  // namespace epiphyte::test
