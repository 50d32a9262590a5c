// Context models from end to end: written, loaded again, and refused when one of their files was changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/context/context_model.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/write/model_writer.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using core::ValuePtr;
using testing::HasSubstr;

// Two matrix products, separated by nodes that keep the weights constant.
constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 2] y, float[2, 3] z) {
    w = Constant <value = float[3, 2] {1, 2, 3, 4, 5, 6}> ()
    b = Constant <value = float[2] {0.5, -0.5}> ()
    product = MatMul(x, w)
    biased = Add(product, b)
    y = Relu(biased)
    z = Tanh(x)
  })";

class ContextTest : public testing::TestWithParam<bool> {
 protected:
  ContextTest() : model_(dir_.Write("model.onnx", OnnxFromText(kModel))) {}

  SessionOptions CompileOptions() const {
    SessionOptions options = OptionsFor({"cpu"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", GetParam() ? "1" : "0");
    return options;
  }
  void Compile() { Session session(*environment_, model_, CompileOptions()); }
  std::vector<std::vector<float>> RunFile(const std::filesystem::path& path) {
    Session session(*environment_, path, OptionsFor({"cpu"}));
    has_context_ = session.has_context();
    return RunSession(session);
  }
  static std::vector<std::vector<float>> RunSession(Session& session) {
    std::vector<std::vector<float>> results;
    for (const ValuePtr& output : session.Run(std::vector<ValuePtr>{Floats({2, 3}, {1, -2, 3, 0.25, 5, -6})})) {
      results.push_back(FloatsOf(*output));
    }
    return results;
  }
  std::vector<std::string> FileNames() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  TempDir dir_;
  std::filesystem::path model_;
  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
  bool has_context_ = false;
};

INSTANTIATE_TEST_SUITE_P(Embed, ContextTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Embedded" : "External"; });

TEST_P(ContextTest, GivesTheSameNumbersAsTheSourceModel) {
  auto expected = RunFile(model_);
  Compile();
  EXPECT_EQ(RunFile(dir_ / "model_ctx.onnx"), expected);
  EXPECT_TRUE(has_context_);
}

TEST_P(ContextTest, WritesExactlyTheFilesOfTheSpecification) {
  Compile();
  std::vector<std::string> expected = {"model.onnx", "model_ctx.onnx"};
  if (!GetParam()) expected.insert(expected.begin() + 1, "model_cpu.bin");
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(FileNames(), expected);
}

TEST_P(ContextTest, NodesCarryTheAttributesOfTheSpecification) {
  SessionOptions options = CompileOptions();
  options.Set("ep.context_node_name_prefix", "left_");
  Session session(*environment_, model_, options);
  core::Model context = core::ReadModelFile(dir_ / "model_ctx.onnx", {});
  auto nodes = core::FindContextNodes(*context.graph);
  ASSERT_EQ(nodes.size(), 1u);
  auto attributes = core::ReadContextAttributes(*nodes[0]);
  EXPECT_EQ(attributes.main_context, 1);
  EXPECT_EQ(attributes.embed_mode, GetParam() ? 1 : 0);
  EXPECT_EQ(attributes.source, "EpiphyteCPU");
  EXPECT_EQ(attributes.onnx_model_filename, "model.onnx");
  EXPECT_EQ(attributes.partition_name, nodes[0]->name());
  EXPECT_THAT(attributes.partition_name, testing::StartsWith("left_"));
  EXPECT_THAT(attributes.ep_sdk_version, HasSubstr("oneDNN"));
  EXPECT_FALSE(attributes.hardware_architecture.empty());
  if (!GetParam()) {
    EXPECT_EQ(attributes.ep_cache_context, "model_cpu.bin");
  }
  ASSERT_EQ(context.graph->inputs().size(), 1u);
  EXPECT_EQ(context.graph->inputs()[0]->name(), "x");
  ASSERT_EQ(context.graph->outputs().size(), 2u);
  EXPECT_EQ(context.graph->outputs()[0]->name(), "y");
  EXPECT_EQ(context.graph->outputs()[1]->name(), "z");
}

TEST_P(ContextTest, FromMemoryToAGivenPathAndBackFromMemory) {
  auto expected = RunFile(model_);
  std::string bytes = ReadFile(model_);
  {
    SessionOptions options = CompileOptions();
    EXPECT_THAT(FailureOf([&] { Session session(*environment_, bytes.data(), bytes.size(), options); }),
                HasSubstr("ep.context_file_path"));
    options.Set("ep.context_file_path", (dir_ / "out_ctx.onnx").string());
    Session session(*environment_, bytes.data(), bytes.size(), options);
  }
  std::string context = ReadFile(dir_ / "out_ctx.onnx");
  SessionOptions options = OptionsFor({"cpu"});
  if (!GetParam()) {
    EXPECT_TRUE(std::filesystem::exists(dir_ / "out_cpu.bin"));
    EXPECT_THAT(FailureOf([&] { Session session(*environment_, context.data(), context.size(), options); }),
                AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("ep.context_file_path")));
    options.Set("ep.context_file_path", (dir_ / "out_ctx.onnx").string());
  }
  Session session(*environment_, context.data(), context.size(), options);
  EXPECT_EQ(RunSession(session), expected);
}

TEST_P(ContextTest, ExistingOutputIsReplacedOnlyOnRequest) {
  Compile();
  auto before = std::filesystem::last_write_time(dir_ / "model_ctx.onnx");
  EXPECT_THAT(FailureOf([&] { Compile(); }), AllOf(HasSubstr("FAIL"), HasSubstr("exists already")));
  EXPECT_EQ(std::filesystem::last_write_time(dir_ / "model_ctx.onnx"), before);
  SessionOptions options = CompileOptions();
  options.Set("epiphyte.context_overwrite", "1");
  Session session(*environment_, model_, options);
  EXPECT_EQ(RunFile(dir_ / "model_ctx.onnx"), RunFile(model_));
}

TEST_P(ContextTest, TwoCompilesGiveTheSameBytes) {
  Compile();
  std::string model = ReadFile(dir_ / "model_ctx.onnx");
  std::string binary = GetParam() ? "" : ReadFile(dir_ / "model_cpu.bin");
  std::filesystem::remove(dir_ / "model_ctx.onnx");
  std::filesystem::remove(dir_ / "model_cpu.bin");
  Compile();
  EXPECT_EQ(ReadFile(dir_ / "model_ctx.onnx"), model);
  if (!GetParam()) {
    EXPECT_EQ(ReadFile(dir_ / "model_cpu.bin"), binary);
  }
}

TEST_P(ContextTest, AContextModelIsNotCompiledAgain) {
  Compile();
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, dir_ / "model_ctx.onnx", CompileOptions()); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("already")));
}

