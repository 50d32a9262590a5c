// A fixture with a model, a cache for it, and short functions that use both.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/cache/cache_folder.h"
#include "core/cache/open_session.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/write/model_writer.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {

inline constexpr std::string_view kCachedModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 2] y)
  <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0.5, -0.5}> {
    product = MatMul(x, w)
    biased = Add(product, b)
    y = Relu(biased)
  })";

inline const std::vector<float> kInput = {1, -2, 3, 0.25, 5, -6};

class ContextCacheTest : public testing::Test {
 protected:
  ContextCacheTest() : model_(dir_.Write("model.onnx", OnnxFromText(kCachedModel))), cache_(dir_ / "cache") {}

  core::SessionOptions Options() const {
    core::SessionOptions options = OptionsFor({});
    options.Set("session.context_cache_dir", cache_.string());
    return options;
  }

  struct Use {
    bool cached = false;
    std::vector<float> numbers;
  };
  Use Run(core::Session& session) {
    EXPECT_EQ(session.context_output(), nullptr) << "what the cache writes is not the application's";
    return {session.has_context(), RunOn(session, {2, 3}, kInput)};
  }
  Use UseModel(const core::SessionOptions& options) {
    core::Session session = core::OpenSession(*environment_, {model_}, options);
    return Run(session);
  }
  Use UseModel() { return UseModel(Options()); }
  std::vector<float> Uncached() {
    core::Session session(*environment_, model_, OptionsFor({}));
    return RunOn(session, {2, 3}, kInput);
  }

  std::vector<core::CacheFolder::Entry> Entries(bool verify = true) const {
    return core::CacheFolder(cache_).List(verify);
  }
  core::CacheFolder::Entry OnlyEntry() const {
    auto entries = Entries();
    EXPECT_EQ(entries.size(), 1u);
    if (entries.empty()) return {};
    EXPECT_EQ(entries[0].problem, "");
    return entries[0];
  }
  // Files that are neither a cache entry nor the cache's secret.
  std::vector<std::string> Leftovers() const {
    std::vector<std::string> names;
    for (const std::string& file : FilesIn(cache_)) {
      if (file == core::kCacheSecretName) continue;
      if (file.size() < 3 + 64 + 1 || file[2] != '/' || file[3 + 64] != '/') names.push_back(file);
    }
    for (const auto& item : std::filesystem::directory_iterator(cache_)) {
      if (item.path().filename().string().starts_with("tmp-")) names.push_back(item.path().filename());
    }
    return names;
  }

  // Writes the model again, with its weights in `weights.bin` beside it.
  void MakeExternal() {
    core::Model model = core::ReadModelFile(model_, {});
    std::string onnx, weights;
    core::WriteOptions options;
    options.external_file_name = "weights.bin";
    options.external_sink = [&](const void* data, uint64_t size) {
      weights.append(static_cast<const char*>(data), size);
    };
    core::WriteModel(model, options,
                     [&](const void* data, uint64_t size) { onnx.append(static_cast<const char*>(data), size); });
    ASSERT_FALSE(weights.empty());
    dir_.Write("model.onnx", onnx);
    dir_.Write("weights.bin", weights);
  }

  TempDir dir_;
  std::filesystem::path model_;
  std::filesystem::path cache_;
  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

}  // namespace epiphyte::test
