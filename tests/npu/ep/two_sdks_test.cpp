// SDKs of two vendors in one process: one plugin library with a manifest for each SDK. Each is a provider with its own
// name and source.
#include <set>

#include "core/base/error.h"
#include "tests/npu/ep/npu_harness.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const char* const kRelu =
    "g (uint8[1,8] x) => (uint8[1,8] y) <float s = {0.1}, uint8 z = {10}> { d = "
    "DequantizeLinear(x, s, z) r = Relu(d) y = QuantizeLinear(r, s, z) }";

std::string ManifestOf(const std::string& name, const std::string& sources, const std::string& parameters) {
  return "manifest_version: 1\nname: " + name + "\nvendor: " + name +
         "\nversion: " EPIPHYTE_VERSION "\nlibrary: " EPIPHYTE_NPU_LIBRARY "\nabi: \"0.2\"\nsources: [" + sources +
         "]\ndevices: [npu]\npriority: 300\nparameters: {" + parameters + "}\n";
}

class TwoSdks : public testing::Test {
 protected:
  TwoSdks() {
    Install("acme", ManifestOf("acme", "AcmeNPU", "source: AcmeNPU, sdk: \"" + SimulatorLibrary().string() + "\""));
    Install("bolt", ManifestOf("bolt", "BoltNPU", "source: BoltNPU, sdk: \"" + MinimalLibrary().string() + "\""));
  }
  void Install(const std::string& name, const std::string& manifest) {
    paths_.insert(temp_.Write(name + ".yaml", manifest));
  }
  core::Environment& environment() {
    if (environment_ == nullptr) {
      core::CatalogOptions options;
      options.paths.assign(paths_.begin(), paths_.end());
      options.use_environment = options.use_user_folder = options.use_system_folders = false;
      environment_ = std::make_unique<core::Environment>(std::move(options));
    }
    return *environment_;
  }
  std::string Compile(const std::string& provider, const std::string& file) {
    const std::string bytes = QuantisedModel(kRelu);
    core::SessionOptions options = OptionsFor({provider});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", "1");
    options.Set("ep.context_file_path", (temp_ / file).string());
    core::Session session(environment(), temp_.Write("model.onnx", bytes), options);
    return ReadFile(temp_ / file);
  }

  TempDir temp_;
  std::set<std::filesystem::path> paths_;
  std::unique_ptr<core::Environment> environment_;
};

TEST_F(TwoSdks, AreTwoProvidersWithDevicesOfTheirOwn) {
  const core::LoadedPlugin& acme = environment().catalog().Load("acme");
  const core::LoadedPlugin& bolt = environment().catalog().Load("bolt");
  EXPECT_EQ(acme.library, bolt.library);
  EXPECT_EQ(acme.name, "acme");
  EXPECT_THAT(acme.sources, ElementsAre("AcmeNPU"));
  EXPECT_EQ(bolt.name, "bolt");
  EXPECT_THAT(bolt.sources, ElementsAre("BoltNPU"));
  ASSERT_FALSE(acme.devices.empty());
  ASSERT_FALSE(bolt.devices.empty());
  EXPECT_THAT(acme.devices[0].architecture, HasSubstr("npusim-16x16"));
  EXPECT_EQ(bolt.devices[0].architecture, "minimal-64");
}

TEST_F(TwoSdks, CompileContextsThatEachLoadsByItsSource) {
  EXPECT_THAT(Compile("acme", "acme_ctx.onnx"), AllOf(HasSubstr("AcmeNPU"), Not(HasSubstr("EpiphyteNPU"))));
  EXPECT_THAT(Compile("bolt", "bolt_ctx.onnx"), AllOf(HasSubstr("BoltNPU"), Not(HasSubstr("EpiphyteNPU"))));
  const ValuePtr inputs[] = {Numbers().Bytes(DataType::kUint8, {1, 8})};
  std::vector<ValuePtr> outputs;
  for (const std::string name : {"acme", "bolt"}) {
    core::Session session(environment(), temp_ / (name + "_ctx.onnx"), OptionsFor({"acme", "bolt"}));
    for (const core::NodePlacement& node : session.placement().nodes) EXPECT_EQ(node.provider, name);
    outputs.push_back(session.Run(inputs)[0]);
  }
  EXPECT_EQ(Distance(*outputs[0], *outputs[1]), 0);
  const std::string refused =
      FailureOf([&] { core::Session(environment(), temp_ / "bolt_ctx.onnx", OptionsFor({"acme"})); });
  EXPECT_THAT(refused, AllOf(HasSubstr("BoltNPU"), HasSubstr("bolt")));
}

TEST_F(TwoSdks, StandBesideThePluginsOwnManifest) {
  Install("npu", NpuManifest(""));
  const core::LoadedPlugin& npu = environment().catalog().Load("npu");
  EXPECT_THAT(npu.sources, ElementsAre("EpiphyteNPU"));
  EXPECT_THAT(environment().catalog().Load("acme").sources, ElementsAre("AcmeNPU"));
}

TEST_F(TwoSdks, ASourceThatTheParametersDoNotNameIsAMismatchThatSaysSo) {
  Install("cord", ManifestOf("cord", "CordNPU", "sdk: \"" + MinimalLibrary().string() + "\""));
  EXPECT_THAT(FailureOf([&] { environment().catalog().Load("cord"); }),
              AllOf(HasSubstr("the library says its sources are 'EpiphyteNPU', the manifest says 'CordNPU'"),
                    HasSubstr("`sources`"), HasSubstr("`parameters`")));
}

TEST_F(TwoSdks, ASourceThatIsNoneIsRefused) {
  Install("long", ManifestOf("long", "LongNPU", "source: " + std::string(300, 'a')));
  EXPECT_THAT(FailureOf([&] { environment().catalog().Load("long"); }), HasSubstr("InitFailed"));
}

}  // namespace
}  // namespace epiphyte::test
