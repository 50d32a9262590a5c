// Error: what every function of this API throws, with a status code and a message of one line that says what was
// found, what was expected and what to do.
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

// ONNX Runtime's numbers below 1000 and Epiphyte's own from there, the same as EP_STATUS_* in the C ABI.
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
  kOutOfMemory = 1000,  // of the host or a device
  kCanceled = 1001,
  kTimeout = 1002,
};

// What would help, for applications that have their own way to it: the message names this API's. New ones may be added.
enum class Hint : int32_t {
  kNone = 0,
  kOverwrite = 1,      // allow that existing output is replaced: epiphyte.context_overwrite, MergeOptions::overwrite
  kReseal = 2,         // seal a context model that was changed on purpose: ResealContext
  kVerify = 3,         // list everything that is wrong with a context model: VerifyContext
  kShowPlacement = 4,  // show which provider takes which node, and why others don't: Placement
  kListPlugins = 5,    // list what is installed: PluginCatalog::List
  kProbePlugins = 6,   // open what is installed, and see what is wrong with it: PluginCatalog::ProbeAll
};

// "INVALID_GRAPH" and the like.
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
