// epiphyte manifest: reads a plugin's manifest, and updates the digests of its libraries.
#include <iostream>
#include <memory>

#include "epiphyte/error.hpp"
#include "epiphyte/manifest_tools.hpp"
#include "host/cli/commands.h"
#include "host/cli/program.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

struct ManifestFlags {
  std::vector<std::string> manifests;
  bool write = false;
  bool json = false;
};

std::string StateOf(const ManifestDigest& digest, bool written) {
  if (digest.actual.empty()) return "not here";
  if (written) return digest.recorded == digest.actual ? "unchanged" : "written";
  if (digest.recorded.empty()) return "no digest";
  return digest.matches() ? "fits" : "differs";
}

Json Describe(const ManifestDigest& digest, bool written) {
  return {{"platform", digest.platform},
          {"library", digest.library.string()},
          {"recorded", digest.recorded},
          {"actual", digest.actual},
          {"state", StateOf(digest, written)}};
}

void RunManifest(const ManifestFlags& flags) {
  Json json = Json::array();
  Table table({"MANIFEST", "PLATFORM", "LIBRARY", "DIGEST"});
  size_t different = 0;
  for (const std::string& manifest : flags.manifests) {
    const std::vector<ManifestDigest> digests =
        flags.write ? WriteManifestDigests(manifest) : ReadManifestDigests(manifest);
    Json libraries = Json::array();
    for (const ManifestDigest& digest : digests) {
      different += !flags.write && !digest.matches() ? 1 : 0;
      libraries.push_back(Describe(digest, flags.write));
      table.Add({Printable(manifest), digest.platform.empty() ? "all" : Printable(digest.platform),
                 Printable(digest.library.string()), StateOf(digest, flags.write)});
    }
    json.push_back({{"manifest", manifest}, {"libraries", std::move(libraries)}});
  }
  if (flags.json) {
    PrintJson(json);
  } else {
    table.Print();
  }
  if (different == 0) return;
  throw ReportedError(
      StatusCode::kInvalidArgument,
      CountText(different, "wrong digest") +
          ", listed on standard output; if the library was "
          "changed on purpose (strip, patchelf, a signature), epiphyte manifest --digest writes its digest anew");
}

}  // namespace

Command AddManifestCommand(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("manifest", "Reads plugins' manifests, or writes the digests of their libraries");
  auto flags = std::make_shared<ManifestFlags>();
  command->add_option("MANIFEST", flags->manifests, "Manifests of plugins")->required()->type_name("FILE");
  command->add_flag("--digest", flags->write,
                    "Write the SHA-256 of each library that is there, after strip or patchelf; all else stays");
  command->add_flag("--json", flags->json, "Print JSON");
  command->footer(
      "Exit code 0 when each manifest can be read and its digests fit, else 1. A manifest's keys are described in "
      "manifest_schema.yaml, which is installed with Epiphyte.");
  return {command, [flags] { RunManifest(*flags); }};
}

}  // namespace epiphyte::cli
