// MatMulNBits of com.microsoft, compared with a product with the same weights as floats: bit widths, block sizes, both
// kinds of zero points, several rows, groups in another order, float16. It runs as a kernel, in plans and from
// contexts.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "plugins/cpu/exec/context.h"
#include "plugins/cpu/exec/fuse.h"
#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using testing::ThrowsMessage;

enum class Zeros { kNone, kPacked, kFloats };

struct Case {
  int64_t rows, k, n, block;
  int bits;
  Zeros zeros = Zeros::kNone;
  bool constant = true, halves = false, bias = false, groups = false;
  int accuracy_level = 0;

  int64_t blocks() const { return (k - 1) / block + 1; }
  int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.rows << "x" << c.k << "x" << c.n << ", " << c.bits << " bits by " << c.block << ", zeros "
             << static_cast<int>(c.zeros) << (c.constant ? "" : ", computed") << (c.halves ? ", halves" : "")
             << (c.bias ? ", bias" : "") << (c.groups ? ", groups" : "") << ", level " << c.accuracy_level;
}

// The operator's inputs, its expected results and their error bounds.
struct Example {
  std::vector<uint8_t> numbers, zeros;
  std::vector<float> a, scales, real_zeros, bias;
  std::vector<int32_t> groups;
  std::vector<double> expected, bound;

  explicit Example(const Case& c) {
    std::mt19937 random(static_cast<unsigned>(c.rows * 1000 + c.k + c.bits));
    const auto real = [&](double low, double high) {
      // The number has few significant bits and is exact in float16, too.
      return static_cast<float>(std::round(std::uniform_real_distribution<double>(low, high)(random) * 64) / 64);
    };
    for (int64_t i = 0; i < c.n * c.blocks() * c.block * c.bits / 8; ++i)
      numbers.push_back(static_cast<uint8_t>(random()));
    for (int64_t i = 0; i < c.n * c.zero_bytes(); ++i) zeros.push_back(static_cast<uint8_t>(random()));
    for (int64_t i = 0; i < c.n * c.blocks(); ++i) {
      scales.push_back(real(0.1, 0.5));
      real_zeros.push_back(real(0, 1 << c.bits));
    }
    for (int64_t i = 0; i < c.rows * c.k; ++i) a.push_back(real(-1, 1));
    for (int64_t i = 0; i < c.n; ++i) bias.push_back(real(-4, 4));
    for (int64_t i = 0; i < c.k; ++i) groups.push_back(static_cast<int32_t>((i * 7 + 3) % c.blocks()));
    for (int64_t row = 0; row < c.rows; ++row)
      for (int64_t column = 0; column < c.n; ++column) Add(c, row, column);
  }

 private:
  static int Number(const std::vector<uint8_t>& bytes, int64_t first, int64_t i, int bits) {
    return bytes[static_cast<size_t>(first + i * bits / 8)] >> (i * bits % 8) & ((1 << bits) - 1);
  }
  void Add(const Case& c, int64_t row, int64_t column) {
    double sum = c.bias ? static_cast<double>(bias[static_cast<size_t>(column)]) : 0, size = 1;
    const int64_t column_bytes = c.blocks() * c.block * c.bits / 8;
    for (int64_t i = 0; i < c.k; ++i) {
      const int64_t group = c.groups ? groups[static_cast<size_t>(i)] : i / c.block;
      const auto at = static_cast<size_t>(column * c.blocks() + group);
      const double zero = c.zeros == Zeros::kNone     ? 1 << (c.bits - 1)
                          : c.zeros == Zeros::kPacked ? Number(zeros, column * c.zero_bytes(), group, c.bits)
                                                      : static_cast<double>(real_zeros[at]);
      const auto left = static_cast<double>(a[static_cast<size_t>(row * c.k + i)]);
      const auto scale = static_cast<double>(scales[at]);
      sum += left * (Number(numbers, column * column_bytes, i, c.bits) - zero) * scale;
      size += std::fabs(left) * (1 << c.bits) * scale;
    }
    expected.push_back(sum);
    // float16 results are rounded at the end. At accuracy level 4 the left side is rounded to bytes: to half of 1/127
    // of its largest number, which is at most 1.
    bound.push_back(size * (c.accuracy_level == 4 ? 0.01 : 1e-6) + (c.halves ? std::fabs(sum) * 1e-3 + 1e-3 : 0));
  }
};

