// Reductions over any axes and any length; ArgMax, ArgMin, CumSum and TopK on long lines and on ties.
#include "tests/vulkan/ops/one_node.h"

namespace epiphyte::test {
namespace {

class Reductions : public NodeTest {};

constexpr const char* kReductions[] = {"ReduceSum",       "ReduceMean", "ReduceMax",    "ReduceMin", "ReduceL1",
                                       "ReduceSumSquare", "ReduceL2",   "ReduceLogSumExp"};

std::string Axes(const std::vector<int64_t>& axes) {
  std::string text = "int64[" + std::to_string(axes.size()) + "] = {";
  for (size_t i = 0; i < axes.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(axes[i]);
  return text + "}";
}

TEST_F(Reductions, ReductionsOverAnyAxes) {
  for (const std::string op : kReductions) {
    for (const std::vector<int64_t>& axes :
         {std::vector<int64_t>{0}, {1}, {2}, {3}, {0, 2}, {1, 3}, {1, 2}, {0, 1, 2, 3}, {-1, 0}})
      ExpectLikeCpu({.op = op, .inputs = {{3, 4, 5, 2}}, .others = {Axes(axes)}, .opset = 18});
  }
}

TEST_F(Reductions, ReductionsOfAllAndOfNothing) {
  for (const std::string op : kReductions) {
    ExpectLikeCpu({.op = op + " <keepdims=0>", .inputs = {{3, 4, 5}}, .opset = 18});
    ExpectLikeCpu({.op = op + " <noop_with_empty_axes=1>", .inputs = {{3, 4, 5}}, .opset = 18});
  }
  ExpectLikeCpu({.op = "ReduceSum", .inputs = {{2, 0, 3}}, .others = {Axes({1})}, .opset = 18});
  ExpectLikeCpu({.op = "ReduceProd", .inputs = {{2, 0, 3}}, .others = {Axes({1})}, .opset = 18});
}

TEST_F(Reductions, KeepingDimensionsOrNotIsSaidByZeroOrOne) {
  for (const char* op : {"ReduceSum", "ReduceLogSumExp", "ArgMax"}) {
    EXPECT_THAT(FailureOf([&] {
                  RunVulkan(std::string("g (float[A,B] x) => (") + (op[0] == 'A' ? "int64" : "float") +
                                "[] y) { y = " + op + "<keepdims=2>(x) }",
                            {Random(DataType::kFloat, {2, 3})});
                }),
                ::testing::HasSubstr("keepdims 2 found, 0 or 1 expected"))
        << op;
  }
}

// The reductions are so few and so long that several invocations share each.
TEST_F(Reductions, LongReductions) {
  for (const std::string op : kReductions) {
    ExpectLikeCpu({.op = op, .inputs = {{3, 2000}}, .others = {Axes({1})}, .opset = 18});
    ExpectLikeCpu({.op = op, .inputs = {{700, 3}}, .others = {Axes({0})}, .opset = 18});
    ExpectLikeCpu({.op = op, .inputs = {{30, 2, 50}}, .others = {Axes({0, 2})}, .opset = 18});
  }
}

TEST_F(Reductions, ReductionsWithAxesAsAttribute) {
  ExpectLikeCpu({.op = "ReduceSum <axes=[0,2], keepdims=0>", .inputs = {{3, 4, 5}}, .opset = 11});
  ExpectLikeCpu({.op = "ReduceMean <axes=[-1]>", .inputs = {{3, 4, 5}}, .opset = 13});
  ExpectLikeCpu({.op = "ReduceLogSumExp", .inputs = {{3, 4, 5}}, .opset = 13});
}

TEST_F(Reductions, ReductionsInHalfPrecision) {
  for (const std::string op : kReductions)
    ExpectLikeCpu({.op = op, .inputs = {{3, 700}}, .others = {Axes({1})}, .opset = 18, .type = DataType::kFloat16});
}

TEST_F(Reductions, ReductionsOfIntegers) {
  for (const char* type : {"int32", "int64"}) {
    for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceSumSquare"}) {
      SCOPED_TRACE(std::string(op) + " of " + type);
      ExpectLikeCpu(std::string("g (float[5,300] x) => (") + type +
                      R"([5,1] y) < int64[1] axes = {1}, float[1] hundred = {100.0} > {
        large = Mul (x, hundred)
        i = Cast <to=)" + (std::string_view(type) == "int32" ? "6" : "7") + "> (large)\n  y = " + op + " (i, axes)\n}",
                  {Random(DataType::kFloat, {5, 300}, 3)});
    }
  }
}

TEST_F(Reductions, ArgMaxAndArgMin) {
  for (const std::string op : {"ArgMax", "ArgMin"}) {
    for (const char* axis : {"0", "1", "-1"}) {
      const auto model = [&](const std::string& attributes, const std::string& dims) {
        return "g (float[" + dims + "] x) => (int64[] y) {\n  y = " + op +
               " <axis=" + axis + attributes + "> (x)\n}";
      };
      ExpectLikeCpu(model("", "3,4,5"), {Random(DataType::kFloat, {3, 4, 5}, 1)});
      ExpectLikeCpu(model(", keepdims=0", "2,700,3"), {Random(DataType::kFloat, {2, 700, 3}, 2)});
      // Ties select the first or the last index.
      const ValuePtr zeros = Floats({2, 300, 2}, std::vector<float>(1200, 0));
      ExpectLikeCpu(model("", "2,300,2"), {zeros});
      ExpectLikeCpu(model(", select_last_index=1", "2,300,2"), {zeros});
    }
  }
}

TEST_F(Reductions, CumSumInEachDirection) {
  for (const char* attributes : {"", "<exclusive=1>", "<reverse=1>", "<exclusive=1, reverse=1>"})
    for (const char* axis : {"int64 = {0}", "int64 = {1}", "int32 = {-1}"})
      ExpectLikeCpu({.op = std::string("CumSum ") + attributes, .inputs = {{3, 4, 5}}, .others = {axis}});
}

TEST_F(Reductions, TopKOfShortAndLongLines) {
  for (const char* largest : {"0", "1"}) {
    const auto op = [&](const char* axis) {
      return std::string("TopK <axis=") + axis + ", largest=" + largest + ">";
    };
    ExpectLikeCpu({.op = op("1"), .inputs = {{3, 40, 2}}, .others = {"int64[1] = {7}"}, .outputs = 2});
    ExpectLikeCpu({.op = op("-1"), .inputs = {{2, 1024}}, .others = {"int64[1] = {1024}"}, .outputs = 2});
    ExpectLikeCpu({.op = op("1"), .inputs = {{2, 1500, 2}}, .others = {"int64[1] = {5}"}, .outputs = 2});
    ExpectLikeCpu({.op = op("0"), .inputs = {{1100}}, .others = {"int64[1] = {1100}"}, .outputs = 2});
  }
}

TEST_F(Reductions, TopKOfEqualElements) {
  for (const int64_t size : {int64_t{50}, int64_t{1200}}) {
    const std::string dims = std::to_string(size);
    ExpectLikeCpu("g (float[" + dims +
                    "] x) => (float[] v, int64[] i) <int64[1] k = {40}> {\n  v, i = TopK (x, k)\n}",
                {Floats({size}, std::vector<float>(static_cast<size_t>(size), 0.5f))});
  }
}

}  // namespace
}  // namespace epiphyte::test
