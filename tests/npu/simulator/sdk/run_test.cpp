// Runs: many at the same time, asynchronous, cancelled, in groups; and their counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <limits>
#include <map>
#include <mutex>

#include "tests/npu/simulator/networks.h"
#include "tests/npu/simulator/sdk/session.h"

namespace epiphyte::npusim {
namespace {

void BuildNet(GraphBuilder& b, int64_t channels = 24, int64_t size = 32) {
  NetworkBuilder net(b);
  uint32_t x = b.Input("x", NSDK_INT8, {1, 3, size, size}, {0.05f, 3});
  x = net.Conv(x, channels, 3, 1, true);
  x = net.Add(net.Conv(x, channels, 3, 1, false), x, true);
  x = net.MaxPool(x, 3, 2, 1);
  net.Head(net.Conv(x, 2 * channels, 3, 1, true, channels), 10);
}

Bytes RandomInput(uint32_t seed, size_t size = 3 * 32 * 32) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}

class Runs : public testing::Test {
 protected:
  Runs() : b("net") {
    BuildNet(b);
    blob = session.Blob({b.Graph()});
    program = session.Load(blob);
  }
  Bound Make(uint32_t seed = 1) { return Bound(program.get(), 0, blob, {RandomInput(seed)}); }

  Session session;
  GraphBuilder b;
  Bytes blob;
  Handle<NsdkProgram> program{nullptr, Api().unload};
};

TEST_F(Runs, HaveEqualBitsAndCyclesFromRunToRunAndFromBlobToReloadedBlob) {
  Bound first = Make();
  const std::vector<Bytes> expected = first.Run();
  const uint64_t cycles = first.Counters().npu_total_cycles;
  EXPECT_EQ(first.Run(), expected);
  EXPECT_EQ(first.Counters().npu_total_cycles, cycles);
  const Session other;
  const auto again = other.Load(blob);
  Bound second(again.get(), 0, blob, {RandomInput(1)});
  EXPECT_EQ(second.Run(), expected);
  EXPECT_EQ(second.Counters().npu_total_cycles, cycles);
  // Cycles don't depend on the data.
  Bound third = Make(2);
  EXPECT_NE(third.Run(), expected);
  EXPECT_EQ(third.Counters().npu_total_cycles, cycles);
}

TEST_F(Runs, CountWhatTheyDid) {
  Bound bound = Make();
  NsdkCounters c = bound.Counters();
  EXPECT_EQ(c.npu_total_cycles, 0u) << "nothing ran yet";
  bound.Run();
  c = bound.Counters();
  // For the grouped convolution only the products within its groups count. The last term is the classifier.
  EXPECT_EQ(c.macs, 32u * 32 * 24 * 27 + 32 * 32 * 24 * 24 * 9 + 16 * 16 * 48 * 9 + 48 * 10);
  EXPECT_EQ(c.npu_active_cycles + c.npu_idle_cycles, c.npu_total_cycles);
  EXPECT_GE(c.npu_total_cycles, c.mac_active_cycles);
  EXPECT_GE(c.mac_active_cycles, c.macs / 256);
  EXPECT_GE(c.axi_read_beats * c.axi_beat_bytes, blob.empty() ? 0 : 3u * 32 * 32);
  EXPECT_GT(c.axi_write_beats, 0u);
  EXPECT_GT(c.scratchpad_peak, 0u);
  EXPECT_LE(c.scratchpad_peak, 256u * 1024);
  EXPECT_LE(c.stall_dma_cycles + c.stall_dependency_cycles, c.npu_total_cycles);
}

TEST_F(Runs, FourAtOnceDontDisturbEachOther) {
  std::vector<std::vector<Bytes>> expected;
  for (uint32_t i = 0; i < 4; ++i) expected.push_back(Make(i).Run());
  std::vector<std::future<bool>> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.push_back(std::async(std::launch::async, [&, i] {
      Bound bound = Make(i);
      bool equal = true;
      for (int round = 0; round < 10; ++round) equal = bound.Run() == expected[i] && equal;
      return equal;
    }));
  }
  for (auto& thread : threads) EXPECT_TRUE(thread.get());
}

TEST_F(Runs, AStartedRunIsWaitedForAndSaysDoneOnce) {
  Bound bound = Make();
  const std::vector<Bytes> expected = Make().Run();
  Reason reason;
  EXPECT_EQ(Api().wait(bound.get(), &reason), NSDK_INVALID_ARGUMENT);
  struct Done {
    std::atomic<int> calls{0};
    std::atomic<int> status{-1};
  };
  for (int round = 0; round < 5; ++round) {
    Done done;
    const auto callback = [](void* user, NsdkStatus status) {
      static_cast<Done*>(user)->status = status;
      ++static_cast<Done*>(user)->calls;
    };
    ASSERT_EQ(Api().run_async(bound.get(), callback, &done, &reason), NSDK_OK) << reason.text;
    ASSERT_EQ(Api().wait(bound.get(), &reason), NSDK_OK) << reason.text;
    EXPECT_EQ(bound.outputs(), expected);
    EXPECT_EQ(done.calls, 1) << "wait returns after it";
    EXPECT_EQ(done.status, NSDK_OK);
  }
}

