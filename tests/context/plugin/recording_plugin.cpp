// Recording plugins: two plugins from one source, `recorder_a` and `recorder_b`, which differ only in their names. They
// run elementwise float operators and do everything with contexts that a vendor may do. Tests therefore need not depend
// on a bundled provider.
//
// Options (each may be absent):
//   claim=Add,Neg            operators to claim, of those in program.h; default: all; empty: none
//   together=Mul,Add         a Mul and the Add that reads it as first input are claimed as one group
//   domain=D                 the domain of the operators; default: ONNX's own
//   payloads=per_partition   a payload for each partition, each node a primary; default: one, with secondaries
//   source=RecorderAV1          the source to write, one of the plugin's two
//   notes=…, max_size=N      attributes of the nodes
//   pretend=VERDICT          the answer of CheckContext about contexts written now: prefer, unsupported, foreign
//   attribute=NAME=VALUE     a further attribute of each node; further attributes of loaded nodes go to the ledger
//   judge=unsupported        CheckContext answers so for every context in a session with this option
//   fail=CALL                compile, save or load ends with EP_FAIL
//   truncate=FILE            Compile and LoadContext truncate that file before they look at anything
//   reread=1                 kernels from a context read their payload again in each run, on a thread of their own
//   ledger=FILE              a line for each event is appended there: "compile NAME", "write N graphs M tensors",
//                            "parse N graphs M tensors", "hand over N graphs M tensors", "attribute NAME=VALUE"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "epiphyte/ep_plugin.h"
#include "epiphyte/ep_share.h"
#include "epiphyte/kit/plugin/plugin.hpp"
#include "tests/context/plugin/payload.h"
#include "tests/context/plugin/program.h"

namespace epiphyte::recorder {
namespace {

constexpr const char* kName = RECORDER_NAME;
constexpr const char* kSources[] = {RECORDER_SOURCE, RECORDER_SOURCE "V1"};
constexpr const char* kSdkVersion = RECORDER_SOURCE " SDK 3.1";
constexpr const char* kArchitecture = "paper";
constexpr const char* kMagic = RECORDER_SOURCE;

// Set by the query, which is the host's first call.
const EpHostInfo* host = nullptr;

// State that the providers of one share group have in common.
struct Workspace {
  std::mutex mutex;
  Package building;
  // The key is address and size of a payload. Kernels keep packages alive. The host keeps a payload as long as it has a
  // kernel.
  std::map<std::pair<const void*, uint64_t>, std::weak_ptr<const Package>> loaded;
};

EpStatus* EP_CALL MakeWorkspace(void*, void** workspace) {
  return kit::Guard(*host, [&] { *workspace = new Workspace; });
}
void EP_CALL FreeWorkspace(void* workspace) { delete static_cast<Workspace*>(workspace); }

class RecordingPlugin {
 public:
  explicit RecordingPlugin(const EpProviderConfig& config) {
    for (uint32_t i = 0; i < config.option_count; ++i) options_[config.options[i].key] = config.options[i].value;
    static const std::set<std::string> kKnown = {"claim",  "together", "domain",    "payloads", "source",
                                                 "notes",  "max_size", "pretend",   "fail",     "truncate",
                                                 "reread", "ledger",   "attribute", "judge"};
    for (const auto& [key, value] : options_) {
      if (!kKnown.contains(key)) throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "option '" + key + "' is unknown");
    }
    std::istringstream claims(Option("claim", "Add,Sub,Mul,Neg,Abs,Relu"));
    for (std::string op; std::getline(claims, op, ',');) claimed_.insert(op);
    std::istringstream together(Option("together", ""));
    for (std::string op; std::getline(together, op, ',');) together_.push_back(op);
    JoinGroup(config);
  }

