// Plugins that break the rules, each in its own way. Each gets its own state or status, with a message that says what
// was wrong. The host goes on, and a good plugin beside it works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/abi/host_tables.h"
#include "core/base/error.h"
#include "core/registry/catalog.h"
#include "core/runtime/session.h"
#include "tests/abi/installed_plugin.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Environment;
using core::Error;
using core::PluginEntry;
using core::PluginState;
using core::Session;
using core::SessionOptions;
using core::StatusCode;
using core::Value;
using core::ValuePtr;
using testing::HasSubstr;

// A model with two partitions for the plugin, so that counts of kernels can be wrong. All shapes are known.
std::string TwoRelus() {
  return OnnxFromText(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) "
      "{ a = Relu(x) b = Sigmoid(a) y = Relu(b) }");
}

// --- plugins that can't be loaded

struct LoadCase {
  const char* file;
  PluginState state;
  const char* message;
};

class RefusedPlugin : public testing::TestWithParam<LoadCase> {};

TEST_P(RefusedPlugin, HasAStateOfItsOwnAndAMessage) {
  Installed installed(PluginFile(GetParam().file));
  Environment environment(installed.Options());
  EXPECT_EQ(environment.catalog().TryLoad("misbehaving"), nullptr);
  PluginEntry entry = EntryOf(environment.catalog());
  EXPECT_EQ(core::PluginStateName(entry.state), core::PluginStateName(GetParam().state)) << entry.message;
  EXPECT_THAT(entry.message, HasSubstr(GetParam().message));
  EXPECT_THAT(entry.message, Not(HasSubstr("\n")));
  // The good plugin and the host still work.
  EXPECT_THAT(RunModel(environment, ChainModel({"Relu"}), {"cpu"}, {-1, 2}), testing::ElementsAre(0, 2));
}

INSTANTIATE_TEST_SUITE_P(
    Abi, RefusedPlugin,
    testing::Values(
        LoadCase{"no_symbol", PluginState::kSymbolMissing, "EpPluginQuery"},
        LoadCase{"kNullDescriptor", PluginState::kInitFailed, ""},
        LoadCase{"kThrowsInQuery", PluginState::kInitFailed, "thrown in EpPluginQuery"},
        LoadCase{"kDescriptorTooSmall", PluginState::kInitFailed, "struct_size"},
        LoadCase{"kProviderTableTooSmall", PluginState::kInitFailed, "struct_size"},
        LoadCase{"kAbiTooNew", PluginState::kAbiTooNew, "99"}, LoadCase{"kAbiTooOld", PluginState::kAbiTooOld, "0.0"},
        LoadCase{"kNullName", PluginState::kInitFailed, "name"},
        LoadCase{"kNullSources", PluginState::kInitFailed, "sources"},
        LoadCase{"kTooManySources", PluginState::kInitFailed, "source"},
        LoadCase{"kGarbageStrings", PluginState::kInitFailed, ""},
        LoadCase{"kLiesAboutName", PluginState::kManifestMismatch, "cpu"},
        LoadCase{"kLiesAboutSources", PluginState::kManifestMismatch, "EpiphyteCPU"},
        LoadCase{"kLiesAboutVersion", PluginState::kManifestMismatch,
                 "its version is '1.0.1', the manifest says '1.0.0'"},
        LoadCase{"kNullInitialize", PluginState::kInitFailed, "Initialize"},
        LoadCase{"kNullProviderTable", PluginState::kInitFailed, "provider"},
        LoadCase{"kNullCompile", PluginState::kInitFailed, "Compile"},
        LoadCase{"kNullExecute", PluginState::kInitFailed, "Execute"},
        LoadCase{"kHalfOfContextPair", PluginState::kInitFailed, "LoadContext"},
        LoadCase{"kThrowsInInitialize", PluginState::kInitFailed, "thrown in Initialize"},
        LoadCase{"kFailsInInitialize", PluginState::kInitFailed, "install driver 4.2"},
        LoadCase{"kThrowsInGetDevices", PluginState::kInitFailed, "GetDevices"},
        LoadCase{"kNoDevices", PluginState::kNoDevice, ""}, LoadCase{"kNullDevice", PluginState::kInitFailed, "device"},
        LoadCase{"kTooManyDevices", PluginState::kInitFailed, "device"},
        LoadCase{"kReservedInDescriptor", PluginState::kInitFailed, "EpPluginDescriptor::reserved is 7, 0 expected"},
        LoadCase{"kReservedInProviderTable", PluginState::kInitFailed, "EpProviderApi::reserved is 1, 0 expected"},
        LoadCase{"kReservedInDevice", PluginState::kInitFailed, "EpDeviceInfo::reserved is 1, 0 expected"},
        LoadCase{"old_plugin", PluginState::kAbiTooOld, "built for ABI 0.1; 0.2 is spoken here"},
        LoadCase{"careless_old_plugin", PluginState::kAbiTooOld, "built for ABI 0.1; 0.2 is spoken here"}),
    [](const auto& info) { return std::string(info.param.file); });

