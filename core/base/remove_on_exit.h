// RemoveOnExit: removes a file or folder that is not finished when the process ends without unwinding, as after a
// signal.
//
//   RemoveOnExit folder;
//   folder.Make(path, [&] { MakeTheFolder(path); });
//   … fill it, put it in place or remove it …
//   folder.Release();   // or its destructor
//
// Code that ends the process calls RemoveOnExit::RemoveAll() before. The list of files is state of the process.
#pragma once

#include <filesystem>
#include <functional>

namespace epiphyte::core {

class RemoveOnExit {
 public:
  RemoveOnExit() = default;
  ~RemoveOnExit() { Release(); }
  RemoveOnExit(const RemoveOnExit&) = delete;
  RemoveOnExit& operator=(const RemoveOnExit&) = delete;

  // `make` creates `path`, which is removed if the process ends early. Throws FAIL once RemoveAll has begun; nothing is
  // created then. If `make` throws, nothing is removed.
  void Make(const std::filesystem::path& path, const std::function<void()>& make);
  void Release() noexcept;
  // Runs `step`, which renames a file into place. RemoveAll never begins during it. Throws FAIL when RemoveAll has
  // begun.
  static void CommitUninterrupted(const std::function<void()>& step);

  // Removes every unfinished file of the process, including files that are still being written. [any thread, no signal
  // handler]
  static void RemoveAll() noexcept;

 private:
  std::filesystem::path path_;  // empty: nothing to remove
  RemoveOnExit* previous_ = nullptr;
  RemoveOnExit* next_ = nullptr;
};

}  // namespace epiphyte::core
