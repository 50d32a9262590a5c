// Compares a generated model on the Vulkan plugin, with the CPU plugin for the remaining nodes, with the CPU plugin
// alone.
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

// How the model gets into the session: from its file, or compiled beforehand into a context. The context's payload lies
// beside the context model (kContext) or in it (kEmbeddedContext).
enum class Route { kFile, kContext, kEmbeddedContext };

class ModelAgreement {
 public:
  // Pins the software device, and generates the model if it isn't there.
  explicit ModelAgreement(const std::string& model);

  static bool HasDevice();

  // Checks that two runs in one session agree with the CPU plugin: tolerance 1e-3 relative, 1e-4 absolute.
  void Check(Route route);

  // Placement in a session from the file: the share of nodes on Vulkan (0 to 1), and the number of partitions.
  double Share() const;
  size_t Partitions() const;
  // The nodes that the Vulkan plugin doesn't claim, with its reasons, one a line.
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
