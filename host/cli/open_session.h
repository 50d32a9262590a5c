// OpenSession: how every command creates its session, with progress on a terminal, and cancelled by signals.
#pragma once

#include <filesystem>
#include <string>

#include "epiphyte/environment.hpp"
#include "epiphyte/options.hpp"
#include "epiphyte/session.hpp"

namespace epiphyte::cli {

// `doing`: "compiling", for the progress bar. Throws what Session does, and MODEL_LOAD_CANCELED after a signal.
Session OpenSession(const Environment& environment, const std::filesystem::path& model, SessionOptions options,
                    const std::string& doing);

}  // namespace epiphyte::cli