TEST_F(Runs, AnotherRunOfTheSameExecutionIsBusy) {
  Bound bound = Make();
  struct Gate {
    Bound* bound;
    NsdkStatus run = NSDK_OK, start = NSDK_OK, counters = NSDK_OK;
  } gate{&bound};
  const NsdkTask task{.struct_size = sizeof(NsdkTask),
                      .reserved = 0,
                      .progress =
                          [](void* user, double, const char*) {
                            auto& g = *static_cast<Gate*>(user);
                            NsdkCounters counters{.struct_size = sizeof(counters)};
                            g.run = Api().run(g.bound->get(), nullptr, nullptr);
                            g.start = Api().run_async(g.bound->get(), nullptr, nullptr, nullptr);
                            g.counters = Api().get_counters(g.bound->get(), &counters);
                            return 0;
                          },
                      .user = &gate};
  Reason reason;
  ASSERT_EQ(Api().run(bound.get(), &task, &reason), NSDK_OK) << reason.text;
  EXPECT_EQ(gate.run, NSDK_BUSY);
  EXPECT_EQ(gate.start, NSDK_BUSY);
  EXPECT_EQ(gate.counters, NSDK_BUSY);
  EXPECT_EQ(Api().run(bound.get(), nullptr, &reason), NSDK_OK);
}

TEST_F(Runs, ACancelledRunStopsAndTheNextOneIsWhole) {
  Bound bound = Make();
  const std::vector<Bytes> expected = Make().Run();
  const NsdkTask task{.struct_size = sizeof(NsdkTask),
                      .reserved = 0,
                      .progress = [](void*, double, const char*) { return 1; },
                      .user = nullptr};
  Reason reason;
  EXPECT_EQ(Api().run(bound.get(), &task, &reason), NSDK_CANCELLED);
  EXPECT_THAT(reason.text, testing::HasSubstr("cancelled"));
  EXPECT_EQ(bound.Run(), expected);
}

TEST_F(Runs, CompilingIsCancelledFromItsProgressWhichNeverFalls) {
  struct Seen {
    int left;
    double last = 0;
    bool fell = false;
  };
  const auto progress = [](void* user, double done, const char*) {
    auto& seen = *static_cast<Seen*>(user);
    seen.fell = seen.fell || done < seen.last || done > 1;
    seen.last = done;
    return seen.left-- == 0 ? 1 : 0;
  };
  Seen all{.left = 1'000'000};
  NsdkTask task{.struct_size = sizeof(NsdkTask), .reserved = 0, .progress = progress, .user = &all};
  EXPECT_NE(session.Compile(b.Graph(), &task), nullptr);
  EXPECT_FALSE(all.fell);
  const int calls = 1'000'000 - all.left;
  ASSERT_GE(calls, 1);
  for (const int left : {0, calls / 2, calls - 1}) {
    Seen some{.left = left};
    task.user = &some;
    try {
      session.Compile(b.Graph(), &task);
      ADD_FAILURE() << "call " << left << " of " << calls << " didn't stop it";
    } catch (const StatusError& e) {
      EXPECT_EQ(e.status, NSDK_CANCELLED);
    }
  }
}

// Number of progress calls during compiling, by the activity that they named.
struct Calls {
  std::map<std::string, int> by_text;
  int left = std::numeric_limits<int>::max();  // number of calls until one cancels
  std::string stopped_at;

  NsdkTask Task() {
    return {.struct_size = sizeof(NsdkTask),
            .reserved = 0,
            .progress =
                [](void* user, double, const char* text) {
                  auto& calls = *static_cast<Calls*>(user);
                  ++calls.by_text[text];
                  if (calls.left-- != 0) return 0;
                  calls.stopped_at = text;
                  return 1;
                },
            .user = this};
  }
};

