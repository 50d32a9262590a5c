#include "tests/host/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "tests/framework/temp_dir.h"

extern char** environ;

namespace epiphyte::test {
namespace {

std::vector<std::string> MakeEnvironment(const std::map<std::string, std::string>& extra,
                                         const std::filesystem::path& home) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::string text = *variable;
    bool dropped = text.starts_with("EPIPHYTE_") || text.starts_with("XDG_") || text.starts_with("HOME=");
    if (!dropped) variables.push_back(std::move(text));
  }
  variables.push_back("HOME=" + home.string());
  for (const auto& [name, value] : extra) {
    const std::string start = name + "=";
    std::erase_if(variables, [&](const std::string& text) { return text.starts_with(start); });
    variables.push_back(start + value);
  }
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ProgramResult RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                         const std::filesystem::path& folder, const std::map<std::string, std::string>& environment) {
  TempDir scratch;
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = MakeEnvironment(environment, scratch.path());

  std::string out = (scratch / "out").string(), err = (scratch / "err").string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t pid = -1;
  int error =
      posix_spawn(&pid, program.c_str(), &actions, nullptr, Pointers(words).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("can't start " + program);

  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("can't wait for " + program);
  }
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, ReadFile(out), ReadFile(err)};
}

ProgramResult RunEpiphyte(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                          const std::map<std::string, std::string>& environment) {
  return RunProgram(EPIPHYTE_PROGRAM, arguments, folder, environment);
}

}  // namespace epiphyte::test
