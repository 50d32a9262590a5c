// Context stores of an application: in memory through the API, and encrypted, as in the example application.
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <stdexcept>

#include "epiphyte/epiphyte.hpp"
#include "tests/framework/temp_dir.h"
#include "tests/host/bundled_plugins.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class MemoryStore : public ContextStore {
 public:
  bool StoresModel() const override { return true; }
  bool Exists(const std::string& name) override { return files.contains(name); }
  std::unique_ptr<Writer> Create(const std::string& name) override {
    return std::make_unique<MemoryWriter>(this, name);
  }
  Bytes Open(const std::string& name) override {
    if (broken) throw std::runtime_error("the vault is closed");
    auto found = files.find(name);
    if (found == files.end()) throw Error(StatusCode::kNoSuchFile, "no '" + name + "' in memory");
    return {found->second->data(), found->second->size(), found->second};
  }

  std::map<std::string, std::shared_ptr<std::string>> files;
  bool broken = false;

 private:
  class MemoryWriter : public Writer {
   public:
    MemoryWriter(MemoryStore* store, std::string name) : store_(store), name_(std::move(name)) {}
    void Write(const void* data, uint64_t size) override {
      bytes_.append(static_cast<const char*>(data), static_cast<size_t>(size));
    }
    void Commit() override { store_->files[name_] = std::make_shared<std::string>(std::move(bytes_)); }

   private:
    MemoryStore* store_;
    std::string name_;
    std::string bytes_;
  };
};

class MemoryStoreTest : public ::testing::Test {
 protected:
  MemoryStoreTest() : model_(folder_.Write("model.onnx", MatMulModel())) {}
  void Compile() {
    SessionOptions options;
    options.AddProvider("cpu").Set("ep.context_enable", "1").SetContextStore(store_);
    Session session(environment_, model_, options);
  }
  std::vector<float> RunStored() {
    std::shared_ptr<std::string> bytes = store_->files.at("model_ctx.onnx");
    Session session(environment_, std::as_bytes(std::span(*bytes)), SessionOptions().SetContextStore(store_));
    EXPECT_TRUE(session.has_context());
    return Outputs(session);
  }
  static std::vector<float> Outputs(const Session& session) {
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    Value y = session.Run({{"x", Value::Copy<float>(std::span<const float>(x), {2, 4})}})[0];
    return {y.Data<float>().begin(), y.Data<float>().end()};
  }
  std::string Refusal() {
    try {
      RunStored();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidGraph) << error.what();
      return error.what();
    }
    return "accepted";
  }

  TempDir folder_;
  std::filesystem::path model_;
  Environment environment_ = BundledPlugins();
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(MemoryStoreTest, HoldsEverythingAndNothingIsInFiles) {
  Compile();
  EXPECT_TRUE(store_->files.contains("model_ctx.onnx"));
  EXPECT_TRUE(store_->files.contains("model_cpu.bin"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1) << "only the source model";
  EXPECT_THAT(RunStored(), ElementsAreArray(Outputs(Session(environment_, model_))));
}

TEST_F(MemoryStoreTest, DamageInTheStoreIsFoundLikeAFiles) {
  Compile();
  std::string& payload = *store_->files["model_cpu.bin"];
  payload[payload.size() / 2] ^= 1;
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("model_cpu.bin"), HasSubstr("digest")));
}

TEST_F(MemoryStoreTest, ContextsInTheStoreAreInspectedCheckedAndVerified) {
  Compile();
  const std::filesystem::path model = folder_ / "model_ctx.onnx";
  const auto problems = [&] { return VerifyContext(environment_, model, store_).problems; };
  const ContextInfo info = InspectContext(model, store_);
  ASSERT_EQ(info.nodes.size(), 1u);
  EXPECT_EQ(info.nodes[0].file, "model_cpu.bin");
  EXPECT_EQ(info.nodes[0].size, store_->files["model_cpu.bin"]->size());
  EXPECT_EQ(info.nodes[0].digest, info.nodes[0].recorded_digest);
  EXPECT_EQ(info.nodes[0].problem, "");
  EXPECT_TRUE(CheckContext(environment_, model, /*with_payloads=*/true, store_).usable());
  EXPECT_THAT(problems(), ::testing::IsEmpty());

  std::string& payload = *store_->files["model_cpu.bin"];
  payload[payload.size() / 2] ^= 1;
  EXPECT_THAT(InspectContext(model, store_).nodes[0].problem, HasSubstr("model_cpu.bin"));
  EXPECT_EQ(CheckContext(environment_, model, /*with_payloads=*/true, store_).verdict, ContextVerdict::kUnsupported);
  EXPECT_THAT(problems(), ::testing::Contains(AllOf(HasSubstr("model_cpu.bin"), HasSubstr("digest"))));
  // Without the store, the model's file does not exist.
  for (const auto& look :
       std::vector<std::function<void()>>{[&] { InspectContext(model); }, [&] { CheckContext(environment_, model); },
                                          [&] { VerifyContext(environment_, model); }}) {
    EXPECT_THROW(look(), Error);
  }
}

