// The blob: the compiler's output, with everything that a device needs to run it. Numbers are little endian.
//
//   head      "EPNPUSIM", endianness mark, version, size, number of sections, digest of head and section table
//   sections  a table of {kind, graph, offset, size, digest}; then the sections themselves, each at a multiple of 64,
//             zeros between: device, weights (of all graphs, equal ones once), and for each graph what it is (names,
//             inputs, outputs, memory) and its program (isa/encoding.h)
//
//   std::vector<std::byte> bytes = WriteBlob(config, {&compiled});
//   Blob blob = ReadBlob(bytes);          // throws BlobError; or every command of every graph is safe to execute
//
// Blobs are hostile. ReadBlob checks every byte: each belongs to the head, to a section with a valid digest, or is a
// zero between two sections. Programs are decoded and verified (isa/encoding.h) against the device that the blob itself
// names. ReadDescription checks only the parts that it returns. So it costs nothing compared with ReadBlob, which
// always follows before anything runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/npu/simulator/isa/command.h"
#include "plugins/npu/simulator/isa/config.h"

namespace epiphyte::npusim {

inline constexpr uint32_t kBlobVersion = 1;
// Raised whenever the compiler makes other programs of equal graphs. Blobs of another revision still run.
inline constexpr uint32_t kCompilerRevision = 1;

struct BlobIo {
  std::string name;
  uint32_t type = 0;  // NsdkType
  std::vector<int64_t> dims;
  float scale = 0;  // 0: not quantised
  int32_t zero_point = 0;
  uint64_t size = 0;  // bytes
};

// A range of weights that programs load from. `offset` is in the weights of its graph, as its commands see them.
struct WeightPiece {
  uint64_t offset = 0;
  std::shared_ptr<const std::vector<std::byte>> bytes;
};

// Output of the compiler for one graph. Each load from weights stays within one piece.
struct CompiledGraph {
  std::string name;
  std::vector<BlobIo> inputs, outputs;
  std::vector<std::string> op_names;  // by Command::op
  std::vector<Command> program;
  std::vector<WeightPiece> weights;  // by offset
  uint64_t scratch_size = 0;
  uint32_t scratchpad_peak = 0;
};

struct BlobGraph {
  std::string name;
  std::vector<BlobIo> inputs, outputs;
  std::vector<std::string> op_names;
  std::vector<Command> program;
  uint64_t weights_size = 0;  // bytes of the weights that its program uses
  uint64_t scratch_size = 0;
  uint32_t scratchpad_peak = 0;
};

struct Blob {
  uint32_t version = 0;
  uint32_t compiler_revision = 0;
  std::string sdk_version;
  std::string architecture;
  Config config;                       // configuration that it was compiled for
  uint64_t size = 0;                   // bytes after the blob don't count
  std::span<const std::byte> weights;  // in place
  std::vector<BlobGraph> graphs;
};

class BlobError : public std::runtime_error {
 public:
  enum Kind { kCorrupt, kIncompatible };
  BlobError(Kind kind, const std::string& what) : std::runtime_error(what), kind(kind) {}
  Kind kind;
};

// Graphs are written in this order. Throws std::invalid_argument for equal names.
std::vector<std::byte> WriteBlob(const Config& config, std::span<const CompiledGraph* const> graphs,
                                 const std::string& sdk_version);

// The result's weights point into `bytes`.
Blob ReadBlob(std::span<const std::byte> bytes);

// Like ReadBlob, without programs. Weights and programs must be where the head says, and may be damaged.
Blob ReadDescription(std::span<const std::byte> bytes);

enum class Fit { kOptimal, kPreferRecompile, kMustRecompile };
// Whether a device of this config runs the blob. `why` names the difference if the result isn't kOptimal.
Fit FitOf(const Blob& blob, const Config& device, std::string* why);

}  // namespace epiphyte::npusim
