// Code that all shaders of convolutions share: the geometry, which ops/nn/conv.cpp writes as words of p[], and the
// conversion of a sum to its stored result.
//
// The input has its padding already (conv_border.comp), so that a tap of an output position is a fixed distance away:
// x[first element that the position reads + distance of the tap].
#include "activation.glsl"

layout(constant_id = 0) const uint kActivation = ACTIVATION_NONE;
layout(constant_id = 1) const uint kHasBias = 0;
layout(constant_id = 2) const uint kHasResidual = 0;

// The words of p[], each read once, before main, as in product.glsl.
uint IMAGES = p[0];
uint GROUPS = p[1];
uint FILTERS = p[2];        // filters of a group
uint CHANNELS = p[3];       // input channels that a filter reads
uint POSITIONS = p[4];      // output positions of one filter
uint BLOCKS = p[5];         // blocks of positions
uint FILTER_BLOCKS = p[6];  // blocks of filters of a group
uint PLANE = p[7];          // elements from one channel of the input to the next
uint IMAGE = p[8];          // stride from one image to the next
uvec3 kernel_dims = uvec3(p[9], p[10], p[11]);
uvec3 taps = uvec3(p[12], p[13], p[14]);
uvec3 steps_of = uvec3(p[15], p[16], p[17]);
#define KERNEL(d) kernel_dims[d]
#define TAP(d) taps[d]       // elements from one tap to the next
#define STEP(d) steps_of[d]  // stride from one output position to the next
uint OUT_HEIGHT = p[18];
uint OUT_WIDTH = p[19];
float ALPHA = uintBitsToFloat(p[20]);
float BETA = uintBitsToFloat(p[21]);

#if defined(T_F16)
#define T4 f16vec4
#else
#define T4 vec4
#endif

// Converts a sum to its stored form. A long activation is applied later, where the code has it once.
#if defined(LONG_ACTIVATIONS)
#define STORED(sum) T(sum)
#else
#define STORED(sum) T(ActivateShort(kActivation, sum, ALPHA, BETA))
#endif

// Coordinates of an output position.
struct Place {
  uint z, y, x;
};
Place PlaceOf(uint position) {
  const uint row = position / OUT_WIDTH;
  return Place(row / OUT_HEIGHT, row % OUT_HEIGHT, position % OUT_WIDTH);
}
// The first input element that an output position reads, counted from the beginning of the plane.
uint Start(Place at) { return at.z * STEP(0) + at.y * STEP(1) + at.x * STEP(2); }
Place Next(Place at) {
  if (++at.x == OUT_WIDTH) {
    at.x = 0;
    if (++at.y == OUT_HEIGHT) {
      at.y = 0;
      ++at.z;
    }
  }
  return at;
}
