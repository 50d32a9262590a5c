// Small models and their contexts, for tests that damage files.
//
//   TempDir dir;
//   Compile(dir.Write("m.onnx", SmallModel(Weights::kOld)), CompileOptions());
//   EXPECT_EQ(RunModel(dir / "m_ctx.onnx"), NumbersOf(Weights::kOld));
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/options.hpp"
#include "epiphyte/value.hpp"

namespace epiphyte::test {

// Two sets of weights. The result shows which model ran.
enum class Weights { kOld, kNew };

// A model of one partition on float[2,3].
std::string SmallModel(Weights weights = Weights::kOld);
// A model with several partitions, some in nested graphs, so that most nodes of its context are secondaries. An If and
// a Loop stay plain nodes, and some initializers are used only by them.
std::string MixedModel(Weights weights = Weights::kOld);

// Options that find the build tree's plugins and none of the machine's.
EnvironmentOptions BuildTreePlugins();
// The environment is created on first use and never destroyed.
const Environment& BuildTreeEnvironment();

// Options for the cpu provider on one thread.
SessionOptions CpuOptions(uint32_t threads = 1);
// CpuOptions that write a context model; `more` are additional options.
SessionOptions CompileOptions(const std::vector<std::pair<std::string, std::string>>& more = {});
void Compile(const std::filesystem::path& model, const SessionOptions& options);

// The input that all test models take.
Value Input();
using Numbers = std::vector<std::vector<float>>;
// Returns all outputs of the model for one fixed input.
Numbers RunModel(const std::filesystem::path& model, const SessionOptions& options = CpuOptions());
Numbers NumbersOf(const std::vector<Value>& outputs);
// Returns the outputs of SmallModel.
Numbers NumbersOf(Weights weights);
// Returns whether the numbers are equal except for rounding, which differs between instruction sets.
bool AreClose(const Numbers& left, const Numbers& right);

// Returns "OK", or status name and message of the epiphyte::Error that `body` throws. Other exceptions pass through.
template <typename Body>
std::string ResultOf(Body&& body);

// Returns the names of the files in a folder, sorted.
std::vector<std::string> FileNames(const std::filesystem::path& folder);
// Returns the names of files that were staged in the folder and never published.
std::vector<std::string> Leftovers(const std::filesystem::path& folder);

}  // namespace epiphyte::test

#include "epiphyte/error.hpp"

namespace epiphyte::test {

template <typename Body>
std::string ResultOf(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(StatusCodeName(error.code())) + ": " + error.what();
  }
  return "OK";
}

}  // namespace epiphyte::test
