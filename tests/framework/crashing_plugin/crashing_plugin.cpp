// A plugin that misbehaves at one place. The file name says how and where: <what>_<where>.so.
//
//   what   abort, segfault, exit, quit (exit with 0), starve (end by an uncaught std::bad_alloc), hang (for ever), poll
//          (until it is cancelled), garble, flood or close (descriptor 3, which isn't its own), round (set the rounding
//          mode), wander (change the working directory, the file mask and a limit), fine
//   where  open, query, initialize, devices, shutdown, compile, save, execute
//
// Before it misbehaves it appends "<where>" to the file CRASHING_PLUGIN_LEDGER and writes two lines to stderr. It also
// writes a line to stdout, except at compile, save and execute. When it is cancelled it appends "cancelled". It claims
// every float Add. At save it has already written a part of its payload.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "epiphyte/ep_entry.h"

namespace {

const EpHostInfo* g_host = nullptr;

// The file's name without extension, such as "abort_query". It is leaked, because it is used until the process ends.
const std::string& Name() {
  static const auto* const name = [] {
    Dl_info info = {};
    dladdr(reinterpret_cast<const void*>(&Name), &info);
    std::string path = info.dli_fname;
    path.erase(0, path.rfind('/') + 1);
    return new std::string(path.substr(0, path.rfind(".so")));
  }();
  return *name;
}

void Enter(std::string_view event) {
  const char* ledger = std::getenv("CRASHING_PLUGIN_LEDGER");
  if (ledger == nullptr) return;
  if (std::FILE* file = std::fopen(ledger, "a")) {
    std::fprintf(file, "%.*s\n", static_cast<int>(event.size()), event.data());
    std::fclose(file);
  }
}

void WriteToDescriptorThree(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(3, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void FindNoMemory() { throw std::bad_alloc(); }
void Starve() noexcept { FindNoMemory(); }

// Misbehaves if the file's name says so. Returns true if the caller should go on.
bool Misbehave(std::string_view where, EpTask* task = nullptr) {
  const std::string_view name = Name();
  const size_t bar = name.find('_');
  if (bar == std::string_view::npos || name.substr(bar + 1) != where) return true;
  const std::string_view what = name.substr(0, bar);
  Enter(where);
  if (where != "compile" && where != "save" && where != "execute") std::printf("a plugin may print\n");
  std::fflush(stdout);
  std::fprintf(stderr, "the plugin misbehaves\n\x1b[31mwith a \xC2\x9Bred word\n");
  if (what == "abort") std::abort();
  if (what == "starve") Starve();
  if (what == "segfault") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would end the process in another way
    std::raise(SIGSEGV);
  }
  if (what == "exit") std::exit(where == "query" ? 0 : 3);
  if (what == "quit") std::exit(0);
  if (what == "round") std::fesetround(FE_UPWARD);
  if (what == "wander") {
    const rlimit files = {64, 64};
    umask(0);
    if (chdir("/") != 0 || setrlimit(RLIMIT_NOFILE, &files) != 0) std::abort();
  }
  if (what == "garble") WriteToDescriptorThree("found {\"state\": 5}\n");
  if (what == "flood") WriteToDescriptorThree(std::string(size_t{2} << 20, '\n'));
  if (what == "close") close(3);
  while (what == "hang") pause();
  while (what == "poll") {
    if (g_host->task->ReportProgress(task, 0, 0, "polling") != 0) {
      Enter("cancelled");
      return false;
    }
    usleep(1000);
  }
  return true;
}

[[gnu::constructor]] void OnOpen() { Misbehave("open"); }

EpStatus* Cancelled() { return g_host->status->Create(EP_STATUS_MODEL_LOAD_CANCELED, "cancelled"); }

EpPlugin* ThePlugin() { return reinterpret_cast<EpPlugin*>(&g_host); }

EpStatus* EP_CALL Initialize(const EpHostInfo*, const EpPluginEnvironment*, EpPlugin** plugin) {
  *plugin = ThePlugin();
  Misbehave("initialize");
  return nullptr;
}

void EP_CALL Shutdown(EpPlugin*) { Misbehave("shutdown"); }

EpStatus* EP_CALL GetDevices(EpPlugin*, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  static const EpDeviceInfo device = {
      sizeof(EpDeviceInfo), EP_DEVICE_OTHER, 0, 0, 0, 0, "crashing", "tests", "1.0", "any", "", "", 0};
  Misbehave("devices");
  *count = 1;
  if (capacity > 0) devices[0] = &device;
  return nullptr;
}

EpStatus* EP_CALL CreateProvider(EpPlugin*, const EpProviderConfig*, EpProvider** provider) {
  *provider = reinterpret_cast<EpProvider*>(new uint64_t(0));  // number of partitions
  return nullptr;
}
uint64_t& CountOf(EpProvider* provider) { return *reinterpret_cast<uint64_t*>(provider); }
void EP_CALL DestroyProvider(EpProvider* provider) { delete &CountOf(provider); }

EpStatus* EP_CALL GetCapability(EpProvider*, const EpGraph* graph, EpCapabilitySink* sink) {
  EpGraphInfo info = {};
  info.struct_size = sizeof info;
  EpStatus* status = g_host->graph->GetGraphInfo(graph, &info);
  for (uint64_t i = 0; status == nullptr && i < info.node_count; ++i) {
    EpNodeInfo node = {};
    node.struct_size = sizeof node;
    status = g_host->graph->GetNodeInfo(info.nodes[i], &node);
    if (status == nullptr && std::string_view(node.op_type) == "Add" && (node.flags & EP_NODE_PLACED) == 0) {
      status = g_host->capability->SupportNodes(sink, &info.nodes[i], 1);
    }
  }
  return status;
}

EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const*, uint64_t count, EpTask* task,
                          EpKernel** kernels) {
  if (!Misbehave("compile", task)) return Cancelled();
  for (uint64_t i = 0; i < count; ++i) kernels[i] = reinterpret_cast<EpKernel*>(new int(0));
  CountOf(provider) += count;
  return nullptr;
}

EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink, EpTask*) {
  EpContextWriter* payload = nullptr;
  EpStatus* status = g_host->context->BeginPayload(sink, &payload);
  if (status == nullptr) status = g_host->context->Write(payload, "half of it", 10);
  if (status == nullptr) Misbehave("save");
  if (status == nullptr) status = g_host->context->EndPayload(payload);
  for (uint64_t i = 0; status == nullptr && i < CountOf(provider); ++i) {
    EpContextNodeDesc node = {};
    node.struct_size = sizeof node;
    node.partition = static_cast<uint32_t>(i);
    node.main_context = i == 0;
    node.payload = i == 0 ? payload : nullptr;
    status = g_host->context->AddNode(sink, &node);
  }
  return status;
}

