#include "tests/device/plugin/device_api.h"

#include <algorithm>
#include <stdexcept>

#include "tests/device/plugin/control.h"

namespace epiphyte::test::device {
namespace {

constexpr EpMemoryInfo kArenaInfo = {sizeof(EpMemoryInfo), EP_MEMORY_LOCAL,    "arena", kAlignment, 0,
                                     EP_HANDLE_OPAQUE_FD,  EP_HANDLE_OPAQUE_FD};
constexpr EpMemoryInfo kSharedInfo = {
    sizeof(EpMemoryInfo), EP_MEMORY_MAPPABLE, "shared", kAlignment, 0, EP_HANDLE_HOST_POINTER | EP_HANDLE_OPAQUE_FD, 0};
constexpr EpMemoryInfo kMisaligned = {sizeof(EpMemoryInfo), EP_MEMORY_LOCAL, "arena", 3, 0, 0, 0};

// Copies `info` into a struct of the caller. Throws INVALID_ARGUMENT if the struct is too small.
template <typename Info>
void Fill(const Info& info, Info* out) {
  if (out->struct_size < sizeof(Info)) {
    throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "room for " + std::to_string(out->struct_size) + " bytes found, " +
                                                     std::to_string(sizeof(Info)) + " expected");
  }
  *out = info;
}

EpStatus* EP_CALL GetMemories(EpPlugin* plugin, uint32_t device, const EpMemoryInfo** memories, uint32_t capacity,
                              uint32_t* count) {
  Machine& machine = MachineOf(plugin);
  return kit::Guard(machine.host(), [&] {
    machine.At(device);
    const EpMemoryInfo* const all[] = {machine.HasFault("bad_alignment") ? &kMisaligned : &kArenaInfo, &kSharedInfo};
    for (uint32_t i = 0; i < std::min(capacity, kMemoryCount); ++i) memories[i] = all[i];
    *count = machine.HasFault("no_memories") ? 0 : machine.HasFault("many_memories") ? 4000 : kMemoryCount;
  });
}

EpStatus* EP_CALL GetMemoryUse(EpPlugin* plugin, uint32_t device, uint32_t memory, EpMemoryUse* use) {
  Machine& machine = MachineOf(plugin);
  return kit::Guard(machine.host(), [&] { Fill(machine.MemoryUse(device, memory), use); });
}

EpStatus* EP_CALL Allocate(EpPlugin* plugin, uint32_t device, uint32_t memory, uint64_t size, EpBuffer** buffer) {
  Machine& machine = MachineOf(plugin);
  return kit::Guard(machine.host(), [&] {
    if (machine.HasFault("null_buffer")) {
      *buffer = nullptr;
      return;
    }
    std::shared_ptr<Buffer> made = machine.HasFault("same_buffer") ? machine.Newest() : nullptr;
    if (made == nullptr) made = machine.Allocate(device, memory, size);
    *buffer = made->handle();
  });
}

EpStatus* EP_CALL Import(EpPlugin* plugin, uint32_t device, uint32_t memory, const EpExternalMemory* external,
                         EpBuffer** buffer) {
  Machine& machine = MachineOf(plugin);
  return kit::Guard(machine.host(), [&] {
    if (!EP_HAS_FIELD(external, EpExternalMemory, size)) {
      throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "EpExternalMemory is too short");
    }
    *buffer = machine.Import(device, memory, *external)->handle();
  });
}

EpStatus* EP_CALL Export(EpPlugin* plugin, EpBuffer* buffer, EpHandleType type, EpExternalMemory* external) {
  Machine& machine = MachineOf(plugin);
  return kit::Guard(machine.host(), [&] {
    if (!EP_HAS_FIELD(external, EpExternalMemory, size)) {
      throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "EpExternalMemory is too short");
    }
    Fill(machine.Export(buffer, type), external);
  });
}

EpStatus* EP_CALL Map(EpPlugin* plugin, EpBuffer* buffer, void** data) {
  Machine& machine = MachineOf(plugin);
  return kit::Guard(machine.host(), [&] {
    void* const mapped = machine.Map(buffer);
    *data = machine.HasFault("map_null") ? nullptr : mapped;
  });
}

void EP_CALL Free(EpPlugin* plugin, EpBuffer* buffer) { MachineOf(plugin).Free(buffer); }
void EP_CALL Trim(EpPlugin* plugin, uint32_t device) { MachineOf(plugin).Trim(device); }

