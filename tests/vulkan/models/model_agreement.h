// A generated model on the Vulkan plugin, with the CPU plugin for what that leaves, against the CPU plugin alone.
//
//     ModelAgreement agreement("squeezenet1.1");
//     agreement.Check(Route::kContext);
//     EXPECT_GE(agreement.Share(), 0.95);
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/session.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {

// Way of the model into the session: from its file, or compiled before into a context. The payload of the context lies
// beside the context model or in it.
enum class Route { kFile, kContext, kEmbeddedContext };

class ModelAgreement {
 public:
  // Pins the software device. The model is made if it isn't there.
  explicit ModelAgreement(const std::string& model);

  static bool HasDevice();

  // Two runs in one session give what the CPU gives, by 1e-3 of each number and 1e-4.
  void Check(Route route);

  // Placement in a session from the file: the share of nodes that Vulkan has, and the number of partitions.
  double Share() const;
  size_t Partitions() const;
  // The nodes that it doesn't have, with its reasons, one a line.
  std::string Others() const;

 private:
  std::filesystem::path Compile(bool embed);

  std::string name_;
  TempDir dir_;
  std::unique_ptr<core::Environment> environment_;
  std::filesystem::path model_;
  std::vector<core::ValuePtr> inputs_;
  std::vector<core::ValuePtr> expected_;
  core::Placement placement_;
};

}  // namespace epiphyte::test
