// The context cache compiles on first use and loads ever after. The tests also check what makes two uses the same.
#include <algorithm>

#include "tests/cache/cache_fixture.h"

namespace epiphyte::test {
namespace {

using core::CacheFolder;
using core::OpenSession;
using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

core::ModelSource InMemory(const std::string& bytes) { return {{}, /*in_memory=*/true, bytes.data(), bytes.size()}; }

TEST_F(ContextCacheTest, TheFirstUseCompilesTheSecondLoads) {
  const std::vector<float> expected = Uncached();
  const Use first = UseModel();
  EXPECT_FALSE(first.cached);
  EXPECT_EQ(first.numbers, expected);
  const Use second = UseModel();
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.numbers, expected);

  const CacheFolder::Entry entry = OnlyEntry();
  EXPECT_EQ(entry.record.model, "model.onnx");
  EXPECT_THAT(entry.record.providers, ElementsAre(testing::StartsWith("cpu ")));
  EXPECT_GT(entry.size, 0u);
  EXPECT_THAT(FilesIn(entry.path), testing::IsSupersetOf({"entry.json", "model_ctx.onnx", "model_cpu.bin", "used"}));
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(ContextCacheTest, WithoutTheOptionNothingIsWritten) {
  Uncached();
  EXPECT_FALSE(fs::exists(cache_));
}

TEST_F(ContextCacheTest, AMovedAndRenamedModelIsFound) {
  UseModel();
  fs::create_directory(dir_ / "elsewhere");
  fs::rename(model_, dir_ / "elsewhere/other.onnx");
  model_ = dir_ / "elsewhere/other.onnx";
  EXPECT_TRUE(UseModel().cached);
}

TEST_F(ContextCacheTest, AModelFromMemoryIsFoundLikeTheFile) {
  const std::string bytes = ReadFile(model_);
  auto use = [&] {
    Session session = OpenSession(*environment_, InMemory(bytes), Options());
    return Run(session);
  };
  EXPECT_FALSE(use().cached);
  EXPECT_TRUE(use().cached);
  EXPECT_EQ(use().numbers, Uncached());
  EXPECT_TRUE(UseModel().cached) << "the same bytes are the same model";
  EXPECT_EQ(OnlyEntry().record.model, "");
}

TEST_F(ContextCacheTest, AChangedByteOfTheModelIsAnotherModel) {
  UseModel();
  std::string bytes = ReadFile(model_);
  const float old = 6, changed = 7;
  const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&old), sizeof old));
  ASSERT_NE(at, std::string::npos);
  const auto time = fs::last_write_time(model_);
  std::copy_n(reinterpret_cast<const char*>(&changed), sizeof changed, bytes.begin() + static_cast<ptrdiff_t>(at));
  dir_.Write("model.onnx", bytes);
  fs::last_write_time(model_, time);
  const Use use = UseModel();
  EXPECT_FALSE(use.cached);
  EXPECT_EQ(use.numbers, Uncached());
  EXPECT_EQ(Entries().size(), 2u);
}

TEST_F(ContextCacheTest, AChangedByteOfExternalDataIsSeenWithTheSameSizeAndTime) {
  MakeExternal();
  const std::vector<float> before = UseModel().numbers;
  EXPECT_TRUE(UseModel().cached);
  const auto time = fs::last_write_time(dir_ / "weights.bin");
  std::string weights = ReadFile(dir_ / "weights.bin");
  weights[3] = static_cast<char>(weights[3] ^ 0x40);
  dir_.Write("weights.bin", weights);
  fs::last_write_time(dir_ / "weights.bin", time);
  const Use use = UseModel();
  EXPECT_FALSE(use.cached);
  EXPECT_EQ(use.numbers, Uncached());
  EXPECT_NE(use.numbers, before);
}

TEST_F(ContextCacheTest, ExternalDataInAnotherFolderAndAModelFromMemory) {
  MakeExternal();
  const std::vector<float> expected = Uncached();
  fs::create_directory(dir_ / "weights");
  fs::rename(dir_ / "weights.bin", dir_ / "weights/weights.bin");
  const std::string bytes = ReadFile(model_);
  SessionOptions options = Options();
  options.Set("session.model_external_initializers_file_folder_path", (dir_ / "weights").string());
  for (bool cached : {false, true}) {
    Session session = OpenSession(*environment_, InMemory(bytes), options);
    const Use use = Run(session);
    EXPECT_EQ(use.cached, cached);
    EXPECT_EQ(use.numbers, expected);
  }
}

