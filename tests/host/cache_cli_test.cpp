// `--cache` and `epiphyte cache`: a cache that several processes share, and its state after one of them is killed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

extern char** environ;

namespace epiphyte::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

class CacheCli : public ::testing::Test {
 protected:
  CacheCli() { folder_.Write("model.onnx", MatMulModel()); }

  ProgramResult Run(const std::vector<std::string>& arguments) { return RunEpiphyte(arguments, folder_.path()); }

  Json RunJson(std::vector<std::string> arguments, int code = 0) {
    arguments.push_back("--json");
    ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    Json json = Json::parse(result.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << result.out;
    return json;
  }

  Json Entries() { return RunJson({"cache", "list", "--cache", "cache"})["entries"]; }
  bool RunIsCached() {
    return RunJson({"run", "model.onnx", "--cache", "cache", "--outputs", "out", "--seed", "5"})["context"];
  }

  // Starts a run and does not wait for it.
  pid_t Start(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {EPIPHYTE_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, folder_.path().c_str());
    pid_t pid = -1;
    const int error = posix_spawn(&pid, EPIPHYTE_PROGRAM, &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    EXPECT_EQ(error, 0);
    return pid;
  }
  static int Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // Returns the files in the cache that belong to no entry.
  std::vector<std::string> Leftovers() const {
    std::vector<std::string> names;
    for (const auto& item : fs::recursive_directory_iterator(folder_ / "cache")) {
      const std::string name = item.path().filename();
      if (name.starts_with("tmp-") || name.ends_with(".lock") || name.starts_with(".")) names.push_back(name);
    }
    return names;
  }

  TempDir folder_;
};

TEST_F(CacheCli, TheSecondRunLoadsAndGivesTheSame) {
  EXPECT_EQ(RunJson({"run", "model.onnx", "--outputs", "plain", "--seed", "5"})["context"], false);
  EXPECT_FALSE(RunIsCached());
  EXPECT_EQ(ReadFile(folder_ / "out/output_0.pb"), ReadFile(folder_ / "plain/output_0.pb"));
  EXPECT_TRUE(RunIsCached());
  EXPECT_EQ(ReadFile(folder_ / "out/output_0.pb"), ReadFile(folder_ / "plain/output_0.pb"));
  EXPECT_EQ(RunJson({"bench", "model.onnx", "--cache", "cache", "--runs", "2"})["context"], true);
}

TEST_F(CacheCli, ListSaysWhatIsThere) {
  EXPECT_THAT(Entries(), IsEmpty()) << "a cache that doesn't exist is an empty one";
  RunIsCached();
  const Json entries = Entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0]["model"], "model.onnx");
  EXPECT_THAT(entries[0]["providers"][0].get<std::string>(), HasSubstr("cpu"));
  EXPECT_GT(entries[0]["size"], 100);
  EXPECT_EQ(entries[0]["problem"], "");
  const std::string text = Run({"cache", "list", "--cache", "cache"}).out;
  EXPECT_THAT(text, HasSubstr("model.onnx"));
  EXPECT_THAT(text, HasSubstr(entries[0]["key"].get<std::string>().substr(0, 12)));
  EXPECT_THAT(text, HasSubstr("1 entry"));
}

