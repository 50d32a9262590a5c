#include "core/base/file_trust.h"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

// `sticky_is_fine`: true for a folder that contains a path of the user.
std::string Judge(const fs::path& path, bool sticky_is_fine) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return "";
    return fmt::format("'{}' can't be looked at: {}", path.string(), std::generic_category().message(errno));
  }
  const char* const kind = S_ISDIR(info.st_mode) ? "folder " : "";
  if (S_ISLNK(info.st_mode)) return fmt::format("'{}' is a symbolic link", path.string());
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return fmt::format("{}'{}' belongs to user {}; it must belong to user {} or to root", kind, path.string(),
                       info.st_uid, geteuid());
  }
  if ((info.st_mode & kOthersWrite) == 0) return "";
  if (sticky_is_fine && S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0) return "";
  return fmt::format("{}'{}' can be written by {} (mode {:04o}); take that right away with chmod go-w", kind,
                     path.string(), (info.st_mode & S_IWOTH) != 0 ? "others" : "its group", info.st_mode & 07777);
}

}  // namespace

const std::string& FileTrust::ReasonAgainstFolder(const fs::path& folder) {
  if (const auto known = folders_.find(folder); known != folders_.end()) return known->second;
  std::string reason = folder.has_relative_path() ? ReasonAgainstFolder(folder.parent_path()) : "";
  if (reason.empty()) reason = Judge(folder, /*sticky_is_fine=*/true);
  return folders_.emplace(folder, std::move(reason)).first->second;
}

std::string FileTrust::ReasonAgainst(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return fmt::format("'{}' can't be looked at: {}", path.string(), error.message());
  return ReasonAgainstCanonical(found.has_filename() ? found : found.parent_path());
}

std::string FileTrust::ReasonAgainstCanonical(const fs::path& path) {
  if (path.has_relative_path()) {
    if (const std::string& reason = ReasonAgainstFolder(path.parent_path()); !reason.empty()) return reason;
  }
  return Judge(path, /*sticky_is_fine=*/false);
}

std::string FileTrust::ReasonAgainstOne(const fs::path& path) { return Judge(path, /*sticky_is_fine=*/false); }

bool IsElevated() { return getauxval(AT_SECURE) != 0; }

}  // namespace epiphyte::core
