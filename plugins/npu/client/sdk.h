// Sdk: a vendor's library behind nsdk.h. It isn't trusted: its table, numbers, texts and statuses are checked on
// arrival, and its exceptions are caught.
//
//   const std::shared_ptr<const Sdk> sdk = Sdk::Open("/opt/acme/libacme_nsdk.so");
//   for (const SdkDevice& device : sdk->ListDevices()) …
//   sdk->Call("unload", [&](const NsdkApi& api, NsdkReason* reason) { … });   // throws if it fails
//
// Objects that are made with an Sdk (contexts, compiled graphs, programs, executions) are in context.h and program.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/kit/abi/error.hpp"
#include "plugins/npu/sdk/include/nsdk.h"

namespace epiphyte::npu {

// Result of a call. `reason` is one line.
struct Outcome {
  NsdkStatus status = NSDK_OK;
  std::string reason;
  bool ok() const { return status == NSDK_OK; }
};

struct SdkVersion {
  std::string vendor, name, version, build_id;
  uint64_t capabilities = 0;
  uint32_t blob_written = 0, blob_min = 0, blob_max = 0;
};

struct SdkDevice {
  uint32_t id = 0;
  std::string name, architecture;
  uint64_t memory_bytes = 0;
  bool is_software = false;
};

class Sdk {
 public:
  // `path` is absolute. The library stays open. Throws NOT_FOUND if there is no such library, and EP_FAIL with the
  // defect if it breaks a rule of nsdk.h.
  static std::shared_ptr<const Sdk> Open(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  const SdkVersion& version() const { return version_; }
  // Name and version that contexts record, such as "npusim 1.0.0".
  std::string Title() const { return version_.name + " " + version_.version; }
  bool Can(NsdkCapability capability) const { return (version_.capabilities & static_cast<uint64_t>(capability)) != 0; }
  const NsdkApi& api() const { return api_; }

  std::vector<SdkDevice> ListDevices() const;

  // Calls body(api, reason), which returns a status.
  template <typename Body>
  Outcome Try(std::string_view function, Body&& body) const {
    NsdkReason reason = {};
    reason.struct_size = sizeof(reason);
    try {
      return Judge(function, body(api_, &reason), reason);
    } catch (...) {
      return Judge(function, kThrew, reason);
    }
  }
  // Like Try, but throws unless the status is NSDK_OK.
  template <typename Body>
  void Call(std::string_view function, Body&& body) const {
    const Outcome outcome = Try(function, std::forward<Body>(body));
    if (!outcome.ok()) Throw(function, outcome);
  }
  // Calls a function that returns no status.
  template <typename Body>
  void Release(Body&& body) const noexcept {
    try {
      body(api_);
    } catch (...) {
      // Nothing more can be done about this failure.
    }
  }

  [[noreturn]] void Throw(std::string_view function, const Outcome& outcome) const;
  // Throws EP_FAIL with "the NPU's SDK '…': what".
  [[noreturn]] void Fail(const std::string& what) const;

 private:
  static constexpr NsdkStatus kThrew = INT32_MIN;

  explicit Sdk(const std::filesystem::path& path) : path_(path.string()) {}
  void FillTable(NsdkGetApi get_api);
  void ReadVersion();
  void CheckTable() const;
  Outcome Judge(std::string_view function, NsdkStatus status, const NsdkReason& reason) const;

  std::string path_;
  NsdkApi api_ = {};
  SdkVersion version_;
};

}  // namespace epiphyte::npu
