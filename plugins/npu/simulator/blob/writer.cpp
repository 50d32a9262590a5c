#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "plugins/npu/simulator/blob/blob.h"
#include "plugins/npu/simulator/blob/digest.h"
#include "plugins/npu/simulator/blob/format.h"
#include "plugins/npu/simulator/blob/little_endian.h"
#include "plugins/npu/simulator/isa/encoding.h"

namespace epiphyte::npusim {
namespace {

using Bytes = std::vector<std::byte>;

void PutText(Bytes& bytes, const std::string& text) {
  PutLittleEndian<uint32_t>(bytes, static_cast<uint32_t>(text.size()));
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

void PutIos(Bytes& bytes, const std::vector<BlobIo>& ios) {
  PutLittleEndian<uint32_t>(bytes, static_cast<uint32_t>(ios.size()));
  for (const BlobIo& io : ios) {
    PutText(bytes, io.name);
    PutLittleEndian<uint32_t>(bytes, io.type);
    PutLittleEndian<uint32_t>(bytes, std::bit_cast<uint32_t>(io.scale));
    PutLittleEndian<uint32_t>(bytes, static_cast<uint32_t>(io.zero_point));
    PutLittleEndian<uint32_t>(bytes, static_cast<uint32_t>(io.dims.size()));
    for (const int64_t dim : io.dims) PutLittleEndian<uint64_t>(bytes, static_cast<uint64_t>(dim));
    PutLittleEndian<uint64_t>(bytes, io.size);
  }
}

// Collects the weights of all graphs; equal pieces are stored once.
class Weights {
 public:
  // Returns the piece's offset. The piece must stay in place until CopyTo.
  uint64_t Add(const Bytes& piece) {
    const uint64_t digest = Digest(piece);
    const auto [first, last] = known_.equal_range(digest);
    for (auto it = first; it != last; ++it) {
      if (*it->second.bytes == piece) return it->second.offset;
    }
    const uint64_t offset = Aligned(size_);
    known_.emplace(digest, Piece{offset, &piece});
    size_ = offset + piece.size();
    return offset;
  }
  uint64_t size() const { return size_; }
  // `to` has size() zeros.
  void CopyTo(std::byte* to) const {
    for (const auto& [digest, piece] : known_) std::copy(piece.bytes->begin(), piece.bytes->end(), to + piece.offset);
  }

 private:
  struct Piece {
    uint64_t offset;
    const Bytes* bytes;
  };
  std::multimap<uint64_t, Piece> known_;
  uint64_t size_ = 0;
};

Bytes ProgramOf(const CompiledGraph& graph, Weights& weights, uint64_t& used) {
  std::vector<uint64_t> moved;
  std::set<uint64_t> counted;
  for (const WeightPiece& piece : graph.weights) {
    moved.push_back(weights.Add(*piece.bytes));
    if (counted.insert(moved.back()).second) used += piece.bytes->size();
  }
  Bytes stream;
  for (Command command : graph.program) {
    if (auto* load = std::get_if<LoadCommand>(&command.work); load != nullptr && load->region == kWeights) {
      const auto next = std::upper_bound(graph.weights.begin(), graph.weights.end(), load->external_offset,
                                         [](uint64_t at, const WeightPiece& piece) { return at < piece.offset; });
      const size_t index = static_cast<size_t>(next - graph.weights.begin()) - 1;
      load->external_offset += moved[index] - graph.weights[index].offset;
    }
    Encode(command, stream);
  }
  return stream;
}

Bytes DeviceOf(const Config& config, const std::string& sdk_version) {
  Bytes bytes;
  PutText(bytes, Architecture(config));
  PutText(bytes, sdk_version);
  PutLittleEndian<uint32_t>(bytes, kCompilerRevision);
  for (const uint32_t value :
       {config.rows, config.columns, config.scratchpad_bytes, config.accumulator_bytes, config.dma_millibytes_per_cycle,
        config.dma_latency, config.axi_bytes, config.dma_efficiency_permille, config.fold_overhead_millicycles}) {
    PutLittleEndian<uint32_t>(bytes, value);
  }
  return bytes;
}

}  // namespace

std::vector<std::byte> WriteBlob(const Config& config, std::span<const CompiledGraph* const> graphs,
                                 const std::string& sdk_version) {
  struct Part {
    Section kind;
    uint32_t graph;
    Bytes bytes;  // bytes of the section; empty for weights, which are copied straight into the blob
    uint64_t size = bytes.size();
    uint64_t at = 0;
  };
  std::vector<Part> parts = {{Section::kDevice, 0, DeviceOf(config, sdk_version)}, {Section::kWeights, 0, {}}};
  Weights weights;
  std::set<std::string> names;
  for (uint32_t i = 0; i < graphs.size(); ++i) {
    const CompiledGraph& graph = *graphs[i];
    if (!names.insert(graph.name).second) {
      throw std::invalid_argument("two graphs are named \"" + graph.name + "\", expected names that differ in a blob");
    }
    uint64_t used = 0;
    Bytes program = ProgramOf(graph, weights, used);
    Bytes bytes;
    PutText(bytes, graph.name);
    PutLittleEndian<uint64_t>(bytes, used);
    PutLittleEndian<uint64_t>(bytes, graph.scratch_size);
    PutLittleEndian<uint32_t>(bytes, graph.scratchpad_peak);
    PutIos(bytes, graph.inputs);
    PutIos(bytes, graph.outputs);
    PutLittleEndian<uint32_t>(bytes, static_cast<uint32_t>(graph.op_names.size()));
    for (const std::string& name : graph.op_names) PutText(bytes, name);
    parts.push_back({Section::kGraph, i, std::move(bytes)});
    parts.push_back({Section::kProgram, i, std::move(program)});
  }
  parts[1].size = weights.size();

  uint64_t size = kHeadSize + kSectionEntrySize * parts.size();
  for (Part& part : parts) {
    part.at = Aligned(size);
    size = part.at + part.size;
  }
  Bytes blob(size);
  for (const Part& part : parts) std::copy(part.bytes.begin(), part.bytes.end(), blob.begin() + part.at);
  weights.CopyTo(blob.data() + parts[1].at);

  Bytes table;
  for (const Part& part : parts) {
    PutLittleEndian<uint32_t>(table, static_cast<uint32_t>(part.kind));
    PutLittleEndian<uint32_t>(table, part.graph);
    PutLittleEndian<uint64_t>(table, part.at);
    PutLittleEndian<uint64_t>(table, part.size);
    PutLittleEndian<uint64_t>(table, Digest({blob.data() + part.at, part.size}));
  }
  Bytes head;
  for (int i = 0; i < 8; ++i) head.push_back(static_cast<std::byte>(kBlobMagic[i]));
  PutLittleEndian<uint32_t>(head, kEndianMark);
  PutLittleEndian<uint32_t>(head, kBlobVersion);
  PutLittleEndian<uint64_t>(head, size);
  PutLittleEndian<uint32_t>(head, static_cast<uint32_t>(parts.size()));
  PutLittleEndian<uint32_t>(head, 0);
  PutLittleEndian<uint64_t>(head, Digest(table, Digest(head)));
  head.insert(head.end(), table.begin(), table.end());
  std::copy(head.begin(), head.end(), blob.begin());
  return blob;
}

}  // namespace epiphyte::npusim
