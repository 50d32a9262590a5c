// Recording plugins: the two plugins of tests/context/plugin, `recorder_a` and `recorder_b`, which make EP contexts in
// a format of their own. With them a test of contexts depends on no bundled provider.
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

// Folder of the recording plugins and their manifests, beside the test programs.
std::filesystem::path RecordingPluginFolder();
// The build tree's plugins and the recording plugins, nothing of the machine's.
std::unique_ptr<core::Environment> RecordingEnvironment();

// Relative paths of everything in a folder that is no folder, sorted.
std::vector<std::string> FilesIn(const std::filesystem::path& folder);
// The same files with their contents: the state of a folder, to compare with a later one.
std::map<std::string, std::string> ContentOf(const std::filesystem::path& folder);

// Events of recording plugins with the option `ledger`, one line each.
class Ledger {
 public:
  explicit Ledger(std::filesystem::path file) : file_(std::move(file)) {}
  std::string path() const { return file_.string(); }
  std::vector<std::string> Lines() const;
  // Lines that begin with `event`.
  size_t Count(std::string_view event) const;

 private:
  std::filesystem::path file_;
};

// Runs on one float input and gives the first output.
std::vector<float> RunOn(core::Session& session, std::vector<int64_t> dims, std::vector<float> values);

}  // namespace epiphyte::test
