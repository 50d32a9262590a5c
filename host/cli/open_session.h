// OpenSession: how every command creates its session, with progress on a terminal, and cancelled by signals and by
// --time-limit.
#pragma once

#include <filesystem>
#include <string>

#include "epiphyte/environment.hpp"
#include "epiphyte/options.hpp"
#include "epiphyte/session.hpp"
#include "host/cli/time_limit.h"

namespace epiphyte::cli {

// `doing`: "compiling", for the progress bar. Throws what Session does, MODEL_LOAD_CANCELED after a signal and CANCELED
// once the time is over.
Session OpenSession(const Environment& environment, const std::filesystem::path& model, SessionOptions options,
                    const std::string& doing, const TimeLimit& limit = TimeLimit());

}  // namespace epiphyte::cli
