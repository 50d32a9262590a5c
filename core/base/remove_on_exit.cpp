#include "core/base/remove_on_exit.h"

#include <mutex>
#include <system_error>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

constinit std::mutex g_mutex;
constinit RemoveOnExit* g_first = nullptr;
constinit bool g_ending = false;

void RefuseAtEnd() {
  if (g_ending) Fail(StatusCode::kFail, "no file can be written any more, because the program is ending");
}

}  // namespace

void RemoveOnExit::Make(const std::filesystem::path& path, const std::function<void()>& make) {
  Release();
  std::filesystem::path copy = path;
  const std::lock_guard lock(g_mutex);
  RefuseAtEnd();
  make();
  path_ = std::move(copy);
  next_ = g_first;
  if (next_ != nullptr) next_->previous_ = this;
  g_first = this;
}

void RemoveOnExit::Release() noexcept {
  if (path_.empty()) return;
  const std::lock_guard lock(g_mutex);
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : g_first) = next_;
  previous_ = next_ = nullptr;
  path_.clear();
}

void RemoveOnExit::CommitUninterrupted(const std::function<void()>& step) {
  const std::lock_guard lock(g_mutex);
  RefuseAtEnd();
  step();
}

void RemoveOnExit::RemoveAll() noexcept {
  const std::lock_guard lock(g_mutex);
  g_ending = true;
  for (const RemoveOnExit* item = g_first; item != nullptr; item = item->next_) {
    try {
      std::error_code ignored;
      std::filesystem::remove_all(item->path_, ignored);
    } catch (const std::exception&) {
      // There is no memory. The next process that writes into the folder removes the file.
    }
  }
}

}  // namespace epiphyte::core
