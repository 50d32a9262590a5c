#include "host/conformance/debug_host/debug_host.h"

#include "host/conformance/memory/lent_memory.h"

namespace epiphyte::conformance {
namespace {

const void* EP_CALL GetExtension(const EpHostInfo* host, const char* id) {
  const DebugHost& mine = DebugHost::Current();
  if (id == nullptr || (host != mine.info() && host != mine.second_info())) return nullptr;
  if (std::strcmp(id, EP_SHARE_EXTENSION) == 0) return &kDebugShareApi;
  if (std::strcmp(id, EP_RUN_LIMITS_EXTENSION) == 0) return &kDebugRunLimitsApi;
  if (std::strcmp(id, EP_DEVICE_EXTENSION) == 0) return &kDebugDeviceRunApi;
  if (std::strcmp(id, EP_ONNX_EXTENSION) == 0) return &kDebugOnnxApi;
  if (std::strcmp(id, EP_PROFILE_EXTENSION) == 0) return &kDebugProfileApi;
  if (std::strcmp(id, EP_SCHEMA_EXTENSION) == 0) return &kDebugInferenceApi;
  return nullptr;
}

}  // namespace

DebugHost::DebugHost(Journal& journal) : journal_(journal) {
  current_ = this;
  for (int i = 0; i < 2; ++i) {
    EpHostInfo& info = infos_[i];
    info = {};
    info.struct_size = sizeof(info);
    info.abi_min = EP_ABI_VERSION;
    info.abi_max = EP_ABI_VERSION;
    info.host_name = i == 0 ? "ep_conformance" : "ep_conformance's second host";
    info.host_version = EPIPHYTE_VERSION;
    info.status = &kDebugStatusApi[i];
    info.services = &kDebugServicesApi;
    info.graph = &kDebugGraphApi;
    info.capability = &kDebugCapabilityApi;
    info.task = &kDebugTaskApi;
    info.context = &kDebugContextApi;
    info.run = &kDebugRunApi;
    info.GetExtension = GetExtension;
  }
}

DebugHost::~DebugHost() { current_ = nullptr; }

void DebugHost::Violate(Rule rule, const std::string& message) {
  if (violated_.exchange(true)) return;
  journal_.Fail(rule, message);
  LentMemory::Forgive();
}

bool IsUtf8(const char* text) {
  if (text == nullptr) return false;
  const auto* at = reinterpret_cast<const unsigned char*>(text);
  for (size_t i = 0; at[i] != 0; ++i) {
    const unsigned char lead = at[i];
    const int more = lead < 0x80             ? 0
                     : (lead & 0xE0) == 0xC0 ? 1
                     : (lead & 0xF0) == 0xE0 ? 2
                     : (lead & 0xF8) == 0xF0 ? 3
                                             : -1;
    if (more < 0) return false;
    for (int k = 0; k < more; ++k) {
      if ((at[++i] & 0xC0) != 0x80) return false;
    }
  }
  return true;
}

bool IsOneLine(const char* text) {
  if (!IsUtf8(text)) return false;
  for (const char* at = text; *at != '\0'; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x20 || byte == 0x7F) return false;
  }
  return true;
}

}  // namespace epiphyte::conformance
