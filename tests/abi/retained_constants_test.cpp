// RetainConstant and DropConstant. A retained constant stays at its address until the plugin releases it. The host
// unmaps a dropped constant at once, and every constant that is not retained when the session is ready. The tests look
// at the mappings of the weight file and at the memory in use.
#include "core/abi/retained_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/abi/host_tables.h"
#include "core/onnx/write/model_writer.h"
#include "epiphyte/kit/abi/constant.hpp"
#include "tests/abi/callback_plugin.h"
#include "tests/framework/mappings.h"
#include "tests/framework/resident_memory.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Constant;
using core::DataType;
using core::Dim;
using core::Graph;
using core::RetainedConstants;
using core::Session;
using core::Shape;
using core::Type;
using core::ValueDef;
using core::ValuePtr;
using testing::AllOf;
using testing::HasSubstr;

const EpTaskApi& TaskApi() { return *core::HostInfo()->task; }

std::string TextOf(EpStatus* status) {
  if (status == nullptr) return "OK";
  const EpStatusApi& api = *core::HostInfo()->status;
  std::string text = std::to_string(api.GetCode(status)) + ": " + api.GetMessage(status);
  api.Release(status);
  return text;
}

class RetainedConstantsTest : public testing::Test {
 protected:
  RetainedConstantsTest() : plugin_(CallbackPlugin::Reset()), environment_(BuildTreeEnvironment()) {
    plugin_.claims = {"Add"};
    plugin_.on_execute = [this](EpRun* run) { return AddKept(run); };
    environment_->catalog().Register(CallbackPlugin::Query, 1000);
  }
  ~RetainedConstantsTest() override {
    EXPECT_EQ(RetainedConstants::All().size(), 0u);
    EXPECT_EQ(core::LiveStatusCount(), 0u);
  }

