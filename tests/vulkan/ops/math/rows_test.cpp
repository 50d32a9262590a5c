// Kernels that divide a row among invocations (shaders/rows.glsl) match kernels with one invocation for each row. Rows
// are divided by subgroups, by workgroups of subgroups, and by workgroup memory. Subgroups have any size and may be
// partly filled.
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::string ShapeText(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

std::vector<float> Waves(const Dims& dims, float step) {
  std::vector<float> values;
  for (int64_t i = 0; i < dims.Count(); ++i) values.push_back(1.5f * std::sin(static_cast<float>(i) * step));
  return values;
}

// A graph of one node. Its inputs are sine waves of the given shapes.
struct Case {
  std::string node;  // name, opset and attributes: "Softmax@13<axis=1>"
  std::vector<Dims> x;
  std::vector<Dims> y;
  std::string kernel;         // shader name without suffixes and type
  std::string constant = "";  // name of the input that is a constant, such as "x1"; "" for none
  std::string variant = "";   // part of the shader name behind "_subgroup" or "_shared"
};

class RowKernels : public OpTest {
 protected:
  Tensors RunCase(const Case& each, bool half) {
    const std::string type = half ? "float16" : "float";
    std::string head, arguments, names, shapes, tail;
    Tensors inputs;
    for (size_t i = 0; i < each.x.size(); ++i) {
      const std::string name = "x" + std::to_string(i);
      const std::vector<float> values = Waves(each.x[i], 0.7f - 0.2f * static_cast<float>(i));
      arguments += (i == 0 ? "" : ", ") + name;
      if (name == each.constant) {
        std::ostringstream numbers;
        numbers.precision(9);
        for (size_t j = 0; j < values.size(); ++j) numbers << (j == 0 ? "" : ",") << values[j];
        head += "const " + name + ": " + type + ShapeText(each.x[i]) + " = [" + numbers.str() + "]\n";
      } else {
        head += "in " + name + ": " + type + ShapeText(each.x[i]) + "\n";
        inputs.push_back(half ? Halves(each.x[i], values) : Of<float>(each.x[i], values));
      }
    }
    for (size_t i = 0; i < each.y.size(); ++i) {
      const std::string name = "y" + std::to_string(i);
      names += (i == 0 ? "" : ", ") + name;
      shapes += (i == 0 ? "" : ", ") + (each.y.size() > 1 && i > 0 && each.node.starts_with("Layer") ? "float" : type) +
                ShapeText(each.y[i]);
      tail += "out " + name + "\n";
    }
    return Run(head + names + " = " + each.node + "(" + arguments + ") : " + shapes + "\n" + tail, inputs);
  }

  static std::vector<float> Floats(const OpTensor& tensor) {
    return tensor.type == EP_TYPE_FLOAT16 ? FromHalves(tensor) : tensor.As<float>();
  }
  static void ExpectNear(const Tensors& found, const Tensors& expected, bool half) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const std::vector<float> a = Floats(found[i]), b = Floats(expected[i]);
      ASSERT_EQ(a.size(), b.size());
      for (size_t j = 0; j < a.size(); ++j) {
        if (a[j] == b[j] || (std::isnan(a[j]) && std::isnan(b[j]))) continue;
        ASSERT_NEAR(a[j], b[j], (half ? 4e-3f : 3e-5f) * (1 + std::abs(b[j]))) << "output " << i << " element " << j;
      }
    }
  }
  size_t Count(const std::string& shader) const {
    size_t count = 0;
    for (const Dispatch& dispatch : program().dispatches) count += dispatch.shader == shader ? 1 : 0;
    return count;
  }

  // Checks every way to share rows in float and float16. `shared`: the kernel has a variant without subgroups
  // (_shared).
  void ExpectSame(const Case& each, bool shared) {
    for (const bool half : {false, true}) {
      SCOPED_TRACE(each.node + " of " + ShapeText(each.x[0]) + (half ? " in float16" : ""));
      PreferNothing();
      const Tensors alone = RunCase(each, half);
      const std::string type = half ? ".f16" : ".f32";
      EXPECT_EQ(Count(each.kernel + "_subgroup" + type) + Count(each.kernel + "_shared" + type), 0u);
      for (const char* way : {"_subgroup", "_subgroup by workgroups", "_shared"}) {
        SCOPED_TRACE(way);
        PreferNothing();
        if (way != std::string("_shared")) Prefer(Capability::kSubgroup);
        if (way != std::string("_subgroup")) Prefer(Capability::kSharedMemory);
        if (way == std::string("_shared") && !shared) continue;
        ExpectNear(RunCase(each, half), alone, half);
        const std::string shader =
            each.kernel + std::string(way).substr(0, std::string(way).find(' ')) + each.variant + type;
        EXPECT_GE(Count(shader), 1u) << shader << " was not chosen";
      }
    }
    PreferNothing();
  }

  // Checks workgroups of any size, so that subgroups are full or partly filled; two workgroups are too few for all
  // rows. No workgroup has a full subgroup followed by a partly filled one, because the software device counts those
  // wrong. That device's nested loops also never end for the missing invocations of a partly filled subgroup: `full`
  // leaves out the sizes with such subgroups.
  void ExpectSameInGroupsOfAnySize(const Case& each, bool full = false) {
    SCOPED_TRACE(each.node);
    PreferNothing();
    const Tensors alone = RunCase(each, false);
    for (const bool of_group : {false, true}) {
      for (const uint32_t size : {1u, 2u, 3u, 4u, 8u, 64u, 128u}) {
        if (full && size % capabilities().subgroup_size != 0) continue;
        SCOPED_TRACE(testing::Message() << "workgroups of " << size << (of_group ? ", with a row each" : ""));
        Prefer(Capability::kSubgroup);
        size_t changed = 0;
        change = [&](Program& program) {
          for (Dispatch& dispatch : program.dispatches) {
            if (dispatch.shader.find("_subgroup") == std::string::npos) continue;
            dispatch.specialization[dispatch.specialization.size() - 2] = size;
            dispatch.specialization.back() = of_group ? 1 : 0;
            dispatch.full_subgroups = false;
            dispatch.groups = {2, 1, 1};
            ++changed;
          }
        };
        ExpectNear(RunCase(each, false), alone, false);
        EXPECT_GE(changed, 1u);
        change = {};
      }
    }
  }
};

