// Steps of RNN, GRU and LSTM after the GEMM of all inputs: GEMM with the state, gates, new state. Depending on the
// sizes, threads divide the sequences or the hidden values.
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
#include "plugins/cpu/simd/elementwise/unary.h"

namespace epiphyte::cpu {

enum class RnnCell { kRnn, kGru, kLstm };

// Attributes of a node.
struct RnnKind {
  RnnCell cell;
  int64_t gates;
  bool batch_first, linear_before_reset, input_forget;
  std::optional<simd::UnaryLoop> clip;
  int64_t directions = 1;
  bool first_reversed = false;
  std::array<std::array<RnnActivation, 3>, 2> activations{};

  // Number of gates in the recurrence GEMM. GRU's candidate has its own recurrence weights: the reset gate applies to
  // their input, or to their result.
  int64_t RecurrenceGates() const { return cell == RnnCell::kGru ? 2 : gates; }
};

struct RnnSizes {
  int64_t steps, batch, input, hidden;
};

// Recurrence weights of one direction, in the form for PanelProduct.
struct RnnPanels {
  const float* gates = nullptr;      // null: not constant
  const float* candidate = nullptr;  // GRU's candidate, computed after the reset
};

// Data for the steps of one direction; one row for each sequence.
struct RnnDirection {
  RnnPanels panels;
  const float* projected = nullptr;
  const float* recurrent_bias = nullptr;  // bias of GRU's candidate, for linear_before_reset
  const float* peepholes = nullptr;
  std::array<float*, 2> h{};  // hidden state before even steps, and before odd steps
  float *c = nullptr, *gates = nullptr, *product = nullptr, *reset = nullptr;
};

// Outputs; null for one without a reader.
struct RnnOutputs {
  float *y, *last_h, *last_c;
};

// `lengths`: number of steps of each sequence.
void RunRnnSteps(OpContext& context, const RnnKind& kind, const RnnSizes& sizes, const std::vector<int64_t>& lengths,
                 std::span<const RnnDirection> directions, const RnnOutputs& outputs);

}  // namespace epiphyte::cpu