  void GetCapability(const EpGraph* graph, EpCapabilitySink* sink) const {
    std::vector<const EpNode*> supported;
    std::map<const EpNode*, kit::NodeView> nodes;
    std::set<const EpNode*> grouped;
    for (const kit::NodeView& node : kit::GraphView(*host, graph).nodes()) {
      if (node.placed()) continue;
      nodes.emplace(node.handle(), node);
      const std::vector<const EpNode*> group = GroupEndingIn(node, nodes);
      if (group.empty()) continue;
      grouped.insert(group.begin(), group.end());
      EpClaim claim = {};
      claim.struct_size = sizeof claim;
      claim.flags = EP_CLAIM_TOGETHER;
      claim.nodes = group.data();
      claim.node_count = group.size();
      claim.name = "a group";
      kit::ThrowIfFailed(*host, host->capability->Claim(sink, &claim));
    }
    for (const kit::NodeView& node : kit::GraphView(*host, graph).nodes()) {
      if (node.placed() || grouped.contains(node.handle())) continue;
      if (Supports(node) && claimed_.contains(std::string(node.op_type()))) {
        supported.push_back(node.handle());
      } else {
        kit::ThrowIfFailed(*host, host->capability->DeclineNode(sink, node.handle(), "not claimed by option"));
      }
    }
    kit::ThrowIfFailed(*host, host->capability->SupportNodes(sink, supported.data(), supported.size()));
  }

  std::unique_ptr<kit::Kernel> Compile(const EpPartitionInfo& partition) {
    FailIfAsked("compile");
    TruncateIfAsked();
    auto package = std::make_shared<Package>();
    kit::GraphView graph(*host, partition.graph);
    Translate(graph, partition.name, package.get());
    compiled_.push_back(package);
    Enter(std::string("compile ") + partition.name);
    return std::make_unique<ProgramKernel>(package, package->programs[0]);
  }

  void SaveContext(EpContextSink* sink) {
    FailIfAsked("save");
    std::string info = std::string(kName) + "/" + std::to_string(kFormatVersion) + " " + Option("pretend", "optimal");
    kit::ThrowIfFailed(*host, host->context->SetCompatibilityInfo(sink, info.c_str()));
    if (group_.compiling != 0) {
      SaveInGroup(sink);
    } else if (Option("payloads", "one") == "per_partition") {
      for (size_t i = 0; i < compiled_.size(); ++i) AddNode(sink, i, 1, WriteOut(sink, *compiled_[i]));
    } else {
      Package whole;
      for (const auto& package : compiled_) Merge(*package, &whole);
      AddPrimaryAndSecondaries(sink, WriteOut(sink, whole));
    }
  }

