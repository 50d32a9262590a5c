// RNN, GRU and LSTM with all attributes.
#include "tests/vulkan/ops/operator_harness.h"
#include "tests/vulkan/ops/product_models.h"

namespace epiphyte::test {
namespace {

struct Network {
  std::string op;
  int64_t gates;
  std::string attributes;
  int64_t directions = 1;
  bool batch_first = false;
  bool lengths = false;
  bool peepholes = false;
};

class Recurrent : public OperatorTest {
 protected:
  static constexpr int64_t kSteps = 5, kBatch = 3, kInput = 6, kHidden = 4;

  void Check(const Network& n) {
    SCOPED_TRACE(n.op + " <" + n.attributes + ">");
    const bool is_lstm = n.op == "LSTM";
    const int64_t d = n.directions;
    const std::vector<int64_t> x =
        n.batch_first ? std::vector<int64_t>{kBatch, kSteps, kInput} : std::vector<int64_t>{kSteps, kBatch, kInput};
    const std::vector<int64_t> state =
        n.batch_first ? std::vector<int64_t>{kBatch, d, kHidden} : std::vector<int64_t>{d, kBatch, kHidden};
    std::string inputs = "float" + ShapeName(x) + " x";
    std::string names = "x";
    std::vector<ValuePtr> values = {Scaled(x, 1)};
    const auto add = [&](const std::string& name, const std::vector<int64_t>& dims, bool there) {
      names += there ? ", " + name : ", ";
      if (!there) return;
      inputs += ", float" + ShapeName(dims) + " " + name;
      values.push_back(Scaled(dims, static_cast<uint32_t>(values.size() + 1)));
    };
    add("w", {d, n.gates * kHidden, kInput}, true);
    add("r", {d, n.gates * kHidden, kHidden}, true);
    add("b", {d, 2 * n.gates * kHidden}, true);
    if (n.lengths) {
      names += ", l";
      inputs += ", int32[3] l";
      values.push_back(Numbers(DataType::kInt32, {kBatch}, {5, 0, 2}));
    } else {
      names += ", ";
    }
    add("h", state, true);
    if (is_lstm) {
      add("c", state, true);
      add("p", {d, 3 * kHidden}, n.peepholes);
    }
    const std::string outputs = is_lstm ? "y, yh, yc" : "y, yh";
    ExpectLikeCpu("g (" + inputs + ") => (float[] y, float[] yh" + (is_lstm ? ", float[] yc" : "") + ") { " + outputs +
                      " = " + n.op + " <hidden_size = 4" + (n.attributes.empty() ? "" : ", ") + n.attributes + "> (" +
                      names + ") }",
                  values, {.opset = 14});
  }
};

TEST_F(Recurrent, Rnn) {
  Check({"RNN", 1, ""});
  Check({"RNN", 1, "direction = \"reverse\"", 1, false, true});
  Check({"RNN", 1,
         "direction = \"bidirectional\", activations = [\"Relu\", \"ScaledTanh\"], activation_alpha = [0.7], "
         "activation_beta = [0.9]",
         2});
  Check({"RNN", 1, "layout = 1, clip = 0.5", 1, true, true});
  for (const char* activation :
       {"Affine", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu", "Softsign", "Softplus"})
    Check({"RNN", 1, std::string("activations = [\"") + activation + "\"]"});
}

TEST_F(Recurrent, Gru) {
  for (const char* linear : {"0", "1"}) {
    const std::string attributes = std::string("linear_before_reset = ") + linear;
    Check({"GRU", 3, attributes});
    Check({"GRU", 3, attributes + ", direction = \"bidirectional\"", 2, false, true});
    Check({"GRU", 3, attributes + ", layout = 1, direction = \"reverse\"", 1, true, true});
  }
}

TEST_F(Recurrent, Lstm) {
  Check({"LSTM", 4, ""});
  Check({"LSTM", 4, "direction = \"bidirectional\"", 2, false, true, true});
  Check({"LSTM", 4, "layout = 1, direction = \"reverse\", clip = 0.3", 1, true, true, true});
  Check({"LSTM", 4, "input_forget = 1"});
  Check({"LSTM", 4, "activations = [\"HardSigmoid\", \"Softsign\", \"Relu\"], activation_alpha = [0.3]"});
}

TEST_F(Recurrent, AHiddenSizeThatNoWeightsHaveIsRefused) {
  EXPECT_THAT(FailureOf([&] {
                RunVulkan(
                    "g (float[5,3,6] x, float[1,4,6] w, float[1,4,4] r) => (float[] y) { "
                    "y = RNN<hidden_size = 5>(x, w, r) }",
                    {Scaled({5, 3, 6}, 1), Scaled({1, 4, 6}, 2), Scaled({1, 4, 4}, 3)}, {.opset = 14});
              }),
              ::testing::HasSubstr("hidden_size 5 found, 4 expected"));
}

}  // namespace
}  // namespace epiphyte::test
