#include "tests/framework/recording_plugins.h"

#include <algorithm>
#include <fstream>

#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {

namespace fs = std::filesystem;

fs::path RecordingPluginFolder() { return fs::read_symlink("/proc/self/exe").parent_path() / "context_plugins"; }

std::unique_ptr<core::Environment> RecordingEnvironment() {
  core::CatalogOptions options;
  options.use_environment = false;
  options.use_user_folder = false;
  options.paths = {RecordingPluginFolder()};
  return std::make_unique<core::Environment>(std::move(options));
}

std::vector<std::string> FilesIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) names.push_back(entry.path().lexically_relative(folder).generic_string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::map<std::string, std::string> ContentOf(const fs::path& folder) {
  std::map<std::string, std::string> content;
  for (const std::string& name : FilesIn(folder)) content[name] = ReadFile(folder / name);
  return content;
}

std::vector<std::string> Ledger::Lines() const {
  std::vector<std::string> lines;
  std::ifstream stream(file_);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

size_t Ledger::Count(std::string_view event) const {
  std::vector<std::string> lines = Lines();
  return static_cast<size_t>(
      std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(event); }));
}

std::vector<float> RunOn(core::Session& session, std::vector<int64_t> dims, std::vector<float> values) {
  std::vector<core::ValuePtr> inputs = {Floats(std::move(dims), std::move(values))};
  return FloatsOf(*session.Run(inputs).at(0));
}

}  // namespace epiphyte::test
