#include "plugins/npu/client/context.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/npu/client/text.h"

namespace epiphyte::npu {
namespace {

constexpr size_t kLongestText = 200;
constexpr size_t kLongestLogLine = 1000;
constexpr uint32_t kMostAlignment = 1u << 30;

}  // namespace

struct SdkContext::LogTarget {
  kit::Log log;

  // Receives log lines of the SDK as long as the context lives. [any thread]
  static void Take(void* user, uint32_t level, const char* text) {
    try {
      constexpr EpLogLevel kLevels[] = {EP_LOG_ERROR, EP_LOG_WARNING, EP_LOG_INFO, EP_LOG_DEBUG};
      const EpLogLevel to = kLevels[std::clamp<uint32_t>(level, NSDK_LOG_ERROR, NSDK_LOG_DEBUG) - NSDK_LOG_ERROR];
      const kit::Log& log = static_cast<LogTarget*>(user)->log;
      if (!log.IsOn(to)) return;
      if (const std::string line = OneLine(text, kLongestLogLine); !line.empty()) log.Write(to, line);
    } catch (...) {
      // A lost line is no reason to fail.
    }
  }
};

SdkContext::SdkContext(std::shared_ptr<const Sdk> sdk, uint32_t device, const SdkOptions& options, const kit::Log& log)
    : sdk_(std::move(sdk)), device_(device), log_(new LogTarget{log}) {
  std::vector<NsdkOption> list;
  for (const auto& [key, value] : options) {
    NsdkOption option = {};
    option.struct_size = sizeof(option);
    option.key = key.c_str();
    option.value = value.c_str();
    list.push_back(option);
  }
  NsdkContextOptions given = {};
  given.struct_size = sizeof(given);
  given.device = device;
  given.option_count = static_cast<uint32_t>(list.size());
  given.options = list.empty() ? nullptr : list.data();
  given.log = LogTarget::Take;
  given.user = log_.get();
  sdk_->Call("context_create",
             [&](const NsdkApi& api, NsdkReason* reason) { return api.context_create(&given, &context_, reason); });
  if (context_ == nullptr) sdk_->Fail("made no context and called that NSDK_OK");
  try {
    ReadTarget();
  } catch (...) {
    sdk_->Release([this](const NsdkApi& api) { api.context_destroy(context_); });
    throw;
  }
}

SdkContext::~SdkContext() {
  sdk_->Release([this](const NsdkApi& api) { api.context_destroy(context_); });
}

void SdkContext::ReadTarget() {
  NsdkTarget found = {};
  found.struct_size = sizeof(found);
  sdk_->Call("get_target", [&](const NsdkApi& api, NsdkReason*) { return api.get_target(context_, &found); });
  target_.architecture = OneLine(found.architecture, kLongestText);
  if (target_.architecture.empty()) sdk_->Fail("names no architecture that it compiles for");
  const uint32_t alignment = found.memory_alignment;
  if (alignment == 0 || alignment > kMostAlignment || (alignment & (alignment - 1)) != 0)
    sdk_->Fail(kit::TextOf("wants memory aligned to ", alignment, ", which is no power of two"));
  if (found.max_dimension < 1) sdk_->Fail(kit::TextOf("has ", found.max_dimension, " as the largest dimension"));
  target_.macs_per_cycle = found.macs_per_cycle;
  target_.scratchpad_bytes = found.scratchpad_size;
  target_.types = found.types;
  target_.ops = found.ops;
  target_.max_rank = found.max_rank;
  target_.memory_alignment = alignment;
  target_.max_dimension = found.max_dimension;
  target_.clock_hz = std::isfinite(found.clock_hz) && found.clock_hz > 0 ? found.clock_hz : 0;
}

std::string SdkContext::WhyNot(const NsdkGraph& graph, uint32_t op) const {
  const Outcome outcome = sdk_->Try(
      "query_op", [&](const NsdkApi& api, NsdkReason* reason) { return api.query_op(context_, &graph, op, reason); });
  if (outcome.ok()) return {};
  if (outcome.status == NSDK_OUT_OF_MEMORY || outcome.status == NSDK_DEVICE_LOST) sdk_->Throw("query_op", outcome);
  return outcome.reason.empty() ? "the NPU doesn't have it, its SDK says no more" : outcome.reason;
}

void SdkContext::WriteBlob(std::span<const Compiled* const> compiled, const Write& write) const {
  struct Sink {
    const Write& write;
    uint64_t written = 0;
    uint64_t total = 0;
    bool lies = false;
    std::exception_ptr thrown = nullptr;
  } sink{write};
  NsdkSink given = {};
  given.struct_size = sizeof(given);
  given.user = &sink;
  given.write = [](void* user, const void* data, uint64_t size, uint64_t total) -> int32_t {
    auto& to = *static_cast<Sink*>(user);
    if (to.written == 0) to.total = total;
    to.lies = to.lies || total != to.total || size > total - to.written || (size != 0 && data == nullptr);
    if (to.lies || to.thrown) return 1;
    try {
      to.write(data, size);
      to.written += size;
      return 0;
    } catch (...) {
      to.thrown = std::current_exception();
      return 1;
    }
  };
  std::vector<NsdkCompiled*> handles;
  for (const Compiled* each : compiled) handles.push_back(each->handle());
  const Outcome outcome = sdk_->Try("write_blob", [&](const NsdkApi& api, NsdkReason* reason) {
    return api.write_blob(context_, handles.data(), static_cast<uint32_t>(handles.size()), &given, reason);
  });
  if (sink.thrown) std::rethrow_exception(sink.thrown);
  if (!outcome.ok() && !sink.lies) sdk_->Throw("write_blob", outcome);
  if (sink.lies || sink.written != sink.total || sink.written == 0)
    sdk_->Fail(kit::TextOf("wrote ", sink.written, " bytes of a blob of ", sink.total));
}

kit::ContextVerdict SdkContext::Check(std::span<const std::byte> blob) const {
  uint32_t verdict = 0;
  std::string why;
  NsdkReason reason = {};
  reason.struct_size = sizeof(reason);
  const Outcome outcome = sdk_->Try("check_blob", [&](const NsdkApi& api, NsdkReason*) {
    return api.check_blob(context_, blob.data(), blob.size(), &verdict, &reason);
  });
  why = outcome.ok() ? OneLine(reason.text, sizeof(reason.text)) : outcome.reason;
  if (outcome.status == NSDK_OUT_OF_MEMORY || outcome.status == NSDK_DEVICE_LOST) sdk_->Throw("check_blob", outcome);
  if (!outcome.ok()) return kit::ContextVerdict::Unsupported("the NPU's SDK can't judge the blob: " + why);
  switch (verdict) {
    case NSDK_OPTIMAL: return kit::ContextVerdict::Optimal();
    case NSDK_PREFER_RECOMPILE:
      return kit::ContextVerdict::PreferRecompilation(why.empty() ? "compile the model again for this NPU" : why);
    case NSDK_MUST_RECOMPILE:
      return kit::ContextVerdict::Unsupported((why.empty() ? "the blob is for another NPU or SDK" : why) +
                                              "; compile the model again");
    case NSDK_NOT_A_BLOB:
      return kit::ContextVerdict::Unsupported(
          (why.empty() ? "it is no blob of '" + sdk_->version().name + "', or it is damaged" : why) +
          "; restore the file or compile the model again");
    default: sdk_->Fail(kit::TextOf("gave ", verdict, " as a verdict"));
  }
}

Compiled::Compiled(std::shared_ptr<const SdkContext> context, const NsdkGraph& graph, const kit::Task& task)
    : context_(std::move(context)) {
  struct Progress {
    const kit::Task& task;
    double done = 0;
    std::exception_ptr thrown = nullptr;
  } progress{task};
  NsdkTask given = {};
  given.struct_size = sizeof(given);
  given.user = &progress;
  given.progress = [](void* user, double done, const char* text) -> int32_t {
    auto& to = *static_cast<Progress*>(user);
    if (to.thrown) return 1;
    try {
      constexpr uint64_t kWhole = 10000;
      if (done > to.done && done <= 1) to.done = done;
      const std::string line = OneLine(text, kLongestText);
      to.task.Report(static_cast<uint64_t>(to.done * kWhole), kWhole, line.empty() ? nullptr : line.c_str());
      return 0;
    } catch (...) {
      to.thrown = std::current_exception();
      return 1;
    }
  };
  const Sdk& sdk = context_->sdk();
  const Outcome outcome = sdk.Try("compile", [&](const NsdkApi& api, NsdkReason* reason) {
    return api.compile(context_->handle(), &graph, &given, &compiled_, reason);
  });
  if (!outcome.ok() || progress.thrown) {
    // The result is freed when the task was cancelled although the compilation finished.
    if (outcome.ok() && compiled_ != nullptr)
      sdk.Release([this](const NsdkApi& api) { api.compiled_destroy(compiled_); });
    if (progress.thrown) std::rethrow_exception(progress.thrown);
    sdk.Throw("compile", outcome);
  }
  if (compiled_ == nullptr) sdk.Fail("compiled nothing and called that NSDK_OK");
}

Compiled::~Compiled() {
  context_->sdk().Release([this](const NsdkApi& api) { api.compiled_destroy(compiled_); });
}

}  // namespace epiphyte::npu
