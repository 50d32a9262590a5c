// epiphyte new-plugin: writes a folder with a plugin that builds and passes the conformance suite, as a starting point.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "epiphyte/error.hpp"
#include "host/cli/commands.h"
#include "host/cli/plugin_template.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

namespace fs = std::filesystem;

struct NewPluginFlags {
  std::string name;
  std::string folder;
  bool plain_c = false;
};

// Target names that the build system reserves.
constexpr std::string_view kReserved[] = {"all",  "clean",   "conformance", "edit_cache",    "help",
                                          "test", "install", "package",     "rebuild_cache", "package_source"};

void CheckName(const std::string& name) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
  const bool begins = !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0;
  if (!begins || name.size() > 64 || !std::ranges::all_of(name, fits)) {
    throw Error(StatusCode::kInvalidArgument,
                "'" + Printable(name) +
                    "' can't be a plugin's name; a letter, then letters, digits, '_' or '-' expected, "
                    "at most 64");
  }
  if (std::ranges::find(kReserved, name) != std::end(kReserved)) {
    throw Error(StatusCode::kInvalidArgument, "'" + name + "' is a target of every CMake project; choose another name");
  }
}

// Converts "my-npu" to "MyNpu".
std::string InCamelCase(std::string_view name) {
  std::string camel;
  bool begins = true;
  for (const char c : name) {
    if (c == '_' || c == '-') {
      begins = true;
      continue;
    }
    camel += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = false;
  }
  return camel;
}

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string replaced;
  for (size_t at = 0;;) {
    const size_t found = text.find(from, at);
    replaced += text.substr(at, found - at);
    if (found == std::string_view::npos) return replaced;
    replaced += to;
    at = found + from.size();
  }
}

void PrepareFolder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (fs::exists(status) && (!fs::is_directory(status) || !fs::is_empty(folder, error) || error)) {
    throw Error(StatusCode::kInvalidArgument,
                "'" + Printable(folder.string()) + "' exists and is no empty folder; name a new one with --dir");
  }
  fs::create_directories(folder, error);
  if (error) {
    throw Error(StatusCode::kFail, "folder '" + Printable(folder.string()) + "' can't be made: " + error.message());
  }
}

void WriteText(const fs::path& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) {
    throw Error(StatusCode::kFail, "'" + Printable(path.string()) + "' can't be written; is the disk full?");
  }
}

// Returns the folder in which this program is installed if the vendor's package is there too; else "".
std::string PackagePrefix() {
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  const bool has_package = fs::is_directory(prefix / EPIPHYTE_LIBRARY_FOLDER / "cmake/EpiphytePluginApi", error);
  return has_package ? prefix.string() : "<where Epiphyte is installed>";
}

void WritePlugin(const NewPluginFlags& flags) {
  CheckName(flags.name);
  const fs::path folder = flags.folder.empty() ? fs::path(flags.name) : fs::path(flags.folder);
  PrepareFolder(folder);
  const auto named = [&](std::string_view text) {
    const std::string camel = InCamelCase(flags.name);
    return flags.plain_c ? Replaced(Replaced(text, "plain_c", flags.name), "PlainC", camel)
                         : Replaced(Replaced(text, "kit_minimal", flags.name), "KitMinimal", camel);
  };
  for (const TemplateFile& file : flags.plain_c ? PlainCTemplate() : KitTemplate()) {
    const fs::path path = folder / named(file.name);
    WriteText(path, named(file.text));
    std::cout << Printable(path.string()) << '\n';
  }
  const std::string at = Printable(folder.string());
  std::cout << "\nnext:\n"
            << "  cmake -S " << at << " -B " << at << "/build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH='"
            << PackagePrefix() << "'\n"
            << "  cmake --build " << at << "/build\n"
            << "  ctest --test-dir " << at << "/build --output-on-failure      # the conformance suite\n"
            << "  EPIPHYTE_PLUGIN_PATH=" << at << "/build epiphyte doctor\n";
}

}  // namespace

Command AddNewPluginCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("new-plugin", "Writes the folder of a new plugin, to go on from");
  auto flags = std::make_shared<NewPluginFlags>();
  command->add_option("NAME", flags->name, "The plugin's name: letters, digits, '_' and '-'")->required();
  command->add_option("--dir", flags->folder, "Folder to write, new or empty; default: NAME")->type_name("DIR");
  command->add_flag("--c", flags->plain_c, "In plain C, on the headers alone; default: in C++20, with the kit");
  command->footer(
      "Sources, CMake files, manifest and a test that runs the conformance suite. Building it needs CMake, a compiler "
      "and "
      "the installed plugin API (cmake --install … --component plugin_api).");
  return {command, [flags] { WritePlugin(*flags); }};
}

}  // namespace epiphyte::cli
