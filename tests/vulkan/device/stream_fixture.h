// Fixture for the tests of streams. Its parameter is a kind of device: with or without host-visible memory, with
// timeline semaphores or with fences. It also has copies between vectors of words and buffer ranges, and slow work
// (KeepBusy).
//
//     class X : public StreamTest {};
//     TEST_P(X, …) { Stream stream(device_); KeepBusy(stream); Copy(stream, In(words, range)); … }
//     INSTANTIATE_TEST_SUITE_P(Kinds, X, testing::ValuesIn(kStreamKinds), NameOfKind);
#pragma once

#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "plugins/vulkan/device/stream.h"
#include "tests/vulkan/device/test_device.h"

namespace epiphyte::vulkan {

using Words = std::vector<uint32_t>;

inline Words Counting(uint32_t count, uint32_t from = 0) {
  Words numbers(count);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

struct StreamKind {
  const char* name;
  bool unified;
  bool timeline;
};
inline void PrintTo(const StreamKind& kind, std::ostream* out) { *out << kind.name; }
inline constexpr StreamKind kStreamKinds[] = {{"mapped_timeline", true, true},
                                              {"mapped_fences", true, false},
                                              {"staged_timeline", false, true},
                                              {"staged_fences", false, false}};
inline std::string NameOfKind(const testing::TestParamInfo<StreamKind>& kind) { return kind.param.name; }

class StreamTest : public DeviceTest, public testing::WithParamInterface<StreamKind> {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) device_ = OpenAs(GetParam().unified, GetParam().timeline, ValidationOfEnvironment());
  }
  void TearDown() override {
    if (device_ == nullptr) return;
    EXPECT_THAT(device_->instance().TakeValidationMessages(), testing::IsEmpty());
  }
  BufferRange Numbers(uint32_t count) { return DeviceTest::Numbers(*device_, count); }
  static StreamCopy In(const Words& from, const BufferRange& to) {
    return {{nullptr, 0, const_cast<uint32_t*>(from.data())}, {to.buffer.get(), to.offset}, to.size};
  }
  static StreamCopy Out(const BufferRange& from, Words& to) {
    return {{from.buffer.get(), from.offset}, {nullptr, 0, to.data()}, from.size};
  }
  static StreamCopy On(const BufferRange& from, const BufferRange& to) {
    return {{from.buffer.get(), from.offset}, {to.buffer.get(), to.offset}, to.size};
  }
  static void Copy(Stream& stream, const StreamCopy& copy) { stream.Copy({&copy, 1}); }
  static void Finish(Stream& stream) { stream.Synchronize(stream.Signal()); }
  // Waits for all submitted work and returns the contents of `from`.
  static Words Read(Stream& stream, const BufferRange& from) {
    Words words(from.size / sizeof(uint32_t));
    Copy(stream, Out(from, words));
    Finish(stream);
    return words;
  }
  // Submits a program that runs for a while.
  void KeepBusy(Stream& stream) {
    const BufferRange x = Numbers(100000);
    CommandList list;
    list.commands = {Double(x, 2000)};
    busy_.push_back(std::make_unique<CompiledProgram>(device_, list));
    busy_.back()->Submit(stream);
  }

  std::shared_ptr<Device> device_;
  std::vector<std::unique_ptr<CompiledProgram>> busy_;
};

}  // namespace epiphyte::vulkan
