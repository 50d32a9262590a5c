// Quantised networks on the simulated NPU beside the CPU plugin, as an application runs them.
//
//   TEST_F(NpuModels, MobileNetV2) { ExpectTopLikeCpu("mobilenetv2_qdq", 8); }
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/session.hpp"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {

inline constexpr uint64_t kFirstSample = 100;  // those before it calibrated

// The NPU's compiles fast.
SessionOptions Providers(const std::vector<std::string>& names);
// Runs the session with the sample inputs of that index.
std::vector<Value> RunSample(const Session& session, const std::string& model, uint64_t index);
bool SameBits(const Value& a, const Value& b);
// 10 log10 of the power of `expected` over that of the difference; large when there is none.
double SignalToNoise(const Value& expected, const Value& found);

// Nodes that compute, by provider, and the partitions of the NPU.
struct Placed {
  std::map<std::string, int> nodes;
  std::map<std::string, int> partitions;
  double Share() const;  // share of the nodes that the NPU has
};
Placed PlacedOf(const Session& session);

class NpuModels : public ::testing::Test {
 protected:
  // The quantised model, from the build's folder of models.
  static std::filesystem::path Write(const std::string& name);
  const TempDir& folder() const { return folder_; }

  // A session with npu and cpu that writes <context>.onnx into the folder.
  Session CompileContext(const std::filesystem::path& model, const std::string& context,
                         const std::map<std::string, std::string>& more = {}) const;
  // Sizes of the binaries that the NPU's plugin wrote.
  std::vector<uint64_t> SizesOfBinaries() const;

  // Nearly all of a network of images is in one partition. The best class of each image is the CPU's, or the CPU's two
  // best are no further apart than one quantum of the logits: then it's no more than a tie. Says how many are which.
  // And so it is from a context, bit for bit.
  void ExpectTopLikeCpu(const std::string& name, int images);
  // Share of a transformer's nodes that the NPU takes, and the distance of all outputs from the CPU's. Each operator
  // is within a quantum, and the fifty to two hundred operators behind it carry the error on. A session from a context
  // gives the same bits.
  struct Bounds {
    double share;            // least share of the computing nodes
    size_t partitions;       // at most
    double signal_to_noise;  // dB, at least
  };
  void ExpectNearCpu(const std::string& name, const Bounds& bounds);
  // When all readers of a value share its DequantizeLinear, the NPU has as many nodes in one partition, and computes
  // the same bits.
  void ExpectSharedDequantizeChangesNothing(const std::string& name);

 private:
  TempDir folder_;
};

}  // namespace epiphyte::test
