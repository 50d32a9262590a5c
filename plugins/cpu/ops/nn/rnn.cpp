// RNN, GRU and LSTM. One GEMM multiplies the inputs of all steps; the recurrence runs step by step, with recurrence
// weights packed once.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/onednn/linear.h"
#include "plugins/cpu/ops/nn/rnn_activation.h"
#include "plugins/cpu/ops/nn/rnn_steps.h"
#include "plugins/cpu/simd/gemm/panel_product.h"

namespace epiphyte::cpu {
namespace {

class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const KernelInit& init, RnnCell cell)
      : kind_{cell,
              cell == RnnCell::kLstm  ? 4
              : cell == RnnCell::kGru ? 3
                                      : 1,
              init.node().Int("layout", 0) != 0,
              init.node().Int("linear_before_reset", 0) != 0,
              init.node().Int("input_forget", 0) != 0,
              ClipOf(init.node().Float("clip", 0))} {
    const ir::Node& node = init.node();
    const std::string direction = node.String("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      FailOp("direction is '{}'; forward, reverse or bidirectional expected", direction);
    kind_.directions = direction == "bidirectional" ? 2 : 1;
    kind_.first_reversed = direction == "reverse";
    ReadActivations(node);
    if (node.Has("hidden_size")) told_hidden_ = node.Int("hidden_size", 0);
    MakeProducts(init, told_hidden_.value_or(0));
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.type != EP_TYPE_FLOAT || x.rank() != 3) FailOp("an input of floats and of rank 3 expected");
    RnnSizes sizes;
    sizes.steps = x.dims[kind_.batch_first ? 1 : 0];
    sizes.batch = x.dims[kind_.batch_first ? 0 : 1];
    sizes.input = x.dims[2];
    const Dims& r_dims = panels_[0].gates != nullptr ? r_dims_ : context.Input(2).dims;
    const Dims& w_dims = input_product_[0].packed() ? w_dims_ : context.Input(1).dims;
    if (r_dims.size() != 3 || w_dims.size() != 3) FailOp("weights of rank 3 expected");
    sizes.hidden = r_dims[2];
    if (r_dims != Dims{kind_.directions, kind_.gates * sizes.hidden, sizes.hidden} ||
        w_dims != Dims{kind_.directions, kind_.gates * sizes.hidden, sizes.input})
      FailOp("the weights' shapes don't fit {} directions, {} gates, {} inputs and {} hidden values", kind_.directions,
             kind_.gates, sizes.input, sizes.hidden);
    if (told_hidden_ && *told_hidden_ != sizes.hidden)
      FailOp("hidden_size {} found, {} expected, which the weights have", *told_hidden_, sizes.hidden);
    const int64_t width = kind_.gates * sizes.hidden;
    const Dims y_dims = kind_.batch_first ? Dims{sizes.batch, sizes.steps, kind_.directions, sizes.hidden}
                                          : Dims{sizes.steps, kind_.directions, sizes.batch, sizes.hidden};
    const Dims last_dims = kind_.batch_first ? Dims{sizes.batch, kind_.directions, sizes.hidden}
                                             : Dims{kind_.directions, sizes.batch, sizes.hidden};
    const int64_t states = kit::CheckedCount(last_dims);
    CheckOptional(context, 3, kind_.directions * 2 * width, "B");
    CheckOptional(context, 5, states, "initial_h");
    if (kind_.cell == RnnCell::kLstm) {
      CheckOptional(context, 6, states, "initial_c");
      CheckOptional(context, 7, kind_.directions * 3 * sizes.hidden, "P");
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
    float* y_c = kind_.cell == RnnCell::kLstm && context.HasOutput(2)
                     ? context.Output(2, EP_TYPE_FLOAT, last_dims).as<float>()
                     : nullptr;
    std::array<RnnDirection, 2> directions;
    for (int64_t d = 0; d < kind_.directions; ++d) directions[static_cast<size_t>(d)] = Prepare(context, sizes, d, x);
    if (y != nullptr && std::any_of(lengths.begin(), lengths.end(), [&](int64_t l) { return l != sizes.steps; }))
      std::fill_n(y, y_dims.Count(), 0.0f);
    RunRnnSteps(context, kind_, sizes, lengths, directions, {y, y_h, y_c});
  }

 private:
  struct State {
    std::array<Linear::State, 2> input;
  };

  void ReadActivations(const ir::Node& node) {
    const size_t per_direction = kind_.cell == RnnCell::kLstm ? 3 : kind_.cell == RnnCell::kGru ? 2 : 1;
    static const char* const kDefaults[3][3] = {{"Tanh", "", ""}, {"Sigmoid", "Tanh", ""}, {"Sigmoid", "Tanh", "Tanh"}};
    std::vector<std::string> names = node.Strings("activations");
    if (names.empty())
      for (int64_t d = 0; d < kind_.directions; ++d)
        for (size_t i = 0; i < per_direction; ++i) names.push_back(kDefaults[static_cast<int>(kind_.cell)][i]);
    if (names.size() != per_direction * static_cast<size_t>(kind_.directions))
      FailOp("{} activations found, {} expected", names.size(), per_direction * static_cast<size_t>(kind_.directions));
    ActivationReader reader(node.Floats("activation_alpha"), node.Floats("activation_beta"));
    for (size_t i = 0; i < names.size(); ++i)
      kind_.activations[i / per_direction][i % per_direction] = reader.Read(names[i]);
  }

  void MakeProducts(const KernelInit& init, int64_t hidden_size) {
    const Tensor* w = init.PeekConstant(1);
    const Tensor* r = init.PeekConstant(2);
    // An attribute value that no weights can match is ignored.
    const int64_t given = hidden_size >= 0 && hidden_size <= INT32_MAX ? hidden_size : 0;
    const int64_t hidden = r != nullptr && r->rank() == 3 ? r->dims[2] : given;
    const int64_t input = w != nullptr && w->rank() == 3 ? w->dims[2] : 0;
    if (w != nullptr) w_dims_ = w->dims;
    if (r != nullptr) r_dims_ = r->dims;
    const ir::Value& x = init.InputInfo(0);
    const int64_t batch = x.rank == 3 && x.dims[kind_.batch_first ? 0 : 1] > 0 ? x.dims[kind_.batch_first ? 0 : 1] : 1;
    const bool w_fits = w != nullptr && w->dims == Dims{kind_.directions, kind_.gates * hidden, input};
    const bool r_fits = r != nullptr && r->dims == Dims{kind_.directions, kind_.gates * hidden, hidden};
    for (int64_t d = 0; d < kind_.directions; ++d) {
      const bool last = d + 1 == kind_.directions;
      const auto make = [&](size_t b_input, int64_t rows, int64_t k, int64_t n, int64_t offset, const char* name,
                            bool last_part, bool fits) {
        Linear::Options options;
        // SIZE_MAX is an input that does not exist: it disables packing.
        options.b_input = fits ? b_input : SIZE_MAX;
        options.transpose_b = true;
        options.typical_rows = rows;
        options.k = k;
        options.n = n;
        options.offset = offset;
        options.key = FormatText("{}{}", name, d);
        options.last_part = last_part;
        return Linear(init, options);
      };
      const int64_t block = kind_.gates * hidden;
      const int64_t rows = 64 * std::min<int64_t>(batch, INT32_MAX);
      input_product_.push_back(make(1, rows, input, block, w_fits ? d * block * input : 0, "w", last, w_fits));
    }
    panels_.resize(static_cast<size_t>(kind_.directions));
    if (!r_fits || r->type != EP_TYPE_FLOAT || r->Count() == 0) return;
    for (int64_t d = 0; d < kind_.directions; ++d) {
      const int64_t own = kind_.RecurrenceGates() * hidden;
      const auto pack = [&](const std::string& key, int64_t n, int64_t offset) {
        const std::string format = FormatText("panels{} f32 {}x{}", simd::kPanelWidth, n, hidden);
        const uint64_t bytes = static_cast<uint64_t>(simd::PanelFloats(n, hidden)) * sizeof(float);
        return static_cast<const float*>(init.Packed(key, format, bytes, [&](void* to) {
          if (r->data == nullptr)
            throw kit::Error(EP_STATUS_INVALID_GRAPH,
                             "the context's packed weights can't be read; compile the model again");
          simd::PackPanels(r->as<float>() + offset, n, hidden, static_cast<float*>(to));
        }));
      };
      RnnPanels& panels = panels_[static_cast<size_t>(d)];
      const int64_t offset = d * kind_.gates * hidden * hidden;
      panels.gates = pack(FormatText("r{}", d), own, offset);
      if (kind_.cell == RnnCell::kGru) panels.candidate = pack(FormatText("c{}", d), hidden, offset + own * hidden);
    }
    init.Drop(2);
  }

  static void CheckOptional(OpContext& context, size_t input, int64_t count, const char* name) {
    const Tensor* tensor = context.OptionalInput(input);
    if (tensor != nullptr && (tensor->type != EP_TYPE_FLOAT || tensor->Count() != count))
      FailOp("{} has {} elements; {} floats expected", name, tensor->Count(), count);
  }

  RnnDirection Prepare(OpContext& context, const RnnSizes& sizes, int64_t d, const Tensor& x) const {
    State& state = context.State<State>();
    const int64_t hidden = sizes.hidden, batch = sizes.batch, steps = sizes.steps;
    const int64_t width = kind_.gates * hidden;
    const auto floats = [&](int64_t count) {
      return static_cast<float*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(float)));
    };

