// Services that the host offers a device kernel during Execute, and requests that it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/abi/handles.h"

namespace epiphyte::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

EpBuffer* Buffer(uintptr_t number) { return reinterpret_cast<EpBuffer*>(number); }
EpStream* const kStream = reinterpret_cast<EpStream*>(uintptr_t{7});

class Storage : public DeviceStorage {
 public:
  Storage(EpBuffer* buffer, uint64_t offset, uint64_t size) : DeviceStorage(buffer, offset, size, 1, 2) {}
};

// Allocates outputs that the test can inspect, and records the requests.
class Places : public OutputMaker {
 public:
  ValuePtr MakeOnHost(uint32_t index, DataType type, std::span<const int64_t> dims) override {
    calls.push_back("host " + std::to_string(index));
    return Value::Tensor(type, dims);
  }
  ValuePtr Make(uint32_t index, DataType type, std::span<const int64_t> dims) override {
    calls.push_back("device " + std::to_string(index));
    if (refuses) Fail(StatusCode::kOutOfMemory, "there is no room");
    return Value::OnDevice(type, dims, std::make_shared<Storage>(Buffer(11), 512, 4096));
  }
  ValuePtr Adopt(uint32_t index, DataType type, std::span<const int64_t> dims, uint32_t memory, EpBuffer* buffer,
                 uint64_t size, uint64_t offset) override {
    calls.push_back("adopt " + std::to_string(index) + " in " + std::to_string(memory));
    if (refuses) Fail(StatusCode::kInvalidArgument, "the buffer is the host's already");
    return Value::OnDevice(type, dims, std::make_shared<Storage>(buffer, offset, size - offset));
  }

  std::vector<std::string> calls;
  bool refuses = false;
};

class DeviceRunTest : public testing::Test {
 protected:
  DeviceRunTest() {
    submission_.outputs = &places_;
    submission_.stream = kStream;
    submission_.binding = 41;
  }
  ~DeviceRunTest() override { EXPECT_EQ(LiveStatusCount(), 0u); }

  static const EpDeviceRunApi& Api() {
    return *static_cast<const EpDeviceRunApi*>(HostInfo()->GetExtension(HostInfo(), EP_DEVICE_EXTENSION));
  }
  // Returns "OK", or the name and message of the status. Releases the status.
  static std::string Outcome(EpStatus* status) {
    try {
      ThrowIfFailed(status, "host");
      return "OK";
    } catch (const Error& error) {
      return std::string(StatusCodeName(error.code())) + ": " + error.message();
    }
  }
  std::string Allocate(uint32_t index, EpElementType type, std::vector<int64_t> dims) {
    return Outcome(Api().AllocateOutput(&run_, index, type, dims.data(), static_cast<uint32_t>(dims.size()), &view_));
  }
  std::string Adopt(uint32_t index, EpElementType type, std::vector<int64_t> dims, EpBuffer* buffer, uint64_t size,
                    uint64_t offset) {
    return Outcome(Api().AdoptOutput(&run_, index, type, dims.data(), static_cast<uint32_t>(dims.size()), 2, buffer,
                                     size, offset));
  }

  Places places_;
  Submission submission_;
  std::vector<ValuePtr> outputs_{2};
  EpRun run_{{}, outputs_, 1, nullptr, &submission_};
  const EpTensorView* view_ = nullptr;
};

TEST_F(DeviceRunTest, TheStreamIsTheRuns) {
  EpStream* stream = nullptr;
  EXPECT_EQ(Outcome(Api().GetStream(&run_, &stream)), "OK");
  EXPECT_EQ(stream, kStream);
}

TEST_F(DeviceRunTest, AnOutputIsWhereTheHostPutsIt) {
  EXPECT_EQ(Allocate(1, EP_TYPE_FLOAT, {2, 3}), "OK");
  ASSERT_NE(view_, nullptr);
  EXPECT_EQ(view_->buffer, Buffer(11));
  EXPECT_EQ(view_->offset, 512u);
  EXPECT_EQ(view_->device, 1u);
  EXPECT_EQ(view_->memory, 2u);
  EXPECT_EQ(view_->data, nullptr);
  EXPECT_EQ(view_->byte_size, 24u);
  EXPECT_EQ(view_->element_count, 6u);
  EXPECT_EQ(view_, outputs_[1]->abi()->tensor) << "valid as long as the output is";
  EXPECT_THAT(places_.calls, ElementsAre("device 1"));
}