EpStatus* EP_CALL LoadContext(EpProvider*, const EpContextNodeInfo* const*, uint64_t, const EpContextBlob* const*,
                              uint64_t, EpTask*, EpKernel**) {
  return g_host->status->Create(EP_STATUS_NOT_IMPLEMENTED, "this plugin loads nothing");
}

void EP_CALL ReleaseKernel(EpKernel* kernel) { delete reinterpret_cast<int*>(kernel); }

EpStatus* EP_CALL Execute(EpKernel*, EpKernelState*, EpRun*) {
  Misbehave("execute");
  return g_host->status->Create(EP_STATUS_NOT_IMPLEMENTED, "this plugin runs nothing");
}

}  // namespace

EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host, const EpPluginEnvironment*) {
  static const EpProviderApi provider = {sizeof(EpProviderApi),
                                         0,
                                         CreateProvider,
                                         DestroyProvider,
                                         GetCapability,
                                         Compile,
                                         GetEpContextNodes,
                                         LoadContext,
                                         ReleaseKernel,
                                         nullptr,
                                         nullptr,
                                         Execute,
                                         nullptr};
  static const char* sources[] = {Name().c_str()};
  static const EpPluginDescriptor descriptor = {sizeof(EpPluginDescriptor),
                                                EP_ABI_VERSION,
                                                Name().c_str(),
                                                "tests",
                                                "1.0.0",
                                                sources,
                                                1,
                                                0,
                                                Initialize,
                                                Shutdown,
                                                GetDevices,
                                                nullptr,
                                                &provider,
                                                nullptr};
  g_host = host;
  Misbehave("query");
  return &descriptor;
}
