// Cache trust: whose entries a session believes.
//
// What is in a cache runs as the model that it claims to be, and whoever can write an entry can make its digests fit.
// So a folder is used only when nobody but root and this process's user can write it (file_trust.h), an entry only when
// the same holds for everything in it, and when its record carries a digest that is keyed with the cache's secret: what
// came into the folder in another way than through a session (copied from elsewhere, or written while the rights were
// wrong) doesn't have it.
//
// The secret is DIR/secret, made on first use, readable by its owner alone. It lies in the cache, not in the user's
// home, because caches outlive homes (in containers, say) and are used by services that have none; a folder that others
// could write is refused before its secret is looked at. A cache of root's that another user reads has a secret which
// that user can't read: there the owner is what counts, root's files being what the whole system is made of.
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
  // Looks at the folder and its secret; both may be missing. Never throws for what it finds there.
  explicit CacheTrust(std::filesystem::path folder);

  // Why nothing in the folder is used and nothing put there, one line with what to do; "" when all is well.
  const std::string& problem() const { return problem_; }
  // Where there was nothing to look at, somebody else may have been first to make the folder: looks at it once more. Its
  // path, which was free of symbolic links, must still be.
  void JudgeAgain();

  // Throws INVALID_GRAPH when others may have written the entry: the folders between the cache's and the entry's
  // included.
  void CheckFiles(const std::filesystem::path& entry) const;
  // Throws INVALID_GRAPH when `seal` isn't what Seal gave for the text.
  void CheckSeal(std::string_view text, std::string_view seal) const;
  // The keyed digest. Makes the secret if there is none. Throws FAIL.
  std::string Seal(std::string_view text);

 private:
  // Empty: there is none, it isn't this user's to read, or there is a `problem`.
  std::string ReadSecret(std::string* problem) const;
  bool IsRootsForOthers() const;

  std::filesystem::path folder_;
  std::string secret_;  // empty: there was none yet
  std::string problem_;
};

}  // namespace epiphyte::core
