// Inputs for a run: from files as ONNX's backend tests lay them out, or seeded random ones.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "epiphyte/session.hpp"

namespace epiphyte::cli {

struct InputFlags {
  std::string folder;  // input_0.pb …; empty: random
  uint64_t seed = 0;
  std::vector<std::string> dims;  // NAME=VALUE for symbolic dimensions

  void AddFolder(CLI::App& command);
  void AddRandom(CLI::App& command);

  // One value for each input of the session, in order.
  std::vector<Value> Make(const Session& session) const;
  // Values from `folder` for overridable initializers, by name; most folders have none.
  std::vector<NamedValue> LoadInitializers(const Session& session) const;
};

// The same seed gives the same values on every machine. Floating point: mean 0, deviation 1. Integers: 0 to 9, so that
// they can serve as indices. Inputs with "mask" in their name: ones. Symbolic dimensions: 1 unless --dim says
// otherwise.
std::vector<Value> RandomInputs(const std::vector<ValueInfo>& inputs, uint64_t seed,
                                const std::vector<std::string>& dims);

}  // namespace epiphyte::cli
