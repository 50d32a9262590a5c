// Rotary embeddings as exporters write them.
#include "epiphyte/kit/fuse/rotary.hpp"

#include <gtest/gtest.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

const Recogniser kFuse = [](kit::ir::Editor& editor) { kit::fuse::FuseRotaryEmbedding(editor); };

// The pattern of Llama's exporters: two copies of the angles, concatenated.
const std::string kHead = R"(
in x: float[1,2,3,8]
in z: float[1,4,3,8]
in angle: float[3,4]
const front: int64[2] = [0, 1]
const zero: int64[1] = [0]
const four: int64[1] = [4]
const most: int64[1] = [9223372036854775807]
const last: int64[1] = [3]
const one: int64[1] = [1]
a = Concat@13<axis=-1>(angle, angle) : float[3,8]
b = Unsqueeze@13(a, front) : float[1,1,3,8]
cos = Cos(b) : float[1,1,3,8]
sin = Sin(b) : float[1,1,3,8]
)";
std::string Turn(const std::string& x, const std::string& y, const std::string& type) {
  std::string text = R"(Xf = Slice@13(X, zero, four, last, one) : float[1,2,3,4]
Xs = Slice@13(X, four, most, last, one) : float[1,2,3,4]
Xn = Neg@13(Xs) : float[1,2,3,4]
Xt = Concat@13<axis=-1>(Xn, Xf) : TYPE
Xc = Mul@14(X, cos) : TYPE
Xd = Mul@14(Xt, sin) : TYPE
Y = Add@14(Xc, Xd) : TYPE
out Y
)";
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"TYPE", type}, {"X", x}, {"Y", y}})
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

TEST(FuseRotaryEmbedding, HalvesThatAreTurnedTogether) {
  EXPECT_EQ(Recognised(kHead + Turn("x", "y", "float[1,2,3,8]"), kFuse),
            "a = Concat<axis=-1>(angle, angle)\nb = Unsqueeze(a, front)\ncos = Cos(b)\nsin = Sin(b)\n"
            "cos/half = Slice(cos, cos/begin, cos/end, cos/axis)\ncos/cache = Squeeze(cos/half, cos/axes)\n"
            "sin/half = Slice(sin, sin/begin, sin/end, sin/axis)\nsin/cache = Squeeze(sin/half, sin/axes)\n"
            "y = RotaryEmbedding(x, cos/cache, sin/cache)\n");
}

TEST(FuseRotaryEmbedding, ManyShareTheirAngles) {
  EXPECT_EQ(RecognisedOperators(kHead + Turn("x", "y", "float[1,2,3,8]") + Turn("z", "w", "float[1,4,3,8]"), kFuse),
            "Concat Unsqueeze Cos Sin Slice Squeeze Slice Squeeze RotaryEmbedding RotaryEmbedding");
}

TEST(FuseRotaryEmbedding, OfSplitsAndOfConstantAngles) {
  std::string text = R"(
in x: float[1,2,1,4]
const cos: float[1,4] = [1, 2, 1, 2]
const sin: float[1,4] = [3, 4, 3, 4]
f, s = Split@18<axis=3, num_outputs=2>(x) : float[1,2,1,2], float[1,2,1,2]
n = Neg@13(s) : float[1,2,1,2]
t = Concat@13<axis=3>(n, f) : float[1,2,1,4]
c = Mul@14(cos, x) : float[1,2,1,4]
d = Mul@14(sin, t) : float[1,2,1,4]
y = Add@14(d, c) : float[1,2,1,4]
out y
)";
  const kit::ir::Graph graph = RecognisedGraph(text, kFuse);
  ASSERT_EQ(NodesToText(graph), "y = RotaryEmbedding(x, cos/cache, sin/cache)\n");
  const kit::ir::Tensor& cos = graph.FindConstant(graph.nodes[0].inputs[1])->tensor;
  EXPECT_EQ(cos.dims, (kit::Dims{1, 1, 2}));
  EXPECT_EQ(std::vector<float>(cos.as<float>(), cos.as<float>() + 2), (std::vector<float>{1, 2}));
  EXPECT_EQ(RecognisedOperators(With(text, "[3, 4, 3, 4]", "[3, 4, 3, 5]"), kFuse).find("Rotary"), std::string::npos)
      << "halves that differ";
  EXPECT_EQ(RecognisedOperators(With(text, "Concat@13<axis=3>(n, f)", "Concat@13<axis=3>(f, n)"), kFuse).find("Rotary"),
            std::string::npos);
}

