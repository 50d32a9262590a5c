// Cache trust: which entries a session believes.
//
// A cached entry runs as the model that it claims to be, and anyone who can write an entry can make its digests fit. So
// three conditions must hold:
// - The folder can be written by root and this process's user only (file_trust.h).
// - The same holds for everything in the entry.
// - The entry's record carries a digest keyed with the cache's secret. Entries that didn't come from a session lack it:
//   they were copied from elsewhere, or written while the access rights were wrong.
//
// The secret is DIR/secret, made on first use, readable by its owner alone. It lies in the cache, not in the user's
// home, because caches outlive homes (in containers, for example) and services use them that have no home. A folder
// that others could write is refused before its secret is looked at. A cache of root's has a secret that other users
// can't read. For them the owner counts: the whole system consists of root's files.
//
//   const CacheTrust trust(folder);
//   if (!trust.problem().empty()) …        // the folder is not to be used
//   trust.CheckFiles(entry);
//   trust.CheckSeal(text, seal);
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace epiphyte::core {

inline constexpr std::string_view kCacheSecretName = "secret";

class CacheTrust {
 public:
  // Checks the folder and its secret; both may be missing. Never throws for a problem that it finds there.
  explicit CacheTrust(std::filesystem::path folder);

  // Why the folder must not be read or written, one line with what to do; "" when there is no problem.
  const std::string& problem() const { return problem_; }
  // Checks the folder again after it was made: if it didn't exist before, another user may have made it first. Its
  // path, which was free of symbolic links, must still be.
  void JudgeAgain();

  // Throws INVALID_GRAPH when others may have written the entry. The folders between the cache's and the entry's are
  // checked, too.
  void CheckFiles(const std::filesystem::path& entry) const;
  // Throws INVALID_GRAPH when `seal` isn't the result of Seal for the text.
  void CheckSeal(std::string_view text, std::string_view seal) const;
  // Returns the keyed digest. Makes the secret if there is none. Throws FAIL.
  std::string Seal(std::string_view text);

 private:
  // Returns "" when there is no secret, when this user can't read it, or when there is a `problem`.
  std::string ReadSecret(std::string* problem) const;
  bool IsRootsForOthers() const;

  std::filesystem::path folder_;
  std::string secret_;  // empty when there was none yet
  std::string problem_;
};

}  // namespace epiphyte::core
