// RNN, GRU and LSTM. In each direction, one GEMM multiplies the inputs of all steps by W. Then each step takes one
// dispatch, or two.
#include <algorithm>
#include <array>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/vulkan/ops/product/product.h"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {
namespace {

enum class Cell { kRnn, kGru, kLstm };

struct Function {
  uint32_t kind = 0;
  float alpha = 0, beta = 0;
};

// The activations: name, kind in the shader, number of parameters, and their defaults. A node lists the alphas and the
// betas of all its activations together; each activation takes as many as it has parameters, in order.
constexpr struct {
  std::string_view name;
  uint32_t kind;
  int parameters;
  float alpha, beta;
} kFunctions[] = {{"sigmoid", shader::kRecurrentSigmoid, 0, 0, 0},
                  {"tanh", shader::kRecurrentTanh, 0, 0, 0},
                  {"relu", shader::kRecurrentRelu, 0, 0, 0},
                  {"affine", shader::kRecurrentAffine, 2, 1, 0},
                  {"leakyrelu", shader::kRecurrentLeakyRelu, 1, 0.01f, 0},
                  {"thresholdedrelu", shader::kRecurrentThresholdedRelu, 1, 1, 0},
                  {"scaledtanh", shader::kRecurrentScaledTanh, 2, 1, 1},
                  {"hardsigmoid", shader::kRecurrentHardSigmoid, 2, 0.2f, 0.5f},
                  {"elu", shader::kRecurrentElu, 1, 1, 0},
                  {"softsign", shader::kRecurrentSoftsign, 0, 0, 0},
                  {"softplus", shader::kRecurrentSoftplus, 0, 0, 0}};

class FunctionReader {
 public:
  explicit FunctionReader(const ir::Node& node)
      : alphas_(node.Floats("activation_alpha")), betas_(node.Floats("activation_beta")) {}

  Function Read(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    for (const auto& known : kFunctions) {
      if (name != known.name) continue;
      Function function = {known.kind, known.alpha, known.beta};
      if (known.parameters >= 1 && next_alpha_ < alphas_.size()) function.alpha = alphas_[next_alpha_++];
      if (known.parameters >= 2 && next_beta_ < betas_.size()) function.beta = betas_[next_beta_++];
      return function;
    }
    kit::FailArgument("activation '", name, "' is not known");
  }

 private:
  std::vector<float> alphas_, betas_;
  size_t next_alpha_ = 0, next_beta_ = 0;
};

struct Attributes {
  Cell cell;
  int64_t gates = 1, directions = 1;
  bool first_reversed = false, batch_first = false, linear_before_reset = false, input_forget = false;
  float clip = 0;
  std::array<std::array<Function, 3>, 2> functions{};  // by direction

  // Throws if the attributes are invalid.
  Attributes(const ir::Node& node, Cell of)
      : cell(of),
        gates(of == Cell::kLstm  ? 4
              : of == Cell::kGru ? 3
                                 : 1),
        batch_first(node.Int("layout", 0) != 0),
        linear_before_reset(node.Int("linear_before_reset", 0) != 0),
        input_forget(node.Int("input_forget", 0) != 0),
        clip(node.Float("clip", 0)) {
    const std::string direction = node.String("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      kit::FailArgument("direction is '", direction, "'; forward, reverse or bidirectional expected");
    directions = direction == "bidirectional" ? 2 : 1;
    first_reversed = direction == "reverse";
    ReadFunctions(node);
  }

 private:
  void ReadFunctions(const ir::Node& node) {
    const size_t each = cell == Cell::kLstm ? 3 : cell == Cell::kGru ? 2 : 1;
    const size_t expected = each * static_cast<size_t>(directions);
    std::vector<std::string> names = node.Strings("activations");
    if (names.empty()) {
      for (size_t i = 0; i < expected; ++i)
        names.emplace_back(cell != Cell::kRnn && i % each == 0 ? "sigmoid" : "tanh");
    }
    if (names.size() != expected) kit::FailArgument(names.size(), " activations found, ", expected, " expected");
    FunctionReader reader(node);
    for (size_t i = 0; i < names.size(); ++i) functions[i / each][i % each] = reader.Read(names[i]);
  }
};

class Recorder {
 public:
  Recorder(Recording& r, Cell cell) : r_(r), attributes_(r.node(), cell), type_(r.InputType(0)) {
    const Dims x = r.InputDims(0), w = r.InputDims(1), weights = r.InputDims(2);
    if (x.size() != 3 || w.size() != 3 || weights.size() != 3) kit::FailArgument("inputs of rank 3 expected");
    steps_ = x[attributes_.batch_first ? 1 : 0];
    batch_ = x[attributes_.batch_first ? 0 : 1];
    input_ = x[2];
    hidden_ = weights[2];
    const int64_t width = kit::CheckedMultiply(attributes_.gates, hidden_);
    if (weights != Dims{attributes_.directions, width, hidden_} || w != Dims{attributes_.directions, width, input_})
      kit::FailArgument("W ", kit::ShapeText(w), " and R ", kit::ShapeText(weights), " don't fit ",
                        attributes_.directions, " directions, ", attributes_.gates, " gates and ", input_, " inputs");
    if (const int64_t told = r.node().Int("hidden_size", hidden_); told != hidden_)
      kit::FailArgument("hidden_size ", told, " found, ", hidden_, " expected, which the weights have");
    CheckCount(3, attributes_.directions * 2 * width, "B");
    CheckCount(4, batch_, "sequence_lens");
    CheckCount(5, attributes_.directions * batch_ * hidden_, "initial_h");
    if (cell == Cell::kLstm) {
      CheckCount(6, attributes_.directions * batch_ * hidden_, "initial_c");
      CheckCount(7, attributes_.directions * 3 * hidden_, "P");
    }
  }