TEST_F(ContextCacheTest, WhatInfluencesCompilingMakesAnotherEntry) {
  const std::vector<float> expected = Uncached();
  std::vector<SessionOptions> variants(4, Options());
  variants[1].Set("epiphyte.graph_optimization_level", "0");
  variants[2].providers = {{"cpu", {}}};
  variants[3].thread_count = 2;
  for (size_t i = 0; i < variants.size(); ++i) {
    EXPECT_FALSE(UseModel(variants[i]).cached) << i;
    EXPECT_EQ(Entries().size(), i + 1);
  }
  for (size_t i = 0; i < variants.size(); ++i) {
    const Use use = UseModel(variants[i]);
    EXPECT_TRUE(use.cached) << i;
    EXPECT_EQ(use.numbers, expected) << i;
  }
}

TEST_F(ContextCacheTest, WhatDoesNotInfluenceCompilingDoesNot) {
  UseModel();
  SessionOptions options = Options();
  options.Set("session.disable_model_compile", "1");
  options.Set("ep.context_verify", "header");
  options.Set("session.context_cache_max_mb", "100");
  EXPECT_TRUE(UseModel(options).cached);
  EXPECT_EQ(Entries().size(), 1u);
}

TEST_F(ContextCacheTest, TheOptionsOfAProviderMakeAnotherEntry) {
  environment_ = RecordingEnvironment();
  SessionOptions options = Options();
  options.providers = {{"recorder_a", {{"claim", "Add"}}}};
  EXPECT_FALSE(UseModel(options).cached);
  options.providers = {{"recorder_a", {{"claim", "Add,Relu"}}}};
  EXPECT_FALSE(UseModel(options).cached);
  options.providers = {{"recorder_a", {}}};
  options.provider_options["recorder_a"] = {{"claim", "Add"}};
  EXPECT_TRUE(UseModel(options).cached) << "the same options, given in another way";
  EXPECT_EQ(Entries().size(), 2u);
}

TEST_F(ContextCacheTest, TheOrderOfProvidersMakesAnotherEntry) {
  environment_ = RecordingEnvironment();
  model_ = dir_.Write("chain.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y) { a = Neg(x) y = Abs(a) })"));
  SessionOptions one = Options(), other = Options();
  one.providers = {{"recorder_a", {}}, {"recorder_b", {}}};
  other.providers = {{"recorder_b", {}}, {"recorder_a", {}}};
  EXPECT_FALSE(UseModel(one).cached);
  EXPECT_FALSE(UseModel(other).cached);
  EXPECT_EQ(Entries().size(), 2u);
  EXPECT_TRUE(UseModel(one).cached);
  EXPECT_TRUE(UseModel(other).cached);
  EXPECT_EQ(UseModel(one).numbers, UseModel(other).numbers);
}

TEST_F(ContextCacheTest, TheFallbackProvidersPartIsCachedToo) {
  environment_ = RecordingEnvironment();
  const std::vector<float> expected = Uncached();
  SessionOptions options = Options();
  options.providers = {{"recorder_a", {}}};  // the provider takes Add and Relu, not MatMul
  EXPECT_FALSE(UseModel(options).cached);
  const Use use = UseModel(options);
  EXPECT_TRUE(use.cached);
  EXPECT_EQ(use.numbers, expected);
  EXPECT_THAT(FilesIn(OnlyEntry().path), testing::IsSupersetOf({"model_cpu.bin", "model_recorder_a.bin"}));
}

TEST_F(ContextCacheTest, AContextModelGoesPastTheCache) {
  SessionOptions compile = OptionsFor({"cpu"});
  compile.Set("ep.context_enable", "1");
  { Session session(*environment_, model_, compile); }
  model_ = dir_ / "model_ctx.onnx";
  EXPECT_TRUE(UseModel().cached);
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(ContextCacheTest, WhatExcludesTheCacheIsSaid) {
  for (const char* key : {"ep.context_enable", "ep.share_ep_contexts"}) {
    SessionOptions options = Options();
    options.Set(key, "1");
    EXPECT_THAT(FailureOf([&] { OpenSession(*environment_, {model_}, options); }),
                AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("session.context_cache_dir"), HasSubstr(key)));
  }
}

