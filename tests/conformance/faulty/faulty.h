// The parts of a plugin that keeps every rule except the one that EPIPHYTE_FAULT in the environment names
// ("513_keeps_graph" breaks rule 513). The plugin runs Relu and Add with a constant, makes contexts and shares them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/draft/ep_explain.h"
#include "epiphyte/ep_options.h"
#include "epiphyte/ep_plugin.h"
#include "epiphyte/ep_schema.h"
#include "epiphyte/ep_share.h"

inline bool Has(std::string_view fault) {
  const char* wanted = std::getenv("EPIPHYTE_FAULT");
  return wanted != nullptr && fault == wanted;
}

// Returns whether the chosen fault is `name`, or breaks a rule of this hundred ("16": R1600 to R1699). The plugin has
// some features only when a fault is about them.
inline bool IsAbout(std::string_view hundred, std::string_view name) {
  const std::string_view wanted = std::getenv("EPIPHYTE_FAULT") == nullptr ? "" : std::getenv("EPIPHYTE_FAULT");
  return (wanted.size() > 4 && wanted[4] == '_' && wanted.starts_with(hundred)) || wanted == name;
}

// Returns whether the fault is about the device. The plugin has a device only then.
inline bool IsOnDevice() {
  const std::string_view wanted = std::getenv("EPIPHYTE_FAULT") == nullptr ? "" : std::getenv("EPIPHYTE_FAULT");
  return wanted.starts_with("12") || wanted.starts_with("device");
}

// Operators that a kernel computes.
enum : uint32_t { kRelu = 1, kAddConstant = 2 };
struct Program {
  uint32_t operation = kRelu;
  uint32_t embedded = 0;  // not 0: the program was written into a model
  std::vector<float> constant;
};
using Programs = std::map<std::string, Program>;  // by partition name

// Writes a payload: magic, length, number of records, records, sum of all bytes. A record has a name, an operation and
// numbers.
std::string Write(const Programs& programs);
// Returns false when the payload is incomplete.
bool Read(const void* data, uint64_t size, Programs* programs);

struct Workspace {
  std::mutex mutex;
  Programs programs;
  const void* owner = nullptr;  // provider that damages the programs of the others when it ends, for a fault
  bool owner_is_gone = false;
};

struct EpPlugin {
  const EpHostInfo* host;
  EpDeviceInfo device;
  const void* blob = nullptr;  // payload that a fault keeps
};
struct EpProvider {
  EpPlugin* plugin;
  EpThreadPool* pool;
  EpShareGroup* group = nullptr;
  EpShareInfo share = {};
  Workspace* workspace = nullptr;
  bool makes_contexts = false;
  Programs programs;
  std::vector<std::string> names;  // names of partitions, in order
};
struct EpKernel {
  EpProvider* provider;
  Program program;
  bool loaded = false;
  const float* lent = nullptr;  // numbers that a fault keeps
  uint64_t lent_count = 0;
  uint32_t memories[2] = {};  // memories of the input and the output; used for a kernel on the device
  int32_t alias = -1;
};
void Compute(const Program& program, std::span<const float> x, float* y);

inline EpStatus* Refuse(const EpHostInfo* host, EpStatusCode code, const char* message) {
  return host->status->Create(code, message);
}

// Each of these functions has its own file.
EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink);
EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task,
                          EpKernel** kernels);
EpStatus* EP_CALL Execute(EpKernel* kernel, EpKernelState* state, EpRun* run);
EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink, EpTask* task);
EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                              const EpContextBlob* const* blobs, uint64_t blob_count, EpTask* task, EpKernel** kernels);
EpStatus* EP_CALL CheckContext(EpPlugin* plugin, const EpContextHeader* header, EpContextVerdict* verdict, char* reason,
                               uint64_t reason_capacity);
inline bool DeclaresOptions() { return IsAbout("13", "options"); }
const EpOptionsApi* OptionsTable();
EpStatus* CheckOptions(const EpHostInfo* host, const EpProviderConfig& config);
EpStatus* WriteAsOnnx(const EpHostInfo* host, const EpGraph* graph);
EpStatus* AddSpan(const EpHostInfo* host, const EpRun* run);
const EpSchemaApi* SchemaTable();
const EpExplainApi* ExplainTable();
bool HasExplained();
EpStatus* JoinGroup(EpProvider* provider, EpShareGroup* group);
