// OpenSession: creates the session of every command, with a progress bar on a terminal. Signals and --time-limit cancel
// it.
#pragma once

#include <filesystem>
#include <string>

#include "epiphyte/environment.hpp"
#include "epiphyte/options.hpp"
#include "epiphyte/session.hpp"
#include "host/cli/time_limit.h"

namespace epiphyte::cli {

// `doing` is text for the progress bar, such as "compiling". Throws what Session throws, MODEL_LOAD_CANCELED after a
// signal, and CANCELED after the time limit.
Session OpenSession(const Environment& environment, const std::filesystem::path& model, SessionOptions options,
                    const std::string& doing, const TimeLimit& limit = TimeLimit());

}  // namespace epiphyte::cli
