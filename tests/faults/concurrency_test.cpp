// Several processes compile the same model into the same place, and others read the context meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include "tests/faults/program.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Race {
  size_t writers;
  bool overwrite;
};

void PrintTo(const Race& race, std::ostream* stream) {
  *stream << race.writers << (race.overwrite ? " overwriting" : "");
}

// Holds the writers at a point where all of them have begun and none has published, so that they overlap.
class Gate {
 public:
  std::map<std::string, std::string> environment() const { return {{"EPIPHYTE_FAULTS_GATE", folder_.path().string()}}; }
  void OpenWhenReached(size_t writers) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (FileNames(folder_.path()).size() < writers && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(FileNames(folder_.path()).size(), writers) << "writers that began";
    folder_.Write("open", "");
  }

 private:
  TempDir folder_;
};

class RaceTest : public testing::TestWithParam<Race> {
 protected:
  std::unique_ptr<Program> Writer(const fs::path& model, const Gate& gate) const {
    std::vector<std::string> words = {"compile", model.string(),
                                      "ep.context_file_path=" + (dir_ / "m_ctx.onnx").string()};
    if (GetParam().overwrite) words.push_back("epiphyte.context_overwrite=1");
    return std::make_unique<Program>(WorkerWords(words), gate.environment());
  }
  std::unique_ptr<Program> Reader() const {
    return std::make_unique<Program>(WorkerWords({"read", (dir_ / "m_ctx.onnx").string(), "1.5"}));
  }
  // Checks that every result of the reader is in `allowed` or says that there is no context yet.
  void CheckReader(Program& reader, const std::vector<Numbers>& allowed, bool may_be_missing) {
    ProgramEnd end = reader.Wait();
    EXPECT_EQ(end.code, 0) << end.err;
    std::istringstream lines(end.out);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("reads: ")) continue;
      bool known = may_be_missing && line.starts_with("NO_SUCHFILE");
      for (const Numbers& numbers : allowed) known = known || AreClose(NumbersFrom(line), numbers);
      EXPECT_TRUE(known) << line;
    }
    EXPECT_THAT(end.out, HasSubstr("reads: "));
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Processes, RaceTest,
                         testing::Values(Race{2, false}, Race{2, true}, Race{8, false}, Race{8, true}),
                         [](const auto& info) {
                           return std::to_string(info.param.writers) + (info.param.overwrite ? "Overwriting" : "");
                         });

TEST_P(RaceTest, AllWritersOfTheSameModelSucceed) {
  const fs::path model = dir_.Write("m.onnx", SmallModel());
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    fs::remove(dir_ / "m_ctx.onnx");
    fs::remove(dir_ / "m_cpu.bin");
    Gate gate;
    auto reader = Reader();
    std::vector<std::unique_ptr<Program>> writers;
    for (size_t i = 0; i < GetParam().writers; ++i) writers.push_back(Writer(model, gate));
    gate.OpenWhenReached(writers.size());
    for (auto& writer : writers) {
      ProgramEnd end = writer->Wait();
      EXPECT_EQ(end.out, "OK\n") << end.err;
    }
    EXPECT_TRUE(AreClose(RunModel(dir_ / "m_ctx.onnx"), NumbersOf(Weights::kOld)));
    EXPECT_THAT(Leftovers(dir_.path()), IsEmpty());
    CheckReader(*reader, {NumbersOf(Weights::kOld)}, /*may_be_missing=*/true);
  }
}

// With two different models, the files of one of them remain, complete. Readers see either model.
TEST_P(RaceTest, WritersOfTwoModelsLeaveOneWhole) {
  const fs::path old_model = dir_.Write("old.onnx", SmallModel(Weights::kOld));
  const fs::path new_model = dir_.Write("new.onnx", SmallModel(Weights::kNew));
  if (GetParam().overwrite) {
    Compile(old_model, CompileOptions({{"ep.context_file_path", (dir_ / "m_ctx.onnx").string()}}));
  }
  Gate gate;
  auto reader = Reader();
  std::vector<std::unique_ptr<Program>> writers;
  for (size_t i = 0; i < GetParam().writers; ++i) writers.push_back(Writer(i % 2 == 0 ? old_model : new_model, gate));
  gate.OpenWhenReached(writers.size());
  size_t succeeded = 0;
  for (auto& writer : writers) {
    ProgramEnd end = writer->Wait();
    if (end.out == "OK\n") {
      ++succeeded;
    } else {
      EXPECT_FALSE(GetParam().overwrite) << end.out;
      EXPECT_THAT(end.out, testing::AllOf(StartsWith("FAIL: "), HasSubstr("exists already")));
    }
  }
  EXPECT_GE(succeeded, 1u);
  if (GetParam().overwrite) {
    EXPECT_EQ(succeeded, writers.size());
  }
  const Numbers last = RunModel(dir_ / "m_ctx.onnx");
  EXPECT_TRUE(AreClose(last, NumbersOf(Weights::kOld)) || AreClose(last, NumbersOf(Weights::kNew)));
  EXPECT_THAT(Leftovers(dir_.path()), IsEmpty());
  CheckReader(*reader, {NumbersOf(Weights::kOld), NumbersOf(Weights::kNew)}, !GetParam().overwrite);
}

}  // namespace
}  // namespace epiphyte::test
