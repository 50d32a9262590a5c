// The device of the faulty plugin: memory behind descriptors, and streams that do their work only when a caller waits
// for them.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/conformance/faulty/device.h"

struct EpBuffer {
  uint32_t memory;
  uint64_t size;
  std::byte* data = nullptr;
  int descriptor = -1;         // file that is mapped; -1: the memory belongs to the host
  uint64_t offset = 0;         // offset in the file, in bytes
  int number = -1;             // the caller's descriptor, kept by a fault
  std::byte* other = nullptr;  // another address, for faults of Map
};

struct EpStream {
  EpPlugin* plugin;
  struct Item {
    std::function<void()> work;
    uint64_t point = 0;  // point that is reached after this work; 0: none
  };
  std::deque<Item> items;
  std::recursive_mutex turn;  // locked by the thread that does the stream's work
  uint64_t last_point = 0;
  uint64_t reached = 0;
  std::atomic<bool> draining{false};
};

namespace {

constexpr uint64_t kCapacity = uint64_t{1} << 32;
constexpr uint64_t kLarge = 1 << 20;

std::mutex g_mutex;
std::set<EpBuffer*> g_buffers;
uint64_t g_used[2] = {};
const volatile std::byte* g_kept = nullptr;  // imported memory that a fault keeps

uint64_t Pages(uint64_t size) { return (size + 4095) / 4096 * 4096; }

std::byte* MapFile(int descriptor, uint64_t offset, uint64_t size) {
  void* data = mmap(nullptr, Pages(size), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, static_cast<off_t>(offset));
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

EpBuffer* Register(EpBuffer* buffer) {
  g_buffers.insert(buffer);
  g_used[buffer->memory] += buffer->size;
  return buffer;
}

EpBuffer* NewBuffer(uint32_t memory, uint64_t size) {
  const int descriptor = memfd_create("faulty", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(Pages(size))) != 0) return nullptr;
  auto* buffer = new EpBuffer{memory, size, MapFile(descriptor, 0, size), descriptor};
  return Register(buffer);
}

std::byte* DataOf(EpBuffer* buffer) {
  if (Has("1232_keeps_descriptor") && buffer->number >= 0) {
    munmap(buffer->data, Pages(buffer->size));
    buffer->data = MapFile(buffer->number, buffer->offset, buffer->size);
  }
  return buffer->data;
}

// Does a stream's work in order. Only one thread at a time does so.
void Drain(EpStream* stream, uint64_t point) {
  static std::atomic<int> slow{2};
  const std::lock_guard turn(stream->turn);
  while (stream->reached < point) {
    EpStream::Item item;
    {
      const std::lock_guard lock(g_mutex);
      if (stream->items.empty()) return;
      item = std::move(stream->items.front());
      stream->items.pop_front();
    }
    if (item.work != nullptr && Has("1246_returns_early") && slow-- > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (item.work != nullptr) item.work();
    if (item.point != 0) stream->reached = item.point;
  }
}

void CopyOne(const EpCopy& copy) {
  const auto at = [](const EpCopyEnd& end) {
    return end.buffer == nullptr ? static_cast<std::byte*>(end.data) : DataOf(end.buffer) + end.offset;
  };
  const bool too_much = Has("1245_copies_too_much") && copy.to.buffer == nullptr;
  if (Has("1204_shares_scratch")) {
    static std::byte scratch[2 * kLarge];
    std::memcpy(scratch, at(copy.from), copy.size);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    std::memcpy(at(copy.to), scratch, copy.size);
    return;
  }
  const std::lock_guard lock(g_mutex);
  std::memcpy(at(copy.to), at(copy.from), copy.size);
  if (too_much) at(copy.to)[copy.size] = std::byte{0};
}

EpStatus* EP_CALL GetMemories(EpPlugin*, uint32_t, const EpMemoryInfo** memories, uint32_t capacity, uint32_t* count) {
  static EpMemoryInfo infos[] = {
      {sizeof(EpMemoryInfo), EP_MEMORY_LOCAL, "arena", 256, 0, EP_HANDLE_OPAQUE_FD, EP_HANDLE_OPAQUE_FD},
      {sizeof(EpMemoryInfo), EP_MEMORY_MAPPABLE, "shared", 64, 0, EP_HANDLE_HOST_POINTER, 0}};
  if (Has("1213_same_names")) infos[1].name = "arena";
  if (Has("1214_alignment_three")) infos[1].alignment = 3;
  if (Has("1215_memories_change")) ++infos[1].max_buffer;
  *count = Has("1211_too_many") ? 40 : 2;
  for (uint32_t i = 0; i < capacity && i < 2; ++i) memories[i] = &infos[i];
  if (capacity > 1 && Has("1212_null_memory")) memories[1] = nullptr;
  if (capacity > 0 && Has("1211_overfills")) memories[capacity] = &infos[0];
  return nullptr;
}

EpStatus* EP_CALL GetMemoryUse(EpPlugin*, uint32_t, uint32_t memory, EpMemoryUse* use) {
  const std::lock_guard lock(g_mutex);
  *use = {sizeof(EpMemoryUse), 0, g_used[memory], kCapacity};
  if (Has("1216_more_than_there_is")) use->used_bytes = kCapacity + 1;
  return nullptr;
}

EpStatus* EP_CALL Allocate(EpPlugin* plugin, uint32_t, uint32_t memory, uint64_t size, EpBuffer** buffer) {
  const std::lock_guard lock(g_mutex);
  if (size > kCapacity - g_used[memory]) {
    return Refuse(plugin->host, Has("1223_fails_otherwise") ? EP_STATUS_EP_FAIL : EP_STATUS_OUT_OF_MEMORY,
                  "there is no memory for it");
  }
  if (Has("1221_null_buffer")) return nullptr;
  *buffer = Has("1222_same_buffer") && !g_buffers.empty() ? *g_buffers.begin() : NewBuffer(memory, size);
  return nullptr;
}

EpStatus* EP_CALL Import(EpPlugin* plugin, uint32_t, uint32_t memory, const EpExternalMemory* external,
                         EpBuffer** buffer) {
  const std::lock_guard lock(g_mutex);
  const EpHandleType known = memory == 0 ? EP_HANDLE_OPAQUE_FD : EP_HANDLE_HOST_POINTER;
  if (external->type != known && !Has("1229_imports_anything"))
    return Refuse(plugin->host, EP_STATUS_INVALID_ARGUMENT, "this memory doesn't import that");
  const bool copies = Has("1230_copies_imports") && external->type == EP_HANDLE_HOST_POINTER;
  if (copies || external->type != known) {
    *buffer = NewBuffer(memory, external->size);
    if (external->type == EP_HANDLE_HOST_POINTER)
      std::memcpy((*buffer)->data, static_cast<std::byte*>(external->pointer) + external->offset, external->size);
    return nullptr;
  }
  auto* made = new EpBuffer{memory, external->size};
  if (known == EP_HANDLE_HOST_POINTER) {
    made->data = static_cast<std::byte*>(external->pointer) + external->offset;
  } else {
    made->offset = external->offset;
    made->number = static_cast<int>(external->handle);
    made->descriptor = dup(made->number);
    made->data = MapFile(made->descriptor, external->offset, external->size);
  }
  *buffer = Register(made);
  return nullptr;
}

EpStatus* EP_CALL Export(EpPlugin* plugin, EpBuffer* buffer, EpHandleType type, EpExternalMemory* external) {
  if (type != EP_HANDLE_OPAQUE_FD || buffer->memory != 0)
    return Refuse(plugin->host, EP_STATUS_INVALID_ARGUMENT, "this memory doesn't export that");
  *external = {sizeof(EpExternalMemory), type, nullptr, dup(buffer->descriptor), buffer->offset, buffer->size};
  if (Has("1233_exports_a_copy")) {
    const std::lock_guard lock(g_mutex);
    EpBuffer* copy = NewBuffer(0, buffer->size);
    std::memcpy(copy->data, buffer->data, buffer->size);
    close(static_cast<int>(external->handle));
    external->handle = dup(copy->descriptor);
  }
  return nullptr;
}

EpStatus* EP_CALL Map(EpPlugin*, EpBuffer* buffer, void** data) {
  const std::lock_guard lock(g_mutex);
  *data = buffer->data;
  if (Has("1227_map_moves")) *data = MapFile(buffer->descriptor, buffer->offset, buffer->size);
  if (Has("1228_maps_a_copy")) {
    if (buffer->other == nullptr) buffer->other = new std::byte[buffer->size]();
    *data = buffer->other;
  }
  return nullptr;
}

void EP_CALL Free(EpPlugin*, EpBuffer* buffer) {
  const std::lock_guard lock(g_mutex);
  g_buffers.erase(buffer);
  if (Has("1225_leaks")) return;
  g_used[buffer->memory] -= buffer->size;
  if (buffer->descriptor >= 0) {
    munmap(buffer->data, Pages(buffer->size));
    close(buffer->descriptor);
  } else if (Has("1231_keeps_imports")) {
    g_kept = buffer->data;
  }
  delete[] buffer->other;
  delete buffer;
}

void EP_CALL Trim(EpPlugin*, uint32_t) {
  if (Has("1226_trims_too_much")) WipeBuffers();
}

EpStatus* EP_CALL CreateStream(EpPlugin* plugin, uint32_t, EpStream** stream) {
  if (Has("1241_null_stream")) return nullptr;
  static EpStream* first = nullptr;
  *stream = Has("1242_same_stream") && first != nullptr ? first : new EpStream{plugin};
  first = *stream;
  return nullptr;
}

void EP_CALL DestroyStream(EpStream* stream) {
  if (!Has("1242_same_stream")) delete stream;
}

EpStatus* EP_CALL Copy(EpStream* stream, const EpCopy* copies, uint64_t count) {
  const std::vector<EpCopy> all(copies, copies + (count > 1 && Has("1244_forgets_the_last") ? count - 1 : count));
  Submit(stream, [all] {
    if (g_kept != nullptr) (void)*g_kept;
    for (const EpCopy& copy : all) CopyOne(copy);
  });
  return nullptr;
}

EpStatus* EP_CALL Signal(EpStream* stream, uint64_t* point) {
  if (Has("1202_throws")) throw std::runtime_error("thrown in Signal");
  const std::lock_guard lock(g_mutex);
  stream->items.push_back({nullptr, ++stream->last_point});
  *point = stream->last_point;
  if (Has("1243_points_stay")) *point = 1;
  if (Has("1243_point_zero")) *point = 0;
  return nullptr;
}

EpStatus* EP_CALL Wait(EpStream* stream, EpStream* other, uint64_t point) {
  if (Has("1247_goes_on")) return nullptr;
  Submit(stream, [other, point] { Drain(other, point); });
  return nullptr;
}

EpStatus* EP_CALL Synchronize(EpStream* stream, uint64_t point, uint64_t) {
  if (Has("1246_returns_early") && stream->draining.exchange(true)) return nullptr;
  Drain(stream, point);
  stream->draining = false;
  return nullptr;
}

EpStatus* EP_CALL OnReached(EpStream* stream, uint64_t point, EpPointListener listener, void* user) {
  Drain(stream, point);
  if (Has("1249_calls_late")) {
    std::thread([listener, user] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      listener(user, nullptr);
    }).detach();
    return nullptr;
  }
  listener(user, nullptr);
  if (Has("1248_calls_twice")) listener(user, nullptr);
  return nullptr;
}

}  // namespace

void WipeBuffers() {
  const std::lock_guard lock(g_mutex);
  for (EpBuffer* buffer : g_buffers) std::memset(buffer->data, 0, buffer->size);
}

void Submit(EpStream* stream, std::function<void()> work) {
  const std::lock_guard lock(g_mutex);
  stream->items.push_back({std::move(work), 0});
}

EpBuffer* AllocateBuffer(uint64_t size) {
  const std::lock_guard lock(g_mutex);
  return NewBuffer(0, size);
}

std::byte* AddressOf(EpBuffer* buffer) { return buffer->data; }

const EpDeviceApi* DeviceTable() {
  static EpDeviceApi api = {sizeof(EpDeviceApi),
                            0,
                            GetMemories,
                            GetMemoryUse,
                            Allocate,
                            Import,
                            Export,
                            Map,
                            Free,
                            Trim,
                            CreateStream,
                            DestroyStream,
                            Copy,
                            Signal,
                            Wait,
                            Synchronize,
                            OnReached};
  if (Has("1201_short_table")) api.struct_size = 64;
  if (Has("1201_no_copy")) api.Copy = nullptr;
  if (Has("1203_no_map")) api.Map = nullptr;
  return &api;
}
