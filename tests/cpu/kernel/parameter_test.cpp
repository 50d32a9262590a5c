// Inputs that are parameters must have the number of elements and the type that the operator defines. Otherwise the run
// fails and names the input: no elements, two elements where one is allowed, or strings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using cpu::Datum;
using testing::HasSubstr;

// An operator with valid inputs; `input` is the index of the parameter, `name` its name.
struct ParameterCase {
  std::string op_type;
  int64_t version;
  std::vector<Datum> inputs;
  size_t input;
  std::string name;
  std::vector<kit::ir::Attribute> attributes = {};
  std::string domain = "";
  size_t outputs = 1;
  std::string says = "";           // expected in the message; "" for `name`
  bool empty_is_left_out = false;  // a tensor without elements counts as an input that is left out

  std::string Failure(const Datum& parameter, bool constant) const {
    OpRunner runner(op_type, version, domain);
    runner.Outputs(outputs);
    for (const kit::ir::Attribute& attribute : attributes) runner.AddAttribute(attribute);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Datum& datum = i == input ? parameter : inputs[i];
      if (datum.kind == Datum::Kind::kAbsent)
        runner.NoInput();
      else
        runner.InputDatum(datum, constant && i == input);
    }
    return test::Failure(runner);
  }
  friend void PrintTo(const ParameterCase& test, std::ostream* out) { *out << test.op_type << ' ' << test.name; }
};

Datum Absent() { return Datum(); }
Datum Zeros(cpu::ElementType type, const Shape& dims) {
  Datum datum = MakeDatum(type, dims, nullptr);
  if (datum.tensor.Bytes() != 0) std::memset(datum.tensor.data, 0, datum.tensor.Bytes());
  return datum;
}
template <typename T>
Datum One(T value) {
  return MakeDatum<T>({}, {value});
}
template <typename T>
Datum Filled(const Shape& dims, T value) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return MakeDatum<T>(dims, std::vector<T>(static_cast<size_t>(count), value));
}