  // A node with blob -1 may be in any payload, so all are searched.
  std::vector<std::unique_ptr<kit::Kernel>> LoadContext(std::span<const EpContextNodeInfo* const> nodes,
                                                        std::span<const EpContextBlob* const> blobs) {
    FailIfAsked("load");
    TruncateIfAsked();
    std::vector<std::shared_ptr<const Package>> packages(blobs.size());
    std::vector<std::unique_ptr<kit::Kernel>> kernels;
    for (const EpContextNodeInfo* node : nodes) {
      for (uint32_t i = 0; i < node->attribute_count; ++i) {
        Enter(std::string("attribute ") + node->attributes[i].key + "=" + node->attributes[i].value);
      }
      std::unique_ptr<kit::Kernel> kernel;
      for (size_t i = 0; i < blobs.size() && kernel == nullptr; ++i) {
        if (node->blob >= 0 && static_cast<size_t>(node->blob) != i) continue;
        if (packages[i] == nullptr) packages[i] = PackageOf(*blobs[i]);
        if (const Program* program = packages[i]->Find(node->partition_name)) {
          std::string_view payload;
          if (Option("reread", "0") == "1") {
            payload = {static_cast<const char*>(blobs[i]->data), static_cast<size_t>(blobs[i]->size)};
          }
          kernel = std::make_unique<ProgramKernel>(packages[i], *program, payload);
        }
      }
      if (kernel == nullptr) {
        throw kit::Error(EP_STATUS_INVALID_GRAPH,
                         std::string("no payload holds graph '") + node->partition_name + "'; compile the model again");
      }
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

 private:
  std::string Option(const std::string& key, const std::string& fallback) const {
    auto found = options_.find(key);
    return found == options_.end() ? fallback : found->second;
  }

  void Enter(const std::string& event) const {
    if (std::string ledger = Option("ledger", ""); !ledger.empty())
      std::ofstream(ledger, std::ios::app) << event << '\n';
  }

  void FailIfAsked(const char* call) const {
    if (Option("fail", "") == call) throw kit::Error(EP_STATUS_EP_FAIL, std::string(call) + " fails as asked");
  }

  void TruncateIfAsked() const {
    if (std::string file = Option("truncate", ""); !file.empty()) std::filesystem::resize_file(file, 0);
  }

  void JoinGroup(const EpProviderConfig& config) {
    group_.struct_size = sizeof(group_);
    auto* share = static_cast<const EpShareApi*>(host->GetExtension(host, EP_SHARE_EXTENSION));
    if (share == nullptr || config.share_group == nullptr) return;
    kit::ThrowIfFailed(*host, share->GetInfo(config.share_group, &group_));
    void* workspace = nullptr;
    kit::ThrowIfFailed(*host,
                       share->GetWorkspace(config.share_group, MakeWorkspace, nullptr, FreeWorkspace, &workspace));
    workspace_ = static_cast<Workspace*>(workspace);
  }

  bool Supports(const kit::NodeView& node) const {
    const bool is_ours = std::find(kOperators.begin(), kOperators.end(), node.op_type()) != kOperators.end();
    const std::string domain = Option("domain", "");
    if (node.domain() != domain || !is_ours) return false;
    // Only this plugin knows the output types of operators in its own domain.
    const auto fits = [&](const kit::ValueView& value) {
      return value.element_type() == EP_TYPE_FLOAT || (!domain.empty() && value.element_type() == EP_TYPE_UNDEFINED);
    };
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (!fits(node.input(i))) return false;
    }
    return fits(node.output(0));
  }

  // Returns the group of option `together` that ends with `last`; empty if no group ends there.
  std::vector<const EpNode*> GroupEndingIn(const kit::NodeView& last,
                                           const std::map<const EpNode*, kit::NodeView>& nodes) const {
    std::vector<const EpNode*> group(together_.size());
    const kit::NodeView* node = &last;
    for (size_t i = together_.size(); i-- > 0;) {
      if (node == nullptr || node->op_type() != together_[i] || !Supports(*node)) return {};
      group[i] = node->handle();
      const auto before = nodes.find(node->input(0).producer());
      node = before == nodes.end() ? nullptr : &before->second;
    }
    return group;
  }

  static void Merge(const Package& from, Package* into) {
    for (Program program : from.programs) {
      if (into->Find(program.name) != nullptr) {
        throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "there are two partitions called '" + program.name + "'");
      }
      for (auto& [slot, tensor] : program.constants) tensor = into->Intern(from.tensors[tensor]);
      into->programs.push_back(std::move(program));
    }
  }

  EpContextWriter* WriteOut(EpContextSink* sink, const Package& package) const {
    std::string bytes = WritePayload(package, kMagic);
    EpContextWriter* writer = nullptr;
    kit::ThrowIfFailed(*host, host->context->BeginPayload(sink, &writer));
    // The payload is written in two parts, as a larger writer would do.
    size_t half = bytes.size() / 2;
    kit::ThrowIfFailed(*host, host->context->Write(writer, bytes.data(), half));
    kit::ThrowIfFailed(*host, host->context->Write(writer, bytes.data() + half, bytes.size() - half));
    kit::ThrowIfFailed(*host, host->context->EndPayload(writer));
    Enter("write " + Summary(package));
    return writer;
  }

