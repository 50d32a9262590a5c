// The catalog's information about manifests before any library is opened.
#include "core/registry/catalog.h"
#include "core/registry/platform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/base/hash.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"
#include "tests/registry/fake_plugin.h"
#include "tests/registry/manifest_text.h"
#include "tests/registry/real_library.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::ManifestText;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

class CatalogTest : public testing::Test {
 protected:
  CatalogTest() : root_(fs::canonical(folder_.path())) {
    options_.use_environment = false;
    options_.use_user_folder = false;
    options_.use_system_folders = false;
    options_.paths = {root_ / "p"};
    folder_.Write("p/lib.so", "never opened");
  }

  // Removes other users' right to write, whatever the umask is.
  void TakeFromOthers() {
    for (const auto& item : fs::recursive_directory_iterator(root_)) {
      fs::permissions(item.path(), fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove);
    }
  }

  void Policy(std::string_view text) {
    options_.policy_file = folder_.Write("policy.yaml", "policy_version: 1\n" + std::string(text));
  }
  void Install(const std::string& file, std::string_view text) { folder_.Write("p/" + file, text); }

  std::vector<PluginEntry> Entries() { return Catalog(options_, &test::FakeHost()).entries(); }
  PluginEntry Only() {
    const std::vector<PluginEntry> entries = Entries();
    EXPECT_EQ(entries.size(), 1u);
    return entries.empty() ? PluginEntry() : entries[0];
  }
  // Returns lines "name State" in the catalog's order.
  std::vector<std::string> Listing() {
    std::vector<std::string> lines;
    for (const PluginEntry& entry : Entries()) {
      lines.push_back(fmt::format("{} {}", entry.manifest.name, PluginStateName(entry.state)));
    }
    return lines;
  }
  std::string State(std::string_view text) {
    Install("a.yaml", text);
    return std::string(PluginStateName(Only().state));
  }

  test::TempDir folder_;
  fs::path root_;
  CatalogOptions options_;
};

TEST_F(CatalogTest, AGoodManifestIsReady) {
  Install("a.yaml", ManifestText("acme", "lib.so", "sources: [AcmeEP]\npriority: 3\noptions: {device: 0}"));
  const PluginEntry entry = Only();
  EXPECT_EQ(entry.state, PluginState::kReady);
  EXPECT_EQ(entry.message, "");
  EXPECT_EQ(entry.library, root_ / "p/lib.so");
  EXPECT_EQ(entry.manifest.path, root_ / "p/a.yaml");
  EXPECT_EQ(entry.priority, 3);
  EXPECT_THAT(entry.options, ElementsAre(Pair("device", "0")));
}

TEST_F(CatalogTest, NothingInstalledIsNoError) {
  options_.paths = {root_ / "nowhere"};
  Catalog catalog(options_, &test::FakeHost());
  EXPECT_THAT(catalog.entries(), IsEmpty());
  ASSERT_EQ(catalog.folders().size(), 1u);
  EXPECT_FALSE(catalog.folders()[0].exists);
  EXPECT_THAT(ErrorOf(StatusCode::kNotFound, [&] { catalog.Load("cpu"); }), HasSubstr("installed: none"));
  EXPECT_EQ(catalog.TryLoad("cpu"), nullptr);
}

TEST_F(CatalogTest, TheLibraryIsBesideTheManifestsCanonicalPath) {
  folder_.Write("vendor/acme.yaml", ManifestText("acme", "lib/acme.so"));
  folder_.Write("vendor/lib/acme.so.1", "");
  fs::create_symlink("acme.so.1", root_ / "vendor/lib/acme.so");
  fs::create_symlink("../vendor/acme.yaml", root_ / "p/acme.yaml");
  EXPECT_EQ(Only().library, root_ / "vendor/lib/acme.so.1");
}

