// Recording plugins: the two plugins of tests/context/plugin, `recorder_a` and `recorder_b`. They make EP contexts in a
// format of their own, so that tests of contexts do not depend on a bundled provider.
//
//   TempDir dir;
//   Ledger ledger(dir / "ledger");
//   auto environment = RecordingEnvironment();
//   SessionOptions options = OptionsFor({"recorder_a"});
//   options.provider_options["recorder_a"] = {{"claim", "Add,Neg"}, {"ledger", ledger.path()}};
//   …
//   EXPECT_EQ(ledger.Count("parse"), 1u);
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/session.h"

namespace epiphyte::test {

// Returns the folder of the recording plugins and their manifests, beside the test programs.
std::filesystem::path RecordingPluginFolder();
// Returns an environment with the build tree's plugins and the recording plugins, but none of the machine's.
std::unique_ptr<core::Environment> RecordingEnvironment();

// Returns the sorted relative paths of all files in a folder and below it.
std::vector<std::string> FilesIn(const std::filesystem::path& folder);
// Returns the same files with their contents, to compare the folder's state with a later one.
std::map<std::string, std::string> ContentOf(const std::filesystem::path& folder);

// Events that recording plugins with the option `ledger` write, one per line.
class Ledger {
 public:
  explicit Ledger(std::filesystem::path file) : file_(std::move(file)) {}
  std::string path() const { return file_.string(); }
  std::vector<std::string> Lines() const;
  // Returns the number of lines that begin with `event`.
  size_t Count(std::string_view event) const;

 private:
  std::filesystem::path file_;
};

// Runs the session on one float input and returns the first output.
std::vector<float> RunOn(core::Session& session, std::vector<int64_t> dims, std::vector<float> values);

}  // namespace epiphyte::test
