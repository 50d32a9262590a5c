// The context's bytes: a plan is restored as it was, and damaged or hostile bytes are refused without a crash.
#include <gmock/gmock.h>

#include <random>

#include "epiphyte/kit/container/layout.hpp"
#include "epiphyte/kit/memory/heap.hpp"
#include "plugins/cpu/exec/context.h"
#include "tests/cpu/exec/plan_host.h"
#include "tests/framework/sealed_container.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr int64_t kWidth = 48;

kit::ir::Graph SmallModel() {
  PlanBuilder b;
  const int32_t x = b.Input({1, 16, 6, 6});
  const int32_t w = b.Constant({32, 16, 3, 3}, std::vector<float>(32 * 16 * 9, 0.01f));
  int32_t y = b.Node("Relu", 14, {b.Node("Conv", 11, {x, w}, {1, 32, 4, 4})}, {1, 32, 4, 4});
  y = b.Node("Flatten", 13, {b.Node("GlobalAveragePool", 1, {y}, {1, 32, 1, 1})}, {1, 32});
  const int32_t matrix = b.Constant({32, kWidth}, std::vector<float>(32 * kWidth, 0.125f));
  y = b.Node("MatMul", 13, {y, matrix}, {1, kWidth});
  b.Output(b.Node("Softmax", 13,
                  {b.Node("Add", 14, {y, b.Constant({kWidth}, std::vector<float>(kWidth, 1))}, {1, kWidth})},
                  {1, kWidth}));
  kit::ir::Graph def = b.Take();
  def.name = "partition";
  return def;
}

std::vector<float> SmallInput() { return std::vector<float>(16 * 36, 0.5f); }

// A context's bytes in aligned memory, as in a mapped file.
struct Blob {
  std::shared_ptr<void> memory;
  size_t size;
  const char* data() const { return static_cast<const char*>(memory.get()); }
  char* data() { return static_cast<char*>(memory.get()); }
};

kit::ContextContainer Open(const char* data, size_t size) {
  return kit::ContextContainer({reinterpret_cast<const std::byte*>(data), size}, cpu::kContextFormat);
}
kit::StoredGraph ReadFrom(const kit::ContextContainer& context) {
  return kit::ReadGraph(context, "partition", kit::GraphCheck::kLater);
}
kit::StoredGraph ReadFrom(const Blob& blob) { return ReadFrom(Open(blob.data(), blob.size)); }

Blob ToBlob(const std::string& bytes) {
  Blob blob{kit::AllocateShared(bytes.size()), bytes.size()};
  std::memcpy(blob.data(), bytes.data(), bytes.size());
  return blob;
}

std::string Write(const cpu::Plan& plan) {
  std::string bytes;
  const cpu::Plan* plans[] = {&plan};
  cpu::WriteContext(cpu::ContextKey::Here(1, "f32"), plans,
                    [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
  return bytes;
}

std::string SmallContext() { return Write(PlanRunner(SmallModel()).plan()); }

TEST(Context, APlanComesBackAndGivesTheSameNumbers) {
  PlanRunner original(SmallModel());
  const std::vector<float> expected = original.Run({SmallInput()});
  const Blob blob = ToBlob(Write(original.plan()));
  const kit::ContextContainer context = Open(blob.data(), blob.size);
  EXPECT_THAT(kit::GraphNames(context), ElementsAre("partition"));
  kit::StoredGraph stored = ReadFrom(context);
  EXPECT_EQ(stored.graph.name, "partition");
  PlanRunner loaded(std::move(stored.graph), false, std::move(stored.packed));
  EXPECT_FALSE(loaded.plan().repacked());
  EXPECT_THAT(loaded.Run({SmallInput()}), ElementsAreArray(expected));
}

TEST(Context, WeightsAreUsedInPlace) {
  const Blob blob = ToBlob(SmallContext());
  const kit::StoredGraph stored = ReadFrom(blob);
  ASSERT_FALSE(stored.packed.empty());
  for (const kit::PackedData& packed : stored.packed) {
    EXPECT_GE(static_cast<const char*>(packed.data), blob.data());
    EXPECT_LE(static_cast<const char*>(packed.data) + packed.bytes, blob.data() + blob.size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(packed.data) % 64, 0u);
  }
}

TEST(Context, AnUnalignedPayloadIsCopiedAndWorks) {
  const std::string bytes = SmallContext();
  const Blob blob = ToBlob("1234567" + bytes);
  kit::StoredGraph stored = ReadFrom(Open(blob.data() + 7, bytes.size()));
  PlanRunner loaded(std::move(stored.graph), false, std::move(stored.packed));
  EXPECT_THAT(loaded.Run({SmallInput()}), ElementsAreArray(PlanRunner(SmallModel()).Run({SmallInput()})));
}

TEST(Context, SameInputSameBytes) { EXPECT_EQ(SmallContext(), SmallContext()); }

TEST(Context, PackedDataOfAnotherLayoutIsConverted) {
  const Blob blob = ToBlob(SmallContext());
  kit::StoredGraph stored = ReadFrom(blob);
  // The matrix is stored row-major, as another CPU would have packed it.
  auto& packed = stored.packed;
  const auto matrix = std::find_if(packed.begin(), packed.end(), [](const auto& entry) { return entry.key == "b"; });
  ASSERT_NE(matrix, packed.end());
  const std::vector<float> plain(32 * kWidth, 0.125f);
  matrix->format = "blocked;32,48,;32,48,;48,1,;;;";
  matrix->data = plain.data();
  matrix->bytes = plain.size() * sizeof(float);
  PlanRunner loaded(std::move(stored.graph), false, std::move(packed));
  EXPECT_TRUE(loaded.plan().repacked());
  EXPECT_THAT(loaded.Run({SmallInput()}), ElementsAreArray(PlanRunner(SmallModel()).Run({SmallInput()})));
}

TEST(Context, PackedDataWhoseLayoutReachesBeyondItsBytesIsRefused) {
  for (const char* format : {"blocked;32,48,;32,48,;4800000,1,;;;", "blocked;32,48,;32,48,;48,1,;1024,1024,;0,1,;",
                             "blocked;32,48,;64,48,;48,1,;;;", "blocked;32,48,;32,48,;-48,1,;;;",
                             "blocked;32,48,;32,48,;48,1,;16,;7,;", "blocked;32,48", "", "opaque"}) {
    const Blob blob = ToBlob(SmallContext());
    kit::StoredGraph stored = ReadFrom(blob);
    for (kit::PackedData& packed : stored.packed)
      if (packed.key == "b") packed.format = format;
    EXPECT_THROW(PlanRunner(std::move(stored.graph), false, std::move(stored.packed)), kit::Error) << format;
  }
}

TEST(Context, TruncatedAnywhereItIsRefused) {
  const std::string bytes = SmallContext();
  for (size_t size = 0; size < bytes.size(); size += size < 4096 ? 1 : 997) {
    const Blob blob = ToBlob(bytes.substr(0, size));
    try {
      Open(blob.data(), size);
      FAIL() << size << " of " << bytes.size() << " bytes were accepted";
    } catch (const kit::Error& error) {
      EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH);
      EXPECT_THAT(error.what(), HasSubstr("compile the model again"));
    }
  }
}

TEST(Context, ThatOfAnOlderVersionIsRefused) {
  std::string bytes = SmallContext();
  const uint32_t older = 2;
  std::memcpy(bytes.data() + offsetof(kit::container::Header, version), &older, sizeof older);
  try {
    Open(bytes.data(), bytes.size());
    FAIL() << "it was accepted";
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH);
    EXPECT_STREQ(error.what(),
                 "the cpu context has format 2, format 3 expected; compile the model again with this version");
  }
}