TEST(OldPlugin, IsRefusedWithTheAdviceToRebuild) {
  for (const char* file : {"old_plugin", "careless_old_plugin"}) {
    const Installed installed(PluginFile(file));
    Environment environment(installed.Options());
    EXPECT_EQ(environment.catalog().TryLoad("misbehaving"), nullptr);
    EXPECT_EQ(EntryOf(environment.catalog()).hint,
              "rebuild the plugin with the headers of ABI 0.2, or install a newer one");
  }
}

TEST(UnloadableFile, ALibraryThatIsTextIsNamedAsSuch) {
  TempDir dir;
  Installed installed(dir.Write("text.so", "this is no library"));
  Environment environment(installed.Options());
  EXPECT_EQ(environment.catalog().TryLoad("misbehaving"), nullptr);
  PluginEntry entry = EntryOf(environment.catalog());
  EXPECT_EQ(entry.state, PluginState::kInitFailed) << entry.message;
  EXPECT_THAT(entry.message, HasSubstr("not a shared library"));
}

TEST(UnloadableFile, AnEmptyFileIsNamedAsSuch) {
  TempDir dir;
  Installed installed(dir.Write("empty.so", ""));
  Environment environment(installed.Options());
  EXPECT_EQ(environment.catalog().TryLoad("misbehaving"), nullptr);
  EXPECT_EQ(EntryOf(environment.catalog()).state, PluginState::kInitFailed);
}

TEST(UnloadableFile, ALibraryForAnotherArchitectureIsAnotherPlatforms) {
  TempDir dir;
  std::string bytes = ReadFile(PluginFile("kWellBehaved"));
  bytes[18] = static_cast<char>(bytes[18] == 0x3E ? 0xB7 : 0x3E);  // e_machine: AArch64 instead of x86-64
  bytes[19] = 0;
  Installed installed(dir.Write("foreign.so", bytes));
  Environment environment(installed.Options());
  EXPECT_EQ(environment.catalog().TryLoad("misbehaving"), nullptr);
  PluginEntry entry = EntryOf(environment.catalog());
  EXPECT_EQ(core::PluginStateName(entry.state), core::PluginStateName(PluginState::kWrongPlatform)) << entry.message;
}

TEST(UnloadableFile, AMissingDependencyIsNamed) {
  Installed installed(PluginFile("missing_dependency"), "depends: [libepiphyte_vanishing.so]\n");
  Environment environment(installed.Options());
  EXPECT_EQ(environment.catalog().TryLoad("misbehaving"), nullptr);
  PluginEntry entry = EntryOf(environment.catalog());
  EXPECT_EQ(core::PluginStateName(entry.state), core::PluginStateName(PluginState::kMissingDependency))
      << entry.message;
  EXPECT_THAT(entry.message, HasSubstr("libepiphyte_vanishing.so"));
}

TEST(UnloadableFile, AMissingLibraryIsNamedWithoutOpeningAnything) {
  Installed installed("/nowhere/libnone.so");
  Environment environment(installed.Options());
  PluginEntry entry = EntryOf(environment.catalog());
  EXPECT_EQ(entry.state, PluginState::kLibraryMissing);
  EXPECT_THAT(entry.message, HasSubstr("/nowhere/libnone.so"));
}

// --- plugins that load and then break a rule in a session

struct SessionCase {
  const char* file;
  StatusCode code;
  const char* message;
};

