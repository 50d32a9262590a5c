//! variant attention_softmax.f32 T_F32 MASK=float
//! variant attention_softmax_bool.f32 T_F32 USES_8 MASK=uint8_t MASK_IS_BOOL
//! variant attention_softmax.f16 T_F16 MASK=float16_t
//! variant attention_softmax_bool.f16 T_F16 USES_8 MASK=uint8_t MASK_IS_BOOL
//! variant attention_softmax_shared.f32 T_F32 MASK=float SHARED
//! variant attention_softmax_bool_shared.f32 T_F32 USES_8 MASK=uint8_t MASK_IS_BOOL SHARED
//! variant attention_softmax_shared.f16 T_F16 MASK=float16_t SHARED
//! variant attention_softmax_bool_shared.f16 T_F16 USES_8 MASK=uint8_t MASK_IS_BOOL SHARED
//! variant attention_softmax_subgroup.f32 T_F32 MASK=float SUBGROUP
//! variant attention_softmax_bool_subgroup.f32 T_F32 USES_8 MASK=uint8_t MASK_IS_BOOL SUBGROUP
//! variant attention_softmax_subgroup.f16 T_F16 MASK=float16_t SUBGROUP
//! variant attention_softmax_bool_subgroup.f16 T_F16 USES_8 MASK=uint8_t MASK_IS_BOOL SUBGROUP
// Turns scores [batch, heads, queries, total] into weights in place: softcap, mask, causality, softmax. Rows are padded
// to a pitch. The padding becomes 0, and so does a row with no visible key.
#version 450
#include "common.glsl"
#define ROW_CONSTANTS 2
#include "rows.glsl"

layout(constant_id = 0) const uint kFlags = 0u;
layout(constant_id = 1) const uint kShown = 4u;  // stage that is written out: raw, capped, masked, softmax; 4: none
layout(std430, set = 0, binding = 1) buffer Scores { T scores[]; };
layout(std430, set = 0, binding = 2) readonly buffer Mask { MASK mask[]; };
layout(std430, set = 0, binding = 3) readonly buffer Lengths { uvec2 lengths[]; };  // int64
layout(std430, set = 0, binding = 4) writeonly buffer Shown { T shown[]; };

// The words of p[], each read once, before main, as in product.glsl.
uint P_ROWS = p[0];
uint P_TOTAL = p[1];
uint P_PITCH = p[2];
uint P_HEADS = p[3];
uint P_QUERIES = p[4];
uint P_MASK_BATCH = p[5];
uint P_MASK_HEAD = p[6];
uint P_MASK_QUERY = p[7];
uint P_MASK_KEY = p[8];
uint P_MASK_LENGTH = p[9];
uint P_BEFORE = p[10];
float P_SOFTCAP = uintBitsToFloat(p[11]);

// The number of keys that a query of an image may see.
uint VisibleKeys(uint image, uint query) {
  int visible = int(P_TOTAL);
  int before = int(P_BEFORE);
  if ((kFlags & kAttentionLengths) != 0u) {
    const uvec2 given = lengths[image];
    const int length = given.y == 0u ? int(min(given.x, 0x7FFFFFFFu)) : (int(given.y) < 0 ? 0 : 0x7FFFFFFF);
    visible = min(visible, length);
    if (before < 0) before = length - int(P_QUERIES);
  }
  if ((kFlags & kAttentionCausal) != 0u && before < int(P_TOTAL)) visible = min(visible, int(query) + before + 1);
  return uint(max(visible, 0));
}

void Compute(uint row) {
  const uint query = row % P_QUERIES;
  const uint head = row / P_QUERIES % P_HEADS;
  const uint image = row / (P_QUERIES * P_HEADS);
  const uint at = row * P_PITCH;
  const uint mask_at = image * P_MASK_BATCH + head * P_MASK_HEAD + query * P_MASK_QUERY;
  const uint visible = VisibleKeys(image, query);

  float largest = -Infinity();
  for (uint i = row_first; i < P_TOTAL; i += row_step) {
    float value = float(scores[at + i]);
    if (kShown == 0u) shown[row * P_TOTAL + i] = T(value);
    if ((kFlags & kAttentionSoftcap) != 0u) value = Tanh(value / P_SOFTCAP) * P_SOFTCAP;
    if (kShown == 1u) shown[row * P_TOTAL + i] = T(value);
    if ((kFlags & kAttentionMask) != 0u) {
      if (i >= P_MASK_LENGTH) {
        value = -Infinity();
      } else {
#ifdef MASK_IS_BOOL
        if (uint(mask[mask_at + i * P_MASK_KEY]) == 0u) value = -Infinity();
#else
        value += float(mask[mask_at + i * P_MASK_KEY]);
#endif
      }
    }
    if (i >= visible) value = -Infinity();
    if (kShown == 2u) shown[row * P_TOTAL + i] = T(value);
    if (kFlags != 0u) scores[at + i] = T(value);
    largest = Larger(largest, value);
  }
  largest = RowLargest(largest);
  const bool blind = largest == -Infinity();

  float sum = 0.0;
  for (uint i = row_first; i < P_TOTAL; i += row_step) {
    const float value = blind ? 0.0 : Exp(float(scores[at + i]) - largest);
    sum += value;
    scores[at + i] = T(value);
  }
  sum = RowSum(sum);
  const float factor = blind ? 0.0 : 1.0 / sum;
  for (uint i = row_first; i < P_TOTAL; i += row_step) {
    const float value = float(scores[at + i]) * factor;
    scores[at + i] = T(value);
    if (kShown == 3u) shown[row * P_TOTAL + i] = T(value);
  }
  for (uint i = P_TOTAL + row_first; i < P_PITCH; i += row_step) scores[at + i] = T(0.0);
}

void main() {
  FOR_ROWS(row, P_ROWS) Compute(row);
}
