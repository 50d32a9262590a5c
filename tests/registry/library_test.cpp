// Libraries that are not usable as plugins, each made from a real library.
#include "core/registry/library.h"

#include <elf.h>

#include <cstddef>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/hash.h"
#include "core/registry/catalog.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"
#include "tests/registry/fake_plugin.h"
#include "tests/registry/manifest_text.h"
#include "tests/registry/real_library.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;
using test::ManifestText;
using test::RealLibrary;
using testing::HasSubstr;
using testing::Not;

class LibraryTest : public testing::Test {
 protected:
  LibraryTest() : root_(fs::canonical(folder_.path())) {
    options_.use_environment = false;
    options_.use_user_folder = false;
    options_.use_system_folders = false;
    options_.paths = {root_};
  }

  // Returns the entry after an attempt to load a plugin with these bytes as its library.
  PluginEntry Load(std::string_view library, std::string_view more = "") {
    folder_.Write("plugin.so", library);
    folder_.Write("plugin.yaml", ManifestText("acme", "plugin.so", more));
    Catalog catalog(options_, &test::FakeHost());
    EXPECT_EQ(catalog.entries()[0].state, PluginState::kReady) << "nothing is known before it is opened";
    EXPECT_EQ(catalog.TryLoad("acme"), nullptr);
    PluginEntry entry = catalog.entries()[0];
    EXPECT_EQ(entry.message.find('\n'), std::string::npos) << entry.message;
    EXPECT_THAT(entry.message, Not(testing::IsEmpty()));
    EXPECT_THAT(entry.hint, Not(testing::IsEmpty()));
    EXPECT_THAT(test::ErrorOf(StatusCode::kEpFail, [&] { catalog.Load("acme"); }), HasSubstr(entry.message))
        << "asking again gives the same answer";
    return entry;
  }
  static std::string State(const PluginEntry& entry) { return std::string(PluginStateName(entry.state)); }

  test::TempDir folder_;
  fs::path root_;
  CatalogOptions options_;
};

TEST_F(LibraryTest, AFileThatIsNoLibraryIsNamedAsSuch) {
  for (const std::string_view content : {"", "this is text",
                                         "\x7F"
                                         "ELF"}) {
    const PluginEntry entry = Load(content);
    EXPECT_EQ(State(entry), "InitFailed");
    EXPECT_THAT(entry.message, HasSubstr("plugin.so' is not a shared library"));
  }
}