TEST_P(ContextTest, EveryTruncationIsRefused) {
  Compile();
  std::filesystem::path target = dir_ / (GetParam() ? "model_ctx.onnx" : "model_cpu.bin");
  std::string whole = ReadFile(target);
  size_t step = std::max<size_t>(1, whole.size() / 97);
  for (size_t size = 0; size < whole.size(); size += step) {
    std::ofstream(target, std::ios::binary | std::ios::trunc).write(whole.data(), static_cast<std::streamsize>(size));
    std::string failure = FailureOf([&] { RunFile(dir_ / "model_ctx.onnx"); });
    EXPECT_THAT(failure, testing::AnyOf(HasSubstr("INVALID_GRAPH"), HasSubstr("INVALID_PROTOBUF")))
        << size << " of " << whole.size();
  }
}

TEST_P(ContextTest, EveryFlippedByteOfThePayloadIsRefused) {
  Compile();
  std::filesystem::path target = dir_ / (GetParam() ? "model_ctx.onnx" : "model_cpu.bin");
  std::string whole = ReadFile(target);
  size_t first = GetParam() ? whole.size() / 4 : 0;  // only the middle of an embedded model is certain to be payload
  size_t last = GetParam() ? whole.size() / 2 : whole.size();
  for (size_t at = first; at < last; at += std::max<size_t>(1, (last - first) / 61)) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::ofstream(target, std::ios::binary | std::ios::trunc)
        .write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
    EXPECT_THAT(FailureOf([&] { RunFile(dir_ / "model_ctx.onnx"); }),
                AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr(GetParam() ? "seal" : "digest")))
        << at;
  }
}

