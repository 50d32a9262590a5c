#include "core/cache/cache_trust.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/file_trust.h"
#include "core/base/folder_names.h"
#include "core/base/hash.h"
#include "core/base/small_file.h"
#include "core/base/staged_file.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSecretBytes = 32;

std::string NewSecret() {
  std::array<unsigned char, kSecretBytes> bytes = {};
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      Fail(StatusCode::kFail, "the system gives no random bytes: {}", std::generic_category().message(errno));
    }
    done += static_cast<size_t>(got);
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

void RefuseFile(const fs::path& path) {
  const std::string reason = FileTrust::ReasonAgainstOne(path);
  if (!reason.empty()) Fail(StatusCode::kInvalidGraph, "{}", reason);
}

}  // namespace

CacheTrust::CacheTrust(fs::path folder) : folder_(std::move(folder)) {
  problem_ = FileTrust().ReasonAgainst(folder_);
  if (problem_.empty()) secret_ = ReadSecret(&problem_);
}

void CacheTrust::JudgeAgain() {
  problem_ = FileTrust().ReasonAgainstCanonical(folder_);
  if (problem_.empty() && secret_.empty()) secret_ = ReadSecret(&problem_);
}

// Whether the cache is root's and this process's user can't read its secret. A user's own cache has a readable secret.
bool CacheTrust::IsRootsForOthers() const {
  struct stat info = {};
  return geteuid() != 0 && stat(folder_.c_str(), &info) == 0 && info.st_uid == 0;
}

std::string CacheTrust::ReadSecret(std::string* problem) const {
  const fs::path file = folder_ / kCacheSecretName;
  struct stat info = {};
  if (lstat(file.c_str(), &info) != 0 || IsRootsForOthers()) return "";
  const auto reject = [&](const std::string& what) {
    *problem = fmt::format("'{}' {}; remove it, and entries made with it are compiled again", file.string(), what);
    return std::string();
  };
  if (!S_ISREG(info.st_mode)) return reject("is no regular file");
  if (info.st_uid != geteuid()) return reject(fmt::format("belongs to user {}", info.st_uid));
  if ((info.st_mode & 077) != 0) {
    return reject(fmt::format("can be read by others than its owner (mode {:04o})", info.st_mode & 07777));
  }
  try {
    std::string secret = ReadSmallFile(file, 2 * kSecretBytes);
    return secret.size() == 2 * kSecretBytes ? secret : reject("is damaged");
  } catch (const Error& error) {
    return reject(fmt::format("can't be read: {}", error.message()));
  }
}

void CacheTrust::CheckFiles(const fs::path& entry) const {
  RefuseFile(entry.parent_path());
  RefuseFile(entry);
  for (const std::string& name : NamesIn(entry).names) RefuseFile(entry / name);
}

void CacheTrust::CheckSeal(std::string_view text, std::string_view seal) const {
  std::string problem;
  // Another session may have made the secret since.
  const std::string secret = secret_.empty() ? ReadSecret(&problem) : secret_;
  if (!problem.empty()) Fail(StatusCode::kInvalidGraph, "{}", problem);
  if (secret.empty() && IsRootsForOthers()) return;
  if (!secret.empty() && SameDigest(HmacSha256(secret, text), seal)) return;
  Fail(StatusCode::kInvalidGraph, "{}",
       secret.empty() ? "its keyed digest can't be checked, because the cache has no secret"
                      : "its keyed digest was not made with this cache's secret, so no session wrote it");
}

std::string CacheTrust::Seal(std::string_view text) {
  std::string problem;
  if (secret_.empty()) secret_ = ReadSecret(&problem);
  if (secret_.empty() && problem.empty()) {
    StagedFile staged(folder_ / kCacheSecretName);
    std::error_code error;
    fs::permissions(staged.staged_path(), fs::perms::owner_read | fs::perms::owner_write, error);
    if (error) {
      Fail(StatusCode::kFail, "'{}' can't be made readable by its owner alone: {}", staged.staged_path().string(),
           error.message());
    }
    const std::string secret = NewSecret();
    staged.Write(secret.data(), secret.size());
    std::string failure;
    try {
      staged.Commit(/*overwrite=*/false);
    } catch (const Error& error) {
      failure = error.message();  // no failure when another process made it first
    }
    secret_ = ReadSecret(&problem);
    if (problem.empty()) problem = failure;
  }
  if (secret_.empty()) {
    Fail(StatusCode::kFail, "{}",
         problem.empty() ? fmt::format("no secret can be written to folder '{}'", folder_.string()) : problem);
  }
  return HmacSha256(secret_, text);
}

}  // namespace epiphyte::core
