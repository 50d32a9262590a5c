#include "epiphyte/error.hpp"

#include <utility>

#include "core/base/error.h"

namespace epiphyte {

std::string_view StatusCodeName(StatusCode code) { return core::StatusCodeName(static_cast<core::StatusCode>(code)); }

Error::Error(StatusCode code, std::string message, Hint hint)
    : code_(code), hint_(hint), message_(std::move(message)) {}

Error::~Error() = default;

}  // namespace epiphyte