class FailingPlugin : public testing::TestWithParam<SessionCase> {};

TEST_P(FailingPlugin, FailsTheSessionThatUsesItWithAStatusAndNoOther) {
  Installed installed(PluginFile(GetParam().file));
  Environment environment(installed.Options());
  std::string model = TwoRelus();
  const size_t statuses = core::LiveStatusCount();
  try {
    RunModel(environment, model, {"misbehaving"}, {-1, 2});
    ADD_FAILURE() << "the session worked";
  } catch (const Error& error) {
    EXPECT_EQ(core::StatusCodeName(error.code()), core::StatusCodeName(GetParam().code)) << error.message();
    EXPECT_THAT(error.message(), HasSubstr(GetParam().message));
    EXPECT_THAT(error.message(), HasSubstr("misbehaving"));
    EXPECT_THAT(error.message(), Not(HasSubstr("\n")));
  }
  EXPECT_EQ(core::LiveStatusCount(), statuses) << "a status was not released";
  EXPECT_THAT(RunModel(environment, ChainModel({"Relu"}), {"cpu"}, {-1, 2}), testing::ElementsAre(0, 2));
}

INSTANTIATE_TEST_SUITE_P(
    Abi, FailingPlugin,
    testing::Values(SessionCase{"kThrowsInCreateProvider", StatusCode::kEpFail, "CreateProvider"},
                    SessionCase{"kFailsInCreateProvider", StatusCode::kEpFail, "option x is wrong"},
                    SessionCase{"kNullProvider", StatusCode::kEpFail, "no provider"},
                    SessionCase{"kThrowsInGetCapability", StatusCode::kEpFail, "thrown in GetCapability"},
                    SessionCase{"kFailsInGetCapability", StatusCode::kEpFail, "the compiler crashed"},
                    SessionCase{"kThrowsInCompile", StatusCode::kEpFail, "thrown in Compile"},
                    SessionCase{"kFailsInCompile", StatusCode::kEpFail, "out of tiles"},
                    SessionCase{"kTooFewKernels", StatusCode::kEpFail, "no kernel"},
                    SessionCase{"kSameKernelTwice", StatusCode::kEpFail, "same kernel twice"},
                    SessionCase{"kThrowsInExecute", StatusCode::kEpFail, "Execute"},
                    SessionCase{"kFailsInExecute", StatusCode::kEpFail, "the device"},
                    SessionCase{"kSetsNoOutput", StatusCode::kEpFail, "did not set output 0"},
                    SessionCase{"kSetsOutputTwice", StatusCode::kEpFail, "set twice"},
                    SessionCase{"kWrongOutputType", StatusCode::kEpFail, "int64"},
                    SessionCase{"kWrongOutputIndex", StatusCode::kEpFail, "output 77"},
                    SessionCase{"kHugeRank", StatusCode::kEpFail, "rank"},
                    SessionCase{"kNegativeDims", StatusCode::kInvalidArgument, "-5"},
                    SessionCase{"kWrongOutputKind", StatusCode::kEpFail,
                                "output 0 is a sequence of 1 values, but the model says tensor(float)[2]"},
                    SessionCase{"kWrongOutputDims", StatusCode::kEpFail,
                                "output 0 is tensor(float)[3], but the model says tensor(float)[2]"},
                    SessionCase{"kWrongOutputRank", StatusCode::kEpFail,
                                "output 0 is tensor(float)[2,1], but the model says tensor(float)[2]"},
                    SessionCase{"kForeignValue", StatusCode::kInvalidArgument, "no value that this Execute made"},
                    SessionCase{"kReleasedValue", StatusCode::kInvalidArgument, "was released before"},
                    SessionCase{"kForeignView", StatusCode::kInvalidArgument, "a view belongs to no input"},
                    SessionCase{"kValueOfAnotherRun", StatusCode::kInvalidArgument, "no value that this Execute made"},
                    SessionCase{"kValueOnAnotherThread", StatusCode::kInvalidArgument, "on another thread"},
                    SessionCase{"kNullState", StatusCode::kEpFail, "gave no state"},
                    SessionCase{"kSameStateTwice", StatusCode::kEpFail, "same state twice"},
                    SessionCase{"kThrowsInCreateState", StatusCode::kEpFail,
                                "CreateState let an exception escape (thrown in CreateState)"},
                    SessionCase{"kSmallClaim", StatusCode::kInvalidArgument,
                                "EpClaim::struct_size is 8, at least 40 expected; set it to sizeof(EpClaim)"},
                    SessionCase{"kInfoWithoutRoom", StatusCode::kInvalidArgument,
                                "EpGraphInfo::struct_size is 8, at least 104 expected"},
                    SessionCase{"kDeclinesTwice", StatusCode::kInvalidArgument, "partition 1 was declined twice"},
                    SessionCase{"kDeclinesAndCompiles", StatusCode::kEpFail,
                                "declined partition 'g_misbehaving_1' and gave a kernel for it"},
                    SessionCase{"kDeclinesUnknown", StatusCode::kInvalidArgument,
                                "partition 2 was declined, but this Compile has 2"},
                    SessionCase{"kForeignTask", StatusCode::kInvalidArgument,
                                "a task was used after its call had returned"},
                    SessionCase{"kThrowsInDescribeKernel", StatusCode::kEpFail, "thrown in DescribeKernel"},
                    SessionCase{"kForeignStatus", StatusCode::kEpFail, "not made by EpStatusApi::Create"},
                    SessionCase{"kReleasedStatus", StatusCode::kEpFail, "it was released before"}),
    [](const auto& info) { return std::string(info.param.file); });

