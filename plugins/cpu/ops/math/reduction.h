// Reduction: loops over a tensor with some dimensions reduced to one value.
//
// Adjacent dimensions of one kind are joined first, so that most reductions become a few long loops. A function object
// defines the operation:
//
//     struct Sum {
//       using Fold = Sum;  // the operation that has the same loops; operations that differ in Finish share one
//       static constexpr simd::Reduction kFloats = …;          // its loop over floats, without Finish
//       template <typename T> using Acc = …;                   // accumulator for elements of type T
//       template <typename A> A Initial() const;               // value of an empty set
//       template <typename A> A Load(A x, A shift) const;      // value of an element; shift: see below
//       template <typename A> A Combine(A a, A b) const;
//       template <typename A> A Finish(A a, int64_t n, A shift) const;
//     };
//
// Optional `shifts` have a value for each output: log-sum-exp subtracts the maximum first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/reduce/reduce.h"

namespace epiphyte::cpu {

class ReductionShape {
 public:
  ReductionShape(const Dims& dims, const std::vector<bool>& reduced) {
    int64_t stride = 1;
    bool last_reduced = false;
    for (size_t i = dims.size(); i-- > 0;) {
      if (dims[i] == 1) continue;
      std::vector<Loop>& loops = reduced[i] ? reduced_ : kept_;
      const bool joins =
          !loops.empty() && stride == loops.back().stride * loops.back().size && last_reduced == reduced[i];
      if (joins) {
        loops.back().size *= dims[i];
      } else {
        loops.push_back({dims[i], stride});
      }
      stride *= dims[i];
      last_reduced = reduced[i];
    }
    for (const Loop& loop : kept_) outputs_ *= loop.size;
    for (const Loop& loop : reduced_) folded_ *= loop.size;
    // A dimension of size 0 leaves strides of 0, but then nothing is read.
    inner_kept_ = !kept_.empty() && (reduced_.empty() || kept_[0].stride < reduced_[0].stride);
  }

  int64_t outputs() const { return outputs_; }
  int64_t folded() const { return folded_; }  // elements per output
  // True when the innermost dimension is kept: rows of outputs are computed together.
  bool inner_kept() const { return inner_kept_; }
  int64_t inner_kept_size() const { return inner_kept_ ? kept_[0].size : 1; }

  // Offset of the first element of output `index`.
  int64_t Offset(int64_t index) const {
    int64_t offset = 0;
    for (const Loop& loop : kept_) {
      offset += index % loop.size * loop.stride;
      index /= loop.size;
    }
    return offset;
  }

  // Calls run(offset, n) for each run of `n` reduced elements with stride `run_stride`; offsets are relative to Offset.
  template <typename Run>
  void ForEachRun(const Run& run) const {
    if (folded_ == 0) return;
    if (reduced_.empty()) return run(int64_t{0}, int64_t{1});
    const int64_t n = reduced_[0].size;
    if (reduced_.size() == 1) return run(int64_t{0}, n);
    Dims index(reduced_.size(), 0);
    for (int64_t offset = 0;;) {
      run(offset, n);
      size_t d = 1;
      for (; d < reduced_.size(); ++d) {
        offset += reduced_[d].stride;
        if (++index[d] < reduced_[d].size) break;
        offset -= reduced_[d].size * reduced_[d].stride;
        index[d] = 0;
      }
      if (d == reduced_.size()) return;
    }
  }
  // The stride is 1 unless inner_kept.
  int64_t run_stride() const { return reduced_.empty() ? 1 : reduced_[0].stride; }
  // True when all elements of an output are one run.
  bool is_one_run() const { return reduced_.size() == 1; }

