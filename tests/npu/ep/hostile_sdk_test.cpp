// An SDK that is missing or of another version, or that fails any call or returns nonsense. The result is one clear
// error, or the model runs on the next provider; there is never a crash.
#include <cstdlib>
#include <map>

#include "tests/npu/ep/hostile_sdk/hostile_sdk.h"
#include "tests/npu/ep/npu_harness.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

const char* const kAdd =
    "g (uint8[1,8] x) => (uint8[1,8] y) <float s = {0.1}> { d = DequantizeLinear(x, s) e = DequantizeLinear(x, s) a = "
    "Add(d, e) y = QuantizeLinear(a, s) }";

class HostileSdk : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("EPIPHYTE_HOSTILE_SDK"); }

  using Options = std::map<std::string, std::string>;

  // Returns the error of creating and running a session, or "OK". `bound`: the output is bound to memory of the test,
  // which lets the plugin import it, and a profile is taken.
  static std::string Try(core::Environment& environment, const std::vector<std::string>& providers,
                         const Options& provider_options = {}, bool bound = false) {
    return FailureOf([&] {
      const std::string bytes = QuantisedModel(kAdd);
      core::SessionOptions options = OptionsFor(providers);
      if (providers.size() == 1) options.Set("session.disable_cpu_ep_fallback", "1");
      if (!providers.empty()) options.providers[0].options = provider_options;
      const TempDir temp;
      if (bound) options.profile_path = (temp / "profile.json").string();
      core::Session session(environment, bytes.data(), bytes.size(), options);
      const ValuePtr inputs[] = {Numbers().Bytes(DataType::kUint8, {1, 8})};
      core::BindingNumbers numbers;
      core::RunBindings bindings;
      bindings.outputs = {{Numbers().Bytes(DataType::kUint8, {1, 8}), nullptr}};
      bindings.numbers = &numbers;
      core::RunSettings settings;
      settings.bindings = bound ? &bindings : nullptr;
      session.Run(inputs, settings);
    });
  }
  static std::string TryWith(const std::string& fault, const std::vector<std::string>& providers = {"npu"},
                             const Options& provider_options = {}, bool bound = false) {
    setenv("EPIPHYTE_HOSTILE_SDK", fault.c_str(), 1);
    NpuEnvironment environment(EPIPHYTE_HOSTILE_SDK_LIBRARY);
    return Try(*environment, providers, provider_options, bound);
  }
  static uint64_t Calls(const char* function) {
    return HostileFunction<decltype(&hostile_sdk_calls)>("hostile_sdk_calls")(function);
  }
};

TEST_F(HostileSdk, WithoutFaultsItWorks) { EXPECT_EQ(TryWith("none"), "OK"); }

TEST_F(HostileSdk, WithoutAnSdkThereIsNoDevice) {
  NpuEnvironment environment("/nowhere/libacme_nsdk.so");
  EXPECT_THAT(Try(*environment, {"npu"}), AllOf(HasSubstr("'/nowhere/libacme_nsdk.so' isn't there"),
                                                HasSubstr("The manifest's parameter 'sdk' names the SDK")));
  EXPECT_EQ(Try(*environment, {}), "OK") << "others run the model";
}

TEST_F(HostileSdk, ATableThatIsNoneIsRefused) {
  for (const auto& [fault, message] : std::vector<std::pair<std::string, std::string>>{
           {"table.throws", "throws an exception in nsdk_get_api"},
           {"table.none", "gives no table"},
           {"table.version", "is for another version of nsdk.h than 1.0"},
           {"table.short", "filled 64 bytes of the table"},
           {"table.long", "filled 4096 bytes of the table"},
           {"table.null", "has no function compile"},
           {"table.hole", "has no function mem_create"},
           {"table.headless", "has no function get_version_info"},
           {"version.other", "says that it is for version 2.0"},
           {"version.nameless", "names neither its product nor its version"},
           {"version.blobs", "writes blobs of version"},
           {"get_version_info.fails", "get_version_info"},
           {"get_version_info.throws", "get_version_info threw an exception"},
           {"get_version_info.nonsense", "returned 77, which is no NsdkStatus"},
           {"list_devices.fails", "list_devices"},
           {"list_devices.throws", "list_devices threw an exception"},
           {"list_devices.nonsense", "returned 77, which is no NsdkStatus"},
           {"devices.many", "says that there are 4000000000 devices"}}) {
    SCOPED_TRACE(fault);
    EXPECT_THAT(TryWith(fault), HasSubstr(message));
    EXPECT_EQ(TryWith(fault, {}), "OK") << "others run the model";
  }
}

