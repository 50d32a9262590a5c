// The table of ep_device.h that the kit makes from a plugin's classes: their results and exceptions reach the host.
#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/abi/host_tables.h"
#include "epiphyte/kit/plugin/plugin.hpp"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::atomic<int> live_buffers = 0;
std::atomic<int> live_streams = 0;

struct Bytes final : kit::DeviceBuffer {
  explicit Bytes(uint64_t size) : data(size) { ++live_buffers; }
  ~Bytes() override { --live_buffers; }
  std::vector<std::byte> data;
};

// A stream that copies at once. Its points are reached when the test says so.
class Queue final : public kit::DeviceStream {
 public:
  Queue() { ++live_streams; }
  ~Queue() override { --live_streams; }

  void Copy(std::span<const EpCopy> copies) override {
    for (const EpCopy& copy : copies) std::memcpy(At(copy.to), At(copy.from), copy.size);
  }
  uint64_t Signal() override { return ++last_; }
  void Wait(DeviceStream& other, uint64_t point) override { other.Synchronize(point, UINT64_MAX); }
  void Synchronize(uint64_t point, uint64_t timeout_ns) override {
    std::unique_lock lock(mutex_);
    const auto is_over = [&] { return reached_ >= point || failed_; };
    if (timeout_ns == 0 && !is_over()) throw kit::Error(EP_STATUS_TIMEOUT, "not yet");
    changed_.wait(lock, is_over);
    if (failed_) throw kit::Error(EP_STATUS_DEVICE_RESET, "the queue is lost");
  }

  void Reach(uint64_t point) {
    const std::lock_guard lock(mutex_);
    reached_ = point;
    changed_.notify_all();
  }
  void Fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  static std::byte* At(const EpCopyEnd& end) {
    if (end.buffer == nullptr) return static_cast<std::byte*>(end.data);
    return kit::BufferOf<Bytes>(end.buffer).data.data() + end.offset;
  }
  uint64_t last_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t reached_ = 0;
  bool failed_ = false;
};

class NearAndFar final : public kit::DeviceMemories {
 public:
  std::span<const EpMemoryInfo> Memories(uint32_t device) override {
    if (device != 0) throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "there is one device");
    return infos_;
  }
  EpMemoryUse MemoryUse(uint32_t, uint32_t) override { return {0, 0, 100, 1000}; }
  std::unique_ptr<kit::DeviceBuffer> Allocate(uint32_t, uint32_t, uint64_t size) override {
    if (size > 1000) throw kit::Error(EP_STATUS_OUT_OF_MEMORY, "1000 bytes are there");
    return std::make_unique<Bytes>(size);
  }
  std::unique_ptr<kit::DeviceStream> CreateStream(uint32_t) override { return std::make_unique<Queue>(); }

 private:
  const EpMemoryInfo infos_[2] = {{sizeof(EpMemoryInfo), EP_MEMORY_LOCAL, "near", 64, 0, 0, 0},
                                  {sizeof(EpMemoryInfo), 0, "far", 64, 0, 0, 0}};
};

class NoProvider final : public kit::Provider {
 public:
  bool Supports(const kit::NodeView&, std::string*) override { return false; }
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition&) override { return nullptr; }
};

class QueuePlugin final : public kit::Plugin {
 public:
  using Plugin::Plugin;
  std::unique_ptr<kit::Provider> CreateProvider(const kit::ProviderConfig&) override {
    return std::make_unique<NoProvider>();
  }
  kit::DeviceMemories* Memories() override { return &memories_; }

 private:
  NearAndFar memories_;
};

constexpr EpPluginEnvironment kEnvironment = {sizeof(EpPluginEnvironment), 0, "", "", "", "", nullptr};

class KitDeviceMemory : public testing::Test {
 protected:
  KitDeviceMemory() : descriptor_(EPIPHYTE_KIT_DESCRIPTOR(QueuePlugin, "queue", "tests", "1")) {
    EXPECT_EQ(descriptor_->Initialize(core::HostInfo(), &kEnvironment, &plugin_), nullptr);
    api_ = static_cast<const EpDeviceApi*>(descriptor_->GetExtension(plugin_, EP_DEVICE_EXTENSION));
  }
  ~KitDeviceMemory() override {
    descriptor_->Shutdown(plugin_);
    EXPECT_EQ(live_buffers, 0);
    EXPECT_EQ(live_streams, 0);
  }

  // Returns "OK", or code and message. Releases the status.
  static std::string Text(EpStatus* status) {
    if (status == nullptr) return "OK";
    const EpStatusApi& api = *core::HostInfo()->status;
    std::string text = std::to_string(api.GetCode(status)) + " " + api.GetMessage(status);
    api.Release(status);
    return text;
  }
  EpStream* NewStream() {
    EpStream* stream = nullptr;
    EXPECT_EQ(api_->CreateStream(plugin_, 0, &stream), nullptr);
    return stream;
  }

  const EpPluginDescriptor* descriptor_;
  EpPlugin* plugin_ = nullptr;
  const EpDeviceApi* api_ = nullptr;
};

TEST_F(KitDeviceMemory, IsATableOfAllFunctions) {
  ASSERT_NE(api_, nullptr);
  EXPECT_EQ(api_->struct_size, sizeof(EpDeviceApi));
  EXPECT_EQ(api_->reserved, 0u);
  EXPECT_NE(api_->OnReached, nullptr);
}