TEST_F(CatalogTest, BadManifestsAreEntriesWithTheNameIfThereIsOne) {
  Install("a.yaml", "name: acme\nabi: none\n");
  PluginEntry entry = Only();
  EXPECT_EQ(entry.state, PluginState::kBadManifest);
  EXPECT_EQ(entry.manifest.name, "acme");
  EXPECT_EQ(entry.manifest.path, root_ / "p/a.yaml");
  EXPECT_THAT(entry.message, StartsWith((root_ / "p/a.yaml").string() + ":1:1: "));
  EXPECT_THAT(entry.hint, Not(IsEmpty()));

  for (const std::string& text : {std::string(),
                                  std::string("\x7F"
                                              "ELF\0\0",
                                              6),
                                  std::string(60'000, '['), std::string(70'000, ' '), std::string("a: &a [1]\nb: *a\n"),
                                  std::string("\xFF\xFE"
                                              "m\0",
                                              4),
                                  std::string("- just\n- a list\n")}) {
    Install("a.yaml", text);
    entry = Only();
    EXPECT_EQ(entry.state, PluginState::kBadManifest);
    EXPECT_THAT(entry.message, HasSubstr("a.yaml"));
    EXPECT_EQ(entry.message.find('\n'), std::string::npos);
  }
}

TEST_F(CatalogTest, AManifestThatCantBeReadIsABadOne) {
  fs::create_symlink("nowhere", root_ / "p/a.yaml");
  EXPECT_EQ(Only().state, PluginState::kBadManifest);
  EXPECT_THAT(Only().message, HasSubstr("does not exist"));
}

TEST_F(CatalogTest, EachReasonHasItsState) {
  EXPECT_EQ(State(ManifestText("acme", "lib.so", "enabled: false")), "Disabled");
  EXPECT_EQ(State(ManifestText("acme", "{plan9-mips: lib.so}")), "WrongPlatform");
  EXPECT_EQ(State(ManifestText("acme", "missing.so")), "LibraryMissing");
  EXPECT_EQ(State(ManifestText("acme", "/dev/null")), "LibraryMissing") << "a device is no library";
  EXPECT_EQ(State(ManifestText("acme", (root_ / "p").string())), "LibraryMissing") << "nor is a folder";
  EXPECT_EQ(State(test::ManifestWith("abi: 0.3")), "AbiTooNew");
  EXPECT_EQ(State(test::ManifestWith("abi: 1.0")), "AbiTooNew");
  EXPECT_EQ(State(test::ManifestWith("abi: 0.0")), "AbiTooOld");
  EXPECT_EQ(State(test::ManifestWith("abi: 0.1")), "AbiTooOld");
}

TEST_F(CatalogTest, MessagesSayWhatWasFoundAndExpected) {
  Install("a.yaml", test::ManifestWith("abi: 7.3"));
  EXPECT_EQ(Only().message, "the manifest asks for ABI 7.3; 0.2 is spoken here");
  Install("a.yaml", ManifestText("acme", "{plan9-mips: a.so, templeos-x86_64: b.so}"));
  EXPECT_EQ(Only().message,
            fmt::format("the manifest has libraries for plan9-mips, templeos-x86_64; this is {}", CurrentPlatform()));
  Install("a.yaml", ManifestText("acme", "missing.so"));
  EXPECT_THAT(Only().message, HasSubstr((root_ / "p/missing.so").string()));
}

TEST_F(CatalogTest, MisspelledPlatformIsSuggestedButNotAccepted) {
  const std::string platform(CurrentPlatform());
  const size_t dash = platform.find('-');
  const std::string other = platform.substr(0, dash) + (platform.ends_with("x86_64") ? "-X64" : "_") +
                            (platform.ends_with("x86_64") ? "" : platform.substr(dash + 1));
  Install("a.yaml", ManifestText("acme", fmt::format("{{plan9-mips: a.so, {}: b.so}}", other)));
  EXPECT_EQ(Only().state, PluginState::kWrongPlatform);
  EXPECT_EQ(Only().hint,
            fmt::format("if '{}' is meant to be this platform, spell it {} in the manifest", other, CurrentPlatform()));
}

TEST_F(CatalogTest, TheLibraryForThisPlatformIsChosenElseTheOneForAll) {
  folder_.Write("p/mine.so", "");
  Install("a.yaml", ManifestText("acme", fmt::format("{{plan9-mips: lib.so, {}: mine.so}}", CurrentPlatform())));
  EXPECT_EQ(Only().library, root_ / "p/mine.so");
}

TEST_F(CatalogTest, TheTotalOrderIsPriorityThenNameThenPath) {
  Install("1.yaml", ManifestText("delta", "lib.so", "priority: 1"));
  Install("2.yaml", ManifestText("beta", "lib.so", "priority: 5"));
  Install("3.yaml", ManifestText("alpha", "lib.so", "priority: 1"));
  Install("4.yaml", ManifestText("gamma", "lib.so", "priority: -7"));
  EXPECT_THAT(Listing(), ElementsAre("beta Ready", "alpha Ready", "delta Ready", "gamma Ready"));
}

TEST_F(CatalogTest, OfTwoWithOneNameTheFirstInSearchOrderWins) {
  folder_.Write("q/lib.so", "");
  folder_.Write("q/a.yaml", ManifestText("acme", "lib.so", "priority: 100"));
  Install("a.yaml", ManifestText("acme", "lib.so"));
  options_.paths = {root_ / "p", root_ / "q"};
  const std::vector<PluginEntry> entries = Entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].manifest.path, root_ / "q/a.yaml");
  EXPECT_EQ(entries[0].state, PluginState::kShadowed) << "priority does not count among equal names";
  EXPECT_THAT(entries[0].message, HasSubstr((root_ / "p/a.yaml").string()));
  EXPECT_EQ(entries[1].state, PluginState::kReady);
}

