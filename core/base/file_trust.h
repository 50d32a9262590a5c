// FileTrust: whether somebody other than root and this process's user could have put there what is at a path, or could
// change it now.
//
// The rule is the one ssh has for its files: what is at the path and every folder above it belong to root or to the
// user, and neither group nor others may write them. Above the path a folder that others may write is fine when it has
// the sticky bit, as /tmp has: in there nobody can touch what isn't his. Symbolic links are followed first.
//
//   FileTrust trust;
//   if (const std::string reason = trust.ReasonAgainst(folder); !reason.empty()) Refuse(reason);
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace epiphyte::core {

class FileTrust {
 public:
  // One line that says what is wrong and what to do; "" when nothing is. Where there is nothing, what is above decides.
  std::string ReasonAgainst(const std::filesystem::path& path);

  // As above for a path without symbolic links, which is not looked up again.
  std::string ReasonAgainstCanonical(const std::filesystem::path& path);
  // As above for what is at the path alone, without what is above it. A symbolic link is refused.
  static std::string ReasonAgainstOne(const std::filesystem::path& path);

 private:
  const std::string& ReasonAgainstFolder(const std::filesystem::path& folder);

  std::map<std::filesystem::path, std::string> folders_;  // judged already, as folders above something
};

// Whether the process has more rights than whoever started it (a set-user-ID program, say).
bool IsElevated();

}  // namespace epiphyte::core