TEST(Progress, IsSaidForEachMebibyteOfConstantsHoweverLargeEachIs) {
  constexpr int64_t kSide = 3072;
  constexpr int kMebibytes = kSide * kSide >> 20;
  const Session session(Options{{"effort", "fast"}});
  GraphBuilder product("product");  // its weights are packed
  const uint32_t x = product.Input("x", NSDK_INT8, {1, kSide}, {0.05f, 0});
  const uint32_t y = product.Value(NSDK_INT8, {1, kSide}, {1.0f, 0});
  product.Op(NSDK_MATMUL, {x, product.RandomConstant(NSDK_INT8, {kSide, kSide}, {0.01f, 0})}, {y});
  product.Output(y, "y");
  GraphBuilder sum("sum");  // its constant is copied
  const uint32_t a = sum.Input("a", NSDK_INT8, {kSide, kSide}, {0.05f, 0});
  const uint32_t s = sum.Value(NSDK_INT8, {kSide, kSide}, {0.1f, 0});
  sum.Op(NSDK_ADD, {a, sum.RandomConstant(NSDK_INT8, {kSide, kSide}, {0.05f, 0})}, {s});
  sum.Output(s, "s");
  for (GraphBuilder* b : {&product, &sum}) {
    Calls all;
    NsdkTask task = all.Task();
    ASSERT_NE(session.Compile(b->Graph(), &task), nullptr);
    EXPECT_GE(all.by_text["packing weights"], kMebibytes);

    int before = 0;
    for (const auto& [text, count] : all.by_text) before += text == "packing weights" ? count / 2 : 0;
    for (const char* text : {"reading the graph", "looking for the fastest program", "writing the program"}) {
      before += all.by_text[text];
    }
    Calls some{.left = before};
    task = some.Task();
    NsdkCompiled* compiled = nullptr;
    EXPECT_EQ(Api().compile(session.context(), b->Graph(), &task, &compiled, nullptr), NSDK_CANCELLED);
    EXPECT_EQ(some.stopped_at, "packing weights");
  }
}

TEST(Progress, IsSaidForEachThousandOperatorsAndCommands) {
  constexpr int kOps = 6'000;
  GraphBuilder b("chain");
  const uint32_t x = b.Input("x", NSDK_INT8, {64}, {0.05f, 0});
  uint32_t last = x;
  for (int i = 0; i < kOps; ++i) {
    const uint32_t y = b.Value(NSDK_INT8, {64}, {0.05f, 0});
    b.Op(NSDK_ADD, {last, x}, {y});
    last = y;
  }
  b.Output(last, "y");
  const Session session(Options{{"effort", "fast"}});
  Calls calls;
  const NsdkTask task = calls.Task();
  ASSERT_NE(session.Compile(b.Graph(), &task), nullptr);
  EXPECT_GE(calls.by_text["reading the graph"], 3 * kOps / 1024) << "tensors, operators, their lowering";
  EXPECT_GE(calls.by_text["looking for the fastest program"], kOps / 1024);
  // Each operator takes at least two loads, one command and one store.
  EXPECT_GE(calls.by_text["writing the program"], 4 * kOps / 1024);
  EXPECT_GE(calls.by_text["verifying the program"], 4 * kOps / 4096);
}

TEST_F(Runs, ASinkThatStopsCancels) {
  const auto compiled = session.Compile(b.Graph());
  const NsdkSink sink{.struct_size = sizeof(NsdkSink),
                      .reserved = 0,
                      .write = [](void*, const void*, uint64_t, uint64_t) { return 1; },
                      .user = nullptr};
  NsdkCompiled* list[] = {compiled.get()};
  EXPECT_EQ(Api().write_blob(session.context(), list, 1, &sink, nullptr), NSDK_CANCELLED);
}

TEST_F(Runs, ProgramsOfAScratchGroupShareItsMemoryAndTakeTurns) {
  GraphBuilder large("large", 9);
  BuildNet(large, 40);
  const Bytes large_blob = session.Blob({large.Graph()});
  const std::vector<Bytes> small_expected = Make().Run();
  const auto alone = session.Load(large_blob);
  const std::vector<Bytes> large_expected = Bound(alone.get(), 0, large_blob, {RandomInput(3)}).Run();

  NsdkGroup* group = nullptr;
  Reason reason;
  ASSERT_EQ(Api().group_create(session.context(), NSDK_SHARE_SCRATCH, &group, &reason), NSDK_OK);
  const auto first = session.Load(blob, group);
  const auto second = session.Load(large_blob, group);
  Api().group_destroy(group);  // its programs keep the group's memory
  std::vector<std::future<bool>> threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::async(std::launch::async, [&, i] {
      const bool small = i % 2 == 0;
      Bound bound =
          small ? Bound(first.get(), 0, blob, {RandomInput(1)}) : Bound(second.get(), 0, large_blob, {RandomInput(3)});
      bool equal = true;
      for (int round = 0; round < 10; ++round) {
        equal = bound.Run() == (small ? small_expected : large_expected) && equal;
      }
      return equal;
    }));
  }
  for (auto& thread : threads) EXPECT_TRUE(thread.get());
}

