#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "plugins/npu/sdk/include/nsdk.h"
#include "plugins/npu/simulator/blob/blob.h"
#include "plugins/npu/simulator/blob/digest.h"
#include "plugins/npu/simulator/blob/format.h"
#include "plugins/npu/simulator/blob/little_endian.h"
#include "plugins/npu/simulator/isa/encoding.h"

namespace epiphyte::npusim {
namespace {

using Bytes = std::span<const std::byte>;

[[noreturn]] void Corrupt(const std::string& what) { throw BlobError(BlobError::kCorrupt, what); }
[[noreturn]] void Incompatible(const std::string& what) { throw BlobError(BlobError::kIncompatible, what); }

// Reads a section's fields from its first to its last byte.
class Fields {
 public:
  Fields(Bytes bytes, std::string section) : bytes_(bytes), section_(std::move(section)) {}

  template <typename T>
  T Number() {
    Need(sizeof(T));
    const T value = LittleEndian<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }
  std::string Text() {
    const uint32_t size = Number<uint32_t>();
    Need(size);
    std::string text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    if (text.find('\0') != std::string::npos) Corrupt(section_ + " has a text with a zero in it");
    at_ += size;
    return text;
  }
  // Reads a count of items, each of at least `smallest` bytes.
  uint32_t Count(size_t smallest) {
    const uint32_t count = Number<uint32_t>();
    if (count > (bytes_.size() - at_) / smallest) {
      Corrupt(section_ + " says that " + std::to_string(count) + " entries follow, and ends before them");
    }
    return count;
  }
  void End() const {
    if (at_ != bytes_.size()) {
      Corrupt(section_ + " has " + std::to_string(bytes_.size() - at_) + " bytes behind its last field");
    }
  }

 private:
  void Need(size_t size) const {
    if (size > bytes_.size() - at_) Corrupt(section_ + " ends within a field");
  }

