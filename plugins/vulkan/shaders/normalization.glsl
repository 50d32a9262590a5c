// Shared by normalizations of rows: the words of p[], and the scale and bias that belong to an element of a row.
// ops/nn/row_norm.cpp writes the words.
layout(constant_id = 0) const uint kCentred = 1;  // 0: normalised by the mean square alone
layout(constant_id = 1) const uint kHasBias = 1;

#define ROWS p[0]
#define ROW_SIZE p[1]
#define EPSILON uintBitsToFloat(p[2])
// Element i of row r has the scale and bias with index (r % ROW_PERIOD) * ROW_PARAMETERS + i / REPEATED % PERIOD.
#define ROW_PERIOD p[3]
#define ROW_PARAMETERS p[4]
#define REPEATED p[5]
#define PERIOD p[6]

// The parameter of an element, for walking along a row without a division for each element.
struct ParameterWalk {
  uint base;
  uint parameter;
  uint repetition;
};
ParameterWalk WalkFrom(uint row, uint element) {
  return ParameterWalk(row % ROW_PERIOD * ROW_PARAMETERS, element / REPEATED % PERIOD, element % REPEATED);
}
uint IndexOf(ParameterWalk walk) { return walk.base + walk.parameter; }
void Advance(inout ParameterWalk walk, uint step) {
  if (REPEATED == 1) {
    walk.parameter += step;
  } else {
    walk.repetition += step;
    if (walk.repetition < REPEATED) return;
    walk.parameter += walk.repetition / REPEATED;
    walk.repetition %= REPEATED;
  }
  if (walk.parameter >= PERIOD) walk.parameter %= PERIOD;
}
