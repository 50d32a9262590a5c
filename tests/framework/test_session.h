// Short ways to run models in tests, with the plugins of the build tree.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/runtime/session.h"

namespace epiphyte::test {

// An environment that finds the build tree's plugins and nothing of the machine's.
std::unique_ptr<core::Environment> BuildTreeEnvironment();

core::ValuePtr Floats(std::vector<int64_t> dims, std::vector<float> values);
core::ValuePtr Int64s(std::vector<int64_t> dims, std::vector<int64_t> values);
core::ValuePtr Bools(std::vector<int64_t> dims, std::vector<bool> values);
std::vector<float> FloatsOf(const core::Value& value);
std::vector<int64_t> Int64sOf(const core::Value& value);

// Options for one thread and the named providers.
core::SessionOptions OptionsFor(std::vector<std::string> providers);

// The status name and message that `body` fails with, "OK" if it doesn't.
template <typename Body>
std::string FailureOf(Body&& body) {
  try {
    body();
  } catch (const core::Error& error) {
    return std::string(core::StatusCodeName(error.code())) + ": " + error.message();
  }
  return "OK";
}

// The hint that it fails with.
template <typename Body>
core::Hint HintOf(Body&& body) {
  try {
    body();
  } catch (const core::Error& error) {
    return error.hint();
  }
  return core::Hint::kNone;
}

}  // namespace epiphyte::test
