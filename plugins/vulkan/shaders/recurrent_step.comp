//! variant recurrent_rnn.f32 T_F32 RNN
//! variant recurrent_lstm.f32 T_F32 LSTM
//! variant recurrent_gru.f32 T_F32 GRU
//! variant recurrent_gru_gates.f32 T_F32 GRU_GATES
//! variant recurrent_gru_candidate.f32 T_F32 GRU_CANDIDATE
//! variant recurrent_rnn.f16 T_F16 RNN
//! variant recurrent_lstm.f16 T_F16 LSTM
//! variant recurrent_gru.f16 T_F16 GRU
//! variant recurrent_gru_gates.f16 T_F16 GRU_GATES
//! variant recurrent_gru_candidate.f16 T_F16 GRU_CANDIDATE
// One step of a recurrent network in one direction. An invocation computes one hidden value of one sequence. It takes
// the products with the inputs, which one GEMM computed for all steps, adds the products with the state of the step
// before, and computes the cell. A GRU that resets before the product takes two dispatches: GRU_GATES writes the update
// gate and the state after the reset, GRU_CANDIDATE does the rest.
#version 450
#include "common.glsl"
#include "math.glsl"

layout(local_size_x = kLinearGroup) in;
layout(constant_id = 0) const uint kFlags = 0u;
layout(constant_id = 1) const uint kFirst = 0u;  // the node's activations, by the numbers of Function
layout(constant_id = 2) const uint kSecond = 0u;
layout(constant_id = 3) const uint kThird = 0u;

layout(std430, set = 0, binding = 1) readonly buffer Projected { T projected[]; };  // [rows, gates, hidden]
layout(std430, set = 0, binding = 2) readonly buffer Weights { T r_data[]; };  // [directions, gates, hidden, hidden]
layout(std430, set = 0, binding = 3) readonly buffer Before { T h_before[]; };  // [batch, hidden]
layout(std430, set = 0, binding = 4) writeonly buffer After { T h_after[]; };
layout(std430, set = 0, binding = 5) buffer Cell { T cell[]; };  // LSTM cell, or GRU update gate
layout(std430, set = 0, binding = 6) readonly buffer Bias { T b_data[]; };
layout(std430, set = 0, binding = 7) readonly buffer Lengths { int lengths[]; };
layout(std430, set = 0, binding = 8) readonly buffer Extra { T extra[]; };  // peepholes, or the state after the reset
layout(std430, set = 0, binding = 9) writeonly buffer Y { T y[]; };

// The words of p[], each read once, before main, as in product.glsl.
uint P_BATCH = p[0];
uint P_HIDDEN = p[1];
uint P_STEPS = p[2];
uint P_STEP = p[3];
uint P_DIRECTION = p[4];
uint P_DIRECTIONS = p[5];
float P_CLIP = uintBitsToFloat(p[6]);
#define P_ALPHA(i) uintBitsToFloat(p[7u + 2u * i])
#define P_BETA(i) uintBitsToFloat(p[8u + 2u * i])

#if defined(LSTM)
#define GATES 4u
#elif defined(RNN)
#define GATES 1u
#else
#define GATES 3u
#endif

float Function(uint kind, float x, float alpha, float beta) {
  switch (kind) {
    case kRecurrentSigmoid: return Sigmoid(x);
    case kRecurrentTanh: return Tanh(x);
    case kRecurrentRelu: return Relu(x);
    case kRecurrentAffine: return alpha * x + beta;
    case kRecurrentLeakyRelu: return x < 0.0 ? alpha * x : x;
    case kRecurrentThresholdedRelu: return x > alpha ? x : 0.0;
    case kRecurrentScaledTanh: return alpha * Tanh(beta * x);
    case kRecurrentHardSigmoid: return HardSigmoid(x, alpha, beta);
    case kRecurrentElu: return x < 0.0 ? alpha * Expm1(x) : x;
    case kRecurrentSoftsign: return x / (1.0 + abs(x));
    default: return Softplus(x);
  }
}
float Squash(uint kind, uint i, float x) {
  if ((kFlags & kRecurrentClip) != 0u) x = Within(x, -P_CLIP, P_CLIP);
  return Function(kind, x, P_ALPHA(i), P_BETA(i));
}

// The two biases of a gate: one is added to the products with the inputs, the other to those with the state.
float InputBias(uint gate, uint unit) {
  if ((kFlags & kRecurrentBias) == 0u) return 0.0;
  return float(b_data[(P_DIRECTION * 2u * GATES + gate) * P_HIDDEN + unit]);
}
float StateBias(uint gate, uint unit) {
  if ((kFlags & kRecurrentBias) == 0u) return 0.0;
  return float(b_data[((P_DIRECTION * 2u + 1u) * GATES + gate) * P_HIDDEN + unit]);
}

