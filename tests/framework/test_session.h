// Short functions that run models in tests, with the plugins of the build tree.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/runtime/session.h"

namespace epiphyte::test {

// Returns an environment that finds the build tree's plugins and none of the machine's.
std::unique_ptr<core::Environment> BuildTreeEnvironment();

core::ValuePtr Floats(std::vector<int64_t> dims, std::vector<float> values);
core::ValuePtr Int64s(std::vector<int64_t> dims, std::vector<int64_t> values);
core::ValuePtr Bools(std::vector<int64_t> dims, std::vector<bool> values);
std::vector<float> FloatsOf(const core::Value& value);
std::vector<int64_t> Int64sOf(const core::Value& value);

// Returns options for one thread and the named providers.
core::SessionOptions OptionsFor(std::vector<std::string> providers);

// Returns the status name and message with which `body` fails, or "OK".
template <typename Body>
std::string FailureOf(Body&& body) {
  try {
    body();
  } catch (const core::Error& error) {
    return std::string(core::StatusCodeName(error.code())) + ": " + error.message();
  }
  return "OK";
}

// Returns the hint of the error with which `body` fails.
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
