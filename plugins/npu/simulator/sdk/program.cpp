#include "plugins/npu/simulator/sdk/program.h"

#include <algorithm>
#include <limits>

#include "plugins/npu/simulator/sdk/status.h"

namespace epiphyte::npusim {
namespace {

// FNV-1a over words. It only finds candidates; their bytes are then compared.
uint64_t HashOf(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325u ^ bytes.size();
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  for (; i < bytes.size(); ++i) hash = (hash ^ static_cast<uint64_t>(bytes[i])) * 0x100000001b3u;
  return hash;
}

}  // namespace

SharedWeights::Bytes SharedWeights::Find(std::span<const std::byte> weights) {
  const uint64_t hash = HashOf(weights);
  const std::lock_guard lock(mutex);
  std::erase_if(by_hash, [](const auto& entry) { return entry.second.expired(); });
  for (auto [at, end] = by_hash.equal_range(hash); at != end; ++at) {
    const Bytes there = at->second.lock();
    if (there != nullptr && std::equal(there->begin(), there->end(), weights.begin(), weights.end())) return there;
  }
  auto copy = std::make_shared<const std::vector<std::byte>>(weights.begin(), weights.end());
  by_hash.emplace(hash, copy);
  return copy;
}

std::unique_ptr<NsdkProgram> LoadProgram(NsdkContext& context, std::span<const std::byte> bytes,
                                         const NsdkLoadOptions& options) {
  Require((options.flags & ~uint32_t{NSDK_BLOB_STAYS}) == 0,
          "load flags are " + std::to_string(options.flags) + ", known is 1 (blob stays)");
  Require(options.scratch == nullptr || options.scratch->kind == NSDK_SHARE_SCRATCH,
          "the group for scratch shares weights, expected one of kind 1 (share scratch)");
  Require(options.weights == nullptr || options.weights->kind == NSDK_SHARE_WEIGHTS,
          "the group for weights shares scratch, expected one of kind 2 (share weights)");
  Require(context.has_device, "the context was made for no device, expected one for device 0", NSDK_NO_DEVICE);

  auto program = std::make_unique<NsdkProgram>();
  program->context = &context;
  program->priority = options.priority;
  program->blob = ReadBlob(bytes);
  Blob& blob = program->blob;
  std::string why;
  if (FitOf(blob, context.settings.config, &why) == Fit::kMustRecompile) throw SdkError(NSDK_INCOMPATIBLE, why);
  if ((options.flags & NSDK_BLOB_STAYS) == 0) {
    program->weights = options.weights != nullptr
                           ? options.weights->weights->Find(blob.weights)
                           : std::make_shared<const std::vector<std::byte>>(blob.weights.begin(), blob.weights.end());
    blob.weights = *program->weights;
  }
  if (options.scratch != nullptr) {
    program->scratch = options.scratch->scratch;
    uint64_t size = 0;
    for (const BlobGraph& graph : blob.graphs) size = std::max(size, graph.scratch_size);
    const Turns::Turn turn(program->scratch->turns, std::numeric_limits<int32_t>::max(), {});
    if (program->scratch->memory.size() < size) program->scratch->memory = ZeroedBytes(size);
  }
  return program;
}

}  // namespace epiphyte::npusim

const epiphyte::npusim::CycleCounters& NsdkProgram::CountersOf(uint32_t graph) {
  const std::lock_guard lock(mutex_);
  const auto found = counters_.find(graph);
  if (found != counters_.end()) return found->second;
  return counters_[graph] = epiphyte::npusim::Simulate(blob.graphs[graph].program, context->settings.config).counters;
}
