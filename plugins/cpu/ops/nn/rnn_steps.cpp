#include "plugins/cpu/ops/nn/rnn_steps.h"

#include <algorithm>

#include "plugins/cpu/kernel/lockstep.h"
#include "plugins/cpu/simd/elementwise/binary.h"
#include "plugins/cpu/simd/gemm/panel_product.h"
#include "plugins/cpu/simd/sequence/recurrent.h"

namespace epiphyte::cpu {
namespace {

class Steps {
 public:
  Steps(const RnnKind& kind, const RnnSizes& sizes, const std::vector<int64_t>& lengths,
        std::span<const RnnDirection> directions, const RnnOutputs& outputs)
      : kind_(kind), sizes_(sizes), lengths_(lengths), directions_(directions), outputs_(outputs) {
    for (const int64_t length : lengths) longest_ = std::max(longest_, length);
  }

  void Run(OpContext& context) const {
    const auto [groups, slices, grain] = Share(context.thread_count());
    if (slices > 1) {
      RunSlices(context, slices);
    } else {
      RunGroups(context, groups, grain);
    }
  }

  void GiveStates() const {
    for (int64_t d = 0; d < kind_.directions; ++d) {
      for (int64_t b = 0; b < sizes_.batch; ++b) {
        const RnnDirection& direction = directions_[static_cast<size_t>(d)];
        const int64_t n = sizes_.hidden;
        const int64_t at = kind_.batch_first ? b * kind_.directions + d : d * sizes_.batch + b;
        // A sequence without steps gives zeros.
        const auto give = [&](const float* from, float* to) {
          if (to == nullptr) return;
          if (lengths_[b] == 0) {
            std::fill_n(to + at * n, n, 0.0f);
          } else {
            std::copy_n(from + b * n, n, to + at * n);
          }
        };
        give(direction.h[longest_ % 2], outputs_.last_h);
        give(direction.c, outputs_.last_c);
      }
    }
  }

 private:
  // A thread's part of a step: a range of sequences, a range of hidden values, and that slice of the GEMM.
  struct Part {
    int64_t first, end, low, high, slice, slices;
    int64_t hidden() const { return high - low; }
  };
  // Division of the steps among threads. Groups of sequences are independent, so their threads synchronise once. Slices
  // of the hidden values let each thread read only its part of the weights, but all threads synchronise at every step.
  struct Sharing {
    int64_t groups, slices, grain;
  };

  void RunGroups(OpContext& context, int64_t groups, int64_t grain) const {
    context.ParallelFor(kind_.directions * groups, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t group = i % groups;
        const Part part{sizes_.batch * group / groups, sizes_.batch * (group + 1) / groups, 0, sizes_.hidden, 0, 1};
        for (int64_t step = 0; step < longest_; ++step) RunPhase(i / groups, part, step, 0, 1);
      }
    });
  }
  void RunSlices(OpContext& context, int64_t slices) const {
    const int64_t phases = PhasesOfStep();
    RunInStep(context, longest_ * phases, kind_.directions * slices, [&](int64_t phase, int64_t i) {
      RunPhase(i / slices, Slice(i % slices, slices), phase / phases, phase % phases, phases);
    });
  }

  Sharing Share(uint32_t thread_count) const {
    // Work of a step's GEMM that takes longer than waiting for another thread.
    constexpr double kShare = 65536;
    constexpr int64_t kCoreCache = int64_t{7} << 18, kFirstCaches = int64_t{3} << 18;
    const int64_t threads = thread_count;
    const double step = static_cast<double>(sizes_.batch) * static_cast<double>(kind_.gates * sizes_.hidden) *
                        static_cast<double>(sizes_.hidden);
    const int64_t groups =
        std::max<int64_t>(1, std::min(sizes_.batch, (threads + kind_.directions - 1) / kind_.directions));
    const int64_t grain = static_cast<double>(longest_) * step < kShare ? kind_.directions * groups : 1;
    const int64_t panels = (sizes_.hidden + simd::kPanelWidth - 1) / simd::kPanelWidth;
    const int64_t most = std::min({threads / kind_.directions, panels, Lockstep::kMostParts / kind_.directions});
    const int64_t slices = std::min(most, static_cast<int64_t>(std::min(step / kShare, 1e6)));
    if (slices < groups || slices < 2) return {groups, 1, grain};
    // Reading weights dominates when they exceed a core's cache, or when a group has few rows. Otherwise
    // synchronisation at every step costs more than slices save.
    const int64_t weights = kind_.gates * sizes_.hidden * sizes_.hidden * static_cast<int64_t>(sizeof(float));
    const bool few_rows = sizes_.batch <= 2 * groups && weights >= kFirstCaches;
    if (groups > 1 && weights <= kCoreCache && !few_rows) return {groups, 1, grain};
    return {groups, slices, grain};
  }

