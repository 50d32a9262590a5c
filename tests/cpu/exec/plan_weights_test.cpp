// Weights of a model while a plan is made: which ones stay mapped, and when the others are released.
#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "epiphyte/kit/memory/heap.hpp"
#include "plugins/cpu/exec/float_fallback.h"
#include "tests/cpu/exec/plan_host.h"
#include "tests/framework/single_thread_services.h"

namespace epiphyte::test {
namespace {

using kit::ir::Constant;
using kit::ir::Graph;
using testing::ElementsAre;
using testing::IsEmpty;

// A non-null placeholder handle; Build makes no calls through it.
const EpValueDef* const kSomeHandle = reinterpret_cast<const EpValueDef*>(uintptr_t{64});

// Makes the constants of `def` belong to the host. Their data begins `beyond` bytes after a cache line boundary.
std::vector<std::shared_ptr<void>> Lend(Graph& def, size_t beyond) {
  std::vector<std::shared_ptr<void>> memory;
  for (Constant& constant : def.constants) {
    const uint64_t bytes = constant.tensor.Bytes();
    memory.push_back(kit::AllocateShared(bytes + beyond));
    void* const data = static_cast<char*>(memory.back().get()) + beyond;
    std::memcpy(data, constant.tensor.data, bytes);
    constant.tensor.data = data;
    constant.owner.reset();
    constant.handle = kSomeHandle;
  }
  return memory;
}

struct Built {
  // Value indices of retained and of dropped constants, each in the order of the calls.
  std::vector<int32_t> retained, dropped;
  std::unique_ptr<cpu::Plan> plan;

  explicit Built(Graph def) {
    cpu::PlanConfig config;
    config.registry = &AllKernels();
    config.threads = {&kSingleThreadServices, nullptr, 1};
    config.retain = [&](Constant& constant) {
      retained.push_back(constant.value);
      constant.storage = Constant::Storage::kOwned;
      constant.handle = nullptr;
    };
    config.drop = [&](Constant& constant) {
      dropped.push_back(constant.value);
      constant.storage = Constant::Storage::kDropped;
      constant.handle = nullptr;
      constant.tensor.data = nullptr;
    };
    plan = cpu::Plan::Build(std::move(def), config);
  }
};

constexpr size_t kOddAddress = sizeof(float);

struct Table {
  PlanBuilder b;
  int32_t table;
  explicit Table(int64_t rows) : table(b.Constant({rows, 64}, std::vector<float>(static_cast<size_t>(rows) * 64, 2))) {}

  void Look() {
    const int32_t at = b.Input({3});
    b.Info(at).type = EP_TYPE_INT64;
    b.Output(b.Node("Gather", 13, {table, at}, {3, 64}));
  }
};

TEST(Weights, ATableStaysWhereTheModelHasIt) {
  Table t(1024);
  t.Look();
  t.Look();
  Graph def = t.b.Take();
  const auto memory = Lend(def, kOddAddress);
  const void* const data = def.constants[0].tensor.data;
  const Built built(std::move(def));
  EXPECT_THAT(built.retained, ElementsAre(t.table));
  EXPECT_EQ(built.plan->constant(0).data, data);
}

TEST(Weights, ATableThatOthersReadAsAWholeIsCopiedFromAnOddAddress) {
  for (const size_t beyond : {size_t{0}, kOddAddress}) {
    Table t(1024);
    t.Look();
    t.b.Output(t.b.Node("Add", 14, {t.b.Input({64}), t.table}, {1024, 64}));
    Graph def = t.b.Take();
    const auto memory = Lend(def, beyond);
    const Built built(std::move(def));
    EXPECT_EQ(built.retained.size(), beyond == 0 ? 1u : 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(built.plan->constant(0).data) % 64, 0u);
    EXPECT_EQ(built.plan->constant(0).as<float>()[1024 * 64 - 1], 2);
  }
}

TEST(Weights, ASmallTableIsCopied) {
  Table t(8);
  t.Look();
  Graph def = t.b.Take();
  const auto memory = Lend(def, kOddAddress);
  EXPECT_THAT(Built(std::move(def)).retained, IsEmpty());
}

// While weights are packed they are in memory twice, so the largest are packed first, when little else is in memory.
TEST(Weights, LargeOnesArePackedFirst) {
  PlanBuilder b;
  const auto product = [&](int32_t x, int64_t rows, int64_t columns) {
    const int32_t w = b.Constant({rows, columns}, std::vector<float>(static_cast<size_t>(rows * columns), 0.5f));
    return std::pair(w, b.Node("MatMul", 13, {x, w}, {1, columns}));
  };
  const auto [first, a] = product(b.Input({1, 256}), 256, 1536);
  const auto [large, c] = product(a, 1536, 1536);
  const auto [small, d] = product(c, 1536, 256);
  const auto [largest, e] = product(b.Input({1, 2048}), 2048, 1536);
  b.Output(d);
  b.Output(e);
  Graph def = b.Take();
  const auto memory = Lend(def, 0);
  const Built built(std::move(def));
  EXPECT_THAT(built.dropped, ElementsAre(largest, large, first, small));
  std::vector<int32_t> nodes;
  for (const kit::PackedData& packed : built.plan->packed()) nodes.push_back(packed.node);
  EXPECT_THAT(nodes, ElementsAre(0, 1, 2, 3)) << "a context has them in the order of the nodes";
}

// A report lets the host unmap the parts of a model's file that have been read.
TEST(Weights, CastsToFloatAreReportedWhenTheyAreMade) {
  constexpr int64_t kRows = 2048, kColumns = 2049;
  PlanBuilder b;
  const int32_t x = b.Input({1, kRows});
  b.Info(x).type = EP_TYPE_FLOAT16;
  const int32_t w = b.Constant({kRows, kColumns}, std::vector<float>(kRows * kColumns));
  const int32_t y = b.Node("MatMul", 13, {x, w}, {1, kColumns});
  b.Info(w).type = b.Info(y).type = EP_TYPE_FLOAT16;
  b.Output(y);
  Graph def = b.Take();
  const auto bits = [](int64_t i) { return static_cast<uint16_t>(0x3c00 + i % 1000); };  // float16 numbers from 1.0 on
  std::vector<char> bytes(kRows * kColumns * 2 + 1);
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const uint16_t number = bits(i);
    std::memcpy(bytes.data() + 1 + i * 2, &number, sizeof number);
  }
  def.constants[0].tensor.type = EP_TYPE_FLOAT16;
  def.constants[0].tensor.data = bytes.data() + 1;
  std::vector<uint64_t> made;
  cpu::RunInFloat(def, AllKernels(),
                  {{&kSingleThreadServices, nullptr, 1}, [&](uint64_t count) { made.push_back(count); }});
  EXPECT_THAT(made, ElementsAre(uint64_t{16} << 20, kRows * 4));
  ASSERT_EQ(def.constants.size(), 2u);
  const auto* const floats = def.constants[1].tensor.as<float>();
  int64_t wrong = 0;
  for (int64_t i = 0; i < kRows * kColumns; ++i) wrong += floats[i] != 1 + static_cast<float>(bits(i) - 0x3c00) / 1024;
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace epiphyte::test