// Any changed byte of the table or of the plan's description gives a plan or an error.
TEST(Context, FlippedBytesNeverCrash) {
  const std::string bytes = SmallContext();
  kit::container::Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const size_t table_end = sizeof header + header.table_size;
  const size_t description = bytes.rfind("partition");
  ASSERT_GT(description, table_end);
  std::mt19937 random(11);
  int refused = 0, tried = 0;
  for (size_t at = 0; at < bytes.size(); at = at + 1 == table_end ? description : at + 1) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1u << (random() % 8)));
    const Blob blob = ToBlob(Sealed(std::move(changed)));
    ++tried;
    try {
      const kit::ContextContainer context = Open(blob.data(), blob.size);
      for (const std::string_view name : kit::GraphNames(context)) {
        kit::StoredGraph stored = kit::ReadGraph(context, name, kit::GraphCheck::kLater);
        PlanRunner runner(std::move(stored.graph), false, std::move(stored.packed));
        if (runner.plan().def().inputs.size() == 1) runner.Run({SmallInput()}, {{1, 16, 6, 6}});
      }
    } catch (const kit::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, tried / 10);
}

TEST(ContextKey, ItsOwnTextIsOptimal) {
  const cpu::ContextKey key{"3.1 abc", "x86_64/avx2", 7, "bf16", "1.0"};
  EXPECT_EQ(key.Compare(key.ToText()).verdict, EP_CONTEXT_OPTIMAL);
  EXPECT_EQ(key.Compare("nonsense").verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_EQ(key.Compare("format=999;onednn=3.1 abc;machine=x86_64").verdict, EP_CONTEXT_UNSUPPORTED);
}

TEST(ContextKey, VerdictsFollowWhatDiffers) {
  const cpu::ContextKey here{"2.6.3 x", "x86_64/avx512_core", 2, "f32", "1.0"};
  const auto compare = [&](const auto& change) {
    cpu::ContextKey made = here;
    change(made);
    return here.Compare(made.ToText());
  };
  using Key = cpu::ContextKey;
  EXPECT_EQ(compare([](Key&) {}).verdict, EP_CONTEXT_OPTIMAL);
  kit::ContextVerdict found = compare([](Key& made) { made.threads = 4; });
  EXPECT_EQ(found.verdict, EP_CONTEXT_PREFER_RECOMPILATION);
  EXPECT_THAT(found.reason, AllOf(HasSubstr("4 threads"), HasSubstr("2 threads")));
  found = compare([](Key& made) { made.isa = "x86_64/avx2"; });
  EXPECT_EQ(found.verdict, EP_CONTEXT_PREFER_RECOMPILATION);
  EXPECT_THAT(found.reason, HasSubstr("avx2"));
  EXPECT_EQ(compare([](Key& made) { made.precision = "bf16"; }).verdict, EP_CONTEXT_PREFER_RECOMPILATION);
  EXPECT_EQ(compare([](Key& made) { made.plugin = "0.9"; }).verdict, EP_CONTEXT_PREFER_RECOMPILATION);
  found = compare([](Key& made) { made.isa = "aarch64/isa3"; });
  EXPECT_EQ(found.verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_THAT(found.reason, HasSubstr("aarch64"));
  found = compare([](Key& made) { made.onednn = "3.1.1 y"; });
  EXPECT_EQ(found.verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_THAT(found.reason, HasSubstr("oneDNN 3.1.1 y"));
}

}  // namespace
}  // namespace epiphyte::test
