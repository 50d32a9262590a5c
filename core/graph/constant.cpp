#include "core/graph/constant.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "core/base/error.h"
#include "core/base/mapping_guard.h"

namespace epiphyte::core {
namespace {

// A cache line, so that kernels may use aligned vector loads on weights.
constexpr std::align_val_t kAlignment{64};

// Constants of at least this many bytes get their own pages, which the system gets back as soon as the constant is
// freed. Transforms and compilers free most of a model's weights, and the heap would keep that memory.
constexpr uint64_t kOwnPages = uint64_t{128} << 10;

std::shared_ptr<void> AllocateAligned(uint64_t bytes) {
#if defined(__linux__)
  if (bytes >= kOwnPages) {
    // All pages are written at once, so they are mapped together instead of one at each first touch.
    void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return {pages, [bytes](void* memory) { munmap(memory, bytes); }};
  }
#endif
  return {::operator new(bytes, kAlignment), [](void* memory) { ::operator delete(memory, kAlignment); }};
}

bool IsAligned(const void* data, DataType type) {
  // Complex numbers are pairs of numbers and aligned like these.
  const uint32_t bytes = DataTypeBits(type) / 8;
  const uint32_t alignment = bytes == 0 ? 1 : bytes > 8 ? 8 : bytes;
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

std::shared_ptr<void> CopyOf(const void* data, uint64_t bytes) {
  std::shared_ptr<void> memory = AllocateAligned(bytes);
  std::memcpy(memory.get(), data, bytes);
  return memory;
}

// Like CopyOf, for data that may be in a mapped file. Its pages are released during the copy; otherwise a large table
// would be in memory twice.
std::shared_ptr<void> MoveOutOf(const void* data, uint64_t bytes) {
  if (bytes < kOwnPages) return CopyOf(data, bytes);
  constexpr uint64_t kPiece = uint64_t{4} << 20;
  std::shared_ptr<void> memory = AllocateAligned(bytes);
  const auto* const from = static_cast<const char*>(data);
  for (uint64_t at = 0; at < bytes; at += kPiece) {
    const auto piece = static_cast<size_t>(std::min(kPiece, bytes - at));
    std::memcpy(static_cast<char*>(memory.get()) + at, from + at, piece);
    ReleaseGuardedPages(from + at, piece);
  }
  return memory;
}

// One mutex for all constants, because copies are few and rare.
std::mutex& CopyMutex() {
  static std::mutex mutex;
  return mutex;
}

std::string DimsToString(const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

}  // namespace

Constant::Constant(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
                   std::shared_ptr<const void> owner)
    : dims_(std::move(dims)), owner_(std::move(owner)) {
  view_.struct_size = sizeof view_;
  view_.element_type = static_cast<EpElementType>(type);
  view_.rank = static_cast<uint32_t>(dims_.size());
  view_.dims = dims_.data();
  view_.element_count = ElementCount(dims_);
  view_.byte_size = bytes;
  view_.data = data;
}

Constant::Constant(std::vector<int64_t> dims, std::vector<std::string> strings)
    : dims_(std::move(dims)), strings_(std::move(strings)) {
  string_views_.reserve(strings_.size());
  for (const std::string& text : strings_) string_views_.push_back({text.data(), text.size()});
  view_.struct_size = sizeof view_;
  view_.element_type = EP_TYPE_STRING;
  view_.rank = static_cast<uint32_t>(dims_.size());
  view_.dims = dims_.data();
  view_.element_count = strings_.size();
  view_.byte_size = strings_.size() * sizeof(EpString);
  view_.data = string_views_.data();
}

ConstantPtr Constant::View(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
                           std::shared_ptr<const void> owner) {
  if (type == DataType::kString) {
    throw Error(StatusCode::kInvalidArgument, "string tensor given as bytes; make it with Constant::Strings");
  }
  const uint64_t needed = DataTypeBytes(type, ElementCount(dims));
  if (bytes != needed || (data == nullptr && needed > 0)) {
    Fail(StatusCode::kInvalidGraph, "tensor of {}{} has {} bytes of data, {} expected", DataTypeName(type),
         DimsToString(dims), data == nullptr ? 0 : bytes, needed);
  }
  return std::make_shared<const Constant>(type, std::move(dims), data, bytes, std::move(owner));
}

ConstantPtr Constant::Copy(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes) {
  if (bytes == 0 || data == nullptr) return View(type, std::move(dims), data, bytes, nullptr);
  std::shared_ptr<void> memory = CopyOf(data, bytes);
  const void* copy = memory.get();
  return View(type, std::move(dims), copy, bytes, std::move(memory));
}

ConstantPtr Constant::ViewOfAnyAlignment(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
                                         std::shared_ptr<const void> owner) {
  // In bytes. Copying a small constant costs less than checking it at each access.
  constexpr uint64_t kSmall = 4096;
  if (type != DataType::kString && !IsAligned(data, type)) {
    if (bytes < kSmall) return Copy(type, std::move(dims), data, bytes);
    auto made = std::const_pointer_cast<Constant>(View(type, std::move(dims), data, bytes, std::move(owner)));
    made->misaligned_ = std::exchange(made->view_.data, nullptr);
    return made;
  }
  return View(type, std::move(dims), data, bytes, std::move(owner));
}

void Constant::Align() const {
  const std::lock_guard<std::mutex> lock(CopyMutex());
  if (copy_ != nullptr) return;
  copy_ = MoveOutOf(misaligned_, view_.byte_size);
  view_.data = copy_.get();
}

void Constant::Drop() const {
  const std::lock_guard<std::mutex> lock(CopyMutex());
  if (misaligned_ == nullptr || keeps_copy_.load(std::memory_order_relaxed)) return;
  view_.data = nullptr;
  copy_.reset();
}

ConstantPtr Constant::Strings(std::vector<int64_t> dims, std::vector<std::string> strings) {
  if (ElementCount(dims) != strings.size()) {
    Fail(StatusCode::kInvalidGraph, "tensor of string{} has {} elements, {} expected", DimsToString(dims),
         strings.size(), ElementCount(dims));
  }
  return std::make_shared<const Constant>(std::move(dims), std::move(strings));
}

}  // namespace epiphyte::core
