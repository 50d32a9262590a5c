// Operators that move elements, for elements of every size. The position of an element must not depend on its type.

#include "tests/vulkan/ops/operator_harness.h"

namespace epiphyte::test {
namespace {

struct TypeName {
  DataType type;
  const char* text;
};

class MoveTypes : public OperatorTest, public ::testing::WithParamInterface<TypeName> {
 protected:
  // Returns `model` with the type in place of each letter T.
  static std::string Of(std::string_view model) {
    std::string text;
    for (char letter : model) text += letter == 'T' ? std::string(GetParam().text) : std::string(1, letter);
    return text;
  }
  static ValuePtr Some(std::vector<int64_t> dims, uint32_t seed = 1) {
    return Random(GetParam().type, std::move(dims), seed);
  }
};

INSTANTIATE_TEST_SUITE_P(Elements, MoveTypes,
                         ::testing::Values(TypeName{DataType::kBool, "bool"}, TypeName{DataType::kInt8, "int8"},
                                           TypeName{DataType::kFloat16, "float16"}, TypeName{DataType::kInt16, "int16"},
                                           TypeName{DataType::kFloat, "float"}, TypeName{DataType::kInt32, "int32"},
                                           TypeName{DataType::kInt64, "int64"}, TypeName{DataType::kDouble, "double"}),
                         [](const auto& info) { return std::string(info.param.text); });

// Puts `op` in place of '#'. Models can't hold operator names with a T, because Of replaces each T by the type.
std::string Named(std::string text, std::string_view op) {
  text.replace(text.find('#'), 1, op);
  return text;
}

TEST_P(MoveTypes, TransposeOfRankEight) {
  ExpectLikeCpu(
      Named(Of("g (T[A,B,C,D,E,F,G,H] x) => (T[I,J,K,L,M,N,O,P] y) { y = #<perm=[7,0,5,2,3,4,1,6]>(x) }"), "Transpose"),
      {Some({2, 1, 3, 2, 1, 2, 3, 5})});
}

// A run of 64 elements is moved in units of 16 bytes. A run of 7 can't be.
TEST_P(MoveTypes, TransposeKeepsRuns) {
  for (int64_t run : {64, 7})
    ExpectLikeCpu(Named(Of("g (T[A,B,C,D] x) => (T[E,F,G,H] y) { y = #<perm=[0,2,1,3]>(x) }"), "Transpose"),
                  {Some({2, 3, 5, run})});
}

TEST_P(MoveTypes, SliceBackwardsAndInSteps) {
  ExpectLikeCpu(Of(R"(g (T[A,B,C] x) => (T[D,E,F] y) {
                       starts = Constant<value_ints=[-1,1,-100]>() ends = Constant<value_ints=[-100,4,100]>()
                       axes = Constant<value_ints=[0,1,2]>() steps = Constant<value_ints=[-2,1,3]>()
                       y = Slice(x, starts, ends, axes, steps) })"),
                {Some({5, 6, 10})});
}

TEST_P(MoveTypes, ConcatOfUnequalAndEmptyParts) {
  ExpectLikeCpu(Of("g (T[A,B,C] x, T[A,D,C] y, T[A,E,C] z) => (T[F,G,H] w) { w = Concat<axis=-2>(x, y, z) }"),
                {Some({3, 4, 2}, 1), Some({3, 0, 2}, 2), Some({3, 1, 2}, 3)});
}

TEST_P(MoveTypes, SplitOfUnequalParts) {
  ExpectLikeCpu(Of(R"(g (T[A,B,C] x) => (T[D,E,F] y, T[G,H,I] z) {
                       sizes = Constant<value_ints=[1,5]>() y, z = Split<axis=1>(x, sizes) })"),
                {Some({2, 6, 3})});
}

TEST_P(MoveTypes, ExpandAndTile) {
  ExpectLikeCpu(Named(Of(R"(g (T[A,B,C] x) => (T[D,E,F,G] y, T[H,I,J] z) {
                             shape = Constant<value_ints=[2,1,4,5]>() y = Expand(x, shape)
                             repeats = Constant<value_ints=[2,3,1]>() z = #(x, repeats) })"),
                      "Tile"),
                {Some({3, 1, 5})});
}

TEST_P(MoveTypes, GatherByIndicesOfBothTypesFromBothEnds) {
  ExpectLikeCpu(Of(R"(g (T[A,B,C] x, int64[D,E] i, int32[F] j) => (T[G,H,I,J] y, T[K,L,M] z) {
                       y = Gather<axis=1>(x, i) z = Gather<axis=2>(x, j) })"),
                {Some({2, 5, 4}), Int64s({2, 3}, {0, -1, 4, -5, 2, 2}), Numbers(DataType::kInt32, {3}, {-4, 3, 0})});
}

