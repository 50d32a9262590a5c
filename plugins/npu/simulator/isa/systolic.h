// Cycles of a systolic array for GEMMs C [m][n] = A [m][k] B [k][n], from its geometry alone. A fold is a tile of rows
// x columns of one operand, or of the result, that stays in the array. The third dimension streams through it.
//
//   Folds folds = FoldsOf(Dataflow::kWeightStationary, 16, 16, {.m = 196, .n = 256, .k = 1024});
//   IsolatedFoldCycles(folds, 16, 16);    // each fold waits for the one before to drain: SCALE-Sim's array
//   ChainedFoldCycles(folds, 16, 16);     // folds follow each other without draining between
//   StreamedFoldCycles(...);              // and the next fold's weights move in behind the stream: the simulated NPU
//
// Source of the isolated form: A. Samajdar et al., "A Systematic Methodology for Characterizing Scalability of DNN
// Accelerators using SCALE-Sim", ISPASS 2020.
#pragma once

#include <algorithm>
#include <cstdint>

namespace epiphyte::npusim {

enum class Dataflow { kOutputStationary, kWeightStationary, kInputStationary };

struct Product3 {
  uint64_t m = 1, n = 1, k = 1;
};

struct Folds {
  uint64_t count = 0;
  uint64_t stream = 0;     // cycles for which operands stream through a fold
  bool preloaded = false;  // the stationary tile is first moved in, row by row
};

inline Folds FoldsOf(Dataflow dataflow, uint64_t rows, uint64_t columns, const Product3& p) {
  const auto tiles = [](uint64_t size, uint64_t of) { return (size + of - 1) / of; };
  switch (dataflow) {
    case Dataflow::kOutputStationary: return {tiles(p.m, rows) * tiles(p.n, columns), p.k, false};
    case Dataflow::kWeightStationary: return {tiles(p.k, rows) * tiles(p.n, columns), p.m, true};
    case Dataflow::kInputStationary: return {tiles(p.k, rows) * tiles(p.m, columns), p.n, true};
  }
  return {};
}

// Cycles from the first operand at one corner of the array to the last one at the opposite corner.
inline uint64_t SkewCycles(uint64_t rows, uint64_t columns) { return rows + columns - 2; }

inline uint64_t IsolatedFoldCycles(const Folds& folds, uint64_t rows, uint64_t columns) {
  return folds.count * ((folds.preloaded ? rows : 0) + folds.stream + SkewCycles(rows, columns));
}

// Cycles of all folds, without the single skew at the end.
inline uint64_t ChainedFoldCycles(const Folds& folds, uint64_t rows) {
  return folds.count * ((folds.preloaded ? rows : 0) + folds.stream);
}

// Weight stationary with two sets of weights: a fold takes as long as its pixels or as the next fold's weights,
// whichever takes longer.
inline uint64_t StreamedFoldCycles(uint64_t folds, uint64_t pixels, uint64_t rows, uint64_t columns) {
  return rows + folds * std::max(pixels, rows) + SkewCycles(rows, columns);
}

}  // namespace epiphyte::npusim
