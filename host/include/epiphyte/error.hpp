// Error: the exception of this API, with a status code and a one-line message. The message says what was found, what
// was expected and what to do.
//
//   try {
//     epiphyte::Session session(environment, "model.onnx");
//   } catch (const epiphyte::Error& error) {
//     std::cerr << error.what() << '\n';
//     if (error.code() == epiphyte::StatusCode::kNoSuchFile) …
//   }
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "epiphyte/export.hpp"

namespace epiphyte {

// Numbers below 1000 are ONNX Runtime's, numbers from 1000 on are Epiphyte's. They equal EP_STATUS_* in the C ABI.
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
  kDeviceReset = 15,    // the device is lost; a new session can help
  kOutOfMemory = 1000,  // memory of the host or a device is used up
  kCanceled = 1001,
  kTimeout = 1002,
};

// Remedy for an error, for applications with their own user interface; the message names the remedy in terms of this
// API. New hints may be added.
enum class Hint : int32_t {
  kNone = 0,
  kOverwrite = 1,      // allow existing output to be replaced: epiphyte.context_overwrite, MergeOptions::overwrite
  kReseal = 2,         // seal a context model that was changed on purpose: ResealContext
  kVerify = 3,         // list all problems of a context model: VerifyContext
  kShowPlacement = 4,  // show which provider takes which node, and why others don't: Placement
  kListPlugins = 5,    // list installed plugins: PluginCatalog::List
  kProbePlugins = 6,   // open installed plugins and list their problems: PluginCatalog::ProbeAll
  kWritePlain = 7,     // accept a context model without contexts: epiphyte.context_if_empty = plain
};

// Returns the code's name, e.g. "INVALID_GRAPH".
EPIPHYTE_API std::string_view StatusCodeName(StatusCode code);

class EPIPHYTE_API Error : public std::exception {
 public:
  Error(StatusCode code, std::string message, Hint hint = Hint::kNone);
  ~Error() override;

  StatusCode code() const noexcept { return code_; }
  Hint hint() const noexcept { return hint_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  StatusCode code_;
  Hint hint_;
  std::string message_;
};

}  // namespace epiphyte
