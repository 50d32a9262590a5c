// The minimal SDK completed with everything that an SDK may leave out: groups, memory, asynchronous runs, counters. It
// keeps every rule. With NSDK_FAULT=132_keeps_bad_binding in the environment, it breaks rule 132 in the way that the
// name says, and no other rule.
//
//   if (Fault("107_serves_all")) version = NSDK_VERSION;
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "nsdk.h"

// Entry point of the minimal SDK that is linked into this one.
extern "C" NsdkStatus minimal_get_api(uint32_t version, NsdkApi* table);

struct NsdkGroup {
  NsdkContext* context;
  uint32_t kind;
};

struct NsdkMemory {
  uint8_t* address = nullptr;
  uint64_t size = 0;
  void* mapped = nullptr;  // mapping that mem_destroy unmaps
  uint64_t mapped_size = 0;
  std::vector<uint8_t> allocated;
  uint8_t* origin = nullptr;  // used by a fault: source of the copy at import
};

namespace epiphyte::broken {

// True if this fault is chosen.
bool Fault(std::string_view name);

constexpr uint32_t kMemoryAlignment = 64;

// State of an execution that the complete SDK keeps beside the minimal one.
struct ExecutionState {
  NsdkProgram* program = nullptr;
  uint64_t sizes[2] = {};                          // bytes bound; index: NSDK_INPUT or NSDK_OUTPUT
  uint8_t* addresses[2] = {};                      // addresses of the first input and output
  std::vector<std::vector<uint8_t>> input_copies;  // copies of the inputs; used by a fault
  uint64_t runs = 0;
  std::thread thread;
  std::atomic<bool> over = true;
  bool started = false;
  NsdkStatus status = NSDK_OK;
};

struct ProgramState {
  NsdkGroup* scratch = nullptr;
  NsdkGroup* weights = nullptr;
  std::shared_ptr<std::atomic<int>> running = std::make_shared<std::atomic<int>>(0);
  bool broken = false;
};

// State that the table's functions share; `lock` guards all of it.
struct Shared {
  std::mutex lock;
  std::map<NsdkExecution*, std::shared_ptr<ExecutionState>> executions;
  std::map<NsdkProgram*, ProgramState> programs;
  std::map<NsdkCompiled*, NsdkContext*> compiled;
  std::set<NsdkContext*> without_device;
  std::set<NsdkContext*> contexts;
  std::vector<uint8_t> last_blob;
};
Shared& TheShared();
const NsdkApi& Minimal();

NsdkStatus Explain(NsdkReason* reason, NsdkStatus status, const char* text);

void CompleteTable(NsdkApi& table);   // defined in complete.cpp
void BreakLibrary(NsdkApi& table);    // fault_library.cpp: faults of the table, information, contexts
void BreakCompiling(NsdkApi& table);  // fault_compile.cpp
void BreakBlobs(NsdkApi& table);      // fault_blob.cpp
void BreakRuns(NsdkApi& table);       // fault_run.cpp

}  // namespace epiphyte::broken