TEST_F(MemoryStoreTest, WhatTheStoreThrowsIsTheSessionsError) {
  Compile();
  store_->broken = true;
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("the vault is closed"), HasSubstr("model_cpu.bin")));
  store_->broken = false;
  store_->files.erase("model_cpu.bin");
  EXPECT_THAT(Refusal(), HasSubstr("no 'model_cpu.bin' in memory"));
}

TEST_F(MemoryStoreTest, WithoutAStoreTheFilesAreUsedAgain) {
  SessionOptions options;
  options.AddProvider("cpu").Set("ep.context_enable", "1").SetContextStore(store_).SetContextStore(nullptr);
  Session session(environment_, model_, options);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "model_ctx.onnx"));
  EXPECT_TRUE(store_->files.empty());
}

class EncryptedStoreExample : public ::testing::Test {
 protected:
  EncryptedStoreExample() {
    folder_.Write("model.onnx", MatMulModel());
    EXPECT_EQ(Run({"key", "key.txt"}).code, 0);
    ProgramResult compiled = Run({"compile", "model.onnx", "store", "key.txt"});
    EXPECT_EQ(compiled.code, 0) << compiled.err;
  }
  ProgramResult Run(const std::vector<std::string>& arguments) {
    return RunProgram(EPIPHYTE_STORE_PROGRAM, arguments, folder_.path(), OnlyPlugins(EPIPHYTE_PLUGIN_FOLDER));
  }
  ProgramResult RunStored(const std::string& key = "key.txt") { return Run({"run", "model.onnx", "store", key}); }
  std::string Refusal() {
    ProgramResult result = RunStored();
    EXPECT_EQ(result.code, 1) << result.out;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    return result.err;
  }

  TempDir folder_;
};

TEST_F(EncryptedStoreExample, RunsAndLeavesNoPlaintextBehind) {
  ProgramResult result = RunStored();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("ran from the stored context: 1 outputs"));

  std::vector<float> weights;  // MatMulModel's weights; any part of them in the store would be plaintext
  for (int i = 0; i < 12; ++i) weights.push_back(0.25f * static_cast<float>(i) - 1);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "store")) {
    names.push_back(entry.path().filename());
    std::string bytes = ReadFile(entry.path());
    for (size_t i = 0; i + 2 < weights.size(); ++i) {
      std::string_view part(reinterpret_cast<const char*>(&weights[i]), 2 * sizeof(float));
      EXPECT_EQ(bytes.find(part), std::string::npos) << names.back();
    }
    EXPECT_EQ(bytes.find("EpiphyteCPU"), std::string::npos) << names.back();
  }
  EXPECT_THAT(names, UnorderedElementsAre("model_ctx.onnx.enc", "model_cpu.bin.enc"));
}

TEST_F(EncryptedStoreExample, AnotherKeyIsRefused) {
  EXPECT_EQ(Run({"key", "other.txt"}).code, 0);
  ProgramResult result = RunStored("other.txt");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("another key"));
}

TEST_F(EncryptedStoreExample, EveryFlippedByteIsRefused) {
  for (const char* name : {"store/model_ctx.onnx.enc", "store/model_cpu.bin.enc"}) {
    const std::string whole = ReadFile(folder_ / name);
    for (size_t at = 0; at < whole.size(); at += std::max<size_t>(1, whole.size() / 9)) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
      folder_.Write(name, damaged);
      EXPECT_THAT(Refusal(), AnyOf(HasSubstr("damaged"), HasSubstr("no file of this store"))) << name << " at " << at;
    }
    folder_.Write(name, whole);
  }
  EXPECT_EQ(RunStored().code, 0);
}

TEST_F(EncryptedStoreExample, EveryTruncationIsRefused) {
  const char* name = "store/model_cpu.bin.enc";
  const std::string whole = ReadFile(folder_ / name);
  for (size_t size : {size_t{0}, size_t{10}, size_t{56}, size_t{60}, whole.size() / 2, whole.size() - 1}) {
    folder_.Write(name, whole.substr(0, size));
    EXPECT_THAT(Refusal(), HasSubstr("cut off")) << size;
  }
  std::filesystem::remove(folder_ / name);
  EXPECT_THAT(Refusal(), HasSubstr("the store has no 'model_cpu.bin'"));
}

TEST_F(EncryptedStoreExample, AFileUnderAnothersNameIsRefused) {
  folder_.Write("store/model_cpu.bin.enc", ReadFile(folder_ / "store/model_ctx.onnx.enc"));
  EXPECT_THAT(Refusal(), HasSubstr("not what was stored under this name"));
}

}  // namespace
}  // namespace epiphyte::test
