// Which part of a product of quads an invocation has, and where its input begins: parameters as RecordQuads of
// ops/quantized/quads.cpp writes them.
#define P_IMAGES p[0]
#define P_GROUPS p[1]
#define P_FILTERS p[2]  // of a group
#define P_QUADS p[3]    // of channels that a filter reads
#define P_POSITIONS p[4]
#define P_FILTER_BLOCKS p[5]  // of a group
#define P_PLANE p[6]          // words from one quad of channels to the next
#define P_GROUP p[7]          // from one group of the input to the next
#define P_IMAGE p[8]
#define P_KERNEL(d) p[9 + (d)]
#define P_TAP(d) p[12 + (d)]   // words from one tap to the next
#define P_STEP(d) p[15 + (d)]  // and from one output position to the next
#define P_OUT_HEIGHT p[18]
#define P_OUT_WIDTH p[19]
#define P_Y_IMAGE p[20]  // elements of y
#define P_Y_FILTER p[21]
#define P_Y_POSITION p[22]

struct Place {
  uint image, block, first;  // the block is that of all groups, `first` a position
};
// An invocation has `at_once` positions of a block. With one block a workgroup, its number is the same for all
// invocations, and a device can see that.
Place PlaceOf(uint at_once, uint blocks) {
  const uint own = gl_LocalInvocationIndex;
  const uint across = 64u / blocks;
  const uint block = gl_WorkGroupID.y * blocks + (blocks == 1u ? 0u : own / across);
  const uint first = (gl_WorkGroupID.x * across + (blocks == 1u ? own : own % across)) * at_once;
  return Place(gl_WorkGroupID.z, block, first);
}
// In words of a group's input. Positions beyond the last begin where the last does.
uint StartOf(uint position) {
  const uint at = min(position, P_POSITIONS - 1u);
  const uint row = at / P_OUT_WIDTH;
  return row / P_OUT_HEIGHT * P_STEP(0) + row % P_OUT_HEIGHT * P_STEP(1) + at % P_OUT_WIDTH * P_STEP(2);
}
