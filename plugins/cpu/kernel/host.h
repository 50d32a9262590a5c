// What the plugin needs of the host, behind C++: errors across the boundary, log, and the host's threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "epiphyte/ep_host.h"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

inline EpStatus* MakeStatus(const EpHostInfo* host, EpStatusCode code, const std::string& message) {
  return host->status->Create(code, message.c_str());
}

// Takes a status from the host: null is fine, anything else becomes an OpError with its code and its reason. `what`, if
// any, says what was asked for: "a node can't be described".
inline void ThrowIfFailed(const EpHostInfo* host, EpStatus* status, std::string_view what = {}) {
  if (status == nullptr) return;
  struct Owner {
    const EpHostInfo* host;
    EpStatus* status;
    ~Owner() { host->status->Release(status); }
  } const owner{host, status};
  const char* reason = host->status->GetMessage(status);
  throw OpError(host->status->GetCode(status), fmt::format("{}{}{}", what, what.empty() ? "" : ": ", reason));
}

// Runs `body` and turns what it throws into a status: nothing may be thrown across the boundary.
template <typename Body>
EpStatus* Guarded(const EpHostInfo* host, Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const OpError& error) {
    return host->status->Create(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return host->status->Create(EP_STATUS_OUT_OF_MEMORY,
                                "out of memory in the cpu provider; free memory or use smaller inputs");
  } catch (const std::exception& error) {
    return host->status->Create(EP_STATUS_EP_FAIL, error.what());
  } catch (...) {
    return host->status->Create(EP_STATUS_EP_FAIL, "an unknown exception in the cpu provider");
  }
}

inline void LogWarning(const EpHostInfo* host, const std::string& message) {
  if (host->services->IsLogged(EP_LOG_WARNING) != 0) host->services->Log(EP_LOG_WARNING, "cpu", message.c_str());
}

// The host's threads, as one provider may use them. The host starts them when the first loop needs them.
struct Threads {
  const EpServicesApi* services = nullptr;
  EpThreadPool* pool = nullptr;
  uint32_t wanted = 1;  // there can be fewer

  // How many there are. Starts them: for what can't be done without knowing.
  uint32_t Count() const { return wanted <= 1 ? 1 : std::clamp(services->GetThreadCount(pool), uint32_t{1}, wanted); }

  void ParallelFor(int64_t items, int64_t grain, const std::function<void(int64_t, int64_t)>& body) const {
    if (items <= 0) return;
    if (wanted <= 1 || items <= grain) {
      body(0, items);
      return;
    }
    // Nothing may be thrown through the host: the first that is thrown in a share comes out here.
    struct Job {
      const std::function<void(int64_t, int64_t)>& body;
      std::atomic<bool> failed{false};
      std::exception_ptr error;
    } job{body};
    services->ParallelFor(
        pool, static_cast<uint64_t>(items), static_cast<uint64_t>(grain < 1 ? 1 : grain),
        [](void* user, uint64_t begin, uint64_t end, uint32_t) {
          auto& shared = *static_cast<Job*>(user);
          try {
            if (!shared.failed.load(std::memory_order_relaxed))
              shared.body(static_cast<int64_t>(begin), static_cast<int64_t>(end));
          } catch (...) {
            if (!shared.failed.exchange(true)) shared.error = std::current_exception();
          }
        },
        &job);
    if (job.error) std::rethrow_exception(job.error);
  }
};

}  // namespace epiphyte::cpu