  Bytes bytes_;
  std::string section_;
  size_t at_ = 0;
};

uint64_t TypeBytes(uint32_t type) {
  switch (type) {
    case NSDK_INT8:
    case NSDK_UINT8: return 1;
    case NSDK_INT16:
    case NSDK_UINT16: return 2;
    case NSDK_INT32:
    case NSDK_FLOAT32: return 4;
    default: return 0;
  }
}

std::vector<BlobIo> ReadIos(Fields& fields, const std::string& graph) {
  std::vector<BlobIo> ios(fields.Count(28));
  for (BlobIo& io : ios) {
    io.name = fields.Text();
    io.type = fields.Number<uint32_t>();
    io.scale = std::bit_cast<float>(fields.Number<uint32_t>());
    io.zero_point = static_cast<int32_t>(fields.Number<uint32_t>());
    io.dims.resize(fields.Count(8));
    uint64_t size = TypeBytes(io.type);
    if (size == 0) Corrupt(graph + ": \"" + io.name + "\" has type " + std::to_string(io.type) + ", which isn't one");
    if (io.dims.size() > 8) Corrupt(graph + ": \"" + io.name + "\" has more than 8 dimensions");
    if (!std::isfinite(io.scale) || io.scale < 0) Corrupt(graph + ": the scale of \"" + io.name + "\" isn't positive");
    for (int64_t& dim : io.dims) {
      dim = static_cast<int64_t>(fields.Number<uint64_t>());
      if (dim < 1 || static_cast<uint64_t>(dim) > (uint64_t{1} << 40) / size) {
        Corrupt(graph + ": the dimensions of \"" + io.name + "\" are out of range");
      }
      size *= static_cast<uint64_t>(dim);
    }
    io.size = fields.Number<uint64_t>();
    if (io.size != size) {
      Corrupt(graph + ": \"" + io.name + "\" says that it has " + std::to_string(io.size) +
              " bytes, its dimensions make " + std::to_string(size));
    }
  }
  return ios;
}

// The part of a blob that is checked.
enum class Part { kDescription, kAll };

struct Entry {
  Section kind;
  uint32_t graph;
  Bytes bytes;
};

std::string NameOf(const Entry& entry) {
  switch (entry.kind) {
    case Section::kDevice: return "the section about the device";
    case Section::kWeights: return "the section of weights";
    case Section::kGraph: return "the section about graph " + std::to_string(entry.graph);
    case Section::kProgram: return "the program of graph " + std::to_string(entry.graph);
  }
  return "a section";
}

bool IsOf(Section kind, Part part) { return part == Part::kAll || kind == Section::kDevice || kind == Section::kGraph; }

// Reads the head and the table. Checks that every byte belongs to something, and checks the digests of the sections in
// `part`.
std::vector<Entry> ReadSections(Bytes bytes, Part part, uint64_t& size) {
  if (bytes.size() < kHeadSize) {
    Corrupt("it has " + std::to_string(bytes.size()) + " bytes, the head of a blob alone has " +
            std::to_string(kHeadSize));
  }
  if (std::memcmp(bytes.data(), kBlobMagic, 8) != 0) {
    Corrupt("it doesn't begin with " + std::string(kBlobMagic) + ": not a blob of this SDK");
  }
  const auto mark = LittleEndian<uint32_t>(bytes.data() + kEndianAt);
  if (mark == 0x04030201) Incompatible("the blob has its numbers in big endian, expected little endian");
  if (mark != kEndianMark) Corrupt("its endianness mark isn't one");
  const auto version = LittleEndian<uint32_t>(bytes.data() + kVersionAt);
  if (version != kBlobVersion) {
    Incompatible("the blob has format version " + std::to_string(version) + ", this SDK reads version " +
                 std::to_string(kBlobVersion) + ": compile the model again");
  }
  size = LittleEndian<uint64_t>(bytes.data() + kSizeAt);
  if (size > bytes.size()) {
    Corrupt("its head says that it has " + std::to_string(size) + " bytes, there are " + std::to_string(bytes.size()));
  }
  const uint64_t count = LittleEndian<uint32_t>(bytes.data() + kSectionCountAt);
  if (size < kHeadSize || count > (size - kHeadSize) / kSectionEntrySize) {
    Corrupt("its head says that it has " + std::to_string(count) + " sections, which its size doesn't hold");
  }
  const Bytes table = bytes.subspan(kHeadSize, count * kSectionEntrySize);
  if (LittleEndian<uint32_t>(bytes.data() + kZeroAt) != 0 ||
      LittleEndian<uint64_t>(bytes.data() + kHeadDigestAt) != Digest(table, Digest(bytes.first(kHeadDigestAt)))) {
    Corrupt("its head was damaged: the digest differs");
  }

  std::vector<Entry> entries;
  uint64_t end = kHeadSize + table.size();
  const auto zeros_until = [&](uint64_t next) {
    if (!std::all_of(bytes.begin() + end, bytes.begin() + next, [](std::byte b) { return b == std::byte{0}; })) {
      Corrupt("there is something between its sections");
    }
  };
  for (uint64_t i = 0; i < count; ++i) {
    const std::byte* at = table.data() + i * kSectionEntrySize;
    const auto offset = LittleEndian<uint64_t>(at + 8);
    const auto length = LittleEndian<uint64_t>(at + 16);
    if (offset != Aligned(end) || offset > size || length > size - offset) {
      Corrupt("section " + std::to_string(i) + " is at " + std::to_string(offset) + " with " + std::to_string(length) +
              " bytes, expected at " + std::to_string(Aligned(end)) + " and within " + std::to_string(size));
    }
    zeros_until(offset);
    end = offset + length;
    entries.push_back({static_cast<Section>(LittleEndian<uint32_t>(at)), LittleEndian<uint32_t>(at + 4),
                       bytes.subspan(offset, length)});
    const Entry& entry = entries.back();
    if (IsOf(entry.kind, part) && Digest(entry.bytes) != LittleEndian<uint64_t>(at + 24)) {
      Corrupt(NameOf(entry) + " was damaged: its digest differs");
    }
  }
  if (end != size) Corrupt("it has " + std::to_string(size - end) + " bytes behind its last section");
  return entries;
}

void ReadDevice(Bytes section, Blob& blob) {
  Fields fields(section, "the section about the device");
  blob.architecture = fields.Text();
  blob.sdk_version = fields.Text();
  blob.compiler_revision = fields.Number<uint32_t>();
  Config& config = blob.config;
  for (uint32_t* value : {&config.rows, &config.columns, &config.scratchpad_bytes, &config.accumulator_bytes,
                          &config.dma_millibytes_per_cycle, &config.dma_latency, &config.axi_bytes,
                          &config.dma_efficiency_permille, &config.fold_overhead_millicycles}) {
    *value = fields.Number<uint32_t>();
  }
  fields.End();
  try {
    CheckConfig(config);
  } catch (const std::invalid_argument& e) {
    Corrupt(std::string("it is for a device that can't be: ") + e.what());
  }
  if (blob.architecture != Architecture(config)) {
    Corrupt("it is for architecture \"" + blob.architecture + "\", but its device is \"" + Architecture(config) + "\"");
  }
}

BlobGraph ReadGraph(const Entry& about, const Blob& blob) {
  Fields fields(about.bytes, NameOf(about));
  BlobGraph graph;
  graph.name = fields.Text();
  const std::string who = "graph \"" + graph.name + "\"";
  if (graph.name.empty() || graph.name.size() > 1023) Corrupt("the name of a graph hasn't 1 to 1,023 bytes");
  graph.weights_size = fields.Number<uint64_t>();
  graph.scratch_size = fields.Number<uint64_t>();
  graph.scratchpad_peak = fields.Number<uint32_t>();
  graph.inputs = ReadIos(fields, who);
  graph.outputs = ReadIos(fields, who);
  graph.op_names.resize(fields.Count(4));
  for (std::string& name : graph.op_names) name = fields.Text();
  fields.End();
  if (graph.weights_size > blob.weights.size()) Corrupt(who + " says that it has more weights than the blob");
  if (graph.scratch_size > uint64_t{1} << 40) Corrupt(who + " asks for more than a TiB of scratch memory");
  if (graph.scratchpad_peak > blob.config.scratchpad_bytes) Corrupt(who + " uses more scratchpad than there is");
  return graph;
}

// Scratch memory must be justified by writes. A blob of a few bytes that asks for gigabytes isn't the compiler's.
// Blocks are aligned and rows in them may be padded, so the limit exceeds the written bytes.
void CheckScratch(const BlobGraph& graph, const std::string& who) {
  constexpr uint64_t kMostTimes = 16;
  constexpr uint64_t kAlways = uint64_t{1} << 20;
  uint64_t written = 0;
  for (const Command& command : graph.program) {
    const auto* const store = std::get_if<StoreCommand>(&command.work);
    if (store == nullptr || store->region != kScratch) continue;
    uint64_t bytes = store->run;  // verified: below 2^40
    for (const uint32_t count : store->count) bytes *= count;
    written += bytes;
  }
  if (graph.scratch_size <= kAlways || graph.scratch_size / kMostTimes <= written) return;
  Corrupt(who + " asks for " + std::to_string(graph.scratch_size) +
          " bytes of scratch memory, of which its program writes " + std::to_string(written));
}

void ReadProgram(const Entry& program, const Blob& blob, BlobGraph& graph) {
  const std::string who = "graph \"" + graph.name + "\"";
  RegionSizes regions{.weights = blob.weights.size(), .scratch = graph.scratch_size};
  for (const BlobIo& io : graph.inputs) regions.inputs.push_back(io.size);
  for (const BlobIo& io : graph.outputs) regions.outputs.push_back(io.size);
  try {
    graph.program = Decode(program.bytes);
    Verify(graph.program, blob.config, regions);
  } catch (const BadProgram& e) {
    Corrupt(who + ": " + e.what());
  }
  CheckScratch(graph, who);
  for (const Command& command : graph.program) {
    if (command.op >= graph.op_names.size()) Corrupt(who + ": a command belongs to an operator that there isn't");
  }
}

Blob Read(Bytes bytes, Part part) {
  Blob blob;
  const std::vector<Entry> entries = ReadSections(bytes, part, blob.size);
  blob.version = kBlobVersion;
  if (entries.size() < 4 || entries.size() % 2 != 0) {
    Corrupt("it has " + std::to_string(entries.size()) + " sections, expected two and two more for each graph");
  }
  std::set<std::string> names;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Section expected = i == 0       ? Section::kDevice
                             : i == 1     ? Section::kWeights
                             : i % 2 == 0 ? Section::kGraph
                                          : Section::kProgram;
    const uint32_t graph = i < 2 ? 0 : static_cast<uint32_t>(i / 2 - 1);
    if (entries[i].kind != expected || entries[i].graph != graph) {
      Corrupt("section " + std::to_string(i) + " isn't what it should be in a blob");
    }
  }
  ReadDevice(entries[0].bytes, blob);
  blob.weights = entries[1].bytes;
  for (size_t i = 2; i < entries.size(); i += 2) {
    blob.graphs.push_back(ReadGraph(entries[i], blob));
    if (part == Part::kAll) ReadProgram(entries[i + 1], blob, blob.graphs.back());
    if (!names.insert(blob.graphs.back().name).second) {
      Corrupt("it has two graphs named \"" + blob.graphs.back().name + "\"");
    }
  }
  return blob;
}

}  // namespace

Blob ReadBlob(std::span<const std::byte> bytes) { return Read(bytes, Part::kAll); }

Blob ReadDescription(std::span<const std::byte> bytes) { return Read(bytes, Part::kDescription); }

Fit FitOf(const Blob& blob, const Config& device, std::string* why) {
  const auto say = [&](const std::string& text) {
    if (why != nullptr) *why = text;
  };
  if (const std::string here = Architecture(device); blob.architecture != here) {
    say("the blob is for architecture \"" + blob.architecture + "\", the device is \"" + here + "\"");
    return Fit::kMustRecompile;
  }
  if (!(blob.config == device)) {
    say("the blob was compiled for a memory port of another speed: it runs, but would be faster compiled again");
    return Fit::kPreferRecompile;
  }
  if (blob.compiler_revision != kCompilerRevision) {
    say("the blob was made by revision " + std::to_string(blob.compiler_revision) + " of the compiler, this one is " +
        std::to_string(kCompilerRevision) + ": it runs, but may be better compiled again");
    return Fit::kPreferRecompile;
  }
  return Fit::kOptimal;
}

}  // namespace epiphyte::npusim
