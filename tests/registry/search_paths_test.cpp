#include "core/registry/search_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/framework/temp_dir.h"
#include "tests/registry/scoped_variable.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;
using test::ScopedVariable;
using testing::ElementsAre;
using testing::IsEmpty;

class SearchPaths : public testing::Test {
 protected:
  SearchPaths() : root_(fs::canonical(folder_.path())) {
    options_.use_environment = false;
    options_.use_user_folder = false;
    options_.use_system_folders = false;
  }

  // Returns the manifests' paths relative to the test's folder.
  std::vector<std::string> Manifests() {
    std::vector<std::string> names;
    for (const fs::path& path : FindManifests(options_).manifests) names.push_back(path.lexically_relative(root_));
    return names;
  }

  test::TempDir folder_;
  fs::path root_;
  CatalogOptions options_;
};

TEST_F(SearchPaths, InsideAFolderTheFileNameDecides) {
  for (const char* name : {"p/c.yaml", "p/a.yaml", "p/b.yaml", "p/B.yaml"}) folder_.Write(name, "");
  options_.paths = {root_ / "p"};
  EXPECT_THAT(Manifests(), ElementsAre("p/B.yaml", "p/a.yaml", "p/b.yaml", "p/c.yaml"));
}

TEST_F(SearchPaths, OnlyManifestsAreTaken) {
  for (const char* name :
       {"p/a.yaml", "p/schema.yaml", "p/manifest_schema.yaml", "p/policy_schema.yaml", "p/.hidden.yaml", "p/.yaml",
        "p/b.yml", "p/c.yaml.bak", "p/lib.so", "p/sub/inner.yaml", "p/folder.yaml/x"}) {
    folder_.Write(name, "");
  }
  options_.paths = {root_ / "p"};
  EXPECT_THAT(Manifests(), ElementsAre("p/a.yaml"));
}

TEST_F(SearchPaths, EnvironmentComesBeforeApplicationBeforeUser) {
  for (const char* name : {"env1/a.yaml", "env2/a.yaml", "app/a.yaml", "data/epiphyte/plugins/a.yaml"}) {
    folder_.Write(name, "");
  }
  const std::string value = (root_ / "env2").string() + "::" + (root_ / "env1").string() + ":/nonexistent/x";
  const ScopedVariable path("EPIPHYTE_PLUGIN_PATH", value);
  const ScopedVariable data("XDG_DATA_HOME", (root_ / "data").string());
  options_.use_environment = true;
  options_.use_user_folder = true;
  options_.paths = {root_ / "app"};
  EXPECT_THAT(Manifests(), ElementsAre("env2/a.yaml", "env1/a.yaml", "app/a.yaml", "data/epiphyte/plugins/a.yaml"));
  std::vector<std::string> origins;
  for (const SearchedFolder& searched : FindManifests(options_).folders) origins.push_back(searched.origin);
  EXPECT_THAT(origins, ElementsAre("EPIPHYTE_PLUGIN_PATH", "EPIPHYTE_PLUGIN_PATH", "EPIPHYTE_PLUGIN_PATH",
                                   "application", "user"));
}

TEST_F(SearchPaths, EnvironmentVariablesAreIgnoredOnRequest) {
  folder_.Write("env/a.yaml", "");
  const ScopedVariable path("EPIPHYTE_PLUGIN_PATH", (root_ / "env").string());
  EXPECT_THAT(Manifests(), IsEmpty());
}

TEST_F(SearchPaths, WithoutXdgTheUsersFolderIsInHome) {
  folder_.Write("home/.local/share/epiphyte/plugins/a.yaml", "");
  const ScopedVariable home("HOME", (root_ / "home").string());
  options_.use_user_folder = true;
  for (const std::optional<std::string>& xdg : {std::optional<std::string>(), std::optional<std::string>("relative")}) {
    const ScopedVariable data("XDG_DATA_HOME", xdg);
    EXPECT_THAT(Manifests(), ElementsAre("home/.local/share/epiphyte/plugins/a.yaml"));
  }
}

