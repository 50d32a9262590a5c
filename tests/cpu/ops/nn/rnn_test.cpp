// RNN, GRU and LSTM, compared with ONNX's equations written out for one sequence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/cpu/kernel_harness.h"
#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using testing::FloatNear;
using testing::Pointwise;

using Function = std::function<double(double)>;
const Function kSigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
const Function kTanh = [](double x) { return std::tanh(x); };

struct CellSizes {
  int64_t steps = 5, batch = 3, input = 4, hidden = 6;
};

struct Case {
  std::string op = "LSTM";
  CellSizes sizes;
  std::string direction = "forward";
  bool batch_first = false, linear_before_reset = false, input_forget = false;
  bool biases = true, initial = true, peepholes = false, constant = true;
  std::vector<int32_t> lengths;  // number of steps of each sequence; empty: all steps
  float clip = 0;
  std::vector<std::string> activations;
  std::vector<float> alpha, beta;
  float recurrent = 0.6f;           // recurrence weights are between -recurrent and recurrent
  std::vector<Function> functions;  // the functions of `activations`, for all directions; empty: the defaults

  int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

// Values from -limit to limit; the sequence repeats late.
std::vector<float> Noise(int64_t count, float limit, int64_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(limit * static_cast<float>(std::sin(1.7 * (i + 1) * (seed + 1))));
  return values;
}

struct Data {
  explicit Data(const Case& c) {
    const auto [steps, batch, input, hidden] = c.sizes;
    const int64_t d = c.directions(), g = c.gates() * hidden;
    x = Noise(steps * batch * input, 1, 1);
    w = Noise(d * g * input, 0.7f, 2);
    r = Noise(d * g * hidden, c.recurrent, 3);
    b = Noise(d * 2 * g, 0.5f, 4);
    h = Noise(d * batch * hidden, 0.8f, 5);
    cell = Noise(d * batch * hidden, 0.9f, 6);
    p = Noise(d * 3 * hidden, 0.7f, 7);
  }
  std::vector<float> x, w, r, b, h, cell, p;
};

struct Expected {
  std::vector<float> y, y_h, y_c;
};

Expected ByDefinition(const Case& c, const Data& data) {
  const int64_t steps = c.sizes.steps, batch = c.sizes.batch, input = c.sizes.input, hidden = c.sizes.hidden;
  const int64_t directions = c.directions(), gates = c.gates();
  const size_t each = c.op == "LSTM" ? 3 : c.op == "GRU" ? 2 : 1;
  std::vector<Function> functions = c.functions;
  for (int64_t d = 0; functions.size() < each * static_cast<size_t>(directions); ++d) {
    if (c.op != "RNN") functions.push_back(kSigmoid);
    functions.push_back(kTanh);
    if (c.op == "LSTM") functions.push_back(kTanh);
  }
  Expected expected;
  expected.y.assign(static_cast<size_t>(steps * directions * batch * hidden), 0.0f);
  expected.y_h.assign(static_cast<size_t>(directions * batch * hidden), 0.0f);
  expected.y_c = expected.y_h;
  for (int64_t d = 0; d < directions; ++d) {
    const Function* f = &functions[static_cast<size_t>(d) * each];
    const auto squash = [&](const Function& function, double x) {
      return function(c.clip > 0 ? std::clamp<double>(x, -c.clip, c.clip) : x);
    };
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t length = c.lengths.empty() ? steps : c.lengths[static_cast<size_t>(n)];
      const int64_t state = (c.batch_first ? n * directions + d : d * batch + n) * hidden;
      std::vector<double> h(static_cast<size_t>(hidden)), cell(static_cast<size_t>(hidden));
      for (int64_t i = 0; i < hidden && c.initial; ++i) {
        h[static_cast<size_t>(i)] = data.h[static_cast<size_t>(state + i)];
        cell[static_cast<size_t>(i)] = data.cell[static_cast<size_t>(state + i)];
      }
      for (int64_t s = 0; s < length; ++s) {
        const bool reversed = c.direction == "reverse" || d == 1;
        const int64_t t = reversed ? length - 1 - s : s;
        // The input's and the state's contribution to a gate, each with its bias.
        const auto from_input = [&](int64_t gate, int64_t i) {
          const int64_t row = (d * gates + gate) * hidden + i;
          double sum = c.biases ? data.b[static_cast<size_t>((2 * d * gates + gate) * hidden + i)] : 0;
          const int64_t at = (c.batch_first ? n * steps + t : t * batch + n) * input;
          for (int64_t k = 0; k < input; ++k)
            sum +=
                static_cast<double>(data.x[static_cast<size_t>(at + k)]) * data.w[static_cast<size_t>(row * input + k)];
          return sum;
        };
        const auto from_state = [&](int64_t gate, int64_t i, const std::vector<double>& from) {
          const int64_t row = (d * gates + gate) * hidden + i;
          double sum = c.biases ? data.b[static_cast<size_t>(((2 * d + 1) * gates + gate) * hidden + i)] : 0;
          for (int64_t k = 0; k < hidden; ++k)
            sum += from[static_cast<size_t>(k)] * data.r[static_cast<size_t>(row * hidden + k)];
          return sum;
        };
        const auto gate = [&](int64_t which, int64_t i) { return from_input(which, i) + from_state(which, i, h); };
        std::vector<double> next_h(h.size()), next_cell(cell.size()), reset_h(h.size());
        if (c.op == "GRU") {
          for (int64_t i = 0; i < hidden; ++i)
            reset_h[static_cast<size_t>(i)] = squash(f[0], gate(1, i)) * h[static_cast<size_t>(i)];
        }
        for (int64_t i = 0; i < hidden; ++i) {
          const auto at = static_cast<size_t>(i);
          if (c.op == "RNN") {
            next_h[at] = squash(f[0], gate(0, i));
          } else if (c.op == "GRU") {
            const double z = squash(f[0], gate(0, i));
            const double candidate =
                c.linear_before_reset ? squash(f[1], from_input(2, i) + squash(f[0], gate(1, i)) * from_state(2, i, h))
                                      : squash(f[1], from_input(2, i) + from_state(2, i, reset_h));
            next_h[at] = (1 - z) * candidate + z * h[at];
          } else {
            const auto peep = [&](int64_t which, double value) {
              return c.peepholes ? data.p[static_cast<size_t>((d * 3 + which) * hidden + i)] * value : 0.0;
            };
            const double in = squash(f[0], gate(0, i) + peep(0, cell[at]));
            const double forget = c.input_forget ? 1 - in : squash(f[0], gate(2, i) + peep(2, cell[at]));
            next_cell[at] = forget * cell[at] + in * squash(f[1], gate(3, i));
            next_h[at] = squash(f[0], gate(1, i) + peep(1, next_cell[at])) * f[2](next_cell[at]);
          }
        }
        h = next_h;
        cell = next_cell;
        const int64_t y =
            (c.batch_first ? (n * steps + t) * directions + d : (t * directions + d) * batch + n) * hidden;
        for (int64_t i = 0; i < hidden; ++i)
          expected.y[static_cast<size_t>(y + i)] = static_cast<float>(h[static_cast<size_t>(i)]);
      }
      for (int64_t i = 0; i < hidden && length > 0; ++i) {
        expected.y_h[static_cast<size_t>(state + i)] = static_cast<float>(h[static_cast<size_t>(i)]);
        expected.y_c[static_cast<size_t>(state + i)] = static_cast<float>(cell[static_cast<size_t>(i)]);
      }
    }
  }
  return expected;
}