const Dims kRowShapes[] = {{1, 1}, {3, 7}, {2, 8}, {5, 33}, {1, 1000}, {2, 2049}, {70, 65}};

TEST_F(RowKernels, Softmax) {
  for (const Dims& dims : kRowShapes)
    for (const char* op : {"Softmax@13", "LogSoftmax@13", "Hardmax@13"})
      ExpectSame({op, {dims}, {dims}, "softmax"}, true);
  ExpectSame({"Softmax@13<axis=0>", {{50, 3}}, {{50, 3}}, "softmax"}, true);
}

TEST_F(RowKernels, SoftmaxOfInfinitiesAndOfNoNumbers) {
  const std::vector<float> x = {1000, 1000, -kInfinity, -1000, -kInfinity, -kInfinity, -kInfinity, -kInfinity,
                                1,    kNaN, 2,          3,     -5,         -7,         -5,         -0.0f};
  const auto run = [&](const char* op) {
    return Run(std::string("in x: float[4,4]\ny = ") + op + "(x) : float[4,4]\nout y\n", {Of<float>({4, 4}, x)});
  };
  for (const char* op : {"Softmax@13", "LogSoftmax@13", "Hardmax@13"}) {
    PreferNothing();
    const Tensors alone = run(op);
    Prefer(Capability::kSubgroup);
    ExpectNear(run(op), alone, false);
    EXPECT_EQ(Count("softmax_subgroup.f32"), 1u);
  }
}