  // Writes model.onnx: y = op(x, w) on `rows` times 16 floats. w is in weights.bin; all its elements are 0.5.
  std::filesystem::path WriteModelFor(const std::string& op, int64_t rows) {
    core::Model model;
    model.ir_version = 8;
    model.graph = std::make_unique<Graph>("g");
    Graph& graph = *model.graph;
    graph.SetOpset("", 17);
    const std::vector<float> half(static_cast<size_t>(rows) * 16, 0.5F);
    ValueDef* w = graph.AddConstant("w", Constant::Copy(DataType::kFloat, {rows, 16}, half.data(), half.size() * 4));
    ValueDef* y = graph.AddValue("y");
    if (op == "Gather") {
      graph.AddNode(op, "", 13, {w, graph.AddInput("x", Type::Tensor(DataType::kInt64, Shape{Dim(1)}))}, {y});
    } else if (op == "MatMul") {
      graph.AddNode(op, "", 13, {graph.AddInput("x", Type::Tensor(DataType::kFloat, Shape{Dim(1), Dim(rows)})), w},
                    {y});
    } else {
      graph.AddNode(op, "", 14, {graph.AddInput("x", Type::Tensor(DataType::kFloat, Shape{Dim(1), Dim(16)})), w}, {y});
    }
    graph.SetOutputs({y});
    graph.Finalize();
    std::string weights;
    core::WriteOptions options;
    options.external_file_name = "weights.bin";
    options.external_sink = [&](const void* data, uint64_t size) {
      weights.append(static_cast<const char*>(data), size);
    };
    std::string bytes;
    core::WriteModel(model, options,
                     [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
    return Write(std::move(bytes), std::move(weights));
  }
  // Writes model.onnx: y[i] = op(x, w[i]). Each w has 2^21 floats of 0.5 and begins one byte off a float's alignment.
  std::filesystem::path WriteModelOfOddWeights(const std::string& op, size_t count) {
    core::Model model;
    model.ir_version = 8;
    model.graph = std::make_unique<Graph>("g");
    Graph& graph = *model.graph;
    graph.SetOpset("", 17);
    ValueDef* x = graph.AddInput("x", Type::Tensor(DataType::kFloat, Shape{Dim(1), Dim(2048)}));
    std::vector<ValueDef*> outputs;
    for (size_t i = 0; i < count; ++i) {
      std::vector<float> half(kOddBytes / 4, 0.5F);
      half[0] = static_cast<float>(i);  // equal constants would be merged into one
      ValueDef* w =
          graph.AddConstant("w" + std::to_string(i),
                            Constant::Copy(DataType::kFloat, {2048, kOddBytes / 8192}, half.data(), half.size() * 4));
      outputs.push_back(graph.AddValue("y" + std::to_string(i)));
      graph.AddNode(op, "", 13, {x, w}, {outputs.back()});
    }
    graph.SetOutputs(outputs);
    graph.Finalize();
    std::string weights = "-";
    core::WriteOptions options;
    options.external_file_name = "weights.bin";
    options.external_sink = [&](const void* data, uint64_t size) {
      weights.append(static_cast<const char*>(data), size);
    };
    std::string bytes;
    core::WriteModel(model, options,
                     [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
    // Offsets are decimal text and even, so an offset plus one has as many digits.
    const std::string key = "offset";
    for (size_t at = bytes.find(key); at != std::string::npos; at = bytes.find(key, at + 1)) {
      const size_t length = static_cast<unsigned char>(bytes[at + key.size() + 1]);
      ++bytes[at + key.size() + 1 + length];
    }
    return Write(std::move(bytes), std::move(weights));
  }
  static constexpr int64_t kOddBytes = int64_t{8} << 20;

  std::filesystem::path Write(std::string model, std::string weights) {
    weights_ = dir_.Write("weights.bin", weights);
    return dir_.Write("model.onnx", model);
  }
  size_t Mappings() const { return MappingsOf(weights_); }

  // Returns the constant of an Add: its second input.
  static kit::ValueView ConstantOf(const EpPartitionInfo& partition) {
    return kit::GraphView(*core::HostInfo(), partition.graph).node(0).input(1);
  }
  void RetainInCompile() {
    plugin_.on_compile = [this](EpTask* task, const EpPartitionInfo& partition) {
      return kit::Guard(*core::HostInfo(),
                        [&] { kept_ = kit::RetainedConstant(*core::HostInfo(), task, ConstantOf(partition)); });
    };
  }
  EpStatus* AddKept(EpRun* run) const {
    return kit::Guard(*core::HostInfo(), [&] {
      EpRunInfo info = {};
      info.struct_size = sizeof info;
      kit::ThrowIfFailed(*core::HostInfo(), core::HostInfo()->run->GetInfo(run, &info));
      const auto* x = static_cast<const float*>(info.inputs[0]->tensor->data);
      const auto* w = static_cast<const float*>(kept_->data);
      void* y = nullptr;
      kit::ThrowIfFailed(*core::HostInfo(),
                         core::HostInfo()->run->AllocateOutput(run, 0, EP_TYPE_FLOAT, kept_->dims, kept_->rank, &y));
      for (uint64_t i = 0; i < kept_->element_count; ++i) static_cast<float*>(y)[i] = x[i % 16] + w[i];
    });
  }

  CallbackPlugin& plugin_;
  std::unique_ptr<core::Environment> environment_;
  TempDir dir_;
  std::filesystem::path weights_;
  kit::RetainedConstant kept_;
};

TEST_F(RetainedConstantsTest, StayMappedUntilThePluginReleasesThem) {
  const auto model = WriteModelFor("Add", 8);
  RetainInCompile();
  plugin_.on_destroy = [this] { kept_ = {}; };
  {
    Session session(*environment_, model, OptionsFor({"callback_plugin"}));
    EXPECT_EQ(Mappings(), 1u);
    EXPECT_EQ(RetainedConstants::All().size(), 1u);
    const auto outputs = session.Run(std::vector<ValuePtr>{Floats({1, 16}, std::vector<float>(16, 1))});
    EXPECT_THAT(FloatsOf(*outputs[0]), AllOf(testing::SizeIs(128), testing::Each(1.5F)));
    kept_ = {};
    EXPECT_EQ(Mappings(), 0u) << "the session lives, but nobody reads the weights any more";
  }
}

TEST_F(RetainedConstantsTest, UnretainedConstantsAreUnmappedWhenTheSessionIsReady) {
  for (const int64_t rows :
       {int64_t{8}, int64_t{1} << 19}) {  // 512 bytes, and 32 MiB: the pages of the large constant are released early
    const auto model = WriteModelFor("Add", rows);
    Session session(*environment_, model, OptionsFor({"callback_plugin"}));
    EXPECT_EQ(Mappings(), 0u) << rows;
  }
}

TEST_F(RetainedConstantsTest, ConstantsStillRetainedAreReleasedWithTheProvider) {
  const auto model = WriteModelFor("Add", 8);
  plugin_.on_compile = [](EpTask* task, const EpPartitionInfo& partition) {
    EpConstant* forgotten = nullptr;
    return TaskApi().RetainConstant(task, ConstantOf(partition).handle(), &forgotten);
  };
  {
    Session session(*environment_, model, OptionsFor({"callback_plugin"}));
    EXPECT_EQ(Mappings(), 1u);
  }
  EXPECT_EQ(Mappings(), 0u);
}

TEST_F(RetainedConstantsTest, AreReleasedAlsoWhenTheSessionFails) {
  const auto model = WriteModelFor("Add", 8);
  plugin_.on_compile = [](EpTask* task, const EpPartitionInfo& partition) {
    EpConstant* forgotten = nullptr;
    if (EpStatus* status = TaskApi().RetainConstant(task, ConstantOf(partition).handle(), &forgotten)) return status;
    return core::HostInfo()->status->Create(EP_STATUS_EP_FAIL, "no");
  };
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, model, OptionsFor({"callback_plugin"})); }),
              HasSubstr("EP_FAIL"));
  EXPECT_EQ(Mappings(), 0u);
}

