// Layer and RMS normalization as exporters write them.
#include "epiphyte/kit/fuse/normalization.hpp"

#include <gtest/gtest.h>

#include "epiphyte/kit/fuse/skip_normalization.hpp"
#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

const std::string kHead = R"(
in x: float[2,5,4]
const two: float[] = [2]
const half: float[] = [0.5]
const minus_half: float[] = [-0.5]
const one: float[] = [1]
const epsilon: float[] = [0.001]
const last: int64[1] = [-1]
const w: float[4] = [1, 2, 3, 4]
const b: float[4] = [5, 6, 7, 8]
)";

std::string Normal(const std::string& body) {
  return Recognised(kHead + body + "\nout y", [](kit::ir::Editor& editor) { kit::fuse::FuseNormalizations(editor); });
}

const std::string kLayer = "y = LayerNormalization<axis=-1, epsilon=0.001>(x, w, b)\n";
const std::string kRms = "y = RMSNormalization<axis=-1, epsilon=0.001>(x, w)\n";
const std::string kCentred = "m = ReduceMean@13<axes=[-1]>(x)\nd = Sub@14(x, m) : float[2,5,4]\n";
const std::string kTail = "s = Mul@14(n, w)\ny = Add@14(s, b) : float[2,5,4]";

TEST(FuseNormalizations, LayerNormalizationAsPyTorchWritesIt) {
  EXPECT_EQ(Normal(kCentred +
                   "q = Pow@13(d, two) : float[2,5,4]\nv = ReduceMean@13<axes=[-1]>(q)\n"
                   "e = Add@14(v, epsilon)\nr = Sqrt@13(e)\nn = Div@14(d, r)\n" +
                   kTail),
            kLayer);
}

TEST(FuseNormalizations, AxesAsAnInputSinceOpset18) {
  EXPECT_EQ(Normal("m = ReduceMean@18(x, last)\nd = Sub@14(x, m) : float[2,5,4]\nq = Mul@14(d, d) : float[2,5,4]\n"
                   "v = ReduceMean@18<keepdims=1>(q, last)\ne = Add@14(epsilon, v)\nr = Sqrt@13(e)\n"
                   "i = Reciprocal@13(r)\nn = Mul@14(i, d)\ns = Mul@14(w, n)\ny = Add@14(b, s) : float[2,5,4]"),
            kLayer);
}

TEST(FuseNormalizations, TheSameDifferenceComputedTwice) {
  EXPECT_EQ(Normal(kCentred +
                   "m2 = ReduceMean@13<axes=[2]>(x)\nd2 = Sub@14(x, m2) : float[2,5,4]\n"
                   "q = Pow@13(d2, two) : float[2,5,4]\nv = ReduceMean@13<axes=[-1]>(q)\n"
                   "e = Add@14(v, epsilon)\nr = Sqrt@13(e)\nn = Div@14(d, r)\n" +
                   kTail),
            kLayer);
}

TEST(FuseNormalizations, TheFormOfTensorFlow) {
  const std::string body = kCentred + R"(q = Mul@14(d, d) : float[2,5,4]
v = ReduceMean@13<axes=[2]>(q)
e = Add@14(v, epsilon)
r = Sqrt@13(e)
i = Reciprocal@13(r)
s = Mul@14(i, w)
p = Mul@14(x, s)
t = Mul@14(m, s)
u = Sub@14(b, t)
y = Add@14(p, u) : float[2,5,4])";
  EXPECT_EQ(Normal(body), kLayer);
  EXPECT_NE(Normal(With(body, "Mul@14(m, s)", "Mul@14(m, w)")), kLayer) << "the shift isn't the mean's";
}

TEST(FuseNormalizations, RmsWithEveryReciprocalRoot) {
  const std::string variance =
      "q = Pow@13(x, two) : float[2,5,4]\nv = ReduceMean@13<axes=[-1]>(q)\n"
      "e = Add@14(v, epsilon)\n";
  const std::string scale = "n = Mul@14(x, i)\ny = Mul@14(w, n) : float[2,5,4]";
  EXPECT_EQ(Normal(variance + "r = Sqrt@13(e)\ni = Reciprocal@13(r)\n" + scale), kRms);
  EXPECT_EQ(Normal(variance + "r = Sqrt@13(e)\ni = Div@14(one, r)\n" + scale), kRms) << "TorchScript's rsqrt";
  EXPECT_EQ(Normal(variance + "i = Pow@13(e, minus_half)\n" + scale), kRms);
  EXPECT_EQ(Normal(variance + "r = Pow@13(e, half)\ni = Reciprocal@13(r)\n" + scale), kRms);
  EXPECT_EQ(Normal(variance + "r = Sqrt@13(e)\nn = Div@14(x, r)\ny = Mul@14(n, w) : float[2,5,4]"), kRms);
  EXPECT_EQ(
      Normal(variance + "r = Sqrt@13(e)\ni = Reciprocal@13(r)\ns = Mul@14(i, w)\ny = Mul@14(x, s) : float[2,5,4]"),
      kRms);
}

