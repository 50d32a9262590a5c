// Promises of nsdk.h on contexts, options, structs, memory and blobs, checked with this SDK's own values.
// nsdk_conformance has the rules that hold for every SDK.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/npu/simulator/networks.h"
#include "tests/npu/simulator/sdk/session.h"

namespace epiphyte::npusim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void BuildSmall(GraphBuilder& b) {
  NetworkBuilder net(b);
  uint32_t x = b.Input("x", NSDK_INT8, {1, 3, 16, 16}, {0.05f, 3});
  x = net.Conv(x, 20, 3, 1, true);
  x = net.Add(net.Conv(x, 20, 1, 1, false), x, true);
  net.Head(x, 10);
}

std::string Refusal(const Options& options, uint32_t device = 0) {
  try {
    const Session session(options, device);
  } catch (const StatusError& e) {
    return e.what();
  }
  return "";
}

TEST(Contexts, AnUnknownOptionIsNamedWithThoseThatThereAre) {
  EXPECT_THAT(Refusal({{"arrray", "8x8"}}),
              AllOf(HasSubstr("arrray"), HasSubstr("array (ROWSxCOLUMNS"), HasSubstr("fusion (on or off)")));
}

TEST(Contexts, AValueThatIsNoneIsRefusedWithWhatIsExpected) {
  const Options bad = {{"array", "16"},
                       {"array", "16x"},
                       {"array", "0x16"},
                       {"array", "1x1"},
                       {"array", "256x256"},
                       {"array", " 16x16"},
                       {"scratchpad_kib", "1"},
                       {"scratchpad_kib", "-1"},
                       {"scratchpad_kib", "99999999999"},
                       {"accumulator_kib", "x"},
                       {"dma_bytes_per_cycle", "0"},
                       {"dma_bytes_per_cycle", "1.2345"},
                       {"dma_bytes_per_cycle", "1."},
                       {"dma_bytes_per_cycle", ".5"},
                       {"dma_latency", "1e3"},
                       {"dma_efficiency", "1.5"},
                       {"fold_overhead", "-1"},
                       {"axi_bytes", "3"},
                       {"effort", "lots"},
                       {"fusion", "yes"}};
  for (const auto& option : bad) {
    EXPECT_THAT(Refusal({option}), HasSubstr("expected")) << option.first << " = " << option.second;
  }
}

TEST(Contexts, ATargetIsWhatTheOptionsSay) {
  const Session session({{"array", "32x8"}, {"scratchpad_kib", "512"}, {"accumulator_kib", "32"}});
  NsdkTarget target{.struct_size = sizeof(NsdkTarget)};
  ASSERT_EQ(Api().get_target(session.context(), &target), NSDK_OK);
  EXPECT_EQ(target.macs_per_cycle, 256u);
  EXPECT_EQ(target.scratchpad_size, 512u * 1024);
  EXPECT_STREQ(target.architecture, "npusim-32x8-512k-32k");
}

TEST(Contexts, ThereIsDeviceZeroAndNoOther) {
  EXPECT_THAT(Refusal({}, 1), HasSubstr("there is no device 1"));
  EXPECT_EQ(Refusal({}, NSDK_WITHOUT_DEVICE), "");
  uint32_t count = 0;
  ASSERT_EQ(Api().list_devices(&count, nullptr), NSDK_OK);
  EXPECT_EQ(count, 1u);
  NsdkDevice device{.struct_size = sizeof(NsdkDevice)};
  ASSERT_EQ(Api().list_devices(&count, &device), NSDK_OK);
  EXPECT_STREQ(device.architecture, "npusim-16x16-256k-64k");
  EXPECT_EQ(device.flags, uint32_t{NSDK_DEVICE_SOFTWARE});
}

TEST(Contexts, WithoutADeviceProgramsAreCompiledAndNotLoaded) {
  GraphBuilder b("small");
  BuildSmall(b);
  const Session session({}, NSDK_WITHOUT_DEVICE);
  const Bytes blob = session.Blob({b.Graph()});
  uint32_t verdict = 0;
  Reason reason;
  EXPECT_EQ(Api().check_blob(session.context(), blob.data(), blob.size(), &verdict, &reason), NSDK_OK);
  EXPECT_EQ(verdict, uint32_t{NSDK_OPTIMAL});
  try {
    session.Load(blob);
    ADD_FAILURE();
  } catch (const StatusError& e) {
    EXPECT_EQ(e.status, NSDK_NO_DEVICE);
  }
}