TEST_F(RetainedConstantsTest, EachRetainHasItsOwnRelease) {
  const auto model = WriteModelFor("Add", 8);
  EpConstant* first = nullptr;
  EpConstant* second = nullptr;
  plugin_.on_compile = [&](EpTask* task, const EpPartitionInfo& partition) {
    const EpValueDef* value = ConstantOf(partition).handle();
    EpStatus* status = TaskApi().RetainConstant(task, value, &first);
    return status != nullptr ? status : TaskApi().RetainConstant(task, value, &second);
  };
  Session session(*environment_, model, OptionsFor({"callback_plugin"}));
  EXPECT_NE(first, second);
  TaskApi().ReleaseConstant(first);
  TaskApi().ReleaseConstant(first);  // reported, without any other effect
  TaskApi().ReleaseConstant(nullptr);
  EXPECT_EQ(Mappings(), 1u);
  int foreign = 0;
  TaskApi().ReleaseConstant(reinterpret_cast<EpConstant*>(&foreign));
  EXPECT_EQ(Mappings(), 1u);
  TaskApi().ReleaseConstant(second);
  EXPECT_EQ(Mappings(), 0u);
}

TEST_F(RetainedConstantsTest, OnlyConstantsOfTheTaskCanBeRetained) {
  const auto model = WriteModelFor("Add", 8);
  EpTask* ended = nullptr;
  const EpValueDef* constant = nullptr;
  std::vector<std::string> answers;
  plugin_.on_compile = [&](EpTask* task, const EpPartitionInfo& partition) -> EpStatus* {
    ended = task;
    constant = ConstantOf(partition).handle();
    const kit::NodeView node = kit::GraphView(*core::HostInfo(), partition.graph).node(0);
    EpConstant* none = nullptr;
    int foreign = 0;
    answers = {TextOf(TaskApi().RetainConstant(task, node.input(0).handle(), &none)),
               TextOf(TaskApi().RetainConstant(task, node.output(0).handle(), &none)),
               TextOf(TaskApi().RetainConstant(task, reinterpret_cast<const EpValueDef*>(&foreign), &none)),
               TextOf(TaskApi().RetainConstant(task, nullptr, &none)),
               TextOf(TaskApi().RetainConstant(task, constant, nullptr)),
               TextOf(TaskApi().RetainConstant(nullptr, constant, &none))};
    EXPECT_EQ(none, nullptr);
    return nullptr;
  };
  Session session(*environment_, model, OptionsFor({"callback_plugin"}));
  EpConstant* none = nullptr;
  answers.push_back(TextOf(TaskApi().RetainConstant(ended, constant, &none)));
  ASSERT_EQ(answers.size(), 7u);
  for (const std::string& answer : answers) EXPECT_THAT(answer, testing::StartsWith("2: "));
  EXPECT_THAT(answers[0], HasSubstr("no constant"));
}

TEST_F(RetainedConstantsTest, WhatIsDroppedIsFreedAtOnceAndWhatIsRetainedStays) {
  const auto model = WriteModelOfOddWeights("MatMul", 2);
  plugin_.claims = {"MatMul"};
  std::vector<int64_t> freed;
  plugin_.on_compile = [&](EpTask* task, const EpPartitionInfo& partition) -> EpStatus* {
    const kit::GraphView graph(*core::HostInfo(), partition.graph);
    for (size_t i = 0; i < graph.node_count(); ++i) {
      const kit::ValueView value = graph.node(i).input(1);
      const auto* data = static_cast<const float*>(value.constant()->data);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
      EXPECT_EQ(data[1], 0.5F);
      if (data[0] == 1) kept_ = kit::RetainedConstant(*core::HostInfo(), task, value);
      const auto before = static_cast<int64_t>(ResidentBytes());
      EXPECT_EQ(TextOf(TaskApi().DropConstant(task, value.handle())), "OK");
      EXPECT_EQ(TextOf(TaskApi().DropConstant(task, value.handle())), "OK") << "a second time is no harm";
      freed.push_back(before - static_cast<int64_t>(ResidentBytes()));
    }
    return nullptr;
  };
  const Session session(*environment_, model, OptionsFor({"callback_plugin"}));
  ASSERT_EQ(freed.size(), 2u);
  if (kFreedMemoryGoes) {
    EXPECT_GT(std::max(freed[0], freed[1]), kOddBytes / 2);
  }
  EXPECT_LT(std::min(freed[0], freed[1]), kOddBytes / 2);
  const auto* data = static_cast<const float*>(kept_->data);
  EXPECT_EQ(data[0], 1);
  EXPECT_TRUE(std::all_of(data + 1, data + kept_->element_count, [](float number) { return number == 0.5F; }));
  kept_ = {};
}

