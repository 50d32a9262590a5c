// Random networks give the same bits for every way of compiling: little or much effort, tensors kept on the chip or
// not, fused or separate operators, large or small devices. No program has a race.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>

#include "plugins/npu/simulator/compiler/compiler.h"
#include "plugins/npu/simulator/device/device.h"
#include "plugins/npu/simulator/device/race.h"
#include "tests/npu/simulator/graph_builder.h"

namespace epiphyte::npusim {
namespace {

using Dims = std::vector<int64_t>;

// A network of random operators: some take images, some take any earlier result, some flatten images.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : b("net", seed), random_(seed) {
    values_.push_back(b.Input("x", NSDK_INT8, {1, Between(1, 40), Between(4, 14), Between(4, 14)}, {0.05f, 4}));
    const int64_t count = Between(4, 14);
    for (int64_t i = 0; i < count; ++i) Add();
    // Outputs are all values that nothing reads, and some intermediate values.
    int outputs = 0;
    for (size_t i = 1; i < values_.size(); ++i) {
      if (!read_[values_[i]] || random_() % 6 == 0) b.Output(values_[i], "y" + std::to_string(outputs++));
    }
  }

  GraphBuilder b;

 private:
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  uint32_t Any() {
    // The last value is chosen more often, so that networks are deep.
    const size_t back = std::min<size_t>(values_.size() - 1, random_() % 3 == 0 ? random_() % values_.size() : 0);
    return values_[values_.size() - 1 - back];
  }
  Quantisation AnyQ() {
    return {0.02f + 0.01f * static_cast<float>(random_() % 10), static_cast<int32_t>(random_() % 40) - 20};
  }
  uint32_t Result(Dims dims, Quantisation q) {
    const uint32_t type = q.zero_point >= 0 && random_() % 2 == 0 ? NSDK_UINT8 : NSDK_INT8;
    values_.push_back(b.Value(type, std::move(dims), q));
    return values_.back();
  }
  // Adds the output of an operator that only moves elements: it has the type and quantization of x.
  uint32_t Moved(uint32_t x, Dims dims) {
    const uint32_t type = b.Graph()->tensors[x].type;
    values_.push_back(b.Value(type, std::move(dims), b.QuantisationOf(x)));
    return values_.back();
  }
  void Op(uint32_t kind, std::vector<uint32_t> inputs, uint32_t output, std::vector<OpParam> params = {}) {
    for (const uint32_t input : inputs) read_[input] = true;
    b.Op(kind, std::move(inputs), {output}, std::move(params));
  }

  void Conv(uint32_t x, int64_t out, int64_t kernel, int64_t groups) {
    const Dims dims = b.Dims(x);
    const uint32_t w = b.RandomConstant(NSDK_INT8, {out, dims[1] / groups, kernel, kernel}, {0.004f, 0});
    const int64_t stride = Between(1, 2), pad = kernel / 2;
    const auto size = [&](int64_t of) { return (of + 2 * pad - kernel) / stride + 1; };
    const uint32_t y = Result({dims[0], out, size(dims[2]), size(dims[3])}, AnyQ());
    Op(NSDK_CONV, {x, w}, y,
       {{NSDK_STRIDES, {stride, stride}}, {NSDK_PADS, {pad, pad, pad, pad}}, {NSDK_GROUPS, {groups}}});
  }