 private:
  struct Loop {
    int64_t size;
    int64_t stride;
  };
  std::vector<Loop> kept_;  // innermost first
  std::vector<Loop> reduced_;
  int64_t outputs_ = 1;
  int64_t folded_ = 1;
  bool inner_kept_ = false;
};

// Up to this length, a plain loop of additions or comparisons is faster than a call.
inline constexpr int64_t kShortRun = 8;
template <typename Op>
bool GoesByVectors(int64_t n) {
  return n > kShortRun || Op::kFloats == simd::Reduction::kSumOfExponentials;
}

// Loops that accumulate in A: over doubles for double, otherwise over floats.
template <typename A>
using ReduceLoops = std::conditional_t<std::is_same_v<A, double>, simd::DoubleReduceLoop, simd::ReduceLoop>;
template <typename Op, typename A>
inline constexpr bool kHasLoops = std::is_same_v<A, float> ||
                                  (std::is_same_v<A, double> && Op::kFloats != simd::Reduction::kSumOfExponentials);

// Row function that reduces integers, where one exists.
template <typename Op, typename A>
constexpr std::optional<simd::NumberFunction> FoldOf() {
  if constexpr (std::is_integral_v<A> && simd::kHasNumberLoops<A>) {
    if (Op::kFloats == simd::Reduction::kSum) return simd::NumberFunction::kAdd;
    if (Op::kFloats == simd::Reduction::kLargest) return simd::NumberFunction::kMax;
    if (Op::kFloats == simd::Reduction::kSmallest) return simd::NumberFunction::kMin;
  }
  return std::nullopt;
}

// The elements that are reduced, each converted to the accumulator's type A. The loops below are compiled once for each
// A and not for each element type.
template <typename A>
class ReductionInput {
 public:
  template <typename T>
  explicit ReductionInput(const T* x) : data_(reinterpret_cast<const std::byte*>(x)), element_(sizeof(T)) {
    if constexpr (kIsSmallFloat<T> && std::is_same_v<A, float>) {
      load_ = [](const std::byte* from, A* to, int64_t n) {
        SmallFloats<T>().load(reinterpret_cast<const T*>(from), to, n);
      };
    } else if constexpr (!std::is_same_v<T, A>) {
      load_ = [](const std::byte* from, A* to, int64_t n) {
        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<A>(reinterpret_cast<const T*>(from)[i]);
      };
    }
  }

  ReductionInput At(int64_t offset) const {
    ReductionInput moved = *this;
    moved.data_ += offset * element_;
    return moved;
  }
  // The elements themselves; null when they have to be loaded.
  const A* elements() const { return load_ == nullptr ? reinterpret_cast<const A*>(data_) : nullptr; }
  // Converts the first `n` elements.
  void Load(A* to, int64_t n) const { load_(data_, to, n); }

 private:
  const std::byte* data_;
  int64_t element_;  // bytes
  void (*load_)(const std::byte* from, A* to, int64_t n) = nullptr;
};

// Finishes the outputs, and converts them from A to the output's type.
template <typename A>
class ReductionOutput {
 public:
  template <typename Op, typename R>
  ReductionOutput(const Op&, int64_t folded, const A* shifts, R* y)
      : data_(y),
        folded_(folded),
        shifts_(shifts),
        store_([](const ReductionOutput& out, const A* from, int64_t begin, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            const A shift = out.shifts_ == nullptr ? A(0) : out.shifts_[begin + i];
            static_cast<R*>(out.data_)[begin + i] = NumberAs<R>(Op().Finish(from[i], out.folded_, shift));
          }
        }) {}

  // Takes the accumulators of `n` outputs from output `begin` on.
  void Store(const A* accumulators, int64_t begin, int64_t n) const { store_(*this, accumulators, begin, n); }

 private:
  void* data_;
  int64_t folded_;   // elements per output
  const A* shifts_;  // null: none
  void (*store_)(const ReductionOutput& out, const A* from, int64_t begin, int64_t n);
};