TEST_F(HostileSdk, AFunctionThatFailsIsNamed) {
  for (const std::string function : {"context_create", "get_target", "write_blob", "blob_info", "load", "exec_create",
                                     "exec_bind", "run", "compile"})
    for (const std::string how : {".fails", ".throws", ".nonsense", ".lost"}) {
      SCOPED_TRACE(function + how);
      EXPECT_THAT(TryWith(function + how), AllOf(HasSubstr("libhostile_sdk.so', " + function + ": "),
                                                 Not(HasSubstr("\n")), Not(HasSubstr("\x1b"))));
    }
  EXPECT_THAT(TryWith("run.lost"), HasSubstr("make a new session"));
  EXPECT_THAT(TryWith("run.fails"), HasSubstr("bad?news?[31m"));
  for (const std::string how : {".fails", ".throws", ".nonsense", ".lost"})
    EXPECT_THAT(TryWith("group_create" + how, {"npu"}, {{"share_scratch", "1"}}),
                HasSubstr("libhostile_sdk.so', group_create: "));
}

// As long as nothing has run, another provider can take the nodes.
TEST_F(HostileSdk, NodesThatFailToCompileOrLoadGoToAnotherProvider) {
  for (const std::string function : {"query_op", "compile", "write_blob", "blob_info", "load"})
    for (const std::string how : {".fails", ".throws", ".nonsense"})
      EXPECT_EQ(TryWith(function + how, {"npu", "cpu"}), "OK") << function << how;
  EXPECT_THAT(TryWith("load.lost", {"npu", "cpu"}), HasSubstr("make a new session"))
      << "a lost device is nothing to go on after";
}

// No result depends on these functions: their status doesn't matter or they return nothing, and some aren't needed.
TEST_F(HostileSdk, OptionalFunctionsMayFail) {
  for (const std::string function : {"check_blob", "mem_create", "get_counters", "run_async", "wait"})
    for (const std::string how : {".fails", ".throws", ".nonsense", ".null"})
      EXPECT_EQ(TryWith(function + how, {"npu"}, {}, true), "OK") << function << how;
  for (const std::string function : {"context_destroy", "compiled_destroy", "blob_info_release", "group_destroy",
                                     "unload", "mem_destroy", "exec_destroy"})
    EXPECT_EQ(TryWith(function + ".throws", {"npu"}, {{"share_scratch", "1"}}, true), "OK") << function;
  // All objects that were made are destroyed.
  for (const auto& [made, gone] :
       std::vector<std::pair<const char*, const char*>>{{"context_create", "context_destroy"},
                                                        {"compile", "compiled_destroy"},
                                                        {"blob_info", "blob_info_release"},
                                                        {"group_create", "group_destroy"},
                                                        {"load", "unload"},
                                                        {"mem_create", "mem_destroy"},
                                                        {"exec_create", "exec_destroy"}}) {
    SCOPED_TRACE(made);
    const uint64_t made_before = Calls(made), gone_before = Calls(gone);
    EXPECT_EQ(TryWith("none", {"npu"}, {{"share_scratch", "1"}}, true), "OK");
    EXPECT_GT(Calls(made), made_before);
    EXPECT_EQ(Calls(made) - made_before, Calls(gone) - gone_before);
  }
}

TEST_F(HostileSdk, MissingResultOfASuccessfulCallIsAnError) {
  for (const std::string function : {"context_create", "compile", "blob_info", "load", "exec_create"})
    EXPECT_THAT(TryWith(function + ".null"), HasSubstr("called that NSDK_OK")) << function;
}

TEST_F(HostileSdk, ImpossibleNumbersAreErrors) {
  for (const auto& [fault, message] :
       std::vector<std::pair<std::string, std::string>>{{"target.alignment", "aligned to 3, which is no power of two"},
                                                        {"target.dimension", "as the largest dimension"},
                                                        {"target.nameless", "names no architecture"},
                                                        {"sink.lies", "wrote 0 bytes of a blob of 2"},
                                                        {"sink.short", "wrote 3 bytes of a blob of 100"},
                                                        {"sink.nothing", "wrote 0 bytes of a blob of 3"},
                                                        {"info.graphs", "finds 4000000000 graphs in the blob"},
                                                        {"info.null", "graphs in the blob"},
                                                        {"info.rank", "finds 1000000 dimensions"},
                                                        {"info.dims", "which can't be"},
                                                        {"info.size", "which can't be"},
                                                        {"info.type", "which can't be"},
                                                        {"info.stride", "with structs of 3 bytes"}}) {
    SCOPED_TRACE(fault);
    EXPECT_THAT(TryWith(fault), HasSubstr(message));
  }
}