EpStatus* EP_CALL CreateStream(EpPlugin* plugin, uint32_t device, EpStream** stream) {
  Machine& machine = MachineOf(plugin);
  return kit::Guard(machine.host(), [&] {
    if (machine.HasFault("null_stream")) {
      *stream = nullptr;
      return;
    }
    std::shared_ptr<Stream> made = machine.HasFault("same_stream") ? machine.NewestStream(device) : nullptr;
    if (made == nullptr) made = machine.CreateStream(device);
    *stream = made->handle();
  });
}

// Calls `body` with the stream of the handle and returns its status. All functions of streams use it.
template <typename Body>
EpStatus* WithStream(EpStream* handle, const char* function, Body&& body) {
  const std::shared_ptr<Stream> stream = Machine::FindStream(handle, function);
  if (stream == nullptr) return Machine::NoSuchStream();
  return kit::Guard(stream->machine.host(), [&] {
    const StreamTurn turn(*stream, function);
    body(stream->machine, stream);
  });
}

void EP_CALL DestroyStream(EpStream* handle) {
  const std::shared_ptr<Stream> stream = Machine::FindStream(handle, "DestroyStream");
  if (stream == nullptr) return;
  const StreamTurn turn(*stream, "DestroyStream");
  stream->machine.DestroyStream(*stream);
}

EpStatus* EP_CALL Copy(EpStream* handle, const EpCopy* copies, uint64_t count) {
  if (const std::shared_ptr<Stream> stream = Machine::FindStream(handle, "Copy");
      stream != nullptr && stream->machine.HasFault("throws")) {
    throw std::runtime_error("thrown by Copy");
  }
  return WithStream(handle, "Copy", [&](Machine& machine, const std::shared_ptr<Stream>& stream) {
    machine.CheckStream(*stream);
    TestDeviceControl& control = Control();
    ++control.copy_calls;
    if (count == 0) return;
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; ++i) bytes += copies[i].size;
    machine.Submit(*stream, MakeCopies(machine, stream->device, copies, count));
    control.copies += count;
    control.copied_bytes += bytes;
  });
}

EpStatus* EP_CALL Signal(EpStream* handle, uint64_t* point) {
  EpStatus* released = nullptr;
  EpStatus* const status = WithStream(handle, "Signal", [&](Machine& machine, const std::shared_ptr<Stream>& stream) {
    *point = machine.Signal(*stream);
    if (!machine.HasFault("status_of_other")) return;
    released = machine.host().status->Create(EP_STATUS_EP_FAIL, "released already");
    machine.host().status->Release(released);
  });
  return status != nullptr ? status : released;
}

EpStatus* EP_CALL Wait(EpStream* handle, EpStream* other_handle, uint64_t point) {
  return WithStream(handle, "Wait", [&](Machine& machine, const std::shared_ptr<Stream>& stream) {
    const std::shared_ptr<Stream> other = Machine::FindStream(other_handle, "Wait");
    if (other == nullptr) throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "there is no such stream to wait for");
    if (&other->machine != &machine) {
      Complain("Wait for a stream of another plugin");
      throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "the stream to wait for is another plugin's");
    }
    machine.Wait(*stream, other, point);
  });
}

EpStatus* EP_CALL Synchronize(EpStream* handle, uint64_t point, uint64_t timeout_ns) {
  const std::shared_ptr<Stream> stream = Machine::FindStream(handle, "Synchronize");
  if (stream == nullptr) return Machine::NoSuchStream();
  return kit::Guard(stream->machine.host(), [&] { stream->machine.Synchronize(*stream, point, timeout_ns); });
}

EpStatus* EP_CALL OnReached(EpStream* handle, uint64_t point, EpPointListener listener, void* user) {
  return WithStream(handle, "OnReached", [&](Machine& machine, const std::shared_ptr<Stream>& stream) {
    machine.OnReached(*stream, point, listener, user);
  });
}

}  // namespace

const EpDeviceApi kDeviceApi = {
    sizeof(EpDeviceApi), 0,    GetMemories, GetMemoryUse, Allocate,    Import,   Export, Map, Free, Trim, CreateStream,
    DestroyStream,       Copy, Signal,      Wait,         Synchronize, OnReached};

}  // namespace epiphyte::test::device
