// The harness of kernels stops the test when a kernel accesses memory that isn't its own. Tests of kernels rely on it.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/cpu/kernel_harness.h"
#include "tests/framework/guarded_memory.h"

namespace epiphyte::test {
namespace {

enum class Slip { kNone, kReadsPastInput, kWritesPastOutput, kWritesBeforeOutput, kWritesPastScratch };

// Copies three floats, and accesses one byte out of bounds as `kSlip` says.
template <Slip kSlip>
class SlippingKernel : public cpu::Kernel {
 public:
  explicit SlippingKernel(const cpu::KernelInit&) {}
  void Run(cpu::OpContext& context) const override {
    const cpu::Tensor& x = context.Input(0);
    cpu::Tensor& y = context.Output(0, x.type, x.dims);
    auto* scratch = static_cast<volatile char*>(context.Scratch(x.Bytes()));
    std::memcpy(y.data, x.data, x.Bytes());
    if (kSlip == Slip::kReadsPastInput) y.as<char>()[0] = x.as<const volatile char>()[x.Bytes()];
    if (kSlip == Slip::kWritesPastOutput) y.as<volatile char>()[y.Bytes()] = 1;
    if (kSlip == Slip::kWritesBeforeOutput) y.as<volatile char>()[-1] = 1;
    if (kSlip == Slip::kWritesPastScratch) scratch[x.Bytes()] = 1;
  }
};

template <Slip kSlip>
void RunSlipping() {
  cpu::KernelRegistry registry;
  registry.Add<SlippingKernel<kSlip>>("Relu");  // any operator with a signature will do
  OpRunner runner("Relu", 14);
  runner.SetRegistry(&registry).Input<float>({3}, {1, 2, 3});
  runner.Run();
  if (runner.Output<float>(0) != std::vector<float>{1, 2, 3}) std::abort();
}

TEST(KernelHarness, AKernelThatKeepsToItsMemoryRuns) { RunSlipping<Slip::kNone>(); }

TEST(KernelHarnessDeathTest, AKernelThatReadsPastItsInputIsStopped) {
  EXPECT_DEATH(RunSlipping<Slip::kReadsPastInput>(), "");
}
TEST(KernelHarnessDeathTest, AKernelThatWritesPastItsOutputIsStopped) {
  EXPECT_DEATH(RunSlipping<Slip::kWritesPastOutput>(), "");
}
TEST(KernelHarnessDeathTest, AKernelThatWritesBeforeItsOutputIsStopped) {
  EXPECT_DEATH(RunSlipping<Slip::kWritesBeforeOutput>(), "12 bytes of guarded memory");
}
TEST(KernelHarnessDeathTest, AKernelThatWritesPastItsScratchMemoryIsStopped) {
  EXPECT_DEATH(RunSlipping<Slip::kWritesPastScratch>(), "12 bytes of guarded memory");
}

TEST(GuardedMemoryDeathTest, MemoryWithoutBytesCanNotBeRead) {
  const std::shared_ptr<void> memory = GuardedMemory(0);
  ASSERT_NE(memory, nullptr);
  EXPECT_DEATH((void)*static_cast<volatile char*>(memory.get()), "");
}

TEST(GuardedMemory, IsAlignedAsAsked) {
  for (uint64_t bytes : {0, 1, 63, 64, 65, 4095, 4096, 4097, 8192})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(GuardedMemory(bytes, 64).get()) % 64, 0u) << bytes;
}

}  // namespace
}  // namespace epiphyte::test
