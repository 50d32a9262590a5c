#include "plugins/vulkan/device/compiled_program.h"

#include <numeric>
#include <thread>
#include <utility>

#include "plugins/vulkan/device/vk_device.h"
#include "tests/vulkan/device/test_device.h"

namespace epiphyte::vulkan {
namespace {

class CompiledProgramTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) device_ = Open();
  }
  BufferRange Numbers(uint32_t count = 1000) { return DeviceTest::Numbers(*device_, count); }

  std::shared_ptr<Device> device_;
};

std::vector<uint32_t> Counting(uint32_t count = 1000) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

TEST_F(CompiledProgramTest, ACommandSeesWhatTheOneBeforeItWrote) {
  const BufferRange a = Numbers();
  const BufferRange b = Numbers();
  const BufferRange c = Numbers();
  HostList list;
  list.commands = {Add(a, b, 1), Add(b, c, 10, 2)};
  list.inputs = {a};
  list.outputs = {c};
  HostProgram program(device_, list);
  EXPECT_EQ(program.barrier_count(), 1u);
  std::vector<uint32_t> expected = Counting();
  for (uint32_t& value : expected) value = (value + 1) * 2 + 10;
  EXPECT_EQ(Run(program, Counting()), expected);
  EXPECT_EQ(Run(program, Counting()), expected);
}

TEST_F(CompiledProgramTest, OnlyCommandsThatMeetInMemoryWait) {
  const BufferRange a = Numbers();
  const BufferRange b = Numbers();
  const BufferRange c = Numbers();
  HostList list;
  list.commands = {Add(a, b, 1), Add(a, c, 2)};  // one input, two outputs
  EXPECT_EQ(HostProgram(device_, list).barrier_count(), 0u);
  list.commands.push_back(Double(b));
  list.commands.push_back(Double(c));
  EXPECT_EQ(HostProgram(device_, list).barrier_count(), 1u) << "one for both";
  list.commands.push_back(Add(c, a, 0));  // the first two commands read a
  EXPECT_EQ(HostProgram(device_, list).barrier_count(), 2u);
}

TEST_F(CompiledProgramTest, AliasesInOneBufferAreSeen) {
  const std::shared_ptr<Buffer> arena = device_->Allocate(4096, "arena");
  const BufferRange a = {arena, 0, 1024};
  const BufferRange b = {arena, 1024, 1024};
  const BufferRange middle = {arena, 512, 1024};
  HostList list;
  list.commands = {Add(a, b, 1), Double(middle)};
  EXPECT_EQ(HostProgram(device_, list).barrier_count(), 1u);
}

TEST_F(CompiledProgramTest, ASteadyRunMakesNoVulkanObjectAndRecordsNothing) {
  const BufferRange a = Numbers();
  const BufferRange b = Numbers();
  HostList list;
  list.commands = {Add(a, b, 1), Double(b)};
  list.inputs = {a};
  list.outputs = {b};
  HostProgram program(device_, list);
  Run(program, Counting());
  const DeviceCounters before = device_->counters();
  for (int i = 0; i < 50; ++i) Run(program, Counting());
  const DeviceCounters after = device_->counters();
  EXPECT_EQ(after.vulkan_objects, before.vulkan_objects);
  EXPECT_EQ(after.command_buffers, before.command_buffers);
  EXPECT_EQ(after.allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(after.submissions, before.submissions + 50);
}

TEST_F(CompiledProgramTest, EqualPipelinesAreMadeOnce) {
  static int made = 0;
  static PFN_vkCreateComputePipelines create = nullptr;
  create = std::exchange(device_->handles().vk.vkCreateComputePipelines,
                         [](VkDevice device, VkPipelineCache cache, uint32_t count,
                            const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* callbacks,
                            VkPipeline* pipelines) {
                           ++made;
                           return create(device, cache, count, infos, callbacks, pipelines);
                         });
  const BufferRange a = Numbers();
  HostList list;
  list.commands = {Add(a, a, 1), Add(a, a, 2), Add(a, a, 2, 3)};
  HostProgram first(device_, list);
  EXPECT_EQ(device_->counters().pipelines, 2u) << "two factors";
  HostProgram second(device_, list);
  EXPECT_EQ(device_->counters().pipelines, 2u);
  EXPECT_EQ(made, 2);
}

TEST_F(CompiledProgramTest, PipelinesAreCompiledByTheCallersThreads) {
  const BufferRange a = Numbers();
  const BufferRange b = Numbers();
  HostList list;
  for (uint32_t factor = 1; factor <= 8; ++factor) list.commands.push_back(Add(a, b, 0, factor));
  size_t asked = 0;
  CompileOptions options;
  options.parallel_for = [&asked](size_t count, const std::function<void(size_t)>& body) {
    asked = count;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i) threads.emplace_back(body, i);
    for (std::thread& thread : threads) thread.join();
  };
  HostProgram program(device_, list, options);
  EXPECT_EQ(asked, 8u);
  EXPECT_EQ(device_->counters().pipelines, 8u);
}