TEST_F(CatalogTest, AManifestThatIsNotForThisHostTakesNoNameAway) {
  Install("1.yaml", "name: acme\nbroken: [\n");
  Install("2.yaml", ManifestText("acme", "{plan9-mips: lib.so}"));
  Install("3.yaml", ManifestText("acme", "lib.so"));
  std::vector<std::string> listing = Listing();
  std::sort(listing.begin(), listing.end());
  EXPECT_THAT(listing, ElementsAre(" BadManifest", "acme Ready", "acme WrongPlatform"));
}

TEST_F(CatalogTest, ManifestWithoutLibraryOrForAnotherAbiTakesNoNameAway) {
  Install("1.yaml", ManifestText("acme", "missing.so"));
  Install("2.yaml", test::ManifestWith("abi: 7.3"));
  Install("3.yaml", ManifestText("acme", "lib.so"));
  Install("4.yaml", ManifestText("acme", "lib.so"));
  EXPECT_THAT(Listing(), ElementsAre("acme LibraryMissing", "acme AbiTooNew", "acme Ready", "acme Shadowed"));
}

TEST_F(CatalogTest, WhenTheFirstOfANameCantBeOpenedTheNextHasItsTurn) {
  folder_.Write("p/second.so", "nor this");
  Install("1.yaml", ManifestText("acme", "lib.so"));
  Install("2.yaml", ManifestText("acme", "second.so"));
  Install("3.yaml", ManifestText("zeta", "second.so"));
  Catalog catalog(options_, &test::FakeHost());
  EXPECT_EQ(catalog.entries()[1].state, PluginState::kShadowed);
  EXPECT_EQ(catalog.TryLoad("acme"), nullptr);
  for (size_t i : {0, 1}) {
    EXPECT_EQ(catalog.entries()[i].state, PluginState::kInitFailed) << i;
    EXPECT_THAT(catalog.entries()[i].message, HasSubstr("is not a shared library"));
  }
  EXPECT_EQ(catalog.entries()[2].state, PluginState::kReady) << "nobody asked for it";
  EXPECT_THAT(ErrorOf(StatusCode::kEpFail, [&] { catalog.Load("acme"); }), HasSubstr("p/lib.so"))
      << "of several, the one found first is what one wants to know about";
}

TEST_F(CatalogTest, WhenTheOwnerOfASourceCantBeOpenedTheNextOwnsIt) {
  Install("1.yaml", ManifestText("high", "lib.so", "sources: [S]\npriority: 2"));
  Install("2.yaml", ManifestText("low", "lib.so", "sources: [S]\npriority: 1"));
  Catalog catalog(options_, &test::FakeHost());
  EXPECT_EQ(catalog.OwnerOfSource("S"), "high");
  EXPECT_EQ(catalog.TryLoad("high"), nullptr);
  EXPECT_EQ(catalog.OwnerOfSource("S"), "low");
  EXPECT_EQ(catalog.entries()[1].state, PluginState::kReady);
}

