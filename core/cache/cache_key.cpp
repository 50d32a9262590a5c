#include "core/cache/cache_key.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/abi/host_tables.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mapped_file.h"
#include "core/base/safe_path.h"
#include "core/context/seal.h"
#include "core/onnx/read/model_scan.h"
#include "core/registry/module.h"
#include "core/runtime/provider_list.h"

namespace epiphyte::core {
namespace {

// Version of the key's material; it changes when the same material must give another key.
constexpr std::string_view kKeyVersion = "2";

// Collects the facts of a key.
class Material {
 public:
  void Add(std::string_view name, std::string_view value) {
    facts_.push_back({std::string(name), Sha256(value.data(), value.size())});
  }
  std::vector<CacheFact> Take() { return std::move(facts_); }

 private:
  std::vector<CacheFact> facts_;
};

// Digests of the libraries in this process, and the path of the host's own. Libraries stay mapped until the process
// ends, so each is looked up and read once, while that is possible. Leaked, because sessions may be made until the end.
class LibraryDigests {
 public:
  static LibraryDigests& Shared() {
    static LibraryDigests* const shared = new LibraryDigests;
    return *shared;
  }
  // Throws FAIL when the path can't be determined.
  std::filesystem::path Host() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (host_.empty()) host_ = ModuleOf(reinterpret_cast<const void*>(&MakeCacheKey));
    if (host_.empty())
      Fail(StatusCode::kFail, "the file of the Epiphyte library can't be found, so nothing can be cached; mount /proc");
    return host_;
  }
  std::optional<std::string> Find(const std::filesystem::path& library) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = digests_.find(library.string());
    return found == digests_.end() ? std::nullopt : std::optional(found->second);
  }
  void Keep(const std::filesystem::path& library, const std::string& digest) {
    const std::lock_guard<std::mutex> lock(mutex_);
    digests_.try_emplace(library.string(), digest);
  }

 private:
  std::mutex mutex_;
  std::filesystem::path host_;
  std::map<std::string, std::string> digests_;
};

void AddProvider(const ChosenProvider& provider, const std::string& library, Material* material) {
  const LoadedPlugin& plugin = *provider.plugin;
  material->Add("provider", plugin.name);
  material->Add("listed", provider.listed ? "1" : "0");
  material->Add("version", plugin.version);
  material->Add("library", library);
  for (const auto& [key, value] : provider.options) {
    material->Add("option", key);
    material->Add("value", value);
  }
  for (const auto& [key, value] : plugin.parameters) {
    material->Add("parameter", key);
    material->Add("value", value);
  }
  material->Add("device in use", fmt::format("{}", fmt::join(provider.devices, ",")));
  for (const Device& device : plugin.devices) {
    material->Add("device", device.name);
    material->Add("vendor", device.vendor);
    material->Add("driver", device.driver_version);
    material->Add("architecture", device.architecture);
  }
}

std::filesystem::path ExternalPath(const ModelSource& source, const SessionConfig& config, const std::string& name) {
  const std::filesystem::path& folder = config.external_data_folder;
  const std::string_view what = "external data";
  if (!folder.empty()) return ResolveInside(folder, name, what);
  if (source.in_memory) {
    Fail(StatusCode::kInvalidArgument, "external data '{}' of a model from memory has no folder", name);
  }
  return ResolveBeside(source.path, name, what);
}

// Inputs of the digests, which are computed in one pass over all threads.
class Sources {
 public:
  size_t AddFile(const std::filesystem::path& path, CacheKey* key) {
    const FileStamp stamp = StampOf(path);
    if (key != nullptr) key->files.emplace_back(path, stamp);
    all.push_back({path, {}, stamp.size});
    return all.size() - 1;
  }
  size_t AddBytes(std::string_view bytes) {
    all.push_back({{}, bytes, bytes.size()});
    return all.size() - 1;
  }
  std::vector<DigestSource> all;
};

