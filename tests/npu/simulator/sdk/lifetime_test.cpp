// Memory doesn't grow, however often programs are loaded and run. Threads that load and run at the same time don't
// affect each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <thread>

#include "plugins/npu/simulator/sdk/objects.h"
#include "tests/framework/process_threads.h"
#include "tests/npu/simulator/networks.h"
#include "tests/npu/simulator/sdk/session.h"

namespace epiphyte::npusim {
namespace {

constexpr int kTimes = 1'000;

void BuildNet(GraphBuilder& b, int64_t channels) {
  NetworkBuilder net(b);
  uint32_t x = b.Input("x", NSDK_INT8, {1, 3, 8, 8}, {0.05f, 3});
  x = net.Conv(x, channels, 3, 1, true);
  net.Head(net.Add(net.Conv(x, channels, 3, 1, false), x, true), 10);
}

Bytes RandomInput(uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(3 * 8 * 8);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}

struct Net {
  Net(const Session& session, int64_t channels, uint32_t seed) {
    GraphBuilder b("net", seed);
    BuildNet(b, channels);
    blob = session.Blob({b.Graph()});
    expected = Bound(session.Load(blob).get(), 0, blob, {RandomInput(1)}).Run();
  }
  Bytes blob;
  std::vector<Bytes> expected;  // outputs for RandomInput(1)
};

size_t HeapBytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

long Entries(const char* folder) {
  const std::filesystem::directory_iterator begin(folder);
  return std::distance(std::filesystem::begin(begin), std::filesystem::end(begin));
}

// Calls `once` a thousand times. A leak in each call would be a block of at least 32 bytes.
void ExpectNoGrowth(const std::function<void()>& once) {
  for (int i = 0; i < 50; ++i) once();
  const size_t before = HeapBytes();
  const size_t threads = test::ThreadsOfThisProcess();
  const long files = Entries("/proc/self/fd");
  for (int i = 0; i < kTimes; ++i) once();
  EXPECT_LT(HeapBytes(), before + 16 * kTimes);
  // The last thread that was waited for may still be ending.
  for (int i = 0; i < 1000 && test::ThreadsOfThisProcess() > threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(test::ThreadsOfThisProcess(), threads);
  EXPECT_LE(Entries("/proc/self/fd"), files);
}

TEST(Lifetime, AThousandRunsLeaveNothing) {
  const Session session;
  const Net net(session, 16, 1);
  const auto program = session.Load(net.blob);
  Bound bound(program.get(), 0, net.blob, {RandomInput(1)});
  int wrong = 0;
  ExpectNoGrowth([&] { wrong += bound.Run() != net.expected; });
  EXPECT_EQ(wrong, 0);
}

TEST(Lifetime, AThousandStartedRunsLeaveNothing) {
  const Session session;
  const Net net(session, 8, 1);
  const auto program = session.Load(net.blob);
  Bound bound(program.get(), 0, net.blob, {RandomInput(1)});
  ExpectNoGrowth([&] {
    Check(Api().run_async(bound.get(), nullptr, nullptr, nullptr), Reason());
    Check(Api().wait(bound.get(), nullptr), Reason());
  });
  EXPECT_EQ(bound.outputs(), net.expected);
}

TEST(Lifetime, AThousandLoadedProgramsWithTheirGroupsLeaveNothing) {
  const Session session;
  const Net net(session, 8, 1);
  NsdkGroup *scratch = nullptr, *weights = nullptr;
  ASSERT_EQ(Api().group_create(session.context(), NSDK_SHARE_SCRATCH, &scratch, nullptr), NSDK_OK);
  ASSERT_EQ(Api().group_create(session.context(), NSDK_SHARE_WEIGHTS, &weights, nullptr), NSDK_OK);
  int wrong = 0;
  ExpectNoGrowth([&] {
    const auto copied = session.Load(net.blob, scratch, weights);
    const auto stays = session.Load(net.blob, nullptr, nullptr, NSDK_BLOB_STAYS);
    wrong += Bound(copied.get(), 0, net.blob, {RandomInput(1)}).Run() != net.expected;
    wrong += Bound(stays.get(), 0, net.blob, {RandomInput(1)}).Run() != net.expected;
    // A failed call must leak nothing, either.
    Bytes damaged = net.blob;
    damaged[damaged.size() / 2] ^= 1;
    EXPECT_THROW(session.Load(damaged, scratch, weights), StatusError);
  });
  EXPECT_EQ(wrong, 0);
  Api().group_destroy(scratch);
  Api().group_destroy(weights);
}

TEST(Lifetime, WeightsGroupReleasesWeightsOfUnloadedPrograms) {
  SharedWeights group;
  std::vector<std::byte> weights(4096);
  const SharedWeights::Bytes kept = group.Find(weights);
  for (int i = 1; i <= kTimes; ++i) {
    std::memcpy(weights.data(), &i, sizeof(i));
    ASSERT_NE(group.Find(weights), kept);
  }
  EXPECT_LE(group.by_hash.size(), 2u) << "what is still there, and the last";
  std::fill(weights.begin(), weights.end(), std::byte{0});
  EXPECT_EQ(group.Find(weights), kept);
}

// Four threads load and run: a shared program and their own, in groups and without.
TEST(Threads, LoadAndRunAllKindsOfProgramsAtOnce) {
  const Session session;
  const std::vector<Net> nets = {{session, 8, 1}, {session, 24, 2}, {session, 8, 3}};
  NsdkGroup *scratch = nullptr, *weights = nullptr;
  ASSERT_EQ(Api().group_create(session.context(), NSDK_SHARE_SCRATCH, &scratch, nullptr), NSDK_OK);
  ASSERT_EQ(Api().group_create(session.context(), NSDK_SHARE_WEIGHTS, &weights, nullptr), NSDK_OK);
  const auto common = session.Load(nets[0].blob, scratch, weights);
  std::vector<std::future<int>> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.push_back(std::async(std::launch::async, [&, thread] {
      int wrong = 0;
      for (int round = 0; round < 30; ++round) {
        const Net& net = nets[(thread + round) % nets.size()];
        const bool stays = round % 4 == 0;
        const auto own = session.Load(net.blob, round % 2 == 0 ? scratch : nullptr, stays ? nullptr : weights,
                                      stays ? NSDK_BLOB_STAYS : 0);
        Bound mine(own.get(), 0, net.blob, {RandomInput(1)});
        Bound shared(common.get(), 0, nets[0].blob, {RandomInput(1)});
        Check(Api().run_async(shared.get(), nullptr, nullptr, nullptr), Reason());
        wrong += mine.Run() != net.expected;
        Check(Api().wait(shared.get(), nullptr), Reason());
        wrong += shared.outputs() != nets[0].expected;
        wrong += mine.Counters().npu_total_cycles == 0;
      }
      return wrong;
    }));
  }
  for (auto& thread : threads) EXPECT_EQ(thread.get(), 0);
  Api().group_destroy(scratch);
  Api().group_destroy(weights);
}

}  // namespace
}  // namespace epiphyte::npusim