TEST_F(SearchPaths, SystemFoldersBeginBesideTheProgram) {
  options_.use_system_folders = true;
  const Search search = FindManifests(options_);
  ASSERT_GE(search.folders.size(), 3u);
  const fs::path program = fs::canonical("/proc/self/exe").parent_path();
  EXPECT_EQ(search.folders[0].path, program.parent_path() / "lib/epiphyte/plugins");
  EXPECT_EQ(search.folders[0].origin, "installation");
  EXPECT_EQ(search.folders[1].path, program / "epiphyte/plugins");
  EXPECT_EQ(search.folders[2].origin, "system");
  EXPECT_EQ(search.folders.back().path, "/etc/epiphyte/plugins");
}

TEST_F(SearchPaths, AFolderIsSearchedOnceByWhateverName) {
  folder_.Write("p/a.yaml", "");
  fs::create_directory_symlink("p", root_ / "link");
  options_.paths = {root_ / "link", root_ / "p", root_ / "p/../p/", root_ / "p/."};
  EXPECT_THAT(Manifests(), ElementsAre("p/a.yaml"));
  EXPECT_EQ(FindManifests(options_).folders.size(), 1u);
}

TEST_F(SearchPaths, AManifestLinkedFromTwoFoldersIsOne) {
  folder_.Write("real/a.yaml", "");
  fs::create_directory(root_ / "p");
  fs::create_symlink("../real/a.yaml", root_ / "p/b.yaml");
  options_.paths = {root_ / "p", root_ / "real"};
  EXPECT_THAT(Manifests(), ElementsAre("real/a.yaml")) << "by its canonical path, so that `library` is found";
}

TEST_F(SearchPaths, APathMayBeASingleManifest) {
  folder_.Write("p/a.yaml", "");
  folder_.Write("p/b.yaml", "");
  options_.paths = {root_ / "p/b.yaml"};
  EXPECT_THAT(Manifests(), ElementsAre("p/b.yaml"));
  options_.paths = {root_ / "p/b.yaml", root_ / "p"};
  EXPECT_THAT(Manifests(), ElementsAre("p/b.yaml", "p/a.yaml"));
}

TEST_F(SearchPaths, FoldersThatDontExistAreReportedAsSuch) {
  folder_.Write("p/a.yaml", "");
  options_.paths = {root_ / "missing", root_ / "p"};
  const Search search = FindManifests(options_);
  ASSERT_EQ(search.folders.size(), 2u);
  EXPECT_FALSE(search.folders[0].exists);
  EXPECT_EQ(search.folders[0].path, root_ / "missing");
  EXPECT_TRUE(search.folders[1].exists);
  EXPECT_EQ(search.folders[1].manifests, 1u);
}

TEST_F(SearchPaths, ALinkThatLeadsNowhereIsStillACandidate) {
  fs::create_directory(root_ / "p");
  fs::create_symlink("gone", root_ / "p/a.yaml");
  options_.paths = {root_ / "p"};
  EXPECT_THAT(Manifests(), ElementsAre("p/a.yaml"));
}

TEST_F(SearchPaths, ThePolicyFileIsTheOneAskedForElseTheUsers) {
  options_.system_folder = root_ / "etc";
  const auto found = [&] {
    std::vector<std::string> paths;
    for (const PolicyFile& file : FindPolicyFiles(options_)) {
      if (file.exists) paths.push_back(file.path.lexically_relative(root_));
    }
    return paths;
  };
  EXPECT_THAT(found(), IsEmpty());
  folder_.Write("config/epiphyte/epiphyte.yaml", "");
  const ScopedVariable config("XDG_CONFIG_HOME", (root_ / "config").string());
  EXPECT_THAT(found(), IsEmpty()) << "the user's folders are switched off";
  options_.use_user_folder = true;
  EXPECT_THAT(found(), ElementsAre("config/epiphyte/epiphyte.yaml"));
  options_.policy_file = folder_.Write("named.yaml", "");
  EXPECT_THAT(found(), ElementsAre("named.yaml"));
  folder_.Write("etc/epiphyte.yaml", "");
  EXPECT_THAT(found(), ElementsAre("etc/epiphyte.yaml", "named.yaml"));
}

}  // namespace
}  // namespace epiphyte::core