OpRunner MakeRunner(const Case& c, const Data& data) {
  const auto [steps, batch, input, hidden] = c.sizes;
  const int64_t d = c.directions(), g = c.gates() * hidden;
  OpRunner rnn(c.op, 14);
  rnn.Attribute("hidden_size", hidden).Attribute("direction", c.direction);
  if (c.batch_first) rnn.Attribute("layout", 1);
  if (c.linear_before_reset) rnn.Attribute("linear_before_reset", 1);
  if (c.input_forget) rnn.Attribute("input_forget", 1);
  if (c.clip > 0) rnn.Attribute("clip", c.clip);
  if (!c.activations.empty()) rnn.Attribute("activations", c.activations);
  if (!c.alpha.empty()) rnn.Attribute("activation_alpha", c.alpha);
  if (!c.beta.empty()) rnn.Attribute("activation_beta", c.beta);
  rnn.Input<float>(c.batch_first ? Shape{batch, steps, input} : Shape{steps, batch, input}, data.x);
  if (c.constant) {
    rnn.Constant<float>({d, g, input}, data.w).Constant<float>({d, g, hidden}, data.r);
  } else {
    rnn.Input<float>({d, g, input}, data.w).Input<float>({d, g, hidden}, data.r);
  }
  const auto optional = [&](bool present, const Shape& dims, const std::vector<float>& values) {
    if (present) {
      rnn.Input<float>(dims, values);
    } else {
      rnn.NoInput();
    }
  };
  optional(c.biases, {d, 2 * g}, data.b);
  if (c.lengths.empty()) {
    rnn.NoInput();
  } else {
    rnn.Input<int32_t>({batch}, c.lengths);
  }
  const Shape state = c.batch_first ? Shape{batch, d, hidden} : Shape{d, batch, hidden};
  optional(c.initial, state, data.h);
  if (c.op == "LSTM") {
    optional(c.initial, state, data.cell);
    optional(c.peepholes, {d, 3 * hidden}, data.p);
  }
  rnn.Outputs(c.op == "LSTM" ? 3 : 2);
  return rnn;
}

