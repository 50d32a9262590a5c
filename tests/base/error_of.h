// Expectations on errors: the code and the message.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/base/error.h"

namespace epiphyte::test {

// Returns the message of the Error that `call` throws. Checks its code and that the message is one line.
template <typename Call>
std::string ErrorOf(core::StatusCode code, Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const core::Error& error) {
    EXPECT_EQ(core::StatusCodeName(error.code()), core::StatusCodeName(code)) << error.message();
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    EXPECT_FALSE(error.message().empty());
    return error.message();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

}  // namespace epiphyte::test
