#include "host/cli/svg.h"

#include <string>

#include "epiphyte/error.hpp"
#include "epiphyte/files.hpp"
#include "epiphyte/text.hpp"
#include "host/cli/child_process.h"

namespace epiphyte::cli {
namespace {

ChildResult Draw(std::string_view dot) {
  try {
    return RunChild({.words = {"dot", "-Tsvg"}, .input = dot});
  } catch (const Error& error) {
    if (error.code() != StatusCode::kNotFound) throw;
    throw Error(StatusCode::kNotFound, "graphviz is missing: " + std::string(error.what()) +
                                           "; install graphviz or use --json instead of --svg");
  }
}

}  // namespace

void WriteSvg(std::string_view dot, const std::filesystem::path& file) {
  const ChildResult drawn = Draw(dot);
  if (drawn.code != 0) {
    throw Error(StatusCode::kFail, "graphviz could not draw '" + file.string() + "': " + PrintableText(drawn.err, 200) +
                                       "; use --json instead of --svg");
  }
  WriteFile(file, drawn.out);
}

}  // namespace epiphyte::cli