TEST_F(CatalogTest, APluginThatOthersCanChangeIsNotedAndRefusedWithRaisedPrivileges) {
  for (const char* name : {"p", "p/lib.so", "p/a.yaml"}) {
    Install("a.yaml", ManifestText("acme", "lib.so"));
    TakeFromOthers();
    options_.elevated = false;
    EXPECT_THAT(Only().manifest.notes, IsEmpty());
    fs::permissions(root_ / name, fs::perms::others_write, fs::perm_options::add);
    EXPECT_EQ(Only().state, PluginState::kReady);
    EXPECT_THAT(Only().manifest.notes,
                ElementsAre(AllOf(HasSubstr((root_ / name).string()), HasSubstr("can be written by others"))));
    options_.elevated = true;
    EXPECT_EQ(Only().state, PluginState::kDenied);
    EXPECT_THAT(Only().message, AllOf(HasSubstr((root_ / name).string()), HasSubstr("raised privileges")));
    fs::permissions(root_ / name, fs::perms::others_write, fs::perm_options::remove);
    EXPECT_EQ(Only().state, PluginState::kReady);
  }
}

TEST_F(CatalogTest, APluginThatOthersCanChangeTakesNoNameAwayWithRaisedPrivileges) {
  folder_.Write("q/lib.so", "");
  folder_.Write("q/a.yaml", ManifestText("acme", "lib.so"));
  Install("a.yaml", ManifestText("acme", "lib.so"));
  options_.paths = {root_ / "p", root_ / "q"};
  options_.elevated = true;
  TakeFromOthers();
  fs::permissions(root_ / "p", fs::perms{0777});
  EXPECT_THAT(Listing(), ElementsAre("acme Denied", "acme Ready"));
}

TEST_F(CatalogTest, AFallbackComesAfterOthersOfItsPriority) {
  Install("1.yaml", ManifestText("alpha", "lib.so", "fallback: true"));
  Install("2.yaml", ManifestText("beta", "lib.so"));
  Install("3.yaml", ManifestText("gamma", "lib.so", "priority: -1"));
  EXPECT_THAT(Listing(), ElementsAre("beta Ready", "alpha Ready", "gamma Ready"));
}

TEST_F(CatalogTest, ADisabledManifestHidesTheOnesBehindIt) {
  Install("1.yaml", ManifestText("acme", "lib.so", "enabled: false"));
  Install("2.yaml", ManifestText("acme", "lib.so"));
  EXPECT_THAT(Listing(), ElementsAre("acme Disabled", "acme Shadowed"));
}

TEST_F(CatalogTest, ASourceBelongsToTheFirstUsablePlugin) {
  Install("1.yaml", ManifestText("low", "lib.so", "sources: [S]\npriority: 1"));
  Install("2.yaml", ManifestText("high", "lib.so", "sources: [T, S]\npriority: 2"));
  Install("3.yaml", ManifestText("off", "lib.so", "sources: [S]\npriority: 3\nenabled: false"));
  EXPECT_THAT(Listing(), ElementsAre("off Disabled", "high Ready", "low Shadowed"));
  Catalog catalog(options_, &test::FakeHost());
  EXPECT_EQ(catalog.OwnerOfSource("S"), "high");
  EXPECT_EQ(catalog.OwnerOfSource("U"), "");
  EXPECT_THAT(catalog.entries()[2].message, HasSubstr("source 'S' belongs to plugin 'high'"));
}

TEST_F(CatalogTest, APluginThatLosesItsSourceTakesNoNameAway) {
  Install("1.yaml", ManifestText("acme", "lib.so", "sources: [S]\npriority: 1"));
  Install("2.yaml", ManifestText("acme", "lib.so", "sources: [T]\npriority: 3"));
  Install("3.yaml", ManifestText("high", "lib.so", "sources: [S]\npriority: 2"));
  EXPECT_THAT(Listing(), ElementsAre("acme Ready", "high Ready", "acme Shadowed"));
}

TEST_F(CatalogTest, ThePolicyDecidesOverManifests) {
  Install("1.yaml", ManifestText("one", "lib.so", "priority: 1\noptions: {a: 1, b: 2}"));
  Install("2.yaml", ManifestText("two", "lib.so", "priority: 2"));
  Install("3.yaml", ManifestText("off", "lib.so", "enabled: false"));
  Install("4.yaml", ManifestText("bad", "lib.so"));
  Policy(
      "providers:\n  one: {priority: 50, options: {b: 3}}\n  two: {enabled: false}\n  off: {enabled: true}\n"
      "deny: [bad]\n");
  EXPECT_THAT(Listing(), ElementsAre("one Ready", "two Disabled", "bad Denied", "off Ready"));
  EXPECT_THAT(Entries()[0].options, ElementsAre(Pair("a", "1"), Pair("b", "3")));
  EXPECT_THAT(Entries()[1].message, HasSubstr("policy.yaml"));
  Policy("allow: [two]\n");
  EXPECT_THAT(Listing(), ElementsAre("two Ready", "one Denied", "bad Denied", "off Denied"));
}