TEST_F(RowKernels, NormalizationsOfRows) {
  for (const Dims& dims : kRowShapes) {
    const Dims row = {dims[1]}, statistics = {dims[0], 1};
    ExpectSame({"LayerNormalization@17", {dims, row, row}, {dims}, "row_norm"}, true);
    ExpectSame({"LayerNormalization@17", {dims, row, row}, {dims, statistics, statistics}, "row_norm_stats"}, true);
    ExpectSame({"RMSNormalization@23", {dims, row}, {dims}, "row_norm"}, true);
    ExpectSame({"epiphyte.kit::SkipNormalization", {dims, dims, row, row}, {dims, dims}, "row_norm_skip"}, true);
    ExpectSame({"epiphyte.kit::SkipNormalization<rms=1>", {dims, dims, row}, {dims}, "row_norm_skip"}, true);
  }
  ExpectSame({"GroupNormalization@21<num_groups=2>", {{2, 6, 7, 5}, {6}, {6}}, {{2, 6, 7, 5}}, "row_norm"}, true);
}

TEST_F(RowKernels, Reductions) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                         "ReduceSumSquare", "ReduceLogSumExp"})
    for (const Dims& dims : kRowShapes)
      ExpectSame({std::string(op) + "@13<axes=[1]>", {dims}, {{dims[0], 1}}, "reduce"}, false);
  ExpectSame({"ReduceMean@13<axes=[0,2]>", {{30, 2, 50}}, {{1, 2, 1}}, "reduce"}, false);
}

TEST_F(RowKernels, ReductionsOfIntegersAndOfNoNumbers) {
  const auto run = [&](const std::string& op, const std::string& type, const OpTensor& x) {
    return Run("in x: " + type + "[3,67]\ny = " + op + "@13<axes=[1]>(x) : " + type + "[3,1]\nout y\n", {x})[0].bytes;
  };
  std::vector<int32_t> words;
  std::vector<int8_t> bytes;
  std::vector<float> floats;
  for (int32_t i = 0; i < 201; ++i) {
    words.push_back((i * 7919) % 20011 - 10000);
    bytes.push_back(static_cast<int8_t>(words.back()));
    floats.push_back(i == 40 ? kNaN : static_cast<float>(words.back()));
  }
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"}) {
    SCOPED_TRACE(op);
    const bool sums = op[6] == 'S' || op[6] == 'P';
    const std::vector<uint32_t> unsigned_words(words.begin(), words.end());
    const auto all = [&] {
      std::vector<std::vector<std::byte>> found = {run(op, "int32", Of<int32_t>({3, 67}, words)),
                                                   run(op, "uint32", Of<uint32_t>({3, 67}, unsigned_words))};
      if (!sums) found.push_back(run(op, "int8", Of<int8_t>({3, 67}, bytes)));
      if (!sums) {
        found.push_back(run(op, "float", Of<float>({3, 67}, floats)));
        for (size_t i = 0; i < 3; ++i) {  // all NaNs count as equal
          float number;
          std::memcpy(&number, found.back().data() + i * sizeof number, sizeof number);
          if (std::isnan(number)) number = kNaN;
          std::memcpy(found.back().data() + i * sizeof number, &number, sizeof number);
        }
      }
      return found;
    };
    PreferNothing();
    const auto alone = all();
    Prefer(Capability::kSubgroup);
    EXPECT_EQ(all(), alone);
    EXPECT_EQ(Count(sums ? "reduce_subgroup.u32" : "reduce_subgroup.f32"), 1u);
  }
}

TEST_F(RowKernels, ReductionsOfNothing) {
  for (const char* op : {"ReduceSum", "ReduceProd", "ReduceMax"})
    ExpectSame({std::string(op) + "@13<axes=[1]>", {{3, 0}}, {{3, 1}}, "reduce"}, false);
}

// Subgroup operations compute with 32 bits, so there is no such kernel for int64.
TEST_F(RowKernels, ReductionsOfLongIntegersAreAnInvocationsEach) {
  Prefer(Capability::kSubgroup);
  const Tensors y = Run("in x: int64[1,3]\ny = ReduceSum@11<axes=[1]>(x) : int64[1,1]\nout y\n",
                        {Of<int64_t>({1, 3}, {1, 2, int64_t{1} << 40})});
  EXPECT_EQ(y[0].As<int64_t>()[0], (int64_t{1} << 40) + 3);
  ASSERT_FALSE(program().notes.empty());
  EXPECT_EQ(program().notes[0].second, "reduce; not reduce_subgroup: there is none for int64");
}