  void Add() {
    const uint32_t x = Any();
    const Dims dims = b.Dims(x);
    const bool image = dims.size() == 4;
    switch (random_() % 14) {
      case 0:
      case 1:
      case 2:
        if (image) return Conv(x, Between(1, 50), random_() % 2 == 0 ? 1 : 3, 1);
        [[fallthrough]];
      case 3:
        if (image) return Conv(x, dims[1], 3, dims[1]);
        [[fallthrough]];
      case 4: {  // the other operand has the same shape; it may be x itself
        std::vector<uint32_t> same;
        for (const uint32_t other : values_) {
          if (b.Dims(other) == dims) same.push_back(other);
        }
        const uint32_t other = same[random_() % same.size()];
        const uint32_t kinds[] = {NSDK_ADD, NSDK_SUB, NSDK_MUL, NSDK_MAXIMUM};
        const uint32_t y = Result(dims, AnyQ());
        return Op(kinds[random_() % 4], random_() % 2 == 0 ? std::vector{x, other} : std::vector{other, x}, y);
      }
      case 5: {
        const uint32_t table = b.RandomConstant(NSDK_INT8, {256}, {});
        const Quantisation q = AnyQ();
        values_.push_back(b.Value(NSDK_INT8, dims, q));
        return Op(NSDK_LOOKUP, {x, table}, values_.back(), {{NSDK_LOW, {-100}}});
      }
      case 6:
        if (image && dims[2] > 3 && dims[3] > 3) {
          const uint32_t y = Result({dims[0], dims[1], dims[2] - 2, dims[3] - 2}, AnyQ());
          return Op(random_() % 2 == 0 ? NSDK_MAX_POOL : NSDK_AVERAGE_POOL, {x}, y, {{NSDK_KERNEL, {3, 3}}});
        }
        [[fallthrough]];
      case 7: {
        std::vector<int64_t> perm(dims.size());
        for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
        std::shuffle(perm.begin(), perm.end(), random_);
        Dims to;
        for (const int64_t p : perm) to.push_back(dims[static_cast<size_t>(p)]);
        return Op(NSDK_TRANSPOSE, {x}, Moved(x, to), {{NSDK_PERM, perm}});
      }
      case 8: {
        Dims to = dims, starts(dims.size(), 0), steps(dims.size(), 1);
        const size_t d = random_() % dims.size();
        steps[d] = random_() % 2 == 0 ? 1 : -1;
        to[d] = Between(1, dims[d]);
        starts[d] = steps[d] > 0 ? dims[d] - to[d] : to[d] - 1;
        return Op(NSDK_SLICE, {x}, Moved(x, to), {{NSDK_STARTS, starts}, {NSDK_STEPS, steps}});
      }
      case 9: {
        const uint32_t other = Any();
        Dims to = dims;
        if (b.Dims(other).size() != dims.size()) return Add();
        for (size_t d = 1; d < dims.size(); ++d) {
          Dims rest = b.Dims(other);
          rest[d] = dims[d];
          if (rest != dims) continue;
          to[d] += b.Dims(other)[d];
          return Op(NSDK_CONCAT, {x, other}, Result(to, AnyQ()), {{NSDK_AXIS, {static_cast<int64_t>(d)}}});
        }
        return Add();
      }
      case 10: {
        Dims to = {dims[0] * dims[1], 1};
        for (size_t i = 2; i < dims.size(); ++i) to[1] *= dims[i];
        if (random_() % 2 == 0) to = {dims[0], 1, dims[1], to[1]};
        return Op(NSDK_RESHAPE, {x}, Moved(x, to));
      }
      case 11: {
        Dims to = dims;
        to.back() = Between(1, 40);
        const uint32_t w = b.RandomConstant(NSDK_INT8, {dims.back(), to.back()}, {0.004f, 0});
        return Op(NSDK_MATMUL, {x, w}, Result(to, AnyQ()));
      }
      case 12: {
        const uint32_t y = b.Value(NSDK_UINT8, dims, {1.0f / 256, 0});
        values_.push_back(y);
        return Op(NSDK_SOFTMAX, {x}, y, {{NSDK_AXIS, {Between(0, static_cast<int64_t>(dims.size()) - 1)}}});
      }
      default: {
        Dims to = dims, pads(2 * dims.size(), 0);
        for (size_t i = 1; i < dims.size(); ++i) {
          to[i] += (pads[i] = Between(0, 2)) + (pads[dims.size() + i] = Between(0, 2));
        }
        return Op(NSDK_PAD, {x}, Moved(x, to), {{NSDK_PADS, pads}, {NSDK_VALUE, {7}}});
      }
    }
  }

  std::mt19937 random_;
  std::vector<uint32_t> values_;
  std::map<uint32_t, bool> read_;
};

std::vector<std::vector<std::byte>> RunIt(const CompiledGraph& compiled, const Config& config) {
  std::vector<std::byte> weights;
  for (const WeightPiece& piece : compiled.weights) {
    weights.resize(std::max<size_t>(weights.size(), piece.offset + piece.bytes->size()));
    std::memcpy(weights.data() + piece.offset, piece.bytes->data(), piece.bytes->size());
  }
  std::vector<std::byte> scratch(compiled.scratch_size), input(compiled.inputs[0].size);
  std::mt19937 random(1);
  for (std::byte& byte : input) byte = static_cast<std::byte>(random() >> 9);
  std::vector<std::vector<std::byte>> results;
  for (const BlobIo& io : compiled.outputs) results.emplace_back(io.size);
  std::vector<std::byte*> outputs;
  for (auto& result : results) outputs.push_back(result.data());
  const std::byte* const inputs[] = {input.data()};
  Device(config).Run(compiled.program, {weights.data(), scratch.data(), inputs, outputs}, nullptr);
  return results;
}

TEST(EqualBits, WithAnyEffortFusionAndDevice) {
  Config small;
  small.rows = 8;
  small.columns = 4;
  small.scratchpad_bytes = 16 * 1024;
  small.accumulator_bytes = 4 * 1024;
  const CompileOptions ways[] = {
      {.config = {}, .effort = Effort::kFast, .fusion = false},
      {.config = {}, .effort = Effort::kExhaustive, .fusion = true},
      {.config = small, .effort = Effort::kBalanced, .fusion = true},
      {.config = small, .effort = Effort::kFast, .fusion = true},
  };
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNetwork network(seed);
    std::vector<std::vector<std::byte>> first;
    for (const CompileOptions& way : ways) {
      const CompiledGraph compiled = Compile(*network.b.Graph(), way);
      const auto race = FindRace(compiled.program);
      ASSERT_FALSE(race) << race->what;
      const auto results = RunIt(compiled, way.config);
      if (first.empty()) first = results;
      ASSERT_EQ(results, first) << "way " << &way - ways;
    }
  }
}

}  // namespace
}  // namespace epiphyte::npusim
