// FileTrust: tells whether users other than root and this process's user could have created or could change a file.
//
// The rule is the one that ssh applies to its files. The path and every folder above it belong to root or to this user,
// and neither group nor others may write them. Exception: a folder above the path that others may write is fine if it
// has the sticky bit, as /tmp has, because users can't touch files of other users there. Symbolic links are followed
// first.
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
  // One line with the problem and what to do; "" when the path is trusted. If the path doesn't exist, the
  // folders above it decide.
  std::string ReasonAgainst(const std::filesystem::path& path);

  // As above for a path without symbolic links; links are not resolved again.
  std::string ReasonAgainstCanonical(const std::filesystem::path& path);
  // As above for the path alone, without the folders above it. A symbolic link is refused.
  static std::string ReasonAgainstOne(const std::filesystem::path& path);

 private:
  const std::string& ReasonAgainstFolder(const std::filesystem::path& folder);

  std::map<std::filesystem::path, std::string> folders_;  // verdicts on folders above checked paths
};

// Whether the process has more rights than the user who started it, as a set-user-ID program has.
bool IsElevated();

}  // namespace epiphyte::core