TEST_F(DeviceRunTest, TheRunTablesOutputsAreInHostMemory) {
  const int64_t dims[] = {2};
  void* data = nullptr;
  EXPECT_EQ(Outcome(HostInfo()->run->AllocateOutput(&run_, 0, EP_TYPE_FLOAT, dims, 1, &data)), "OK");
  EXPECT_NE(data, nullptr);
  EXPECT_THAT(places_.calls, ElementsAre("host 0"));
  const int64_t negative[] = {-1};
  EXPECT_THAT(Outcome(HostInfo()->run->AllocateOutput(&run_, 1, EP_TYPE_FLOAT, negative, 1, &data)),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(Outcome(HostInfo()->run->AllocateOutput(&run_, 1, 777, dims, 1, &data)), StartsWith("INVALID_ARGUMENT"));
  EXPECT_EQ(places_.calls.size(), 1u);
}

TEST_F(DeviceRunTest, TheBindingIsTheRuns) {
  EpRunInfo info = {};
  info.struct_size = sizeof info;
  EXPECT_EQ(Outcome(HostInfo()->run->GetInfo(&run_, &info)), "OK");
  EXPECT_EQ(info.binding, 41u);
  EpRun plain{{}, outputs_, 1, nullptr};
  info.struct_size = sizeof info;
  EXPECT_EQ(Outcome(HostInfo()->run->GetInfo(&plain, &info)), "OK");
  EXPECT_EQ(info.binding, 0u);
}

TEST_F(DeviceRunTest, ABufferOfThePluginsBecomesAnOutput) {
  EXPECT_EQ(Adopt(0, EP_TYPE_FLOAT, {4}, Buffer(21), 272, 256), "OK");
  EXPECT_EQ(outputs_[0]->abi()->tensor->buffer, Buffer(21));
  EXPECT_EQ(outputs_[0]->abi()->tensor->offset, 256u);
  EXPECT_THAT(places_.calls, ElementsAre("adopt 0 in 2"));
}

TEST_F(DeviceRunTest, ABufferThatIsTooSmallIsLeftToThePlugin) {
  for (const auto& [size, offset] : std::vector<std::pair<uint64_t, uint64_t>>{
           {15, 0}, {16, 1}, {0, 0}, {16, 17}, {16, UINT64_MAX}, {16, UINT64_MAX - 15}}) {
    EXPECT_THAT(Adopt(0, EP_TYPE_FLOAT, {4}, Buffer(21), size, offset),
                AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("needs 16 bytes")));
  }
  EXPECT_THAT(Outcome(Api().AdoptOutput(&run_, 0, EP_TYPE_FLOAT, nullptr, 0, 2, nullptr, 16, 0)),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_TRUE(places_.calls.empty());
}

TEST_F(DeviceRunTest, WhatTheHostRefusesSetsNothing) {
  places_.refuses = true;
  EXPECT_THAT(Allocate(0, EP_TYPE_FLOAT, {4}), AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("there is no room")));
  EXPECT_EQ(view_, nullptr);
  EXPECT_THAT(Adopt(0, EP_TYPE_FLOAT, {4}, Buffer(21), 16, 0), HasSubstr("the host's already"));
  EXPECT_FALSE(outputs_[0]);
  places_.refuses = false;
  EXPECT_EQ(Allocate(0, EP_TYPE_FLOAT, {4}), "OK") << "it may be tried again";
}

TEST_F(DeviceRunTest, AnOutputIsThereAndSetOnce) {
  EXPECT_THAT(Allocate(2, EP_TYPE_FLOAT, {4}), HasSubstr("output 2 was set, but the kernel has 2 outputs"));
  EXPECT_THAT(Adopt(UINT32_MAX, EP_TYPE_FLOAT, {4}, Buffer(21), 16, 0), HasSubstr("but the kernel has 2 outputs"));
  EXPECT_EQ(Allocate(0, EP_TYPE_FLOAT, {4}), "OK");
  EXPECT_THAT(Allocate(0, EP_TYPE_FLOAT, {4}), HasSubstr("output 0 was set twice"));
  EXPECT_THAT(Adopt(0, EP_TYPE_FLOAT, {4}, Buffer(21), 16, 0), HasSubstr("output 0 was set twice"));
  EXPECT_EQ(places_.calls.size(), 1u);
}