template <typename Op, typename A>
A ReduceElements(const Op& op, const ReduceLoops<A>& loops, const A* x, int64_t n, A shift) {
  if constexpr (kHasLoops<Op, A>) {
    if (GoesByVectors<Op>(n)) return loops(x, n, shift);
  }
  if constexpr (FoldOf<Op, A>().has_value()) {
    if (n > kShortRun) return simd::NumberFold<A>(*FoldOf<Op, A>())(x, n);
  }
  // Several independent chains run in parallel.
  constexpr int64_t kChains = 16;
  A acc = op.template Initial<A>();
  int64_t i = 0;
  if (n >= 2 * kChains) {
    A chains[kChains];
    std::fill_n(chains, kChains, acc);
    for (; i + kChains <= n; i += kChains)
      for (int64_t c = 0; c < kChains; ++c) chains[c] = op.Combine(chains[c], op.Load(x[i + c], shift));
    for (const A chain : chains) acc = op.Combine(acc, chain);
  }
  for (; i < n; ++i) acc = op.Combine(acc, op.Load(x[i], shift));
  return acc;
}

template <typename Op, typename A>
A ReduceRun(const Op& op, const ReduceLoops<A>& loops, const ReductionInput<A>& x, int64_t n, A shift) {
  if (x.elements() != nullptr) return ReduceElements<Op, A>(op, loops, x.elements(), n, shift);
  A block[kFloatBlock];
  A acc = op.template Initial<A>();
  ForEachFloatBlock(n, [&](int64_t at, int64_t count) {
    x.At(at).Load(block, count);
    acc = op.Combine(acc, ReduceElements<Op, A>(op, loops, block, count, shift));
  });
  return acc;
}

template <typename Op, typename A>
void AccumulateElements(const Op& op, const ReduceLoops<A>& loops, const A* x, A* acc, int64_t n, const A* shifts) {
  if constexpr (kHasLoops<Op, A>) {
    if (GoesByVectors<Op>(n)) return loops.Accumulate(x, acc, n, shifts);
  }
  if constexpr (FoldOf<Op, A>().has_value()) return simd::NumberLoop<A>(*FoldOf<Op, A>())(acc, 1, x, 1, acc, n);
  for (int64_t i = 0; i < n; ++i) acc[i] = op.Combine(acc[i], op.Load(x[i], shifts == nullptr ? A(0) : shifts[i]));
}

template <typename Op, typename A>
void AccumulateRow(const Op& op, const ReduceLoops<A>& loops, const ReductionInput<A>& x, A* acc, int64_t n,
                   const A* shifts) {
  if (x.elements() != nullptr) return AccumulateElements<Op, A>(op, loops, x.elements(), acc, n, shifts);
  A block[kFloatBlock];
  ForEachFloatBlock(n, [&](int64_t at, int64_t count) {
    x.At(at).Load(block, count);
    AccumulateElements<Op, A>(op, loops, block, acc + at, count, shifts == nullptr ? nullptr : shifts + at);
  });
}

// Accumulates `rows` rows, one after the other.
template <typename Op, typename A>
void AccumulateRows(const Op& op, const ReduceLoops<A>& loops, const ReductionInput<A>& x, int64_t stride, int64_t rows,
                    A* acc, int64_t n, const A* shifts) {
  if constexpr (kHasLoops<Op, A>) {
    if (x.elements() != nullptr && shifts == nullptr && GoesByVectors<Op>(n))
      return loops.AccumulateRows(x.elements(), stride, rows, acc, n);
  }
  for (int64_t r = 0; r < rows; ++r) AccumulateRow<Op, A>(op, loops, x.At(r * stride), acc, n, shifts);
}

// Number of parts into which the rows of few outputs are cut. The threads' shares are then contiguous in memory, and
// sums are shorter. It depends only on the shape, so results do not depend on the number of threads.
inline int64_t RowParts(const ReductionShape& shape) {
  constexpr int64_t kMostParts = 8, kMostOutputs = 4096, kElements = 16384;
  if (!shape.inner_kept() || !shape.is_one_run() || shape.outputs() > kMostOutputs) return 1;
  const int64_t parts = std::min(shape.outputs() * shape.folded() / kElements, shape.folded() / kMostParts);
  return std::clamp<int64_t>(parts, 1, kMostParts);
}

