// EpDeviceApi, implemented with the plugin's classes.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "epiphyte/kit/abi/process_end.hpp"
#include "epiphyte/kit/plugin/device_memory.hpp"
#include "epiphyte/kit/plugin/plugin.hpp"

namespace epiphyte::kit {
namespace {

struct StreamHandle {
  const EpHostInfo* host;
  std::unique_ptr<DeviceStream> stream;
  std::mutex mutex;
  // The first OnReached makes the listeners. They are declared after the stream so that they are destroyed first,
  // because their threads wait for the stream.
  std::optional<PointListeners> listeners;
};

StreamHandle& From(EpStream* stream) { return *reinterpret_cast<StreamHandle*>(stream); }
DeviceMemories& MemoriesOf(EpPlugin* plugin) { return *PluginOf(plugin).Memories(); }

[[noreturn]] void RefuseRoom(const char* name, uint32_t room, size_t expected) {
  throw Error(EP_STATUS_INVALID_ARGUMENT, std::string(name) + " has room for " + std::to_string(room) + " bytes, " +
                                              std::to_string(expected) + " expected");
}

// Fills a struct of the caller, which must have room for all of it.
template <typename Info>
void Give(Info from, const char* name, Info* to) {
  if (to->struct_size < sizeof(Info)) RefuseRoom(name, to->struct_size, sizeof(Info));
  from.struct_size = sizeof(Info);
  *to = from;
}

template <typename Made>
Made NotNull(Made made, const char* function) {
  if (made == nullptr) throw Error(EP_STATUS_EP_FAIL, std::string(function) + " made nothing; throw instead");
  return made;
}

EpStatus* EP_CALL GetMemories(EpPlugin* plugin, uint32_t device, const EpMemoryInfo** memories, uint32_t capacity,
                              uint32_t* count) {
  return GuardCall(HostOf(plugin), [&] {
    const std::span<const EpMemoryInfo> all = MemoriesOf(plugin).Memories(device);
    for (size_t i = 0; i < std::min<size_t>(all.size(), capacity); ++i) memories[i] = &all[i];
    *count = static_cast<uint32_t>(all.size());
  });
}
EpStatus* EP_CALL GetMemoryUse(EpPlugin* plugin, uint32_t device, uint32_t memory, EpMemoryUse* use) {
  return GuardCall(HostOf(plugin), [&] { Give(MemoriesOf(plugin).MemoryUse(device, memory), "EpMemoryUse", use); });
}
EpStatus* EP_CALL Allocate(EpPlugin* plugin, uint32_t device, uint32_t memory, uint64_t size, EpBuffer** buffer) {
  return GuardCall(HostOf(plugin), [&] {
    *buffer = ToHandle(NotNull(MemoriesOf(plugin).Allocate(device, memory, size), "Allocate").release());
  });
}
EpStatus* EP_CALL Import(EpPlugin* plugin, uint32_t device, uint32_t memory, const EpExternalMemory* external,
                         EpBuffer** buffer) {
  return GuardCall(HostOf(plugin), [&] {
    if (external->struct_size < sizeof(EpExternalMemory))
      RefuseRoom("EpExternalMemory", external->struct_size, sizeof(EpExternalMemory));
    *buffer = ToHandle(NotNull(MemoriesOf(plugin).Import(device, memory, *external), "Import").release());
  });
}
EpStatus* EP_CALL Export(EpPlugin* plugin, EpBuffer* buffer, EpHandleType type, EpExternalMemory* external) {
  return GuardCall(HostOf(plugin), [&] {
    // The size is checked before Export, because a refusal afterwards would leave a descriptor open.
    if (external->struct_size < sizeof(EpExternalMemory))
      RefuseRoom("EpExternalMemory", external->struct_size, sizeof(EpExternalMemory));
    Give(MemoriesOf(plugin).Export(FromHandle(buffer), type), "EpExternalMemory", external);
  });
}
EpStatus* EP_CALL Map(EpPlugin* plugin, EpBuffer* buffer, void** data) {
  return GuardCall(HostOf(plugin), [&] { *data = MemoriesOf(plugin).Map(FromHandle(buffer)); });
}
void EP_CALL Free(EpPlugin*, EpBuffer* buffer) {
  ReleaseCall([&] { delete &FromHandle(buffer); });
}
void EP_CALL Trim(EpPlugin* plugin, uint32_t device) {
  const ProcessEnd::Call call;
  if (!call) return;
  try {
    MemoriesOf(plugin).Trim(device);
  } catch (...) {
    // The plugin keeps memory that it can't release now.
  }
}

EpStatus* EP_CALL CreateStream(EpPlugin* plugin, uint32_t device, EpStream** stream) {
  return GuardCall(HostOf(plugin), [&] {
    auto made = std::make_unique<StreamHandle>();
    made->host = &HostOf(plugin);
    made->stream = NotNull(MemoriesOf(plugin).CreateStream(device), "CreateStream");
    *stream = reinterpret_cast<EpStream*>(made.release());
  });
}
void EP_CALL DestroyStream(EpStream* stream) {
  ReleaseCall([&] { delete &From(stream); });
}

EpStatus* EP_CALL Copy(EpStream* stream, const EpCopy* copies, uint64_t count) {
  return GuardCall(*From(stream).host, [&] { From(stream).stream->Copy({copies, static_cast<size_t>(count)}); });
}
EpStatus* EP_CALL Signal(EpStream* stream, uint64_t* point) {
  return GuardCall(*From(stream).host, [&] { *point = From(stream).stream->Signal(); });
}
EpStatus* EP_CALL Wait(EpStream* stream, EpStream* other, uint64_t point) {
  return GuardCall(*From(stream).host, [&] { From(stream).stream->Wait(FromHandle(other), point); });
}
EpStatus* EP_CALL Synchronize(EpStream* stream, uint64_t point, uint64_t timeout_ns) {
  return GuardCall(*From(stream).host, [&] { From(stream).stream->Synchronize(point, timeout_ns); });
}

EpStatus* EP_CALL OnReached(EpStream* stream, uint64_t point, EpPointListener listener, void* user) {
  StreamHandle& mine = From(stream);
  return GuardCall(*mine.host, [&] {
    const std::lock_guard lock(mine.mutex);
    if (!mine.listeners)
      mine.listeners.emplace([&mine](uint64_t reached) {
        const ProcessEnd::Call call;  // a call on a thread of the plugin; exit() waits for it as well
        ProcessEnd::ThrowIfBegun();
        mine.stream->Synchronize(reached, UINT64_MAX);
      });
    mine.listeners->Add(point, [host = mine.host, listener, user](const Error* failure) {
      listener(user, failure == nullptr ? nullptr : host->status->Create(failure->code(), failure->what()));
    });
  });
}

constexpr EpDeviceApi kTable = {
    sizeof(EpDeviceApi), 0,    GetMemories, GetMemoryUse, Allocate,    Import,   Export, Map, Free, Trim, CreateStream,
    DestroyStream,       Copy, Signal,      Wait,         Synchronize, OnReached};

}  // namespace

DeviceStream& FromHandle(EpStream* stream) { return *From(stream).stream; }
const EpDeviceApi& DeviceTable() { return kTable; }

}  // namespace epiphyte::kit