TEST(Structs, NothingIsWrittenBeyondTheirSize) {
  NsdkTarget target;
  std::memset(&target, 0x5a, sizeof(target));
  target.struct_size = offsetof(NsdkTarget, scratchpad_size);
  const Session session;
  ASSERT_EQ(Api().get_target(session.context(), &target), NSDK_OK);
  EXPECT_EQ(target.macs_per_cycle, 256u);
  EXPECT_EQ(target.scratchpad_size, 0x5a5a5a5a5a5a5a5aull);
  Reason reason;
  std::memset(reason.text, 0x5a, sizeof(reason.text));
  reason.struct_size = 4 + 10;
  NsdkExecution* execution = nullptr;
  EXPECT_EQ(Api().exec_create(nullptr, 0, &execution, &reason), NSDK_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(reason.text), "program i");
  EXPECT_EQ(reason.text[10], 0x5a);
}

TEST(Structs, ASmallerTableIsFilledAsFarAsItGoes) {
  NsdkApi table;
  std::memset(&table, 0, sizeof(table));
  table.struct_size = offsetof(NsdkApi, context_destroy);
  ASSERT_EQ(nsdk_get_api(NSDK_VERSION, &table), NSDK_OK);
  EXPECT_EQ(table.struct_size, offsetof(NsdkApi, context_destroy));
  EXPECT_NE(table.context_create, nullptr);
  EXPECT_EQ(table.context_destroy, nullptr);
  struct {
    NsdkApi table;
    void* behind;
  } larger{};
  larger.table.struct_size = sizeof(larger);
  ASSERT_EQ(nsdk_get_api(NSDK_VERSION | 7, &larger.table), NSDK_OK);
  EXPECT_EQ(larger.table.struct_size, sizeof(NsdkApi));
  EXPECT_EQ(nsdk_get_api(0x00020000, &table), NSDK_INCOMPATIBLE);
}

TEST(Structs, ArraysOfLargerStructsAreSteppedByTheirSize) {
  struct Larger {
    NsdkOption option;
    uint64_t more;
  };
  const Larger options[] = {{{sizeof(Larger), 0, "array", "8x8"}, 1}, {{sizeof(Larger), 0, "fusion", "off"}, 2}};
  const NsdkContextOptions of{.struct_size = sizeof(NsdkContextOptions),
                              .device = 0,
                              .option_count = 2,
                              .reserved = 0,
                              .options = &options[0].option};
  NsdkContext* context = nullptr;
  Reason reason;
  ASSERT_EQ(Api().context_create(&of, &context, &reason), NSDK_OK) << reason.text;
  NsdkTarget target{.struct_size = sizeof(NsdkTarget)};
  Api().get_target(context, &target);
  EXPECT_EQ(target.macs_per_cycle, 64u);
  Api().context_destroy(context);
}

TEST(Blobs, EqualGraphsGiveEqualBytesAndInfoIsWhatWasCompiled) {
  GraphBuilder b("small");
  BuildSmall(b);
  const Session session;
  const Bytes blob = session.Blob({b.Graph()});
  EXPECT_EQ(Session().Blob({b.Graph()}), blob);
  const NsdkBlobInfo* info = nullptr;
  Reason reason;
  ASSERT_EQ(Api().blob_info(blob.data(), blob.size(), &info, &reason), NSDK_OK) << reason.text;
  EXPECT_STREQ(info->architecture, "npusim-16x16-256k-64k");
  EXPECT_EQ(info->size, blob.size());
  ASSERT_EQ(info->graph_count, 1u);
  const NsdkBlobGraph& graph = info->graphs[0];
  EXPECT_STREQ(graph.name, "small");
  ASSERT_EQ(graph.input_count, 1u);
  EXPECT_STREQ(graph.inputs[0].name, "x");
  EXPECT_EQ(graph.inputs[0].size, 3u * 16 * 16);
  EXPECT_EQ(graph.inputs[0].zero_point, 3);
  EXPECT_FLOAT_EQ(graph.inputs[0].scale, 0.05f);
  ASSERT_EQ(graph.output_count, 1u);
  EXPECT_STREQ(graph.outputs[0].name, "logits");
  EXPECT_EQ(graph.outputs[0].dims[1], 10);
  Api().blob_info_release(info);
}

