#include "core/runtime/session_options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/runtime/session_config.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::KnownSessionOptions;
using core::SessionConfig;
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

// --- options that a session reads

TEST(SessionConfig, DefaultsAreThoseOfTheOptions) {
  const core::SessionConfig config = SessionOptions();
  EXPECT_FALSE(config.context.enable);
  EXPECT_FALSE(config.context.embed);
  EXPECT_TRUE(config.context.verify_digests);
  EXPECT_TRUE(config.context.file_path.empty());
  EXPECT_FALSE(config.share.enable);
  EXPECT_TRUE(config.cache.folder.empty());
  EXPECT_EQ(config.optimization_level, 2);
  EXPECT_EQ(config.max_nodes, 0u);
  EXPECT_FALSE(config.disable_fallback);
}

TEST(SessionConfig, EachOptionHasItsField) {
  SessionOptions options;
  const auto with = [&](std::string_view key, std::string_view value) {
    SessionOptions changed = options;
    changed.Set(key, value);
    return SessionConfig(changed);
  };
  EXPECT_TRUE(with("ep.context_enable", "1").context.enable);
  EXPECT_TRUE(with("ep.context_embed_mode", "1").context.embed);
  EXPECT_EQ(with("ep.context_file_path", "a/b.onnx").context.file_path, "a/b.onnx");
  EXPECT_EQ(with("ep.context_model_external_initializers_file_name", "w.bin").context.external_initializers, "w.bin");
  EXPECT_EQ(with("ep.context_node_name_prefix", "p_").context.node_name_prefix, "p_");
  EXPECT_FALSE(with("ep.context_verify", "header").context.verify_digests);
  EXPECT_TRUE(with("ep.share_ep_contexts", "1").share.enable);
  EXPECT_TRUE(with("ep.stop_share_ep_contexts", "1").share.stop);
  EXPECT_TRUE(with("epiphyte.context_overwrite", "1").context.overwrite);
  using IfEmpty = core::SessionConfig::Context::IfEmpty;
  EXPECT_EQ(with("epiphyte.context_if_empty", "skip").context.if_empty, IfEmpty::kSkip);
  EXPECT_EQ(with("epiphyte.context_if_empty", "error").context.if_empty, IfEmpty::kError);
  EXPECT_EQ(with("epiphyte.context_if_empty", "plain").context.if_empty, IfEmpty::kPlain);
  EXPECT_EQ(with("epiphyte.graph_optimization_level", "1").optimization_level, 1);
  EXPECT_EQ(with("epiphyte.share_group", "g").share.group, "g");
  EXPECT_EQ(with("optimization.disable_specified_optimizers", "a;;b").disabled_optimizers,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(with("session.context_cache_dir", "c").cache.folder, "c");
  EXPECT_EQ(with("session.context_cache_max_mb", "3").cache.max_bytes, 3u << 20);
  EXPECT_TRUE(with("session.disable_cpu_ep_fallback", "1").disable_fallback);
  EXPECT_TRUE(with("session.disable_model_compile", "1").disable_compile);
  EXPECT_TRUE(with("session.fail_on_suboptimal_compiled_model", "1").context.refuse_suboptimal);
  EXPECT_EQ(with("session.max_device_bytes", "9").max_device_bytes, 9u);
  EXPECT_EQ(with("session.max_nodes", "7").max_nodes, 7u);
  EXPECT_EQ(with("session.max_run_bytes", "8").max_run_bytes, 8u);
  EXPECT_EQ(with("session.max_value_bytes", "999999999999999999").max_value_bytes, 999999999999999999u);
  EXPECT_EQ(with("session.model_external_initializers_file_folder_path", "f").external_data_folder, "f");
}

TEST(SessionConfig, EachDefaultTextIsTheDefaultOfItsField) {
  SessionOptions set;
  for (const auto& option : KnownSessionOptions()) set.Set(option.key, option.default_value);
  const SessionOptions untouched;
  EXPECT_TRUE(static_cast<const core::SessionValues&>(set) == static_cast<const core::SessionValues&>(untouched));
  EXPECT_EQ(set.compiling_options, untouched.compiling_options);
}

TEST(SessionConfig, ARefusedValueLeavesTheFieldAsItWas) {
  SessionOptions options;
  options.Set("optimization.disable_specified_optimizers", "a");
  EXPECT_NE(FailureOf([&] { options.Set("optimization.disable_specified_optimizers", std::string(9000, 'x')); }), "OK");
  EXPECT_EQ(options.disabled_optimizers, std::vector<std::string>{"a"});
  EXPECT_NE(FailureOf([&] { options.Set("session.max_nodes", "1000000000000"); }), "OK");
  EXPECT_EQ(options.max_nodes, 0u);
}

TEST(SessionConfig, TextsThatChangeTheCompiledModelAreKeptAsTheyWereSet) {
  SessionOptions options;
  options.Set("optimization.disable_specified_optimizers", "a;;b");
  EXPECT_EQ(options.compiling_options[2],
            (std::pair<std::string, std::string>("optimization.disable_specified_optimizers", "a;;b")));
}

// A new option counts for the identity of a compiled model unless it is explicitly excluded.
TEST(SessionConfig, OnlyWhatChangesTheCompiledModelTellsTwoApart) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : SessionOptions().compiling_options) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"ep.context_node_name_prefix", "epiphyte.graph_optimization_level",
                                            "optimization.disable_specified_optimizers",
                                            "session.constant_initializers", "session.disable_cpu_ep_fallback"}));
}

}  // namespace
}  // namespace epiphyte::test