// Digests of libraries, by path. Libraries without a known digest are read together with everything else in `sources`.
class Libraries {
 public:
  // Throws as StampOf does.
  void Want(const std::filesystem::path& library, Sources* sources) {
    if (wanted_.contains(library.string())) return;
    if (auto known = LibraryDigests::Shared().Find(library)) {
      digests_[library.string()] = *known;
      return;
    }
    wanted_[library.string()] = sources->AddFile(library, nullptr);
  }
  void Take(const std::vector<std::string>& digests) {
    for (const auto& [library, index] : wanted_) {
      digests_[library] = digests[index];
      LibraryDigests::Shared().Keep(library, digests[index]);
    }
  }
  const std::string& Of(const std::filesystem::path& library) const { return digests_.at(library.string()); }

 private:
  std::map<std::string, size_t> wanted_;
  std::map<std::string, std::string> digests_;
};

}  // namespace

bool CacheKey::StillFits() const {
  return std::all_of(files.begin(), files.end(), [](const auto& file) {
    try {
      return StampOf(file.first) == file.second;
    } catch (const Error&) {
      return false;
    }
  });
}

std::optional<CacheKey> MakeCacheKey(Catalog& catalog, const ModelSource& source, const SessionConfig& config,
                                     ThreadPool* pool) {
  CacheKey key;
  Sources sources;
  ModelScan scan;
  if (source.in_memory) {
    const std::string_view bytes(static_cast<const char*>(source.bytes), source.size);
    scan = ScanModel(bytes);
    sources.AddBytes(bytes);
  } else {
    key.model = source.path.filename().string();
    sources.AddFile(source.path, &key);  // takes its stamp before anything is read
    const auto file = MappedFile::Open(source.path);
    scan = ScanModel({reinterpret_cast<const char*>(file->data()), file->size()});
  }
  if (scan.has_context_nodes) return std::nullopt;
  for (const std::string& name : scan.external_files) sources.AddFile(ExternalPath(source, config, name), &key);

  const std::vector<ChosenProvider> providers = ChooseProviders(catalog, config);
  const std::filesystem::path host = LibraryDigests::Shared().Host();
  Libraries libraries;
  libraries.Want(host, &sources);
  for (const ChosenProvider& provider : providers) {
    if (provider.plugin->library.empty()) {
      Fail(StatusCode::kFail, "the library file of provider '{}' can't be found, so nothing can be cached for it",
           provider.plugin->name);
    }
    libraries.Want(provider.plugin->library, &sources);
  }

  const std::vector<std::string> digests = DigestAll(sources.all, pool);
  libraries.Take(digests);

  Material material;
  material.Add("key", kKeyVersion);
  material.Add("context", kContextVersion);
  material.Add("host", HostInfo()->host_version);
  material.Add("host library", libraries.Of(host));
  material.Add("threads", std::to_string(pool->wanted_threads()));
  for (const auto& [option, value] : config.compiling_options) material.Add(option, value);
  for (const auto& transform : config.transforms) {
    if (transform->version().empty()) {
      Fail(StatusCode::kFail, "{} has no version, so models that it changes can't be cached; set its version",
           transform->label());
    }
    material.Add("transform", transform->name());
    material.Add("transform version", transform->version());
  }
  for (const ChosenProvider& provider : providers) {
    AddProvider(provider, libraries.Of(provider.plugin->library), &material);
    key.providers.push_back(fmt::format("{} {}", provider.plugin->name, provider.plugin->version));
  }
  material.Add("model", digests[0]);
  size_t part = 1;
  std::string external;
  for (const std::string& name : scan.external_files) {
    external += fmt::format("{}:{}={}\n", name.size(), name, digests[part++]);
  }
  material.Add("external files", external);
  key.facts = material.Take();
  key.digest = KeyOf(key.facts);
  return key;
}

}  // namespace epiphyte::core
