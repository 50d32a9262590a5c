// A context model with damaged or exchanged files is refused or gives the right numbers. It never causes a crash, a
// hang or a wrong number.
#include "tests/faults/damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/faults/program.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct ContextSet {
  const char* name;
  std::string (*model)(Weights);
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> files;  // m_ctx.onnx comes first
};

const ContextSet kSets[] = {
    {"External", SmallModel, {}, {"m_ctx.onnx", "m_cpu.bin"}},
    {"Embedded", SmallModel, {{"ep.context_embed_mode", "1"}}, {"m_ctx.onnx"}},
    {"SecondariesAndEmbeddedWeights", MixedModel, {}, {"m_ctx.onnx", "m_cpu.bin"}},
    {"SecondariesAndExternalWeights",
     MixedModel,
     {{"ep.context_model_external_initializers_file_name", "m.weights"}},
     {"m_ctx.onnx", "m_cpu.bin", "m.weights"}},
};

void PrintTo(const ContextSet& set, std::ostream* stream) { *stream << set.name; }

SessionOptions HeaderOptions() {
  SessionOptions options = CpuOptions();
  options.Set("ep.context_verify", "header");
  return options;
}

class DamageTest : public testing::TestWithParam<ContextSet> {
 protected:
  DamageTest() {
    const fs::path source = dir_.Write("m.onnx", GetParam().model(Weights::kOld));
    expected_ = RunModel(source);
    Compile(source, CompileOptions(GetParam().options));
    fs::remove(source);
  }

  // Warnings are off, because the log would have a line for each mutant.
  static void SetUpTestSuite() { setenv("EPIPHYTE_LOG", "error", 0); }

  fs::path model() const { return dir_ / "m_ctx.onnx"; }
  // A session on the mixed model takes ten times as long, so its large file gets only one mask for each byte.
  std::vector<Damage> FlipsFor(const std::string& file) const {
    std::vector<Damage> flips = EveryFlip(fs::file_size(dir_ / file));
    if (GetParam().model == MixedModel && file == "m_cpu.bin") {
      std::erase_if(flips,
                    [&](const Damage& damage) { return damage.mask != kFlipMasks[damage.at % kFlipMasks.size()]; });
    }
    return flips;
  }
  void Print(const char* what, const std::string& file, const DamageReport& report) const {
    std::printf("%-12s %-10s %6zu bytes: %s\n", what, file.c_str(), static_cast<size_t>(fs::file_size(dir_ / file)),
                report.Summary().c_str());
  }

  TempDir dir_;
  Numbers expected_;
};

INSTANTIATE_TEST_SUITE_P(Sets, DamageTest, testing::ValuesIn(kSets), [](const auto& info) { return info.param.name; });

TEST_P(DamageTest, TheSetIsWhatThisTestExpects) {
  EXPECT_EQ(FileNames(dir_.path()), [] {
    std::vector<std::string> names = GetParam().files;
    std::sort(names.begin(), names.end());
    return names;
  }());
  EXPECT_EQ(RunModel(model()), expected_);
}

TEST_P(DamageTest, EveryTruncationIsRefused) {
  for (const std::string& file : GetParam().files) {
    const auto damages = EveryTruncation(fs::file_size(dir_ / file));
    const DamageReport report = TryDamage(model(), dir_ / file, damages, CpuOptions(), expected_);
    Print("cut", file, report);
    EXPECT_THAT(report.failures, IsEmpty()) << file;
    EXPECT_EQ(report.refused, damages.size()) << file;
  }
}

TEST_P(DamageTest, EveryFlippedByteIsRefused) {
  for (const std::string& file : GetParam().files) {
    const auto damages = FlipsFor(file);
    const DamageReport report = TryDamage(model(), dir_ / file, damages, CpuOptions(), expected_);
    Print("flipped", file, report);
    EXPECT_THAT(report.failures, IsEmpty()) << file;
    EXPECT_EQ(report.refused, damages.size()) << file;
  }
}

// Without digests, a binary with a wrong size is still detected.
TEST_P(DamageTest, WithoutDigestsTruncationsOfBinariesAreRefused) {
  for (const std::string& file : GetParam().files) {
    if (file.ends_with(".onnx")) continue;
    const auto damages = EveryTruncation(fs::file_size(dir_ / file));
    const DamageReport report = TryDamage(model(), dir_ / file, damages, HeaderOptions(), expected_);
    Print("cut, header", file, report);
    EXPECT_THAT(report.failures, IsEmpty()) << file;
    EXPECT_EQ(report.refused, damages.size()) << file;
  }
}

