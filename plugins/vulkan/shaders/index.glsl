// Indices that tensors hold, of int32 or int64, read as 32-bit words so that no device needs 64-bit integers for them.
// Include after common.glsl, and declare the tensor as `ix`, of uint.

const uint kNowhere = 0xffffffffu;

// Reads index i, which has `words` words, into a dimension of size `dim`. A negative index counts from the end. Returns
// kNowhere if the index is out of range.
uint ReadIndex(uint i, uint words, uint dim) {
  const uint low = ix[i * words];
  const uint high = words == 2 ? ix[i * words + 1] : uint(int(low) >> 31);
  if (int(high) < 0) {
    const uint back = 0u - low;
    return high == 0xffffffffu && back != 0u && back <= dim ? dim - back : kNowhere;
  }
  return high == 0u && low < dim ? low : kNowhere;
}
