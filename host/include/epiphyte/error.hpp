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

// ONNX Runtime's numbers, the same as EP_STATUS_* in the C ABI.
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
};

// "INVALID_GRAPH" and the like.
EPIPHYTE_API std::string_view StatusCodeName(StatusCode code);

class EPIPHYTE_API Error : public std::exception {
 public:
  Error(StatusCode code, std::string message);
  ~Error() override;

  StatusCode code() const noexcept { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  StatusCode code_;
  std::string message_;
};

}  // namespace epiphyte
