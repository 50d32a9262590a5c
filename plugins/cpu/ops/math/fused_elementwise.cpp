// Kernel of epiphyte.kit.Elementwise: see epiphyte/kit/fuse/elementwise_program.hpp.
#include <algorithm>
#include <array>
#include <memory>

#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "plugins/cpu/kernel/elementwise_run.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/ordered_operand.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

using kit::fuse::ElementwiseProgram;
using kit::fuse::kMostElementwiseInputs;
using kit::fuse::kMostElementwiseInstructions;

constexpr int64_t kBlock = 1024;

// Loops over an input in the order of the output; dimensions are joined where possible.
struct Walk {
  std::array<int64_t, 8> sizes{};
  std::array<int64_t, 8> strides{};
  size_t rank = 0;
  bool full = false;  // contiguous with the output
  // If not 0, the innermost row repeats over this number of output elements.
  int64_t repeats = 0;
};

// Buffer with a repeating input expanded for a range of the output.
struct Spread {
  float* memory = nullptr;
  int64_t row = -1;  // index of the expanded row
};

class ElementwiseKernel final : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit ElementwiseKernel(const KernelInit& init) {
    const ElementwiseProgram program = kit::fuse::ReadElementwiseProgram(init.node());
    inputs_ = init.node().inputs.size();
    const size_t count = program.instructions.size();
    std::vector<size_t> last_read(count, 0);
    for (size_t i = 0; i < count; ++i) {
      const ElementwiseProgram::Instruction& from = program.instructions[i];
      for (int32_t operand : {from.a, from.b})
        if (operand >= 0 && operand % 2 == 1) last_read[static_cast<size_t>(operand / 2)] = i;
      const ElementwiseOperands operands = from.b < 0   ? ElementwiseOperands::kFirst
                                           : from.a < 0 ? ElementwiseOperands::kSecond
                                                        : ElementwiseOperands::kBoth;
      steps_.push_back({ElementwiseLoop(from.op, from.p0, from.p1, operands), from.a, from.b, 0});
    }
    // Results share registers. A register is free after its last reader, which may overwrite it.
    std::vector<int32_t> free;
    for (size_t i = 0; i < count; ++i) {
      Step& step = steps_[i];
      for (int32_t operand : {step.a, step.b == step.a ? -1 : step.b})
        if (operand >= 0 && operand % 2 == 1 && last_read[operand / 2] == i) free.push_back(steps_[operand / 2].to);
      if (free.empty()) free.push_back(registers_++);
      step.to = free.back();
      free.pop_back();
    }
    // From here on, operands are indices of places: the inputs, then the registers, then the output.
    const auto place_of = [&](int32_t operand) {
      if (operand < 0) return 0;  // not read
      return operand % 2 == 0 ? operand / 2 : static_cast<int32_t>(inputs_) + steps_[operand / 2].to;
    };
    for (Step& step : steps_) {
      step.a = place_of(step.a);
      step.b = place_of(step.b);
    }
    for (Step& step : steps_) step.to += static_cast<int32_t>(inputs_);
    steps_.back().to = static_cast<int32_t>(inputs_) + registers_;
    FindStretches(program);
  }

  void Run(OpContext& context) const override {
    State& state = context.State<State>();
    const float* data[kMostElementwiseInputs];
    const Tensor& first = context.AnyLayoutInput(0);
    // If all tensors have one layout, the memory is processed in its order.
    const bool raw = first.layout != nullptr && GatherRaw(context, first, data);
    const bool ordered = !raw && GatherOrdered(context, state, data);
    if (!raw && !ordered) {
      for (size_t i = 0; i < inputs_; ++i) {
        const Tensor& input = context.Input(i);
        if (input.type != EP_TYPE_FLOAT) FailOp("input {} is of type {}; float expected", i, TypeName(input.type));
        data[i] = input.as<float>();
        state.SetDims(i, input.dims);
      }
      if (!state.known) Prepare(state);
    }
    Tensor* y = nullptr;
    int64_t count = 0;
    if (raw) {
      y = context.OutputInPlace(0, 0, EP_TYPE_FLOAT, first.dims);
      if (y == nullptr) {
        const uint64_t bytes = first.layout->desc.get_size();
        y = &context.OutputWithLayout(0, EP_TYPE_FLOAT, first.dims, first.layout, bytes);
      }
      count = static_cast<int64_t>(first.layout->desc.get_size() / sizeof(float));
    } else if (ordered) {
      const Tensor& lead = context.AnyLayoutInput(state.lead);
      y = context.OutputInPlace(0, state.lead, EP_TYPE_FLOAT, lead.dims);
      if (y == nullptr) y = &context.OutputWithLayout(0, EP_TYPE_FLOAT, lead.dims, lead.layout, lead.Bytes());
      count = state.count;
    } else {
      if (state.in_place >= 0)
        y = context.OutputInPlace(0, static_cast<size_t>(state.in_place), EP_TYPE_FLOAT, state.y);
      if (y == nullptr) y = &context.Output(0, EP_TYPE_FLOAT, state.y);
      count = state.count;
    }
    if (WarmUpScope::LeavesOut(count)) return;
    float* to = y->as<float>();
    const State* walks = raw ? nullptr : &state;
    ParallelLoop(context, count, static_cast<int64_t>(steps_.size()) * 2,
                 [&](int64_t begin, int64_t end) { RunRange(walks, data, to, begin, end); });
  }

 private:
  struct Step {
    ElementwiseLoop loop;
    int32_t a, b;
    int32_t to;
  };
  struct State {
    bool known = false;
    std::array<Dims, kMostElementwiseInputs> dims;  // in memory order
    size_t lead = 0;  // the input that determines the output's layout if that is not row-major
    std::array<Walk, kMostElementwiseInputs> walks;
    Dims y;
    int64_t count = 0;
    int in_place = -1;
    bool all_full = false;

    void SetDims(size_t i, const Dims& to) {
      if (dims[i] == to) return;
      dims[i] = to;
      known = false;
    }
  };

  // Consecutive steps that are all binary operations, or none of them.
  struct Stretch {
    size_t begin;
    size_t end;
    bool binary;
  };
  void FindStretches(const ElementwiseProgram& program) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      const ElementwiseProgram::Instruction& from = program.instructions[i];
      const std::optional<simd::Binary> binary = BinaryOf(from.op);
      if (stretches_.empty() || stretches_.back().binary != binary.has_value())
        stretches_.push_back({i, i, binary.has_value()});
      stretches_.back().end = i + 1;
      const Step& step = steps_[i];
      binary_.push_back({.function = binary.value_or(simd::Binary::kAdd),
                         .first = from.a >= 0,
                         .second = from.b >= 0,
                         .number = from.p0,
                         .a = step.a,
                         .b = step.b,
                         .y = step.to});
    }
  }

  // Finds the inputs' memory when all have the layout of the first one, without padding; otherwise false.
  bool GatherRaw(OpContext& context, const Tensor& first, const float** data) const {
    if (first.type != EP_TYPE_FLOAT ||
        first.layout->desc.get_size() != static_cast<uint64_t>(first.Count()) * sizeof(float))
      return false;
    for (size_t i = 0; i < inputs_; ++i) {
      const Tensor& input = context.AnyLayoutInput(i);
      if (input.layout == nullptr || (input.layout != first.layout && input.layout->desc != first.layout->desc))
        return false;
      data[i] = input.as<float>();
    }
    return true;
  }

  // Finds the inputs in the order of an input that has the full shape and is not row-major. False when there is none.
  bool GatherOrdered(OpContext& context, State& state, const float** data) const {
    bool laid_out = false;
    for (size_t i = 0; i < inputs_; ++i) laid_out |= context.AnyLayoutInput(i).layout != nullptr;
    const std::optional<size_t> lead = laid_out ? LeadingInput(context, inputs_) : std::nullopt;
    if (!lead) return false;
    const AxisOrder order = *OrderOf(context.AnyLayoutInput(*lead));
    for (size_t i = 0; i < inputs_; ++i) {
      const std::optional<OrderedOperand> operand = OperandInOrder(context, i, order);
      if (!operand) return false;
      data[i] = operand->data;
      state.SetDims(i, operand->dims);
    }
    state.lead = *lead;
    if (!state.known) Prepare(state);
    return true;
  }

  // Computes the loops from state.dims.
  void Prepare(State& state) const {
    size_t rank = 0;
    for (size_t i = 0; i < inputs_; ++i) rank = std::max(rank, state.dims[i].size());
    state.y = Dims(rank, 1);
    for (size_t i = 0; i < inputs_; ++i) {
      const Dims& dims = state.dims[i];
      for (size_t d = 0; d < dims.size(); ++d) {
        int64_t& size = state.y[d + rank - dims.size()];
        if (size == 1) {
          size = dims[d];
        } else if (dims[d] != 1 && dims[d] != size) {
          FailOp("dimensions {} and {} don't broadcast", size, dims[d]);
        }
      }
    }
    state.count = state.y.Count();
    state.in_place = -1;
    state.all_full = true;
    for (size_t i = 0; i < inputs_; ++i) {
      state.walks[i] = MakeWalk(state.dims[i], state.y);
      state.all_full = state.all_full && state.walks[i].full;
      if (state.walks[i].full && state.in_place < 0) state.in_place = static_cast<int>(i);
    }
    state.known = true;
  }

  static Walk MakeWalk(const Dims& dims, const Dims& y) {
    Walk walk;
    walk.full = dims == y;
    if (walk.full) return walk;
    int64_t stride = 1;
    // From the innermost dimension outwards; adjacent dimensions with compatible strides are joined.
    for (size_t d = y.size(); d-- > 0;) {
      const size_t lead = y.size() - dims.size();
      const int64_t size = d < lead ? 1 : dims[d - lead];
      const int64_t step = size == 1 ? 0 : stride;
      stride *= size;
      if (y[d] == 1) continue;
      if (walk.rank > 0) {
        const size_t top = walk.rank - 1;
        const bool joins = walk.strides[top] == 0 ? step == 0 : step == walk.strides[top] * walk.sizes[top];
        if (joins) {
          walk.sizes[top] *= y[d];
          continue;
        }
      }
      if (walk.rank == walk.sizes.size()) NotImplemented("a broadcast over more than 8 alternating dimensions");
      walk.sizes[walk.rank] = y[d];
      walk.strides[walk.rank] = step;
      ++walk.rank;
    }
    if (walk.rank == 0) {
      walk.rank = 1;
      walk.sizes[0] = 1;
    }
    if (walk.rank > 1 && walk.strides[0] == 1 && walk.strides[1] == 0 && walk.sizes[0] <= kBlock)
      walk.repeats = walk.sizes[0] * walk.sizes[1];
    return walk;
  }

  // Returns `n` elements of an input from output position `begin` on: in place if contiguous, otherwise in `buffer`.
  static const float* Load(const Walk& walk, const float* data, int64_t begin, int64_t n, float* buffer) {
    std::array<int64_t, 8> at{};
    int64_t rest = begin;
    int64_t offset = 0;
    for (size_t d = 0; d < walk.rank; ++d) {
      at[d] = rest % walk.sizes[d];
      rest /= walk.sizes[d];
      offset += at[d] * walk.strides[d];
    }
    if (walk.strides[0] == 1 && at[0] + n <= walk.sizes[0]) return data + offset;
    for (int64_t done = 0; done < n;) {
      const int64_t run = std::min(walk.sizes[0] - at[0], n - done);
      if (walk.strides[0] == 0) {
        std::fill_n(buffer + done, run, data[offset]);
      } else if (walk.strides[0] == 1) {
        std::copy_n(data + offset, run, buffer + done);
      } else {
        for (int64_t i = 0; i < run; ++i) buffer[done + i] = data[offset + i * walk.strides[0]];
      }
      done += run;
      offset += (run - 1) * walk.strides[0];
      at[0] += run - 1;
      // Advances to the next element, with carries.
      for (size_t d = 0; d < walk.rank; ++d) {
        offset += walk.strides[d];
        if (++at[d] < walk.sizes[d]) break;
        offset -= at[d] * walk.strides[d];
        at[d] = 0;
      }
    }
    return buffer;
  }

  static int64_t SpreadFloats(const Walk& walk, int64_t block) {
    return walk.repeats == 0 ? block : std::max(block, std::min(walk.repeats, block + walk.sizes[0]));
  }

  // Load for a short repeating row: it is expanded once for all blocks within its repetition.
  static const float* LoadSpread(const Walk& walk, const float* data, int64_t begin, int64_t n, int64_t block,
                                 Spread& spread) {
    if (walk.repeats == 0) return Load(walk, data, begin, n, spread.memory);
    const int64_t row = begin / walk.repeats, period = walk.sizes[0];
    if ((begin + n - 1) / walk.repeats != row) {
      spread.row = -1;
      return Load(walk, data, begin, n, spread.memory);
    }
    if (spread.row != row) {
      spread.row = row;
      const int64_t count = std::min(walk.repeats, block + period);
      const float* first = Load(walk, data, row * walk.repeats, period, spread.memory);
      if (first != spread.memory) std::copy_n(first, period, spread.memory);
      for (int64_t done = period; done < count;) {
        const int64_t more = std::min(done, count - done);
        std::copy_n(spread.memory, more, spread.memory + done);
        done += more;
      }
    }
    return spread.memory + begin % period;
  }

  void RunRange(const State* state, const float* const* data, float* y, int64_t begin, int64_t end) const {
    const bool all_full = state == nullptr || state->all_full;
    const int64_t block = std::min(kBlock, end - begin);
    // Memory for the registers, followed by the expanded inputs.
    int64_t floats = block * registers_;
    Spread spreads[kMostElementwiseInputs];
    if (!all_full)
      for (size_t i = 0; i < inputs_; ++i) floats += state->walks[i].full ? 0 : SpreadFloats(state->walks[i], block);
    alignas(64) float small[2048];
    std::unique_ptr<float[]> large;
    float* memory = small;
    if (floats > std::ssize(small)) {
      large.reset(new float[static_cast<size_t>(floats)]);
      memory = large.get();
    }
    // Inputs are never written: no step's result is in an input's place.
    float* places[kMostElementwiseInputs + kMostElementwiseInstructions + 1];
    for (int32_t i = 0; i < registers_; ++i) places[inputs_ + i] = memory + i * block;
    memory += registers_ * block;
    for (size_t i = 0; i < inputs_ && !all_full; ++i) {
      spreads[i].memory = memory;
      if (!state->walks[i].full) memory += SpreadFloats(state->walks[i], block);
    }
    const int64_t short_row = simd::ShortRow();
    for (int64_t at = begin; at < end; at += block) {
      const int64_t n = std::min(block, end - at);
      for (size_t i = 0; i < inputs_; ++i)
        places[i] = const_cast<float*>(all_full || state->walks[i].full
                                           ? data[i] + at
                                           : LoadSpread(state->walks[i], data[i], at, n, block, spreads[i]));
      places[inputs_ + registers_] = y + at;
      if (n <= short_row) {
        RunShort(places, n);
      } else {
        for (const Step& step : steps_) step.loop(places[step.a], places[step.b], places[step.to], n);
      }
    }
  }

  void RunShort(float* const* places, int64_t n) const {
    for (const Stretch& stretch : stretches_) {
      if (stretch.binary) {
        simd::RunShortSteps(&binary_[stretch.begin], stretch.end - stretch.begin, places, n);
        continue;
      }
      for (size_t i = stretch.begin; i < stretch.end; ++i) {
        const Step& step = steps_[i];
        step.loop(places[step.a], places[step.b], places[step.to], n);
      }
    }
  }

  size_t inputs_ = 0;
  int32_t registers_ = 0;
  std::vector<Step> steps_;
  // For rows of at most simd::ShortRow() elements: the steps in stretches, and in the form for binary operations.
  std::vector<Stretch> stretches_;
  std::vector<simd::BinaryStep> binary_;
};

}  // namespace

void Register_fused_elementwise(KernelRegistry& registry) {
  registry.Add<ElementwiseKernel>(kit::fuse::kElementwise, 1, Types(EP_TYPE_FLOAT), INT64_MAX, kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
