#include "host/conformance/process/isolated_check.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <thread>

#include "core/base/error.h"
#include "host/conformance/memory/lent_memory.h"

namespace epiphyte::conformance {
namespace {

void RunHere(Journal& journal, const std::function<void()>& check) {
  try {
    check();
  } catch (const CheckEnded&) {
  } catch (const std::exception& error) {
    journal.Break(fmt::format("{}: {}", journal.step(), error.what()));
  }
}

[[noreturn]] void RunInChild(Journal& journal, const std::function<void()>& check) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  LentMemory::WatchWith(&journal);
  RunHere(journal, check);
  _exit(kCheckDone);
}

}  // namespace

void RunIsolated(Journal& journal, const Isolation& isolation, const std::function<void()>& check) {
  journal.Blame(Rule::kDoesNotCrash, "");
  if (!isolation.fork) {
    LentMemory::WatchWith(&journal);
    return RunHere(journal, check);
  }
  const pid_t child = fork();
  if (child < 0) core::Fail(core::StatusCode::kFail, "no process can be started for a check; free some memory");
  if (child == 0) RunInChild(journal, check);
  const auto end = std::chrono::steady_clock::now() + isolation.limit;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      journal.Fail(journal.blamed(), fmt::format("{}: no answer within {} s", journal.step(), isolation.limit.count()));
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (WIFSIGNALED(status)) {
    journal.Fail(journal.blamed(), fmt::format("{}: ended by signal {}", journal.step(), WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != kCheckDone) {
    journal.Fail(journal.blamed(),
                 fmt::format("{}: ended the process with exit code {}", journal.step(), WEXITSTATUS(status)));
  }
}

}  // namespace epiphyte::conformance