void main() {
  const uint index = Index();
  if (index >= P_BATCH * P_HIDDEN) return;
  const uint unit = index % P_HIDDEN;
  const uint sequence = index / P_HIDDEN;
  uint length = P_STEPS;
  if ((kFlags & kRecurrentLengths) != 0u) length = uint(clamp(lengths[sequence], 0, int(P_STEPS)));
  const bool batch_first = (kFlags & kRecurrentBatchFirst) != 0u;
  const bool under_way = P_STEP < length;
  const uint position = under_way && (kFlags & kRecurrentReversed) != 0u ? length - 1u - P_STEP : P_STEP;
  const uint y_at = batch_first
                        ? ((sequence * P_STEPS + position) * P_DIRECTIONS + P_DIRECTION) * P_HIDDEN + unit
                        : ((position * P_DIRECTIONS + P_DIRECTION) * P_BATCH + sequence) * P_HIDDEN + unit;
  if (!under_way) {
    h_after[index] = h_before[index];
#ifndef GRU_GATES
    if ((kFlags & kRecurrentY) != 0u) y[y_at] = T(0.0);
#endif
    return;
  }
  const uint row = (batch_first ? sequence * P_STEPS + position : position * P_BATCH + sequence) * GATES * P_HIDDEN + unit;
  const uint state = sequence * P_HIDDEN;
  const uint weights = (P_DIRECTION * GATES * P_HIDDEN + unit) * P_HIDDEN;
  const uint next_gate = P_HIDDEN * P_HIDDEN;

#if defined(GRU_CANDIDATE)
  float sum = 0.0;
  for (uint k = 0u; k < P_HIDDEN; ++k)
    sum += float(r_data[weights + 2u * next_gate + k]) * float(extra[state + k]);
  const float candidate = Squash(
      kSecond, 1u, float(projected[row + 2u * P_HIDDEN]) + InputBias(2u, unit) + StateBias(2u, unit) + sum);
  const float update = float(cell[index]);
  const float h = (1.0 - update) * candidate + update * float(h_before[index]);
#elif defined(GRU_GATES) || defined(GRU)
  vec3 sums = vec3(0.0);
  for (uint k = 0u; k < P_HIDDEN; ++k) {
    const float h_k = float(h_before[state + k]);
    sums.x += float(r_data[weights + k]) * h_k;
    sums.y += float(r_data[weights + next_gate + k]) * h_k;
#ifdef GRU
    sums.z += float(r_data[weights + 2u * next_gate + k]) * h_k;
#endif
  }
  const float update = Squash(kFirst, 0u, float(projected[row]) + InputBias(0u, unit) + StateBias(0u, unit) + sums.x);
  const float reset = Squash(
      kFirst, 0u, float(projected[row + P_HIDDEN]) + InputBias(1u, unit) + StateBias(1u, unit) + sums.y);
  const float before = float(h_before[index]);
#ifdef GRU_GATES
  cell[index] = T(update);
  h_after[index] = T(reset * before);
  return;
#else
  const float candidate = Squash(kSecond, 1u, float(projected[row + 2u * P_HIDDEN]) + InputBias(2u, unit) +
                                                  reset * (sums.z + StateBias(2u, unit)));
  const float h = (1.0 - update) * candidate + update * before;
#endif
#elif defined(LSTM)
  vec4 sums = vec4(0.0);  // input, output, forget, candidate
  for (uint k = 0u; k < P_HIDDEN; ++k) {
    const float h_k = float(h_before[state + k]);
    sums.x += float(r_data[weights + k]) * h_k;
    sums.y += float(r_data[weights + next_gate + k]) * h_k;
    sums.z += float(r_data[weights + 2u * next_gate + k]) * h_k;
    sums.w += float(r_data[weights + 3u * next_gate + k]) * h_k;
  }
  for (uint gate = 0u; gate < 4u; ++gate)
    sums[gate] += float(projected[row + gate * P_HIDDEN]) + InputBias(gate, unit) + StateBias(gate, unit);
  float c = float(cell[index]);
  const uint peephole = P_DIRECTION * 3u * P_HIDDEN + unit;
  if ((kFlags & kRecurrentPeepholes) != 0u) {
    sums.x += float(extra[peephole]) * c;
    sums.z += float(extra[peephole + 2u * P_HIDDEN]) * c;
  }
  const float enter = Squash(kFirst, 0u, sums.x);
  const float forget = (kFlags & kRecurrentInputForget) != 0u ? 1.0 - enter : Squash(kFirst, 0u, sums.z);
  c = forget * c + enter * Squash(kSecond, 1u, sums.w);
  if ((kFlags & kRecurrentPeepholes) != 0u) sums.y += float(extra[peephole + P_HIDDEN]) * c;
  const float h = Squash(kFirst, 0u, sums.y) * Function(kThird, c, P_ALPHA(2u), P_BETA(2u));
  cell[index] = T(c);
#else
  float sum = float(projected[row]) + InputBias(0u, unit) + StateBias(0u, unit);
  for (uint k = 0u; k < P_HIDDEN; ++k) sum += float(r_data[weights + k]) * float(h_before[state + k]);
  const float h = Squash(kFirst, 0u, sum);
#endif
#ifndef GRU_GATES
  h_after[index] = T(h);
  if ((kFlags & kRecurrentY) != 0u) y[y_at] = T(h);
#endif
}
