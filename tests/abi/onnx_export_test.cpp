// ep.onnx/1: a partition as an ONNX model. The tests read the exported model again and run it as a model of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/abi/host_tables.h"
#include "core/onnx/model_reader.h"
#include "epiphyte/ep_onnx.h"
#include "epiphyte/kit/abi/onnx.hpp"
#include "tests/abi/callback_plugin.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::ValuePtr;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N,3] x) => (float[N,2] y)
  <float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0.5, -0.5}>
  {
    n = Neg(x)
    m = MatMul(n, w)
    s = Mul(m, b)
    y = Abs(s)
  })";

const EpOnnxApi& OnnxApi() {
  return *static_cast<const EpOnnxApi*>(core::HostInfo()->GetExtension(core::HostInfo(), EP_ONNX_EXTENSION));
}

class OnnxExport : public testing::Test {
 protected:
  OnnxExport() : plugin_(CallbackPlugin::Reset()), environment_(BuildTreeEnvironment()) {
    plugin_.claims = {"MatMul", "Mul"};
    environment_->catalog().Register(CallbackPlugin::Query, 1000);
  }
  // Calls `look` with the partition's graph while callback_plugin compiles it.
  void Compile(const std::function<void(const EpGraph*)>& look, std::string_view text = kModel) {
    int looks = 0;
    plugin_.on_compile = [&](EpTask*, const EpPartitionInfo& partition) -> EpStatus* {
      return kit::Guard(*core::HostInfo(), [&] {
        ++looks;
        look(partition.graph);
      });
    };
    const std::string bytes = OnnxFromText(text);
    core::SessionOptions options = OptionsFor({"callback_plugin", "cpu"});
    Session session(*environment_, bytes.data(), bytes.size(), options);
    EXPECT_EQ(looks, 1);
  }
  // Returns "OK", or code and message of the status that WriteGraph returns.
  static std::string Failure(const EpGraph* graph, const EpOnnxOptions* options) {
    EpStatus* status = OnnxApi().WriteGraph(graph, options);
    if (status == nullptr) return "OK";
    const EpStatusApi& api = *core::HostInfo()->status;
    std::string text = std::to_string(api.GetCode(status)) + ": " + api.GetMessage(status);
    api.Release(status);
    return text;
  }
  std::vector<float> RunOnCpu(const std::filesystem::path& model, std::vector<int64_t> dims, std::vector<float> x) {
    Session session(*environment_, model, OptionsFor({"cpu"}));
    return FloatsOf(*session.Run(std::vector<ValuePtr>{Floats(std::move(dims), std::move(x))})[0]);
  }

  CallbackPlugin& plugin_;
  std::unique_ptr<core::Environment> environment_;
  TempDir dir_;
};

TEST_F(OnnxExport, APartitionRunsAsAModelOfItsOwn) {
  kit::OnnxModel model;
  Compile([&](const EpGraph* graph) { model = kit::ToOnnx(*core::HostInfo(), {*core::HostInfo(), graph}); });
  EXPECT_EQ(model.weights, "");
  const auto file = dir_.Write("partition.onnx", model.bytes);
  // ([[1, 3, 5], [2, 4, 6]] times (1, 2, -1)) times b.
  EXPECT_THAT(RunOnCpu(file, {1, 3}, {1, 2, -1}), ElementsAre((1 + 6 - 5) * 0.5F, (2 + 8 - 6) * -0.5F));

  const core::Model read = core::ReadModelFile(file, {});
  ASSERT_EQ(read.graph->inputs().size(), 1u);
  EXPECT_EQ(read.graph->inputs()[0]->name(), "n");
  EXPECT_EQ(read.graph->inputs()[0]->type()->ToString(), "tensor(float)[N,3]");
  EXPECT_EQ(read.graph->outputs()[0]->name(), "s");
  EXPECT_EQ(read.graph->outputs()[0]->type()->ToString(), "tensor(float)[N,2]");
  EXPECT_EQ(read.graph->Opset(""), 17);
  EXPECT_EQ(read.ir_version, 8);
}

TEST_F(OnnxExport, WeightsGoIntoAFileOfTheirOwn) {
  kit::OnnxModel model;
  Compile([&](const EpGraph* graph) {
    model = kit::ToOnnx(*core::HostInfo(), {*core::HostInfo(), graph}, "weights.bin", 16);
  });
  EXPECT_EQ(model.weights.size(), 24u) << "of both constants one has 16 bytes or more";
  dir_.Write("weights.bin", model.weights);
  const auto file = dir_.Write("partition.onnx", model.bytes);
  EXPECT_THAT(RunOnCpu(file, {1, 3}, {1, 2, -1}), ElementsAre(1, -2));
  std::filesystem::remove(dir_ / "weights.bin");
  EXPECT_THAT(FailureOf([&] { RunOnCpu(file, {1, 3}, {1, 2, -1}); }), HasSubstr("weights.bin"));
}

