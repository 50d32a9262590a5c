// Statuses and errors on the plugin's side, with a host that the test implements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <string>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::test {
namespace {

struct Counts {
  int released = 0;
  bool memory_is_short = false;
};
Counts g_counts;

EpStatusApi StatusApi() {
  EpStatusApi api = {};
  api.struct_size = sizeof(api);
  api.GetCode = [](const EpStatus*) -> EpStatusCode { return EP_STATUS_NOT_FOUND; };
  api.GetMessage = [](const EpStatus*) -> const char* {
    // Stands for a copy of the message that finds no memory.
    if (g_counts.memory_is_short) throw std::bad_alloc();
    return "there is no such thing, and this text is long enough for the heap";
  };
  api.Release = [](EpStatus*) { ++g_counts.released; };
  return api;
}

class KitError : public testing::Test {
 protected:
  KitError() : status_api_(StatusApi()) {
    g_counts = {};
    host_.struct_size = sizeof(host_);
    host_.status = &status_api_;
  }
  EpStatus* AStatus() { return reinterpret_cast<EpStatus*>(&status_api_); }

  EpStatusApi status_api_;
  EpHostInfo host_ = {};
};

TEST_F(KitError, AStatusIsThrownWithItsCodeAndMessageAndReleasedOnce) {
  try {
    kit::ThrowIfFailed(host_, AStatus());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_NOT_FOUND);
    EXPECT_THAT(error.what(), testing::HasSubstr("no such thing"));
  }
  EXPECT_EQ(g_counts.released, 1);
}

TEST_F(KitError, AStatusWhoseMessageCannotBeCopiedIsReleasedToo) {
  g_counts.memory_is_short = true;
  EXPECT_THROW(kit::ThrowIfFailed(host_, AStatus()), std::bad_alloc);
  EXPECT_EQ(g_counts.released, 1);
}

TEST_F(KitError, NoStatusIsNoError) {
  kit::ThrowIfFailed(host_, nullptr);
  EXPECT_EQ(g_counts.released, 0);
}

}  // namespace
}  // namespace epiphyte::test
