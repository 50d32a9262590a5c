// RNN, GRU and LSTM, computed step by step from the equations of the specification.
#include <algorithm>
#include <cmath>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

Number Sigmoid(Number x) { return 1 / (1 + std::exp(-x)); }
Number Tanh(Number x) { return std::tanh(x); }
Number Relu(Number x) { return std::max<Number>(x, 0); }
Number Softsign(Number x) { return x / (1 + std::fabs(x)); }
using Activation = Number (*)(Number);

struct Named {
  const char* name;
  Activation function;
};
Named AnyActivation(Random& random) {
  return random.Pick<Named>({{"Sigmoid", Sigmoid}, {"Tanh", Tanh}, {"Relu", Relu}, {"Softsign", Softsign}});
}

enum class Cell { kRnn, kGru, kLstm };
int64_t GatesOf(Cell cell) { return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4; }

struct Network {
  Cell cell = Cell::kRnn;
  int64_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 0;
  Array x, w, r, b, lengths, h, c, p;
  std::vector<Activation> activations;  // activations of all directions
  bool reset_first = true;              // GRU: linear_before_reset is 0
  bool coupled = false;                 // LSTM: input_forget
  Number clip = HUGE_VALL;
  bool backward_only = false;
  mutable Number largest = 1;  // the largest gate so far; errors grow with it, and some activations are unbounded

  Number Clipped(Number value) const { return std::clamp(value, -clip, clip); }

  // Returns the contribution of x, and of the state unless `state` is null, to gate g of unit u.
  Number FromInput(int64_t d, int64_t g, int64_t u, int64_t step, int64_t n) const {
    const int64_t gates = GatesOf(cell);
    Number sum = b[(d * 2 * gates + g) * hidden + u];
    for (int64_t i = 0; i < input; ++i)
      sum += w[((d * gates + g) * hidden + u) * input + i] * x[(step * batch + n) * input + i];
    return sum;
  }
  Number FromState(int64_t d, int64_t g, int64_t u, const std::vector<Number>& state) const {
    const int64_t gates = GatesOf(cell);
    Number sum = b[((d * 2 + 1) * gates + g) * hidden + u];
    for (int64_t i = 0; i < hidden; ++i)
      sum += r[((d * gates + g) * hidden + u) * hidden + i] * state[static_cast<size_t>(i)];
    return sum;
  }
  Activation Of(int64_t d, int64_t i) const {
    const int64_t each = static_cast<int64_t>(activations.size()) / directions;
    return activations[static_cast<size_t>(d * each + i)];
  }

  Number Squashed(int64_t d, int64_t i, Number x) const {
    const Number y = Of(d, i)(Clipped(x));
    largest = std::max(largest, std::fabs(y));
    return y;
  }

  void Step(int64_t d, int64_t step, int64_t n, std::vector<Number>* state, std::vector<Number>* memory) const {
    const std::vector<Number> before = *state;
    const auto gate = [&](int64_t g, int64_t u) { return FromInput(d, g, u, step, n) + FromState(d, g, u, before); };
    if (cell == Cell::kRnn) {
      for (int64_t u = 0; u < hidden; ++u) (*state)[static_cast<size_t>(u)] = Squashed(d, 0, gate(0, u));
    } else if (cell == Cell::kGru) {
      std::vector<Number> reset;
      for (int64_t u = 0; u < hidden; ++u) reset.push_back(Squashed(d, 0, gate(1, u)));
      std::vector<Number> kept = before;
      for (size_t u = 0; u < kept.size(); ++u) kept[u] *= reset[u];
      for (int64_t u = 0; u < hidden; ++u) {
        const auto i = static_cast<size_t>(u);
        const Number update = Squashed(d, 0, gate(0, u));
        const Number from_state = reset_first ? FromState(d, 2, u, kept) : reset[i] * FromState(d, 2, u, before);
        const Number candidate = Squashed(d, 1, FromInput(d, 2, u, step, n) + from_state);
        (*state)[i] = (1 - update) * candidate + update * before[i];
      }
    } else {
      for (int64_t u = 0; u < hidden; ++u) {
        const auto i = static_cast<size_t>(u);
        const Number old = (*memory)[i];
        // Without peepholes, an infinite cell must not affect the gates.
        const auto peep = [&](int64_t gate, Number cell) {
          return p.values.empty() ? 0 : p[(d * 3 + gate) * hidden + u] * cell;
        };
        const Number in = Squashed(d, 0, gate(0, u) + peep(0, old));
        const Number forget = coupled ? 1 - in : Squashed(d, 0, gate(2, u) + peep(2, old));
        const Number candidate = Squashed(d, 1, gate(3, u));
        (*memory)[i] = forget * old + in * candidate;
        const Number out = Squashed(d, 0, gate(1, u) + peep(1, (*memory)[i]));
        (*state)[i] = out * Of(d, 2)((*memory)[i]);
      }
    }
  }
};

