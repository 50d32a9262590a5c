#include "core/runtime/session_options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::KnownSessionOptions;
using core::SessionOptions;

TEST(SessionOptions, DefaultsAreThoseOfTheSpecification) {
  SessionOptions options;
  EXPECT_EQ(options.Get("ep.context_enable"), "0");
  EXPECT_EQ(options.Get("ep.context_embed_mode"), "0");
  EXPECT_EQ(options.Get("ep.context_file_path"), "");
  EXPECT_EQ(options.Get("ep.context_node_name_prefix"), "");
  EXPECT_EQ(options.Get("session.disable_cpu_ep_fallback"), "0");
  EXPECT_EQ(options.Get("session.disable_model_compile"), "0");
}

TEST(SessionOptions, AnUnknownKeyNamesTheNearest) {
  SessionOptions options;
  EXPECT_EQ(FailureOf([&] { options.Set("ep.context_enabled", "1"); }),
            "INVALID_ARGUMENT: session option 'ep.context_enabled' is unknown; did you mean 'ep.context_enable'?");
  EXPECT_NE(FailureOf([&] { options.Set("completely different", "1"); }).find("known are"), std::string::npos);
}

TEST(SessionOptions, ValuesAreChecked) {
  SessionOptions options;
  EXPECT_EQ(FailureOf([&] { options.Set("ep.context_enable", "yes"); }),
            "INVALID_ARGUMENT: session option 'ep.context_enable' is 'yes', expected 0 or 1");
  EXPECT_EQ(options.Get("ep.context_enable"), "0");
  EXPECT_NE(FailureOf([&] { options.Set("ep.context_file_path", std::string(9000, 'x')); }), "OK");
}

TEST(SessionOptions, TheListIsSortedAndDescribed) {
  auto known = KnownSessionOptions();
  EXPECT_TRUE(std::is_sorted(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.key < b.key; }));
  for (const auto& option : known) EXPECT_FALSE(option.description.empty()) << option.key;
}

}  // namespace
}  // namespace epiphyte::test
