#include "host/conformance/memory/lent_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

namespace epiphyte::conformance {
namespace {

constexpr unsigned char kAround = 0xA5;
enum class State : int { kOpen, kReadOnly, kGone };

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

struct LentMemory::Region {
  Region* next;
  std::byte* pages;
  size_t room;  // bytes of the pages, without the inaccessible one behind them
  std::byte* data;
  size_t size;
  std::atomic<State> state;
  char name[64];
  Rule write;
  Rule beyond;
  Rule gone;

  static inline std::atomic<Region*> first{nullptr};
  static inline Journal* journal = nullptr;
  static inline std::atomic<bool> forgiving{false};

  static void Handle(int signal, siginfo_t* info, void*);
};

// Async-signal-safe except for snprintf, which only formats numbers and short texts here.
void LentMemory::Region::Handle(int signal, siginfo_t* info, void*) {
  if (forgiving.load()) _exit(kCheckDone);
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  char text[256];
  const bool has_address = signal == SIGSEGV || signal == SIGBUS;
  for (const Region* region = first.load(); has_address && region != nullptr; region = region->next) {
    if (at < region->pages || at >= region->pages + region->room + PageSize()) continue;
    const State state = region->state.load();
    const bool behind = at >= region->data + region->size;
    const Rule rule = state == State::kGone ? region->gone : behind ? region->beyond : region->write;
    const char* what = state == State::kGone ? "was used after its time"
                       : behind              ? "was used beyond its end"
                                             : "was written to";
    const int length = std::snprintf(text, sizeof(text), "%s %s, at byte %td of %zu", region->name, what,
                                     at - region->data, region->size);
    journal->Add(rule, Outcome::kFail, {text, static_cast<size_t>(length)});
    _exit(kCheckDone);
  }
  const int length = std::snprintf(text, sizeof(text), "%s: ended by signal %d", journal->blamed_step(), signal);
  journal->Add(journal->blamed(), Outcome::kFail, {text, static_cast<size_t>(length)});
  _exit(kCheckDone);
}

LentMemory::LentMemory(size_t size, Rules rules, Place place) {
  const size_t page = PageSize();
  const size_t room = (size + 63 + page) / page * page;
  void* pages = mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  if (mprotect(static_cast<std::byte*>(pages) + room, page, PROT_NONE) != 0) throw std::bad_alloc();
  std::memset(pages, kAround, room);
  region_ = new Region();
  region_->pages = static_cast<std::byte*>(pages);
  region_->room = room;
  region_->data = place == Place::kPage ? region_->pages : region_->pages + (room - size) / 64 * 64;
  region_->size = size;
  region_->state = State::kOpen;
  std::snprintf(region_->name, sizeof(region_->name), "%s", rules.name.c_str());
  region_->write = rules.write;
  region_->beyond = rules.beyond;
  region_->gone = rules.gone;
  region_->next = Region::first.load();
  while (!Region::first.compare_exchange_weak(region_->next, region_)) {
  }
}

LentMemory::~LentMemory() { TakeAway(); }

std::byte* LentMemory::data() const { return region_->data; }
size_t LentMemory::size() const { return region_->size; }

void LentMemory::MakeReadOnly() {
  region_->state = State::kReadOnly;
  mprotect(region_->pages, region_->room, PROT_READ);
}

void LentMemory::TakeAway(std::optional<Rule> gone) {
  if (gone && region_->state != State::kGone) region_->gone = *gone;
  if (region_->state.exchange(State::kGone) == State::kGone) return;
  mprotect(region_->pages, region_->room, PROT_NONE);
  madvise(region_->pages, region_->room, MADV_DONTNEED);
}

bool LentMemory::SurroundingsAreUntouched() const {
  const auto untouched = [](const std::byte* begin, const std::byte* end) {
    for (; begin < end; ++begin) {
      if (*begin != std::byte{kAround}) return false;
    }
    return true;
  };
  return untouched(region_->pages, region_->data) &&
         untouched(region_->data + region_->size, region_->pages + region_->room);
}

void LentMemory::Forgive() { Region::forgiving = true; }

void LentMemory::WatchWith(Journal* journal) {
  Region::journal = journal;
  Region::forgiving = false;
  // The handler has its own stack, so that it also works when a plugin has overflowed the stack.
  static char stack[64 << 10];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = Region::Handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
}

}  // namespace epiphyte::conformance
