// Sdk: a vendor's library behind nsdk.h, of which nothing is believed: its table, numbers, texts and statuses are
// checked as they come, and what it throws goes no further.
//
//   const std::shared_ptr<const Sdk> sdk = Sdk::Open("/opt/acme/libacme_nsdk.so");
//   for (const SdkDevice& device : sdk->ListDevices()) …
//   const Outcome outcome = sdk->Call("unload", [&](const NsdkApi& api, NsdkReason* reason) { … });
//
// What can be made with one (contexts, compiled graphs, programs, executions) is in context.h and program.h.
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

// What a call came back with. `reason` is one line.
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
  // Throws NOT_FOUND when there is no such library, EP_FAIL with what is wrong when it isn't what nsdk.h says.
  // `path` is absolute. The library stays open.
  static std::shared_ptr<const Sdk> Open(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  const SdkVersion& version() const { return version_; }
  // "npusim 1.0.0": what contexts carry.
  std::string Title() const { return version_.name + " " + version_.version; }
  bool Can(NsdkCapability capability) const { return (version_.capabilities & static_cast<uint64_t>(capability)) != 0; }
  const NsdkApi& api() const { return api_; }

  std::vector<SdkDevice> ListDevices() const;

  // Calls body(api, reason), which gives a status.
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
  // As Try; throws what isn't NSDK_OK.
  template <typename Body>
  void Call(std::string_view function, Body&& body) const {
    const Outcome outcome = Try(function, std::forward<Body>(body));
    if (!outcome.ok()) Throw(function, outcome);
  }
  // Of what gives nothing back.
  template <typename Body>
  void Release(Body&& body) const noexcept {
    try {
      body(api_);
    } catch (...) {
      // Nothing more can be done about it.
    }
  }

  [[noreturn]] void Throw(std::string_view function, const Outcome& outcome) const;
  // EP_FAIL: "the NPU's SDK '…': what".
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
