#include "host/cli/hints.h"

namespace epiphyte::cli {

std::string_view HintText(Hint hint) {
  switch (hint) {
    case Hint::kNone: return "";
    case Hint::kOverwrite: return " (here: --force)";
    case Hint::kReseal: return "";  // the message names the command
    case Hint::kVerify: return " (epiphyte verify lists everything that is wrong with a context model)";
    case Hint::kShowPlacement: return " (epiphyte place shows who takes which node)";
    case Hint::kListPlugins: return " (epiphyte plugins lists what is installed)";
    case Hint::kWritePlain: return " (epiphyte compile: --allow-plain; epiphyte place shows who takes which node)";
    case Hint::kProbePlugins: return " (epiphyte doctor shows what is wrong with what is installed)";
  }
  return "";
}

}  // namespace epiphyte::cli