TEST(Blobs, OtherDevicesMustRecompile) {
  GraphBuilder b("small");
  BuildSmall(b);
  const Bytes blob = Session().Blob({b.Graph()});
  const Session other(Options{{"array", "8x8"}});
  uint32_t verdict = 0;
  Reason reason;
  ASSERT_EQ(Api().check_blob(other.context(), blob.data(), blob.size(), &verdict, &reason), NSDK_OK);
  EXPECT_EQ(verdict, uint32_t{NSDK_MUST_RECOMPILE});
  EXPECT_THAT(reason.text, AllOf(HasSubstr("npusim-16x16-256k-64k"), HasSubstr("npusim-8x8-256k-64k")));
  try {
    other.Load(blob);
    ADD_FAILURE();
  } catch (const StatusError& e) {
    EXPECT_EQ(e.status, NSDK_INCOMPATIBLE);
  }
}

// Any changed byte is found before anything runs.
TEST(Blobs, DamagedOnesAreRefusedByLoadAndVerdictAlikeAndNeverDescribedWrongly) {
  GraphBuilder b("small");
  BuildSmall(b);
  const Session session;
  const Bytes blob = session.Blob({b.Graph()});
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    Bytes damaged = blob;
    if (i % 3 == 0)
      damaged.resize(random() % blob.size());
    else
      damaged[i % 3 == 1 ? random() % 256 : random() % blob.size()] ^= static_cast<uint8_t>(1 + random() % 255);
    uint32_t verdict = 0;
    Reason reason;
    ASSERT_EQ(Api().check_blob(session.context(), damaged.data(), damaged.size(), &verdict, &reason), NSDK_OK);
    EXPECT_TRUE(verdict == NSDK_NOT_A_BLOB || verdict == NSDK_MUST_RECOMPILE) << verdict;
    EXPECT_STRNE(reason.text, "");
    EXPECT_THROW(session.Load(damaged), StatusError);
    const NsdkBlobInfo* info = nullptr;
    if (Api().blob_info(damaged.data(), damaged.size(), &info, nullptr) != NSDK_OK) {
      EXPECT_EQ(info, nullptr);
      continue;
    }
    // A damaged blob is described only if the damage is in bytes that the description doesn't cover.
    EXPECT_GE(damaged.size(), blob.size());
    EXPECT_EQ(info->size, blob.size());
    EXPECT_STREQ(info->graphs[0].name, "small");
    EXPECT_STREQ(info->graphs[0].inputs[0].name, "x");
    EXPECT_EQ(info->graphs[0].inputs[0].size, 3u * 16 * 16);
    Api().blob_info_release(info);
  }
}

class Memory : public testing::Test {
 protected:
  Memory() : b("small") {
    BuildSmall(b);
    blob = session.Blob({b.Graph()});
    program = session.Load(blob);
    input = Bytes(3 * 16 * 16, 17);
    Bound bound(program.get(), 0, blob, {input});
    expected = bound.Run()[0];
    Reason reason;
    NsdkExecution* made = nullptr;
    Check(Api().exec_create(program.get(), 0, &made, &reason), reason);
    execution.reset(made);
  }

  Handle<NsdkMemory> Create(NsdkMemoryOptions& options) {
    options.struct_size = sizeof(options);
    NsdkMemory* memory = nullptr;
    Reason reason;
    Check(Api().mem_create(session.context(), &options, &memory, &reason), reason);
    return {memory, Api().mem_destroy};
  }
  NsdkStatus Bind(uint32_t direction, NsdkMemory* memory, uint64_t offset, void* host, uint64_t size,
                  uint32_t index = 0) {
    const NsdkBinding binding{sizeof(NsdkBinding), 0, memory, offset, host, size};
    return Api().exec_bind(execution.get(), direction, index, &binding, &reason);
  }
  NsdkStatus Run() { return Api().run(execution.get(), nullptr, &reason); }

  Session session;
  GraphBuilder b;
  Bytes blob, input, expected;
  Handle<NsdkProgram> program{nullptr, Api().unload};
  Handle<NsdkExecution> execution{nullptr, Api().exec_destroy};
  Reason reason;
};

TEST_F(Memory, AllocatedMemoryIsReadAndWrittenInPlace) {
  NsdkMemoryOptions options{.kind = NSDK_ALLOCATE, .size = 4096};
  const auto memory = Create(options);
  ASSERT_NE(options.address, nullptr);
  auto* bytes = static_cast<uint8_t*>(options.address);
  std::memcpy(bytes + 7, input.data(), input.size());
  ASSERT_EQ(Bind(NSDK_INPUT, memory.get(), 7, nullptr, input.size()), NSDK_OK) << reason.text;
  ASSERT_EQ(Bind(NSDK_OUTPUT, memory.get(), 2001, nullptr, 10), NSDK_OK) << reason.text;
  ASSERT_EQ(Run(), NSDK_OK) << reason.text;
  EXPECT_EQ(Bytes(bytes + 2001, bytes + 2011), expected);
}