TEST(FuseRotaryEmbedding, AnglesForAllRowsOfABatchAreRepeated) {
  std::string text = Turn("x", "y", "float[5,2,3,8]");
  for (size_t at = 0; (at = text.find("float[1,", at)) != std::string::npos;) text.replace(at, 8, "float[5,");
  const std::string head = With(kHead, "in x: float[1,2,3,8]", "in x: float[5,2,3,8]");
  EXPECT_EQ(Recognised(head + text, kFuse),
            "a = Concat<axis=-1>(angle, angle)\nb = Unsqueeze(a, front)\ncos = Cos(b)\nsin = Sin(b)\n"
            "cos/half = Slice(cos, cos/begin, cos/end, cos/axis)\ncos/cache = Squeeze(cos/half, cos/axes)\n"
            "cos/batches = Expand(cos/cache, cos/shape)\n"
            "sin/half = Slice(sin, sin/begin, sin/end, sin/axis)\nsin/cache = Squeeze(sin/half, sin/axes)\n"
            "sin/batches = Expand(sin/cache, sin/shape)\n"
            "y = RotaryEmbedding(x, cos/batches, sin/batches)\n");
  // The angles of two batches share the tables that are made from one row.
  EXPECT_EQ(RecognisedOperators(head + text + Turn("z", "w", "float[1,4,3,8]"), kFuse),
            "Concat Unsqueeze Cos Sin Slice Squeeze Expand Slice Squeeze Expand RotaryEmbedding RotaryEmbedding");
}

TEST(FuseRotaryEmbedding, AnglesOfAnotherShapeStay) {
  const std::string text = kHead + Turn("x", "y", "float[1,2,3,8]");
  for (const std::string batch : {"-1", "0"}) {
    EXPECT_EQ(RecognisedOperators(With(text, "in x: float[1,2,3,8]", "in x: float[" + batch + ",2,3,8]"), kFuse)
                  .find("Rotary"),
              std::string::npos)
        << "one batch of angles for " << batch;
  }
  EXPECT_EQ(RecognisedOperators(With(text, "Concat@13<axis=-1>(angle, angle)", "Concat@13<axis=-1>(angle, other)")
                                    .insert(1, "in other: float[3,4]\n"),
                                kFuse)
                .find("Rotary"),
            std::string::npos);
}

const std::string kHalves = R"(
in x: float[2,2,3,8]
in c: float[2,1,3,4]
in s: float[2,1,3,4]
f, g = Split@13<axis=-1>(x) : float[2,2,3,4], float[2,2,3,4]
fc = Mul@14(f, c)
gs = Mul@14(g, s)
gc = Mul@14(c, g)
fs = Mul@14(f, s)
a = Sub@14(fc, gs)
b = Add@14(fs, gc)
y = Concat@13<axis=-1>(a, b) : float[2,2,3,8]
out y
)";

TEST(FuseRotaryEmbedding, HalvesThatAreTurnedApart) {
  EXPECT_EQ(Recognised(kHalves, kFuse),
            "c/cache = Squeeze(c, c/axes)\ns/cache = Squeeze(s, s/axes)\ny = RotaryEmbedding(x, c/cache, s/cache)\n");
  EXPECT_EQ(RecognisedOperators(With(kHalves, "Add@14(fs, gc)", "Add@14(fs, fc)"), kFuse).find("Rotary"),
            std::string::npos);
}