TEST_F(RowKernels, Attention) {
  for (const int64_t keys : {1, 7, 40, 300})
    for (const int64_t queries : {1, 3})
      ExpectSame({"Attention@23<is_causal=1>",
                  {{1, 4, queries, 8}, {1, 2, keys, 8}, {1, 2, keys, 8}},
                  {{1, 4, queries, 8}},
                  "attention_softmax"},
                 true);
  ExpectSame(
      {"Attention@23", {{2, 4, 3, 8}, {2, 2, 70, 8}, {2, 2, 70, 8}, {3, 70}}, {{2, 4, 3, 8}}, "attention_softmax"},
      true);
}

TEST_F(RowKernels, AttentionWithAMaskOfBooleans) {
  std::vector<uint8_t> mask;
  for (int i = 0; i < 90; ++i) mask.push_back(i >= 45 && i % 3 != 1 ? 1 : 0);  // the first query has no keys
  const auto run = [&] {
    return Run(
        "in q: float[1,2,2,8]\nin k: float[1,2,45,8]\nin v: float[1,2,45,8]\nin m: bool[2,45]\n"
        "y = Attention@23(q, k, v, m) : float[1,2,2,8]\nout y\n",
        {Of<float>({1, 2, 2, 8}, Waves({1, 2, 2, 8}, 0.7f)), Of<float>({1, 2, 45, 8}, Waves({1, 2, 45, 8}, 0.3f)),
         Of<float>({1, 2, 45, 8}, Waves({1, 2, 45, 8}, 0.9f)), Bools({2, 45}, mask)});
  };
  const Tensors alone = run();
  for (const bool by_workgroups : {false, true}) {
    Prefer(Capability::kSubgroup);
    if (by_workgroups) Prefer(Capability::kSharedMemory);
    ExpectNear(run(), alone, false);
    EXPECT_EQ(Count("attention_softmax_bool_subgroup.f32"), 1u);
  }
}

TEST_F(RowKernels, ProductsOfFewRows) {
  for (const int64_t m : {1, 3, 4}) {
    const std::string rows = m == 1 ? "_1" : "_4";
    for (const int64_t k : {4, 64, 300}) {
      for (const int64_t n : {4, 36, 132}) {
        const Dims a = {m, k}, b = {k, n}, y = {m, n};
        ExpectSame({"MatMul@13", {a, b}, {y}, "matmul_split_rows" + rows}, false);
        ExpectSame({"Gemm@13<transB=1>", {a, {n, k}}, {y}, "matmul_split_columns" + rows}, false);
        ExpectSame({"MatMul@13", {a, b}, {y}, "matmul_split_packed" + rows, "x1"}, m == 1);
      }
    }
    // Sizes that are no multiples of 4, with either matrix transposed.
    ExpectSame({"MatMul@13", {{m, 67}, {67, 13}}, {{m, 13}}, "matmul_split_any" + rows}, false);
    ExpectSame({"Gemm@13<transB=1>", {{m, 67}, {13, 67}}, {{m, 13}}, "matmul_split_any" + rows}, false);
    ExpectSame({"Gemm@13<transA=1>", {{67, m}, {67, 12}}, {{m, 12}}, "matmul_split_any" + rows}, false);
    ExpectSame({"MatMul@13", {{m, 64}, {64, 5}}, {{m, 5}}, "matmul_split_packed" + rows, "x1"}, m == 1);
  }
}

