// The part of a product of quads that an invocation computes, and where its input begins. RecordQuads of
// ops/quantized/quads.cpp writes the parameters.
//
// The words of p[] behind the first one, which is the number of images. Each is read once, before main, as in
// product.glsl.
uint P_GROUPS = p[1];
uint P_FILTERS = p[2];  // filters of a group
uint P_QUADS = p[3];    // quads of channels that a filter reads
uint P_POSITIONS = p[4];
uint P_FILTER_BLOCKS = p[5];  // blocks of filters of a group
uint P_PLANE = p[6];          // words from one quad of channels to the next
uint P_GROUP = p[7];          // words from one group of the input to the next
uint P_IMAGE = p[8];          // words from one image to the next
uvec3 P_KERNEL = uvec3(p[9], p[10], p[11]);
uvec3 P_TAP = uvec3(p[12], p[13], p[14]);   // words from one tap to the next
uvec3 P_STEP = uvec3(p[15], p[16], p[17]);  // strides from one output position to the next
uint P_OUT_HEIGHT = p[18];
uint P_OUT_WIDTH = p[19];
uint P_Y_IMAGE = p[20];     // elements of y from one image to the next
uint P_Y_FILTER = p[21];    // elements of y from one filter to the next
uint P_Y_POSITION = p[22];  // elements of y from one position to the next

struct Place {
  uint image, block, first;  // `block` counts those of all groups; `first` is a position
};
// An invocation computes `at_once` positions of a block of filters. With one block a workgroup, the block's number is
// the same for all invocations, and a device can see that.
Place PlaceOf(uint at_once, uint blocks) {
  const uint own = gl_LocalInvocationIndex;
  const uint across = kLinearGroup / blocks;
  const uint block = gl_WorkGroupID.y * blocks + (blocks == 1u ? 0u : own / across);
  const uint first = (gl_WorkGroupID.x * across + (blocks == 1u ? own : own % across)) * at_once;
  return Place(gl_WorkGroupID.z, block, first);
}
// The first word that an output position reads, counted from the beginning of a group's input. Positions beyond the
// last one begin where the last one does.
uint StartOf(uint position) {
  const uint at = min(position, P_POSITIONS - 1u);
  const uint row = at / P_OUT_WIDTH;
  return row / P_OUT_HEIGHT * P_STEP[0] + row % P_OUT_HEIGHT * P_STEP[1] + at % P_OUT_WIDTH * P_STEP[2];
}