template <typename Op, typename A>
void ReduceInParts(OpContext& context, const Op& op, const ReductionShape& shape, int64_t parts,
                   const ReductionInput<A>& x, const A* shifts, const ReductionOutput<A>& y) {
  const ReduceLoops<A> loops(Op::kFloats);
  const int64_t row = shape.inner_kept_size(), outputs = shape.outputs(), rows = shape.folded();
  auto* found = static_cast<A*>(context.Scratch(static_cast<uint64_t>(parts * outputs) * sizeof(A)));
  // Accumulators, indexed by the first output of a row, then by part.
  context.ParallelFor(outputs / row * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t output = i / parts * row, first = i % parts * rows / parts, last = (i % parts + 1) * rows / parts;
      A* const acc = found + i * row;
      std::fill_n(acc, row, op.template Initial<A>());
      AccumulateRows<Op, A>(op, loops, x.At(shape.Offset(output) + first * shape.run_stride()), shape.run_stride(),
                            last - first, acc, row, shifts == nullptr ? nullptr : shifts + output);
    }
  });
  for (int64_t i = 0; i < outputs; ++i) {
    const A* const of = found + i / row * parts * row + i % row;
    A acc = of[0];
    for (int64_t part = 1; part < parts; ++part) acc = op.Combine(acc, of[part * row]);
    y.Store(&acc, i, 1);
  }
}

template <typename Op, typename A>
void ReduceTo(OpContext& context, const Op& op, const ReductionShape& shape, const ReductionInput<A>& x,
              const A* shifts, const ReductionOutput<A>& y) {
  const int64_t folded = shape.folded();
  const ReduceLoops<A> loops(Op::kFloats);
  const auto shift_of = [shifts](int64_t i) { return shifts == nullptr ? A(0) : shifts[i]; };
  if (!shape.inner_kept()) {
    ParallelLoop(context, shape.outputs(), std::max<int64_t>(folded, 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const ReductionInput<A> base = x.At(shape.Offset(i));
        A acc = op.template Initial<A>();
        shape.ForEachRun([&](int64_t offset, int64_t n) {
          acc = op.Combine(acc, ReduceRun<Op, A>(op, loops, base.At(offset), n, shift_of(i)));
        });
        y.Store(&acc, i, 1);
      }
    });
    return;
  }
  if (const int64_t parts = RowParts(shape); parts > 1)
    return ReduceInParts<Op, A>(context, op, shape, parts, x, shifts, y);
  constexpr int64_t kBlock = 256;
  const int64_t row = shape.inner_kept_size();
  ParallelLoop(context, shape.outputs(), std::max<int64_t>(folded, 1), [&](int64_t begin, int64_t end) {
    A acc[kBlock];
    for (int64_t i = begin; i < end;) {
      const int64_t n = std::min({kBlock, end - i, row - i % row});
      std::fill_n(acc, n, op.template Initial<A>());
      const ReductionInput<A> base = x.At(shape.Offset(i));
      shape.ForEachRun([&](int64_t offset, int64_t rows) {
        AccumulateRows<Op, A>(op, loops, base.At(offset), shape.run_stride(), rows, acc, n,
                              shifts == nullptr ? nullptr : shifts + i);
      });
      y.Store(acc, i, n);
      i += n;
    }
  });
}

// y[i] = the reduction of the elements that belong to output i, accumulated in A.
template <typename A, typename Op, typename T, typename R>
void Reduce(OpContext& context, const Op& op, const ReductionShape& shape, const T* x, const A* shifts, R* y) {
  const ReductionOutput<A> out(op, shape.folded(), shifts, y);
  ReduceTo(context, typename Op::Fold(), shape, ReductionInput<A>(x), shifts, out);
}

}  // namespace epiphyte::cpu
