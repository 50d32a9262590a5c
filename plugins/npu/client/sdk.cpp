#include "plugins/npu/client/sdk.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/npu/client/library.h"
#include "plugins/npu/client/text.h"

namespace epiphyte::npu {
namespace {

constexpr size_t kLongestText = 200;
constexpr uint32_t kMostDevices = 64;

EpStatusCode CodeOf(NsdkStatus status) {
  switch (status) {
    case NSDK_INVALID_ARGUMENT: return EP_STATUS_INVALID_ARGUMENT;
    case NSDK_UNSUPPORTED: return EP_STATUS_NOT_IMPLEMENTED;
    case NSDK_CORRUPT:
    case NSDK_INCOMPATIBLE: return EP_STATUS_INVALID_GRAPH;
    case NSDK_OUT_OF_MEMORY: return EP_STATUS_OUT_OF_MEMORY;
    case NSDK_CANCELLED: return EP_STATUS_CANCELED;
    case NSDK_NO_DEVICE: return EP_STATUS_NOT_FOUND;
    case NSDK_DEVICE_LOST: return EP_STATUS_DEVICE_RESET;
    case NSDK_INTERNAL: return EP_STATUS_ENGINE_ERROR;
    default: return EP_STATUS_EP_FAIL;
  }
}

const char* NameOf(NsdkStatus status) {
  constexpr const char* kNames[] = {"NSDK_OK",           "NSDK_INVALID_ARGUMENT", "NSDK_UNSUPPORTED", "NSDK_CORRUPT",
                                    "NSDK_INCOMPATIBLE", "NSDK_OUT_OF_MEMORY",    "NSDK_CANCELLED",   "NSDK_BUSY",
                                    "NSDK_NO_DEVICE",    "NSDK_DEVICE_LOST",      "NSDK_INTERNAL"};
  return kNames[status];
}

std::string VersionText(uint32_t version) {
  return std::to_string(version >> 16) + "." + std::to_string(version & 0xffff);
}

}  // namespace

Outcome Sdk::Judge(std::string_view function, NsdkStatus status, const NsdkReason& reason) const {
  if (status == NSDK_OK) return {};
  if (status == kThrew) return {NSDK_INTERNAL, kit::TextOf(function, " threw an exception, which no function may")};
  if (status < NSDK_OK || status > NSDK_INTERNAL)
    return {NSDK_INTERNAL, kit::TextOf(function, " returned ", status, ", which is no NsdkStatus")};
  return {status, OneLine(reason.text, sizeof(reason.text))};
}

void Sdk::Throw(std::string_view function, const Outcome& outcome) const {
  const std::string why = outcome.reason.empty() ? "it gave no reason" : outcome.reason;
  const char* const advice =
      outcome.status == NSDK_DEVICE_LOST ? "; all that was loaded is gone: make a new session" : "";
  kit::FailWith(CodeOf(outcome.status), "the NPU's SDK '", path_, "', ", function, ": ", NameOf(outcome.status), ": ",
                why, advice);
}

void Sdk::Fail(const std::string& what) const {
  kit::FailWith(EP_STATUS_EP_FAIL, "the NPU's SDK '", path_, "' ", what,
                "; report this to its vendor; nsdk_conformance checks the SDK");
}

void Sdk::FillTable(NsdkGetApi get_api) {
  api_.struct_size = sizeof(api_);
  NsdkStatus status = NSDK_INTERNAL;
  try {
    status = get_api(NSDK_VERSION, &api_);
  } catch (...) {
    Fail("throws an exception in nsdk_get_api");
  }
  if (status == NSDK_INCOMPATIBLE)
    kit::FailWith(EP_STATUS_EP_FAIL, "the NPU's SDK '", path_, "' is for another version of nsdk.h than ",
                  VersionText(NSDK_VERSION), ", which this plugin has; install the SDK for it");
  if (status != NSDK_OK) Fail(kit::TextOf("gives no table: nsdk_get_api returned ", status));
  if (api_.struct_size != sizeof(api_))
    Fail(kit::TextOf("filled ", api_.struct_size, " bytes of the table; version ", VersionText(NSDK_VERSION), " has ",
                     sizeof(api_)));
}

// Checks that functions of the table are present. [N102]
void Sdk::CheckTable() const {
  struct Entry {
    const char* name;
    bool is_there;
    uint64_t needed_with;  // 0: always
  };
  const Entry entries[] = {
      {"list_devices", api_.list_devices != nullptr, 0},
      {"context_create", api_.context_create != nullptr, 0},
      {"context_destroy", api_.context_destroy != nullptr, 0},
      {"get_target", api_.get_target != nullptr, 0},
      {"query_op", api_.query_op != nullptr, NSDK_CAN_COMPILE},
      {"compile", api_.compile != nullptr, NSDK_CAN_COMPILE},
      {"compiled_destroy", api_.compiled_destroy != nullptr, NSDK_CAN_COMPILE},
      {"write_blob", api_.write_blob != nullptr, NSDK_CAN_COMPILE},
      {"blob_info", api_.blob_info != nullptr, 0},
      {"blob_info_release", api_.blob_info_release != nullptr, 0},
      {"check_blob", api_.check_blob != nullptr, 0},
      {"group_create", api_.group_create != nullptr, NSDK_CAN_GROUP},
      {"group_destroy", api_.group_destroy != nullptr, NSDK_CAN_GROUP},
      {"load", api_.load != nullptr, 0},
      {"unload", api_.unload != nullptr, 0},
      {"mem_create", api_.mem_create != nullptr, NSDK_CAN_BIND_MEMORY},
      {"mem_destroy", api_.mem_destroy != nullptr, NSDK_CAN_BIND_MEMORY},
      {"exec_create", api_.exec_create != nullptr, 0},
      {"exec_bind", api_.exec_bind != nullptr, 0},
      {"exec_destroy", api_.exec_destroy != nullptr, 0},
      {"run", api_.run != nullptr, 0},
      {"run_async", api_.run_async != nullptr, NSDK_CAN_RUN_ASYNC},
      {"wait", api_.wait != nullptr, NSDK_CAN_RUN_ASYNC},
      {"get_counters", api_.get_counters != nullptr, NSDK_CAN_COUNT},
  };
  for (const Entry& entry : entries) {
    const bool needed = entry.needed_with == 0 || (version_.capabilities & entry.needed_with) != 0;
    if (needed && !entry.is_there) Fail(kit::TextOf("has no function ", entry.name, ", which its capabilities demand"));
  }
}

void Sdk::ReadVersion() {
  if (api_.get_version_info == nullptr) Fail("has no function get_version_info");
  NsdkVersionInfo info = {};
  info.struct_size = sizeof(info);
  Call("get_version_info", [&](const NsdkApi& api, NsdkReason*) { return api.get_version_info(&info); });
  if (info.nsdk_version >> 16 != NSDK_VERSION_MAJOR)
    Fail(kit::TextOf("says that it is for version ", VersionText(info.nsdk_version), " of nsdk.h; ",
                     VersionText(NSDK_VERSION), " expected"));
  version_.vendor = OneLine(info.vendor, kLongestText);
  version_.name = OneLine(info.name, kLongestText);
  version_.version = OneLine(info.version, kLongestText);
  version_.build_id = OneLine(info.build_id, kLongestText);
  version_.capabilities = info.capabilities;
  version_.blob_written = info.blob_version_written;
  version_.blob_min = info.blob_version_min;
  version_.blob_max = info.blob_version_max;
  if (version_.name.empty() || version_.version.empty()) Fail("names neither its product nor its version");
  if (version_.blob_min > version_.blob_written || version_.blob_written > version_.blob_max)
    Fail(kit::TextOf("writes blobs of version ", version_.blob_written, " and reads ", version_.blob_min, " to ",
                     version_.blob_max));
}

std::shared_ptr<const Sdk> Sdk::Open(const std::filesystem::path& path) {
  void* const symbol = FindSymbol(path, "nsdk_get_api");
  std::shared_ptr<Sdk> sdk(new Sdk(path));
  sdk->FillTable(reinterpret_cast<NsdkGetApi>(symbol));
  sdk->ReadVersion();
  sdk->CheckTable();
  return sdk;
}

std::vector<SdkDevice> Sdk::ListDevices() const {
  uint32_t count = 0;
  Call("list_devices", [&](const NsdkApi& api, NsdkReason*) { return api.list_devices(&count, nullptr); });
  if (count > kMostDevices)
    Fail(kit::TextOf("says that there are ", count, " devices; at most ", kMostDevices, " expected"));
  std::vector<NsdkDevice> found(count);
  for (NsdkDevice& device : found) device.struct_size = sizeof(device);
  uint32_t filled = count;
  if (count != 0)
    Call("list_devices", [&](const NsdkApi& api, NsdkReason*) { return api.list_devices(&filled, found.data()); });
  found.resize(std::min(count, filled));
  std::vector<SdkDevice> devices;
  for (const NsdkDevice& device : found) {
    if (device.id == NSDK_WITHOUT_DEVICE) Fail("has a device whose id is NSDK_WITHOUT_DEVICE");
    if (std::ranges::any_of(devices, [&](const SdkDevice& other) { return other.id == device.id; }))
      Fail(kit::TextOf("has two devices with the id ", device.id));
    devices.push_back({device.id, OneLine(device.name, kLongestText), OneLine(device.architecture, kLongestText),
                       device.memory_size, (device.flags & NSDK_DEVICE_SOFTWARE) != 0});
  }
  return devices;
}

}  // namespace epiphyte::npu