  void SaveInGroup(EpContextSink* sink) {
    std::lock_guard lock(workspace_->mutex);
    for (const auto& package : compiled_) Merge(*package, &workspace_->building);
    EpContextWriter* payload = nullptr;
    if (group_.last != 0) {
      Package whole = std::move(workspace_->building);
      workspace_->building = {};
      payload = WriteOut(sink, whole);
    }
    AddPrimaryAndSecondaries(sink, payload);
  }

  void AddPrimaryAndSecondaries(EpContextSink* sink, EpContextWriter* payload) const {
    for (size_t i = 0; i < compiled_.size(); ++i) AddNode(sink, i, i == 0 ? 1 : 0, i == 0 ? payload : nullptr);
  }

  void AddNode(EpContextSink* sink, size_t partition, int64_t main_context, EpContextWriter* payload) const {
    std::string source = Option("source", kSources[0]);
    std::string notes = Option("notes", "");
    EpContextNodeDesc node = {};
    node.struct_size = sizeof(node);
    node.partition = static_cast<uint32_t>(partition);
    node.main_context = main_context;
    node.payload = payload;
    node.source = source.c_str();
    node.ep_sdk_version = kSdkVersion;
    node.hardware_architecture = kArchitecture;
    node.notes = notes.empty() ? nullptr : notes.c_str();
    node.max_size = std::stoll(Option("max_size", "0"));
    const std::string attribute = Option("attribute", "");
    const size_t equals = attribute.find('=');
    const std::string name = attribute.substr(0, equals);
    const EpKeyValue further = {name.c_str(), equals == std::string::npos ? "" : attribute.c_str() + equals + 1};
    node.attributes = &further;
    node.attribute_count = attribute.empty() ? 0 : 1;
    kit::ThrowIfFailed(*host, host->context->AddNode(sink, &node));
  }

  static std::string Summary(const Package& package) {
    return std::to_string(package.programs.size()) + " graphs " + std::to_string(package.tensors.size()) + " tensors";
  }

  // Within a share group, each payload is parsed only once for all providers.
  std::shared_ptr<const Package> PackageOf(const EpContextBlob& blob) const {
    std::pair<const void*, uint64_t> key(blob.data, blob.size);
    std::unique_lock<std::mutex> lock;
    if (workspace_ != nullptr) {
      lock = std::unique_lock(workspace_->mutex);
      if (std::shared_ptr<const Package> shared = workspace_->loaded[key].lock()) {
        Enter("hand over " + Summary(*shared));
        return shared;
      }
    }
    auto package = std::make_shared<const Package>(
        ReadPayload({static_cast<const char*>(blob.data), static_cast<size_t>(blob.size)}, kMagic));
    Enter("parse " + Summary(*package));
    if (workspace_ != nullptr) workspace_->loaded[key] = package;
    return package;
  }

