// DebugHost: a host that trusts nothing. Every handle is a number that is never given again. Every call is checked
// against the rules of the headers, and violations are written to the journal.
//
// Only one may exist per process, because the ABI's functions have no argument that identifies it.
//
//   DebugHost host(journal);
//   const EpPluginDescriptor* plugin = EpPluginQuery(host.info(), &environment);
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "epiphyte/draft/ep_device.h"
#include "epiphyte/ep_host.h"
#include "epiphyte/ep_onnx.h"
#include "epiphyte/ep_profile.h"
#include "epiphyte/ep_run_limits.h"
#include "epiphyte/ep_schema.h"
#include "epiphyte/ep_share.h"
#include "host/conformance/process/isolated_check.h"
#include "host/conformance/rules/journal.h"

namespace epiphyte::conformance {

class DebugHost {
 public:
  explicit DebugHost(Journal& journal);
  ~DebugHost();
  DebugHost(const DebugHost&) = delete;
  DebugHost& operator=(const DebugHost&) = delete;
  static DebugHost& Current() { return *current_; }

  Journal& journal() { return journal_; }
  const EpHostInfo* info() const { return &infos_[0]; }
  // Sets the operation that the plugin does now. A crash during it breaks the rule set by BlameCrashesOn.
  void Step(const std::string& step) { journal_.Blame(blamed_, step); }
  void BlameCrashesOn(Rule rule) { blamed_ = rule; }
  Rule blamed() const { return blamed_; }

  // A second host in this process. A status that one host made is not valid for the other.
  const EpHostInfo* second_info() const { return &infos_[1]; }

  // Records that the plugin broke a rule. Only the first violation counts, because later ones may follow from it.
  void Violate(Rule rule, const std::string& message);
  bool violated() const { return violated_; }
  void EndIfViolated() const {
    if (violated_) throw CheckEnded();
  }
  // Does the same as Violate, for calls that can be refused.
  EpStatus* Refuse(Rule rule, const std::string& message) {
    Violate(rule, message);
    return NewStatus(EP_STATUS_INVALID_ARGUMENT, message);
  }

  EpStatus* NewStatus(EpStatusCode code, const std::string& message, int host = 0);
  struct Failure {
    EpStatusCode code = EP_STATUS_OK;
    std::string message;
    int host = 0;  // host that made the status
    explicit operator bool() const { return code != EP_STATUS_OK; }
  };
  // Reads the status that `function` of the plugin returned, and releases it.
  Failure TakeStatus(EpStatus* status, const std::string& function);
  // Statuses that the host gave break a rule if they were neither released nor returned.
  void CheckStatusesAreReleased();

  // Fills an info struct of the plugin, up to the size that the plugin states.
  template <typename Info>
  EpStatus* FillRoom(Info* info, const Info& from, const char* function) {
    if (info->struct_size < sizeof(Info)) {
      return Refuse(Rule::kInfosHaveASize, std::string(function) + ": struct_size " +
                                               std::to_string(info->struct_size) + " found, at least " +
                                               std::to_string(sizeof(Info)) + " expected");
    }
    std::memcpy(static_cast<void*>(info), &from, sizeof(Info));
    info->struct_size = sizeof(Info);
    return nullptr;
  }

  // Makes a pool of kThreads threads that is valid until ClosePool.
  static constexpr uint32_t kThreads = 4;
  EpThreadPool* OpenPool();
  void ClosePool(EpThreadPool* pool);

 private:
  static inline DebugHost* current_ = nullptr;
  Journal& journal_;
  EpHostInfo infos_[2];
  std::atomic<bool> violated_{false};
  Rule blamed_ = Rule::kDoesNotCrash;
};

// Handles of one kind: numbers that are each given once, with the thread that got them.
template <typename Handle, typename Object>
class LiveHandles {
 public:
  enum class Verdict { kLive, kEnded, kForeign, kOtherThread };

  Handle* Open(Object* object) {
    std::lock_guard lock(mutex_);
    last_ += 2;
    objects_[last_] = {object, std::this_thread::get_id()};
    return reinterpret_cast<Handle*>(last_);
  }
  void Close(const Handle* handle) {
    std::lock_guard lock(mutex_);
    objects_[reinterpret_cast<uintptr_t>(handle)].object = nullptr;
  }
  Object* Find(const Handle* handle, Verdict* verdict) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    *verdict = Verdict::kForeign;
    if (found == objects_.end()) return nullptr;
    *verdict = Verdict::kEnded;
    if (found->second.object == nullptr) return nullptr;
    *verdict = found->second.thread == std::this_thread::get_id() ? Verdict::kLive : Verdict::kOtherThread;
    return found->second.object;
  }
  // Returns the object, or null after recording a violation. Rule::kDoesNotCrash as `thread` allows every thread.
  Object* Require(const Handle* handle, const char* function, Rule ended, Rule thread) {
    Verdict verdict;
    Object* object = Find(handle, &verdict);
    DebugHost& host = DebugHost::Current();
    const std::string what = std::string(function) + " was called with a handle ";
    if (verdict == Verdict::kForeign) host.Violate(ended, what + "that this call was not given");
    if (verdict == Verdict::kEnded) host.Violate(ended, what + "of a call that has ended");
    if (verdict == Verdict::kOtherThread && thread != Rule::kDoesNotCrash) {
      host.Violate(thread, std::string(function) + " was called on another thread than the one it was given on");
      return nullptr;
    }
    return object;
  }

 private:
  struct Entry {
    Object* object = nullptr;
    std::thread::id thread;
  };
  std::mutex mutex_;
  std::map<uintptr_t, Entry> objects_;
  uintptr_t last_ = 0x10001;  // odd, unlike the address of an object
};

// Returns the handles of a kind. They live as long as the process.
template <typename Handle, typename Object>
LiveHandles<Handle, Object>& Live() {
  static auto* handles = new LiveHandles<Handle, Object>();
  return *handles;
}

// The function tables; each has its own file.
extern const EpStatusApi kDebugStatusApi[2];
extern const EpServicesApi kDebugServicesApi;
extern const EpGraphApi kDebugGraphApi;  // its handles are compared with those of live graphs
extern const EpCapabilityApi kDebugCapabilityApi;
extern const EpTaskApi kDebugTaskApi;
extern const EpContextApi kDebugContextApi;
extern const EpRunApi kDebugRunApi;
extern const EpDeviceRunApi kDebugDeviceRunApi;
extern const EpShareApi kDebugShareApi;
extern const EpRunLimitsApi kDebugRunLimitsApi;
extern const EpOnnxApi kDebugOnnxApi;
extern const EpProfileApi kDebugProfileApi;
extern const EpInferenceApi kDebugInferenceApi;

bool IsUtf8(const char* text);
// Returns whether the text is one line of printable UTF-8.
bool IsOneLine(const char* text);

}  // namespace epiphyte::conformance
