// Pools over a plugin's memory: released memory is reused, limits hold, and shortage and device loss end in an error
// that says what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "tests/device/device_faults.h"

namespace epiphyte::test {
namespace {

using core::DeviceAccount;
using core::DeviceAllocation;
using core::DeviceMemory;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

using Piece = std::shared_ptr<DeviceAllocation>;

class MemoryPool : public FaultyDeviceTest {
 protected:
  Piece Take(uint64_t bytes, const std::shared_ptr<DeviceAccount>& account = nullptr) {
    return Memory(0)->Take(bytes, account, "output 'y'");
  }
  const core::LoadedPlugin& Plugin() { return Device(0).plugin(); }
  // Returns another pool over memory 0 of device 0, described by `info`.
  std::shared_ptr<DeviceMemory> MemoryAs(EpMemoryInfo info) {
    return std::make_shared<DeviceMemory>(DeviceMemory::Owner{&Plugin(), &Device(0).api(), {}}, 0, 0, info);
  }
  static EpMemoryInfo Info(uint32_t flags, uint64_t max_buffer) {
    return {sizeof(EpMemoryInfo), flags, "arena", 256, max_buffer, 0, 0};
  }
  // Returns a buffer that the plugin allocated outside of any pool.
  EpBuffer* Foreign(uint64_t bytes) {
    EpBuffer* buffer = nullptr;
    core::ThrowIfFailed(Device(0).api().Allocate(Plugin().plugin, 0, 0, bytes, &buffer), "Allocate");
    return buffer;
  }
  void LoseDevice() {
    control_.lose_in[0] = 0;
    EXPECT_THAT(FailureOf([&] { InMemory(Floats({1}, {1})); }), StartsWith("DEVICE_RESET"));
  }
};

TEST_F(MemoryPool, SmallValuesShareABuffer) {
  std::vector<Piece> pieces;
  std::set<uint64_t> offsets;
  for (int i = 0; i < 10; ++i) {
    pieces.push_back(Take(4 * kKiB));
    EXPECT_EQ(pieces.back()->buffer(), pieces.front()->buffer());
    EXPECT_EQ(pieces.back()->offset() % 4096, 0u);
    offsets.insert(pieces.back()->offset());
  }
  EXPECT_EQ(offsets.size(), 10u);
  EXPECT_EQ(control_.allocations.load(), 1u);
  EXPECT_EQ(Memory(0)->use().value_bytes, 40 * kKiB);
}

TEST_F(MemoryPool, ALargeValueHasABufferOfItsOwn) {
  const Piece a = Take(2 * kMiB);
  const Piece b = Take(2 * kMiB);
  EXPECT_NE(a->buffer(), b->buffer());
  EXPECT_EQ(a->offset(), 0u);
  EXPECT_EQ(b->offset(), 0u);
  EXPECT_EQ(Memory(0)->use().buffers, 2u);
}

TEST_F(MemoryPool, WhatIsGivenBackIsUsedAgain) {
  for (const uint64_t bytes : {300 * kKiB, 3 * kMiB}) {
    Piece piece = Take(bytes);
    EpBuffer* const buffer = piece->buffer();
    const uint64_t allocations = control_.allocations;
    for (int i = 0; i < 100; ++i) {
      piece = nullptr;
      piece = Take(bytes - static_cast<uint64_t>(i));  // all have the same size class
      EXPECT_EQ(piece->buffer(), buffer);
    }
    EXPECT_EQ(control_.allocations, allocations);
  }
  EXPECT_EQ(Memory(0)->use().value_bytes, 0u);
}

TEST_F(MemoryPool, AtMostAnEighthIsWasted) {
  std::mt19937_64 random(20261122);
  for (int i = 0; i < 300; ++i) {
    const uint64_t bytes = 1 + random() % (uint64_t{1} << (1 + random() % 24));
    const Piece piece = Take(bytes);
    EXPECT_GE(piece->size(), bytes);
    EXPECT_LE(piece->size(), std::max(bytes + bytes / 8 + 1, (bytes + 255) / 256 * 256)) << bytes;
  }
}

TEST_F(MemoryPool, AValueWithoutElementsHasAPlaceOfItsOwn) {
  const Piece a = Take(0);
  const Piece b = Take(0);
  EXPECT_GT(a->size(), 0u);
  EXPECT_TRUE(a->buffer() != b->buffer() || a->offset() != b->offset());
  const int64_t dims[] = {2, 0, 3};
  const core::ValuePtr value = core::Value::OnDevice(core::DataType::kFloat, dims, a);
  EXPECT_TRUE(value->IsOnDevice());
  EXPECT_EQ(value->byte_size(), 0u);
}

TEST_F(MemoryPool, NoTwoValuesOverlapWhateverTheThreadsDo) {
  std::mutex mutex;
  std::map<EpBuffer*, std::map<uint64_t, uint64_t>> taken;  // key: begin of a piece; value: its end
  std::atomic<int> overlaps{0};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Piece> mine;
    for (int i = 0; i < 400; ++i) {
      if (mine.size() < 8 || random() % 2 == 0) {
        Piece piece = Take(1 + random() % (uint64_t{1} << (4 + random() % 18)));
        const std::lock_guard lock(mutex);
        auto& buffer = taken[piece->buffer()];
        const auto next = buffer.lower_bound(piece->offset());
        if (next != buffer.end() && next->first < piece->offset() + piece->size()) ++overlaps;
        if (next != buffer.begin() && std::prev(next)->second > piece->offset()) ++overlaps;
        buffer[piece->offset()] = piece->offset() + piece->size();
        mine.push_back(std::move(piece));
      } else {
        const size_t at = random() % mine.size();
        {
          const std::lock_guard lock(mutex);
          taken[mine[at]->buffer()].erase(mine[at]->offset());
        }
        mine.erase(mine.begin() + static_cast<ptrdiff_t>(at));
        if (random() % 50 == 0) Memory(0)->Trim();
      }
    }
    const std::lock_guard lock(mutex);
    for (const Piece& piece : mine) taken[piece->buffer()].erase(piece->offset());
  };
  Memory(0);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(Memory(0)->use().value_bytes, 0u);
  Memory(0)->Trim();
  EXPECT_EQ(Memory(0)->use().buffers, 0u);
  EXPECT_EQ(Memory(0)->use().kept_bytes, 0u);
}

TEST_F(MemoryPool, ABufferOfMemoryThatWantsWholeOnesHoldsOneValue) {
  const auto memory = MemoryAs(Info(EP_MEMORY_WHOLE, 0));
  const Piece a = memory->Take(100, nullptr, "a");
  const Piece b = memory->Take(100, nullptr, "b");
  EXPECT_NE(a->buffer(), b->buffer());
  EXPECT_EQ(b->offset(), 0u);
  EXPECT_LE(Device(0).memories()[0]->use().plugin_used, 2 * kKiB);
}

TEST_F(MemoryPool, NoBufferIsLargerThanTheMemoryAllows) {
  const auto memory = MemoryAs(Info(0, 100'000));
  const Piece small = memory->Take(100, nullptr, "a");
  EXPECT_EQ(control_.live_bytes.load(), 256);
  const Piece largest = memory->Take(100'000, nullptr, "b");
  EXPECT_EQ(largest->size(), 100'000u);
  EXPECT_THAT(FailureOf([&] { memory->Take(100'001, nullptr, "output 'c'"); }),
              AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("output 'c' needs 100001 bytes, more than the 100000")));
  EXPECT_THAT(FailureOf([&] { Take(UINT64_MAX); }), StartsWith("OUT_OF_MEMORY"));
}

// --- limits

TEST_F(MemoryPool, ASessionHasNoMoreThanItsOptionAllows) {
  const auto account = std::make_shared<DeviceAccount>(3 * kMiB);
  Piece a = Take(2 * kMiB, account);
  const Piece b = Take(kMiB, account);
  EXPECT_EQ(account->used(), 3 * kMiB);
  EXPECT_THAT(FailureOf([&] { Take(1, account); }),
              AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("test_device"), HasSubstr("output 'y' needs 256 bytes"),
                    HasSubstr("'arena' of device 'test 0'"), HasSubstr("have 3145728 already"),
                    HasSubstr("session.max_device_bytes allows 3145728")));
  EXPECT_NE(Take(2 * kMiB, std::make_shared<DeviceAccount>(2 * kMiB)), nullptr) << "others have their own";
  a = nullptr;
  EXPECT_NE(Take(2 * kMiB, account), nullptr);
  EXPECT_EQ(account->used(), kMiB);
}

// --- shortage

TEST_F(MemoryPool, WhenMemoryIsShortWhatIsKeptIsFreedAndThePluginAskedToTrim) {
  control_.capacity[0] = 8 * kMiB;
  Take(5 * kMiB);
  EXPECT_EQ(Memory(0)->use().kept_bytes, 5 * kMiB);
  const Piece piece = Take(6 * kMiB);
  EXPECT_EQ(control_.trims.load(), 1u);
  EXPECT_EQ(control_.frees.load(), 1u);
  EXPECT_EQ(Memory(0)->use().kept_bytes, 0u);
}

TEST_F(MemoryPool, WhenMemoryIsShortOtherMemoriesOfTheDeviceGiveBackTheirsToo) {
  Memory(0, 1)->Take(5 * kMiB, nullptr, "a value");
  EXPECT_EQ(Memory(0, 1)->use().kept_bytes, 5 * kMiB);
  control_.capacity[0] = kMiB;
  EXPECT_THAT(FailureOf([&] { Take(2 * kMiB); }), StartsWith("OUT_OF_MEMORY"));
  EXPECT_EQ(Memory(0, 1)->use().kept_bytes, 0u);
  EXPECT_EQ(Memory(0, 1)->use().buffers, 0u);
}

TEST_F(MemoryPool, OutOfMemoryErrorSaysWhatUsesTheMemory) {
  control_.capacity[0] = 8 * kMiB;
  Piece large = Take(5 * kMiB);
  EXPECT_THAT(FailureOf([&] { Take(6 * kMiB); }),
              AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("output 'y' needs 6291456 bytes"),
                    HasSubstr("'arena' of device 'test 0'"), HasSubstr("values have 5242880 bytes"),
                    HasSubstr("5242880 of 8388608 are in use"), HasSubstr("provider 'test_device'")));
  EXPECT_EQ(control_.trims.load(), 1u);
  large = nullptr;
  EXPECT_NE(Take(6 * kMiB), nullptr);
}

TEST_F(MemoryPool, SmallMemoryHoldsASingleValue) {
  control_.capacity[0] = 64 * kKiB;
  const Piece a = Take(32 * kKiB);
  EXPECT_EQ(control_.live_bytes.load(), static_cast<int64_t>(32 * kKiB));
  const Piece b = Take(32 * kKiB);
  EXPECT_THAT(FailureOf([&] { Take(1); }), StartsWith("OUT_OF_MEMORY"));
}

TEST_F(MemoryPool, TrimFreesBuffersThatNoValueIsIn) {
  Take(2 * kMiB);
  Piece a = Take(kKiB);
  Piece b = Take(kKiB);
  a = nullptr;
  Memory(0)->Trim();
  EXPECT_EQ(Memory(0)->use().buffers, 1u);
  EXPECT_EQ(Take(kKiB)->buffer(), b->buffer());
  b = nullptr;
  Memory(0)->Trim();
  EXPECT_EQ(Memory(0)->use().buffers, 0u);
  EXPECT_EQ(control_.live_bytes.load(), 0);
}

// --- loss

TEST_F(MemoryPool, AfterALossNothingFromBeforeIsUsedAgain) {
  Piece small = Take(kKiB);
  Take(2 * kMiB);
  EpBuffer* const slab = small->buffer();
  const uint64_t frees = control_.frees;
  LoseDevice();
  EXPECT_GT(control_.frees, frees) << "what the pool kept goes at once";
  EXPECT_TRUE(small->IsLost());
  EXPECT_EQ(Memory(0)->use().kept_bytes, 0u);
  const core::DeviceStream stream(Device(0));  // a new stream brings the device back
  const Piece later = Take(kKiB);
  EXPECT_FALSE(later->IsLost());
  EXPECT_NE(later->buffer(), slab);
  small = nullptr;
  EXPECT_NE(Take(kKiB)->buffer(), slab);
  EXPECT_EQ(Memory(0)->use().buffers, 1u);
}

TEST_F(MemoryPool, DeviceLostInAllocateAffectsAllMemoriesOfTheDevice) {
  const Piece shared = Memory(0, 1)->Take(kKiB, nullptr, "a value");
  control_.return_on_new_stream = 0;
  LoseDevice();
  EXPECT_TRUE(shared->IsLost());
  EXPECT_THAT(FailureOf([&] { Take(3 * kMiB); }), StartsWith("DEVICE_RESET"));
  const Piece other = Memory(1)->Take(kKiB, nullptr, "a value");
  EXPECT_FALSE(other->IsLost()) << "the other device is there";
}

TEST_F(MemoryPool, WhatWasLostIsNeitherMappedNorExported) {
  const Piece shared = Memory(0, 1)->Take(kKiB, nullptr, "a value");
  const Piece large = Take(2 * kMiB);
  EXPECT_NE(shared->Map(), nullptr);
  LoseDevice();
  EXPECT_THAT(FailureOf([&] { shared->Map(); }), AllOf(StartsWith("DEVICE_RESET"), HasSubstr("'shared'")));
  EXPECT_THAT(FailureOf([&] { Memory(0)->Export(*large, EP_HANDLE_OPAQUE_FD); }), StartsWith("DEVICE_RESET"));
}

// --- imported memory

EpExternalMemory HostMemory(void* data, uint64_t bytes) {
  return {sizeof(EpExternalMemory), EP_HANDLE_HOST_POINTER, data, 0, 0, bytes};
}

TEST_F(MemoryPool, AnImportIsTheMemoryItselfAndKeepsIt) {
  auto bytes = std::make_shared<std::vector<char>>(4096, 'a');
  Piece piece = Memory(0, 1)->Import(HostMemory(bytes->data(), bytes->size()), bytes);
  EXPECT_EQ(piece->Map(), bytes->data());
  EXPECT_EQ(piece->size(), 4096u);
  EXPECT_EQ(bytes.use_count(), 2);
  EXPECT_EQ(control_.imports.load(), 1u);
  piece = nullptr;
  EXPECT_EQ(bytes.use_count(), 1);
  EXPECT_EQ(control_.frees.load(), 1u) << "it is no pool's";
}

TEST_F(MemoryPool, AnImportThatCantBeIsRefused) {
  char bytes[64];
  EXPECT_THAT(FailureOf([&] { Memory(0)->Import(HostMemory(bytes, 64), nullptr); }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("can't import handles of type 1;")));
  DeviceMemory& shared = *Memory(0, 1);
  EXPECT_THAT(FailureOf([&] { shared.Import(HostMemory(bytes, 0), nullptr); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(FailureOf([&] { shared.Import(HostMemory(nullptr, 64), nullptr); }), StartsWith("INVALID_ARGUMENT"));
  EpExternalMemory two = HostMemory(bytes, 64);
  two.type = EP_HANDLE_HOST_POINTER | EP_HANDLE_OPAQUE_FD;
  EXPECT_THAT(FailureOf([&] { shared.Import(two, nullptr); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_EQ(control_.imports.load(), 0u);
}

TEST_F(MemoryPool, WhatOnePluginExportsAnotherImports) {
  std::vector<float> many(kMiB, 7);
  const core::ValuePtr large = InMemory(Floats({static_cast<int64_t>(many.size())}, many));
  auto* const piece = core::PieceOf(*large);
  const EpExternalMemory exported = Memory(0)->Export(*piece, EP_HANDLE_OPAQUE_FD);
  ASSERT_GE(exported.handle, 0);
  EXPECT_GE(exported.size, many.size() * sizeof(float));
  const Piece imported = Memory(2)->Import(exported, nullptr);
  close(static_cast<int>(exported.handle));
  const int64_t dims[] = {static_cast<int64_t>(many.size())};
  EXPECT_EQ(Read(core::Value::OnDevice(core::DataType::kFloat, dims, imported)), many);
}

TEST_F(MemoryPool, WhatWasExportedIsNoLongerThePools) {
  Piece piece = Take(2 * kMiB);
  const EpExternalMemory exported = Memory(0)->Export(*piece, EP_HANDLE_OPAQUE_FD);
  piece = nullptr;
  EXPECT_EQ(Memory(0)->use().kept_bytes, 0u);
  EXPECT_EQ(Memory(0)->use().value_bytes, 0u);
  EXPECT_EQ(control_.frees.load(), 1u);
  close(static_cast<int>(exported.handle));
}

TEST_F(MemoryPool, AnExportOfPartOfABufferOrInAnotherWayIsRefused) {
  EXPECT_THAT(FailureOf([&] { Memory(0)->Export(*Take(kKiB), EP_HANDLE_OPAQUE_FD); }),
              AllOf(StartsWith("INVALID_ARGUMENT"),
                    HasSubstr("shares its buffer in memory 'arena' of device 'test 0' with others")));
  const Piece large = Take(2 * kMiB);
  EXPECT_THAT(FailureOf([&] { Memory(0)->Export(*large, EP_HANDLE_HOST_POINTER); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_EQ(control_.exports.load(), 0u);
}

TEST_F(MemoryPool, AnAdoptedBufferIsFreedOnce) {
  const auto account = std::make_shared<DeviceAccount>(10'000);
  EpBuffer* const buffer = Foreign(10'000);
  Piece piece = Memory(0)->Adopt(buffer, 10'000, 512, account);
  EXPECT_EQ(piece->buffer(), buffer);
  EXPECT_EQ(piece->offset(), 512u);
  EXPECT_EQ(piece->size(), 9'488u);
  EXPECT_EQ(account->used(), 10'000u);
  EXPECT_THAT(FailureOf([&] { Memory(0)->Adopt(buffer, 10'000, 0, nullptr); }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("the host's already")));
  EXPECT_THAT(FailureOf([&] { Memory(0, 1)->Adopt(Take(2 * kMiB)->buffer(), kMiB, 0, nullptr); }),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_EQ(control_.frees.load(), 0u);
  piece = nullptr;
  EXPECT_EQ(control_.frees.load(), 1u);
  EXPECT_EQ(account->used(), 0u);
}

TEST_F(MemoryPool, ABufferThatIsRefusedStaysThePlugins) {
  EpBuffer* const buffer = Foreign(10'000);
  DeviceMemory& memory = *Memory(0);
  EXPECT_THAT(FailureOf([&] { memory.Adopt(nullptr, 10'000, 0, nullptr); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(FailureOf([&] { memory.Adopt(buffer, 0, 0, nullptr); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(FailureOf([&] { memory.Adopt(buffer, 10'000, 10'000, nullptr); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(FailureOf([&] { memory.Adopt(buffer, 10'000, 100, nullptr); }), HasSubstr("a multiple of 256"));
  const auto account = std::make_shared<DeviceAccount>(9'999);
  EXPECT_THAT(FailureOf([&] { memory.Adopt(buffer, 10'000, 0, account); }),
              AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("session.max_device_bytes allows 9999")));
  EXPECT_EQ(account->used(), 0u);
  EXPECT_EQ(control_.frees.load(), 0u);
  EXPECT_EQ(memory.use().buffers, 0u);
  EXPECT_NE(memory.Adopt(buffer, 10'000, 0, nullptr), nullptr) << "after all that it can still be taken over";
}

// --- lifetime

TEST_F(MemoryPool, AValueKeepsTheEnvironmentAndItsPlugins) {
  core::ValuePtr value = InMemory(Floats({2}, {5, 6}));
  const std::weak_ptr<core::Environment> environment = environment_;
  environment_ = nullptr;
  ASSERT_FALSE(environment.expired());
  EXPECT_EQ(FloatsOf(*core::ToHost(value, environment.lock()->devices())), (std::vector<float>{5, 6}));
  value = nullptr;
  EXPECT_TRUE(environment.expired());
}

// --- plugins that misbehave

TEST_F(MemoryPool, AllocateMustGiveABuffer) {
  Break("null_buffer");
  EXPECT_THAT(FailureOf([&] { Take(kKiB); }), AllOf(StartsWith("EP_FAIL"), HasSubstr("Allocate in memory 'arena'"),
                                                    HasSubstr("succeeded but gave no buffer")));
}

TEST_F(MemoryPool, AllocateMustGiveEachBufferOnce) {
  Break("same_buffer");
  const Piece piece = Take(2 * kMiB);
  EXPECT_THAT(FailureOf([&] { Take(2 * kMiB); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("gave a buffer that is in use")));
  EXPECT_EQ(Memory(0)->use().buffers, 1u);
}

TEST_F(MemoryPool, MapMustGiveAnAddress) {
  Break("map_null");
  const Piece piece = Memory(0, 1)->Take(kKiB, nullptr, "a value");
  EXPECT_THAT(FailureOf([&] { piece->Map(); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("Map"), HasSubstr("no address")));
}

TEST_F(MemoryPool, WhatAPluginSaysOfItsMemoriesMustBePossible) {
  Break("no_memories");
  EXPECT_THAT(FailureOf([&] { Device(0); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("'test 0' has 0 memories, 1 to 31")));
  Break("many_memories");
  EXPECT_THAT(FailureOf([&] { Device(0); }), HasSubstr("has 4000 memories"));
  Break("bad_alignment");
  EXPECT_THAT(FailureOf([&] { Device(0); }), HasSubstr("('arena') has an alignment of 3, a power of two"));
}

}  // namespace
}  // namespace epiphyte::test
