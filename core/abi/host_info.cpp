// EpHostInfo and the tables over base/ and graph/.
#include <cstring>

#include "core/abi/handles.h"
#include "core/base/log.h"
#include "core/base/thread_pool.h"

namespace epiphyte::core {
namespace {

// --- services

uint32_t EP_CALL IsLogEnabled(EpLogLevel level) {
  return level >= EP_LOG_TRACE && level <= EP_LOG_ERROR && IsLogged(static_cast<LogLevel>(level)) ? 1 : 0;
}

void EP_CALL LogText(EpLogLevel level, const char* origin, const char* message) {
  if (IsLogEnabled(level) == 0) return;
  try {
    LogMessage(static_cast<LogLevel>(level), CleanText(origin, 64), CleanText(message));
  } catch (...) {
    // A message that can't be written is lost: a plugin can do nothing about it.
  }
}

void EP_CALL ParallelFor(EpThreadPool* pool, uint64_t count, uint64_t grain, EpParallelBody body, void* user) {
  if (body == nullptr || count == 0) return;
  if (pool == nullptr) {
    body(user, 0, count, 0);
    return;
  }
  FromAbi(pool)->ParallelFor(count, grain, body, user);
}

uint32_t EP_CALL GetThreadCount(EpThreadPool* pool) { return pool == nullptr ? 1 : FromAbi(pool)->thread_count(); }

void EP_CALL RunGang(EpThreadPool* pool, uint32_t size, EpGangBody body, void* user) {
  if (body == nullptr) return;
  if (pool == nullptr) {
    body(user, 0, 1);
    return;
  }
  FromAbi(pool)->RunGang(size, body, user);
}

// --- graph

EpStatus* NullArgument() {
  return MakeStatus(StatusCode::kInvalidArgument, "a null handle or null info was passed to a graph query");
}

EpStatus* EP_CALL GetGraphInfo(const EpGraph* graph, EpGraphInfo* info) {
  if (graph == nullptr || info == nullptr) return NullArgument();
  return Guard([&] { FromAbi(graph)->FillAbi(info); });
}

EpStatus* EP_CALL GetNodeInfo(const EpNode* node, EpNodeInfo* info) {
  if (node == nullptr || info == nullptr) return NullArgument();
  return Guard([&] { FillNodeInfo(*FromAbi(node), info); });
}

EpStatus* EP_CALL GetValueDefInfo(const EpValueDef* value, EpValueDefInfo* info) {
  if (value == nullptr || info == nullptr) return NullArgument();
  return Guard([&] { FillValueDefInfo(*FromAbi(value), info); });
}

EpStatus* EP_CALL GetAttributeInfo(const EpAttribute* attribute, EpAttributeInfo* info) {
  if (attribute == nullptr || info == nullptr) return NullArgument();
  return Guard([&] { FromAbi(attribute)->FillAbi(info); });
}

const EpAttribute* EP_CALL FindAttribute(const EpNode* node, const char* name) {
  if (node == nullptr || name == nullptr) return nullptr;
  return ToAbi(FromAbi(node)->FindAttribute(name));
}

const void* EP_CALL GetExtension(const EpHostInfo* host, const char* id) {
  if (host != HostInfo() || id == nullptr) return nullptr;
  if (std::strcmp(id, EP_SHARE_EXTENSION) == 0) return &kShareApi;
  if (std::strcmp(id, EP_RUN_LIMITS_EXTENSION) == 0) return &kRunLimitsApi;
  if (std::strcmp(id, EP_SCHEMA_EXTENSION) == 0) return &kInferenceApi;
  if (std::strcmp(id, EP_ONNX_EXTENSION) == 0) return &kOnnxApi;
  if (std::strcmp(id, EP_PROFILE_EXTENSION) == 0) return &kProfileApi;
  if (std::strcmp(id, EP_DEVICE_EXTENSION) == 0) return &kDeviceRunApi;
  return nullptr;
}

}  // namespace

const EpServicesApi kServicesApi = {sizeof(EpServicesApi), 0,      IsLogEnabled, LogText, ParallelFor,
                                    GetThreadCount,        RunGang};

const EpGraphApi kGraphApi = {sizeof(EpGraphApi), 0, GetGraphInfo, GetNodeInfo, GetValueDefInfo, GetAttributeInfo,
                              FindAttribute};

const EpHostInfo* HostInfo() {
  static const EpHostInfo kInfo = {sizeof(EpHostInfo), EP_ABI_VERSION, EP_ABI_VERSION, 0,           "epiphyte",
                                   EPIPHYTE_VERSION,   &kStatusApi,    &kServicesApi,  &kGraphApi,  &kCapabilityApi,
                                   &kTaskApi,          &kContextApi,   &kRunApi,       GetExtension};
  return &kInfo;
}

}  // namespace epiphyte::core