// Without digests, a change of a plain node or weight can't be detected. But no bytes may crash the process, and the
// cpu provider checks its own sections itself.
TEST_P(DamageTest, WithoutDigestsNoFlippedByteCrashes) {
  for (const std::string& file : GetParam().files) {
    const bool binary = file == "m_cpu.bin";
    // In plain nodes and weights of the mixed model, a flip may give a valid model that loops for years.
    if (GetParam().model == MixedModel && !binary) continue;
    const auto damages = FlipsFor(file);
    const DamageReport report = TryDamage(model(), dir_ / file, damages, HeaderOptions(), expected_,
                                          binary ? Tolerance::kCorrectOnly : Tolerance::kAnyNumbers);
    Print("flip, header", file, report);
    EXPECT_THAT(report.failures, IsEmpty()) << file;
  }
}

// --- files that are intact but belong to another model

class ExchangeTest : public testing::Test {
 protected:
  ExchangeTest() {
    Compile(dir_.Write("a.onnx", SmallModel(Weights::kOld)), CompileOptions());
    Compile(dir_.Write("b.onnx", SmallModel(Weights::kNew)), CompileOptions());
  }
  void Exchange(const char* left, const char* right) {
    fs::rename(dir_ / left, dir_ / "between");
    fs::rename(dir_ / right, dir_ / left);
    fs::rename(dir_ / "between", dir_ / right);
  }
  std::string LoadWith(const char* model, const SessionOptions& options) {
    return ResultOf([&] { RunModel(dir_ / model, options); });
  }

  TempDir dir_;
};

TEST_F(ExchangeTest, SwappedBinariesOfTheSameShapeAreRefused) {
  ASSERT_EQ(fs::file_size(dir_ / "a_cpu.bin"), fs::file_size(dir_ / "b_cpu.bin")) << "sizes must not give it away";
  Exchange("a_cpu.bin", "b_cpu.bin");
  for (const char* name : {"a", "b"}) {
    EXPECT_THAT(LoadWith((std::string(name) + "_ctx.onnx").c_str(), CpuOptions()),
                AllOf(StartsWith("INVALID_GRAPH"), HasSubstr(std::string(name) + "_cpu.bin"), HasSubstr("digest"),
                      HasSubstr("compile the model again")));
  }
}

TEST_F(ExchangeTest, ABinaryOfAnotherModelIsRefused) {
  Compile(dir_.Write("other.onnx", MixedModel()), CompileOptions());
  fs::copy_file(dir_ / "other_cpu.bin", dir_ / "a_cpu.bin", fs::copy_options::overwrite_existing);
  EXPECT_THAT(LoadWith("a_ctx.onnx", CpuOptions()), AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("a_cpu.bin")));
  EXPECT_THAT(LoadWith("a_ctx.onnx", HeaderOptions()), AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("a_cpu.bin")));
}

TEST_F(ExchangeTest, AMissingBinaryIsRefusedByName) {
  fs::remove(dir_ / "a_cpu.bin");
  EXPECT_THAT(LoadWith("a_ctx.onnx", CpuOptions()),
              AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("a_cpu.bin"), HasSubstr("does not exist")));
}

TEST_F(ExchangeTest, ARenamedModelKeepsItsOwnBinary) {
  Exchange("a_ctx.onnx", "b_ctx.onnx");
  EXPECT_EQ(LoadWith("a_ctx.onnx", CpuOptions()), "OK");
  EXPECT_TRUE(AreClose(RunModel(dir_ / "a_ctx.onnx"), NumbersOf(Weights::kNew)));
}

TEST_F(ExchangeTest, ExchangedWeightsAreRefused) {
  const std::pair<std::string, std::string> outside = {"ep.context_model_external_initializers_file_name", "c.weights"};
  Compile(dir_.Write("c.onnx", MixedModel()), CompileOptions({outside}));
  std::string weights = ReadFile(dir_ / "c.weights");
  std::ofstream(dir_ / "c.weights", std::ios::binary) << std::string(weights.size(), '\0');
  EXPECT_THAT(LoadWith("c_ctx.onnx", CpuOptions()),
              AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("c.weights"), HasSubstr("digest")));
}

// --- contexts that were made elsewhere