TEST(ExternalContext, ABinaryOfAnotherModelIsRefused) {
  TempDir dir;
  auto environment = BuildTreeEnvironment();
  SessionOptions options = OptionsFor({"cpu"});
  options.Set("ep.context_enable", "1");
  Session first(*environment, dir.Write("a.onnx", OnnxFromText(kModel)), options);
  Session second(*environment, dir.Write("b.onnx", ChainModel({"Relu", "Neg"})), options);
  std::filesystem::copy_file(dir / "b_cpu.bin", dir / "a_cpu.bin", std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(FailureOf([&] { Session session(*environment, dir / "a_ctx.onnx", OptionsFor({"cpu"})); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("a_cpu.bin"), HasSubstr("compile the model again")));
  std::filesystem::remove(dir / "a_cpu.bin");
  EXPECT_THAT(FailureOf([&] { Session session(*environment, dir / "a_ctx.onnx", OptionsFor({"cpu"})); }),
              HasSubstr("INVALID_GRAPH"));
}

// Behind each path is a complete context of the model, so only the rules for paths can refuse it.
TEST(ExternalContext, PathsThatLeaveTheFolderAreRefused) {
  TempDir dir;
  auto environment = BuildTreeEnvironment();
  SessionOptions options = OptionsFor({"cpu"});
  options.Set("ep.context_enable", "1");
  std::filesystem::create_directories(dir / "models/sub");
  { Session session(*environment, dir.Write("models/model.onnx", OnnxFromText(kModel)), options); }
  const std::string payload = ReadFile(dir / "models/model_cpu.bin");
  dir.Write("secret.bin", payload);
  dir.Write("models/sub/inside.bin", payload);
  std::filesystem::create_symlink(dir / "secret.bin", dir / "models/link.bin");
  std::filesystem::create_directory_symlink(dir.path(), dir / "models/out");
  std::filesystem::create_symlink("sub/inside.bin", dir / "models/link_inside.bin");
  core::Model context = core::ReadModelFile(dir / "models/model_ctx.onnx", {});
  const auto run = [&](const std::string& path) {
    // The metadata is as another tool writes it: without the records that name the payload.
    std::erase_if(context.metadata, [](const auto& entry) { return entry.first.starts_with("epiphyte."); });
    core::FindContextNodes(*context.graph)[0]->SetAttribute(core::Attribute::String("ep_cache_context", path));
    std::string bytes;
    core::WriteModel(context, {},
                     [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
    return FailureOf([&] {
      Session session(*environment, dir.Write("models/changed.onnx", bytes), OptionsFor({"cpu"}));
      session.Run(std::vector<ValuePtr>{Floats({2, 3}, {1, -2, 3, 0.25, 5, -6})});
    });
  };
  for (const char* path : {"model_cpu.bin", "sub/inside.bin", "./model_cpu.bin", "link_inside.bin"}) {
    EXPECT_EQ(run(path), "OK") << path;
  }
  for (auto [path, says] :
       std::vector<std::pair<std::string, const char*>>{{"../secret.bin", "'..'"},
                                                        {"sub/../../secret.bin", "'..'"},
                                                        {"sub/../model_cpu.bin", "'..'"},
                                                        {(dir / "secret.bin").string(), "absolute"},
                                                        {(dir / "models/model_cpu.bin").string(), "absolute"},
                                                        {"link.bin", "symbolic link"},
                                                        {"out/secret.bin", "symbolic link"},
                                                        {"sub\\inside.bin", "backslash"},
                                                        {".", "regular file"},
                                                        {"sub", "regular file"},
                                                        {"", "is empty"},
                                                        {"missing.bin", "does not exist"}}) {
    EXPECT_THAT(run(path), AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr(says))) << path;
  }
}

TEST(ForeignContext, NamesItsSourceAndTheInstalledOnes) {
  auto environment = BuildTreeEnvironment();
  std::string bytes = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[1] x) => (float[1] y) { y = com.microsoft.EPContext <source = "QNN", ep_cache_context = "payload"> (x) })");
  std::string failure =
      FailureOf([&] { Session session(*environment, bytes.data(), bytes.size(), OptionsFor({"cpu"})); });
  EXPECT_THAT(failure, AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("'QNN'"), HasSubstr("EpiphyteCPU")));
}

TEST(ForeignContext, ASecondaryWithoutPrimaryIsRefused) {
  auto environment = BuildTreeEnvironment();
  std::string bytes = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[1] x) => (float[1] y) { y = com.microsoft.EPContext <source = "EpiphyteCPU", main_context = 0> (x) })");
  EXPECT_THAT(FailureOf([&] { Session session(*environment, bytes.data(), bytes.size(), OptionsFor({"cpu"})); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("main_context 1")));
}

TEST(ContextTarget, AFolderOrAMissingFolderIsRefusedBeforeCompiling) {
  TempDir dir;
  auto environment = BuildTreeEnvironment();
  auto model = dir.Write("m.onnx", OnnxFromText(kModel));
  for (std::string path : {dir.path().string(), dir.path().string() + "/", dir.path().string() + "/no/such/m.onnx"}) {
    SessionOptions options = OptionsFor({"cpu"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_file_path", path);
    EXPECT_THAT(FailureOf([&] { Session session(*environment, model, options); }), HasSubstr("INVALID_ARGUMENT"))
        << path;
  }
}

}  // namespace
}  // namespace epiphyte::test