TEST_F(HostileSdk, HarmlessGarbageIsIgnored) {
  for (const char* fault : {"version.garbage", "devices.garbage", "devices.grow", "log.garbage", "progress.garbage"})
    EXPECT_EQ(TryWith(fault), "OK") << fault;
}

TEST_F(HostileSdk, RefusedNodesGoToAnotherProvider) {
  for (const char* fault : {"query_op.unsupported", "compile.unsupported"}) {
    EXPECT_EQ(TryWith(fault, {"npu", "cpu"}), "OK") << fault;
    EXPECT_THAT(TryWith(fault, {"npu"}), AnyOf(HasSubstr("npu"), HasSubstr("Add"))) << fault;
  }
}

// Compiling needs no device. Running does.
TEST_F(HostileSdk, WithoutADeviceItCompilesForOne) {
  const TempDir temp;
  setenv("EPIPHYTE_HOSTILE_SDK", "devices.none", 1);
  NpuEnvironment environment(EPIPHYTE_HOSTILE_SDK_LIBRARY);
  const std::filesystem::path model = temp.Write("add.onnx", QuantisedModel(kAdd));
  core::SessionOptions options = OptionsFor({"npu"});
  options.Set("ep.context_enable", "1");
  { core::Session session(*environment, model, options); }
  ASSERT_TRUE(std::filesystem::exists(temp / "add_ctx.onnx"));
  NpuEnvironment with_device(SimulatorLibrary());
  core::Session loaded(*with_device, temp / "add_ctx.onnx", OptionsFor({"npu"}));
  const ValuePtr inputs[] = {Numbers().Bytes(DataType::kUint8, {1, 8})};
  EXPECT_EQ(loaded.Run(inputs).size(), 1u);
}

TEST_F(HostileSdk, AVerdictDecidesWhetherAContextIsLoaded) {
  const TempDir temp;
  const std::filesystem::path model = temp.Write("add.onnx", QuantisedModel(kAdd));
  setenv("EPIPHYTE_HOSTILE_SDK", "none", 1);
  NpuEnvironment environment(EPIPHYTE_HOSTILE_SDK_LIBRARY);
  core::SessionOptions options = OptionsFor({"npu"});
  options.Set("ep.context_enable", "1");
  { core::Session session(*environment, model, options); }
  const auto load = [&](const char* fault, const char* strict = "0") {
    setenv("EPIPHYTE_HOSTILE_SDK", fault, 1);
    core::SessionOptions loading = OptionsFor({"npu"});
    loading.Set("session.fail_on_suboptimal_compiled_model", strict);
    return FailureOf([&] { core::Session session(*environment, temp / "add_ctx.onnx", loading); });
  };
  EXPECT_EQ(load("none"), "OK");
  EXPECT_EQ(load("verdict.prefer"), "OK");
  EXPECT_THAT(load("verdict.prefer", "1"), HasSubstr("compile the model again"));
  EXPECT_THAT(load("verdict.must"), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("compile the model again")));
  EXPECT_THAT(load("verdict.damaged"), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("restore the file")));
  EXPECT_THAT(load("load.corrupt"), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("load: NSDK_CORRUPT")));
  EXPECT_THAT(load("load.lost"), HasSubstr("make a new session"));
  EXPECT_THAT(load("check_blob.fails", "1"), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("can't judge the blob")));
  EXPECT_THAT(load("info.name"), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("has no graph")));
  EXPECT_THAT(load("verdict.garbage", "1"), HasSubstr("gave 99 as a verdict"));
}

// The context is checked once, when it is loaded. Only a session that requires the best match asks for a verdict.
TEST_F(HostileSdk, AContextIsLookedAtOnce) {
  const TempDir temp;
  const std::filesystem::path model = temp.Write("add.onnx", QuantisedModel(kAdd));
  setenv("EPIPHYTE_HOSTILE_SDK", "none", 1);
  NpuEnvironment environment(EPIPHYTE_HOSTILE_SDK_LIBRARY);
  core::SessionOptions options = OptionsFor({"npu"});
  options.Set("ep.context_enable", "1");
  { core::Session session(*environment, model, options); }
  const uint64_t loads = Calls("load"), checks = Calls("check_blob"), infos = Calls("blob_info");
  { core::Session session(*environment, temp / "add_ctx.onnx", OptionsFor({"npu"})); }
  EXPECT_EQ(Calls("load") - loads, 1u);
  EXPECT_EQ(Calls("blob_info") - infos, 1u);
  EXPECT_EQ(Calls("check_blob") - checks, 0u);
}

}  // namespace
}  // namespace epiphyte::test
