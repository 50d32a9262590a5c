// A full disk: compiling fails with one line, leaves no incomplete file, and does not change existing files.
//
// The tests use a tmpfs of their own if the process may mount one. Otherwise they use a limit on file sizes and
// injected write errors. Each test says which it used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>

#include "tests/faults/fault_loop.h"
#include "tests/faults/program.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A folder with little free space.
class SmallDisk {
 public:
  virtual ~SmallDisk() = default;
  virtual const char* name() const = 0;
  // Fills the disk until `bytes` are left.
  virtual void LeaveRoom(uint64_t bytes) = 0;
  virtual std::map<std::string, std::string> environment() const { return {}; }
};

class MountedDisk : public SmallDisk {
 public:
  static std::unique_ptr<SmallDisk> Make(const fs::path& folder) {
    if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=256k") != 0) return nullptr;
    return std::unique_ptr<SmallDisk>(new MountedDisk(folder));
  }
  ~MountedDisk() override { umount2(folder_.c_str(), MNT_DETACH); }
  const char* name() const override { return "a tmpfs of 256 KiB"; }
  void LeaveRoom(uint64_t bytes) override {
    const fs::path ballast = folder_ / "ballast";
    fs::remove(ballast);
    const uint64_t free = fs::space(folder_).available;
    std::ofstream(ballast, std::ios::binary) << std::string(free > bytes ? free - bytes : 0, 'b');
  }

 private:
  explicit MountedDisk(fs::path folder) : folder_(std::move(folder)) {}
  fs::path folder_;
};

// Injects "disk full" into the compiling process after a number of writes.
class InjectedDisk : public SmallDisk {
 public:
  const char* name() const override { return "writes that fail with ENOSPC"; }
  void LeaveRoom(uint64_t bytes) override { writes_ = bytes / 1024; }
  std::map<std::string, std::string> environment() const override {
    return {{"LD_PRELOAD", EPIPHYTE_FAULTS_LIBRARY},
            {"EPIPHYTE_FAULTS",
             std::to_string(kFaultWrite) + ":" + std::to_string(writes_ + 1) + ":" + std::to_string(ENOSPC)}};
  }

 private:
  uint64_t writes_ = 0;
};

class DiskFullTest : public testing::Test {
 protected:
  DiskFullTest() {
    fs::create_directories(dir_ / "disk");
    disk_ = MountedDisk::Make(dir_ / "disk");
    if (!disk_) disk_ = std::make_unique<InjectedDisk>();
    std::printf("disk full by %s\n", disk_->name());
  }
  std::vector<std::string> CompileWords(const fs::path& model) const {
    return EpiphyteWords(
        {"compile", model.string(), "--ep", "cpu", "--force", "--output", (dir_ / "disk/m_ctx.onnx").string()});
  }
  ProgramEnd CompileWithRoom(const fs::path& model, uint64_t bytes) {
    disk_->LeaveRoom(bytes);
    auto environment = disk_->environment();
    environment["EPIPHYTE_PLUGIN_PATH"] = EPIPHYTE_PLUGIN_FOLDER;
    ProgramEnd end = Program(CompileWords(model), environment).Wait();
    fs::remove(dir_ / "disk/ballast");
    return end;
  }

  TempDir dir_;
  std::unique_ptr<SmallDisk> disk_;  // destroyed before its folder
};

TEST_F(DiskFullTest, CompilingFailsWithOneLineAndLeavesNothing) {
  const fs::path model = dir_.Write("m.onnx", SmallModel(Weights::kNew));
  for (uint64_t room : {0, 4096, 8192}) {
    ProgramEnd end = CompileWithRoom(model, room);
    if (end.code == 0) {
      EXPECT_GE(room, 8192u) << "the set needs more";
      continue;
    }
    EXPECT_EQ(end.code, 1) << end.signal;
    EXPECT_THAT(end.err, AllOf(StartsWith("epiphyte: error: "), HasSubstr("No space left on device"), HasSubstr("m_")));
    EXPECT_EQ(std::count(end.err.begin(), end.err.end(), '\n'), 1) << end.err;
    EXPECT_THAT(end.out, IsEmpty());
    EXPECT_THAT(FileNames(dir_ / "disk"), IsEmpty()) << room;
  }
}

