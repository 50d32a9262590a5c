// The command line, started as a user starts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/npu/simulator/networks.h"
#include "tests/npu/simulator/sdk/session.h"

namespace epiphyte::npusim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Npusim : public testing::Test {
 protected:
  Npusim() : folder_(std::filesystem::path(testing::TempDir()) / ("npusim_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    GraphBuilder b("small");
    NetworkBuilder net(b);
    const uint32_t x = b.Input("x", NSDK_INT8, {1, 3, 16, 16}, {0.05f, 3});
    net.Head(net.Conv(x, 20, 3, 1, true), 10);
    blob_ = session_.Blob({b.Graph()});
    Write("net.blob", blob_);
  }
  ~Npusim() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(Path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Returns the program's output with its errors, and sets status_ to its exit status.
  std::string Run(const std::string& arguments, const std::string& redirection = "2>&1") {
    FILE* pipe = popen((std::string(NPUSIM_PROGRAM) + " " + arguments + " " + redirection).c_str(), "r");
    std::string output;
    char buffer[4096];
    while (const size_t size = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, size);
    const int ended = pclose(pipe);
    status_ = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    return output;
  }

  std::filesystem::path folder_;
  Session session_;
  Bytes blob_;
  int status_ = 0;
};

TEST_F(Npusim, InfoSaysWhatIsInABlob) {
  EXPECT_THAT(Run("info " + Path("net.blob")),
              AllOf(HasSubstr("npusim-16x16-256k-64k"), HasSubstr("graph 'small'"),
                    HasSubstr("'x' int8 [1, 3, 16, 16], 768 bytes"), HasSubstr("'logits' int8 [1, 10]")));
  EXPECT_EQ(status_, 0);
}

TEST_F(Npusim, RunWritesTheOutputsThatTheSdkComputes) {
  const Bytes input(768, 5);
  Write("x.bin", input);
  const auto program = session_.Load(blob_);
  const Bytes expected = Bound(program.get(), 0, blob_, {input}).Run()[0];
  const std::string output = Run("run " + Path("net.blob") + " --inputs " + Path("x.bin") + " --outputs " +
                                 folder_.string() + " --counters --trace " + Path("trace.json"));
  EXPECT_EQ(status_, 0) << output;
  EXPECT_THAT(output, AllOf(HasSubstr("output 'logits'"), HasSubstr("npu_total_cycles"), HasSubstr("mac_utilisation")));
  const std::string written = Read("output_0.bin");
  EXPECT_EQ(Bytes(written.begin(), written.end()), expected);
  const std::string trace = Read("trace.json");
  EXPECT_THAT(trace, AllOf(HasSubstr("\"traceEvents\":["), HasSubstr("\"name\":\"execute\""), HasSubstr("\"ph\":\"X\""),
                           HasSubstr("conv0"), HasSubstr("\"CONV\"")));
  EXPECT_EQ(trace.substr(trace.size() - 4), "\n]}\n");
}

TEST_F(Npusim, CyclesFollowTheDevicesOptions) {
  const auto cycles = [&](const std::string& option) {
    const std::string output = Run("run " + Path("net.blob") + " --counters --option " + option);
    EXPECT_EQ(status_, 0) << output;
    const size_t at = output.find("npu_total_cycles ");
    return std::stoull(output.substr(at + 17));
  };
  EXPECT_GT(cycles("dma_bytes_per_cycle=0.1"), 2 * cycles("dma_bytes_per_cycle=16"));
}

TEST_F(Npusim, CheckSaysTheVerdictAndWhetherCommandsAreOrdered) {
  EXPECT_THAT(Run("check " + Path("net.blob")), AllOf(HasSubstr("verdict: optimal"), HasSubstr("are ordered")));
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(Run("check " + Path("net.blob") + " --option array=8x8"), HasSubstr("verdict: must recompile"));
  EXPECT_EQ(status_, 1);
}

TEST_F(Npusim, WhatIsWrongIsSaidInOneLine) {
  const auto refuses = [&](const std::string& arguments, int status, const std::string& text) {
    const std::string output = Run(arguments, "2>&1 >/dev/null");
    EXPECT_EQ(status_, status) << output;
    EXPECT_THAT(output, AllOf(HasSubstr("npusim: "), HasSubstr(text)));
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  };
  refuses("", 2, "expected a command and a blob");
  refuses("walk " + Path("net.blob"), 2, "no command 'walk'");
  refuses("info " + Path("none.blob"), 1, "can't be opened");
  refuses("info " + folder_.string(), 1, "is no regular file");
  refuses("info " + Path("net.blob") + " --counters", 2, "takes --option only");
  refuses("run " + Path("net.blob") + " --graph other", 1, "no graph 'other'");
  refuses("run " + Path("net.blob") + " --inputs a,b", 2, "names 2 files");
  refuses("run " + Path("net.blob") + " --option speed=1", 1, "speed");
  refuses("run " + Path("net.blob") + " --trace /nowhere/trace.json", 1, "can't be written");
  Write("short.bin", Bytes(7));
  refuses("run " + Path("net.blob") + " --inputs " + Path("short.bin"), 1, "has 7 bytes, expected 768");
  Bytes damaged = blob_;
  damaged[damaged.size() / 2] ^= 1;
  Write("damaged.blob", damaged);
  refuses("run " + Path("damaged.blob"), 1, "");
  Write("empty.blob", {});
  refuses("info " + Path("empty.blob"), 1, "");
}

}  // namespace
}  // namespace epiphyte::npusim
