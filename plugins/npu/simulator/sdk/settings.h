// Options of a context, and the settings that it compiles and runs with.
//
//   Settings settings;
//   SetOption(settings, "array", "32x32");     // throws SdkError with the known options or the allowed values
//   Finish(settings);                          // throws where options don't go together
#pragma once

#include <string>

#include "plugins/npu/simulator/compiler/compiler.h"
#include "plugins/npu/simulator/isa/config.h"

namespace epiphyte::npusim {

struct Settings {
  Config config;
  Effort effort = Effort::kBalanced;
  bool fusion = true;
};

void SetOption(Settings& settings, const std::string& key, const std::string& value);
void Finish(const Settings& settings);

// The known options, for messages and npusim's help: "array (ROWSxCOLUMNS), scratchpad_kib, ...".
std::string KnownOptions();

}  // namespace epiphyte::npusim