  // Stages of a step: GEMM and gates with hidden values. A GRU with the reset before its second GEMM has four.
  int64_t StagesOfStep() const { return kind_.cell == RnnCell::kGru && !kind_.linear_before_reset ? 4 : 2; }

  // A stage that needs results of other slices starts a new phase. With slices of whole panels, the gates need only
  // their own slice of the GEMM.
  int64_t PhasesOfStep() const { return sizes_.hidden % simd::kPanelWidth == 0 ? StagesOfStep() / 2 : StagesOfStep(); }

  Part Slice(int64_t slice, int64_t slices) const {
    const int64_t panels = (sizes_.hidden + simd::kPanelWidth - 1) / simd::kPanelWidth;
    const auto edge = [&](int64_t i) { return std::min(sizes_.hidden, panels * i / slices * simd::kPanelWidth); };
    return {0, sizes_.batch, edge(slice), edge(slice + 1), slice, slices};
  }

  // Runs one phase; a step with one phase runs all its stages.
  void RunPhase(int64_t d, const Part& part, int64_t step, int64_t phase, int64_t phases) const {
    const RnnDirection& direction = directions_[static_cast<size_t>(d)];
    const int64_t stages = StagesOfStep();
    // slices of the GEMM differ from slices of the hidden values
    const bool apart = part.slices > 1 && phases == stages;
    for (int64_t stage = 0; stage < stages; ++stage) {
      if (stage * phases / stages != phase) continue;
      if (stage + 1 == stages) {
        Finish(d, direction, part, step);
      } else if (stage == 0) {
        MultiplyState(d, direction, part, step, apart);
      } else if (stage == 1) {
        Reset(d, direction, part, step);
      } else {
        MultiplyCandidate(direction, direction.reset, part, step, apart);
      }
    }
  }

  // Prefetches rows of which other threads have just written a part. Otherwise the GEMM would wait for one cache line
  // after the other.
  static void Fetch(const float* rows, const Part& part, int64_t n) {
    if (part.slices == 1) return;
    constexpr int64_t kLine = 16;
    for (int64_t i = part.first * n; i < part.end * n; i += kLine) __builtin_prefetch(rows + i);
  }

  // y += a times panels in some columns, for the sequences of a part. Panels are whole, except for the last
  // one.
  struct Columns {
    int64_t begin, end;
  };
  static void Multiply(const float* a, const float* panels, float* y, int64_t y_stride, const Part& part,
                       Columns columns, int64_t k, int64_t step) {
    const auto [begin, end] = columns;
    simd::PanelProduct product;
    product.a = a + part.first * k;
    product.a_stride = k;
    product.panels = panels + begin * k;
    product.panel_stride = simd::kPanelWidth * k;
    product.y = y + part.first * y_stride + begin;
    product.y_stride = y_stride;
    product.sum = product.y;
    product.rows = part.end - part.first;
    product.n = end - begin;
    product.k = k;
    product.last_first = step % 2 != 0;
    simd::RunPanelProduct(product);
  }
  // Calls body(begin, end) for a part's columns in `gates` gates. The direction alternates from step to step, as in
  // PanelProduct.
  template <typename Body>
  static void ForColumns(const Part& part, int64_t gates, int64_t hidden, bool apart, int64_t step, const Body& body) {
    if (part.slices == 1) return body(int64_t{0}, gates * hidden);
    if (apart) {
      const int64_t n = gates * hidden, panels = (n + simd::kPanelWidth - 1) / simd::kPanelWidth;
      const auto edge = [&](int64_t i) { return std::min(n, panels * i / part.slices * simd::kPanelWidth); };
      return body(edge(part.slice), edge(part.slice + 1));
    }
    for (int64_t i = 0; i < gates; ++i) {
      const int64_t at = (step % 2 != 0 ? gates - 1 - i : i) * hidden;
      body(at + part.low, at + part.high);
    }
  }