TEST_F(CompiledProgramTest, LongRunsAreDividedByWork) {
  const BufferRange a = Numbers();
  HostList list;
  for (int i = 0; i < 10; ++i) list.commands.push_back(Double(a));  // work of 1000 elements each
  list.inputs = {a};
  list.outputs = {a};
  CompileOptions options;
  options.submission_work = 3000;
  HostProgram program(device_, list, options);
  EXPECT_EQ(program.submission_count(), 4u);
  std::vector<uint32_t> expected = Counting();
  for (uint32_t& value : expected) value <<= 10;
  EXPECT_EQ(Run(program, Counting()), expected);
  EXPECT_EQ(Run(program, Counting()), expected);
  options.submission_work = 1;
  EXPECT_EQ(HostProgram(device_, list, options).submission_count(), 10u);
}

TEST_F(CompiledProgramTest, ACancelledRunEndsBetweenSubmissionsAndTheNextOneIsRight) {
  const BufferRange a = Numbers();
  HostList list;
  for (int i = 0; i < 10; ++i) list.commands.push_back(Double(a));
  list.inputs = {a};
  list.outputs = {a};
  CompileOptions options;
  options.submission_work = 1;
  HostProgram program(device_, list, options);
  const uint64_t before = device_->counters().submissions;
  int asked = 0;
  EXPECT_THAT(ErrorOf([&] { Run(program, Counting(), {.cancelled = [&asked] { return ++asked == 4; }}); }),
              IsError(EP_STATUS_CANCELED, "cancelled"));
  EXPECT_EQ(device_->counters().submissions, before + 3);
  std::vector<uint32_t> expected = Counting();
  for (uint32_t& value : expected) value <<= 10;
  EXPECT_EQ(Run(program, Counting()), expected);
}

TEST_F(CompiledProgramTest, TimesAreOfEachCommand) {
  const BufferRange a = Numbers(100000);
  HostList list;
  list.commands = {Double(a, 1), Double(a, 20000), Double(a, 1)};
  list.inputs = {a};
  list.outputs = {a};
  CompileOptions options;
  options.profile = true;
  HostProgram program(device_, list, options);
  std::vector<CommandTime> times;
  Run(program, Counting(100000));
  Run(program, Counting(100000), {.times = &times});
  ASSERT_EQ(times.size(), 3u);
  EXPECT_GT(times[1].duration_ns, 2 * times[0].duration_ns);
  EXPECT_GT(times[1].duration_ns, 2 * times[2].duration_ns);
  EXPECT_GE(times[2].start_ns, times[1].start_ns + times[1].duration_ns);
}

