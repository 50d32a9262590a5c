// Kit plugins with classes of the same name, compiled with the compiler's defaults, in one process: each runs its own
// code. Also two versions of one plugin: the version that made a context decides which plugin may load it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/context/compatibility.h"
#include "core/onnx/model_reader.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::ContextVerdict;
using core::Session;
using core::SessionOptions;
using core::ValuePtr;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<core::Environment> EnvironmentWith(std::initializer_list<const char*> twins) {
  core::CatalogOptions options;
  options.use_environment = false;
  options.use_user_folder = false;
  for (const char* twin : twins) options.paths.push_back(std::filesystem::path(EPIPHYTE_TWIN_PLUGIN_DIR) / twin);
  return std::make_unique<core::Environment>(std::move(options));
}

std::vector<float> RunOn(Session& session) {
  return FloatsOf(*session.Run(std::vector<ValuePtr>{Floats({2}, {1, -3})})[0]);
}

constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) { a = Neg(x) b = Relu(a) c = Sub(b, x) y = Abs(c) })";

TEST(KitTwins, RunTheirOwnCode) {
  TempDir dir;
  const auto model = dir.Write("m.onnx", OnnxFromText(kModel));
  const auto environment = EnvironmentWith({"twin_neg", "twin_abs"});
  Session session(*environment, model, OptionsFor({"neg", "abs"}));
  EXPECT_EQ(session.placement().Summary(), "4 nodes: neg 1 in 1 partition, abs 1 in 1 partition, cpu 2 in 1 partition");
  EXPECT_THAT(RunOn(session), ElementsAre(1, 6));
}

class KitVersions : public testing::Test {
 protected:
  KitVersions() {
    model_ = dir_.Write("m.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { y = Neg(x) })"));
  }
  // Makes a context of version 1.0 for `device`.
  std::filesystem::path Compile(const char* device) {
    SessionOptions options = On(device);
    options.Set("ep.context_enable", "1");
    options.Set("epiphyte.context_overwrite", "1");
    const auto environment = EnvironmentWith({"twin_neg"});
    Session session(*environment, model_, options);
    return dir_ / "m_ctx.onnx";
  }
  static SessionOptions On(const char* device) {
    SessionOptions options = OptionsFor({});
    options.providers = {{"neg", {{"device", device}}}};
    return options;
  }
  static core::ContextReport Judge(const std::filesystem::path& context, const char* twin) {
    core::Model model = core::ReadModelFile(context, {});
    const auto environment = EnvironmentWith({twin});
    return core::CheckContexts(model, context, environment->catalog(), /*with_payloads=*/true);
  }

  TempDir dir_;
  std::filesystem::path model_;
};

TEST_F(KitVersions, AContextOfTheSameVersionAndDeviceLoads) {
  const auto context = Compile("1");
  const auto environment = EnvironmentWith({"twin_neg"});
  Session session(*environment, context, On("1"));
  EXPECT_THAT(RunOn(session), ElementsAre(-1, 3));
  EXPECT_EQ(Judge(context, "twin_neg").verdict, ContextVerdict::kOptimal);
}

TEST_F(KitVersions, AContextOfAnotherSdkVersionIsRefusedWithBothVersions) {
  const auto context = Compile("0");
  const auto environment = EnvironmentWith({"twin_neg_2"});
  EXPECT_THAT(FailureOf([&] { Session session(*environment, context, On("0")); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("written by SDK version '1.0', this is '2.0'"),
                    HasSubstr("compile the model again")));
  const core::ContextReport report = Judge(context, "twin_neg_2");
  EXPECT_EQ(report.verdict, ContextVerdict::kUnsupported);
  EXPECT_THAT(report.reason, AllOf(HasSubstr("'1.0'"), HasSubstr("'2.0'")));
}

TEST_F(KitVersions, AContextForAnotherDeviceIsRefusedWithBothDevices) {
  const auto context = Compile("1");
  EXPECT_EQ(Judge(context, "twin_neg").verdict, ContextVerdict::kOptimal) << "the device is here";
  const auto environment = EnvironmentWith({"twin_neg"});
  EXPECT_THAT(FailureOf([&] { Session session(*environment, context, On("0")); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("compiled for 'twin-2', the device in use is 'twin-1'"),
                    HasSubstr("choose the other device")));
}

}  // namespace
}  // namespace epiphyte::test
