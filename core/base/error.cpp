#include "core/base/error.h"

namespace epiphyte::core {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kFail: return "FAIL";
    case StatusCode::kInvalidArgument: return "INVALID_ARGUMENT";
    case StatusCode::kNoSuchFile: return "NO_SUCHFILE";
    case StatusCode::kNoModel: return "NO_MODEL";
    case StatusCode::kEngineError: return "ENGINE_ERROR";
    case StatusCode::kRuntimeException: return "RUNTIME_EXCEPTION";
    case StatusCode::kInvalidProtobuf: return "INVALID_PROTOBUF";
    case StatusCode::kModelLoaded: return "MODEL_LOADED";
    case StatusCode::kNotImplemented: return "NOT_IMPLEMENTED";
    case StatusCode::kInvalidGraph: return "INVALID_GRAPH";
    case StatusCode::kEpFail: return "EP_FAIL";
    case StatusCode::kModelLoadCanceled: return "MODEL_LOAD_CANCELED";
    case StatusCode::kModelRequiresCompilation: return "MODEL_REQUIRES_COMPILATION";
    case StatusCode::kNotFound: return "NOT_FOUND";
    case StatusCode::kDeviceReset: return "DEVICE_RESET";
    case StatusCode::kOutOfMemory: return "OUT_OF_MEMORY";
    case StatusCode::kCanceled: return "CANCELED";
    case StatusCode::kTimeout: return "TIMEOUT";
  }
  return "UNKNOWN";
}

Error::Error(StatusCode code, std::string message, Hint hint)
    : code_(code), hint_(hint), message_(std::move(message)) {}

}  // namespace epiphyte::core
