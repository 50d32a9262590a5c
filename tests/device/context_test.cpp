// Sessions from contexts of the test device, and of kernels without states: they run on devices as other sessions do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/device/device_fixture.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

// The graph makes five partitions on two devices, with constants of both supported types.
constexpr std::string_view kGraph = R"(g (float[N, 2] x, float[1, 4, 2] cache, float[1, 1, 2] update)
    => (float[N, 2] y, float[1, 4, 2] next) {
  w = Constant <value = float[2, 2] {1, 2, 3, 4}> ()
  at = Constant <value = int64[1] {2}> ()
  a = MatMul(x, w)
  b = Relu(a)
  c = Sub(b, x)
  y = Neg(c)
  next = TensorScatter(cache, update, at)
})";

class DeviceContexts : public DeviceTest, public testing::WithParamInterface<const char*> {
 protected:
  const Values inputs_ = {Floats({2, 2}, {1, -2, 3, -4}), Floats({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                          Floats({1, 1, 2}, {-1, -2})};
  std::vector<std::string> KernelsOf(int number) {
    std::vector<std::string> kernels;
    for (const TestDeviceSpan& span : Spans(number)) {
      if (span.what != "copy") kernels.push_back(span.what);
    }
    return kernels;
  }
  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(EmbedMode, DeviceContexts, testing::Values("0", "1"));

TEST_P(DeviceContexts, GiveTheSessionThatWasCompiled) {
  const auto copies = [&](Session& session) { return CopiesOf([&] { session.Run(inputs_); }); };
  const std::vector<std::vector<float>> expected = Read(OnCpu(kGraph, inputs_));
  SessionOptions compile = OnTwoDevices("Sub,TensorScatter");
  compile.Set("ep.context_enable", "1");
  compile.Set("ep.context_embed_mode", GetParam());
  Session compiled(*environment_, dir_.Write("m.onnx", Model(kGraph)), compile);
  ASSERT_NE(compiled.context_output(), nullptr);
  EXPECT_EQ(Read(compiled.Run(inputs_)), expected);

  Session loaded(*environment_, compiled.context_output()->model, OnTwoDevices("Sub,TensorScatter"));
  ASSERT_TRUE(loaded.has_context());
  EXPECT_EQ(Read(loaded.Run(inputs_)), expected);
  EXPECT_EQ(copies(loaded), copies(compiled));
  control_.Reset();
  loaded.Run(inputs_);
  EXPECT_EQ(control_.executes, 5u);
  EXPECT_THAT(KernelsOf(0), UnorderedElementsAre("MatMul", "Relu", "Neg"));
  EXPECT_THAT(KernelsOf(1), UnorderedElementsAre("Sub", "TensorScatter"));
}

TEST_F(DeviceTest, WhatIsNoPayloadOfTheirsIsRefused) {
  const auto load = [&](const std::string& payload) {
    const std::string bytes = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 24, "com.microsoft" : 1]>
      g (float[1] x) => (float[1] y) {
        y = com.microsoft.EPContext <source = "TestDevice", ep_cache_context = ")" +
                                           payload + R"("> (x)
      })");
    return FailureOf([&] { Session(*environment_, bytes.data(), bytes.size(), OnDevice()); });
  };
  EXPECT_THAT(load("something else"), AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("does not begin with its name")));
  EXPECT_THAT(load("EpTestDevice:"), AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("ends too early")));
  EXPECT_THAT(load("EpTestDevice:xxxxyyyyyyyy"), AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("version")));
}

TEST_F(DeviceTest, KernelsNeedNoStates) {
  TempDir dir;
  std::ifstream file(DeviceFolder() / "test_device.yaml");
  std::string manifest;
  for (std::string line; std::getline(file, line);) {
    manifest += line.starts_with("library:") ? std::string("library: ") + EPIPHYTE_TEST_DEVICE : line;
    manifest += '\n';
  }
  dir.Write("test_device.yaml", manifest + "parameters: { states: \"0\" }\n");
  environment_ = DeviceEnvironment({dir.path()});
  for (const char* async : {"1", "0"}) {
    const auto session =
        Open("g (float[N] x) => (float[N] y) { a = Add(x, x) b = Abs(a) y = Neg(b) }", OnDevice({{"async", async}}));
    std::vector<std::future<Values>> runs;
    for (int i = 0; i < 8; ++i) {
      runs.push_back(Start(*session, {Floats({2}, {static_cast<float>(i), static_cast<float>(-i)})}));
    }
    for (int i = 0; i < 8; ++i) {
      const auto y = static_cast<float>(-2 * i);
      EXPECT_EQ(FloatsOf(*runs[static_cast<size_t>(i)].get()[0]), (std::vector<float>{y, y}));
    }
    EXPECT_EQ(control_.live_states, 0);
  }
}

}  // namespace
}  // namespace epiphyte::test