// Converts [first, second, …] to [second, first, …].
Array Swapped(const Array& x) {
  Dims dims = x.dims;
  std::swap(dims[0], dims[1]);
  Array y(x.type, dims);
  ForEachIndex(x.dims, [&](Dims index, int64_t i) {
    std::swap(index[0], index[1]);
    y.At(index) = x[i];
  });
  return y;
}
// Converts Y from [steps, directions, batch, hidden] to [batch, steps, directions, hidden].
Array BatchFirst(const Array& y) {
  Array turned(y.type, {y.dims[2], y.dims[0], y.dims[1], y.dims[3]});
  ForEachIndex(y.dims, [&](const Dims& index, int64_t i) {
    turned.At({index[2], index[0], index[1], index[3]}) = y[i];
  });
  return turned;
}

template <Cell cell>
void Recurrent(Random& random, Case& c) {
  c.opset = 14;
  Network net;
  net.cell = cell;
  const DataType type =
      random.Pick({DataType::kFloat, DataType::kFloat, DataType::kDouble, DataType::kFloat16, DataType::kBfloat16});
  if (type == DataType::kBfloat16) c.opset = 22;
  net.steps = random.Int(1, 6);
  net.batch = random.Pick({1, 1, 2, 3, 5});
  net.input = random.SizeButNotZero(34);
  net.hidden = random.SizeButNotZero(34);
  const std::string direction = random.Pick<const char*>({"forward", "forward", "reverse", "bidirectional"});
  net.directions = direction == "bidirectional" ? 2 : 1;
  net.backward_only = direction == "reverse";
  if (direction != "forward" || random.Chance(50)) c.Set("direction", direction);
  if (random.Chance(70)) c.Set("hidden_size", net.hidden);
  const bool batch_first = random.Chance(20);
  if (batch_first) c.Set("layout", 1);
  const int64_t gates = GatesOf(cell);
  // A provider may compute double in float, which has no smaller numbers than these.
  const auto values = [&](const Dims& dims) {
    Array array = random.Values(type, dims, Draw::kUnit);
    for (Number& value : array.values)
      if (std::fabs(value) < Smallest(DataType::kFloat)) value = 0;
    return array;
  };
  // With small weights, errors don't grow from step to step.
  const auto weights = [&](const Dims& dims) {
    Array array = values(dims);
    for (Number& value : array.values) value = Round(type, value / 2);
    return array;
  };
  net.x = values({net.steps, net.batch, net.input});
  net.w = weights({net.directions, gates * net.hidden, net.input});
  net.r = weights({net.directions, gates * net.hidden, net.hidden});
  net.b = Array(type, {net.directions, 2 * gates * net.hidden});
  net.lengths = Array(DataType::kInt32, {net.batch},
                      std::vector<Number>(static_cast<size_t>(net.batch), static_cast<Number>(net.steps)));
  net.h = Array(type, {net.directions, net.batch, net.hidden});
  net.c = net.h;
  c.Input(batch_first ? Swapped(net.x) : net.x);
  c.Input(net.w);
  c.Input(net.r);
  const auto maybe = [&](int percent, const auto& make) {
    if (random.Chance(percent)) {
      make();
    } else {
      c.NoInput();
    }
  };
  maybe(70, [&] { c.Input(net.b = weights(net.b.dims)); });
  maybe(30, [&] { c.Input(net.lengths = random.Integers(DataType::kInt32, net.lengths.dims, 1, net.steps)); });
  maybe(40, [&] {
    net.h = values(net.h.dims);
    c.Input(batch_first ? Swapped(net.h) : net.h);
  });
  if (cell == Cell::kLstm) {
    maybe(40, [&] {
      net.c = values(net.c.dims);
      c.Input(batch_first ? Swapped(net.c) : net.c);
    });
    maybe(30, [&] { c.Input(net.p = weights({net.directions, 3 * net.hidden})); });
    if (random.Chance(15)) c.Set("input_forget", net.coupled = true);
  }
  if (cell == Cell::kGru && random.Chance(50)) {
    net.reset_first = false;
    c.Set("linear_before_reset", 1);
  }
  if (random.Chance(15)) c.Set("clip", static_cast<float>(net.clip = 0.75L));
  const bool named = random.Chance(20);
  std::vector<std::string> names;
  for (int64_t d = 0; d < net.directions; ++d) {
    std::vector<Named> own;
    if (cell == Cell::kRnn) {
      own = {{"Tanh", Tanh}};
    } else {
      own = {{"Sigmoid", Sigmoid}, {"Tanh", Tanh}};
      if (cell == Cell::kLstm) own.push_back({"Tanh", Tanh});
    }
    for (Named& activation : own) {
      if (named) activation = AnyActivation(random);
      names.push_back(activation.name);
      net.activations.push_back(activation.function);
    }
  }
  if (named) c.Set("activations", names);

  Array y(type, {net.steps, net.directions, net.batch, net.hidden});
  Array last(type, net.h.dims);
  Array memory_last(type, net.h.dims);
  for (int64_t d = 0; d < net.directions; ++d) {
    for (int64_t n = 0; n < net.batch; ++n) {
      const auto start = (d * net.batch + n) * net.hidden;
      std::vector<Number> state(net.h.values.begin() + start, net.h.values.begin() + start + net.hidden);
      std::vector<Number> memory(net.c.values.begin() + start, net.c.values.begin() + start + net.hidden);
      const auto length = static_cast<int64_t>(net.lengths[n]);
      for (int64_t t = 0; t < length; ++t) {
        const int64_t step = d == 1 || net.backward_only ? length - 1 - t : t;
        net.Step(d, step, n, &state, &memory);
        for (int64_t u = 0; u < net.hidden; ++u) y.At({step, d, n, u}) = state[static_cast<size_t>(u)];
      }
      std::copy(state.begin(), state.end(), last.values.begin() + start);
      std::copy(memory.begin(), memory.end(), memory_last.values.begin() + start);
    }
  }
  const bool small_type = type == DataType::kFloat16;
  const auto bound = [&](const Array& of) {
    // Steps and gates add their errors. Doubles are computed in float, about which the provider warns.
    return Bound{.ulps = small_type                  ? Number{24}
                         : type == DataType::kDouble ? std::ldexp(Number{256}, 29)
                                                     : 256,
                 .sizes = std::vector<Number>(of.values.size(), net.largest * net.largest)};
  };
  const bool only_last = random.Chance(25);
  if (only_last) {
    c.NoOutput();
  } else {
    c.Output(batch_first ? BatchFirst(y) : y, bound(y));
  }
  if (only_last || random.Chance(70)) c.Output(batch_first ? Swapped(last) : last, bound(last));
  if (cell == Cell::kLstm && c.outputs.size() == 2 && random.Chance(70))
    c.Output(batch_first ? Swapped(memory_last) : memory_last, bound(last));
}

}  // namespace

std::vector<OperatorCases> RecurrentOperators() {
  return {
      {"GRU", "", Recurrent<Cell::kGru>},
      {"LSTM", "", Recurrent<Cell::kLstm>},
      {"RNN", "", Recurrent<Cell::kRnn>},
  };
}

}  // namespace epiphyte::operators