    // Contribution of the inputs to all gates, with the biases that do not depend on the reset gate.
    float* projected = floats(kit::CheckedCount(Dims{steps, batch, width}));
    float* bias = floats(width);
    float* recurrent_bias = floats(hidden);  // bias of the candidate, for linear_before_reset
    std::fill_n(bias, width, 0.0f);
    std::fill_n(recurrent_bias, hidden, 0.0f);
    if (const Tensor* b = context.OptionalInput(3)) {
      const float* from = b->as<float>() + d * 2 * width;
      for (int64_t i = 0; i < width; ++i) {
        const bool apart = kind_.cell == RnnCell::kGru && kind_.linear_before_reset && i >= 2 * hidden;
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
    float* next_h = floats(batch * hidden);
    float* c = floats(batch * hidden);
    const auto initial = [&](size_t input, float* to) {
      const Tensor* given = context.OptionalInput(input);
      for (int64_t b = 0; b < batch; ++b) {
        float* target = to + b * hidden;
        if (given == nullptr) {
          std::fill_n(target, hidden, 0.0f);
        } else {
          const int64_t at = kind_.batch_first ? b * kind_.directions + d : d * batch + b;
          std::copy_n(given->as<float>() + at * hidden, hidden, target);
        }
      }
    };
    initial(5, h);
    if (kind_.cell == RnnCell::kLstm) {
      initial(6, c);
    } else {
      std::fill_n(c, batch * hidden, 0.0f);
    }
    RnnDirection direction;
    direction.projected = projected;
    direction.recurrent_bias = recurrent_bias;
    direction.h = {h, next_h};
    direction.c = c;
    direction.gates = floats(batch * width);
    direction.product = floats(batch * hidden);
    direction.reset = floats(batch * hidden);
    std::fill_n(direction.gates, batch * width, 0.0f);
    std::fill_n(direction.reset, batch * hidden, 0.0f);
    if (kind_.cell == RnnCell::kLstm)
      if (const Tensor* p = context.OptionalInput(7)) direction.peepholes = p->as<float>() + d * 3 * hidden;
    direction.panels = panels_[static_cast<size_t>(d)];
    if (direction.panels.gates == nullptr) {
      const int64_t own = kind_.RecurrenceGates() * hidden;
      const float* r = context.Input(2).as<float>() + d * width * hidden;
      float* gates = floats(simd::PanelFloats(own, hidden));
      simd::PackPanels(r, own, hidden, gates);
      direction.panels.gates = gates;
      if (kind_.cell == RnnCell::kGru) {
        float* candidate = floats(simd::PanelFloats(hidden, hidden));
        simd::PackPanels(r + own * hidden, hidden, hidden, candidate);
        direction.panels.candidate = candidate;
      }
    }
    return direction;
  }

  static std::optional<simd::UnaryLoop> ClipOf(float limit) {
    if (limit > 0) return simd::UnaryLoop(simd::Unary::kClip, -limit, limit);
    return std::nullopt;
  }

  RnnKind kind_;
  std::optional<int64_t> told_hidden_;
  Dims w_dims_, r_dims_;
  std::vector<Linear> input_product_;  // by direction
  std::vector<RnnPanels> panels_;
};

void AddCell(KernelRegistry& registry, std::string_view op_type, RnnCell cell) {
  registry.Add(op_type, "", {1, INT64_MAX, Types(EP_TYPE_FLOAT), [cell](const KernelInit& init) {
                               return std::make_unique<RecurrentKernel>(init, cell);
                             }});
}

}  // namespace

void Register_rnn(KernelRegistry& registry) {
  AddCell(registry, "RNN", RnnCell::kRnn);
  AddCell(registry, "GRU", RnnCell::kGru);
  AddCell(registry, "LSTM", RnnCell::kLstm);
}

}  // namespace epiphyte::cpu