template <typename T>
std::vector<T> As(const std::vector<float>& values) {
  return std::vector<T>(values.begin(), values.end());
}

template <typename T>
void RunAs(const Case& c, const Example& e, OpRunner& run) {
  const auto put = [&](const auto& values, const Shape& dims) {
    using V = typename std::decay_t<decltype(values)>::value_type;
    c.constant ? run.Constant<V>(dims, values) : run.Input<V>(dims, values);
  };
  run.Attribute("K", c.k).Attribute("N", c.n).Attribute("bits", c.bits).Attribute("block_size", c.block);
  if (c.accuracy_level != 0) run.Attribute("accuracy_level", c.accuracy_level);
  run.Input<T>({1, c.rows, c.k}, As<T>(e.a));
  put(e.numbers, {c.n, c.blocks(), c.block * c.bits / 8});
  put(As<T>(e.scales), {c.n, c.blocks()});
  switch (c.zeros) {
    case Zeros::kNone: run.NoInput(); break;
    case Zeros::kPacked: put(e.zeros, {c.n, c.zero_bytes()}); break;
    case Zeros::kFloats: put(As<T>(e.real_zeros), {c.n, c.blocks()}); break;
  }
  if (c.groups) {
    put(e.groups, {c.k});
  } else {
    run.NoInput();
  }
  if (c.bias) put(As<T>(e.bias), {c.n});
  run.Run();
}

void Check(const Case& c) {
  SCOPED_TRACE(testing::PrintToString(c));
  const Example e(c);
  OpRunner run("MatMulNBits", 1, "com.microsoft");
  std::vector<float> found;
  if (c.halves) {
    RunAs<kit::Float16>(c, e, run);
    for (const kit::Float16 value : run.Output<kit::Float16>(0)) found.push_back(static_cast<float>(value));
  } else {
    RunAs<float>(c, e, run);
    found = run.Output<float>(0);
  }
  EXPECT_EQ(run.Dims(0), (Shape{1, c.rows, c.n}));
  ASSERT_EQ(found.size(), e.expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], e.expected[i], e.bound[i])
        << "row " << i / static_cast<size_t>(c.n) << ", column " << i % static_cast<size_t>(c.n);
}

TEST(MatMulNBits, OfEveryWidthBlockAndZeroPoint) {
  for (const int bits : {2, 4, 8}) {
    for (const int64_t block : {16, 32, 64, 128, 256}) {
      for (const Zeros zeros : {Zeros::kNone, Zeros::kPacked, Zeros::kFloats}) {
        for (const int level : {0, 4}) {
          Check({.rows = 1, .k = 256, .n = 70, .block = block, .bits = bits, .zeros = zeros, .accuracy_level = level});
          // The last block isn't full, and the zero points of a column may end within a byte.
          Check({.rows = 3,
                 .k = 3 * block - 5,
                 .n = 5,
                 .block = block,
                 .bits = bits,
                 .zeros = zeros,
                 .accuracy_level = level});
        }
      }
    }
  }
}

TEST(MatMulNBits, OfManyRows) {
  for (const int64_t rows : {2, 11, 12, 24, 25, 193, 200}) {
    for (const int level : {0, 1, 4})
      Check(
          {.rows = rows, .k = 600, .n = 66, .block = 32, .bits = 4, .zeros = Zeros::kPacked, .accuracy_level = level});
  }
}

TEST(MatMulNBits, OfHalvesWithABias) {
  for (const int64_t rows : {1, 30}) {
    for (const Zeros zeros : {Zeros::kNone, Zeros::kPacked, Zeros::kFloats})
      Check({.rows = rows, .k = 70, .n = 66, .block = 16, .bits = 4, .zeros = zeros, .halves = true, .bias = true});
  }
}

TEST(MatMulNBits, OfAFewRowsOfALongBlock) {
  for (const int64_t rows : {1, 20}) Check({.rows = rows, .k = 20, .n = 3, .block = 1 << 20, .bits = 4});
}

TEST(MatMulNBits, OfWeightsThatAreNoConstants) {
  for (const int bits : {2, 4, 8})
    Check({.rows = 2, .k = 100, .n = 67, .block = 32, .bits = bits, .zeros = Zeros::kPacked, .constant = false});
}

