#include "core/context/context_set.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/context/publisher.h"

namespace epiphyte::core {
namespace {

// Limit of an embedded payload: protobuf's limit for a message, less room for the model around it.
constexpr uint64_t kMaxEmbedded = (uint64_t{1} << 31) - (uint64_t{16} << 20);

}  // namespace

ContextSet::Payload::Payload(const ContextSet& set, const Provider& provider, size_t index,
                             const ProgressCallback& on_progress) {
  record_.provider = provider.name();
  record_.plugin_version = provider.plugin().version;
  if (set.first_.embed) return;
  record_.file = set.BinaryName(provider.name(), index);
  file_ =
      std::make_unique<OutputFile>(set.first_.model.parent_path() / record_.file, set.first_.store.get(), on_progress);
}

void ContextSet::Payload::Write(const void* data, uint64_t size) {
  record_.size += size;
  if (file_) {
    file_->Write(data, size);
    return;
  }
  if (size > kMaxEmbedded || record_.size > kMaxEmbedded) {
    Fail(StatusCode::kInvalidArgument,
         "the context of provider '{}' is larger than {} bytes and can't be embedded, because protobuf messages end at "
         "2 GiB; use ep.context_embed_mode=0",
         record_.provider, kMaxEmbedded);
  }
  digest_.Update(data, size);
  const auto* bytes = static_cast<const char*>(data);
  gathered_.insert(gathered_.end(), bytes, bytes + size);
}

void ContextSet::Payload::End() {
  if (file_) {
    file_->End();
    record_.xxh128 = file_->xxh128();
  } else {
    record_.xxh128 = digest_.Finish();
    bytes_ = std::make_shared<const std::vector<char>>(std::move(gathered_));
  }
  ended_ = true;
}

ContextSet::ContextSet(const ContextTarget& first) : first_(first) {}

ContextSet::~ContextSet() = default;

std::string ContextSet::BinaryName(std::string_view provider, size_t index) const {
  return index == 0 ? fmt::format("{}_{}.bin", first_.binary_stem, provider)
                    : fmt::format("{}_{}_{}.bin", first_.binary_stem, provider, index);
}

void ContextSet::CheckNames(const ContextTarget& target, std::string_view provider) const {
  if (first_.embed) return;
  const std::string begin = fmt::format("{}_{}", first_.binary_stem, provider);
  const auto is_binary = [&](std::string_view name) {
    if (!name.starts_with(begin) || !name.ends_with(".bin")) return false;
    const std::string_view number = name.substr(begin.size(), name.size() - begin.size() - 4);
    return number.empty() ||
           (number.size() > 1 && number[0] == '_' && number.find_first_not_of("0123456789", 1) == std::string::npos);
  };
  const auto refuse = [&](std::string_view option, const std::string& name) {
    Fail(StatusCode::kInvalidArgument, "{} is '{}', which is the name of a binary of provider '{}'; choose another",
         option, name, provider);
  };
  if (is_binary(target.model.filename().string())) refuse("ep.context_file_path", target.model.filename().string());
  if (is_binary(target.external_initializers))
    refuse("ep.context_model_external_initializers_file_name", target.external_initializers);
}

ContextSet::Payload& ContextSet::NewPayload(const Provider& provider, const ProgressCallback& on_progress) {
  payloads_.push_back(std::make_unique<Payload>(*this, provider, PayloadsOf(provider.name()).size(), on_progress));
  return *payloads_.back();
}

std::vector<ContextSet::Payload*> ContextSet::PayloadsOf(std::string_view provider) const {
  std::vector<Payload*> found;
  for (const auto& payload : payloads_) {
    if (payload->record().provider == provider) found.push_back(payload.get());
  }
  return found;
}

void ContextSet::CheckFits(const ContextTarget& target) const {
  std::error_code error;
  const bool same_folder =
      target.folder() == first_.folder() || std::filesystem::equivalent(target.folder(), first_.folder(), error);
  if (!same_folder) {
    Fail(StatusCode::kInvalidArgument,
         "context model '{}' is not in the folder of '{}', the first of its share group; all models of a group go into "
         "one folder, with their binary",
         target.model.string(), first_.model.string());
  }
  if (target.store != first_.store) {
    Fail(StatusCode::kInvalidArgument,
         "context model '{}' has another context store than '{}', the first of its share group; give all sessions of a "
         "group the same",
         target.model.string(), first_.model.string());
  }
  for (const Member& member : members_) {
    if (member.target.model.filename() == target.model.filename()) {
      Fail(StatusCode::kInvalidArgument,
           "two models of the share group would be written to '{}'; set ep.context_file_path to another file",
           target.model.string());
    }
    if (!target.external_initializers.empty() && member.target.external_initializers == target.external_initializers) {
      Fail(StatusCode::kInvalidArgument,
           "two models of the share group would write their initializers to '{}'; set "
           "ep.context_model_external_initializers_file_name to another name",
           target.external_initializers);
    }
  }
}

void ContextSet::Add(Member member) { members_.push_back(std::move(member)); }

std::vector<std::string> ContextSet::ModelNames() const {
  std::vector<std::string> names;
  for (const Member& member : members_) names.push_back(member.target.model.filename().string());
  return names;
}

bool ContextSet::IsBegunAnewBy(const ContextTarget& target) const {
  return failures_ != 0 && std::any_of(members_.begin(), members_.end(),
                                       [&](const Member& member) { return member.target.model == target.model; });
}

void ContextSet::MarkDeferred(const std::string& provider) {
  if (std::find(deferred_providers_.begin(), deferred_providers_.end(), provider) == deferred_providers_.end())
    deferred_providers_.push_back(provider);
}

void ContextSet::Publish(const ProgressCallback& on_progress) {
  if (failures_ != 0) {
    Log(LogLevel::kWarning, "context", "the share group of '{}' is written without {} of its sessions, which failed",
        fmt::join(ModelNames(), "', '"), failures_);
  }
  Publisher publisher({.folder = first_.folder(), .store = first_.store}, on_progress);
  for (Member& member : members_) {
    std::vector<PayloadRecord> records;
    for (const auto& payload : payloads_) {
      const auto& providers = member.providers;
      const bool used = std::find(providers.begin(), providers.end(), payload->record().provider) != providers.end();
      if (payload->ended() && used) records.push_back(payload->record());
    }
    WritePayloadRecords(records, &member.model.metadata);
    publisher.Protect(member.target.source_files, member.target.mapped_sources);
    publisher.AddModel(member.model, {member.target.model, member.target.external_initializers, member.target.overwrite,
                                      member.annotations.get()});
  }
  for (const auto& payload : payloads_) {
    if (!payload->ended()) continue;
    if (std::unique_ptr<OutputFile> file = payload->TakeFile()) publisher.AddFile(std::move(file), first_.overwrite);
  }
  files_ = publisher.Publish();
}

}  // namespace epiphyte::core
