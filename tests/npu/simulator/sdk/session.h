// The SDK as a plugin uses it, through its table alone, with objects that clean up.
//
//   Session session({{"array", "8x8"}});
//   Bytes blob = session.Blob({builder.Graph()});
//   auto program = session.Load(blob);
//   std::vector<Bytes> outputs = session.Run(program.get(), 0, inputs);
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "nsdk.h"
#include "tests/npu/simulator/reference.h"

extern "C" NsdkStatus nsdk_get_api(uint32_t version, NsdkApi* table);  // defined in the simulator's objects

namespace epiphyte::npusim {

inline const NsdkApi& Api() {
  static const NsdkApi api = [] {
    NsdkApi table{.struct_size = sizeof(NsdkApi)};
    if (nsdk_get_api(NSDK_VERSION, &table) != NSDK_OK) std::abort();
    return table;
  }();
  return api;
}

struct Reason : NsdkReason {
  Reason() : NsdkReason{.struct_size = sizeof(NsdkReason), .text = ""} {}
};

class StatusError : public std::runtime_error {
 public:
  StatusError(NsdkStatus status, const std::string& what)
      : std::runtime_error(std::to_string(status) + ": " + what), status(status) {}
  NsdkStatus status;
};

inline void Check(NsdkStatus status, const Reason& reason) {
  if (status != NSDK_OK) throw StatusError(status, reason.text);
}

template <typename T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

using Options = std::vector<std::pair<std::string, std::string>>;

class Session {
 public:
  explicit Session(const Options& options = {}, uint32_t device = 0) : context_(nullptr, Api().context_destroy) {
    std::vector<NsdkOption> list;
    for (const auto& [key, value] : options) {
      list.push_back({.struct_size = sizeof(NsdkOption), .key = key.c_str(), .value = value.c_str()});
    }
    const NsdkContextOptions of{.struct_size = sizeof(NsdkContextOptions),
                                .device = device,
                                .option_count = static_cast<uint32_t>(list.size()),
                                .reserved = 0,
                                .options = list.data(),
                                .log = nullptr,
                                .user = nullptr};
    NsdkContext* context = nullptr;
    Reason reason;
    Check(Api().context_create(&of, &context, &reason), reason);
    context_.reset(context);
  }

  NsdkContext* context() const { return context_.get(); }

  Handle<NsdkCompiled> Compile(const NsdkGraph* graph, const NsdkTask* task = nullptr) const {
    NsdkCompiled* compiled = nullptr;
    Reason reason;
    Check(Api().compile(context(), graph, task, &compiled, &reason), reason);
    return {compiled, Api().compiled_destroy};
  }

  Bytes Blob(const std::vector<const NsdkGraph*>& graphs) const {
    std::vector<Handle<NsdkCompiled>> owned;
    std::vector<NsdkCompiled*> compiled;
    for (const NsdkGraph* graph : graphs) {
      owned.push_back(Compile(graph));
      compiled.push_back(owned.back().get());
    }
    Bytes blob;
    const NsdkSink sink{.struct_size = sizeof(NsdkSink),
                        .reserved = 0,
                        .write =
                            [](void* user, const void* data, uint64_t size, uint64_t) {
                              const auto* bytes = static_cast<const uint8_t*>(data);
                              static_cast<Bytes*>(user)->insert(static_cast<Bytes*>(user)->end(), bytes, bytes + size);
                              return 0;
                            },
                        .user = &blob};
    Reason reason;
    Check(Api().write_blob(context(), compiled.data(), static_cast<uint32_t>(compiled.size()), &sink, &reason), reason);
    return blob;
  }

  Handle<NsdkProgram> Load(const Bytes& blob, NsdkGroup* scratch = nullptr, NsdkGroup* weights = nullptr,
                           uint32_t flags = 0, int32_t priority = 0) const {
    const NsdkLoadOptions options{.struct_size = sizeof(NsdkLoadOptions),
                                  .flags = flags,
                                  .scratch = scratch,
                                  .weights = weights,
                                  .priority = priority,
                                  .reserved = 0};
    NsdkProgram* program = nullptr;
    Reason reason;
    Check(Api().load(context(), blob.data(), blob.size(), &options, &program, &reason), reason);
    return {program, Api().unload};
  }

 private:
  Handle<NsdkContext> context_;
};

// An execution of one graph of a program, with its own memory for each input and output.
class Bound {
 public:
  Bound(NsdkProgram* program, uint32_t graph, const Bytes& blob, std::vector<Bytes> inputs)
      : inputs_(std::move(inputs)), execution_(nullptr, Api().exec_destroy) {
    NsdkExecution* execution = nullptr;
    Reason reason;
    Check(Api().exec_create(program, graph, &execution, &reason), reason);
    execution_.reset(execution);
    const NsdkBlobInfo* info = nullptr;
    Check(Api().blob_info(blob.data(), blob.size(), &info, &reason), reason);
    for (uint32_t i = 0; i < info->graphs[graph].output_count; ++i) {
      outputs_.emplace_back(info->graphs[graph].outputs[i].size);
    }
    Api().blob_info_release(info);
    for (uint32_t i = 0; i < inputs_.size(); ++i) Bind(NSDK_INPUT, i, inputs_[i]);
    for (uint32_t i = 0; i < outputs_.size(); ++i) Bind(NSDK_OUTPUT, i, outputs_[i]);
  }

  NsdkExecution* get() const { return execution_.get(); }
  std::vector<Bytes>& outputs() { return outputs_; }

  const std::vector<Bytes>& Run() {
    Reason reason;
    Check(Api().run(get(), nullptr, &reason), reason);
    return outputs_;
  }
  NsdkCounters Counters() const {
    NsdkCounters counters{.struct_size = sizeof(NsdkCounters)};
    Check(Api().get_counters(get(), &counters), Reason());
    return counters;
  }
  // Binds other memory, which the caller owns and keeps until the last run.
  void Bind(uint32_t direction, uint32_t index, Bytes& memory) {
    const NsdkBinding binding{.struct_size = sizeof(NsdkBinding),
                              .reserved = 0,
                              .memory = nullptr,
                              .offset = 0,
                              .host_address = memory.data(),
                              .size = memory.size()};
    Reason reason;
    Check(Api().exec_bind(get(), direction, index, &binding, &reason), reason);
  }

 private:
  std::vector<Bytes> inputs_, outputs_;
  Handle<NsdkExecution> execution_;
};

}  // namespace epiphyte::npusim
