#include "core/device/device_memory.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include "core/abi/device_tables.h"
#include "core/abi/owned_handles.h"
#include "core/abi/plugin_calls.h"
#include "core/base/abi_fill.h"

namespace epiphyte::core {
namespace {

// Limits of sharing: a shared slab wastes at most as much as fits beside a value, and a graph's small values need few
// allocations.
constexpr uint64_t kLargestShared = uint64_t{1} << 20;
constexpr uint64_t kSlabBytes = uint64_t{4} << 20;
constexpr uint64_t kMostBytes = uint64_t{1} << 62;  // larger sizes would overflow when they are rounded

bool IsByPointer(EpHandleType type) { return type == EP_HANDLE_HOST_POINTER || type == EP_HANDLE_WIN32; }

std::string HandleNames(uint32_t types) {
  static constexpr std::pair<uint32_t, const char*> kNames[] = {{EP_HANDLE_HOST_POINTER, "host pointers (1)"},
                                                                {EP_HANDLE_DMA_BUF, "dma-bufs (2)"},
                                                                {EP_HANDLE_OPAQUE_FD, "opaque file descriptors (4)"},
                                                                {EP_HANDLE_WIN32, "shared handles (8)"}};
  std::string names;
  for (const auto& [type, name] : kNames) {
    if ((types & type) != 0) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names.empty() ? "none" : names;
}

uint64_t RoundUp(uint64_t bytes, uint64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

struct DeviceAllocation::Slab {
  Slab(DeviceMemory* memory, EpBuffer* shared) : pool(memory), buffer(shared) {}
  ~Slab() { pool->FreeBuffer(buffer); }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  DeviceMemory* pool;
  EpBuffer* buffer;
  uint64_t rooms = 0;  // number of rooms that it is divided into; guarded by the memory's mutex, as is `kept`
  uint64_t kept = 0;   // number of rooms that the pool keeps
};

// --- account

bool DeviceAccount::Take(uint64_t bytes) {
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (used > limit_ || bytes > limit_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

// --- pieces

DeviceAllocation::DeviceAllocation(std::shared_ptr<DeviceMemory> pool, EpBuffer* buffer, uint64_t offset, uint64_t size)
    : DeviceStorage(buffer, offset, size, pool->device(), pool->number()),
      keep_alive_(pool->owner_.keep_alive.lock()),
      pool_(std::move(pool)) {}

DeviceAllocation::~DeviceAllocation() {
  if (!is_owner_) return;
  if (account_) account_->Give(counted_);
  pool_->GiveBack(*this);
}

bool DeviceAllocation::IsLost() const { return generation_ != pool_->generation(); }

void DeviceAllocation::RequireAlive(std::string_view what) const {
  if (!IsLost()) return;
  Fail(StatusCode::kDeviceReset,
       "provider '{}': {} was in {} when that device was lost, and is lost with it; make it again from what you have",
       pool_->plugin().name, what, pool_->Title());
}

void* DeviceAllocation::Map() {
  if (!pool_->mappable()) return nullptr;
  RequireAlive("the value");
  return static_cast<char*>(pool_->MapBuffer(buffer())) + offset();
}

// --- memory

DeviceMemory::DeviceMemory(Owner owner, uint32_t device, uint32_t number, const EpMemoryInfo& info)
    : owner_(std::move(owner)),
      device_(device),
      number_(number),
      name_(info.name),
      flags_(info.flags),
      alignment_(info.alignment),
      max_buffer_(info.max_buffer == 0 ? UINT64_MAX : info.max_buffer),
      import_types_(info.import_types),
      export_types_(info.export_types) {}

DeviceMemory::~DeviceMemory() {
  for (auto& [room, kept] : kept_) FreeAll(std::exchange(kept, {}));
}

std::string DeviceMemory::Title() const {
  return fmt::format("memory '{}' of device '{}'", name_, DeviceName(plugin(), device_));
}

uint64_t DeviceMemory::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

template <typename Action>
void DeviceMemory::ForSiblings(Action&& action) {
  bool met_itself = false;
  for (const auto& weak : siblings_) {
    const std::shared_ptr<DeviceMemory> sibling = weak.lock();
    if (!sibling) continue;
    met_itself |= sibling.get() == this;
    action(*sibling);
  }
  if (!met_itself) action(*this);
}

template <typename Call>
void DeviceMemory::CallDevice(const char* function, Call&& call) {
  try {
    CallPlugin(plugin(), function, call, WatchedCall::kMode);
  } catch (const Error& error) {
    if (error.code() == StatusCode::kDeviceReset) ForSiblings([](DeviceMemory& memory) { memory.Lose(); });
    throw;
  }
}

// Size classes are an eighth of a power of two apart: at most an eighth is wasted, and few sizes can't share.
uint64_t DeviceMemory::SizeClass(uint64_t bytes) const {
  const uint64_t needed = std::max<uint64_t>(bytes, 1);
  const uint64_t step = std::max(std::bit_floor(needed) / 8, alignment_);
  const uint64_t room = RoundUp(needed, step);
  return needed <= max_buffer_ ? std::min(room, max_buffer_) : room;
}

bool DeviceMemory::SharesSlabs(uint64_t room) const {
  return (flags_ & EP_MEMORY_WHOLE) == 0 && room <= kLargestShared && max_buffer_ >= kSlabBytes;
}

std::shared_ptr<DeviceAllocation> DeviceMemory::Take(uint64_t bytes, const std::shared_ptr<DeviceAccount>& account,
                                                     std::string_view what) {
  if (bytes > max_buffer_ || bytes > kMostBytes) {
    Fail(StatusCode::kOutOfMemory, "provider '{}': {} needs {} bytes, more than the {} that a buffer in {} can have",
         plugin().name, what, bytes, std::min(max_buffer_, kMostBytes), Title());
  }
  const uint64_t room = SizeClass(bytes);
  if (account && !account->Take(room)) {
    Fail(StatusCode::kOutOfMemory,
         "provider '{}': {} needs {} bytes in {}, where the session's values have {} already; session.max_device_bytes "
         "allows {}: release values, use smaller inputs, or set the option higher",
         plugin().name, what, room, Title(), account->used(), account->limit());
  }
  Kept kept;
  std::unique_ptr<DeviceAllocation> piece;
  try {
    kept = TakeKept(room);
    if (kept.buffer == nullptr) kept = NewRoom(room, what);
    piece.reset(new DeviceAllocation(shared_from_this(), kept.buffer, kept.offset, room));
  } catch (...) {
    if (kept.buffer != nullptr) Drop(std::move(kept));
    if (account) account->Give(room);
    throw;
  }
  // From here on the allocation gives all of it back.
  piece->is_owner_ = true;
  piece->slab_ = std::move(kept.slab);
  piece->room_ = room;
  piece->generation_ = kept.generation;
  piece->account_ = account;
  piece->counted_ = room;
  CountValue(room);
  return piece;
}

void DeviceMemory::CountValue(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  use_.value_bytes += bytes;
}

// The device gets the memory back, at the latest with the rest of its slab.
void DeviceMemory::Drop(Kept room) noexcept {
  if (!room.slab) return FreeBuffer(room.buffer);
  const std::lock_guard lock(mutex_);
  --room.slab->rooms;
}

DeviceMemory::Kept DeviceMemory::TakeKept(uint64_t room) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(room);
  if (found == kept_.end() || found->second.empty()) return {};
  Kept kept = std::move(found->second.back());
  found->second.pop_back();
  if (kept.slab) --kept.slab->kept;
  use_.kept_bytes -= room;
  return kept;
}

DeviceMemory::Kept DeviceMemory::NewRoom(uint64_t room, std::string_view what) {
  if (SharesSlabs(room)) {
    // If there is no memory for a whole slab, there may be for this one value.
    Kept first = NewSlab(room);
    if (first.buffer != nullptr) return first;
  }
  const uint64_t made_in = generation();
  Attempt attempt = TryAllocate(room);
  if (attempt.buffer == nullptr) {
    ForSiblings([](DeviceMemory& memory) { memory.Trim(); });
    if (owner_.api->Trim != nullptr) {
      CallRelease(plugin(), "Trim", [&] { owner_.api->Trim(plugin().plugin, device_); });
    }
    attempt = TryAllocate(room);
  }
  if (attempt.buffer == nullptr) FailOutOfMemory(room, what, attempt.refusal);
  return {attempt.buffer, 0, nullptr, made_in};
}

DeviceMemory::Kept DeviceMemory::NewSlab(uint64_t room) {
  const uint64_t made_in = generation();
  const uint64_t count = kSlabBytes / room;
  const Attempt attempt = TryAllocate(kSlabBytes);
  if (attempt.buffer == nullptr) return {};
  std::shared_ptr<DeviceAllocation::Slab> slab;
  try {
    slab = std::make_shared<DeviceAllocation::Slab>(this, attempt.buffer);
  } catch (...) {
    FreeBuffer(attempt.buffer);
    throw;
  }
  const std::lock_guard lock(mutex_);
  slab->rooms = 1;
  if (made_in == generation_) {
    std::vector<Kept>& kept = kept_[room];
    kept.reserve(kept.size() + count);
    for (uint64_t i = count; i-- > 1;) kept.push_back({attempt.buffer, i * room, slab, made_in});
    slab->rooms = count;
    slab->kept = count - 1;
    use_.kept_bytes += (count - 1) * room;
  }
  return {attempt.buffer, 0, slab, made_in};
}

DeviceMemory::Attempt DeviceMemory::TryAllocate(uint64_t size) {
  Attempt attempt;
  try {
    CallDevice("Allocate",
               [&] { return owner_.api->Allocate(plugin().plugin, device_, number_, size, &attempt.buffer); });
  } catch (const Error& error) {
    if (error.code() != StatusCode::kOutOfMemory) throw;
    return {nullptr, error.message()};
  }
  Own(attempt.buffer, "Allocate");
  const std::lock_guard lock(mutex_);
  ++use_.allocations;
  return attempt;
}

void DeviceMemory::FailOutOfMemory(uint64_t size, std::string_view what, std::string_view refusal) const {
  const Use now = use();
  Fail(StatusCode::kOutOfMemory,
       "{} needs {} bytes in {}, which is full: values have {} bytes of it, the pool keeps {}{} ({}); release "
       "values, or use smaller inputs",
       what, size, Title(), now.value_bytes, now.kept_bytes,
       now.plugin_total == 0 ? "" : fmt::format(", {} of {} are in use", now.plugin_used, now.plugin_total), refusal);
}

void DeviceMemory::Own(EpBuffer* buffer, const char* function) {
  if (buffer == nullptr) {
    Fail(StatusCode::kEpFail, "provider '{}': {} in {} succeeded but gave no buffer", plugin().name, function, Title());
  }
  bool is_new = false;
  try {
    is_new = OwnedHandles::Buffers().Add(plugin().descriptor, buffer);
  } catch (...) {
    CallRelease(plugin(), "Free", [&] { owner_.api->Free(plugin().plugin, buffer); });
    throw;
  }
  if (!is_new) {
    Fail(StatusCode::kEpFail, "provider '{}': {} in {} gave a buffer that is in use; each is the host's until Free",
         plugin().name, function, Title());
  }
  const std::lock_guard lock(mutex_);
  ++use_.buffers;
}

void DeviceMemory::FreeBuffer(EpBuffer* buffer) noexcept {
  {
    const std::lock_guard lock(mutex_);
    mapped_.erase(buffer);
    --use_.buffers;
  }
  OwnedHandles::Buffers().Remove(plugin().descriptor, buffer);
  CallRelease(plugin(), "Free", [&] { owner_.api->Free(plugin().plugin, buffer); });
}

void DeviceMemory::FreeAll(std::vector<Kept> rooms) noexcept {
  for (Kept& kept : rooms) {
    if (!kept.slab) FreeBuffer(kept.buffer);
    kept.slab = nullptr;  // the last reference frees the slab
  }
}

void DeviceMemory::GiveBack(DeviceAllocation& piece) noexcept {
  Kept room{piece.buffer(), piece.offset(), std::move(piece.slab_), piece.generation_};
  {
    const std::lock_guard lock(mutex_);
    use_.value_bytes -= piece.counted_;
    if (piece.room_ != 0 && piece.generation_ == generation_) {
      try {
        kept_[piece.room_].push_back(room);
        if (room.slab) ++room.slab->kept;
        use_.kept_bytes += piece.room_;
        return;
      } catch (...) {
        // No memory is left to keep the room in the pool; Drop returns it to the device.
      }
    }
  }
  Drop(std::move(room));
}

// --- imported and adopted memory

void DeviceMemory::CheckHandleType(EpHandleType type, uint32_t possible, const char* verb) const {
  if (std::has_single_bit(type) && (type & possible) != 0) return;
  Fail(StatusCode::kInvalidArgument, "provider '{}': {} can't {} handles of type {}; it can {}: {}", plugin().name,
       Title(), verb, type, verb, HandleNames(possible));
}

std::shared_ptr<DeviceAllocation> DeviceMemory::Import(const EpExternalMemory& external, std::shared_ptr<void> keep) {
  CheckHandleType(external.type, import_types_, "import");
  if (external.size == 0 || external.size > kMostBytes || external.offset > kMostBytes) {
    Fail(StatusCode::kInvalidArgument, "memory of {} bytes at offset {} can't be imported; 1 to {} expected",
         external.size, external.offset, kMostBytes);
  }
  if (IsByPointer(external.type) ? external.pointer == nullptr : external.handle < 0) {
    Fail(StatusCode::kInvalidArgument, "memory at {} can't be imported; an address or a handle that exists expected",
         external.pointer == nullptr && IsByPointer(external.type) ? "null"
                                                                   : fmt::format("descriptor {}", external.handle));
  }
  EpExternalMemory given = external;
  given.struct_size = sizeof given;
  const uint64_t made_in = generation();
  EpBuffer* buffer = nullptr;
  CallDevice("Import", [&] { return owner_.api->Import(plugin().plugin, device_, number_, &given, &buffer); });
  Own(buffer, "Import");
  std::unique_ptr<DeviceAllocation> piece;
  try {
    piece.reset(new DeviceAllocation(shared_from_this(), buffer, 0, external.size));
  } catch (...) {
    FreeBuffer(buffer);
    throw;
  }
  piece->is_owner_ = true;
  piece->generation_ = made_in;
  piece->external_ = std::move(keep);
  return piece;
}

std::shared_ptr<DeviceAllocation> DeviceMemory::Adopt(EpBuffer* buffer, uint64_t size, uint64_t offset,
                                                      const std::shared_ptr<DeviceAccount>& account) {
  if (buffer == nullptr) Fail(StatusCode::kInvalidArgument, "a null buffer can't be a value's memory");
  if (size == 0 || offset >= size || offset % alignment_ != 0 || ((flags_ & EP_MEMORY_WHOLE) != 0 && offset != 0)) {
    Fail(StatusCode::kInvalidArgument, "a value can't begin {} bytes into a buffer of {} bytes in {}: {} expected",
         offset, size, Title(),
         (flags_ & EP_MEMORY_WHOLE) != 0 ? "0" : fmt::format("a multiple of {} below its size", alignment_));
  }
  // Everything that can fail happens before the host owns the buffer: a refused buffer stays the plugin's.
  std::shared_ptr<DeviceAllocation> piece(new DeviceAllocation(shared_from_this(), buffer, offset, size - offset));
  if (!OwnedHandles::Buffers().Add(plugin().descriptor, buffer)) {
    Fail(StatusCode::kInvalidArgument, "the buffer is the host's already; each is adopted once, until Free");
  }
  if (account && !account->Take(size)) {
    OwnedHandles::Buffers().Remove(plugin().descriptor, buffer);
    Fail(StatusCode::kOutOfMemory,
         "provider '{}': a buffer of {} bytes in {} is too much where the session's values have {} already; "
         "session.max_device_bytes allows {}: release values, use smaller inputs, or set the option higher",
         plugin().name, size, Title(), account->used(), account->limit());
  }
  piece->is_owner_ = true;
  piece->account_ = account;
  piece->counted_ = size;
  const std::lock_guard lock(mutex_);
  piece->generation_ = generation_;
  use_.value_bytes += size;
  ++use_.buffers;
  return piece;
}

EpExternalMemory DeviceMemory::Export(DeviceAllocation& piece, EpHandleType type) {
  CheckHandleType(type, export_types_, "export");
  if (piece.slab_ || piece.offset() != 0) {
    Fail(StatusCode::kInvalidArgument,
         "the value shares its buffer in {} with others, so it can't be exported alone; import it, or make it larger "
         "than {} bytes",
         Title(), kLargestShared);
  }
  piece.RequireAlive("the value");
  EpExternalMemory external{};
  external.struct_size = sizeof external;
  CallDevice("Export", [&] { return owner_.api->Export(plugin().plugin, piece.buffer(), type, &external); });
  if (external.type != type || (IsByPointer(type) ? external.pointer == nullptr : external.handle < 0) ||
      external.size < piece.size()) {
    Fail(StatusCode::kEpFail,
         "provider '{}': Export gave a handle of type {:#x} for {} bytes, type {:#x} for at least {} expected",
         plugin().name, external.type, external.size, type, piece.size());
  }
  const std::lock_guard lock(mutex_);
  piece.room_ = 0;
  return external;
}

void* DeviceMemory::MapBuffer(EpBuffer* buffer) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = mapped_.find(buffer);
    if (found != mapped_.end()) return found->second;
  }
  void* data = nullptr;
  CallDevice("Map", [&] { return owner_.api->Map(plugin().plugin, buffer, &data); });
  if (data == nullptr) {
    Fail(StatusCode::kEpFail, "provider '{}': Map of a buffer in {} succeeded but gave no address", plugin().name,
         Title());
  }
  const std::lock_guard lock(mutex_);
  const auto [at, is_first] = mapped_.emplace(buffer, data);
  if (!is_first && at->second != data) {
    Fail(StatusCode::kEpFail, "provider '{}': Map of a buffer in {} gave two addresses; it must stay the same",
         plugin().name, Title());
  }
  return data;
}

// --- all memory

DeviceMemory::Use DeviceMemory::use() const {
  Use now;
  {
    const std::lock_guard lock(mutex_);
    now = use_;
  }
  EpMemoryUse told{};
  told.struct_size = sizeof told;
  try {
    CallPlugin(plugin(), "GetMemoryUse",
               [&] { return owner_.api->GetMemoryUse(plugin().plugin, device_, number_, &told); });
    if (!EP_HAS_FIELD(&told, EpMemoryUse, total_bytes)) return now;
    now.plugin_used = told.used_bytes;
    now.plugin_total = told.total_bytes;
  } catch (const Error& error) {
    Log(LogLevel::kDebug, "device", "{}", error.message());
  }
  return now;
}

void DeviceMemory::Trim() {
  std::vector<Kept> freed;
  {
    const std::lock_guard lock(mutex_);
    const auto is_free = [](const Kept& kept) { return !kept.slab || kept.slab->kept == kept.slab->rooms; };
    size_t count = 0;
    for (const auto& [room, kept] : kept_)
      count += static_cast<size_t>(std::count_if(kept.begin(), kept.end(), is_free));
    freed.reserve(count);
    for (auto& [room, kept] : kept_) {
      const auto first =
          std::stable_partition(kept.begin(), kept.end(), [&](const Kept& one) { return !is_free(one); });
      use_.kept_bytes -= room * static_cast<uint64_t>(kept.end() - first);
      freed.insert(freed.end(), std::make_move_iterator(first), std::make_move_iterator(kept.end()));
      kept.erase(first, kept.end());
    }
  }
  FreeAll(std::move(freed));
}

void DeviceMemory::Lose() {
  std::map<uint64_t, std::vector<Kept>> lost;
  {
    const std::lock_guard lock(mutex_);
    ++generation_;
    lost.swap(kept_);
    use_.kept_bytes = 0;
  }
  for (auto& [room, kept] : lost) FreeAll(std::move(kept));
}

}  // namespace epiphyte::core
