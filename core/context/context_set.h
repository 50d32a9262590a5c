// ContextSet: context models that are published together with their payloads: one model, or those of a share group.
//
// Each provider has one binary in the set, named after the set's first model, however many partitions and models use
// it. A provider may begin several payloads; they are numbered. publisher.h publishes the set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/provider.h"
#include "core/context/context_metadata.h"
#include "core/context/context_target.h"
#include "core/context/output_file.h"
#include "core/graph/graph.h"
#include "core/onnx/write/annotations.h"

namespace epiphyte::core {

class ContextSet {
 public:
  // Naming, folder, form and store are taken from the first model.
  explicit ContextSet(const ContextTarget& first);
  ~ContextSet();

  // One payload, staged in a file, or gathered in memory to be embedded.
  class Payload {
   public:
    Payload(const ContextSet& set, const Provider& provider, size_t index, const ProgressCallback& on_progress);
    void Write(const void* data, uint64_t size);
    void End();
    bool ended() const { return ended_; }
    const PayloadRecord& record() const { return record_; }
    // The staged file; null when the payload is embedded or the file was taken already.
    std::unique_ptr<OutputFile> TakeFile() { return std::move(file_); }
    // The gathered bytes; null unless the payload is embedded.
    const std::shared_ptr<const std::vector<char>>& bytes() const { return bytes_; }

   private:
    PayloadRecord record_;
    std::unique_ptr<OutputFile> file_;
    Xxh128Stream digest_;
    std::vector<char> gathered_;
    std::shared_ptr<const std::vector<char>> bytes_;
    bool ended_ = false;
  };

  // A model with EPContext nodes in place of its partitions.
  struct Member {
    ContextTarget target;
    Model model;
    std::vector<std::string> providers;  // providers of the payloads that the model uses
    std::shared_ptr<const GraphAnnotations> annotations;
  };

  const ContextTarget& first() const { return first_; }
  // `on_progress` is called repeatedly while the payload is written, and not afterwards.
  Payload& NewPayload(const Provider& provider, const ProgressCallback& on_progress = {});
  std::vector<Payload*> PayloadsOf(std::string_view provider) const;
  size_t payload_count() const { return payloads_.size(); }
  // Drops all payloads but the first `count`.
  void DropPayloadsFrom(size_t count) { payloads_.resize(std::min(count, payloads_.size())); }
  std::string BinaryName(std::string_view provider, size_t index) const;
  // Throws INVALID_ARGUMENT when the model or its initializers would have the name of a binary of that provider.
  void CheckNames(const ContextTarget& target, std::string_view provider) const;

  // Throws INVALID_ARGUMENT when the model can't be published together with the others.
  void CheckFits(const ContextTarget& target) const;
  void Add(Member member);
  // The file names of the models so far.
  std::vector<std::string> ModelNames() const;
  // Notes that a session of the share group failed. Compiling one of the group's models again then begins the group
  // anew.
  void NoteFailure() { ++failures_; }
  bool IsBegunAnewBy(const ContextTarget& target) const;
  // Names of the partitions of all members so far. They are the keys into the payloads, so the next member must use
  // other names.
  const std::set<std::string>& partition_names() const { return partition_names_; }
  void AddPartitionName(const std::string& name) { partition_names_.insert(name); }
  // Providers that still have to write a payload for earlier members.
  const std::vector<std::string>& deferred_providers() const { return deferred_providers_; }
  void MarkDeferred(const std::string& provider);

  void Publish(const ProgressCallback& on_progress = {});
  // Files written besides the models, in the order of publishing.
  const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  ContextTarget first_;
  std::vector<std::unique_ptr<Payload>> payloads_;
  std::vector<Member> members_;
  std::vector<std::string> deferred_providers_;
  std::set<std::string> partition_names_;
  std::vector<std::filesystem::path> files_;
  size_t failures_ = 0;  // number of failed sessions
};

}  // namespace epiphyte::core
