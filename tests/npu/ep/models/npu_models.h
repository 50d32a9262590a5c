// Compares quantized networks on the simulated NPU with the CPU plugin, in sessions as an application makes them.
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

inline constexpr uint64_t kFirstSample = 100;  // the samples before it were used for calibration

// Session options for these providers. The NPU compiles with little effort.
SessionOptions Providers(const std::vector<std::string>& names);
// Runs the session with the sample inputs of that index and returns the outputs.
std::vector<Value> RunSample(const Session& session, const std::string& model, uint64_t index);
bool SameBits(const Value& a, const Value& b);
// Returns 10 log10 of the power of `expected` over the power of the difference; a large number if there is no
// difference.
double SignalToNoise(const Value& expected, const Value& found);

// Number of nodes other than QuantizeLinear and DequantizeLinear: by provider, and by partition of the NPU.
struct Placed {
  std::map<std::string, int> nodes;
  std::map<std::string, int> partitions;
  double Share() const;  // share of the nodes that are on the NPU
};
Placed PlacedOf(const Session& session);

class NpuModels : public ::testing::Test {
 protected:
  // Writes the quantized model into the build's folder of models and returns its path.
  static std::filesystem::path Write(const std::string& name);
  const TempDir& folder() const { return folder_; }

  // Makes a session with npu and cpu that writes <context>.onnx into the folder.
  Session CompileContext(const std::filesystem::path& model, const std::string& context,
                         const std::map<std::string, std::string>& more = {}) const;
  // Returns the sizes of the binaries that the NPU plugin wrote.
  std::vector<uint64_t> SizesOfBinaries() const;

  // Checks an image network: nearly all nodes are in one partition, and the best class of each image is the CPU's. If
  // it isn't, the CPU's two best logits must be no further apart than one quantum, which is a tie. Prints how many
  // images are equal and how many are ties. A session from a context must give the same bits.
  void ExpectTopLikeCpu(const std::string& name, int images);
  // Checks the share of a transformer's nodes on the NPU, and the distance of all outputs from the CPU's. Each operator
  // is within a quantum, but the fifty to two hundred operators behind it carry the error on. A session from a context
  // must give the same bits.
  struct Bounds {
    double share;            // least share of the computing nodes on the NPU
    size_t partitions;       // largest number of partitions
    double signal_to_noise;  // least signal-to-noise ratio in dB
  };
  void ExpectNearCpu(const std::string& name, const Bounds& bounds);
  // Checks that the NPU takes as many nodes in one partition and computes the same bits when all readers of a value
  // share its DequantizeLinear.
  void ExpectSharedDequantizeChangesNothing(const std::string& name);

 private:
  TempDir folder_;
};

}  // namespace epiphyte::test