TEST_F(DeviceRunTest, AnOutputIsATensorThatCanBe) {
  EXPECT_THAT(Allocate(0, EP_TYPE_STRING, {1}), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("a type of numbers")));
  EXPECT_THAT(Allocate(0, EP_TYPE_UNDEFINED, {1}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(Allocate(0, -5, {1}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(Allocate(0, EP_TYPE_FLOAT, {2, -1}), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("dimension of -1")));
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_NE(Allocate(0, EP_TYPE_FLOAT, {most, most}), "OK");
  EXPECT_NE(Allocate(0, EP_TYPE_DOUBLE, {most}), "OK");
  EXPECT_THAT(Allocate(0, EP_TYPE_FLOAT, std::vector<int64_t>(65, 1)), HasSubstr("rank 65"));
  EXPECT_THAT(Outcome(Api().AllocateOutput(&run_, 0, EP_TYPE_FLOAT, nullptr, 1, &view_)), HasSubstr("without dims"));
  EXPECT_THAT(Outcome(Api().AdoptOutput(&run_, 0, EP_TYPE_STRING, nullptr, 0, 2, Buffer(21), 16, 0)),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_TRUE(places_.calls.empty());
  EXPECT_EQ(Outcome(Api().AllocateOutput(&run_, 0, EP_TYPE_FLOAT, nullptr, 0, &view_)), "OK") << "a scalar";
}

TEST_F(DeviceRunTest, ARunOnTheHostHasNoDevice) {
  EpRun plain{{}, outputs_, 1, nullptr};
  submission_.stream = nullptr;  // null: a host kernel in a run with bound outputs
  for (EpRun* run : {&plain, &run_}) {
    EpStream* stream = nullptr;
    EXPECT_THAT(Outcome(Api().GetStream(run, &stream)),
                AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("the kernel is on no device")));
    EXPECT_EQ(stream, nullptr);
    EXPECT_THAT(Outcome(Api().AllocateOutput(run, 0, EP_TYPE_FLOAT, nullptr, 0, &view_)),
                StartsWith("INVALID_ARGUMENT"));
    EXPECT_THAT(Outcome(Api().AdoptOutput(run, 0, EP_TYPE_FLOAT, nullptr, 0, 2, Buffer(21), 16, 0)),
                StartsWith("INVALID_ARGUMENT"));
  }
  EXPECT_TRUE(places_.calls.empty());
}

TEST_F(DeviceRunTest, NullIsRefused) {
  EpStream* stream = nullptr;
  EXPECT_THAT(Outcome(Api().GetStream(nullptr, &stream)), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(Outcome(Api().GetStream(&run_, nullptr)), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(Outcome(Api().AllocateOutput(nullptr, 0, EP_TYPE_FLOAT, nullptr, 0, &view_)),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(Outcome(Api().AllocateOutput(&run_, 0, EP_TYPE_FLOAT, nullptr, 0, nullptr)),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(Outcome(Api().AdoptOutput(nullptr, 0, EP_TYPE_FLOAT, nullptr, 0, 2, Buffer(21), 16, 0)),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_TRUE(places_.calls.empty());
}

// An input that the kernel passes on becomes the output, whatever memory it is in.
TEST_F(DeviceRunTest, AnInputOnADeviceIsPassedOnWithoutACopy) {
  const int64_t dims[] = {4};
  const ValuePtr x = Value::OnDevice(DataType::kFloat, dims, std::make_shared<Storage>(Buffer(31), 0, 16));
  Value* const inputs[] = {x.get()};
  EpRun run{inputs, outputs_, 1, nullptr, &submission_};
  EpValue* shared = nullptr;
  EXPECT_EQ(Outcome(HostInfo()->run->ShareValue(&run, x->abi(), &shared)), "OK");
  EXPECT_EQ(Outcome(HostInfo()->run->SetOutput(&run, 0, shared)), "OK");
  EXPECT_EQ(outputs_[0].get(), x.get());
  EpValue* sequence = nullptr;
  EXPECT_THAT(Outcome(HostInfo()->run->CreateSequence(&run, EP_TYPE_FLOAT, &shared, 1, &sequence)),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("an element of a sequence or a map is in memory 2")));
}

}  // namespace
}  // namespace epiphyte::core