  void Record() {
    const int64_t directions = attributes_.directions;
    const bool batch_first = attributes_.batch_first;
    if (r_.HasOutput(0))
      y_ = r_.Output(
          0, type_,
          batch_first ? Dims{batch_, steps_, directions, hidden_} : Dims{steps_, directions, batch_, hidden_});
    const Dims last = batch_first ? Dims{batch_, directions, hidden_} : Dims{directions, batch_, hidden_};
    if (r_.HasOutput(1)) y_h_ = r_.Output(1, type_, last);
    if (attributes_.cell == Cell::kLstm && r_.HasOutput(2)) y_c_ = r_.Output(2, type_, last);
    if (batch_ == 0 || hidden_ == 0) return;
    for (int64_t d = 0; d < directions; ++d) RecordDirection(d);
  }

 private:
  void CheckCount(size_t i, int64_t count, std::string_view name) const {
    if (r_.HasInput(i) && r_.InputDims(i).Count() != count)
      kit::FailArgument(name, " has shape ", kit::ShapeText(r_.InputDims(i)), ", expected ", count, " elements");
  }

  // Offset of the state of direction d in initial_h, Y_h and the like, and the stride between sequences.
  std::pair<int64_t, int64_t> StateAt(int64_t d) const {
    if (attributes_.batch_first) return {d * hidden_, attributes_.directions * hidden_};
    return {d * batch_ * hidden_, hidden_};
  }
  void CopyState(int32_t from, std::pair<int64_t, int64_t> from_at, int32_t to, std::pair<int64_t, int64_t> to_at,
                 bool by_lengths) {
    const Binding source = Recording::ReadTensor(from >= 0 ? from : r_.InputTensor(2));
    r_.Add({.shader = Recording::ShaderFor("recurrent_state", type_),
            .specialization = {(from >= 0 ? shader::kStateGiven : 0) | (by_lengths ? shader::kStateLengths : 0)},
            .parameters = {Word(batch_ * hidden_), Word(hidden_), Word(from_at.first), Word(from_at.second),
                           Word(to_at.first), Word(to_at.second)},
            .bindings = {source, by_lengths ? r_.Read(4) : source, Recording::Write(to)},
            .groups = r_.GroupsFor(batch_ * hidden_)});
  }
  int32_t InitialState(size_t input, int64_t d) {
    const int32_t state = r_.Scratch(type_, {batch_, hidden_});
    CopyState(r_.HasInput(input) ? r_.InputTensor(input) : -1, StateAt(d), state, {0, hidden_}, false);
    return state;
  }

  // Multiplies the inputs of all steps by W. The result is [rows, gates, hidden]; a row is a step of a sequence.
  int32_t Project(int64_t d) {
    const int64_t width = attributes_.gates * hidden_;
    Product product;
    product.m = kit::CheckedMultiply(steps_, batch_);
    product.n = width;
    product.k = input_;
    const int32_t projected = r_.Scratch(type_, {product.m, width});
    product.a = {r_.InputTensor(0), input_, 1};
    product.b = {r_.InputTensor(1), 1, input_};
    product.y = {projected, width, 1};
    if (d != 0) product.offsets = {0, Word(d * width * input_), 0};
    RecordProduct(r_, product);
    return projected;
  }

