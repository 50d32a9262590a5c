// Placement of tensors in the arena: tensors that are alive at the same time lie apart, others share memory.
#include "plugins/vulkan/program/memory_plan.h"

#include <gmock/gmock.h>

namespace epiphyte::vulkan {
namespace {

constexpr uint64_t kBytes = 1024;

int32_t AddTensor(Program& program, Place place = Place::kArena) {
  DeviceTensor tensor;
  tensor.type = EP_TYPE_FLOAT;
  tensor.dims = {256};
  tensor.bytes = kBytes;
  tensor.place = place;
  program.tensors.push_back(tensor);
  return static_cast<int32_t>(program.tensors.size()) - 1;
}

int32_t AddView(Program& program, int32_t of) {
  DeviceTensor tensor = program.tensors[static_cast<size_t>(of)];
  tensor.same_as = of;
  program.tensors.push_back(tensor);
  return static_cast<int32_t>(program.tensors.size()) - 1;
}

void AddStep(Program& program, int32_t from, int32_t to) {
  Dispatch dispatch;
  dispatch.bindings = {{from, Access::kRead}, {to, Access::kWrite}};
  program.dispatches.push_back(dispatch);
}

TEST(MemoryPlan, AChainNeedsTwoPlaces) {
  Program program;
  int32_t last = AddTensor(program, Place::kInput);
  for (int i = 0; i < 6; ++i) {
    const int32_t next = AddTensor(program);
    AddStep(program, last, next);
    last = next;
  }
  program.outputs.push_back({last, {}, EP_TYPE_FLOAT, {256}});
  const MemoryPlan plan = PlanMemory(program);
  EXPECT_EQ(plan.arena_bytes, 2 * kBytes);
  for (size_t i = 2; i < program.tensors.size(); ++i) EXPECT_NE(plan.offsets[i], plan.offsets[i - 1]);
}

TEST(MemoryPlan, AViewKeepsTheMemoryOfWhatItIs) {
  Program program;
  const int32_t x = AddTensor(program, Place::kInput);
  const int32_t a = AddTensor(program);
  const int32_t view = AddView(program, AddView(program, a));
  const int32_t b = AddTensor(program);
  const int32_t c = AddTensor(program);
  AddStep(program, x, a);
  AddStep(program, x, b);
  AddStep(program, view, c);
  const MemoryPlan plan = PlanMemory(program);
  EXPECT_EQ(plan.offsets[static_cast<size_t>(view)], plan.offsets[static_cast<size_t>(a)]);
  EXPECT_NE(plan.offsets[static_cast<size_t>(b)], plan.offsets[static_cast<size_t>(a)]);
}

TEST(MemoryPlan, OutputsStayUntilTheEnd) {
  Program program;
  const int32_t x = AddTensor(program, Place::kInput);
  const int32_t early = AddTensor(program);
  const int32_t later = AddTensor(program);
  AddStep(program, x, early);
  AddStep(program, x, later);
  program.outputs.push_back({early, {}, EP_TYPE_FLOAT, {256}});
  const MemoryPlan plan = PlanMemory(program);
  EXPECT_NE(plan.offsets[static_cast<size_t>(early)], plan.offsets[static_cast<size_t>(later)]);
}

TEST(MemoryPlan, OutputsThatAreTensorsOfTheArenaAreMadeWhereTheyAreWanted) {
  Program program;
  const int32_t x = AddTensor(program, Place::kInput);
  const int32_t a = AddTensor(program);
  const int32_t b = AddTensor(program);
  const int32_t view = AddView(program, b);
  AddStep(program, x, a);
  AddStep(program, a, b);
  for (const int32_t tensor : {view, b, x}) program.outputs.push_back({tensor, {}, EP_TYPE_FLOAT, {256}});
  program.outputs.push_back({-1, std::vector<std::byte>(4), EP_TYPE_FLOAT, {1}});
  BindOutputs(program);
  EXPECT_EQ(program.tensors[static_cast<size_t>(b)].place, Place::kOutput);
  EXPECT_EQ(program.tensors[static_cast<size_t>(b)].index, 0u) << "the first of those that it is";
  EXPECT_EQ(program.tensors[static_cast<size_t>(x)].place, Place::kInput);
  EXPECT_EQ(program.tensors[static_cast<size_t>(a)].place, Place::kArena);
  EXPECT_EQ(PlanMemory(program).arena_bytes, kBytes) << "a alone";
}

TEST(MemoryPlan, UnusedValuesTakeNoMemory) {
  Program program;
  AddTensor(program);
  AddTensor(program, Place::kInput);
  AddTensor(program, Place::kConstant);
  EXPECT_EQ(PlanMemory(program).arena_bytes, 0u);
}

}  // namespace
}  // namespace epiphyte::vulkan