TEST_F(KitDeviceMemory, MemoriesAreCountedAlsoWhereThereIsLessRoom) {
  const EpMemoryInfo* memories[2] = {};
  uint32_t count = 0;
  EXPECT_EQ(api_->GetMemories(plugin_, 0, memories, 1, &count), nullptr);
  EXPECT_EQ(count, 2u);
  EXPECT_STREQ(memories[0]->name, "near");
  EXPECT_EQ(memories[1], nullptr);
  EXPECT_THAT(Text(api_->GetMemories(plugin_, 7, memories, 1, &count)), HasSubstr("there is one device"));
}

TEST_F(KitDeviceMemory, UseIsFilledAsFarAsTheStructReaches) {
  EpMemoryUse use = {sizeof(EpMemoryUse) + 8, 0, 0, 0};
  EXPECT_EQ(api_->GetMemoryUse(plugin_, 0, 0, &use), nullptr);
  EXPECT_EQ(use.struct_size, sizeof(EpMemoryUse));
  EXPECT_EQ(use.used_bytes, 100u);
  use.struct_size = 8;
  EXPECT_THAT(Text(api_->GetMemoryUse(plugin_, 0, 0, &use)), HasSubstr("EpMemoryUse has room for 8 bytes"));
}

TEST_F(KitDeviceMemory, BuffersAreCopiedByTheStreamAndFreed) {
  EpBuffer* buffer = nullptr;
  EXPECT_THAT(Text(api_->Allocate(plugin_, 0, 0, 5000, &buffer)), HasSubstr("1000 bytes are there"));
  EXPECT_EQ(buffer, nullptr);
  ASSERT_EQ(api_->Allocate(plugin_, 0, 0, 8, &buffer), nullptr);
  EXPECT_EQ(live_buffers, 1);
  EpStream* const stream = NewStream();
  char from[] = "12345", to[] = "-----";
  const EpCopy copies[] = {{{nullptr, from, 0}, {buffer, nullptr, 2}, 5}, {{buffer, nullptr, 3}, {nullptr, to, 0}, 3}};
  EXPECT_EQ(api_->Copy(stream, copies, 2), nullptr);
  EXPECT_STREQ(to, "234--");
  api_->Free(plugin_, buffer);
  api_->DestroyStream(stream);
}

TEST_F(KitDeviceMemory, WhatAMemoryHasntIsRefused) {
  EpBuffer* buffer = nullptr;
  ASSERT_EQ(api_->Allocate(plugin_, 0, 1, 8, &buffer), nullptr);
  EpExternalMemory external = {sizeof external, EP_HANDLE_DMA_BUF, nullptr, 0, 0, 8};
  EpBuffer* imported = nullptr;
  EXPECT_THAT(Text(api_->Import(plugin_, 0, 1, &external, &imported)),
              HasSubstr("type 2 found, memory 1 imports none"));
  EXPECT_THAT(Text(api_->Export(plugin_, buffer, EP_HANDLE_DMA_BUF, &external)), HasSubstr("exports none"));
  void* data = nullptr;
  EXPECT_THAT(Text(api_->Map(plugin_, buffer, &data)), HasSubstr("not mappable"));
  external.struct_size = 8;
  EXPECT_THAT(Text(api_->Import(plugin_, 0, 1, &external, &imported)), HasSubstr("room for 8 bytes"));
  api_->Free(plugin_, buffer);
}

struct Heard {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> calls;

  void Await(size_t count) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return calls.size() >= count; }));
  }
};
struct Listener {
  Heard* heard;
  std::string name;
  static void EP_CALL Call(void* user, EpStatus* status) {
    const auto& mine = *static_cast<Listener*>(user);
    const std::lock_guard lock(mine.heard->mutex);
    std::string text = mine.name;
    if (status != nullptr) text += std::string(": ") + core::HostInfo()->status->GetMessage(status);
    core::HostInfo()->status->Release(status);
    mine.heard->calls.push_back(text);
    mine.heard->changed.notify_all();
  }
};

TEST_F(KitDeviceMemory, ListenersAreCalledAtTheirPointsAndAnEarlierOneThatComesLaterToo) {
  EpStream* const stream = NewStream();
  Queue& queue = kit::StreamOf<Queue>(stream);
  uint64_t first = 0, second = 0;
  api_->Signal(stream, &first);
  api_->Signal(stream, &second);
  EXPECT_THAT(Text(api_->Synchronize(stream, first, 0)), HasSubstr("not yet"));
  Heard heard;
  Listener late{&heard, "second"}, early{&heard, "first"}, reached{&heard, "again"};
  EXPECT_EQ(api_->OnReached(stream, second, Listener::Call, &late), nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // by now the thread waits for the second point
  EXPECT_EQ(api_->OnReached(stream, first, Listener::Call, &early), nullptr);
  queue.Reach(first);
  heard.Await(1);
  EXPECT_THAT(heard.calls, ElementsAre("first"));
  queue.Reach(second);
  heard.Await(2);
  EXPECT_EQ(api_->OnReached(stream, first, Listener::Call, &reached), nullptr);
  heard.Await(3);
  EXPECT_THAT(heard.calls, ElementsAre("first", "second", "again"));
  api_->DestroyStream(stream);
}

TEST_F(KitDeviceMemory, ListenersOfAStreamThatFailsHearWhy) {
  EpStream* const stream = NewStream();
  Heard heard;
  Listener a{&heard, "a"}, b{&heard, "b"};
  EXPECT_EQ(api_->OnReached(stream, 1, Listener::Call, &a), nullptr);
  EXPECT_EQ(api_->OnReached(stream, 9, Listener::Call, &b), nullptr);
  kit::StreamOf<Queue>(stream).Fail();
  api_->DestroyStream(stream);  // after both listeners were called
  EXPECT_THAT(heard.calls, testing::UnorderedElementsAre("a: the queue is lost", "b: the queue is lost"));
}

}  // namespace
}  // namespace epiphyte::test
