// Inputs for a run: read from files in the layout of ONNX's backend tests, or random with a seed.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "epiphyte/session.hpp"

namespace epiphyte::cli {

struct InputFlags {
  std::string folder;  // folder with input_0.pb …; empty: random inputs
  uint64_t seed = 0;
  std::vector<std::string> dims;  // NAME=VALUE for symbolic dimensions

  void AddFolder(CLI::App& command);
  void AddRandom(CLI::App& command);

  // Returns one value for each input of the session, in order.
  std::vector<Value> Make(const Session& session) const;
  // Returns values from `folder` for overridable initializers, by name. Most folders have none.
  std::vector<NamedValue> LoadInitializers(const Session& session) const;
};

// Returns inputs that are the same on every machine for the same seed. Floating-point inputs have mean 0 and deviation
// 1. Integers are 0 to 9, so that they can serve as indices. Inputs with "mask" in their name are ones. Symbolic
// dimensions are 1 unless --dim sets them.
std::vector<Value> RandomInputs(const std::vector<ValueInfo>& inputs, uint64_t seed,
                                const std::vector<std::string>& dims);

}  // namespace epiphyte::cli