TEST(MatMulNBits, OfGroupsInAnotherOrder) {
  for (const int bits : {2, 4, 8}) {
    for (const Zeros zeros : {Zeros::kNone, Zeros::kPacked}) {
      for (const bool constant : {true, false})
        Check({.rows = 14,
               .k = 100,
               .n = 67,
               .block = 32,
               .bits = bits,
               .zeros = zeros,
               .constant = constant,
               .groups = true});
      Check(
          {.rows = 1, .k = 50, .n = 3, .block = 16, .bits = bits, .zeros = zeros, .groups = true, .accuracy_level = 4});
    }
  }
}

// Weights of wrong types or shapes, as a model may have them.
TEST(MatMulNBits, SaysWhatDoesNotFit) {
  const auto run = [](const Case& c, Shape a, size_t numbers, size_t scales, size_t zeros,
                      std::vector<int32_t> groups) {
    OpRunner runner("MatMulNBits", 1, "com.microsoft");
    runner.Attribute("K", c.k).Attribute("N", c.n).Attribute("bits", c.bits).Attribute("block_size", c.block);
    int64_t count = 1;
    for (const int64_t dim : a) count *= dim;
    runner.Input<float>(a, std::vector<float>(static_cast<size_t>(count)));
    runner.Constant<uint8_t>({static_cast<int64_t>(numbers)}, std::vector<uint8_t>(numbers));
    runner.Constant<float>({static_cast<int64_t>(scales)}, std::vector<float>(scales));
    runner.Constant<uint8_t>({static_cast<int64_t>(zeros)}, std::vector<uint8_t>(zeros));
    if (!groups.empty()) runner.Constant<int32_t>({static_cast<int64_t>(groups.size())}, groups);
    runner.Run();
  };
  const Case fits{.rows = 1, .k = 40, .n = 3, .block = 16, .bits = 4};
  const auto with = [&](auto change) {
    Case c = fits;
    change(c);
    return c;
  };
  EXPECT_NO_THROW(run(fits, {1, 40}, 72, 9, 6, {}));
  const auto expect = [](const auto& action, const std::string& text) {
    EXPECT_THAT(action, ThrowsMessage<kit::Error>(HasSubstr(text)));
  };
  expect([&] { run(fits, {1, 41}, 72, 9, 6, {}); }, "A has shape [1,41], expected [..., 40]");
  expect([&] { run(fits, {}, 72, 9, 6, {}); }, "A has shape []");
  expect([&] { run(fits, {1, 40}, 71, 9, 6, {}); }, "B has shape [71], expected 72 elements");
  expect([&] { run(fits, {1, 40}, 72, 8, 6, {}); }, "scales has shape [8], expected 9 elements");
  expect([&] { run(fits, {1, 40}, 72, 9, 5, {}); }, "zero_points has shape [5], expected 6 elements");
  expect([&] { run(with([](Case& c) { c.bits = 3; }), {1, 40}, 72, 9, 6, {}); }, "weights of 3 bits");
  expect([&] { run(with([](Case& c) { c.block = 24; }), {1, 40}, 72, 9, 6, {}); }, "block_size is 24");
  expect([&] { run(with([](Case& c) { c.n = INT64_MAX / 2; }), {1, 40}, 72, 9, 6, {}); }, "");
  expect([&] { run(with([](Case& c) { c.k = 0; }), {1, 0}, 72, 9, 6, {}); }, "K is 0");
  std::vector<int32_t> groups(40, 0);
  EXPECT_NO_THROW(run(fits, {1, 40}, 72, 9, 6, groups));
  groups[7] = 3;
  expect([&] { run(fits, {1, 40}, 72, 9, 6, groups); }, "g_idx[7] is 3, expected a block from 0 to 2");
  groups[7] = -1;
  expect([&] { run(fits, {1, 40}, 72, 9, 6, groups); }, "g_idx[7] is -1");
  expect([&] { run(fits, {1, 40}, 72, 9, 6, {0, 1, 2}); }, "g_idx has shape [3], expected 48 elements");
}

