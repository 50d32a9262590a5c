// The steps of RNN, GRU and LSTM, after the products with the inputs of all steps: products with the state, gates, new
// state. Threads share them by sequences or by hidden values, as the sizes want it.
//
//   RunRnnSteps(context, kind, sizes, lengths, directions, {y, y_h, y_c});
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/ops/nn/rnn_activation.h"
#include "plugins/cpu/simd/unary.h"

namespace epiphyte::cpu {

enum class RnnCell { kRnn, kGru, kLstm };

// What the attributes of a node say.
struct RnnKind {
  RnnCell cell;
  int64_t gates;
  bool batch_first, linear_before_reset, input_forget;
  std::optional<simd::UnaryLoop> clip;
  int64_t directions = 1;
  bool first_reversed = false;
  std::array<std::array<RnnActivation, 3>, 2> activations{};

  // GRU's candidate has recurrence weights of its own: they are applied after the reset, or reset themselves.
  int64_t RecurrenceGates() const { return cell == RnnCell::kGru ? 2 : gates; }
};

struct RnnSizes {
  int64_t steps, batch, input, hidden;
};

// Recurrence weights of one direction, as PanelProduct takes them.
struct RnnPanels {
  const float* gates = nullptr;      // null: no constant
  const float* candidate = nullptr;  // GRU's, which come after the reset
};

// What the steps of one direction work on, a row for each sequence.
struct RnnDirection {
  RnnPanels panels;
  const float* projected = nullptr;
  const float* recurrent_bias = nullptr;  // of GRU's candidate, for linear_before_reset
  const float* peepholes = nullptr;
  std::array<float*, 2> h{};  // before even steps, before odd ones
  float *c = nullptr, *gates = nullptr, *product = nullptr, *reset = nullptr;
};

// Those that nobody reads are null.
struct RnnOutputs {
  float *y, *last_h, *last_c;
};

// `lengths`: how many steps each sequence has.
void RunRnnSteps(OpContext& context, const RnnKind& kind, const RnnSizes& sizes, const std::vector<int64_t>& lengths,
                 std::span<const RnnDirection> directions, const RnnOutputs& outputs);

}  // namespace epiphyte::cpu
