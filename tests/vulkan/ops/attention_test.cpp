// Attention as ONNX's operator and as exporters write it with simpler nodes, and RotaryEmbedding.
#include "tests/vulkan/ops/operator_harness.h"
#include "tests/vulkan/ops/product_models.h"

namespace epiphyte::test {
namespace {

class Attention : public OperatorTest {
 protected:
  static OperatorRun Opset23() { return {.opset = 23}; }
  // Queries, keys and values of 2 batch items, with 4 heads of queries and 2 heads of keys and values.
  static std::vector<ValuePtr> FourDimensions(int64_t queries, int64_t keys) {
    return {Scaled({2, 4, queries, 8}, 1), Scaled({2, 2, keys, 8}, 2), Scaled({2, 2, keys, 12}, 3)};
  }
};

TEST_F(Attention, SharesHeadsOfKeysAndValues) {
  for (const int64_t queries : {1, 5, 20})
    for (const int64_t keys : {1, 7, 16})
      ExpectLikeCpu(
          "g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v) => (float[] y) { y = Attention(q, k, v) }",
          FourDimensions(queries, keys), Opset23());
}

TEST_F(Attention, TakesHeadsSideBySide) {
  ExpectLikeCpu(
      "g (float[2,5,32] q, float[2,7,16] k, float[2,7,24] v) => (float[] y) "
      "{ y = Attention <q_num_heads = 4, kv_num_heads = 2, scale = 0.7> (q, k, v) }",
      {Scaled({2, 5, 32}, 1), Scaled({2, 7, 16}, 2), Scaled({2, 7, 24}, 3)}, Opset23());
}

TEST_F(Attention, OfLongRows) {
  ExpectLikeCpu(
      "g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v) => (float[] y) "
      "{ y = Attention <is_causal = 1> (q, k, v) }",
      FourDimensions(70, 70), Opset23());
  std::vector<ValuePtr> inputs = FourDimensions(1, 131);
  inputs.push_back(Random(DataType::kBool, {131}, 5));
  ExpectLikeCpu(
      "g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v, bool[T] m) => (float[] y) "
      "{ y = Attention(q, k, v, m) }",
      inputs, Opset23());
}

TEST_F(Attention, IsCausalAndCapped) {
  ExpectLikeCpu(
      "g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v) => (float[] y) "
      "{ y = Attention <is_causal = 1, softcap = 0.5> (q, k, v) }",
      FourDimensions(6, 6), Opset23());
}

TEST_F(Attention, MasksByNumbersAndByBooleans) {
  std::vector<ValuePtr> inputs = FourDimensions(5, 7);
  inputs.push_back(Scaled({5, 7}, 4));
  ExpectLikeCpu(
      "g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v, float[Q,T] m) => (float[] y) "
      "{ y = Attention(q, k, v, m) }",
      inputs, Opset23());
  inputs[3] = Random(DataType::kBool, {2, 1, 5, 7}, 5);
  ExpectLikeCpu(
      "g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v, bool[B,1,Q,T] m) => (float[] y) "
      "{ y = Attention(q, k, v, m) }",
      inputs, Opset23());
  inputs[3] = Numbers(DataType::kBool, {5, 7}, std::vector<double>(35, 0));  // the mask hides every key
  ExpectLikeCpu(
      "g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v, bool[Q,T] m) => (float[] y) "
      "{ y = Attention(q, k, v, m) }",
      inputs, Opset23());
}

TEST_F(Attention, AppendsToTheCache) {
  for (const int64_t queries : {1, 3}) {
    std::vector<ValuePtr> inputs = FourDimensions(queries, queries);
    inputs.push_back(Scaled({2, 2, 5, 8}, 4));
    inputs.push_back(Scaled({2, 2, 5, 12}, 5));
    ExpectLikeCpu(
        "g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v, float[B,K,P,S] pk, float[B,K,P,V] pv) => "
        "(float[] y, float[] nk, float[] nv) { y, nk, nv = Attention <is_causal = 1> (q, k, v, , pk, pv) }",
        inputs, Opset23());
  }
  std::vector<ValuePtr> inputs = FourDimensions(3, 3);
  inputs.push_back(Scaled({2, 2, 0, 8}, 4));
  inputs.push_back(Scaled({2, 2, 0, 12}, 5));
  ExpectLikeCpu(
      "g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v, float[B,K,P,S] pk, float[B,K,P,V] pv) => "
      "(float[] y, float[] nk, float[] nv) { y, nk, nv = Attention(q, k, v, , pk, pv) }",
      inputs, Opset23());
}

TEST_F(Attention, KnowsHowManyKeysAreNoFilling) {
  std::vector<ValuePtr> inputs = FourDimensions(3, 7);
  inputs.push_back(Numbers(DataType::kInt64, {2}, {4, 7}));
  for (const char* causal : {"0", "1"})
    ExpectLikeCpu(std::string("g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v, int64[B] n) => (float[] y) ") +
                      "{ y = Attention <is_causal = " + causal + "> (q, k, v, , , , n) }",
                  inputs, {.opset = 24});
}

TEST_F(Attention, ShowsScoresOfEveryStage) {
  std::vector<ValuePtr> inputs = FourDimensions(5, 7);
  inputs.push_back(Scaled({5, 7}, 4));
  for (const char* mode : {"0", "1", "2", "3"})
    ExpectLikeCpu(
        std::string("g (float[B,H,Q,S] q, float[B,K,T,S] k, float[B,K,T,V] v, float[Q,T] m) => "
                    "(float[] y, float[] s) { y, nk, nv, s = Attention <softcap = 2.0, qk_matmul_output_mode = ") +
            mode + "> (q, k, v, m) }",
        inputs, Opset23());
}

TEST_F(Attention, OfHalfFloats) {
  OperatorRun run = Opset23();
  run.tolerance = {.relative = 5e-3, .absolute = 5e-3};
  ExpectLikeCpu(
      "g (float16[B,H,Q,S] q, float16[B,K,T,S] k, float16[B,K,T,V] v) => (float16[] y) "
      "{ y = Attention <is_causal = 1> (q, k, v) }",
      {Scaled({2, 4, 5, 8}, 1, DataType::kFloat16), Scaled({2, 2, 7, 8}, 2, DataType::kFloat16),
       Scaled({2, 2, 7, 12}, 3, DataType::kFloat16)},
      run);
}

// The kit fuses these nodes into one Attention that reads the operands as views.
TEST_F(Attention, WrittenOutWithTransposes) {
  ExpectLikeCpu(R"(g (float[2,6,4,8] q, float[2,9,4,8] k, float[2,9,4,8] v, float[2,1,1,9] m) => (float[] y)
      <float scale = {0.35}> {
        qt = Transpose <perm = [0, 2, 1, 3]> (q)
        kt = Transpose <perm = [0, 2, 3, 1]> (k)
        vt = Transpose <perm = [0, 2, 1, 3]> (v)
        s = MatMul(qt, kt)
        t = Mul(s, scale)
        u = Add(t, m)
        w = Softmax(u)
        z = MatMul(w, vt)
        y = Transpose <perm = [0, 2, 1, 3]> (z)
      })",
                {Scaled({2, 6, 4, 8}, 1), Scaled({2, 9, 4, 8}, 2), Scaled({2, 9, 4, 8}, 3), Scaled({2, 1, 1, 9}, 4)});
}

class RotaryEmbedding : public OperatorTest {};

TEST_F(RotaryEmbedding, OfEveryLayout) {
  for (const char* interleaved : {"0", "1"}) {
    const std::string attributes = std::string("interleaved = ") + interleaved;
    ExpectLikeCpu(
        "g (float[2,3,4,8] x, float[10,4] c, float[10,4] s, int64[2,4] p) => (float[] y) "
        "{ y = RotaryEmbedding <" +
            attributes + "> (x, c, s, p) }",
        {Scaled({2, 3, 4, 8}, 1), Scaled({10, 4}, 2), Scaled({10, 4}, 3),
         Numbers(DataType::kInt64, {2, 4}, {0, 1, 2, 9, 5, 4, 3, 2})},
        {.opset = 23});
    ExpectLikeCpu(
        "g (float[2,4,24] x, float[2,4,2] c, float[2,4,2] s) => (float[] y) "
        "{ y = RotaryEmbedding <num_heads = 3, rotary_embedding_dim = 4, " +
            attributes + "> (x, c, s) }",
        {Scaled({2, 4, 24}, 1), Scaled({2, 4, 2}, 2), Scaled({2, 4, 2}, 3)}, {.opset = 23});
  }
}

constexpr std::string_view kPositions =
    "g (float[1,1,3,2] x, float[4,1] c, float[4,1] s, int64[1,3] p) => (float[] y) { y = RotaryEmbedding (x, c, s, p) "
    "}";

TEST_F(RotaryEmbedding, NegativePositionsCountFromTheEnd) {
  ExpectLikeCpu(
      std::string(kPositions),
      {Scaled({1, 1, 3, 2}, 1), Scaled({4, 1}, 2), Scaled({4, 1}, 3), Numbers(DataType::kInt64, {1, 3}, {-1, -4, 3})},
      {.opset = 23});
}

}  // namespace
}  // namespace epiphyte::test