// A graph in which angles are looked up in tables.
const std::string kTables = R"(
in x: float[2,2,3,8]
in p: int64[2,3]
in q: int64[2,3]
const c: float[2,4] = [1, 2, 3, 4, 5, 6, 7, 8]
const s: float[2,4] = [8, 7, 6, 5, 4, 3, 2, 1]
const one: int64[1] = [1]
cg = Gather@13(c, p) : float[2,3,4]
sg = Gather@13(s, p) : float[2,3,4]
cu = Unsqueeze@13(cg, one) : float[2,1,3,4]
su = Unsqueeze@13(sg, one) : float[2,1,3,4]
f, g = Split@13<axis=-1>(x) : float[2,2,3,4], float[2,2,3,4]
fc = Mul@14(f, cu)
gs = Mul@14(g, su)
gc = Mul@14(cu, g)
fs = Mul@14(f, su)
a = Sub@14(fc, gs)
b = Add@14(fs, gc)
y = Concat@13<axis=-1>(a, b) : float[2,2,3,8]
out y
)";

TEST(FuseRotaryEmbedding, RowsOfTablesAreLeftToTheOperator) {
  const Recogniser with_positions = [](kit::ir::Editor& editor) {
    kit::fuse::FuseRotaryEmbedding(editor, {.takes_type = {}, .takes_positions = true});
  };
  EXPECT_EQ(Recognised(kTables, with_positions), "y = RotaryEmbedding(x, c, s, p)\n");
  EXPECT_EQ(RecognisedOperators(kTables, kFuse), "Gather Gather Unsqueeze Unsqueeze Squeeze Squeeze RotaryEmbedding")
      << "nobody said that positions are welcome";
  EXPECT_EQ(RecognisedOperators(With(kTables, "Gather@13(s, p)", "Gather@13(s, q)"), with_positions),
            "Gather Gather Unsqueeze Unsqueeze Squeeze Squeeze RotaryEmbedding")
      << "positions that differ";
  std::string one_row = kTables;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"int64[2,3]", "int64[1,3]"},
                                 {"(c, p) : float[2,", "(c, p) : float[1,"},
                                 {"(s, p) : float[2,", "(s, p) : float[1,"},
                                 {"(cg, one) : float[2,", "(cg, one) : float[1,"},
                                 {"(sg, one) : float[2,", "(sg, one) : float[1,"}})
    one_row = With(one_row, from, to);
  EXPECT_EQ(Recognised(one_row, with_positions),
            "p/batches = Expand(p, p/shape)\ny = RotaryEmbedding(x, c, s, p/batches)\n");
}

TEST(FuseRotaryEmbedding, Interleaved) {
  EXPECT_EQ(RecognisedOperators(R"(
in x: float[2,2,3,8]
in c: float[2,1,3,4]
in s: float[2,1,3,4]
const zero: int64[1] = [0]
const one: int64[1] = [1]
const two: int64[1] = [2]
const most: int64[1] = [9223372036854775807]
const last: int64[1] = [-1]
const shape: int64[4] = [2, 2, 3, 8]
f = Slice@13(x, zero, most, last, two) : float[2,2,3,4]
g = Slice@13(x, one, most, last, two) : float[2,2,3,4]
fc = Mul@14(f, c)
gs = Mul@14(g, s)
gc = Mul@14(g, c)
fs = Mul@14(f, s)
a = Sub@14(fc, gs)
b = Add@14(gc, fs)
au = Unsqueeze@13(a, last) : float[2,2,3,4,1]
bu = Unsqueeze@13(b, last) : float[2,2,3,4,1]
j = Concat@13<axis=-1>(au, bu) : float[2,2,3,4,2]
y = Reshape@14(j, shape) : float[2,2,3,8]
out y
)",
                                kFuse),
            "Squeeze Squeeze RotaryEmbedding");
}

TEST(FuseRotaryEmbedding, OfAPartOfEachHead) {
  std::string text = With(kHalves, "in x: float[2,2,3,8]",
                          "in whole: float[2,2,3,12]\nconst sizes: int64[2] = [8, 4]\n"
                          "x, rest = Split@13<axis=3>(whole, sizes) : float[2,2,3,8], float[2,2,3,4]");
  text = With(text, "y = Concat", "t = Concat");
  text = With(text, "out y", "y = Concat@13<axis=3>(t, rest) : float[2,2,3,12]\nout y");
  EXPECT_EQ(Recognised(text, kFuse),
            "c/cache = Squeeze(c, c/axes)\ns/cache = Squeeze(s, s/axes)\n"
            "y = RotaryEmbedding<rotary_embedding_dim=8>(whole, c/cache, s/cache)\n");
}

}  // namespace
}  // namespace epiphyte::test