TEST_F(CompiledProgramTest, RangesAndCommandsOfNothingAreAllowed) {
  const BufferRange a = Numbers();
  const BufferRange none = {a.buffer, 0, 0};
  HostList list;
  list.commands = {Add(none, none, 1), Add(a, a, 1), Add(a, a, 1)};
  list.commands[1].parameters.clear();  // the shader then sees parameters of 0
  list.commands[1].groups = {0, 1, 1};
  list.inputs = {a, none};
  list.outputs = {a, none};
  HostProgram program(device_, list);
  std::vector<uint32_t> data = Counting();
  const void* in[] = {data.data(), nullptr};
  void* out[] = {data.data(), nullptr};
  program.Run(in, out);
  EXPECT_EQ(data[10], 11u);

  HostProgram empty(device_, {});
  empty.Run({}, {});
}

TEST_F(CompiledProgramTest, WhatADeviceCantDoIsRefusedWithItsLimit) {
  const BufferRange a = Numbers();
  const Capabilities& can = device_->info().capabilities;
  const auto refusal = [&](const Command& command) {
    HostList list;
    list.commands = {command};
    return ErrorOf([&] { HostProgram(device_, list); });
  };
  Command command = Add(a, a, 1);
  command.shader = "nonsense.f32";
  EXPECT_THAT(refusal(command), IsError(EP_STATUS_EP_FAIL, "there is no shader 'nonsense.f32'"));

  command = Add(a, a, 1);
  command.groups[1] = can.max_workgroup_count[1] + 1;
  EXPECT_THAT(refusal(command), IsError(EP_STATUS_NOT_IMPLEMENTED, "65536 workgroups"));

  command = Add(a, a, 1);
  command.bindings.resize(can.max_bindings + 1, command.bindings[0]);
  EXPECT_THAT(refusal(command), IsError(EP_STATUS_NOT_IMPLEMENTED, "bindings, llvmpipe"));

  command = Add(a, a, 1);
  command.bindings[0].range.offset = 4;
  command.bindings[0].range.size = 4;
  EXPECT_THAT(refusal(command), IsError(EP_STATUS_EP_FAIL, "begins at 4"));

  command.bindings[0].range = {a.buffer, 256, a.size};
  EXPECT_THAT(refusal(command), IsError(EP_STATUS_EP_FAIL, "is not in its buffer"));

  const uint64_t large = can.max_buffer_range + 256;
  command.bindings[0].range = {device_->Allocate(large, "a large tensor"), 0, large};
  EXPECT_THAT(refusal(command), IsError(EP_STATUS_NOT_IMPLEMENTED, "a tensor of " + std::to_string(large) + " bytes"));
}