void ExpectOutputs(const OpRunner& rnn, const Case& c, const Data& data) {
  const Expected expected = ByDefinition(c, data);
  EXPECT_THAT(rnn.Output<float>(0), Pointwise(FloatNear(2e-5f), expected.y));
  EXPECT_THAT(rnn.Output<float>(1), Pointwise(FloatNear(2e-5f), expected.y_h));
  if (c.op != "LSTM") return;
  EXPECT_THAT(rnn.Output<float>(2), Pointwise(FloatNear(2e-5f), expected.y_c));
}

void ExpectByDefinition(const Case& c) {
  const Data data(c);
  OpRunner rnn = MakeRunner(c, data);
  rnn.Run();
  for (int round = 0; round < 2; ++round, rnn.RunAgain()) ExpectOutputs(rnn, c, data);
}

class EveryCell : public testing::TestWithParam<std::string> {
 protected:
  // Checks this test's operator in every direction and both layouts, with constant and with computed weights.
  void ExpectEverywhere(Case c) {
    c.op = GetParam();
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (int variant = 0; variant < 4; ++variant) {
        SCOPED_TRACE(fmt::format("{} variant {}", direction, variant));
        c.direction = direction;
        c.batch_first = variant % 2 == 1;
        c.constant = variant < 2;
        ExpectByDefinition(c);
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Rnn, EveryCell, testing::Values("RNN", "GRU", "LSTM"),
                         [](const auto& info) { return info.param; });

TEST_P(EveryCell, DirectionsAndLayouts) { ExpectEverywhere({}); }

TEST_P(EveryCell, WithoutBiasesAndInitialState) { ExpectEverywhere({.biases = false, .initial = false}); }

TEST_P(EveryCell, SequencesOfDifferentLengthsEndWithZeros) { ExpectEverywhere({.lengths = {2, 5, 1}}); }

TEST_P(EveryCell, ClipBoundsWhatActivationsGet) { ExpectEverywhere({.clip = 0.3f}); }

TEST_P(EveryCell, SizesThatFillNoVector) {
  ExpectEverywhere({.sizes = {.steps = 3, .batch = 1, .input = 1, .hidden = 1}});
  ExpectEverywhere({.sizes = {.steps = 2, .batch = 7, .input = 19, .hidden = 37}});
}

// Threads share the hidden values of a step: with one sequence and with several, with weights larger than a cache, in
// whole panels of columns (384) and in others (389).
TEST_P(EveryCell, StepsThatAreWorthSharing) {
  for (const int64_t hidden : {384, 389}) {
    for (const char* direction : {"forward", "reverse"}) {
      SCOPED_TRACE(fmt::format("{} {}", hidden, direction));
      Case c{.op = GetParam(), .sizes = {.steps = 4, .batch = 1, .input = 3, .hidden = hidden}, .direction = direction};
      c.recurrent = 0.04f;
      ExpectByDefinition(c);
      c.sizes.batch = 5;
      c.batch_first = true;
      c.lengths = {4, 1, 3, 0, 2};
      ExpectByDefinition(c);
      c.linear_before_reset = c.op == "GRU";
      c.peepholes = c.op == "LSTM";
      ExpectByDefinition(c);
    }
  }
}

TEST_P(EveryCell, WithoutStepsThereIsNoSequence) {
  const Case c{.op = GetParam(), .sizes = {.steps = 0}};
  OpRunner rnn = MakeRunner(c, Data(c));
  rnn.Run();
  EXPECT_EQ(rnn.Dims(0), (Shape{0, 1, 3, 6}));
  EXPECT_EQ(rnn.Dims(1), (Shape{1, 3, 6}));
}

TEST_P(EveryCell, OutputsMayBeLeftOut) {
  const Case c{.op = GetParam(), .direction = "bidirectional", .lengths = {5, 1, 4}};
  const Data data(c);
  const Expected expected = ByDefinition(c, data);
  OpRunner last = MakeRunner(c, data);
  last.NoOutput(0).Run();
  EXPECT_THAT(last.Output<float>(1), Pointwise(FloatNear(2e-5f), expected.y_h));
  OpRunner all = MakeRunner(c, data);
  all.NoOutput(1).Run();
  EXPECT_THAT(all.Output<float>(0), Pointwise(FloatNear(2e-5f), expected.y));
}

TEST_P(EveryCell, OtherShapesInTheNextRun) {
  for (const bool constant : {false, true}) {
    SCOPED_TRACE(constant);
    Case c{.op = GetParam()};
    c.constant = constant;
    OpRunner rnn = MakeRunner(c, Data(c));
    rnn.Run();
    const int64_t shapes[][2] = {{c.sizes.steps, 1}, {9, 1}, {2, 4}, {c.sizes.steps, c.sizes.batch}};
    for (const auto& [steps, batch] : shapes) {
      SCOPED_TRACE(fmt::format("{} steps, {} sequences", steps, batch));
      c.sizes.steps = steps;
      c.sizes.batch = batch;
      const Data data(c);  // the weights are the same for every shape
      rnn.RunAgainOn(MakeRunner(c, data));
      ExpectOutputs(rnn, c, data);
    }
  }
}

TEST_P(EveryCell, RefusesShapesThatDoNotFit) {
  const Case c{.op = GetParam()};
  const auto failure = [&](const std::function<void(Case&, Data&)>& change) {
    Case bad = c;
    Data data(bad);
    change(bad, data);
    OpRunner rnn = MakeRunner(bad, data);
    return Failure(rnn);
  };
  EXPECT_EQ(failure([](Case&, Data&) {}), "");
  EXPECT_NE(failure([](Case& bad, Data&) { bad.lengths = {1, 2, 6}; }), "");
  EXPECT_NE(failure([](Case& bad, Data&) { bad.lengths = {1, -1, 5}; }), "");
  EXPECT_NE(failure([](Case& bad, Data&) { bad.direction = "sideways"; }), "");
  EXPECT_NE(failure([](Case& bad, Data&) { bad.activations = {"Tanh", "Tanh", "Tanh", "Tanh"}; }), "");
  EXPECT_NE(failure([](Case& bad, Data&) {
              bad.activations.assign(bad.op == "LSTM" ? 3 : bad.op == "GRU" ? 2 : 1, "Swirl");
            }),
            "");

  // One shape at a time contradicts the others.
  const int64_t g = c.gates() * 6;
  const auto shapes = [&](const Shape& x, const Shape& w, const Shape& r, const Shape& b, const Shape& h) {
    OpRunner rnn(c.op, 14);
    for (const Shape* dims : {&x, &w, &r, &b}) {
      int64_t count = 1;
      for (int64_t dim : *dims) count *= dim;
      rnn.Input<float>(*dims, Counting<float>(count));
    }
    int64_t count = 1;
    for (int64_t dim : h) count *= dim;
    rnn.NoInput().Input<float>(h, Counting<float>(count)).Outputs(2);
    return Failure(rnn);
  };
  EXPECT_EQ(shapes({5, 3, 4}, {1, g, 4}, {1, g, 6}, {1, 2 * g}, {1, 3, 6}), "");
  for (const int64_t told : {int64_t{0}, int64_t{5}, INT64_MAX}) {
    OpRunner rnn(c.op, 14);
    rnn.Attribute("hidden_size", told).Input<float>({5, 3, 4}, Counting<float>(60));
    rnn.Input<float>({1, g, 4}, Counting<float>(g * 4)).Input<float>({1, g, 6}, Counting<float>(g * 6));
    EXPECT_THAT(Failure(rnn), testing::HasSubstr("hidden_size " + std::to_string(told) + " found, 6 expected"));
  }
  EXPECT_NE(shapes({5, 3}, {1, g, 4}, {1, g, 6}, {1, 2 * g}, {1, 3, 6}), "");
  EXPECT_NE(shapes({5, 3, 5}, {1, g, 4}, {1, g, 6}, {1, 2 * g}, {1, 3, 6}), "");
  EXPECT_NE(shapes({5, 3, 4}, {1, g, 4, 1}, {1, g, 6}, {1, 2 * g}, {1, 3, 6}), "");
  EXPECT_NE(shapes({5, 3, 4}, {2, g, 4}, {2, g, 6}, {2, 2 * g}, {2, 3, 6}), "");
  EXPECT_NE(shapes({5, 3, 4}, {1, g, 4}, {1, g, 5}, {1, 2 * g}, {1, 3, 6}), "");
  EXPECT_NE(shapes({5, 3, 4}, {1, g, 4}, {1, g, 6}, {1, g}, {1, 3, 6}), "");
  EXPECT_NE(shapes({5, 3, 4}, {1, g, 4}, {1, g, 6}, {1, 2 * g}, {1, 2, 6}), "");
}

TEST(Gru, LinearBeforeReset) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    ExpectByDefinition({.op = "GRU", .direction = direction, .linear_before_reset = true});
    ExpectByDefinition({.op = "GRU", .direction = direction, .linear_before_reset = true, .biases = false});
    ExpectByDefinition(
        {.op = "GRU", .direction = direction, .linear_before_reset = true, .constant = false, .lengths = {5, 2, 3}});
  }
}