  std::map<std::string, std::string> options_;
  std::set<std::string> claimed_;
  std::vector<std::string> together_;
  EpShareInfo group_ = {};
  Workspace* workspace_ = nullptr;
  std::vector<std::shared_ptr<const Package>> compiled_;
};

RecordingPlugin& From(EpProvider* provider) { return *reinterpret_cast<RecordingPlugin*>(provider); }
kit::Kernel& From(EpKernel* kernel) { return *reinterpret_cast<kit::Kernel*>(kernel); }
EpKernel* ToAbi(std::unique_ptr<kit::Kernel> kernel) { return reinterpret_cast<EpKernel*>(kernel.release()); }

constexpr EpProviderApi kProvider = {
    sizeof(EpProviderApi),
    0,
    [](EpPlugin*, const EpProviderConfig* config, EpProvider** provider) {
      return kit::Guard(*host, [&] { *provider = reinterpret_cast<EpProvider*>(new RecordingPlugin(*config)); });
    },
    [](EpProvider* provider) { delete &From(provider); },
    [](EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
      return kit::Guard(*host, [&] { From(provider).GetCapability(graph, sink); });
    },
    [](EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count, EpTask*, EpKernel** kernels) {
      return kit::Guard(*host, [&] {
        for (uint64_t i = 0; i < count; ++i) kernels[i] = ToAbi(From(provider).Compile(*partitions[i]));
      });
    },
    [](EpProvider* provider, EpContextSink* sink, EpTask*) {
      return kit::Guard(*host, [&] { From(provider).SaveContext(sink); });
    },
    [](EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
       const EpContextBlob* const* blobs, uint64_t blob_count, EpTask*, EpKernel** kernels) {
      return kit::Guard(*host, [&] {
        auto loaded = From(provider).LoadContext({nodes, node_count}, {blobs, blob_count});
        for (size_t i = 0; i < loaded.size(); ++i) kernels[i] = ToAbi(std::move(loaded[i]));
      });
    },
    [](EpKernel* kernel) { delete &From(kernel); },
    nullptr,
    nullptr,
    [](EpKernel* kernel, EpKernelState*, EpRun* run) {
      return kit::Guard(*host, [&] { From(kernel).Execute(kit::Run(*host, run)); });
    },
    nullptr};

// The compatibility info has the form "recorder_a/3 optimal": name, version of the format, and the verdict that the
// option `pretend` asks for.
EpContextVerdict Judge(const EpContextHeader& header, std::string* reason) {
  if (std::string_view(header.source) != kSources[0] && std::string_view(header.source) != kSources[1]) {
    *reason = std::string("source ") + header.source + " is not " + kName + "'s";
    return EP_CONTEXT_NOT_APPLICABLE;
  }
  for (uint32_t i = 0; i < header.option_count; ++i) {
    if (std::string_view(header.options[i].key) != "judge") continue;
    *reason = "the session's option says so, on " + std::to_string(header.device_count) + " device";
    return EP_CONTEXT_UNSUPPORTED;
  }
  std::string info = header.compatibility_info;
  if (info.empty()) return EP_CONTEXT_OPTIMAL;
  std::string expected = std::string(kName) + "/" + std::to_string(kFormatVersion) + " ";
  if (!info.starts_with(expected)) {
    *reason = "compiled for '" + info + "', here is '" + expected + "'";
    return EP_CONTEXT_UNSUPPORTED;
  }
  *reason = "because the test asked for it";
  if (info.ends_with(" prefer")) return EP_CONTEXT_PREFER_RECOMPILATION;
  if (info.ends_with(" unsupported")) return EP_CONTEXT_UNSUPPORTED;
  if (info.ends_with(" foreign")) return EP_CONTEXT_NOT_APPLICABLE;
  reason->clear();
  return EP_CONTEXT_OPTIMAL;
}

constexpr EpDeviceInfo kDevice = kit::MakeDevice(EP_DEVICE_OTHER, kName, "tests", "1.0", kArchitecture);

constexpr EpPluginDescriptor kDescriptor = {
    sizeof(EpPluginDescriptor),
    EP_ABI_VERSION,
    kName,
    "tests",
    "1.0.0",
    kSources,
    2,
    0,
    [](const EpHostInfo*, const EpPluginEnvironment*, EpPlugin** plugin) -> EpStatus* {
      *plugin = reinterpret_cast<EpPlugin*>(&host);
      return nullptr;
    },
    [](EpPlugin*) {},
    [](EpPlugin*, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) -> EpStatus* {
      *count = 1;
      if (capacity > 0) devices[0] = &kDevice;
      return nullptr;
    },
    [](EpPlugin*, const EpContextHeader* header, EpContextVerdict* verdict, char* reason, uint64_t capacity) {
      return kit::Guard(*host, [&] {
        std::string why;
        *verdict = Judge(*header, &why);
        if (capacity > 0) reason[why.copy(reason, static_cast<size_t>(capacity) - 1)] = '\0';
      });
    },
    &kProvider,
    nullptr};

}  // namespace
}  // namespace epiphyte::recorder

const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host, const EpPluginEnvironment*) {
  epiphyte::recorder::host = host;
  return &epiphyte::recorder::kDescriptor;
}
