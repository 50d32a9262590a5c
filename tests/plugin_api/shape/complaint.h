// Expectations on the error message of a kit call.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::test {

// Returns the message, which must be an error about the caller's arguments; empty when there is none.
template <typename Body>
std::string Complaint(Body&& body) {
  try {
    body();
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_ARGUMENT) << error.what();
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace epiphyte::test