std::vector<ParameterCase> Cases() {
  std::vector<ParameterCase> cases;
  const auto add = [&](const ParameterCase& base, std::initializer_list<std::pair<size_t, const char*>> parameters) {
    for (const auto& [input, name] : parameters) {
      cases.push_back(base);
      cases.back().input = input;
      cases.back().name = name;
    }
  };
  const std::vector<Datum> conv = {Filled<uint8_t>({1, 1, 3, 3}, 1), Filled<uint8_t>({3, 1, 2, 2}, 1), One<uint8_t>(0),
                                   Filled<uint8_t>({3}, 0)};
  add({"ConvInteger", 10, conv, 0, ""}, {{2, "x_zero_point"}, {3, "w_zero_point"}});
  const std::vector<Datum> qlinear = {Filled<uint8_t>({1, 1, 3, 3}, 1),
                                      One<float>(1),
                                      One<uint8_t>(0),
                                      Filled<int8_t>({3, 1, 2, 2}, 1),
                                      Filled<float>({3}, 1),
                                      Filled<int8_t>({3}, 0),
                                      One<float>(1),
                                      One<uint8_t>(0)};
  add({"QLinearConv", 10, qlinear, 0, ""},
      {{1, "x_scale"}, {2, "x_zero_point"}, {4, "w_scale"}, {5, "w_zero_point"}, {6, "y_scale"}, {7, "y_zero_point"}});
  add({"MatMulInteger",
       10,
       {Filled<uint8_t>({3, 4}, 1), Filled<int8_t>({4, 5}, 1), One<uint8_t>(0), One<int8_t>(0)},
       0,
       ""},
      {{2, "a_zero_point"}, {3, "b_zero_point"}});
  const std::vector<Datum> product = {Filled<uint8_t>({3, 4}, 1),
                                      One<float>(1),
                                      One<uint8_t>(0),
                                      Filled<uint8_t>({4, 5}, 1),
                                      One<float>(1),
                                      One<uint8_t>(0),
                                      One<float>(1),
                                      One<uint8_t>(0)};
  add({"QLinearMatMul", 10, product, 0, ""},
      {{1, "a_scale"}, {2, "a_zero_point"}, {4, "b_scale"}, {5, "b_zero_point"}, {6, "y_scale"}, {7, "y_zero_point"}});
  for (const bool quantizes : {true, false}) {
    ParameterCase base{
        quantizes ? "QuantizeLinear" : "DequantizeLinear",
        13,
        {quantizes ? Filled<float>({2, 3}, 1) : Filled<uint8_t>({2, 3}, 1), One<float>(1), One<uint8_t>(0)},
        0,
        ""};
    base.says = "scale";
    add(base, {{1, "scale"}});
    base.says = "zero";
    add(base, {{2, "zero_point"}});
  }

  const Datum x = Filled<float>({3, 4}, 1);
  add({"Clip", 13, {x, One<float>(0), One<float>(1)}, 0, ""}, {{1, "min"}, {2, "max"}});
  add({"Pad", 13, {x, MakeDatum<int64_t>({4}, {1, 1, 1, 1}), One<float>(0)}, 0, ""}, {{2, "constant_value"}});
  add({"Range", 11, {One<float>(0), One<float>(3), One<float>(1)}, 0, ""}, {{1, "limit"}, {2, "delta"}});
  add({"OneHot", 11, {Filled<int64_t>({3}, 1), One<int64_t>(3), MakeDatum<float>({2}, {0, 1})}, 0, ""}, {{1, "depth"}});
  add({"TopK", 11, {x, One<int64_t>(1)}, 0, "", {}, "", 2}, {{1, "K"}});
  add({"CumSum", 14, {x, One<int64_t>(1)}, 0, ""}, {{1, "axis"}});
  add({"Dropout", 13, {x, One<float>(0.5f), One<bool>(true)}, 0, ""}, {{1, "ratio"}, {2, "training_mode"}});
  add({"Trilu", 14, {x, One<int64_t>(1)}, 0, ""}, {{1, "k"}});
  add({"Tile", 1, {x, One<float>(2), One<float>(1)}, 0, ""}, {{1, "tiles"}, {2, "axis"}});
  const Datum signal = Filled<float>({1, 8, 1}, 1);
  add({"DFT", 20, {signal, One<int64_t>(8), One<int64_t>(1)}, 0, ""}, {{1, "dft_length"}, {2, "axis"}});
  add({"STFT", 17, {signal, One<int64_t>(2), Absent(), One<int64_t>(4)}, 0, ""},
      {{1, "frame_step"}, {3, "frame_length"}});
  for (const char* window : {"HannWindow", "HammingWindow", "BlackmanWindow"})
    add({window, 17, {One<int64_t>(4)}, 0, ""}, {{0, "size"}});
  add({"MelWeightMatrix",
       17,
       {One<int64_t>(2), One<int64_t>(8), One<int64_t>(80), One<float>(1), One<float>(20)},
       0,
       ""},
      {{0, "num_mel_bins"}, {1, "dft_length"}, {2, "sample_rate"}, {3, "lower_edge_hertz"}, {4, "upper_edge_hertz"}});
  add({"NonMaxSuppression",
       11,
       {Filled<float>({1, 2, 4}, 1), Filled<float>({1, 1, 2}, 1), One<int64_t>(1), One<float>(0.5f), One<float>(0)},
       0,
       "",
       {},
       "",
       1,
       "",
       true},
      {{2, "max_output_boxes_per_class"}, {3, "iou_threshold"}, {4, "score_threshold"}});
  const Datum sequence = MakeSequence(EP_TYPE_FLOAT, {x, x, x});
  add({"SequenceAt", 11, {sequence, One<int64_t>(1)}, 0, ""}, {{1, "position"}});
  add({"SequenceErase", 11, {sequence, One<int64_t>(1)}, 0, ""}, {{1, "position"}});
  add({"SequenceInsert", 11, {sequence, x, One<int64_t>(1)}, 0, ""}, {{2, "position"}});
  const kit::ir::Attribute norm = {.name = "norm_coefficient", .type = EP_ATTRIBUTE_FLOAT, .floats = {0.1f}};
  add({"Adagrad", 1, {One<float>(1), One<int64_t>(0), x, x, x}, 0, "", {norm}, "ai.onnx.preview.training", 2},
      {{0, "R"}, {1, "T"}});
  return cases;
}