TEST_F(CompiledProgramTest, SeveralProgramsRunAtOnceAndOneWaitsForItsTurn) {
  constexpr int kThreads = 4;
  const BufferRange shared_in = Numbers();
  const BufferRange shared_out = Numbers();
  HostList list;
  list.commands = {Add(shared_in, shared_out, 100)};
  list.inputs = {shared_in};
  list.outputs = {shared_out};
  HostProgram shared(device_, list);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const BufferRange a = Numbers();
      HostList own;
      own.commands = {Add(a, a, static_cast<uint32_t>(t)), Double(a)};
      own.inputs = {a};
      own.outputs = {a};
      HostProgram program(device_, own);
      for (uint32_t i = 0; i < 30; ++i) {
        const std::vector<uint32_t> in(1000, i);
        if (Run(program, in) != std::vector<uint32_t>(1000, (i + static_cast<uint32_t>(t)) * 2)) ++wrong;
        if (Run(shared, in) != std::vector<uint32_t>(1000, i + 100)) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

// --- slots

// A command list with one command: slot 1 = slot 0 + 5.
CommandList Adding(uint32_t count = 1000) {
  CommandList list;
  list.slots = {count * sizeof(uint32_t), count * sizeof(uint32_t)};
  list.commands = {{.shader = "add.u32",
                    .specialization = {1},
                    .parameters = {count, 5},
                    .bindings = {{{}, Access::kRead, 0}, {{}, Access::kWrite, 1}},
                    .groups = {(count + 63) / 64, 1, 1}}};
  return list;
}

void Put(Device& device, const BufferRange& to, const std::vector<uint32_t>& numbers) {
  const HostToDevice copy = {to, numbers.data()};
  device.Upload({&copy, 1});
}
std::vector<uint32_t> Get(Device& device, const BufferRange& from) {
  std::vector<uint32_t> numbers(from.size / sizeof(uint32_t));
  const DeviceToHost copy = {from, numbers.data()};
  device.Download({&copy, 1});
  return numbers;
}

TEST_F(CompiledProgramTest, SlotsHaveTheRangesOfEachSubmit) {
  CompiledProgram program(device_, Adding());
  EXPECT_EQ(program.recording_count(), 0u);
  Stream stream(device_);
  std::vector<BufferRange> ranges;
  for (uint32_t i = 0; i < 4; ++i) {
    ranges.push_back(Numbers());
    Put(*device_, ranges.back(), std::vector<uint32_t>(1000, 100 * i));
  }
  const uint64_t counted = device_->counters().vulkan_objects;
  // Each submission reads the range that the one before wrote, so range i ends up as 5 * i.
  for (uint32_t i = 0; i + 1 < 4; ++i) program.Submit(stream, std::vector<BufferRange>{ranges[i], ranges[i + 1]});
  stream.Synchronize(stream.Signal());
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(Get(*device_, ranges[i]), std::vector<uint32_t>(1000, 5 * i)) << i;
  EXPECT_EQ(program.recording_count(), 3u);
  const uint64_t objects = device_->counters().vulkan_objects;
  EXPECT_GT(objects, counted);
  const uint64_t recorded = device_->counters().command_buffers;
  for (int again = 0; again < 5; ++again)
    for (uint32_t i = 0; i + 1 < 4; ++i) program.Submit(stream, std::vector<BufferRange>{ranges[i], ranges[i + 1]});
  stream.Synchronize(stream.Signal());
  EXPECT_EQ(device_->counters().vulkan_objects, objects);
  EXPECT_EQ(device_->counters().command_buffers, recorded) << "nothing is recorded again";
}

TEST_F(CompiledProgramTest, RecordingsAreFewAndThoseOfLongAgoMakeRoom) {
  CompiledProgram program(device_, Adding(64));
  Stream stream(device_);
  const BufferRange a = Numbers(64 * 40);
  const auto part = [&](uint64_t i) { return BufferRange{a.buffer, 256 * i, 256}; };
  const auto submit = [&](uint64_t i) { program.Submit(stream, std::vector<BufferRange>{part(0), part(i)}); };
  for (uint64_t i = 8; i >= 1; --i) submit(i);
  const DeviceCounters before = device_->counters();
  for (uint64_t i = 9; i < 40; ++i) {
    submit(i);
    submit(1);  // used in each turn, so its recording is kept
  }
  stream.Synchronize(stream.Signal());
  const DeviceCounters after = device_->counters();
  EXPECT_EQ(program.recording_count(), 8u);
  EXPECT_EQ(after.vulkan_objects, before.vulkan_objects) << "recorded in place of others";
  EXPECT_EQ(after.command_buffers, before.command_buffers + 31);
}

TEST_F(CompiledProgramTest, ARecordingKeepsNoMemoryThatWasInASlot) {
  CompiledProgram program(device_, Adding());
  Stream stream(device_);
  const BufferRange a = Numbers();
  const uint64_t used = device_->counters().used_bytes;
  for (int i = 0; i < 20; ++i) {
    const BufferRange b = Numbers();
    Put(*device_, b, std::vector<uint32_t>(1000, 9));
    Put(*device_, a, std::vector<uint32_t>(1000, static_cast<uint32_t>(i)));
    program.Submit(stream, std::vector<BufferRange>{a, b});
    stream.Synchronize(stream.Signal());
    EXPECT_EQ(Get(*device_, b)[0], static_cast<uint32_t>(i) + 5);
  }
  EXPECT_EQ(device_->counters().used_bytes, used);
}

TEST_F(CompiledProgramTest, ACopyBetweenRangesWaitsForWhatMakesThem) {
  const BufferRange x = Numbers();
  CommandList list = Adding();
  list.slots.push_back(4000);
  list.commands.push_back({.bindings = {{{}, Access::kRead, 1}, {{}, Access::kWrite, 2}}});
  CompiledProgram program(device_, list);
  Stream stream(device_);
  const BufferRange y = Numbers(), z = Numbers();
  Put(*device_, x, std::vector<uint32_t>(1000, 1));
  program.Submit(stream, std::vector<BufferRange>{x, y, z});
  stream.Synchronize(stream.Signal());
  EXPECT_EQ(Get(*device_, z), std::vector<uint32_t>(1000, 6));
  EXPECT_EQ(program.barrier_count(), 1u);
  // Slots 1 and 2 are the same range, so the copy and its barrier are left out.
  program.Submit(stream, std::vector<BufferRange>{x, y, y});
  stream.Synchronize(stream.Signal());
  EXPECT_EQ(program.barrier_count(), 0u);
}

TEST_F(CompiledProgramTest, AShaderThatCopiesIsLeftOutWhereThereIsNothingToDo) {
  CommandList list = Adding();
  list.commands[0].copies = true;  // the plan may skip the shader when both ranges are the same
  CompiledProgram program(device_, list);
  Stream stream(device_);
  const BufferRange x = Numbers(), y = Numbers();
  Put(*device_, x, std::vector<uint32_t>(1000, 1));
  program.Submit(stream, std::vector<BufferRange>{x, y});
  program.Submit(stream, std::vector<BufferRange>{x, x});
  stream.Synchronize(stream.Signal());
  EXPECT_EQ(Get(*device_, y), std::vector<uint32_t>(1000, 6));
  EXPECT_EQ(Get(*device_, x), std::vector<uint32_t>(1000, 1));
}

TEST_F(CompiledProgramTest, RangesThatDontFitTheirSlotsAreRefused) {
  CompiledProgram program(device_, Adding());
  Stream stream(device_);
  const BufferRange a = Numbers(), larger = Numbers(2000);
  const auto failure = [&](std::vector<BufferRange> ranges) {
    return ErrorOf([&] { program.Submit(stream, ranges); });
  };
  EXPECT_THAT(failure({a}), IsError(EP_STATUS_EP_FAIL, "2 slots was given 1"));
  EXPECT_THAT(failure({a, larger}), IsError(EP_STATUS_EP_FAIL, "slot 1 has 4000 bytes, a range of 8000"));
  EXPECT_THAT(failure({a, {larger.buffer, 4, 4000}}), IsError(EP_STATUS_EP_FAIL, "begins at 4"));
  EXPECT_THAT(failure({a, {a.buffer, 256, 4000}}), IsError(EP_STATUS_EP_FAIL, "is not in its buffer"));
  const auto other = Open();
  EXPECT_THAT(failure({a, DeviceTest::Numbers(*other, 1000)}), IsError(EP_STATUS_DEVICE_RESET, "lost since"));
  Stream theirs(other);
  EXPECT_THAT(ErrorOf([&] { program.Submit(theirs, std::vector<BufferRange>{a, a}); }),
              IsError(EP_STATUS_DEVICE_RESET, "make a new session"));
}

TEST_F(CompiledProgramTest, TenThousandRunsTakeNoMemory) {
  const BufferRange a = Numbers(64);
  HostList list;
  list.commands = {Add(a, a, 1)};
  list.inputs = {a};
  list.outputs = {a};
  HostProgram program(device_, list);
  const auto used = [this] { return device_->counters().used_bytes; };
  const uint64_t before = used();
  for (int i = 0; i < 10000; ++i) Run(program, Counting(64));
  EXPECT_EQ(used(), before);
  for (int i = 0; i < 100; ++i) HostProgram again(device_, list);
  EXPECT_EQ(used(), before);
}

}  // namespace
}  // namespace epiphyte::vulkan
