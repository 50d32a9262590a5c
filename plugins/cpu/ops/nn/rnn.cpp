// RNN, GRU and LSTM. The products with the inputs of all steps are one matrix product; the rest goes step by step, with
// the recurrence weights packed once.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/onednn/linear.h"
#include "plugins/cpu/ops/nn/rnn_activation.h"
#include "plugins/cpu/simd/binary.h"
#include "plugins/cpu/simd/panel_product.h"
#include "plugins/cpu/simd/recurrent.h"

namespace epiphyte::cpu {
namespace {

enum class Cell { kRnn, kGru, kLstm };

class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const KernelInit& init, Cell cell)
      : cell_(cell),
        gates_(cell == Cell::kLstm  ? 4
               : cell == Cell::kGru ? 3
                                    : 1),
        batch_first_(init.node().Int("layout", 0) != 0),
        linear_before_reset_(init.node().Int("linear_before_reset", 0) != 0),
        input_forget_(init.node().Int("input_forget", 0) != 0),
        clip_(ClipOf(init.node().Float("clip", 0))) {
    const ir::Node& node = init.node();
    const std::string direction = node.String("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      FailOp("direction is '{}'; forward, reverse or bidirectional expected", direction);
    directions_ = direction == "bidirectional" ? 2 : 1;
    first_reversed_ = direction == "reverse";
    ReadActivations(node);
    if (node.Has("hidden_size")) told_hidden_ = node.Int("hidden_size", 0);
    MakeProducts(init, told_hidden_.value_or(0));
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.type != EP_TYPE_FLOAT || x.rank() != 3) FailOp("an input of floats and of rank 3 expected");
    Sizes sizes;
    sizes.steps = x.dims[batch_first_ ? 1 : 0];
    sizes.batch = x.dims[batch_first_ ? 0 : 1];
    sizes.input = x.dims[2];
    const Dims& r_dims = panels_[0].gates != nullptr ? r_dims_ : context.Input(2).dims;
    const Dims& w_dims = input_product_[0].packed() ? w_dims_ : context.Input(1).dims;
    if (r_dims.size() != 3 || w_dims.size() != 3) FailOp("weights of rank 3 expected");
    sizes.hidden = r_dims[2];
    if (r_dims != Dims{directions_, gates_ * sizes.hidden, sizes.hidden} ||
        w_dims != Dims{directions_, gates_ * sizes.hidden, sizes.input})
      FailOp("the weights' shapes don't fit {} directions, {} gates, {} inputs and {} hidden values", directions_,
             gates_, sizes.input, sizes.hidden);
    if (told_hidden_ && *told_hidden_ != sizes.hidden)
      FailOp("hidden_size {} found, {} expected, which the weights have", *told_hidden_, sizes.hidden);
    const int64_t width = gates_ * sizes.hidden;
    const Dims y_dims = batch_first_ ? Dims{sizes.batch, sizes.steps, directions_, sizes.hidden}
                                     : Dims{sizes.steps, directions_, sizes.batch, sizes.hidden};
    const Dims last_dims =
        batch_first_ ? Dims{sizes.batch, directions_, sizes.hidden} : Dims{directions_, sizes.batch, sizes.hidden};
    const int64_t states = kit::CheckedCount(last_dims);
    CheckOptional(context, 3, directions_ * 2 * width, "B");
    CheckOptional(context, 5, states, "initial_h");
    if (cell_ == Cell::kLstm) {
      CheckOptional(context, 6, states, "initial_c");
      CheckOptional(context, 7, directions_ * 3 * sizes.hidden, "P");
    }
    std::vector<int64_t> lengths(static_cast<size_t>(sizes.batch), sizes.steps);
    if (const Tensor* given = context.OptionalInput(4)) {
      if (given->type != EP_TYPE_INT32 || given->Count() != sizes.batch)
        FailOp("sequence_lens must be int32, one a batch");
      for (int64_t b = 0; b < sizes.batch; ++b) {
        lengths[b] = given->as<int32_t>()[b];
        if (lengths[b] < 0 || lengths[b] > sizes.steps)
          FailOp("a sequence length of {}; at most {} expected", lengths[b], sizes.steps);
      }
    }

    float* y = context.HasOutput(0) ? context.Output(0, EP_TYPE_FLOAT, y_dims).as<float>() : nullptr;
    float* y_h = context.HasOutput(1) ? context.Output(1, EP_TYPE_FLOAT, last_dims).as<float>() : nullptr;
    float* y_c = cell_ == Cell::kLstm && context.HasOutput(2) ? context.Output(2, EP_TYPE_FLOAT, last_dims).as<float>()
                                                              : nullptr;
    std::array<Direction, 2> directions;
    for (int64_t d = 0; d < directions_; ++d) directions[static_cast<size_t>(d)] = Prepare(context, sizes, d, x);
    if (y != nullptr && std::any_of(lengths.begin(), lengths.end(), [&](int64_t l) { return l != sizes.steps; }))
      std::fill_n(y, y_dims.Count(), 0.0f);
    // Directions and sequences don't depend on each other, so threads meet once, not at every step. Where there is only
    // one, its large products are shared.
    const int64_t threads = context.thread_count();
    const int64_t groups = std::max<int64_t>(1, std::min(sizes.batch, (threads + directions_ - 1) / directions_));
    const double work = static_cast<double>(sizes.steps) * static_cast<double>(sizes.batch) *
                        static_cast<double>(width) * static_cast<double>(sizes.hidden);
    OpContext* const helpers = directions_ * groups == 1 && threads > 1 ? &context : nullptr;
    context.ParallelFor(directions_ * groups, work < 65536 ? directions_ * groups : 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t d = i / groups;
        const int64_t group = i % groups;
        RunSteps(helpers, sizes, lengths, d, directions[static_cast<size_t>(d)], sizes.batch * group / groups,
                 sizes.batch * (group + 1) / groups, y, y_h, y_c);
      }
    });
  }

 private:
  struct Sizes {
    int64_t steps, batch, input, hidden;
  };
  struct State {
    std::array<Linear::State, 2> input;
  };
  // Recurrence weights of one direction, as PanelProduct takes them.
  struct Panels {
    const float* gates = nullptr;      // null: no constant
    const float* candidate = nullptr;  // GRU's, which come after the reset
  };
  // What the steps of one direction work on, a row for each sequence.
  struct Direction {
    Panels panels;
    const float* projected = nullptr;
    const float* recurrent_bias = nullptr;  // of GRU's candidate, for linear_before_reset
    const float* peepholes = nullptr;
    float *h = nullptr, *c = nullptr, *gates = nullptr, *product = nullptr, *reset = nullptr;
  };

  void ReadActivations(const ir::Node& node) {
    const size_t per_direction = cell_ == Cell::kLstm ? 3 : cell_ == Cell::kGru ? 2 : 1;
    static const char* const kDefaults[3][3] = {{"Tanh", "", ""}, {"Sigmoid", "Tanh", ""}, {"Sigmoid", "Tanh", "Tanh"}};
    std::vector<std::string> names = node.Strings("activations");
    if (names.empty())
      for (int64_t d = 0; d < directions_; ++d)
        for (size_t i = 0; i < per_direction; ++i) names.push_back(kDefaults[static_cast<int>(cell_)][i]);
    if (names.size() != per_direction * static_cast<size_t>(directions_))
      FailOp("{} activations found, {} expected", names.size(), per_direction * static_cast<size_t>(directions_));
    ActivationReader reader(node.Floats("activation_alpha"), node.Floats("activation_beta"));
    for (size_t i = 0; i < names.size(); ++i)
      activations_[i / per_direction][i % per_direction] = reader.Read(names[i]);
  }

  // GRU's candidate has recurrence weights of its own: they are applied after the reset, or reset themselves.
  int64_t RecurrenceGates() const { return cell_ == Cell::kGru ? 2 : gates_; }

  void MakeProducts(const KernelInit& init, int64_t hidden_size) {
    const Tensor* w = init.PeekConstant(1);
    const Tensor* r = init.PeekConstant(2);
    // An attribute that no weights can match is as good as none.
    const int64_t given = hidden_size >= 0 && hidden_size <= INT32_MAX ? hidden_size : 0;
    const int64_t hidden = r != nullptr && r->rank() == 3 ? r->dims[2] : given;
    const int64_t input = w != nullptr && w->rank() == 3 ? w->dims[2] : 0;
    if (w != nullptr) w_dims_ = w->dims;
    if (r != nullptr) r_dims_ = r->dims;
    const ir::Value& x = init.InputInfo(0);
    const int64_t batch = x.rank == 3 && x.dims[batch_first_ ? 0 : 1] > 0 ? x.dims[batch_first_ ? 0 : 1] : 1;
    const bool w_fits = w != nullptr && w->dims == Dims{directions_, gates_ * hidden, input};
    const bool r_fits = r != nullptr && r->dims == Dims{directions_, gates_ * hidden, hidden};
    for (int64_t d = 0; d < directions_; ++d) {
      const bool last = d + 1 == directions_;
      const auto make = [&](size_t b_input, int64_t rows, int64_t k, int64_t n, int64_t offset, const char* name,
                            bool last_part, bool fits) {
        Linear::Options options;
        // An input that can't be packed is one that doesn't exist.
        options.b_input = fits ? b_input : SIZE_MAX;
        options.transpose_b = true;
        options.typical_rows = rows;
        options.k = k;
        options.n = n;
        options.offset = offset;
        options.key = fmt::format("{}{}", name, d);
        options.last_part = last_part;
        return Linear(init, options);
      };
      const int64_t block = gates_ * hidden;
      const int64_t rows = 64 * std::min<int64_t>(batch, INT32_MAX);
      input_product_.push_back(make(1, rows, input, block, w_fits ? d * block * input : 0, "w", last, w_fits));
    }
    panels_.resize(static_cast<size_t>(directions_));
    if (!r_fits || r->type != EP_TYPE_FLOAT || r->Count() == 0) return;
    for (int64_t d = 0; d < directions_; ++d) {
      const int64_t own = RecurrenceGates() * hidden;
      const auto pack = [&](const std::string& key, int64_t n, int64_t offset) {
        const std::string format = fmt::format("panels{} f32 {}x{}", simd::kPanelWidth, n, hidden);
        const uint64_t bytes = static_cast<uint64_t>(simd::PanelFloats(n, hidden)) * sizeof(float);
        return static_cast<const float*>(init.Packed(key, format, bytes, [&](void* to) {
          if (r->data == nullptr)
            throw kit::Error(EP_STATUS_INVALID_GRAPH,
                             "the context's packed weights can't be read; compile the model again");
          simd::PackPanels(r->as<float>() + offset, n, hidden, static_cast<float*>(to));
        }));
      };
      Panels& panels = panels_[static_cast<size_t>(d)];
      const int64_t offset = d * gates_ * hidden * hidden;
      panels.gates = pack(fmt::format("r{}", d), own, offset);
      if (cell_ == Cell::kGru) panels.candidate = pack(fmt::format("c{}", d), hidden, offset + own * hidden);
    }
    init.Drop(2);
  }

  static void CheckOptional(OpContext& context, size_t input, int64_t count, const char* name) {
    const Tensor* tensor = context.OptionalInput(input);
    if (tensor != nullptr && (tensor->type != EP_TYPE_FLOAT || tensor->Count() != count))
      FailOp("{} has {} elements; {} floats expected", name, tensor->Count(), count);
  }

  Direction Prepare(OpContext& context, const Sizes& sizes, int64_t d, const Tensor& x) const {
    State& state = context.State<State>();
    const int64_t hidden = sizes.hidden, batch = sizes.batch, steps = sizes.steps;
    const int64_t width = gates_ * hidden;
    const auto floats = [&](int64_t count) {
      return static_cast<float*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(float)));
    };

    // The inputs' part of all gates, with the biases that don't depend on the reset gate.
    float* projected = floats(kit::CheckedCount(Dims{steps, batch, width}));
    float* bias = floats(width);
    float* recurrent_bias = floats(hidden);  // of the candidate, for linear_before_reset
    std::fill_n(bias, width, 0.0f);
    std::fill_n(recurrent_bias, hidden, 0.0f);
    if (const Tensor* b = context.OptionalInput(3)) {
      const float* from = b->as<float>() + d * 2 * width;
      for (int64_t i = 0; i < width; ++i) {
        const bool apart = cell_ == Cell::kGru && linear_before_reset_ && i >= 2 * hidden;
        bias[i] = from[i] + (apart ? 0.0f : from[width + i]);
        if (apart) recurrent_bias[i - 2 * hidden] = from[width + i];
      }
    }
    Linear::Operands o;
    o.a = x.data;
    o.b = input_product_[d].packed() ? nullptr : context.Input(1).as<float>() + d * width * sizes.input;
    o.bias = bias;
    o.y = projected;
    o.rows = steps * batch;
    o.k = sizes.input;
    o.n = width;
    if (sizes.input == 0) {
      for (int64_t i = 0; i < o.rows; ++i) std::copy_n(bias, width, projected + i * width);
    } else {
      input_product_[d].Run(context, state.input[d], o);
    }

    float* h = floats(batch * hidden);
    float* c = floats(batch * hidden);
    const auto initial = [&](size_t input, float* to) {
      const Tensor* given = context.OptionalInput(input);
      for (int64_t b = 0; b < batch; ++b) {
        float* target = to + b * hidden;
        if (given == nullptr) {
          std::fill_n(target, hidden, 0.0f);
        } else {
          const int64_t at = batch_first_ ? b * directions_ + d : d * batch + b;
          std::copy_n(given->as<float>() + at * hidden, hidden, target);
        }
      }
    };
    initial(5, h);
    if (cell_ == Cell::kLstm) {
      initial(6, c);
    } else {
      std::fill_n(c, batch * hidden, 0.0f);
    }
    Direction direction;
    direction.projected = projected;
    direction.recurrent_bias = recurrent_bias;
    direction.h = h;
    direction.c = c;
    direction.gates = floats(batch * width);
    direction.product = floats(batch * hidden);
    direction.reset = floats(batch * hidden);
    std::fill_n(direction.gates, batch * width, 0.0f);
    std::fill_n(direction.reset, batch * hidden, 0.0f);
    if (cell_ == Cell::kLstm)
      if (const Tensor* p = context.OptionalInput(7)) direction.peepholes = p->as<float>() + d * 3 * hidden;
    direction.panels = panels_[static_cast<size_t>(d)];
    if (direction.panels.gates == nullptr) {
      const int64_t own = RecurrenceGates() * hidden;
      const float* r = context.Input(2).as<float>() + d * width * hidden;
      float* gates = floats(simd::PanelFloats(own, hidden));
      simd::PackPanels(r, own, hidden, gates);
      direction.panels.gates = gates;
      if (cell_ == Cell::kGru) {
        float* candidate = floats(simd::PanelFloats(hidden, hidden));
        simd::PackPanels(r + own * hidden, hidden, hidden, candidate);
        direction.panels.candidate = candidate;
      }
    }
    return direction;
  }

  // y += a times panels, of n columns, on more than one thread where there are helpers and it is worth that.
  static void Multiply(OpContext* helpers, const float* a, const float* panels, float* y, int64_t y_stride,
                       int64_t rows, int64_t n, int64_t k, int64_t step) {
    constexpr int64_t kShare = int64_t{1} << 16;  // products that take longer than waiting for another thread
    const bool last_first = step % 2 != 0;
    if (helpers == nullptr || rows * n * k < 2 * kShare)
      return simd::PanelProduct(a, k, panels, y, y_stride, rows, n, k, last_first);
    const int64_t count = (n + simd::kPanelWidth - 1) / simd::kPanelWidth, threads = helpers->thread_count();
    // Each thread has the same panels at every step, which stay in its cache.
    helpers->ParallelFor(count, (count + threads - 1) / threads, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * simd::kPanelWidth;
      simd::PanelProduct(a, k, panels + first * k, y + first, y_stride, rows,
                         std::min(end * simd::kPanelWidth, n) - first, k, last_first);
    });
  }

  // All steps of sequences [first, end) in one direction.
  void RunSteps(OpContext* helpers, const Sizes& sizes, const std::vector<int64_t>& lengths, int64_t d,
                const Direction& direction, int64_t first, int64_t end, float* y, float* y_h, float* y_c) const {
    const int64_t hidden = sizes.hidden, batch = sizes.batch, steps = sizes.steps;
    const int64_t width = gates_ * hidden;
    const bool reversed = d == 1 || first_reversed_;
    const auto row = [&](int64_t step, int64_t b) { return batch_first_ ? b * steps + step : step * batch + b; };
    int64_t longest = 0;
    for (int64_t b = first; b < end; ++b) longest = std::max(longest, lengths[b]);
    for (int64_t s = 0; s < longest; ++s) {
      const auto position = [&](int64_t b) { return reversed ? lengths[b] - 1 - s : s; };
      for (int64_t b = first; b < end; ++b)
        if (s < lengths[b])
          std::copy_n(direction.projected + row(position(b), b) * width, width, direction.gates + b * width);
      Multiply(helpers, direction.h + first * hidden, direction.panels.gates, direction.gates + first * width, width,
               end - first, RecurrenceGates() * hidden, hidden, s);
      if (cell_ == Cell::kGru) StepCandidate(helpers, d, sizes, lengths, s, direction, first, end);
      for (int64_t b = first; b < end; ++b) {
        if (s >= lengths[b]) continue;
        StepGates(d, hidden, direction, b);
        if (y != nullptr) std::copy_n(direction.h + b * hidden, hidden, y + YOffset(sizes, position(b), d, b));
      }
    }
    const float* const h = direction.h;
    const float* const c = direction.c;
    for (int64_t b = first; b < end; ++b) {
      const int64_t at = batch_first_ ? b * directions_ + d : d * batch + b;
      // A sequence without steps leaves zeros.
      const auto give = [&](const float* from, float* to) {
        if (to == nullptr) return;
        if (lengths[b] == 0) {
          std::fill_n(to + at * hidden, hidden, 0.0f);
        } else {
          std::copy_n(from + b * hidden, hidden, to + at * hidden);
        }
      };
      give(h, y_h);
      give(c, y_c);
    }
  }

  int64_t YOffset(const Sizes& sizes, int64_t step, int64_t d, int64_t b) const {
    return (batch_first_ ? (b * sizes.steps + step) * directions_ + d : (step * directions_ + d) * sizes.batch + b) *
           sizes.hidden;
  }

  // The recurrent part of GRU's candidate: reset before the product, or after it.
  void StepCandidate(OpContext* helpers, int64_t d, const Sizes& sizes, const std::vector<int64_t>& lengths,
                     int64_t step, const Direction& direction, int64_t first, int64_t end) const {
    const int64_t n = sizes.hidden;
    for (int64_t b = first; b < end; ++b) {
      float* const gates = direction.gates + b * 3 * n;
      if (linear_before_reset_) {
        std::copy_n(direction.recurrent_bias, n, direction.product + b * n);
      } else {
        std::fill_n(direction.product + b * n, n, 0.0f);
      }
      if (step >= lengths[b]) continue;
      Squash(activations_[d][0], gates, 2 * n);
      if (!linear_before_reset_) multiply_(gates + n, 1, direction.h + b * n, 1, direction.reset + b * n, n);
    }
    Multiply(helpers, (linear_before_reset_ ? direction.h : direction.reset) + first * n, direction.panels.candidate,
             direction.product + first * n, n, end - first, n, n, step);
  }

  static std::optional<simd::UnaryLoop> ClipOf(float limit) {
    if (limit > 0) return simd::UnaryLoop(simd::Unary::kClip, -limit, limit);
    return std::nullopt;
  }
  void Squash(const RnnActivation& activation, float* x, int64_t n) const {
    if (clip_) (*clip_)(x, x, n);
    activation(x, n);
  }
  static void Add(const float* from, float* to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
  }

  // One step of sequence b, whose gates lack only the activations.
  void StepGates(int64_t d, int64_t n, const Direction& direction, int64_t b) const {
    const auto& f = activations_[d];
    float* const gates = direction.gates + b * gates_ * n;
    float* const h = direction.h + b * n;
    float* const c = direction.c + b * n;
    if (cell_ == Cell::kRnn) {
      Squash(f[0], gates, n);
      std::copy_n(gates, n, h);
      return;
    }
    if (cell_ == Cell::kGru) {
      const float* const product = direction.product + b * n;
      float* const candidate = gates + 2 * n;
      const float* const reset = linear_before_reset_ ? gates + n : nullptr;
      if (f[1].Is(simd::Unary::kTanh) && !clip_) return simd::GruStep(gates, candidate, product, reset, h, n);
      if (reset != nullptr) {
        simd::MultiplyAdd(reset, product, candidate, n);
      } else {
        Add(product, candidate, n);
      }
      Squash(f[1], candidate, n);
      simd::Blend(gates, candidate, h, n);
      return;
    }
    const float* const peepholes = direction.peepholes;
    const bool usual = f[0].Is(simd::Unary::kSigmoid) && f[1].Is(simd::Unary::kTanh) && f[2].Is(simd::Unary::kTanh);
    if (usual && !clip_ && peepholes == nullptr && !input_forget_) return simd::LstmStep(gates, c, h, n);
    float* const input = gates;
    float* const output = gates + n;
    float* const forget = gates + 2 * n;
    float* const candidate = gates + 3 * n;
    if (peepholes != nullptr) {
      simd::MultiplyAdd(peepholes, c, input, n);
      simd::MultiplyAdd(peepholes + 2 * n, c, forget, n);
    }
    Squash(f[0], input, n);
    if (input_forget_) {
      for (int64_t i = 0; i < n; ++i) forget[i] = 1.0f - input[i];
    } else {
      Squash(f[0], forget, n);
    }
    Squash(f[1], candidate, n);
    simd::UpdateCell(input, forget, candidate, c, n);
    if (peepholes != nullptr) simd::MultiplyAdd(peepholes + n, c, output, n);
    Squash(f[0], output, n);
    std::copy_n(c, n, candidate);
    f[2](candidate, n);
    multiply_(output, 1, candidate, 1, h, n);
  }

  Cell cell_;
  int64_t gates_;
  bool batch_first_, linear_before_reset_, input_forget_;
  std::optional<simd::UnaryLoop> clip_;
  simd::BinaryLoop multiply_{simd::Binary::kMul};
  int64_t directions_ = 1;
  bool first_reversed_ = false;
  std::array<std::array<RnnActivation, 3>, 2> activations_;
  std::optional<int64_t> told_hidden_;
  Dims w_dims_, r_dims_;
  std::vector<Linear> input_product_;  // by direction
  std::vector<Panels> panels_;
};

void AddCell(KernelRegistry& registry, std::string_view op_type, Cell cell) {
  registry.Add(op_type, "", {1, INT64_MAX, Types(EP_TYPE_FLOAT), [cell](const KernelInit& init) {
                               return std::make_unique<RecurrentKernel>(init, cell);
                             }});
}

}  // namespace

void Register_rnn(KernelRegistry& registry) {
  AddCell(registry, "RNN", Cell::kRnn);
  AddCell(registry, "GRU", Cell::kGru);
  AddCell(registry, "LSTM", Cell::kLstm);
}

}  // namespace epiphyte::cpu
