// Options of sessions.
#include <gmock/gmock.h>

#include "epiphyte/error.hpp"
#include "epiphyte/options.hpp"

namespace epiphyte {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SessionOptions, KnowsTheKeysOfOnnxRuntime) {
  std::vector<std::string> keys;
  for (const OptionDescription& option : SessionOptions::Known()) {
    keys.push_back(option.key);
    EXPECT_FALSE(option.description.empty()) << option.key;
  }
  EXPECT_THAT(keys, ::testing::IsSupersetOf({"ep.context_enable", "ep.context_file_path", "ep.context_embed_mode",
                                             "session.disable_cpu_ep_fallback"}));
  EXPECT_TRUE(std::ranges::is_sorted(keys));
}

TEST(SessionOptions, ReturnsWhatWasSetOrTheDefault) {
  SessionOptions options;
  EXPECT_EQ(options.Get("ep.context_enable"), "0");
  options.Set("ep.context_enable", "1");
  EXPECT_EQ(options.Get("ep.context_enable"), "1");
}

TEST(SessionOptions, UnknownKeyNamesTheNearest) {
  SessionOptions options;
  try {
    options.Set("ep.context_enabled", "1");
    FAIL() << "an unknown key was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("'ep.context_enable'"));
  }
}

TEST(SessionOptions, ValueMustFitTheKey) { EXPECT_THROW(SessionOptions().Set("ep.context_enable", "yes"), Error); }

TEST(SessionOptions, CopiesAreIndependent) {
  SessionOptions options;
  options.AddProvider("a");
  SessionOptions copy = options;
  copy.AddProvider("b").Set("ep.context_enable", "1");
  EXPECT_THAT(options.providers(), ElementsAre("a"));
  EXPECT_THAT(copy.providers(), ElementsAre("a", "b"));
  EXPECT_EQ(options.Get("ep.context_enable"), "0");
}

TEST(SessionOptions, AProviderIsListedOnce) {
  SessionOptions options;
  options.AddProvider("a");
  EXPECT_THROW(options.AddProvider("a"), Error);
  EXPECT_THAT(options.providers(), ElementsAre("a"));
}

}  // namespace
}  // namespace epiphyte