TEST(FuseNormalizations, StatisticsInFloatBetweenCasts) {
  EXPECT_EQ(Recognised(R"(
in h: float16[2,4]
const two: float[] = [2]
const epsilon: float[] = [0.001]
const w: float16[4] = [1, 2, 3, 4]
x = Cast@13<to=1>(h) : float[2,4]
q = Pow@13(x, two) : float[2,4]
v = ReduceMean@13<axes=[-1]>(q) : float[2,1]
e = Add@14(v, epsilon) : float[2,1]
r = Sqrt@13(e) : float[2,1]
i = Reciprocal@13(r) : float[2,1]
n = Mul@14(x, i) : float[2,4]
c = Cast@13<to=10>(n) : float16[2,4]
y = Mul@14(w, c) : float16[2,4]
out y
)",
                       [](kit::ir::Editor& editor) { kit::fuse::FuseNormalizations(editor); }),
            "y = RMSNormalization<axis=-1, epsilon=0.001>(h, w)\n");
}

TEST(FuseNormalizations, OverSeveralLastAxes) {
  const std::string body = R"(
in x: float[2,5,4]
const epsilon: float[] = [0.001]
const w: float[5,4] = …
q = Mul@14(x, x) : float[2,5,4]
v = ReduceMean@13<axes=[2,1]>(q)
e = Add@14(v, epsilon)
r = Sqrt@13(e)
n = Div@14(x, r)
y = Mul@14(n, w) : float[2,5,4]
out y
)";
  const auto fuse = [](kit::ir::Editor& editor) { kit::fuse::FuseNormalizations(editor); };
  EXPECT_EQ(Recognised(body, fuse), "y = RMSNormalization<axis=-2, epsilon=0.001>(x, w)\n");
  EXPECT_NE(RecognisedOperators(With(body, "axes=[2,1]", "axes=[0,1]"), fuse), "RMSNormalization");
  EXPECT_NE(RecognisedOperators(With(body, "axes=[2,1]", "axes=[1,1]"), fuse), "RMSNormalization");
}

const std::string kSkipHead =
    "in a: float[2,5,4]\nin r: float[2,5,4]\nconst w: float[4] = …\nconst b: float[4] = …\n"
    "s = Add@14(a, r) : float[2,5,4]\n";
std::string Skipped(const std::string& body) {
  return Recognised(kSkipHead + body, [](kit::ir::Editor& editor) { kit::fuse::FuseSkipNormalizations(editor); });
}

TEST(FuseSkipNormalizations, TakesTheSumIn) {
  EXPECT_EQ(Skipped("y = LayerNormalization@17<epsilon=0.5>(s, w, b) : float[2,5,4]\nout y"),
            "y = epiphyte.kit::SkipNormalization<axis=-1, epsilon=0.5, rms=0>(a, r, w, b)\n");
  EXPECT_EQ(Skipped("y = RMSNormalization@23<axis=2>(s, w) : float[2,5,4]\nout y"),
            "y = epiphyte.kit::SkipNormalization<axis=2, epsilon=1e-05, rms=1>(a, r, w)\n");
}

TEST(FuseSkipNormalizations, GivesTheSumToOtherReaders) {
  EXPECT_EQ(Skipped("z = Neg@13(s) : float[2,5,4]\ny = LayerNormalization@17(s, w, b) : float[2,5,4]\nout y, z"),
            "y, s = epiphyte.kit::SkipNormalization<axis=-1, epsilon=1e-05, rms=0>(a, r, w, b)\nz = Neg(s)\n")
      << "also before the normalisation";
  EXPECT_EQ(Skipped("y = LayerNormalization@17(s, w, b) : float[2,5,4]\nout y, s"),
            "y, s = epiphyte.kit::SkipNormalization<axis=-1, epsilon=1e-05, rms=0>(a, r, w, b)\n");
}

TEST(FuseSkipNormalizations, StaysWhereTheOperatorDoesNotSayTheSame) {
  EXPECT_EQ(
      RecognisedOperators("in a: float[2,5,4]\nin r: float[4]\nconst w: float[4] = …\n"
                          "s = Add@14(a, r) : float[2,5,4]\ny = LayerNormalization@17(s, w) : float[2,5,4]\nout y",
                          [](kit::ir::Editor& editor) { kit::fuse::FuseSkipNormalizations(editor); }),
      "Add LayerNormalization")
      << "an operand that spreads";
  EXPECT_EQ(Skipped("y, m = LayerNormalization@17(s, w, b) : float[2,5,4], float[2,5,1]\nout y, m").find("Skip"),
            std::string::npos)
      << "the mean is needed too";
}

}  // namespace
}  // namespace epiphyte::test