  bool AnyGoesOn(const Part& part, int64_t step) const {
    for (int64_t b = part.first; b < part.end; ++b)
      if (step < lengths_[b]) return true;
    return false;
  }
  // Position in its sequence that a step processes.
  int64_t Position(int64_t d, int64_t step, int64_t b) const {
    return d == 1 || kind_.first_reversed ? lengths_[b] - 1 - step : step;
  }
  const float* Projected(const RnnDirection& direction, int64_t d, int64_t step, int64_t b) const {
    const int64_t at = Position(d, step, b);
    const int64_t row = kind_.batch_first ? b * sizes_.steps + at : at * sizes_.batch + b;
    return direction.projected + row * kind_.gates * sizes_.hidden;
  }

  // GEMM with the state for all gates, except for GRU's candidate when the reset comes first.
  void MultiplyState(int64_t d, const RnnDirection& direction, const Part& part, int64_t step, bool apart) const {
    if (!AnyGoesOn(part, step)) return;
    const int64_t n = sizes_.hidden, width = kind_.gates * n;
    const float* const h = direction.h[step % 2];
    Fetch(h, part, n);
    const bool with_candidate = kind_.cell == RnnCell::kGru && kind_.linear_before_reset;
    if (with_candidate && step % 2 != 0) MultiplyCandidate(direction, h, part, step, apart);
    ForColumns(part, kind_.RecurrenceGates(), n, apart, step, [&](int64_t begin, int64_t end) {
      for (int64_t b = part.first; b < part.end; ++b) {
        if (step < lengths_[b])
          std::copy(Projected(direction, d, step, b) + begin, Projected(direction, d, step, b) + end,
                    direction.gates + b * width + begin);
      }
      Multiply(h, direction.panels.gates, direction.gates, width, part, {begin, end}, n, step);
    });
    if (with_candidate && step % 2 == 0) MultiplyCandidate(direction, h, part, step, apart);
  }

  // Recurrent part of GRU's candidate.
  void MultiplyCandidate(const RnnDirection& direction, const float* a, const Part& part, int64_t step,
                         bool apart) const {
    const int64_t n = sizes_.hidden;
    if (!kind_.linear_before_reset) Fetch(a, part, n);
    ForColumns(part, 1, n, apart, step, [&](int64_t begin, int64_t end) {
      for (int64_t b = part.first; b < part.end; ++b) {
        float* const product = direction.product + b * n;
        if (kind_.linear_before_reset) {
          std::copy(direction.recurrent_bias + begin, direction.recurrent_bias + end, product + begin);
        } else {
          std::fill(product + begin, product + end, 0.0f);
        }
      }
      Multiply(a, direction.panels.candidate, direction.product, n, part, {begin, end}, n, step);
    });
  }

  void Reset(int64_t d, const RnnDirection& direction, const Part& part, int64_t step) const {
    const int64_t n = sizes_.hidden;
    for (int64_t b = part.first; b < part.end; ++b) {
      if (step >= lengths_[b]) continue;
      float* const reset = direction.gates + b * 3 * n + n + part.low;
      Squash(kind_.activations[static_cast<size_t>(d)][0], reset, part.hidden());
      multiply_(reset, 1, direction.h[step % 2] + b * n + part.low, 1, direction.reset + b * n + part.low,
                part.hidden());
    }
  }

  // Writes the hidden values after the step.
  void Finish(int64_t d, const RnnDirection& direction, const Part& part, int64_t step) const {
    const int64_t n = sizes_.hidden;
    for (int64_t b = part.first; b < part.end; ++b) {
      const float* const before = direction.h[step % 2] + b * n + part.low;
      float* const h = direction.h[(step + 1) % 2] + b * n + part.low;
      std::copy_n(before, part.hidden(), h);
      if (step >= lengths_[b]) continue;
      if (kind_.cell == RnnCell::kGru)
        std::copy_n(Projected(direction, d, step, b) + 2 * n + part.low, part.hidden(),
                    direction.gates + b * 3 * n + 2 * n + part.low);
      StepGates(d, direction, part, b, h);
      if (outputs_.y != nullptr)
        std::copy_n(h, part.hidden(), outputs_.y + YOffset(Position(d, step, b), d, b) + part.low);
    }
  }

