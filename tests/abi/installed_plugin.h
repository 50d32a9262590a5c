// Installs the plugins of tests/abi, one at a time.
//
//   Installed installed(PluginFile("kFailsInCompile"));
//   core::Environment environment(installed.Options());
//   RunModel(environment, model, {"misbehaving"}, {-1, 2});
#pragma once

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/registry/catalog.h"
#include "core/runtime/session.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {

inline std::filesystem::path PluginFile(const std::string& name) {
  return std::filesystem::path(EPIPHYTE_ABI_PLUGIN_DIR) / (name + ".so");
}

// A folder with a manifest for one of the libraries. The environment also has the real plugins of the build.
class Installed {
 public:
  explicit Installed(const std::filesystem::path& library, const std::string& more = "") {
    dir_.Write("misbehaving.yaml",
               "manifest_version: 1\nname: misbehaving\nvendor: tests\nversion: 1.0.0\nlicense: Apache-2.0\n"
               "description: breaks a rule\nlibrary: " +
                   library.string() +
                   "\nabi: \"0.2\"\nsources: [MisbehavingSource]\n"
                   "devices: [cpu]\npriority: 100\n" +
                   more);
    dir_.Write("epiphyte.yaml", "policy_version: 1\n");
  }

  core::CatalogOptions Options() const {
    core::CatalogOptions options;
    options.paths = {dir_ / "misbehaving.yaml"};
    options.use_environment = false;
    options.use_user_folder = false;
    options.policy_file = dir_ / "epiphyte.yaml";
    return options;
  }

 private:
  TempDir dir_;
};

inline core::PluginEntry EntryOf(core::Catalog& catalog) {
  for (const core::PluginEntry& entry : catalog.entries()) {
    if (entry.manifest.name == "misbehaving") return entry;
  }
  throw std::runtime_error("the catalog has no entry 'misbehaving'");
}

// Runs a model on one float tensor. Without `providers` the session's provider list is empty.
inline std::vector<float> RunModel(core::Environment& environment, const std::string& model,
                                   const std::vector<std::string>& providers, std::vector<float> x) {
  core::SessionOptions options;
  for (const std::string& name : providers) options.providers.push_back({name, {}});
  options.thread_count = 1;
  core::Session session(environment, model.data(), model.size(), options);
  core::ValuePtr input =
      core::Value::Tensor(core::DataType::kFloat, std::vector<int64_t>{static_cast<int64_t>(x.size())});
  std::copy(x.begin(), x.end(), static_cast<float*>(input->mutable_data()));
  std::vector<core::ValuePtr> outputs = session.Run(std::vector<core::ValuePtr>{input});
  return {outputs[0]->data_as<float>(), outputs[0]->data_as<float>() + outputs[0]->element_count()};
}

}  // namespace epiphyte::test
