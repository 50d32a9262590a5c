// A plugin whose library finds no room in the address space: the reason that is given is that, and not that a library
// is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <fstream>

#include "epiphyte/plugin_catalog.hpp"
#include "tests/faults/contexts.h"
#include "tests/faults/forked.h"

namespace epiphyte::test {
namespace {

using testing::HasSubstr;
using testing::Not;

uint64_t AddressSpaceBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  return pages * 4096;
}

TEST(ShortOfMemory, IsToldFromALibraryThatIsMissing) {
  int short_of_memory = 0;
  bool loaded = false;
  for (uint64_t room = 0; room < 400 && !loaded; room += room < 40 ? 1 : 8) {
    const Outcome outcome = RunForked([&] {
      const Environment environment(BuildTreePlugins());
      const rlim_t limit = AddressSpaceBytes() + (room << 20);
      const rlimit both = {limit, limit};
      if (setrlimit(RLIMIT_AS, &both) != 0) return std::string("no limit");
      const PluginInfo plugin = environment.plugins().Probe("cpu");
      return plugin.state + ": " + plugin.message + "; " + plugin.hint;
    });
    loaded = outcome.returned() && outcome.text.starts_with("Loaded");
    EXPECT_THAT(outcome.text, Not(HasSubstr("can't be found"))) << room << " MiB";
    EXPECT_THAT(outcome.text, Not(HasSubstr("MissingDependency"))) << room << " MiB";
    EXPECT_THAT(outcome.text, Not(HasSubstr("bad_alloc"))) << room << " MiB";
    if (outcome.text.find("want of memory") != std::string::npos) ++short_of_memory;
  }
  EXPECT_TRUE(loaded) << "with room enough";
  EXPECT_GT(short_of_memory, 0);
  std::printf("%d times short of memory\n", short_of_memory);
}

}  // namespace
}  // namespace epiphyte::test
