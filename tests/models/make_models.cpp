// epiphyte_make_models [--out DIR] [--only NAME[,NAME]...]: writes the generated models, each with sample inputs
// in <name>.inputs/, and prints one line for each.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/models/models.h"
#include "tests/models/sample_inputs.h"

namespace {

constexpr const char* kUsage =
    "usage: epiphyte_make_models [--out DIR] [--only NAME[,NAME]...]\n"
    "Writes the generated models to DIR (default: models), each with sample inputs in NAME.inputs; models that are\n"
    "there already stay.\n"
    "Names:";

void PrintUsage(std::FILE* stream) {
  std::fputs(kUsage, stream);
  for (std::string_view name : epiphyte::test::ModelNames()) {
    std::fprintf(stream, " %.*s", static_cast<int>(name.size()), name.data());
  }
  std::fputs(", or chain_<N> for any N\n", stream);
}

std::vector<std::string> SplitAtCommas(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = "models";
  std::vector<std::string> names(epiphyte::test::ModelNames().begin(), epiphyte::test::ModelNames().end());
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      PrintUsage(stdout);
      return 0;
    }
    if (i + 1 < argc && argument == "--out") {
      folder = argv[++i];
    } else if (i + 1 < argc && argument == "--only") {
      names = SplitAtCommas(argv[++i]);
    } else {
      PrintUsage(stderr);
      return 2;
    }
  }
  try {
    for (const std::string& name : names) {
      const std::filesystem::path path = epiphyte::test::WriteModel(name, folder);
      epiphyte::test::WriteSampleInputs(name, folder);
      std::printf("%-16s %9.2f MB  %s\n", name.c_str(), static_cast<double>(std::filesystem::file_size(path)) / 1e6,
                  path.c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epiphyte_make_models: %s\n", error.what());
    return 1;
  }
  return 0;
}