TEST_F(OnnxExport, WeightsThatWereNotRequestedAreNotWritten) {
  std::string bytes;
  Compile([&](const EpGraph* graph) {
    EpOnnxOptions options = {};
    options.struct_size = sizeof options;
    options.user = &bytes;
    options.weights_location = "elsewhere";
    options.write_model = [](void* user, const void* data, uint64_t size) -> EpStatus* {
      static_cast<std::string*>(user)->append(static_cast<const char*>(data), size);
      return nullptr;
    };
    EXPECT_EQ(Failure(graph, &options), "OK");
  });
  EXPECT_THAT(bytes, HasSubstr("elsewhere"));
}

TEST_F(OnnxExport, TheSameGraphGivesTheSameBytes) {
  std::vector<std::string> written;
  for (int i = 0; i < 2; ++i) {
    Compile([&](const EpGraph* graph) {
      written.push_back(kit::ToOnnx(*core::HostInfo(), {*core::HostInfo(), graph}).bytes);
      written.push_back(kit::ToOnnx(*core::HostInfo(), {*core::HostInfo(), graph}).bytes);
    });
  }
  EXPECT_EQ(written, std::vector<std::string>(4, written[0]));
}

TEST_F(OnnxExport, BodiesOfControlFlowAreInside) {
  plugin_.claims = {"If"};
  kit::OnnxModel model;
  Compile(
      [&](const EpGraph* graph) {
        model = kit::ToOnnx(*core::HostInfo(), {*core::HostInfo(), graph});
      },
      R"(<ir_version: 8, opset_import: ["" : 17]>
            g (float[2] x, bool c) => (float[2] y) {
              y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) },
                         else_branch = e () => (float[2] b) { b = Abs(x) }>
            })");
  Session session(*environment_, model.bytes.data(), model.bytes.size(), OptionsFor({"cpu"}));
  std::vector<std::pair<std::string, ValuePtr>> inputs = {{"x", Floats({2}, {1, -2})}, {"c", Bools({}, {true})}};
  EXPECT_THAT(FloatsOf(*session.Run(inputs, {})[0]), ElementsAre(-1, 2));
}

TEST_F(OnnxExport, WhatCanNotBeIsRefused) {
  Compile([&](const EpGraph* graph) {
    EpOnnxOptions good = {};
    good.struct_size = sizeof good;
    good.write_model = [](void*, const void*, uint64_t) -> EpStatus* { return nullptr; };
    EXPECT_EQ(Failure(graph, &good), "OK");
    EXPECT_THAT(Failure(nullptr, &good), HasSubstr("one is null"));
    EXPECT_THAT(Failure(graph, nullptr), HasSubstr("one is null"));
    const auto failure = [&](const std::function<void(EpOnnxOptions&)>& spoil) {
      EpOnnxOptions bad = good;
      spoil(bad);
      return Failure(graph, &bad);
    };
    EXPECT_THAT(failure([](EpOnnxOptions& options) { options.struct_size = 8; }), HasSubstr("struct_size 8"));
    EXPECT_THAT(failure([](EpOnnxOptions& options) { options.reserved = 3; }), HasSubstr("3 in `reserved`"));
    EXPECT_THAT(failure([](EpOnnxOptions& options) { options.write_model = nullptr; }), HasSubstr("null"));
    for (const char* location : {"", "..", "a/b", "a\nb", "a\\b"}) {
      EXPECT_THAT(failure([&](EpOnnxOptions& options) { options.weights_location = location; }),
                  AllOf(HasSubstr("2: "), HasSubstr("a file's name")))
          << location;
    }
    const std::string endless(300, 'w');
    EXPECT_THAT(failure([&](EpOnnxOptions& options) { options.weights_location = endless.c_str(); }),
                HasSubstr("a file's name"));
  });
}

TEST_F(OnnxExport, ACallbackThatFailsEndsTheWriting) {
  Compile([&](const EpGraph* graph) {
    EpOnnxOptions options = {};
    options.struct_size = sizeof options;
    options.write_model = [](void*, const void*, uint64_t) {
      return core::HostInfo()->status->Create(EP_STATUS_ENGINE_ERROR, "the SDK is full");
    };
    EXPECT_EQ(Failure(graph, &options), "5: write_model: the SDK is full");
    options.write_model = [](void*, const void*, uint64_t) -> EpStatus* { throw 1; };
    EXPECT_THAT(Failure(graph, &options), HasSubstr("let an exception escape"));
  });
  EXPECT_EQ(core::LiveStatusCount(), 0u);
}

TEST_F(OnnxExport, AGraphThatNeedsTheOneAroundItIsRefused) {
  const std::string bytes = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, bool c) => (float[2] y) {
      y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Abs(x) }>
    })");
  const core::Model model = core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, {});
  const core::Graph* body = model.graph->nodes()[0]->subgraphs()[0];
  EpOnnxOptions options = {};
  options.struct_size = sizeof options;
  options.write_model = [](void*, const void*, uint64_t) -> EpStatus* { return nullptr; };
  EXPECT_THAT(Failure(core::ToAbi(body), &options),
              AllOf(HasSubstr("2: "), HasSubstr("reads 'x' of the graph around")));
}

}  // namespace
}  // namespace epiphyte::test
