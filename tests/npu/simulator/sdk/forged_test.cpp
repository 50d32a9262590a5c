// Blobs with matching digests and false numbers: they are refused, or they run within their memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "plugins/npu/simulator/blob/blob.h"
#include "plugins/npu/simulator/isa/encoding.h"
#include "tests/framework/resident_memory.h"
#include "tests/npu/simulator/blob/forge.h"
#include "tests/npu/simulator/networks.h"
#include "tests/npu/simulator/sdk/session.h"

namespace epiphyte::npusim {
namespace {

// A network that needs a command of each kind.
void BuildAll(GraphBuilder& b) {
  NetworkBuilder net(b);
  const uint32_t x = b.Input("x", NSDK_INT8, {1, 3, 8, 8}, {0.05f, 3});
  const uint32_t conv = net.Conv(x, 20, 3, 1, true);
  const uint32_t depthwise = net.Conv(conv, 20, 3, 1, false, 20);
  const uint32_t pool = net.MaxPool(net.Add(depthwise, conv, true), 2, 2, 0);
  const auto next = [&](uint32_t kind, std::vector<uint32_t> inputs, std::vector<int64_t> dims,
                        std::vector<OpParam> params = {}) {
    const uint32_t y = b.Value(NSDK_INT8, std::move(dims), {0.05f, 1});
    b.Op(kind, std::move(inputs), {y}, std::move(params));
    return y;
  };
  const uint32_t resized = next(NSDK_RESIZE, {pool}, {1, 20, 8, 8}, {{NSDK_MODE, {1}}});
  const uint32_t padded = next(NSDK_PAD, {resized}, {1, 20, 10, 8}, {{NSDK_PADS, {0, 0, 1, 0, 0, 0, 1, 0}}});
  const uint32_t softmax = next(NSDK_SOFTMAX, {padded}, {1, 20, 10, 8}, {{NSDK_AXIS, {3}}});
  const uint32_t scale = b.RandomConstant(NSDK_FLOAT32, {8}, {});
  const uint32_t norm = next(NSDK_LAYER_NORM, {softmax, scale}, {1, 20, 10, 8}, {{NSDK_AXIS, {3}}});
  const uint32_t table = b.RandomConstant(NSDK_INT8, {256}, {0.05f, 1});
  b.Output(next(NSDK_LOOKUP, {norm, table}, {1, 20, 10, 8}), "y");
}

class Forged : public testing::Test {
 protected:
  Forged() {
    GraphBuilder b("all");
    BuildAll(b);
    blob_ = session_.Blob({b.Graph()});
  }

  // Loads the blob and runs it if that succeeds. Returns true if it ran.
  bool Runs(const Bytes& blob) const {
    const NsdkLoadOptions options{.struct_size = sizeof(NsdkLoadOptions),
                                  .flags = NSDK_BLOB_STAYS,
                                  .scratch = nullptr,
                                  .weights = nullptr,
                                  .priority = 0,
                                  .reserved = 0};
    NsdkProgram* made = nullptr;
    const NsdkStatus status = Api().load(session_.context(), blob.data(), blob.size(), &options, &made, nullptr);
    const Handle<NsdkProgram> program(made, Api().unload);
    uint32_t verdict = 0;
    EXPECT_EQ(Api().check_blob(session_.context(), blob.data(), blob.size(), &verdict, nullptr), NSDK_OK);
    EXPECT_EQ(status == NSDK_OK, verdict == NSDK_OPTIMAL || verdict == NSDK_PREFER_RECOMPILE) << verdict;
    if (status != NSDK_OK) {
      EXPECT_TRUE(status == NSDK_CORRUPT || status == NSDK_INCOMPATIBLE) << status;
      return false;
    }
    const NsdkBlobInfo* info = nullptr;
    Check(Api().blob_info(blob.data(), blob.size(), &info, nullptr), Reason());
    const NsdkBlobGraph& graph = info->graphs[0];
    // A host allocates as much memory as the blob asks for, up to a limit (1 MiB here).
    uint64_t asked = 0;
    for (uint32_t i = 0; i < graph.input_count; ++i) asked += graph.inputs[i].size;
    for (uint32_t i = 0; i < graph.output_count; ++i) asked += graph.outputs[i].size;
    std::vector<Bytes> inputs;
    for (uint32_t i = 0; i < graph.input_count && asked <= 1 << 20; ++i) inputs.emplace_back(graph.inputs[i].size, 7);
    Api().blob_info_release(info);
    if (asked > 1 << 20) return true;
    Bound bound(program.get(), 0, blob, inputs);
    bound.Run();
    bound.Counters();
    return true;
  }

  std::span<std::byte> BytesOf(Bytes& blob) const {
    return std::as_writable_bytes(std::span<uint8_t>(blob.data(), blob.size()));
  }