  void RecordDirection(int64_t d) {
    const bool is_lstm = attributes_.cell == Cell::kLstm;
    const int32_t projected = Project(d);
    int32_t h = InitialState(5, d);
    int32_t next = r_.Scratch(type_, {batch_, hidden_});
    const bool resets_first = attributes_.cell == Cell::kGru && !attributes_.linear_before_reset;
    const int32_t cell = is_lstm ? InitialState(6, d) : r_.Scratch(type_, {batch_, hidden_});
    const int32_t reset = resets_first ? r_.Scratch(type_, {batch_, hidden_}) : -1;
    for (int64_t step = 0; step < steps_; ++step) {
      if (resets_first) {
        AddStep("recurrent_gru_gates", d, step, projected, h, reset, cell, -1);
        AddStep("recurrent_gru_candidate", d, step, projected, h, next, cell, reset);
      } else {
        AddStep(is_lstm                          ? "recurrent_lstm"
                : attributes_.cell == Cell::kGru ? "recurrent_gru"
                                                 : "recurrent_rnn",
                d, step, projected, h, next, cell, is_lstm && r_.HasInput(7) ? r_.InputTensor(7) : -1);
      }
      std::swap(h, next);
    }
    const bool by_lengths = r_.HasInput(4);
    if (y_h_ >= 0) CopyState(h, {0, hidden_}, y_h_, StateAt(d), by_lengths);
    if (y_c_ >= 0) CopyState(cell, {0, hidden_}, y_c_, StateAt(d), by_lengths);
  }

  void AddStep(std::string_view shader, int64_t d, int64_t step, int32_t projected, int32_t before, int32_t after,
               int32_t cell, int32_t extra) {
    const bool reversed = d == 1 || attributes_.first_reversed;
    const auto flag = [](bool set, uint32_t bit) { return set ? bit : 0; };
    const std::array<Function, 3>& f = attributes_.functions[static_cast<size_t>(d)];
    Dispatch dispatch;
    dispatch.shader = Recording::ShaderFor(shader, type_);
    dispatch.specialization = {
        flag(r_.HasInput(3), shader::kRecurrentBias) | flag(r_.HasInput(4), shader::kRecurrentLengths) |
            flag(reversed, shader::kRecurrentReversed) | flag(attributes_.batch_first, shader::kRecurrentBatchFirst) |
            flag(y_ >= 0, shader::kRecurrentY) |
            flag(attributes_.cell == Cell::kLstm && extra >= 0, shader::kRecurrentPeepholes) |
            flag(attributes_.input_forget, shader::kRecurrentInputForget) |
            flag(attributes_.clip > 0, shader::kRecurrentClip),
        f[0].kind, f[1].kind, f[2].kind};
    dispatch.parameters = {Word(batch_),
                           Word(hidden_),
                           Word(steps_),
                           Word(step),
                           Word(d),
                           Word(attributes_.directions),
                           Word(attributes_.clip),
                           Word(f[0].alpha),
                           Word(f[0].beta),
                           Word(f[1].alpha),
                           Word(f[1].beta),
                           Word(f[2].alpha),
                           Word(f[2].beta)};
    const bool gates_only = shader == "recurrent_gru_gates";
    const Binding unused = r_.Read(2);
    dispatch.bindings = {Recording::ReadTensor(projected),
                         r_.Read(2),
                         Recording::ReadTensor(before),
                         Recording::Write(after),
                         Recording::ReadWrite(cell),
                         r_.HasInput(3) ? r_.Read(3) : unused,
                         r_.HasInput(4) ? r_.Read(4) : unused,
                         extra >= 0 ? Recording::ReadTensor(extra) : unused,
                         y_ >= 0 && !gates_only ? Recording::Write(y_) : Recording::Write(after)};
    dispatch.groups = r_.GroupsFor(batch_ * hidden_);
    dispatch.work = static_cast<uint64_t>(batch_ * hidden_) * static_cast<uint64_t>(attributes_.gates * hidden_);
    r_.Add(std::move(dispatch));
  }

  Recording& r_;
  const Attributes attributes_;
  const EpElementType type_;
  int64_t steps_ = 0, batch_ = 0, input_ = 0, hidden_ = 0;
  int32_t y_ = -1, y_h_ = -1, y_c_ = -1;
};

template <Cell kCell>
std::string Check(const NodeCheck& check) {
  try {
    const Attributes attributes(check.node(), kCell);
  } catch (const kit::Error& error) {
    return error.what();
  }
  return {};
}

template <Cell kCell>
void Record(Recording& r) {
  Recorder(r, kCell).Record();
}

}  // namespace

void Register_recurrent(OperatorTable& table) {
  table.Add({.op_type = "RNN", .check = Check<Cell::kRnn>, .record = Record<Cell::kRnn>, .bindings = 9});
  table.Add({.op_type = "GRU", .check = Check<Cell::kGru>, .record = Record<Cell::kGru>, .bindings = 9});
  table.Add({.op_type = "LSTM", .check = Check<Cell::kLstm>, .record = Record<Cell::kLstm>, .bindings = 9});
}

}  // namespace epiphyte::vulkan
