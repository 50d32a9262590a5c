#include "core/base/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <type_traits>

namespace epiphyte::core {

// One registered mapping. The signal handler reads slots without a lock while other threads change them: `end` is 0
// while the other fields change. A faulting address lies in a mapping that its own thread keeps registered. The handler
// may read old or new values of another slot, but always of one mapping. These can't cover the address, because
// mappings that exist at once don't overlap.
struct MappingSlot {
  std::atomic<bool> taken{false};
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<MappingMark*> mark{nullptr};
};

namespace {

struct Chunk {
  std::array<MappingSlot, 256> slots;
  std::atomic<Chunk*> next{nullptr};
};

static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<MappingMark*>::is_always_lock_free);

// Global, because a signal handler has no other access to its data. Chunks are never freed: a handler may be reading
// them.
constinit Chunk first_chunk;
constinit std::atomic<bool> any_lost{false};
constinit std::atomic<bool> installed{false};
constinit struct sigaction previous = {};

MappingSlot* TakeSlot() {
  for (Chunk* chunk = &first_chunk;; chunk = chunk->next.load(std::memory_order_acquire)) {
    for (MappingSlot& slot : chunk->slots) {
      if (!slot.taken.load(std::memory_order_relaxed) && !slot.taken.exchange(true, std::memory_order_acquire)) {
        return &slot;
      }
    }
    if (chunk->next.load(std::memory_order_acquire) != nullptr) continue;
    auto* more = new Chunk;
    Chunk* none = nullptr;
    if (!chunk->next.compare_exchange_strong(none, more, std::memory_order_acq_rel)) delete more;
  }
}

const MappingSlot* FindSlot(uintptr_t address) {
  for (const Chunk* chunk = &first_chunk; chunk != nullptr; chunk = chunk->next.load(std::memory_order_acquire)) {
    for (const MappingSlot& slot : chunk->slots) {
      const uintptr_t end = slot.end.load(std::memory_order_acquire);
      if (address >= end || address < slot.begin.load(std::memory_order_acquire)) continue;
      // Valid only if `end` is unchanged: between the end of an old mapping and the beginning of a new one lies other
      // memory.
      if (slot.end.load(std::memory_order_relaxed) == end) return &slot;
    }
  }
  return nullptr;
}

uintptr_t PageSize() { return static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)); }

// Replaces everything from the faulting page to the end of the mapping, because all later pages are missing too.
bool PutZeros(uintptr_t address) {
  const MappingSlot* slot = FindSlot(address);
  if (slot == nullptr) return false;
  const uintptr_t page = address & ~(PageSize() - 1);
  void* zeros = mmap(reinterpret_cast<void*>(page), slot->end.load(std::memory_order_relaxed) - page, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (zeros == MAP_FAILED) return false;
  slot->mark.load(std::memory_order_relaxed)->Set();
  any_lost.store(true, std::memory_order_relaxed);
  return true;
}

// Handles the signal as if this handler were not installed.
void PassOn(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
    return;
  }
  const bool was_sent = info->si_code <= 0;
  if (previous.sa_handler == SIG_IGN && was_sent) return;  // the system never ignores faults, so they end the process
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
    return;
  }
  // A faulting instruction faults again when this handler returns. A signal that was sent has to be sent again.
  struct sigaction fatal = {};
  fatal.sa_handler = SIG_DFL;
  sigaction(signal, &fatal, nullptr);
  if (was_sent) raise(signal);
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool is_access = info->si_code == BUS_ADRERR || info->si_code == BUS_MCEERR_AR;
  if (!is_access || !PutZeros(reinterpret_cast<uintptr_t>(info->si_addr))) PassOn(signal, info, context);
  errno = error;
}

}  // namespace

void InstallMappingGuard() {
  if (installed.exchange(true)) return;
  // Read before the handler can run, because the handler needs it.
  sigaction(SIGBUS, nullptr, &previous);
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_mask = previous.sa_mask;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (previous.sa_flags & (SA_NODEFER | SA_RESTART));
  sigaction(SIGBUS, &action, nullptr);
}

bool AnyMappingLost() { return any_lost.load(std::memory_order_relaxed); }

GuardedMapping::GuardedMapping(const void* data, size_t size, MappingMark* mark) : slot_(TakeSlot()) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t page = PageSize();
  slot_->begin.store(begin, std::memory_order_release);  // a reader that sees it also sees that the old end is gone
  slot_->mark.store(mark, std::memory_order_relaxed);
  slot_->end.store((begin + size + page - 1) & ~(page - 1), std::memory_order_release);
}

GuardedMapping::~GuardedMapping() {
  slot_->end.store(0, std::memory_order_release);
  slot_->taken.store(false, std::memory_order_release);
}

bool TouchGuarded(const void* data, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  if (size == 0 || !installed.load() || FindSlot(begin) == nullptr) return false;
  const uintptr_t page = PageSize();
  for (uintptr_t at = begin; at < begin + size; at = (at & ~(page - 1)) + page) {
    static_cast<void>(*reinterpret_cast<const volatile uint8_t*>(at));
  }
  return true;
}

void ReleaseGuardedPages(const void* data, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  if (size == 0 || FindSlot(begin) == nullptr) return;
  const uintptr_t page = begin & ~(PageSize() - 1);
  madvise(reinterpret_cast<void*>(page), begin + size - page, MADV_DONTNEED);
}

}  // namespace epiphyte::core
