// Included at the end of a GEMM kernel's main: stores sums[MR][NV], the first element at (row, column) of y. The code
// has a long activation once, in a loop over the block, and a short one at each sum.
#if defined(LONG_ACTIVATIONS)
  for (uint block = 0u; block < MR * NV; ++block) {
    const uint i = block / NV;
    if (row + i >= P_M) return;
    vec4 four = vec4(0.0);
    [[unroll]] for (uint candidate = 0u; candidate < MR * NV; ++candidate)
      if (candidate == block) four = sums[candidate / NV][candidate % NV];
    const uint first = column + block % NV * 4u;
    for (uint j = 0u; j < 4u && first + j < P_N; ++j) {
      const uint at = offsets.y + (row + i) * P_Y_ROW + (first + j) * P_Y_N;
      const float value = Complete(at, batch, row + i, first + j, four[j]);
      y_data[at] = T(Activate(kActivation, value, P_P0, P_P1));
    }
  }
#else
  [[unroll]] for (uint i = 0u; i < MR; ++i) {
    if (row + i >= P_M) return;
    [[unroll]] for (uint j = 0u; j < NV * 4u; ++j) {
      if (column + j >= P_N) break;
      const uint at = offsets.y + (row + i) * P_Y_ROW + (column + j) * P_Y_N;
      const float value = Complete(at, batch, row + i, column + j, sums[i][j / 4u][j % 4u]);
      y_data[at] = T(ActivateShort(kActivation, value, P_P0, P_P1));
    }
  }
#endif