  int64_t YOffset(int64_t step, int64_t d, int64_t b) const {
    return (kind_.batch_first ? (b * sizes_.steps + step) * kind_.directions + d
                              : (step * kind_.directions + d) * sizes_.batch + b) *
           sizes_.hidden;
  }

  void Squash(const RnnActivation& activation, float* x, int64_t n) const {
    if (kind_.clip) (*kind_.clip)(x, x, n);
    activation(x, n);
  }
  static void Add(const float* from, float* to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
  }

  // One step of sequence b, with all gates computed up to the activations. `h`: the part's hidden values, updated in
  // place.
  void StepGates(int64_t d, const RnnDirection& direction, const Part& part, int64_t b, float* h) const {
    const int64_t n = sizes_.hidden, low = part.low, count = part.hidden();
    const auto& f = kind_.activations[static_cast<size_t>(d)];
    float* const gates = direction.gates + b * kind_.gates * n + low;
    float* const c = direction.c + b * n + low;
    if (kind_.cell == RnnCell::kRnn) {
      Squash(f[0], gates, count);
      std::copy_n(gates, count, h);
      return;
    }
    if (kind_.cell == RnnCell::kGru) {
      const float* const product = direction.product + b * n + low;
      float* const candidate = gates + 2 * n;
      const float* const reset = kind_.linear_before_reset ? gates + n : nullptr;
      Squash(f[0], gates, count);
      if (reset != nullptr) Squash(f[0], gates + n, count);
      if (f[1].Is(simd::Unary::kTanh) && !kind_.clip) return simd::GruStep(gates, candidate, product, reset, h, count);
      if (reset != nullptr) {
        simd::MultiplyAdd(reset, product, candidate, count);
      } else {
        Add(product, candidate, count);
      }
      Squash(f[1], candidate, count);
      simd::Blend(gates, candidate, h, count);
      return;
    }
    const float* const peepholes = direction.peepholes == nullptr ? nullptr : direction.peepholes + low;
    const bool usual = f[0].Is(simd::Unary::kSigmoid) && f[1].Is(simd::Unary::kTanh) && f[2].Is(simd::Unary::kTanh);
    if (usual && !kind_.clip && peepholes == nullptr && !kind_.input_forget)
      return simd::LstmStep(gates, n, c, h, count);
    float* const input = gates;
    float* const output = gates + n;
    float* const forget = gates + 2 * n;
    float* const candidate = gates + 3 * n;
    if (peepholes != nullptr) {
      simd::MultiplyAdd(peepholes, c, input, count);
      simd::MultiplyAdd(peepholes + 2 * n, c, forget, count);
    }
    Squash(f[0], input, count);
    if (kind_.input_forget) {
      for (int64_t i = 0; i < count; ++i) forget[i] = 1.0f - input[i];
    } else {
      Squash(f[0], forget, count);
    }
    Squash(f[1], candidate, count);
    simd::UpdateCell(input, forget, candidate, c, count);
    if (peepholes != nullptr) simd::MultiplyAdd(peepholes + n, c, output, count);
    Squash(f[0], output, count);
    std::copy_n(c, count, candidate);
    f[2](candidate, count);
    multiply_(output, 1, candidate, 1, h, count);
  }

  const RnnKind& kind_;
  const RnnSizes& sizes_;
  const std::vector<int64_t>& lengths_;
  const std::span<const RnnDirection> directions_;
  const RnnOutputs& outputs_;
  int64_t longest_ = 0;
  simd::BinaryLoop multiply_{simd::Binary::kMul};
};

}  // namespace

void RunRnnSteps(OpContext& context, const RnnKind& kind, const RnnSizes& sizes, const std::vector<int64_t>& lengths,
                 std::span<const RnnDirection> directions, const RnnOutputs& outputs) {
  const Steps steps(kind, sizes, lengths, directions, outputs);
  steps.Run(context);
  steps.GiveStates();
}

}  // namespace epiphyte::cpu