// --- claims that are dropped: the model still runs, on another provider

struct ClaimCase {
  const char* file;
  std::vector<std::string> providers;  // expected providers of Relu, Sigmoid, Relu
  const char* warning;                 // expected warning; "": none
};

class DroppedClaim : public testing::TestWithParam<ClaimCase> {};

TEST_P(DroppedClaim, DoesNotStopTheModel) {
  Installed installed(PluginFile(GetParam().file));
  Environment environment(installed.Options());
  const std::string model = ChainModel({"Relu", "Sigmoid", "Relu"});
  std::vector<float> expected = RunModel(environment, model, {"cpu"}, {-1, 2});
  EXPECT_EQ(RunModel(environment, model, {"misbehaving"}, {-1, 2}), expected);

  SessionOptions options;
  options.providers = {{"misbehaving", {}}};
  const Session session(environment, model.data(), model.size(), options);
  std::vector<std::string> providers;
  for (const core::NodePlacement& node : session.placement().nodes) providers.push_back(node.provider);
  EXPECT_EQ(providers, GetParam().providers);
  const std::vector<std::string>& warnings = session.placement().warnings;
  if (*GetParam().warning == '\0')
    EXPECT_THAT(warnings, testing::IsEmpty());
  else
    EXPECT_THAT(warnings, testing::Contains(HasSubstr(GetParam().warning)));
  for (const std::string& warning : warnings) EXPECT_THAT(warning, Not(HasSubstr("\n")));
}

const std::vector<std::string> kBothRelus = {"misbehaving", "cpu", "misbehaving"};
const std::vector<std::string> kNothing = {"cpu", "cpu", "cpu"};

INSTANTIATE_TEST_SUITE_P(
    Abi, DroppedClaim,
    testing::Values(ClaimCase{"kWellBehaved", kBothRelus, ""}, ClaimCase{"kDescriptorFromTheFuture", kBothRelus, ""},
                    ClaimCase{"kClaimsForeignNode", kNothing, "not of this graph"},
                    ClaimCase{"kClaimsNullNode", kNothing, "not of this graph"},
                    ClaimCase{"kClaimsHugeCount", kNothing, "18446744073709551615 nodes"},
                    ClaimCase{"kClaimsTwice", kBothRelus, "claimed twice"},
                    ClaimCase{"kClaimsNonConvexGroup", kNothing, "not convex"},
                    ClaimCase{"kGarbageReason", kNothing, ""}, ClaimCase{"kThrowsInRelease", kBothRelus, ""},
                    ClaimCase{"kUnknownDeviceKind", kBothRelus, ""}, ClaimCase{"kManyDevices", kBothRelus, ""},
                    ClaimCase{"kDeclinesOthers", {"misbehaving", "cpu", "cpu"}, ""},
                    ClaimCase{"kDeclinesAll", kNothing, ""}, ClaimCase{"kThrowsInReleaseState", kBothRelus, ""}),
    [](const auto& info) { return std::string(info.param.file); });