TEST_P(MoveTypes, GatherElementsAndTuples) {
  ExpectLikeCpu(Of(R"(g (T[A,B,C] x, int64[D,E,F] i, int64[G,H,I] j) => (T[J,K,L] y, T[M,N,O] z) {
                       y = GatherElements<axis=1>(x, i) z = GatherND<batch_dims=1>(x, j) })"),
                {Some({2, 5, 3}), Int64s({2, 1, 3}, {0, -1, 4, -5, 2, 2}), Int64s({2, 2, 1}, {1, -1, 0, 3})});
}

TEST_P(MoveTypes, ScatterReplaces) {
  ExpectLikeCpu(Of(R"(g (T[A,B] x, int64[C,D] i, T[C,D] u, int64[E,F] j, T[G,H] v) => (T[I,J] y, T[K,L] z) {
                       y = ScatterElements<axis=0>(x, i, u) z = ScatterND(x, j, v) })"),
                {Some({4, 3}, 1), Int64s({2, 3}, {0, -1, 2, 1, 0, -2}), Some({2, 3}, 2), Int64s({2, 1}, {-1, 1}),
                 Some({2, 3}, 3)});
}

TEST_P(MoveTypes, PadInEveryMode) {
  for (const char* mode : {"constant", "edge", "reflect", "wrap"})
    ExpectLikeCpu(Of("g (T[A,B,C] x) => (T[D,E,F] y) { pads = Constant<value_ints=[1,0,2,0,-1,3]>() y = Pad<mode=\"") +
                      mode + "\">(x, pads) }",
                  {Some({3, 4, 5})}, {.opset = 19});
}

TEST_P(MoveTypes, BlocksOfDepth) {
  ExpectLikeCpu(Named(Named(Named(Of(R"(g (T[A,B,C,D] x) => (T[E,F,G,H] y, T[I,J,K,L] z, T[M,N,O,P] w) {
                               y = #<blocksize=2, mode="DCR">(x) z = #<blocksize=2, mode="CRD">(x)
                               w = #<blocksize=3>(x) })"),
                                  "DepthToSpace"),
                            "DepthToSpace"),
                      "SpaceToDepth"),
                {Some({2, 8, 3, 6})});
}

TEST_P(MoveTypes, Triangles) {
  ExpectLikeCpu(Named(Named(Of(R"(g (T[A,B,C] x) => (T[D,E,F] y, T[G,H,I] z) {
                                   k = Constant<value_int=-1>() y = #<upper=1>(x, k) z = #<upper=0>(x) })"),
                            "Trilu"),
                      "Trilu"),
                {Some({2, 4, 5})});
}

TEST_P(MoveTypes, OneHotValues) {
  ExpectLikeCpu(Of(R"(g (int64[A,B] i, T[C] values) => (T[D,E,F] y) {
                       depth = Constant<value_int=4>() y = OneHot<axis=1>(i, depth, values) })"),
                {Int64s({2, 3}, {0, -1, 9, 3, -5, 2}), Some({2})});
}

TEST_P(MoveTypes, ReversedSequences) {
  ExpectLikeCpu(
      Of("g (T[A,B,C] x, int64[A] n) => (T[A,B,C] y) { y = ReverseSequence<batch_axis=0, time_axis=1>(x, n) }"),
      {Some({3, 4, 2}), Int64s({3}, {4, 1, 3})});
}

TEST_P(MoveTypes, NearestNeighbours) {
  ExpectLikeCpu(Of(R"(g (T[A,B,C,D] x) => (T[E,F,G,H] y) {
                       none = Constant<value_floats=[0.0]>() scales = Constant<value_floats=[1.0,1.0,2.0,0.6]>()
                       y = Resize<mode="nearest">(x, , scales) })"),
                {Some({1, 2, 3, 5})});
}

TEST_P(MoveTypes, OfNoElements) {
  ExpectLikeCpu(Named(Of(R"(g (T[A,B,C] x) => (T[C,B,A] y, T[D,E,F,G] z, T[A,H,C] w) {
                             y = #(x) shape = Constant<value_ints=[2,3,0,2]>() z = Expand(x, shape)
                             w = Concat<axis=1>(x, x) })"),
                      "Transpose"),
                {Some({3, 0, 2})});
}

TEST_P(MoveTypes, OutOfNothing) {
  ExpectLikeCpu(Of(R"(g (T[A,B] x) => (T[C,D] y) { pads = Constant<value_ints=[1,2,0,0]>() y = Pad(x, pads) })"),
                {Some({2, 0})});
}

TEST_P(MoveTypes, PartsWithoutElements) {
  ExpectLikeCpu(Of(R"(g (T[A,B] x, int64[C] i, int64[D,B] j, T[D,B] u) => (T[E,B] y, T[F,B] z, T[A,B] w, T[G,B] v) {
                       sizes = Constant<value_ints=[0,3]>() y, z = Split<axis=0>(x, sizes) none = Gather(x, i)
                       v = Concat<axis=0>(none, x) w = ScatterElements(x, j, u) })"),
                {Some({3, 2}), Int64s({0}, {}), Int64s({0, 2}, {}), Some({0, 2})});
}

}  // namespace
}  // namespace epiphyte::test