TEST_F(CatalogTest, ABadPolicyFileIsAnError) {
  Policy("priority: 3\n");
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { Entries(); }), HasSubstr("policy.yaml:2:"));
  options_.policy_file = root_ / "missing.yaml";
  ErrorOf(StatusCode::kNoSuchFile, [&] { Entries(); });
}

TEST_F(CatalogTest, LoadNamesTheNearestAndTheInstalledOnes) {
  Install("1.yaml", ManifestText("vulkan", "lib.so"));
  Install("2.yaml", ManifestText("npu", "lib.so"));
  Catalog catalog(options_, &test::FakeHost());
  EXPECT_EQ(ErrorOf(StatusCode::kNotFound, [&] { catalog.Load("vulcan"); }),
            "no plugin named 'vulcan' is installed, did you mean 'vulkan'?; installed: npu, vulkan");
}

TEST_F(CatalogTest, LoadingWhatCantBeUsedGivesItsStateMessageAndHint) {
  Install("1.yaml", ManifestText("acme", "lib.so", "enabled: false"));
  Catalog catalog(options_, &test::FakeHost());
  const std::string message = ErrorOf(StatusCode::kEpFail, [&] { catalog.Load("acme"); });
  EXPECT_THAT(message, HasSubstr("provider 'acme' can't be used: Disabled: disabled in its manifest; set `enabled"));
  EXPECT_EQ(catalog.TryLoad("acme"), nullptr);
}

// The same manifests, written into another folder in another order, have another order on disk.
TEST_F(CatalogTest, TheOrderOfDirectoryEntriesChangesNothing) {
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < 40; ++i) {
    files.emplace_back(
        fmt::format("m{:02}.yaml", i),
        ManifestText(fmt::format("p{}", i % 30), "lib.so", fmt::format("priority: {}\nsources: [S{}]", i % 4, i % 25)));
  }
  std::mt19937 random(3);
  std::vector<std::string> first;
  for (int round = 0; round < 5; ++round) {
    std::shuffle(files.begin(), files.end(), random);
    const std::string folder = fmt::format("shuffled{}/", round);
    folder_.Write(folder + "lib.so", "");
    for (const auto& [name, text] : files) folder_.Write(folder + name, text);
    options_.paths = {root_ / folder};
    std::vector<std::string> lines;
    for (const PluginEntry& entry : Entries()) {
      lines.push_back(fmt::format("{} {} {}", entry.manifest.path.filename().string(), entry.manifest.name,
                                  PluginStateName(entry.state)));
    }
    if (round == 0) first = lines;
    EXPECT_EQ(lines, first);
  }
  EXPECT_EQ(first.size(), 40u);
}

// Listing must neither map nor hash the libraries. The maps of the process show every library that is opened.
TEST_F(CatalogTest, ListingOpensNoLibrary) {
  const fs::path library = root_ / "p/real.so";
  fs::copy_file(test::RealLibrary(), library);
  Install("a.yaml", ManifestText("acme", "real.so", "sha256: " + Sha256OfFile(library)));
  Catalog catalog(options_, &test::FakeHost());
  EXPECT_EQ(catalog.entries()[0].state, PluginState::kReady);
  EXPECT_EQ(catalog.OwnerOfSource("x"), "");
  EXPECT_THAT(test::ReadFile("/proc/self/maps"), Not(HasSubstr(library.string())));
  // The same check finds the library once it is opened, even though it is not a plugin.
  EXPECT_EQ(catalog.TryLoad("acme"), nullptr);
  EXPECT_THAT(test::ReadFile("/proc/self/maps"), HasSubstr(library.string()));
}

TEST(PluginStateName, IsDifferentForEachState) {
  std::vector<std::string_view> names;
  for (int state = 0; state <= static_cast<int>(PluginState::kNoDevice); ++state) {
    names.push_back(PluginStateName(static_cast<PluginState>(state)));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(names.size(), 16u);
}

}  // namespace
}  // namespace epiphyte::core