std::string List(int64_t count, int low, int high, const std::string& step = "") {
  std::mt19937 random(7);
  std::string text = "[";
  for (int64_t i = 0; i < count; ++i) {
    const int number = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    text += (i == 0 ? "" : ", ") + (step.empty() ? std::to_string(number) : std::to_string(number * std::stod(step)));
  }
  return text + "]";
}

// Returns the text of a product with weights that ONNX's DequantizeLinear dequantizes by blocks.
std::string BlockedNetwork(const std::string& type, int low, int high, bool zeros, const std::string& product) {
  const bool transposed = product.find("transB") != std::string::npos;
  const std::string shape = transposed ? "[70,100]" : "[100,70]", blocks = transposed ? "[70,4]" : "[4,70]";
  return "in x: float[5,100]\nconst w: " + type + shape + " = " + List(7000, low, high) + "\nconst s: float" + blocks +
         " = " + List(280, 1, 40, "0.015625") + "\n" +
         (zeros ? "const z: " + type + blocks + " = " + List(280, low, high) + "\n" : "") +
         "d = DequantizeLinear@21<axis=" + (transposed ? "1" : "0") + ", block_size=32>(w, s" + (zeros ? ", z" : "") +
         ") : float" + shape + "\ny = " + product + "(x, d) : float[5,70]\nout y\n";
}

kit::ir::Graph GraphOf(const std::string& text) {
  kit::ir::Graph graph = kit::ir::FromText(text);
  kit::ir::Check(graph);
  graph.name = "partition";
  return graph;
}

TEST(MatMulNBits, TakesTheProductsOfWeightsThatAreWidenedByBlock) {
  std::vector<float> x(500);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  for (const auto& [type, low, high] :
       {std::tuple{"uint4", 0, 15}, {"int4", -8, 7}, {"uint8", 0, 255}, {"int8", -128, 127}}) {
    for (const bool zeros : {false, true}) {
      for (const std::string product : {"MatMul@13", "Gemm@13<transB=1>"}) {
        const std::string text = BlockedNetwork(type, low, high, zeros, product);
        SCOPED_TRACE(type + std::string(zeros ? " with zero points, " : ", ") + product);
        kit::ir::Graph graph = GraphOf(text);
        cpu::Fuse(graph, AllKernels());
        EXPECT_EQ(Operators(graph), "MatMulNBits");
        PlanRunner plain(GraphOf(text), false), fused(GraphOf(text), true);
        EXPECT_THAT(fused.Run({x}), Pointwise(FloatNear(2e-2f), plain.Run({x})));
      }
    }
  }
}

TEST(MatMulNBits, StaysPackedInAContext) {
  const std::string text = BlockedNetwork("uint4", 0, 15, true, "MatMul@13");
  const std::vector<float> x(500, 0.25f);
  PlanRunner original(GraphOf(text), true);
  std::string bytes;
  const cpu::Plan* plans[] = {&original.plan()};
  cpu::WriteContext(cpu::ContextKey::Here(1, "f32"), plans,
                    [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
  // 4 bits for each of 128 by 128 weights, a float and a byte for each block.
  EXPECT_LT(bytes.size(), 128u * 128 / 2 + 4 * 128 * 5 + 4096);
  const auto context = cpu::OpenContext(bytes.data(), bytes.size());
  kit::StoredGraph stored = kit::ReadGraph(*context, "partition", kit::GraphCheck::kLater);
  int dropped = 0;
  for (const kit::ir::Constant& constant : stored.graph.constants)
    dropped += constant.storage == kit::ir::Constant::Storage::kDropped;
  EXPECT_EQ(dropped, 3) << "numbers, scales and zero points";
  for (size_t i = 0; i < original.plan().packed().size(); ++i) {
    kit::StoredGraph damaged = kit::ReadGraph(*context, "partition", kit::GraphCheck::kLater);
    damaged.packed[i].bytes -= 64;
    EXPECT_THROW(PlanRunner(std::move(damaged.graph), false, std::move(damaged.packed), cpu::PlanOrigin::kContext),
                 kit::Error);
  }
  PlanRunner loaded(std::move(stored.graph), false, std::move(stored.packed), cpu::PlanOrigin::kContext);
  EXPECT_FALSE(loaded.plan().repacked());
  EXPECT_EQ(loaded.Run({x}), original.Run({x}));
}

}  // namespace
}  // namespace epiphyte::test