// --- contexts

struct ContextCase {
  const char* file;
  const char* message;
};

class FailingContext : public testing::TestWithParam<ContextCase> {};

TEST_P(FailingContext, LeavesNoFileBehind) {
  Installed installed(PluginFile(GetParam().file));
  Environment environment(installed.Options());
  TempDir dir;
  std::filesystem::path model = dir.Write("m.onnx", ChainModel({"Relu", "Sigmoid", "Relu"}));
  SessionOptions options;
  options.providers = {{"misbehaving", {}}};
  options.Set("ep.context_enable", "1");
  try {
    Session session(environment, model, options);
    ADD_FAILURE() << "the session worked";
  } catch (const Error& error) {
    EXPECT_THAT(error.code(), testing::AnyOf(StatusCode::kEpFail, StatusCode::kInvalidArgument)) << error.message();
    EXPECT_THAT(error.message(), HasSubstr(GetParam().message));
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    ++files;
    EXPECT_EQ(entry.path().filename(), "m.onnx");
  }
  EXPECT_EQ(files, 1u);
}

INSTANTIATE_TEST_SUITE_P(Abi, FailingContext,
                         testing::Values(ContextCase{"kThrowsInGetEpContextNodes", "thrown in GetEpContextNodes"},
                                         ContextCase{"kNoContextNodes", "no node for partition"},
                                         ContextCase{"kUnfinishedPayload", "no finished payload"},
                                         ContextCase{"kContextForUnknownPartition", "partition 12345"},
                                         ContextCase{"kForeignContextSource", "SomebodyElse"},
                                         ContextCase{"kForeignWriter", "a payload writer was used"},
                                         ContextCase{"kReservedInContextNode", "EpContextNodeDesc::reserved is 1"}),
                         [](const auto& info) { return std::string(info.param.file); });

// The host refuses a handle of an earlier call, even if a new object has the same address by then.
class StaleHandle : public testing::TestWithParam<const char*> {};

TEST_P(StaleHandle, OfAnEarlierSessionIsRefused) {
  Installed installed(PluginFile(GetParam()));
  Environment environment(installed.Options());
  TempDir dir;
  std::filesystem::path model = dir.Write("m.onnx", ChainModel({"Relu"}));
  SessionOptions options;
  options.providers = {{"misbehaving", {}}};
  options.Set("ep.context_enable", "1");
  options.Set("epiphyte.context_overwrite", "1");
  { Session first(environment, model, options); }
  const std::string written = ReadFile(dir / "m_ctx.onnx");
  try {
    Session second(environment, model, options);
    ADD_FAILURE() << "the stale handle was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument) << error.message();
    EXPECT_THAT(error.message(), HasSubstr("GetEpContextNodes call"));
  }
  EXPECT_EQ(ReadFile(dir / "m_ctx.onnx"), written);
}

INSTANTIATE_TEST_SUITE_P(Abi, StaleHandle, testing::Values("kStaleWriter", "kStaleContextSink"),
                         [](const auto& info) { return std::string(info.param); });

TEST(StaleCapabilitySink, IsRefused) {
  Installed installed(PluginFile("kStaleCapabilitySink"));
  Environment environment(installed.Options());
  EXPECT_THAT(RunModel(environment, ChainModel({"Relu"}), {"misbehaving"}, {-1, 2}), testing::ElementsAre(0, 2));
  EXPECT_THAT(FailureOf([&] {
                RunModel(environment, ChainModel({"Relu"}), {"misbehaving"}, {-1, 2});
              }),
              HasSubstr("a capability sink was used outside of the GetCapability call"));
}

TEST(StaleTask, IsRefused) {
  const Installed installed(PluginFile("kStaleTask"));
  Environment environment(installed.Options());
  EXPECT_THAT(RunModel(environment, ChainModel({"Relu"}), {"misbehaving"}, {-1, 2}), testing::ElementsAre(0, 2));
  EXPECT_THAT(FailureOf([&] {
                RunModel(environment, ChainModel({"Relu"}), {"misbehaving"}, {-1, 2});
              }),
              HasSubstr("a task was used after its call had returned"));
}

