// Error: the one exception type of the core. It carries a status code and a message of one line that says what was
// found, what was expected and what to do. At the C ABI it becomes an EpStatus, in the host API it is thrown on.
//
//   throw Error(StatusCode::kInvalidGraph, "node 'conv1': input 'x' is not defined; export the model again");
//
// Fail() formats with fmt:
//
//   Fail(StatusCode::kNoSuchFile, "model '{}' does not exist", path);
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace epiphyte::core {

// Codes below 1000 are ONNX Runtime's; codes from 1000 are Epiphyte's. All are equal to EP_STATUS_* in the C ABI.
enum class StatusCode : int32_t {
  kOk = 0,
  kFail = 1,
  kInvalidArgument = 2,
  kNoSuchFile = 3,
  kNoModel = 4,
  kEngineError = 5,
  kRuntimeException = 6,
  kInvalidProtobuf = 7,
  kModelLoaded = 8,
  kNotImplemented = 9,
  kInvalidGraph = 10,
  kEpFail = 11,
  kModelLoadCanceled = 12,
  kModelRequiresCompilation = 13,
  kNotFound = 14,
  kDeviceReset = 15,
  kOutOfMemory = 1000,
  kCanceled = 1001,
  kTimeout = 1002,
};

// The remedy for an error. Each interface of the host words it differently: an application sets an option or calls a
// function, a command line takes a flag. Messages use the application's wording.
enum class Hint : int32_t {
  kNone = 0,
  kOverwrite = 1,      // allow that existing output is replaced
  kReseal = 2,         // seal a context model that was changed on purpose
  kVerify = 3,         // list everything that is wrong with a context model
  kShowPlacement = 4,  // show which provider takes which node, and why others don't
  kListPlugins = 5,    // list the installed plugins
  kProbePlugins = 6,   // open the installed plugins and report what is wrong with them
};

// "INVALID_GRAPH" and the like; "UNKNOWN" for a number outside the enum.
std::string_view StatusCodeName(StatusCode code);

class Error : public std::exception {
 public:
  Error(StatusCode code, std::string message, Hint hint = Hint::kNone);

  StatusCode code() const { return code_; }
  Hint hint() const { return hint_; }
  // Copy with the same code and hint, and another message.
  Error WithMessage(std::string message) const { return Error(code_, std::move(message), hint_); }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  StatusCode code_;
  Hint hint_;
  std::string message_;
};

template <typename... Args>
[[noreturn]] void Fail(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void FailHinting(Hint hint, StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...), hint);
}

}  // namespace epiphyte::core
