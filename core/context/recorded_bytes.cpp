#include "core/context/recorded_bytes.h"

#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/context/seal.h"

namespace epiphyte::core {
namespace {

constexpr std::string_view kAdvice = "restore it or compile the model again";

ExternalFile OpenInStore(const std::shared_ptr<ContextStore>& store, const std::string& name) {
  ContextStore::Bytes bytes;
  try {
    bytes = store->Open(name);
  } catch (const Error& error) {
    Fail(StatusCode::kInvalidGraph, "initializers '{}' can't be read from the context store: {}", name,
         error.message());
  }
  if (!bytes.owner) bytes.owner = store;
  return {static_cast<const uint8_t*>(bytes.data), bytes.size, std::move(bytes.owner)};
}

}  // namespace

std::string Mismatch(std::string_view what, const FileRecord& record, uint64_t size,
                     const std::function<std::string()>& digest) {
  if (size != record.size) {
    return fmt::format("{} has {} bytes, but the context model was written with {}: it was replaced or cut off; {}",
                       what, size, record.size, kAdvice);
  }
  if (!digest) return {};
  const std::string found = digest();
  if (found == record.xxh128) return {};
  return fmt::format("{} has digest {}, but the context model was written with {}: it was replaced or damaged; {}",
                     what, found, record.xxh128, kAdvice);
}

std::string InitializersMismatch(const std::vector<FileRecord>& records, const std::string& name,
                                 const ExternalFile& file, bool digests, ThreadPool* pool,
                                 const ProgressCallback& on_progress) {
  const FileRecord* record = FindRecord(records, name);
  if (record == nullptr) return {};
  std::function<std::string()> digest;
  if (digests) {
    digest = [&] {
      return file.mapping ? file.mapping->Digest(pool, on_progress)
                          : Xxh128OfMapping(file.data, file.size, pool, on_progress);
    };
  }
  return Mismatch(fmt::format("initializers file '{}'", name), *record, file.size, digest);
}

ReadOptions CheckedReading(ReadingChecks checks) {
  ReadOptions read;
  read.on_progress = checks.on_progress;
  auto records = std::make_shared<std::vector<FileRecord>>();
  read.accept_model = [records, checks](std::string_view bytes, const Metadata& metadata) {
    *records = ReadInitializersRecords(metadata);
    if (checks.digests) RequireSeal(bytes.data(), bytes.size(), metadata, checks.what, checks.on_progress);
    const bool sealed = checks.digests && SizeWithoutSeal(bytes.data(), bytes.size()) != bytes.size();
    if (checks.on_checked) checks.on_checked(sealed);
  };
  read.open_external = [records, store = checks.store](const std::string& name) -> ExternalFile {
    if (!store || FindRecord(*records, name) == nullptr) return {};
    return OpenInStore(store, name);
  };
  read.accept_external = [records, checks = std::move(checks)](const std::string& name, const ExternalFile& file) {
    const std::string problem =
        InitializersMismatch(*records, name, file, checks.digests, checks.pool, checks.on_progress);
    if (!problem.empty()) Fail(StatusCode::kInvalidGraph, "{}", problem);
  };
  return read;
}

}  // namespace epiphyte::core
