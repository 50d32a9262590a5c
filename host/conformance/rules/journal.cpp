#include "host/conformance/rules/journal.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace epiphyte::conformance {
namespace {

constexpr size_t kEntries = 512;
constexpr size_t kText = 512;
constexpr size_t kNumbers = 2048;  // above every rule's number

void Copy(char* to, std::string_view text) noexcept {
  const size_t length = std::min(text.size(), kText - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace

struct Journal::Pages {
  struct Entry {
    std::atomic<bool> written;
    Rule rule;
    Outcome outcome;
    char message[kText];
  };
  std::atomic<bool> passed[kNumbers];
  std::atomic<bool> inapplicable[kNumbers];  // the first reason is kept
  std::atomic<uint32_t> count;
  std::atomic<int> blamed;
  char step[kText];
  char broken[kText];
  Entry entries[kEntries];
};

Journal::Journal() {
  void* memory = mmap(nullptr, sizeof(Pages), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  pages_ = new (memory) Pages();
  pages_->blamed = static_cast<int>(Rule::kDoesNotCrash);
}

Journal::~Journal() { munmap(pages_, sizeof(Pages)); }

void Journal::Add(Rule rule, Outcome outcome, std::string_view message) noexcept {
  const auto number = static_cast<size_t>(rule);
  if (outcome == Outcome::kPass) {
    pages_->passed[number] = true;
    return;
  }
  if (outcome == Outcome::kNotApplicable && pages_->inapplicable[number].exchange(true)) return;
  const uint32_t at = pages_->count.fetch_add(1);
  if (at >= kEntries) return;
  Pages::Entry& entry = pages_->entries[at];
  entry.rule = rule;
  entry.outcome = outcome;
  Copy(entry.message, message);
  entry.written = true;
}

void Journal::Blame(Rule rule, std::string_view step) noexcept {
  pages_->blamed = static_cast<int>(rule);
  Copy(pages_->step, step);
}

Rule Journal::blamed() const { return static_cast<Rule>(pages_->blamed.load()); }
std::string Journal::step() const { return pages_->step; }
const char* Journal::blamed_step() const noexcept { return pages_->step; }
void Journal::Break(std::string_view message) noexcept { Copy(pages_->broken, message); }
std::string Journal::broken() const { return pages_->broken; }

bool Journal::HasFailure() const {
  for (const Finding& finding : findings()) {
    if (finding.outcome == Outcome::kFail) return true;
  }
  return false;
}

std::vector<Finding> Journal::findings() const {
  std::vector<Finding> all;
  const size_t count = std::min<size_t>(pages_->count.load(), kEntries);
  for (size_t i = 0; i < count; ++i) {
    const Pages::Entry& entry = pages_->entries[i];
    if (entry.written) all.push_back({entry.rule, entry.outcome, entry.message});
  }
  for (size_t number = 0; number < kNumbers; ++number) {
    if (pages_->passed[number]) all.push_back({static_cast<Rule>(number), Outcome::kPass, ""});
  }
  return all;
}

}  // namespace epiphyte::conformance