TEST_F(CacheCli, VerifyFindsAFlippedByteAndGcRemovesTheEntry) {
  RunIsCached();
  EXPECT_EQ(RunJson({"cache", "verify", "--cache", "cache"})["broken"], 0);
  const fs::path entry = folder_.path() / Entries()[0]["folder"].get<std::string>();
  std::string bytes = ReadFile(entry / "model_cpu.bin");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(entry / "model_cpu.bin", std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));

  const Json verified = RunJson({"cache", "verify", "--cache", "cache"}, 1);
  EXPECT_EQ(verified["broken"], 1);
  EXPECT_THAT(verified["entries"][0]["problem"].get<std::string>(), HasSubstr("model_cpu.bin"));
  ProgramResult result = Run({"cache", "verify", "--cache", "cache"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("epiphyte cache gc"));

  const Json removed = RunJson({"cache", "gc", "--cache", "cache"});
  EXPECT_EQ(removed["broken"].size(), 1u);
  EXPECT_FALSE(fs::exists(entry));
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(CacheCli, AFolderThatOthersCanWriteIsReportedAndNotUsed) {
  EXPECT_FALSE(RunIsCached());
  EXPECT_TRUE(RunIsCached());
  fs::permissions(folder_ / "cache", fs::perms{0777});
  for (const std::string action : {"list", "verify"}) {
    const int code = action == "verify" ? 1 : 0;
    EXPECT_THAT(RunJson({"cache", action, "--cache", "cache"}, code)["problem"].get<std::string>(),
                HasSubstr("can be written by others"));
    const ProgramResult result = Run({"cache", action, "--cache", "cache"});
    EXPECT_EQ(result.code, code);
    EXPECT_THAT(result.out, HasSubstr("sessions don't use this cache: "));
  }
  const ProgramResult result = Run({"run", "model.onnx", "--cache", "cache", "--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(Json::parse(result.out)["context"], false);
  EXPECT_THAT(result.err, HasSubstr("can be written by others (mode 0777)"));
  Run({"cache", "gc", "--cache", "cache"});
  fs::permissions(folder_ / "cache", fs::perms{0700});
  EXPECT_TRUE(RunIsCached()) << "nothing was wrong with the entry";
  EXPECT_EQ(Run({"cache", "verify", "--cache", "cache"}).code, 0);
}

// The digests and the folder's name are right, but the writer of the entry did not have the cache's secret.
TEST_F(CacheCli, AnEntryOfAnotherCacheIsReportedAndCompiledAgain) {
  RunIsCached();
  const fs::path entry = folder_.path() / Entries()[0]["folder"].get<std::string>();
  fs::rename(entry, folder_ / "entry");
  fs::remove(folder_ / "cache/secret");
  EXPECT_FALSE(RunIsCached());
  fs::remove_all(entry);
  fs::rename(folder_ / "entry", entry);

  for (const std::string action : {"list", "verify"}) {
    const Json found = RunJson({"cache", action, "--cache", "cache"}, action == "verify" ? 1 : 0);
    EXPECT_THAT(found["entries"][0]["problem"].get<std::string>(), HasSubstr("keyed digest"));
  }
  const ProgramResult result = Run({"run", "model.onnx", "--cache", "cache", "--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(Json::parse(result.out)["context"], false);
  EXPECT_THAT(result.err, HasSubstr("no session wrote it"));
  EXPECT_TRUE(RunIsCached());
  EXPECT_EQ(RunJson({"cache", "verify", "--cache", "cache"})["broken"], 0);
}

TEST_F(CacheCli, TheFolderIsNamedByItselfToo) {
  EXPECT_FALSE(RunIsCached());
  EXPECT_EQ(RunJson({"cache", "list", "cache"})["entries"].size(), 1u);
  EXPECT_EQ(RunJson({"cache", "verify", "cache"})["broken"], 0);
  EXPECT_EQ(Run({"cache", "gc", "cache"}).code, 0);
  EXPECT_EQ(Entries().size(), 1u);
  EXPECT_THAT(Run({"cache", "list"}).err, HasSubstr("DIR"));
}

TEST_F(CacheCli, ClearEmptiesIt) {
  EXPECT_FALSE(RunIsCached());
  const ProgramResult cleared = Run({"cache", "clear", "cache"});
  EXPECT_EQ(cleared.code, 0) << cleared.err;
  EXPECT_THAT(cleared.out, HasSubstr("least recently used 1 entry"));
  EXPECT_THAT(Entries(), IsEmpty());
  EXPECT_FALSE(RunIsCached());
}

TEST_F(CacheCli, HelpNamesNoCommandThatDoesNotExist) {
  const std::string help = Run({"cache", "--help"}).out;
  for (const char* command : {"list", "verify", "gc", "clear"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + command + " "));
    EXPECT_EQ(Run({"cache", command, "cache"}).code, 0) << command;
  }
}

// If the test runs as root, the cache belongs to another user. Otherwise its owner has no access right to it.
TEST_F(CacheCli, ACacheThatThisUserMayNotUseSaysWhyAndWhatToDo) {
  fs::create_directory(folder_ / "cache");
  fs::permissions(folder_.path(), fs::perms{0755});
  const bool is_root = geteuid() == 0;
  fs::permissions(folder_ / "cache", is_root ? fs::perms{0700} : fs::perms{0500});
  std::vector<std::string> words = {"run", "model.onnx", "--cache", "cache"};
  std::string program = EPIPHYTE_PROGRAM;
  if (is_root) {
    for (fs::path above = fs::path(program).parent_path(); above.has_relative_path(); above = above.parent_path())
      if ((fs::status(above).permissions() & fs::perms::others_exec) == fs::perms::none)
        GTEST_SKIP() << "no other user can run " << program << ", because '" << above.string()
                     << "' is closed to others";
    words.insert(words.begin(), {"--reuid=12345", "--regid=12345", "--clear-groups", program});
    program = "/usr/bin/setpriv";
  }
  const ProgramResult result = RunProgram(program, words, folder_.path());
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the session works without the context cache"));
  EXPECT_THAT(result.err, HasSubstr("Permission denied: '"));
  EXPECT_THAT(result.err, HasSubstr(is_root ? "belongs to user 0 (mode 0700), and this process runs as user 12345; "
                                              "choose a cache folder of your own, or let root fill the cache"
                                            : "has mode 0500; give yourself the right to it with chmod u+rwX"));
}

TEST_F(CacheCli, TheCommandLineIsChecked) {
  EXPECT_EQ(Run({"cache"}).code, 2);
  const ProgramResult misspelt = Run({"cache", "lst"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("unknown action 'lst'; did you mean 'list'?; actions are: list"));
  EXPECT_EQ(Run({"cache", "list"}).code, 2);
  EXPECT_EQ(Run({"cache", "gc", "--cache", "cache", "--max-mb", "0"}).code, 2);
  EXPECT_EQ(Run({"place", "model.onnx", "--cache", "cache"}).code, 2) << "nothing is compiled";
  EXPECT_EQ(Run({"cache", "gc", "--cache", "cache", "--max-mb", "5"}).code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
}

TEST_F(CacheCli, EightProcessesAtOnceMakeOneEntry) {
  RunJson({"run", "model.onnx", "--outputs", "plain", "--seed", "5"});
  std::vector<std::thread> processes;
  for (int i = 0; i < 8; ++i) {
    processes.emplace_back([this, i] {
      const ProgramResult result =
          Run({"run", "model.onnx", "--cache", "cache", "--seed", "5", "--outputs", "out" + std::to_string(i)});
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.err, "");
    });
  }
  for (std::thread& process : processes) process.join();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(ReadFile(folder_ / ("out" + std::to_string(i) + "/output_0.pb")),
              ReadFile(folder_ / "plain/output_0.pb"));
  }
  EXPECT_EQ(Entries().size(), 1u);
  EXPECT_EQ(RunJson({"cache", "verify", "--cache", "cache"})["broken"], 0);
  EXPECT_THAT(Leftovers(), IsEmpty());
}

// The process is killed at moments spread over the whole run. After each kill the cache works, and no unused file
// stays.
TEST_F(CacheCli, AKilledProcessLeavesNothingThatIsTrusted) {
  RunJson({"run", "model.onnx", "--outputs", "plain", "--seed", "5"});
  const std::vector<std::string> run = {"run", "model.onnx", "--cache", "cache", "--seed", "5", "--outputs", "killed"};
  const auto start = std::chrono::steady_clock::now();
  Wait(Start(run));
  const auto whole = std::chrono::steady_clock::now() - start;
  constexpr int kMoments = 40;
  int killed = 0;
  for (int i = 1; i <= kMoments; ++i) {
    fs::remove_all(folder_ / "cache");
    const pid_t process = Start(run);
    std::this_thread::sleep_for(whole * i / kMoments);
    kill(process, SIGKILL);
    killed += Wait(process) == 128 + SIGKILL ? 1 : 0;
    if (fs::exists(folder_ / "cache")) {
      EXPECT_EQ(RunJson({"cache", "verify", "--cache", "cache"})["broken"], 0) << i;
    }
    RunIsCached();
    EXPECT_EQ(ReadFile(folder_ / "out/output_0.pb"), ReadFile(folder_ / "plain/output_0.pb")) << i;
    EXPECT_TRUE(RunIsCached()) << i;
    Run({"cache", "gc", "--cache", "cache"});
    EXPECT_THAT(Leftovers(), IsEmpty()) << i;
    EXPECT_EQ(Entries().size(), 1u) << i;
  }
  EXPECT_GT(killed, 0);
}

TEST_F(CacheCli, LockOfAKilledProcessDoesNotBlockOthers) {
  RunIsCached();
  const fs::path entry = folder_.path() / Entries()[0]["folder"].get<std::string>();
  fs::remove_all(entry);
  std::ofstream(entry.string() + ".lock");
  EXPECT_FALSE(RunIsCached());
  EXPECT_TRUE(RunIsCached());
  EXPECT_THAT(Leftovers(), IsEmpty());
}

}  // namespace
}  // namespace epiphyte::test