TEST_F(DiskFullTest, AnOlderSetStaysWhole) {
  const fs::path old_model = dir_.Write("old.onnx", SmallModel(Weights::kOld));
  const fs::path new_model = dir_.Write("new.onnx", SmallModel(Weights::kNew));
  ASSERT_EQ(CompileWithRoom(old_model, 64 * 1024).code, 0);
  const std::string binary = ReadFile(dir_ / "disk/m_cpu.bin"), context = ReadFile(dir_ / "disk/m_ctx.onnx");
  for (uint64_t room : {0, 4096}) {
    ProgramEnd end = CompileWithRoom(new_model, room);
    EXPECT_EQ(end.code, 1) << end.err;
    EXPECT_THAT(FileNames(dir_ / "disk"), ElementsAre("m_cpu.bin", "m_ctx.onnx"));
    EXPECT_EQ(ReadFile(dir_ / "disk/m_cpu.bin"), binary);
    EXPECT_EQ(ReadFile(dir_ / "disk/m_ctx.onnx"), context);
    EXPECT_EQ(StateOf(dir_ / "disk/m_ctx.onnx"), "old");
  }
  EXPECT_EQ(CompileWithRoom(new_model, 64 * 1024).code, 0) << "with room again";
  EXPECT_EQ(StateOf(dir_ / "disk/m_ctx.onnx"), "new");
}

// The files that a run writes are outputs, inputs, and the profile, which is written last. Both files of an output are
// complete or missing.
TEST_F(DiskFullTest, ARunFailsAndLeavesNoPartOfAFile) {
  const fs::path model = dir_.Write("m.onnx", SmallModel(Weights::kOld));
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--outputs", (dir_ / "disk").string()},
                                                {"--save-inputs", (dir_ / "disk").string()},
                                                {"--profile", (dir_ / "disk/trace.json").string()}}) {
    std::vector<std::string> words = {"run", model.string(), "--ep", "cpu"};
    words.insert(words.end(), flags.begin(), flags.end());
    for (const char* older : {"", "older"}) {
      const std::string name = flags[0] == "--outputs"   ? "output_0.pb"
                               : flags[0] == "--profile" ? "trace.json"
                                                         : "input_0.pb";
      if (*older != 0) std::ofstream(dir_ / "disk" / name) << older;
      disk_->LeaveRoom(0);
      auto environment = disk_->environment();
      environment["EPIPHYTE_PLUGIN_PATH"] = EPIPHYTE_PLUGIN_FOLDER;
      const ProgramEnd end = Program(EpiphyteWords(words), environment).Wait();
      fs::remove(dir_ / "disk/ballast");
      EXPECT_EQ(end.code, 1) << flags[0] << ": " << end.err;
      EXPECT_THAT(end.err, AllOf(StartsWith("epiphyte: error: "), HasSubstr("No space left on device; make room"),
                                 HasSubstr(name)))
          << flags[0];
      EXPECT_EQ(std::count(end.err.begin(), end.err.end(), '\n'), 1) << end.err;
      if (*older == 0) {
        EXPECT_THAT(FileNames(dir_ / "disk"), IsEmpty()) << flags[0];
      } else {
        EXPECT_THAT(FileNames(dir_ / "disk"), ElementsAre(name));
        EXPECT_EQ(ReadFile(dir_ / "disk" / name), "older");
        fs::remove(dir_ / "disk" / name);
      }
    }
  }
}

// A limit on the size of files, as `ulimit -f` sets it, makes a write fail with EFBIG; its signal is ignored.
TEST_F(DiskFullTest, ALimitOnFileSizesIsAnErrorToo) {
  const fs::path source = dir_.Write("new.onnx", SmallModel(Weights::kNew));
  fs::create_directories(dir_ / "out");
  const SessionOptions options = CompileOptions({{"ep.context_file_path", (dir_ / "out/m_ctx.onnx").string()}});
  for (rlim_t limit : {rlim_t{0}, rlim_t{100}, rlim_t{4096}}) {
    const Outcome outcome = RunForked([&] {
      std::signal(SIGXFSZ, SIG_IGN);  // as shells do for users of such limits
      const rlimit both = {limit, limit};
      if (setrlimit(RLIMIT_FSIZE, &both) != 0) return std::string("no limit");
      Compile(source, options);
      return std::string("compiled");
    });
    EXPECT_TRUE(outcome.error()) << outcome.Describe();
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("can't be written"), HasSubstr("File too large")));
    EXPECT_THAT(FileNames(dir_ / "out"), IsEmpty());
  }
}

}  // namespace
}  // namespace epiphyte::test