TEST(Lstm, PeepholesAndCoupledGates) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    ExpectByDefinition({.direction = direction, .peepholes = true});
    ExpectByDefinition({.direction = direction, .input_forget = true});
    ExpectByDefinition(
        {.direction = direction, .batch_first = true, .input_forget = true, .peepholes = true, .lengths = {4, 5, 2}});
  }
}

TEST(Rnn, EveryActivation) {
  const struct {
    const char* name;
    std::vector<float> alpha, beta;
    Function function;
  } kActivations[] = {
      {"relu", {}, {}, [](double x) { return std::max(x, 0.0); }},
      {"Sigmoid", {}, {}, kSigmoid},
      {"TANH", {}, {}, kTanh},
      {"Affine", {0.5f}, {0.25f}, [](double x) { return 0.5 * x + 0.25; }},
      {"LeakyRelu", {}, {}, [](double x) { return x < 0 ? 0.01 * x : x; }},
      {"LeakyRelu", {0.3f}, {}, [](double x) { return x < 0 ? static_cast<double>(0.3f) * x : x; }},
      {"ThresholdedRelu", {0.5f}, {}, [](double x) { return x > 0.5 ? x : 0; }},
      {"ScaledTanh", {0.5f}, {2.0f}, [](double x) { return 0.5 * std::tanh(2 * x); }},
      {"HardSigmoid", {}, {}, [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"HardSigmoid", {0.5f}, {0.25f}, [](double x) { return std::clamp(0.5 * x + 0.25, 0.0, 1.0); }},
      {"Elu", {0.5f}, {}, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }},
      {"Softsign", {}, {}, [](double x) { return x / (1 + std::fabs(x)); }},
      {"Softplus", {}, {}, [](double x) { return std::log1p(std::exp(x)); }},
  };
  for (const auto& activation : kActivations) {
    SCOPED_TRACE(activation.name);
    ExpectByDefinition({.op = "RNN",
                        .activations = {activation.name},
                        .alpha = activation.alpha,
                        .beta = activation.beta,
                        .functions = {activation.function}});
  }
}

TEST(Lstm, OnlyActivationsWithParametersTakeThem) {
  // Sigmoid and Tanh take no parameters. The first alpha and beta are HardSigmoid's, the second alpha is LeakyRelu's.
  const Function hard = [](double x) { return std::clamp(0.4 * x + 0.3, 0.0, 1.0); };
  const Function leaky = [](double x) { return x < 0 ? 0.25 * x : x; };
  ExpectByDefinition({.direction = "bidirectional",
                      .activations = {"Sigmoid", "Tanh", "Tanh", "HardSigmoid", "LeakyRelu", "Tanh"},
                      .alpha = {0.4f, 0.25f},
                      .beta = {0.3f},
                      .functions = {kSigmoid, kTanh, kTanh, hard, leaky, kTanh}});
}

}  // namespace
}  // namespace epiphyte::test