// Two partitions of one Compile read the same weight through different values.
TEST(ShownConstants, OneThatAnotherValueStillReadsStays) {
  constexpr size_t kBytes = size_t{16} << 20;
  const auto bytes = std::make_shared<std::string>(kBytes + 1, 'w');
  const core::ConstantPtr weight = Constant::ViewOfAnyAlignment(DataType::kFloat, {static_cast<int64_t>(kBytes / 4)},
                                                                bytes->data() + 1, kBytes, bytes);
  Graph first("first"), second("second");
  const EpValueDef* const one = core::ToAbi(first.AddConstant("w", weight));
  const EpValueDef* const other = core::ToAbi(second.AddConstant("w", weight));
  core::ShownConstants shown;
  shown.Add(first);
  shown.Add(second);
  const void* data = weight->lent()->data;
  EXPECT_TRUE(shown.Drop(one));
  EXPECT_TRUE(shown.Drop(one));
  EXPECT_EQ(weight->lent()->data, data);
  const uint64_t before = ResidentBytes();
  EXPECT_TRUE(shown.Drop(other));
  EXPECT_LT(ResidentBytes() + kBytes / 2, before);
}

TEST_F(RetainedConstantsTest, OnlyConstantsOfTheTaskCanBeDropped) {
  const auto model = WriteModelFor("Add", 8);
  EpTask* ended = nullptr;
  const EpValueDef* constant = nullptr;
  std::vector<std::string> answers;
  plugin_.on_compile = [&](EpTask* task, const EpPartitionInfo& partition) -> EpStatus* {
    ended = task;
    constant = ConstantOf(partition).handle();
    const kit::NodeView node = kit::GraphView(*core::HostInfo(), partition.graph).node(0);
    int foreign = 0;
    answers = {TextOf(TaskApi().DropConstant(task, node.input(0).handle())),
               TextOf(TaskApi().DropConstant(task, reinterpret_cast<const EpValueDef*>(&foreign))),
               TextOf(TaskApi().DropConstant(task, nullptr)), TextOf(TaskApi().DropConstant(nullptr, constant))};
    return nullptr;
  };
  Session session(*environment_, model, OptionsFor({"callback_plugin"}));
  answers.push_back(TextOf(TaskApi().DropConstant(ended, constant)));
  for (const std::string& answer : answers) EXPECT_THAT(answer, testing::StartsWith("2: "));
  EXPECT_THAT(answers[0], HasSubstr("no constant"));
}

TEST_F(RetainedConstantsTest, TheCpuPluginHasNoWeightTwice) {
  if (!kFreedMemoryGoes) GTEST_SKIP() << "the sanitizer keeps what is freed";
  constexpr int64_t kWeights = 8;
  const auto model = WriteModelOfOddWeights("MatMul", kWeights);
  int64_t most = 0;
  core::SessionOptions options = OptionsFor({"cpu"});
  const auto before = static_cast<int64_t>(ResidentBytes());
  options.progress = [&](const core::SessionProgress&) {
    most = std::max(most, static_cast<int64_t>(ResidentBytes()) - before);
    return false;
  };
  const Session session(*environment_, model, options);
  // The peak is the packed weights plus those that are packed between two reports.
  EXPECT_LT(most, (kWeights + 4) * kOddBytes);
  EXPECT_GT(most, kWeights / 2 * kOddBytes);
}

TEST_F(RetainedConstantsTest, TheCpuPluginReadsALargeTableWhereItIs) {
  const auto model = WriteModelFor("Gather", 4096);  // 256 KiB
  {
    Session session(*environment_, model, OptionsFor({"cpu"}));
    EXPECT_EQ(Mappings(), 1u);
    EXPECT_EQ(RetainedConstants::All().size(), 1u);
    const auto outputs = session.Run(std::vector<ValuePtr>{Int64s({1}, {4095})});
    EXPECT_THAT(FloatsOf(*outputs[0]), testing::Each(0.5F));
  }
  EXPECT_EQ(Mappings(), 0u);
}

TEST_F(RetainedConstantsTest, TheCpuPluginKeepsNoFileMappedForWhatItPacksOrCopies) {
  for (const auto& [op, rows] : {std::pair<std::string, int64_t>("Gather", 8), {"MatMul", 4096}}) {
    const auto model = WriteModelFor(op, rows);
    Session session(*environment_, model, OptionsFor({"cpu"}));
    EXPECT_EQ(Mappings(), 0u) << op;
  }
}

}  // namespace
}  // namespace epiphyte::test
