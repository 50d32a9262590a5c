#include "core/runtime/source_files.h"

#include <utility>

#include "core/base/error.h"
#include "core/context/recorded_bytes.h"

namespace epiphyte::core {
namespace {

// Smallest file with pages that are worth giving back; for a smaller one the system calls cost more than the memory.
constexpr uint64_t kLargeFile = uint64_t{32} << 20;

void ReleaseAll(const std::vector<std::weak_ptr<const MappedFile>>& files) {
  for (const auto& weak : files) {
    if (const std::shared_ptr<const MappedFile> file = weak.lock()) file->ReleasePages();
  }
}

}  // namespace

ReadOptions SourceFiles::MakeReadOptions(const SessionConfig& config, const std::filesystem::path& path,
                                         ThreadPool* pool, const ProgressCallback& on_progress) const {
  ReadingChecks checks;
  checks.what = path.empty() ? std::string("the context model") : fmt::format("context model '{}'", path.string());
  checks.digests = config.context.verify_digests;
  checks.pool = pool;
  checks.on_progress = on_progress;
  checks.store = config.context_store;
  checks.on_checked = [found = found_](bool sealed) { found->seal_checked = sealed; };
  ReadOptions read = CheckedReading(std::move(checks));
  read.external_data_folder = config.external_data_folder;
  read.keep_function = [](const Node&) { return true; };  // functions are inlined later, when their claims are known
  read.on_model_mapped = [found = found_](std::shared_ptr<const MappedFile> file) {
    found->used.Add(*file);
    if (file->size() >= kLargeFile) found->large.push_back(file);
  };
  read.accept_external = [found = found_, check = std::move(read.accept_external)](const std::string& name,
                                                                                   const ExternalFile& file) {
    found->external_files.push_back(name);
    if (file.mapping) found->used.Add(*file.mapping);
    if (file.mapping && file.size >= kLargeFile) found->large.push_back(file.mapping);
    check(name, file);
  };
  return read;
}

ProgressFunction SourceFiles::ReleasePagesOn(ProgressFunction progress) const {
  if (found_->large.empty()) return progress;
  return [found = found_, report = std::move(progress)](uint64_t done, uint64_t total, const std::string& text) {
    ReleaseAll(found->large);
    return report && report(done, total, text);
  };
}

void SourceFiles::ReleasePages() const { ReleaseAll(found_->large); }

}  // namespace epiphyte::core