// Changes a context model as if another version of the plugin had written it: the version in the binary and in the
// metadata is different, and all digests fit.
void MakeAsIfByAnotherOneDnn(const fs::path& model, const fs::path& binary) {
  std::string bytes = ReadFile(binary);
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(ReadFile(model)));
  std::string version;
  for (auto& entry : proto.metadata_props()) {
    const std::string& value = entry.value();
    const size_t at = value.find("onednn=");
    if (at != std::string::npos) version = value.substr(at + 7, value.find(';', at) - at - 7);
  }
  ASSERT_GE(version.size(), 3u);
  std::string other = version;
  other[0] = other[0] == '9' ? '8' : '9';
  const auto replace = [&](std::string* text) {
    size_t count = 0;
    for (size_t at = text->find(version); at != std::string::npos; at = text->find(version, at + 1), ++count) {
      text->replace(at, version.size(), other);
    }
    return count;
  };
  ASSERT_GE(replace(&bytes), 1u);
  std::ofstream(binary, std::ios::binary | std::ios::trunc) << bytes;

  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::string digest;
  for (unsigned char byte : canonical.digest) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", byte);
    digest += hex;
  }
  auto* metadata = proto.mutable_metadata_props();
  for (int i = metadata->size(); i-- > 0;) {
    std::string* value = metadata->Mutable(i)->mutable_value();
    const std::string& key = metadata->Get(i).key();
    if (key.starts_with("epiphyte.context.seal")) {
      metadata->DeleteSubrange(i, 1);
    } else if (key == "epiphyte.context.version") {
      *value = "1";  // version 1 has no seal
    } else if (key.starts_with("epiphyte.context.payload.")) {
      const size_t first = value->find(' ') + 1;
      value->replace(first, 32, digest);
    } else {
      replace(value);
    }
  }
  for (auto& node : *proto.mutable_graph()->mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) replace(attribute.mutable_s());
  }
  std::ofstream(model, std::ios::binary | std::ios::trunc) << proto.SerializeAsString();
}

TEST_F(ExchangeTest, AContextOfAnotherVersionOfThePluginIsRefused) {
  MakeAsIfByAnotherOneDnn(dir_ / "a_ctx.onnx", dir_ / "a_cpu.bin");
  for (const SessionOptions& options : {CpuOptions(), HeaderOptions()}) {
    EXPECT_THAT(LoadWith("a_ctx.onnx", options),
                AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("oneDNN 9."), HasSubstr("compile the model again")));
  }
}

// A worker process reads a context that this process wrote.
class ElsewhereTest : public testing::Test {
 protected:
  ElsewhereTest() {
    // The model is large enough for oneDNN to pack the weights.
    Compile(dir_.Write("m.onnx", MixedModel()), CompileOptions());
    expected_ = RunModel(dir_ / "m.onnx");
  }
  ProgramEnd Run(const char* threads, std::map<std::string, std::string> environment,
                 std::vector<std::string> options = {}) {
    environment["EPIPHYTE_LOG"] = "warning";
    std::vector<std::string> words = {"run", (dir_ / "m_ctx.onnx").string(), threads};
    words.insert(words.end(), options.begin(), options.end());
    return RunWorker(words, environment);
  }

  TempDir dir_;
  Numbers expected_;
};

TEST_F(ElsewhereTest, OtherInstructionSetGivesRightNumbersAndAWarning) {
  for (const char* isa : {"AVX2", "SSE41"}) {
    for (const char* verify : {"full", "header"}) {
      ProgramEnd end = Run("1", {{"DNNL_MAX_CPU_ISA", isa}}, {std::string("ep.context_verify=") + verify});
      EXPECT_TRUE(AreClose(NumbersFrom(end.out), expected_)) << isa << ": " << end.out << end.err;
      EXPECT_THAT(end.err, AllOf(HasSubstr("warning"), HasSubstr("made for"), HasSubstr("compile the model again")))
          << isa;
    }
  }
}

TEST_F(ElsewhereTest, AnotherInstructionSetIsRefusedOnRequest) {
  ProgramEnd end = Run("1", {{"DNNL_MAX_CPU_ISA", "AVX2"}}, {"session.fail_on_suboptimal_compiled_model=1"});
  EXPECT_THAT(end.out, AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("made for")));
}

TEST_F(ElsewhereTest, AnotherThreadCountGivesRightNumbers) {
  for (const char* threads : {"2", "5"}) {
    for (const char* verify : {"full", "header"}) {
      ProgramEnd end = Run(threads, {}, {std::string("ep.context_verify=") + verify});
      EXPECT_TRUE(AreClose(NumbersFrom(end.out), expected_)) << threads << ": " << end.out << end.err;
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