  Session session_;
  Bytes blob_;
};

TEST_F(Forged, TheBlobItselfRuns) { EXPECT_TRUE(Runs(blob_)); }

TEST_F(Forged, NumbersOfEverySectionAreRefusedOrRun) {
  std::mt19937 random(7);
  int refused = 0, ran = 0;
  constexpr std::array<uint32_t, 12> kNumbers = {0,      1,      2,       63,         0xff,       0x100,
                                                 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff};
  for (const size_t section : {kDeviceSection, kWeightsSection, kGraphSection, kProgramSection}) {
    const size_t size = SectionOf(BytesOf(blob_), section).size();
    // Each word of a short section and about 500 of a long one are changed.
    const size_t words = size / 4, step = std::max<size_t>(1, words / 500);
    for (size_t word = random() % step; word < words; word += step) {
      for (int i = 0; i < 4; ++i) {
        Bytes forged = blob_;
        const uint32_t number = kNumbers[random() % kNumbers.size()];
        Forge(BytesOf(forged), section,
              [&](std::span<std::byte> bytes) { PutNumber(bytes.data() + 4 * word, number, 4); });
        ++(Runs(forged) ? ran : refused);
      }
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(ran, 500);
}

TEST_F(Forged, SizesAndOffsetsOfTheSectionTableAreChecked) {
  for (size_t section = 0; section < 4; ++section) {
    for (const size_t field : {0, 4, 8, 16}) {
      for (const uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{5}, uint64_t{64}, blob_.size() - 64,
                                    uint64_t{blob_.size()}, uint64_t{1} << 32, UINT64_MAX - 63, UINT64_MAX}) {
        Bytes forged = blob_;
        const size_t width = field < 8 ? 4 : 8;
        std::byte* at = BytesOf(forged).data() + kHeadSize + section * kSectionEntrySize + field;
        PutNumber(at, number, width);
        SealHead(BytesOf(forged));
        if (forged == blob_) continue;
        EXPECT_FALSE(Runs(forged)) << "section " << section << ", field " << field << ", " << number;
        const NsdkBlobInfo* info = nullptr;
        EXPECT_NE(Api().blob_info(forged.data(), forged.size(), &info, nullptr), NSDK_OK);
      }
    }
  }
}

// A program that never writes its scratch memory can't use it, so a size for it is an error.
TEST_F(Forged, ScratchMemoryThatIsNeverWrittenIsRefused) {
  CompiledGraph graph;
  graph.name = "large";
  graph.outputs = {{"y", NSDK_INT8, {64}, 0.5f, 0, 64}};
  graph.op_names = {"only"};
  graph.scratch_size = uint64_t{1} << 30;
  StoreCommand store;
  store.region = kOutputs;
  store.run = 64;
  graph.program.push_back({.queue = kStore, .work = store});
  const std::vector<std::byte> bytes = WriteBlob({}, std::array<const CompiledGraph*, 1>{&graph}, "1.0.0");
  Bytes blob(bytes.size());
  std::memcpy(blob.data(), bytes.data(), bytes.size());
  NsdkProgram* made = nullptr;
  EXPECT_EQ(Api().load(session_.context(), blob.data(), blob.size(), nullptr, &made, nullptr), NSDK_CORRUPT);
}

// Pages of scratch memory take no memory before they are written.
TEST_F(Forged, ScratchMemoryThatIsWrittenInPartCostsThatPart) {
  CompiledGraph graph;
  graph.name = "large";
  graph.outputs = {{"y", NSDK_INT8, {64}, 0.5f, 0, 64}};
  graph.op_names = {"only"};
  graph.scratch_size = uint64_t{1} << 30;
  StoreCommand store;
  store.region = kScratch;
  store.run = 1 << 16;
  store.count = {1, 1, 1, 1, 1 << 10};
  store.external_stride = {0, 0, 0, 0, 1 << 10};
  graph.program.push_back({.queue = kStore, .work = store});
  store = {};
  store.region = kOutputs;
  store.run = 64;
  graph.program.push_back({.queue = kStore, .work = store});
  const std::vector<std::byte> bytes = WriteBlob({}, std::array<const CompiledGraph*, 1>{&graph}, "1.0.0");
  Bytes blob(bytes.size());
  std::memcpy(blob.data(), bytes.data(), bytes.size());
  NsdkProgram* made = nullptr;
  ASSERT_EQ(Api().load(session_.context(), blob.data(), blob.size(), nullptr, &made, nullptr), NSDK_OK);
  const Handle<NsdkProgram> program(made, Api().unload);
  const uint64_t before = test::ResidentBytes();
  Bound bound(program.get(), 0, blob, {});
  bound.Run();
  EXPECT_LT(test::ResidentBytes(), before + (uint64_t{1} << 28));
}

TEST_F(Forged, ACommandThatWritesItsMemoryOverAndOverIsRefused) {
  FillCommand fill;
  fill.count = {1 << 15, 1, 1, 1 << 12};
  fill.stride = {0, 0, 0, 1};
  const Command command{.queue = kExecute, .work = fill};
  try {
    Verify({&command, 1}, Config{}, {});
    ADD_FAILURE() << "the command was taken";
  } catch (const BadProgram& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("16 times"));
  }
}

}  // namespace
}  // namespace epiphyte::npusim