TEST_F(RowKernels, ProductsOfBatchesOfNothingAndWithWhatFollows) {
  ExpectSame({"MatMul@13", {{3, 2, 64}, {3, 64, 12}}, {{3, 2, 12}}, "matmul_split_rows_4"}, false);
  ExpectSame({"MatMul@13", {{2, 1, 1, 32}, {1, 3, 32, 8}}, {{2, 3, 1, 8}}, "matmul_split_rows_1"}, false);
  ExpectSame({"MatMul@13", {{2, 0}, {0, 8}}, {{2, 8}}, "matmul_split_rows_4"}, false);
  for (const char* activation : {"Relu", "Gelu"})
    ExpectSame({std::string("epiphyte.kit::MatMul<activation=\"") + activation + "\">",
                {{1, 200}, {200, 20}, {20}, {1, 20}},
                {{1, 20}},
                "matmul_split_rows_1",
                "",
                activation == std::string_view("Gelu") ? "_long" : ""},
               false);
  ExpectSame({"Gemm@13<alpha=0.5, beta=2.0>", {{2, 200}, {200, 20}, {2, 1}}, {{2, 20}}, "matmul_split_rows_4"}, false);
}

// The values of the weights don't matter here; matmul_nbits_test.cpp checks in sessions that they are read correctly.
TEST_F(RowKernels, ProductsWithWeightsOfFewBits) {
  for (const int64_t m : {1, 3, 9}) {
    for (const int64_t bits : {2, 4, 8}) {
      for (const int64_t k : {40, 700}) {
        const int64_t n = 7, blocks = (k + 31) / 32, bytes = 32 * bits / 8;
        std::vector<uint8_t> weights;
        for (int64_t i = 0; i < n * blocks * bytes; ++i) weights.push_back(static_cast<uint8_t>(i * 89 % 251));
        const auto run = [&] {
          const std::string shape = ShapeText({m, k}), result = ShapeText({m, n});
          return Run("in a: float" + shape + "\nin b: uint8" + ShapeText({n, blocks, bytes}) + "\nin s: float" +
                         ShapeText({n * blocks}) + "\ny = com.microsoft::MatMulNBits<K=" + std::to_string(k) +
                         ", N=7, block_size=32, bits=" + std::to_string(bits) + ">(a, b, s) : float" + result +
                         "\nout y\n",
                     {Of<float>({m, k}, Waves({m, k}, 0.7f)), Of<uint8_t>({n, blocks, bytes}, weights),
                      Of<float>({n * blocks}, Waves({n * blocks}, 0.3f))});
        };
        PreferNothing();
        const Tensors alone = run();
        for (const bool by_workgroups : {false, true}) {
          SCOPED_TRACE(testing::Message() << m << ' ' << bits << ' ' << k << ' ' << by_workgroups);
          Prefer(Capability::kSubgroup);
          if (by_workgroups) Prefer(Capability::kSharedMemory);
          const std::vector<float> found = run()[0].As<float>(), expected = alone[0].As<float>();
          ASSERT_EQ(found.size(), expected.size());
          for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-3) << i;
          EXPECT_EQ(Count(m == 1 ? "matmul_nbits_1_subgroup.f32" : "matmul_nbits_4_subgroup.f32"), 1u);
        }
      }
    }
  }
}

TEST_F(RowKernels, SubgroupsOfAnySize) {
  ExpectSameInGroupsOfAnySize({"LogSoftmax@13", {{7, 100}}, {{7, 100}}, "softmax"});
  ExpectSameInGroupsOfAnySize({"Hardmax@13", {{7, 100}}, {{7, 100}}, "softmax"});
  ExpectSameInGroupsOfAnySize({"LayerNormalization@17", {{5, 77}, {77}, {77}}, {{5, 77}}, "row_norm"});
  ExpectSameInGroupsOfAnySize({"ReduceLogSumExp@13<axes=[1]>", {{9, 50}}, {{9, 1}}, "reduce"}, true);
  ExpectSameInGroupsOfAnySize({"Attention@23", {{1, 2, 3, 8}, {1, 2, 50, 8}, {1, 2, 50, 8}}, {{1, 2, 3, 8}}, ""});
  ExpectSameInGroupsOfAnySize({"MatMul@13", {{3, 200}, {200, 36}}, {{3, 36}}, ""});
  ExpectSameInGroupsOfAnySize({"MatMul@13", {{1, 67}, {67, 13}}, {{1, 13}}, ""});
  ExpectSameInGroupsOfAnySize({"Gemm@13<transB=1>", {{1, 200}, {36, 200}}, {{1, 36}}, ""});
}

}  // namespace
}  // namespace epiphyte::vulkan