// A run that reports its first progress call through `reached`, and then waits until `open` is set.
struct Gate {
  std::promise<void> reached;
  std::shared_future<void> open;
  std::once_flag once;

  void Run(NsdkExecution* execution) {
    const NsdkTask task{.struct_size = sizeof(NsdkTask),
                        .reserved = 0,
                        .progress =
                            [](void* user, double, const char*) {
                              auto& gate = *static_cast<Gate*>(user);
                              std::call_once(gate.once, [&] {
                                gate.reached.set_value();
                                if (gate.open.valid()) gate.open.wait();
                              });
                              return 0;
                            },
                        .user = this};
    Reason reason;
    Check(Api().run(execution, &task, &reason), reason);
  }
};

TEST_F(Runs, OfAScratchGroupComeByPriority) {
  NsdkGroup* group = nullptr;
  ASSERT_EQ(Api().group_create(session.context(), NSDK_SHARE_SCRATCH, &group, nullptr), NSDK_OK);
  const auto load = [&](int32_t priority) { return session.Load(blob, group, nullptr, 0, priority); };
  const auto first = load(0), low = load(-1), high = load(1);
  Api().group_destroy(group);
  const std::vector<Bytes> of_low = Make(1).Run();
  // Both runs write to the same memory, which in the end holds the result of the last one.
  Bytes place(of_low[0].size());
  Bound holder(first.get(), 0, blob, {RandomInput(3)}), of_low_run(low.get(), 0, blob, {RandomInput(1)}),
      of_high_run(high.get(), 0, blob, {RandomInput(2)});
  of_low_run.Bind(NSDK_OUTPUT, 0, place);
  of_high_run.Bind(NSDK_OUTPUT, 0, place);
  std::promise<void> open;
  std::vector<std::future<void>> runs;
  Gate gates[3];
  gates[0].open = open.get_future().share();
  int i = 0;
  // The first run holds its turn. The low-priority run waits for a turn before the high-priority run arrives.
  for (Bound* bound : {&holder, &of_low_run, &of_high_run}) {
    Gate& gate = gates[i++];
    runs.push_back(std::async(std::launch::async, [&gate, bound] { gate.Run(bound->get()); }));
    gate.reached.get_future().wait();
  }
  open.set_value();
  for (auto& run : runs) run.get();
  EXPECT_EQ(place, of_low[0]);
}

TEST_F(Runs, AGroupOfTheOtherKindIsRefused) {
  NsdkGroup* group = nullptr;
  ASSERT_EQ(Api().group_create(session.context(), NSDK_SHARE_WEIGHTS, &group, nullptr), NSDK_OK);
  EXPECT_THROW(session.Load(blob, group), StatusError);
  const auto shared = session.Load(blob, nullptr, group);
  const auto again = session.Load(blob, nullptr, group);
  EXPECT_EQ(Bound(shared.get(), 0, blob, {RandomInput(1)}).Run(), Make().Run());
  EXPECT_EQ(Bound(again.get(), 0, blob, {RandomInput(1)}).Run(), Make().Run());
  Api().group_destroy(group);
}

TEST_F(Runs, ABlobThatStaysIsUsedInPlaceAndACopiedOneMayGo) {
  const std::vector<Bytes> expected = Make().Run();
  Bytes copy = blob;
  const auto copied = session.Load(copy);
  std::fill(copy.begin(), copy.end(), uint8_t{0});
  EXPECT_EQ(Bound(copied.get(), 0, blob, {RandomInput(1)}).Run(), expected);
  const auto stays = session.Load(blob, nullptr, nullptr, NSDK_BLOB_STAYS);
  EXPECT_EQ(Bound(stays.get(), 0, blob, {RandomInput(1)}).Run(), expected);
}

TEST_F(Runs, GraphsOfOneBlobStoreEqualWeightsOnce) {
  GraphBuilder same("same");
  BuildNet(same);
  GraphBuilder other("other", 77);
  BuildNet(other);
  const size_t alone = blob.size();
  const Bytes both = session.Blob({b.Graph(), same.Graph()});
  const Bytes different = session.Blob({b.Graph(), other.Graph()});
  const NsdkBlobInfo* info = nullptr;
  ASSERT_EQ(Api().blob_info(both.data(), both.size(), &info, nullptr), NSDK_OK);
  const uint64_t weights = info->weights_size;
  EXPECT_EQ(info->graph_count, 2u);
  Api().blob_info_release(info);
  EXPECT_LT(weights, alone);
  EXPECT_LT(both.size() + weights / 2, different.size());
  const auto two = session.Load(both);
  EXPECT_EQ(Bound(two.get(), 1, both, {RandomInput(1)}).Run(), Make().Run());
}

}  // namespace
}  // namespace epiphyte::npusim
