//! variant quads_of_planes USES_8
// Converts a tensor of bytes, with a plane for each channel, to quads: [image][group][quad of channels][position].
// Planes get a border that holds the zero point, or lose some elements at their edges. An invocation writes up to 16
// words of a row. Channels that a group's last quad lacks are 0, as the product kernel reads bytes.
#version 450
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
layout(local_size_x = kLinearGroup) in;

layout(constant_id = 0) const uint kHasZero = 0u;
layout(constant_id = 1) const uint kFlip = 0u;     // XOR mask of words: 0x80808080 or 0 (quads.glsl)
layout(constant_id = 2) const uint kHasRest = 0u;  // the input's last word is not whole
layout(std430, set = 0, binding = 1) readonly buffer Words { uint x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Bytes { uint8_t x_bytes[]; };
layout(std430, set = 0, binding = 2) readonly buffer Zero { uint8_t zero[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Quads { uint quads[]; };

// The words of p[], each read once, before main, as in product.glsl.
uint P_COUNT = p[0];     // number of rows of quads
uint P_BYTES = p[1];     // bytes of the input
uint P_CHANNELS = p[3];  // channels of a group
ivec3 in_size = ivec3(p[4], p[5], p[6]);
ivec3 out_size = ivec3(p[7], p[8], p[9]);
ivec3 before = ivec3(p[10], p[11], p[12]);

const int kWords = 16;

uint Word(int i) {
  const int whole = int(P_BYTES / 4u);
  if (kHasRest == 0u || i < whole) return x[clamp(i, 0, max(whole - 1, 0))];
  uint word = 0u;
  [[unroll]] for (uint b = 0u; b < 3u; ++b)
    if (uint(i) * 4u + b < P_BYTES) word |= uint(x_bytes[uint(i) * 4u + b]) << (8u * b);
  return word;
}

void main() {
  const uint pieces = uint(out_size.z + kWords - 1) / uint(kWords);
  uint index = Index();
  const int first = int(index % pieces) * kWords;
  const uint row = index / pieces;
  if (row >= P_COUNT) return;
  index = row;
  const int at_y = int(index % uint(out_size.y)) - before.y;
  index /= uint(out_size.y);
  const int at_z = int(index % uint(out_size.x)) - before.x;
  index /= uint(out_size.x);
  const uint group_quads = (P_CHANNELS + 3u) / 4u;
  const uint channel = index % group_quads * 4u;
  const uint plane = index / group_quads * P_CHANNELS + channel;

  const uint fill = (kHasZero == 0u ? 0u : uint(zero[0])) * 0x01010101u;
  const uint there = min(P_CHANNELS - channel, 4u);
  const uint lanes = there == 4u ? 0xffffffffu : (1u << (8u * there)) - 1u;
  const bool inside = at_y >= 0 && at_y < in_size.y && at_z >= 0 && at_z < in_size.x;
  const int end = min(first + kWords, out_size.z);
  const uint to = row * uint(out_size.z);
  if (!inside) {
    for (int i = first; i < end; ++i) quads[to + uint(i)] = (fill ^ kFlip) & lanes;
    return;
  }
  // Byte offset of each channel's element for output element `first`; it may be before the plane.
  int at[4];
  uint last[4];  // the word that was loaded last
  [[unroll]] for (uint c = 0u; c < 4u; ++c) {
    const int of = int(plane + min(c, there - 1u));
    at[c] = ((of * in_size.x + at_z) * in_size.y + at_y) * in_size.z + first - before.z;
    last[c] = Word(at[c] >> 2);
  }
  for (int i = first; i < end; i += 4) {
    // Bytes of four positions of each channel, and which of them are in the plane.
    uint v[4];
    uint mask = 0u;
    [[unroll]] for (int k = 0; k < 4; ++k) {
      const int at_x = i + k - before.z;
      if (at_x >= 0 && at_x < in_size.z) mask |= 255u << (8 * k);
    }
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      const uint next = Word((at[c] >> 2) + 1);
      const uint shift = uint(at[c] & 3) * 8u;
      const uint four = shift == 0u ? last[c] : (last[c] >> shift) | (next << (32u - shift));
      v[c] = (four & mask) | (fill & ~mask);
      last[c] = next;
      at[c] += 4;
    }
    // The 4 x 4 bytes are transposed.
    const uint even01 = (v[0] & 0x00ff00ffu) | ((v[1] & 0x00ff00ffu) << 8);
    const uint odd01 = ((v[0] >> 8) & 0x00ff00ffu) | (v[1] & 0xff00ff00u);
    const uint even23 = (v[2] & 0x00ff00ffu) | ((v[3] & 0x00ff00ffu) << 8);
    const uint odd23 = ((v[2] >> 8) & 0x00ff00ffu) | (v[3] & 0xff00ff00u);
    const uint result[4] = uint[]((even01 & 0xffffu) | (even23 << 16), (odd01 & 0xffffu) | (odd23 << 16),
                                  (even01 >> 16) | (even23 & 0xffff0000u), (odd01 >> 16) | (odd23 & 0xffff0000u));
    [[unroll]] for (int k = 0; k < 4; ++k)
      if (i + k < end) quads[to + uint(i + k)] = (result[k] ^ kFlip) & lanes;
  }
}