class ParameterOf : public testing::TestWithParam<ParameterCase> {
 protected:
  // The parameter is refused by the kernel, or by the operator's signature if that is strict enough.
  void ExpectRefused(const Datum& parameter) {
    const ParameterCase& test = GetParam();
    for (const bool constant : {false, true}) {
      const std::string failure = test.Failure(parameter, constant);
      EXPECT_THAT(failure, HasSubstr(test.says.empty() ? test.name : test.says));
      if (test.says.empty()) {
        EXPECT_THAT(failure, HasSubstr(fmt::format("input {} (", test.input)));
      }
    }
  }
  cpu::ElementType type() const { return GetParam().inputs[GetParam().input].tensor.type; }
};

TEST_P(ParameterOf, FitsInTheFirstPlace) {
  const ParameterCase& test = GetParam();
  EXPECT_EQ(test.Failure(test.inputs[test.input], false), "");
  EXPECT_EQ(test.Failure(test.inputs[test.input], true), "");
}
TEST_P(ParameterOf, WithoutElementsIsRefusedOrLeftOut) {
  if (GetParam().empty_is_left_out) {
    EXPECT_EQ(GetParam().Failure(Zeros(type(), {0}), false), "");
    EXPECT_EQ(GetParam().Failure(Zeros(type(), {0}), true), "");
    return;
  }
  ExpectRefused(Zeros(type(), {0}));
  ExpectRefused(Zeros(type(), {2, 0}));
}
TEST_P(ParameterOf, WithTwoElementsIsRefused) { ExpectRefused(Zeros(type(), {2})); }
TEST_P(ParameterOf, OfTextIsRefused) {
  const std::string failure = GetParam().Failure(MakeDatum<std::string>({}, {"x"}), false);
  EXPECT_THAT(failure, HasSubstr("string"));
}

INSTANTIATE_TEST_SUITE_P(Cpu, ParameterOf, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.op_type + "_" + info.param.name; });

TEST(OneHot, ValuesAreOffAndOn) {
  for (int64_t count : {0, 1, 3}) {
    OpRunner runner("OneHot", 11);
    runner.Input<int64_t>({3}, {0, 1, 2}).Input<int64_t>({}, {3}).InputDatum(Zeros(EP_TYPE_FLOAT, {count}));
    EXPECT_THAT(Failure(runner), HasSubstr("off and on expected")) << count;
  }
}

TEST(Range, EveryInputHasTheTypeOfTheFirst) {
  OpRunner runner("Range", 11);
  runner.Input<float>({}, {0}).Input<double>({}, {3}).Input<float>({}, {1});
  EXPECT_THAT(Failure(runner),
              testing::AllOf(HasSubstr("input 1 ("), HasSubstr("double"), HasSubstr("float expected")));
}

TEST(QLinearMatMul, ScalesOfRowsAndColumnsFitBoth) {
  OpRunner runner("QLinearMatMul", 10);
  runner.Input<uint8_t>({2, 1}, {2, 4}).Input<float>({2}, {1, 0.5f}).Input<uint8_t>({2}, {0, 2});
  runner.Input<uint8_t>({1, 3}, {1, 2, 3}).Input<float>({3}, {1, 1, 2}).Input<uint8_t>({3}, {0, 0, 1});
  runner.Input<float>({}, {1}).Input<uint8_t>({}, {0});
  runner.Run();
  EXPECT_THAT(runner.Output<uint8_t>(0), testing::ElementsAre(2, 4, 8, 1, 2, 4));
}

TEST(QuantizeLinear, TheZeroPointLiesAsTheScaleDoes) {
  for (const char* op_type : {"QuantizeLinear", "DequantizeLinear"}) {
    OpRunner runner(op_type, 21);
    runner.Attribute("axis", 1).Attribute("block_size", 2);
    if (std::string(op_type) == "QuantizeLinear")
      runner.Input<float>({2, 6}, std::vector<float>(12, 1));
    else
      runner.Input<uint8_t>({2, 6}, std::vector<uint8_t>(12, 1));
    runner.Input<float>({2, 3}, std::vector<float>(6, 1)).Input<uint8_t>({3, 2}, std::vector<uint8_t>(6, 0));
    EXPECT_THAT(Failure(runner), HasSubstr("zero point has shape [3,2]")) << op_type;
  }
}

}  // namespace
}  // namespace epiphyte::test