TEST_F(Memory, AFileIsMappedAtAnyOffset) {
  const int fd = memfd_create("npusim", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 10'000), 0);
  ASSERT_EQ(pwrite(fd, input.data(), input.size(), 5'000), static_cast<ssize_t>(input.size()));
  NsdkMemoryOptions options{.kind = NSDK_IMPORT_FD, .size = 4'000, .offset = 5'000, .fd = fd};
  const auto memory = Create(options);
  NsdkMemoryOptions beyond{.kind = NSDK_IMPORT_FD, .size = 5'001, .offset = 5'000, .fd = fd};
  EXPECT_THROW(Create(beyond), StatusError);
  ASSERT_EQ(Bind(NSDK_INPUT, memory.get(), 0, nullptr, input.size()), NSDK_OK);
  ASSERT_EQ(Bind(NSDK_OUTPUT, memory.get(), 3'990, nullptr, 10), NSDK_OK);
  ASSERT_EQ(Run(), NSDK_OK) << reason.text;
  Bytes found(10);
  ASSERT_EQ(pread(fd, found.data(), 10, 8'990), 10);
  EXPECT_EQ(found, expected);
  close(fd);
}

TEST_F(Memory, WhatCanOnlyBeReadTakesNoOutput) {
  const std::string path = testing::TempDir() + "/npusim_read_only";
  const int made = open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600);
  ASSERT_EQ(ftruncate(made, 4096), 0);
  close(made);
  const int fd = open(path.c_str(), O_RDONLY);
  unlink(path.c_str());
  NsdkMemoryOptions options{.kind = NSDK_IMPORT_FD, .size = 4096, .offset = 0, .fd = fd};
  const auto memory = Create(options);
  close(fd);
  EXPECT_EQ(Bind(NSDK_INPUT, memory.get(), 0, nullptr, input.size()), NSDK_OK);
  EXPECT_EQ(Bind(NSDK_OUTPUT, memory.get(), 0, nullptr, 10), NSDK_INVALID_ARGUMENT);
  EXPECT_THAT(reason.text, HasSubstr("can only be read"));
}

TEST_F(Memory, WhatIsTooSmallOrBeyondIsRefusedAndWhatWasBoundStays) {
  Bytes output(10);
  ASSERT_EQ(Bind(NSDK_INPUT, nullptr, 0, input.data(), input.size()), NSDK_OK);
  ASSERT_EQ(Bind(NSDK_OUTPUT, nullptr, 0, output.data(), 10), NSDK_OK);
  NsdkMemoryOptions options{.kind = NSDK_IMPORT_HOST, .size = 100, .address = output.data()};
  const auto memory = Create(options);
  EXPECT_EQ(Bind(NSDK_OUTPUT, nullptr, 0, output.data(), 9), NSDK_INVALID_ARGUMENT);
  EXPECT_EQ(Bind(NSDK_OUTPUT, memory.get(), 91, nullptr, 10), NSDK_INVALID_ARGUMENT);
  EXPECT_EQ(Bind(NSDK_OUTPUT, memory.get(), UINT64_MAX, nullptr, 10), NSDK_INVALID_ARGUMENT);
  EXPECT_EQ(Bind(NSDK_OUTPUT, memory.get(), 0, output.data(), 10), NSDK_INVALID_ARGUMENT);
  EXPECT_EQ(Bind(NSDK_OUTPUT, nullptr, 0, nullptr, 10), NSDK_INVALID_ARGUMENT);
  EXPECT_EQ(Bind(NSDK_OUTPUT, memory.get(), 0, nullptr, 10, 1), NSDK_INVALID_ARGUMENT);
  EXPECT_EQ(Bind(2, memory.get(), 0, nullptr, 10), NSDK_INVALID_ARGUMENT);
  ASSERT_EQ(Run(), NSDK_OK) << reason.text;
  EXPECT_EQ(output, expected);
}

TEST_F(Memory, ARunWithoutABindingIsRefused) {
  ASSERT_EQ(Bind(NSDK_INPUT, nullptr, 0, input.data(), input.size()), NSDK_OK);
  EXPECT_EQ(Run(), NSDK_INVALID_ARGUMENT);
  EXPECT_THAT(reason.text, HasSubstr("output 'logits' isn't bound"));
}

}  // namespace
}  // namespace epiphyte::npusim
