// Faults of describing and loading blobs. The head of a blob has the layout of the minimal SDK (its blob.h), eight
// numbers of 64 bits: 0 the magic, 1 the mark of the byte order, 2 the version, 3 the size, 4 the digest, 5 the size of
// the description.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "complete.h"

namespace epiphyte::broken {
namespace {

NsdkApi right;

enum { kMagic, kOrder, kVersion, kSize, kDigest, kDescription };

uint64_t HeadOf(const uint8_t* blob, int number) {
  uint64_t value;
  std::memcpy(&value, blob + 8 * number, 8);
  return value;
}

// Writes the minimal SDK's digest into the blob. Faults that ignore the digest use it, so that any bytes pass the
// check.
void Sign(std::vector<uint8_t>& blob) {
  const uint64_t size = HeadOf(blob.data(), kSize);
  if (size > blob.size()) return;
  uint64_t digest = size;
  const auto mix = [&](uint64_t number) {
    digest = (digest ^ number) * 0x9e3779b97f4a7c15u;
    digest ^= digest >> 29;
  };
  for (uint64_t at = 0; at + 8 <= size; at += 8) mix(at == 8 * kDigest ? 0 : HeadOf(blob.data() + at, 0));
  for (uint64_t at = size / 8 * 8; at < size; ++at) mix(blob[at]);
  std::memcpy(&blob[8 * kDigest], &digest, 8);
}

// Returns the bytes that a faulty SDK would accept in place of the given ones. They are passed to the correct
// functions.
std::vector<uint8_t> TakenFor(const void* given, uint64_t size, bool loading) {
  const auto* bytes = static_cast<const uint8_t*>(given);
  std::vector<uint8_t> blob(bytes, bytes + (bytes == nullptr ? 0 : size));
  std::vector<uint8_t> last;
  {
    const std::lock_guard lock(TheShared().lock);
    last = TheShared().last_blob;
  }
  if (blob.size() < 64 || last.size() < 64) return blob;
  if (Fault("153_misses_the_last_byte") && blob.size() + 1 == last.size() &&
      std::equal(blob.begin(), blob.end(), last.begin()))
    return last;
  if (blob.size() != last.size()) return blob;
  if (Fault("154_has_no_digest") &&
      std::equal(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(768, blob.size())),
                 last.begin()))
    Sign(blob);
  if (Fault("155_takes_later_versions") && HeadOf(blob.data(), kVersion) == 2) return last;
  if (Fault("157_takes_the_other_order") && HeadOf(blob.data(), kOrder) != HeadOf(last.data(), kOrder) &&
      std::equal(blob.begin(), blob.begin() + 8, last.begin()) &&
      std::equal(blob.begin() + 16, blob.end(), last.begin() + 16) && blob[8] == 1) {
    return last;
  }
  if (Fault("131_loads_without_magic") && loading && std::equal(blob.begin() + 16, blob.end(), last.begin() + 16) &&
      blob[1] == 'E')
    return last;
  return blob;
}

bool Changes(const std::vector<uint8_t>& taken, const void* given, uint64_t size) {
  return taken.size() != size || (size != 0 && std::memcmp(taken.data(), given, size) != 0);
}

void Crash() { std::abort(); }

// Faults that crash before the bytes are checked.
void BreakOnBytes(const void* given, uint64_t size) {
  const auto* bytes = static_cast<const uint8_t*>(given);
  if (size < 64) return;
  std::vector<uint8_t> last;
  {
    const std::lock_guard lock(TheShared().lock);
    last = TheShared().last_blob;
  }
  const bool magic = last.size() >= 64 && std::equal(bytes, bytes + 8, last.begin());
  if (Fault("106_has_a_buffer_for_4200_bytes") && size > 4200 && last.size() >= 64 && !magic) Crash();
  if (Fault("159_trusts_counts") && magic && HeadOf(bytes, kDescription) == UINT64_MAX) Crash();
}

const NsdkBlobInfo* last_info = nullptr;

NsdkStatus BlobInfo(const void* blob, uint64_t size, const NsdkBlobInfo** info, NsdkReason* reason) {
  BreakOnBytes(blob, size);
  const NsdkStatus status = right.blob_info(blob, size, info, reason);
  if (status != NSDK_OK) {
    if (Fault("103_gives_no_reason") && reason != nullptr && reason->struct_size == sizeof *reason)
      reason->text[0] = '\0';
    if (Fault("118_fills_the_reason") && reason != nullptr && reason->struct_size < 64 && reason->struct_size > 4) {
      std::memset(reason->text, 'x', reason->struct_size - 4);
    }
    return Fault("158_says_internal") && status == NSDK_CORRUPT ? NSDK_INTERNAL : status;
  }
  auto* mine = const_cast<NsdkBlobInfo*>(*info);
  if (Fault("130_forgets_zero_points")) {
    for (uint32_t i = 0; i < mine->graph_count; ++i) const_cast<NsdkIo*>(mine->graphs[i].inputs)->zero_point = 0;
  }
  if (Fault("151_counts_all_bytes")) mine->size = size;
  const std::lock_guard lock(TheShared().lock);
  last_info = *info;
  return status;
}

void BlobInfoRelease(const NsdkBlobInfo* info) {
  if (info == nullptr) return;
  {
    const std::lock_guard lock(TheShared().lock);
    if (Fault("149_releases_all") && last_info != nullptr && last_info != info)
      const_cast<NsdkBlobInfo*>(last_info)->graph_count = 0;
    if (last_info == info) last_info = nullptr;
  }
  right.blob_info_release(info);
}

NsdkStatus CheckBlob(NsdkContext* context, const void* blob, uint64_t size, uint32_t* verdict, NsdkReason* reason) {
  BreakOnBytes(blob, size);
  if (Fault("109_prints")) std::fputs("checking a blob\n", stderr), std::puts("checking a blob");
  if (Fault("160_reads_beyond_the_end") && size > 0) {
    static_cast<void>(static_cast<const uint8_t volatile*>(blob)[size]);
  }
  if (Fault("152_takes_nothing") && size == 0) return *verdict = NSDK_OPTIMAL, NSDK_OK;
  if (Fault("162_needs_a_device")) {
    const std::lock_guard lock(TheShared().lock);
    if (TheShared().without_device.contains(context)) return Explain(reason, NSDK_NO_DEVICE, "there is no device");
  }
  const std::vector<uint8_t> taken = TakenFor(blob, size, false);
  const NsdkStatus status =
      right.check_blob(context, Changes(taken, blob, size) ? taken.data() : blob, taken.size(), verdict, reason);
  if (status != NSDK_OK) return status;
  if (Fault("150_is_never_content") && *verdict == NSDK_OPTIMAL) *verdict = NSDK_PREFER_RECOMPILE;
  if (Fault("156_takes_other_architectures") && *verdict == NSDK_MUST_RECOMPILE) {
    const NsdkBlobInfo* info = nullptr;
    if (right.blob_info(blob, size, &info, nullptr) == NSDK_OK) {
      *verdict = NSDK_OPTIMAL;
      right.blob_info_release(info);
    }
  }
  return NSDK_OK;
}

NsdkStatus Load(NsdkContext* context, const void* blob, uint64_t size, const NsdkLoadOptions* theirs,
                NsdkProgram** program, NsdkReason* reason) {
  if (size > 0) BreakOnBytes(blob, size);
  NsdkLoadOptions options = {};
  if (theirs != nullptr) std::memcpy(&options, theirs, std::min<size_t>(theirs->struct_size, sizeof options));
  if (Fault("113_reads_beyond_structs") && theirs != nullptr && theirs->scratch != nullptr &&
      theirs->scratch->kind == 0)
    return NSDK_INVALID_ARGUMENT;
  options.struct_size = sizeof options;
  if (Fault("164_writes_the_blob") && (options.flags & NSDK_BLOB_STAYS) != 0) {
    auto* first = static_cast<uint8_t volatile*>(const_cast<void*>(blob));
    *first = *first;
  }
  if (Fault("165_wants_alignment") && reinterpret_cast<uintptr_t>(blob) % 8 != 0) {
    *program = nullptr;
    return Explain(reason, NSDK_INVALID_ARGUMENT, "the blob is not aligned");
  }
  if (Fault("196_refuses_priorities") && options.priority < 0) {
    return Explain(reason, NSDK_INVALID_ARGUMENT, "the priority is negative");
  }
  if (Fault("163_keeps_the_callers_blob")) options.flags |= NSDK_BLOB_STAYS;
  NsdkContext* at = context;
  if (Fault("168_loads_without_device")) {
    static NsdkContext* hidden = [] {
      NsdkContextOptions with_device = {};
      with_device.struct_size = sizeof with_device;
      NsdkContext* made = nullptr;
      Minimal().context_create(&with_device, &made, nullptr);
      return made;
    }();
    const std::lock_guard lock(TheShared().lock);
    if (TheShared().without_device.contains(context)) at = hidden;
  }
  const std::vector<uint8_t> taken = TakenFor(blob, size, true);
  NsdkStatus status;
  if (Changes(taken, blob, size)) {
    options.flags = 0;
    status = right.load(at, taken.data(), taken.size(), &options, program, reason);
  } else {
    status = right.load(at, blob, size, &options, program, reason);
  }
  if (status != NSDK_OK && Fault("103_leaves_the_program")) *program = reinterpret_cast<NsdkProgram*>(&right);
  return status == NSDK_CORRUPT && Fault("161_says_internal") ? NSDK_INTERNAL : status;
}

}  // namespace

void BreakBlobs(NsdkApi& table) {
  right = table;
  table.blob_info = BlobInfo;
  table.blob_info_release = BlobInfoRelease;
  table.check_blob = CheckBlob;
  table.load = Load;
}

}  // namespace epiphyte::broken
