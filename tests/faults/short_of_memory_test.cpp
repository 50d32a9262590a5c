// A plugin library that does not fit into the address space. The message gives the lack of memory as the reason, not a
// missing library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/faults/program.h"

namespace epiphyte::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ShortOfMemory, IsNotReportedAsAMissingLibrary) {
  int short_of_memory = 0;
  bool loaded = false;
  for (int megabytes = 16; megabytes < 4096 && !loaded; megabytes += megabytes < 512 ? 4 : 64) {
    const ProgramEnd end = Program({"/bin/sh", "-c", "ulimit -v $1; exec \"$0\" doctor --json", EPIPHYTE_PROGRAM,
                                    std::to_string(megabytes * 1024)},
                                   {{"EPIPHYTE_PLUGIN_PATH", EPIPHYTE_PLUGIN_FOLDER}})
                               .Wait();
    loaded = end.code == 0;
    for (const std::string& text : {end.out, end.err}) {
      EXPECT_THAT(text, Not(HasSubstr("can't be found"))) << megabytes << " MiB";
      EXPECT_THAT(text, Not(HasSubstr("MissingDependency"))) << megabytes << " MiB";
      EXPECT_THAT(text, Not(HasSubstr("bad_alloc"))) << megabytes << " MiB";
    }
    if (end.out.find("because of a library that it needs") != std::string::npos) ++short_of_memory;
  }
  EXPECT_TRUE(loaded) << "with room enough";
  EXPECT_GT(short_of_memory, 0);
  std::printf("%d times short of memory\n", short_of_memory);
}

}  // namespace
}  // namespace epiphyte::test