TEST_F(LibraryTest, AGitLfsPointerIsNamedAsSuch) {
  const PluginEntry entry = Load("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
  EXPECT_THAT(entry.message, AllOf(HasSubstr("is not a shared library"), HasSubstr("git lfs pull")));
}

TEST_F(LibraryTest, ALibraryOfAnotherArchitectureIsForAnotherPlatform) {
  std::string bytes = test::ReadFile(RealLibrary());
  bytes[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_S390);
  const PluginEntry entry = Load(bytes);
  EXPECT_EQ(State(entry), "WrongPlatform");
  EXPECT_THAT(entry.message, HasSubstr("is for s390x, 64 bits"));
}

// The dynamic loader itself dies of SIGBUS on this library.
TEST_F(LibraryTest, ATruncatedLibraryIsNotGivenToTheLoader) {
  const std::string bytes = test::ReadFile(RealLibrary());
  const PluginEntry entry = Load(std::string_view(bytes).substr(0, bytes.size() / 3));
  EXPECT_EQ(State(entry), "InitFailed");
  EXPECT_THAT(entry.hint, HasSubstr("truncated"));
}

TEST_F(LibraryTest, ALibraryWithoutTheSymbolIsNoPlugin) {
  const PluginEntry entry = Load(test::ReadFile(RealLibrary()));
  EXPECT_EQ(State(entry), "SymbolMissing");
  EXPECT_THAT(entry.message, HasSubstr("does not export EpPluginQuery"));
}

TEST_F(LibraryTest, AMissingDependencyIsNamedAndSoIsWhatTheManifestSays) {
  const PluginEntry entry = Load(test::RealLibraryWith("libc.so.6", "libq.so.6"), "depends: [libacme_driver.so.3]");
  EXPECT_EQ(State(entry), "MissingDependency");
  EXPECT_THAT(entry.message, HasSubstr("needs libq.so.6, which can't be found"));
  EXPECT_THAT(entry.hint, HasSubstr("libacme_driver.so.3"));
}

TEST_F(LibraryTest, ADependencyThatIsTooOldIsAMissingOne) {
  const PluginEntry entry = Load(test::RealLibraryWith("GLIBC_2.", "GLIBC_9."));
  EXPECT_EQ(State(entry), "MissingDependency");
  EXPECT_THAT(entry.message, HasSubstr("GLIBC_9."));
}

TEST_F(LibraryTest, AnotherDigestThanTheManifestsIsNotOpened) {
  const std::string bytes = test::ReadFile(RealLibrary());
  const std::string other(64, '0');
  const PluginEntry entry = Load(bytes, "sha256: '" + other + "'");
  EXPECT_EQ(State(entry), "DigestMismatch");
  EXPECT_THAT(entry.message, HasSubstr(Sha256(bytes.data(), bytes.size())));
  EXPECT_THAT(entry.message, HasSubstr(other));
  EXPECT_THAT(test::ReadFile("/proc/self/maps"), Not(HasSubstr((root_ / "plugin.so").string())));
}

TEST_F(LibraryTest, TheRightDigestLetsItThrough) {
  const std::string bytes = test::ReadFile(RealLibrary());
  EXPECT_EQ(State(Load(bytes, "sha256: " + Sha256(bytes.data(), bytes.size()))), "SymbolMissing");
}

TEST_F(LibraryTest, ALibraryThatVanishesAfterListingIsMissing) {
  folder_.Write("plugin.so", "x");
  folder_.Write("plugin.yaml", ManifestText("acme", "plugin.so"));
  Catalog catalog(options_, &test::FakeHost());
  fs::remove(root_ / "plugin.so");
  EXPECT_EQ(catalog.TryLoad("acme"), nullptr);
  EXPECT_EQ(State(catalog.entries()[0]), "LibraryMissing");
}

TEST_F(LibraryTest, TheProgramItselfIsNoPlugin) {
  fs::create_symlink("/proc/self/exe", root_ / "program.so");
  folder_.Write("plugin.yaml", ManifestText("acme", "program.so"));
  Catalog catalog(options_, &test::FakeHost());
  EXPECT_EQ(catalog.TryLoad("acme"), nullptr);
  EXPECT_THAT(State(catalog.entries()[0]), testing::AnyOf("SymbolMissing", "InitFailed"));
}

TEST_F(LibraryTest, OneBadPluginDoesNotAffectAnother) {
  folder_.Write("bad.so", "no library");
  folder_.Write("bad.yaml", ManifestText("bad", "bad.so", "priority: 9"));
  folder_.Write("broken.yaml", "[[[[");
  test::FakePlugin::Reset();
  Catalog catalog(options_, &test::FakeHost());
  EXPECT_EQ(catalog.TryLoad("bad"), nullptr);
  catalog.Register(test::FakePlugin::Query, 0);
  EXPECT_EQ(catalog.Load("fake").name, "fake");
}

TEST_F(LibraryTest, ManyThreadsMayUseOneCatalog) {
  folder_.Write("bad.so", "no library");
  folder_.Write("bad.yaml", ManifestText("bad", "bad.so"));
  test::FakePlugin::Reset();
  Catalog catalog(options_, &test::FakeHost());
  catalog.Register(test::FakePlugin::Query, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        EXPECT_EQ(catalog.TryLoad("bad"), nullptr);
        EXPECT_EQ(catalog.Load("fake").name, "fake");
        EXPECT_EQ(catalog.entries().size(), 2u);
        EXPECT_EQ(catalog.OwnerOfSource("FakeSource"), "fake");
        const Catalog another(options_, &test::FakeHost());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace epiphyte::core
