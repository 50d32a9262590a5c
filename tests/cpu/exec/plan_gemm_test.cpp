// GEMMs fused with the operands that are added to their result.
#include <gtest/gtest.h>

#include "tests/cpu/exec/plan_text.h"

namespace epiphyte::test {
namespace {

TEST(FuseMatMulAdd, MatricesWithABiasAreGemm) {
  const FusedPlan plan = Fused(R"(
    opset 17
    in    x: float[batch,3]
    const w: float[3,4] = 1
    const b: float[4] = 2
    m = MatMul@13(x, w)
    y = Add@14(b, m)
    out y
  )");
  EXPECT_EQ(plan.text, "y = Gemm(x, w, b)\n");
  EXPECT_EQ(plan.def.nodes[0].since_version, 13);
  EXPECT_EQ(plan.def.nodes[0].name, "m");
}

TEST(FuseMatMulAdd, TakesAnActivationToo) {
  constexpr std::string_view kText = R"(
    in    x: float[2,3]
    const w: float[3,4] = 0.5 -0.25 1
    const b: float[4] = 0.1 -0.2 0.3 -0.4
    m = MatMul@13(x, w)
    s = Add@14(m, b)
    y = Relu@14(s)
    out y
  )";
  EXPECT_EQ(Fused(kText).operators(), "Gemm*");
  ExpectSameAsPlain(kText, {{1, -2, 3, -4, 5, -6}});
}

TEST(FuseMatMulAdd, StaysWhereGemmDoesNotFit) {
  const auto fused = [&](const char* x, const char* w, const char* b, int opset) {
    const std::string product = opset >= 7 ? "MatMul@13" : "MatMul@1";
    const std::string add = opset >= 7 ? "Add@14" : "Add@6<broadcast=1>";
    return Fused("opset " + std::to_string(opset) + "\nin x: " + x + "\nin w: " + w + "\nin b: " + b +
                 "\nm = " + product + "(x, w)\ny = " + add + "(m, b)\nout y")
               .operators() == "Gemm";
  };
  EXPECT_TRUE(fused("float[2,3]", "float[3,4]", "float[2,1]", 17));
  EXPECT_TRUE(fused("double[2,3]", "double[3,4]", "double[4]", 17));
  EXPECT_FALSE(fused("float[5,2,3]", "float[3,4]", "float[4]", 17)) << "three dimensions";
  EXPECT_FALSE(fused("float[2,3]", "float[3,4]", "float[6,2,4]", 17)) << "the sum is larger";
  EXPECT_FALSE(fused("float[1,3]", "float[3,4]", "float[2,4]", 17)) << "the sum has more rows";
  EXPECT_FALSE(fused("float[n,3]", "float[3,4]", "float[2,4]", 17)) << "rows not known";
  EXPECT_FALSE(fused("int32[2,3]", "int32[3,4]", "int32[4]", 17)) << "integers";
  EXPECT_FALSE(fused("float[2,3]", "float[3,4]", "float[4]", 6)) << "no broadcasting Gemm yet";
}

TEST(FuseGemmBias, FillsTheMissingC) {
  EXPECT_EQ(Fused(R"(
    in    x: float[2,3]
    const w: float[4,3] = 1
    const b: float[4] = 2
    m = Gemm@13<transB=1, alpha=0.5, beta=3.0>(x, w)
    y = Add@14(m, b)
    out y
  )")
                .text,
            "y = Gemm<alpha=0.5, transB=1>(x, w, b)\n")
      << "beta has nothing to do with the new C";
  EXPECT_EQ(Fused(R"(
    in    x: float[2,3]
    const w: float[3,4] = 1
    const b: float[4] = 2
    m = Gemm@13(x, w, b)
    y = Add@14(m, b)
    out y
  )")
                .operators(),
            "Gemm Add");
}

}  // namespace
}  // namespace epiphyte::test