TEST(KernelOfTwoSessions, IsRefusedAsLongAsTheFirstHasIt) {
  Installed installed(PluginFile("kSameKernelInEverySession"));
  Environment environment(installed.Options());
  const std::string model = ChainModel({"Relu"});
  SessionOptions options;
  options.providers = {{"misbehaving", {}}};
  auto first = std::make_unique<Session>(environment, model.data(), model.size(), options);
  EXPECT_THAT(FailureOf([&] { Session second(environment, model.data(), model.size(), options); }),
              testing::AllOf(HasSubstr("EP_FAIL"), HasSubstr("same kernel twice")));
  first.reset();
  Session third(environment, model.data(), model.size(), options);
}

TEST(ReleasedValue, ASecondReleaseIsIgnored) {
  Installed installed(PluginFile("kReleasesValueTwice"));
  Environment environment(installed.Options());
  EXPECT_THAT(RunModel(environment, TwoRelus(), {"misbehaving"}, {0, 2}).size(), 2u);
}

TEST(ReleasedValue, OneThatTheKernelNeverReleasedGoesWithItsRun) {
  Installed installed(PluginFile("kNeverReleasesValue"));
  Environment environment(installed.Options());
  const std::string model = ChainModel({"Relu"});
  SessionOptions options;
  options.providers = {{"misbehaving", {}}};
  Session session(environment, model.data(), model.size(), options);
  std::vector<float> memory = {1, 2};
  bool released = false;
  {
    ValuePtr input = Value::Wrap(core::DataType::kFloat, std::vector<int64_t>{2}, memory.data(), 2 * sizeof(float),
                                 [&] { released = true; });
    session.Run(std::vector<ValuePtr>{input});
  }
  EXPECT_TRUE(released);
}

TEST(ThrowingReleaseState, DoesNotKeepTheKernelFromBeingReleased) {
  Installed installed(PluginFile("kThrowsInReleaseState"));
  Environment environment(installed.Options());
  testing::internal::CaptureStderr();
  RunModel(environment, ChainModel({"Relu"}), {"misbehaving"}, {-1, 2});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("ReleaseState let an exception escape"), HasSubstr("the kernel was released")));
}

// --- devices

TEST(ManyDevices, AreAllKnown) {
  Installed installed(PluginFile("kManyDevices"));
  Environment environment(installed.Options());
  EXPECT_EQ(environment.catalog().Load("misbehaving").devices.size(), 100u);
  SessionOptions options;
  options.providers = {{"misbehaving", {{"device", "99"}}}};
  const std::string model = ChainModel({"Relu"});
  Session session(environment, model.data(), model.size(), options);
}

TEST(UnknownDeviceKind, IsAnOther) {
  Installed installed(PluginFile("kUnknownDeviceKind"));
  Environment environment(installed.Options());
  EXPECT_EQ(environment.catalog().Load("misbehaving").devices.at(0).kind, EP_DEVICE_OTHER);
}

TEST(MisbehavingContext, ALoadThatFailsIsAnInvalidGraph) {
  TempDir dir;
  std::filesystem::path model = dir.Write("m.onnx", ChainModel({"Relu", "Sigmoid", "Relu"}));
  SessionOptions options;
  options.providers = {{"misbehaving", {}}};
  {
    Installed installed(PluginFile("kWellBehaved"));
    Environment environment(installed.Options());
    SessionOptions compile = options;
    compile.Set("ep.context_enable", "1");
    Session session(environment, model, compile);
    ASSERT_NE(session.context_output(), nullptr);
    EXPECT_EQ(session.context_output()->context_nodes, 2u);
    EXPECT_EQ(session.context_output()->plain_nodes, 1u);
    // The written context model runs.
    Session reloaded(environment, dir / "m_ctx.onnx", options);
    EXPECT_TRUE(reloaded.has_context());
  }
  for (const char* file : {"kThrowsInLoadContext", "kTooFewKernels"}) {
    Installed installed(PluginFile(file));
    Environment environment(installed.Options());
    try {
      Session session(environment, dir / "m_ctx.onnx", options);
      ADD_FAILURE() << file << " worked";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidGraph) << file << ": " << error.message();
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