TEST_F(ContextCacheTest, ModelsThatCanNotBeReadFailAsWithoutTheCache) {
  for (const std::string& bytes : {std::string(), std::string("no model"), ReadFile(model_).substr(0, 40)}) {
    dir_.Write("model.onnx", bytes);
    const std::string failure = FailureOf([&] { Uncached(); });
    EXPECT_NE(failure, "OK");
    EXPECT_EQ(FailureOf([&] { UseModel(); }), failure);
  }
  fs::remove(model_);
  EXPECT_THAT(FailureOf([&] { UseModel(); }), HasSubstr("NO_SUCHFILE"));
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(ContextCacheTest, AModelThatChangesWhileItIsCompiledIsNotKept) {
  dir_.Write("next.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) })"));
  SessionOptions options = Options();
  int calls = 0;
  options.progress = [&](const core::SessionProgress& at) {
    if (at.phase == core::SessionPhase::kCompile && calls++ == 0) fs::rename(dir_ / "next.onnx", model_);
    return false;
  };
  EXPECT_FALSE(UseModel(options).cached);
  ASSERT_GT(calls, 0);
  EXPECT_THAT(Entries(), IsEmpty());
}

// The key contains the library's digest. A key without the digest would be another key.
TEST_F(ContextCacheTest, ALibraryThatCanNotBeReadLeavesTheSessionUncachedAndSaysSo) {
  for (const char* name : {"recorder_a.so", "recorder_a.yaml"}) {
    fs::create_directories(dir_ / "plugins");
    fs::copy_file(RecordingPluginFolder() / name, dir_ / "plugins" / name);
  }
  core::CatalogOptions catalog;
  catalog.use_environment = catalog.use_user_folder = false;
  catalog.paths = {dir_ / "plugins"};
  environment_ = std::make_unique<core::Environment>(std::move(catalog));
  const std::vector<float> expected = Uncached();  // opens the library
  fs::remove(dir_ / "plugins/recorder_a.so");
  SessionOptions options = Options();
  options.providers = {{"recorder_a", {}}};
  for (int i = 0; i < 2; ++i) {
    testing::internal::CaptureStderr();
    const Use use = UseModel(options);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(use.cached);
    EXPECT_EQ(use.numbers, expected);
    EXPECT_THAT(log, AllOf(HasSubstr("works without the context cache"), HasSubstr("plugins/recorder_a.so'")));
  }
  EXPECT_THAT(Entries(), IsEmpty());
}

// One function decides which of two plugins with one name is used, and with which options.
TEST_F(ContextCacheTest, TheOptionsOfAShadowedPluginAreNotPartOfTheKey) {
  fs::create_directory(dir_ / "behind");
  const auto use = [&](std::string_view claim) {
    fs::copy_file(RecordingPluginFolder() / "recorder_a.so", dir_ / "behind/recorder_a.so",
                  fs::copy_options::skip_existing);
    dir_.Write("behind/recorder_a.yaml", ReadFile(RecordingPluginFolder() / "recorder_a.yaml") +
                                             "options: { claim: " + std::string(claim) + " }\n");
    core::CatalogOptions catalog;
    catalog.use_environment = catalog.use_user_folder = false;
    catalog.paths = {RecordingPluginFolder(), dir_ / "behind"};
    environment_ = std::make_unique<core::Environment>(std::move(catalog));
    SessionOptions options = Options();
    options.providers = {{"recorder_a", {}}};
    return UseModel(options).cached;
  };
  EXPECT_FALSE(use("Relu"));
  EXPECT_TRUE(use("Add"));
}

// Answers and actions of a plugin that concern its own contexts.
TEST_F(ContextCacheTest, AProviderThatCanNotSaveLeavesTheSessionUncached) {
  environment_ = RecordingEnvironment();
  SessionOptions options = Options();
  options.providers = {{"recorder_a", {{"fail", "save"}}}};
  const Use use = UseModel(options);
  EXPECT_FALSE(use.cached);
  EXPECT_EQ(use.numbers, Uncached());
  EXPECT_THAT(Entries(), IsEmpty());
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(ContextCacheTest, AContextThatItsProviderRefusesIsCompiledAgain) {
  environment_ = RecordingEnvironment();
  for (const auto& refusal : {std::pair("fail", "load"), {"pretend", "prefer"}, {"pretend", "unsupported"}}) {
    SessionOptions options = Options();
    options.providers = {{"recorder_a", {refusal}}};
    UseModel(options);
    EXPECT_EQ(Entries().size(), 1u);
    const Use use = UseModel(options);
    EXPECT_FALSE(use.cached) << refusal.second;
    EXPECT_EQ(use.numbers, Uncached()) << refusal.second;
    OnlyEntry();
    fs::remove_all(cache_);
  }
}

}  // namespace
}  // namespace epiphyte::test
