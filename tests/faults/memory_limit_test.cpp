// Work in an address space that is nearly full, as with `ulimit -v`: the result is right, or an error message.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "epiphyte/session.hpp"
#include "tests/faults/fault_loop.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

uint64_t AddressSpace() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmSize:")) return std::strtoull(line.c_str() + 7, nullptr, 10) * kKiB;
  }
  return 0;
}

// Runs the body in a process that may map at most `bytes` more than it has mapped already.
Outcome RunWithRoomFor(uint64_t bytes, const std::function<std::string()>& body) {
  Around around;
  around.before = [bytes] {
    const rlimit limit = {AddressSpace() + bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
  };
  around.after = [] {
    const rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    return uint64_t{0};
  };
  return RunForked(body, around);
}

// A model of convolutions, pools and a matrix product; oneDNN generates code for each.
std::string ConvolutionModel() {
  return OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[1, 4] y) {
      column = Constant <value = int64[4] {1, 6, 1, 1}> ()
      square = Constant <value = int64[4] {1, 6, 12, 12}> ()
      shape_1 = Constant <value = int64[4] {8, 6, 3, 3}> ()
      shape_2 = Constant <value = int64[4] {16, 8, 3, 3}> ()
      shape_3 = Constant <value = int64[2] {16, 4}> ()
      w1 = ConstantOfShape <value = float[1] {0.02}> (shape_1)
      w2 = ConstantOfShape <value = float[1] {0.01}> (shape_2)
      w3 = ConstantOfShape <value = float[1] {0.3}> (shape_3)
      lifted = Reshape(x, column)
      image = Expand(lifted, square)
      c1 = Conv(image, w1)
      r1 = Relu(c1)
      p1 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r1)
      c2 = Conv(p1, w2)
      p2 = GlobalAveragePool(c2)
      flat = Flatten(p2)
      y = MatMul(flat, w3)
    })");
}

class MemoryLimitTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = dir_.Write("m.onnx", ConvolutionModel());
    Compile(model_, CompileOptions());
    context_ = dir_ / "m_ctx.onnx";
    expected_ = RunModel(context_);
  }

  TempDir dir_;
  std::filesystem::path model_, context_;
  Numbers expected_;
};

constexpr uint64_t kStep = 480 * kKiB;
constexpr uint64_t kMost = 24 * kMiB;

TEST_F(MemoryLimitTest, ModelsAndContextsRunOrFailWithAMessage) {
  for (const std::filesystem::path& path : {model_, context_}) {
    size_t right = 0, failed = 0;
    for (uint64_t room = 0; room <= kMost; room += kStep) {
      const Outcome outcome =
          RunWithRoomFor(room, [&] { return std::string(AreClose(RunModel(path), expected_) ? "right" : "wrong"); });
      EXPECT_TRUE(IsErrorOrSuccess(outcome) && outcome.text != "wrong") << room << ": " << outcome.Describe();
      ++(outcome.returned() ? right : failed);
    }
    EXPECT_GT(right, 0u);
    EXPECT_GT(failed, 0u) << "a limit that is never reached shows nothing";
  }
}

TEST_F(MemoryLimitTest, CompilingWritesAContextOrFailsWithAMessage) {
  for (uint64_t room = 0; room <= kMost; room += kStep) {
    std::filesystem::remove(context_);
    const Outcome outcome = RunWithRoomFor(room, [&] {
      Compile(model_, CompileOptions({{"epiphyte.context_overwrite", "1"}}));
      return std::string("compiled");
    });
    EXPECT_TRUE(IsErrorOrSuccess(outcome)) << room << ": " << outcome.Describe();
    EXPECT_EQ(std::filesystem::exists(context_), outcome.returned()) << room << ": " << outcome.Describe();
  }
  EXPECT_TRUE(AreClose(RunModel(context_), expected_));
}

// A model with a convolution that writes a blocked layout, and sums that need a row-major one.
std::string ReorderModel() {
  return OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[1, 16, 12, 12] y) {
      column = Constant <value = int64[4] {1, 6, 1, 1}> ()
      square = Constant <value = int64[4] {1, 6, 12, 12}> ()
      shape = Constant <value = int64[4] {16, 6, 3, 3}> ()
      axis = Constant <value = int64 {1}> ()
      w = ConstantOfShape <value = float[1] {0.02}> (shape)
      lifted = Reshape(x, column)
      image = Expand(lifted, square)
      c = Conv <pads = [1, 1, 1, 1]> (image, w)
      y = CumSum(c, axis)
    })");
}

// Asking the system for free memory takes longer than a small primitive runs.
TEST_F(MemoryLimitTest, RoomIsAskedForOnceForEachPrimitiveAndNeverAgain) {
  const std::filesystem::path reorder = dir_.Write("reorder.onnx", ReorderModel());
  for (const auto& [path, primitives] : {std::pair(context_, 5u), std::pair(reorder, 1u)}) {
    RunModel(path);  // oneDNN keeps its code, so the next session maps none
    const Session session(BuildTreeEnvironment(), path, CpuOptions());
    const Value input = Input();
    const auto maps_of_a_run = [&] {
      EpiphyteFaultsArm(kFaultMap, 0, 0, 0);
      session.Run(std::span<const Value>(&input, 1));
      return EpiphyteFaultsDisarm();
    };
    // Each primitive is described twice, for the layout that suits the shape and for the packed weights, and its input
    // may need a reorder.
    EXPECT_LE(maps_of_a_run(), 3u * primitives) << path;
    maps_of_a_run();
    EXPECT_EQ(maps_of_a_run(), 0u) << path;
  }
}

// A model with enough work for all threads, in oneDNN and in the plugin's own loops.
std::string WideModel() {
  return OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 1] y) {
      shape = Constant <value = int64[2] {3, 50000}> ()
      w = ConstantOfShape <value = float[1] {0.01}> (shape)
      product = MatMul(x, w)
      curved = Tanh(product)
      y = ReduceSum(curved)
    })");
}

// The stacks and heaps of 64 threads take about 4 GiB.
TEST_F(MemoryLimitTest, AsManyThreadsAsThereIsRoomForGiveRightNumbers) {
  const std::filesystem::path model = dir_.Write("wide.onnx", WideModel());
  const Numbers expected = RunModel(model);
  const auto body = [&] {
    return std::string(AreClose(RunModel(model, CpuOptions(64)), expected) ? "right" : "wrong");
  };
  for (uint64_t room = 0; room <= 1024 * kMiB; room += room < 64 * kMiB ? 4 * kMiB : 32 * kMiB) {
    const Outcome outcome = RunWithRoomFor(room, body);
    EXPECT_TRUE(IsErrorOrSuccess(outcome) && outcome.text != "wrong") << room << ": " << outcome.Describe();
    EXPECT_TRUE(outcome.returned() || room < 64 * kMiB) << room << ": " << outcome.Describe();
  }
}

}  // namespace
}  // namespace epiphyte::test
