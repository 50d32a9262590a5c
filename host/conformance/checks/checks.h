// Checks: each runs in a process of its own, calls the plugin as a session would, and writes to the journal which rules
// held. It ends at the first broken rule.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/conformance/checks/probes.h"
#include "host/conformance/plugin/plugin_library.h"
#include "host/conformance/plugin/session.h"
#include "host/conformance/rules/journal.h"

namespace epiphyte::conformance {

struct Check {
  const char* name;
  void (*run)(Journal&, const Target&);
};

// The checks in the order in which they run, one file for each area.
std::span<const Check> LibraryChecks();
std::span<const Check> OptionChecks();
std::span<const Check> ProviderChecks();
std::span<const Check> DeviceMemoryChecks();
std::span<const Check> DeviceStreamChecks();
std::span<const Check> ExecuteChecks();
std::span<const Check> DeviceKernelChecks();
std::span<const Check> ContextChecks();
std::span<const Check> ShareChecks();
std::span<const Check> SchemaChecks();
std::span<const Check> ReportChecks();

// A plugin that was loaded and initialised and has a device: the starting point of most checks.
class Bench {
 public:
  Bench(Journal& journal, const Target& target)
      : host_(journal), library_(host_, target), descriptor_(library_.Query(host_.info())) {
    library_.CheckDescriptor(*descriptor_);
    plugin_ = std::make_unique<Plugin>(library_, descriptor_, host_.info());
    plugin_->Devices();
  }
  DebugHost& host() { return host_; }
  Journal& journal() { return host_.journal(); }
  Plugin& plugin() { return *plugin_; }
  // Returns the plugin's table of an extension; null when it has none.
  template <typename Table>
  const Table* Extension(const char* id) {
    return static_cast<const Table*>(FindExtension(id));
  }
  // Returns the probes that the plugin claims. If it claims none, `rules` are marked as not applicable.
  std::vector<Probe> Claimed(std::initializer_list<Rule> rules);
  // Shuts the plugin down. Everything that the host gave must have been returned.
  void Finish();

 private:
  const void* FindExtension(const char* id);

  DebugHost host_;
  PluginLibrary library_;
  const EpPluginDescriptor* descriptor_;
  std::unique_ptr<Plugin> plugin_;
};

void PassAll(Journal& journal, std::initializer_list<Rule> rules);
void NotApplicable(Journal& journal, std::initializer_list<Rule> rules, const char* why);

// Two partitions of the probes, with their inputs and expected outputs.
struct Work {
  std::vector<Probe> probes;
  std::vector<GraphSpec> partitions;

  explicit Work(const std::vector<Probe>& claimed);
  // Runs every kernel of the session and compares the results. A difference breaks `rule`.
  void Run(DebugHost& host, Session& session, Rule rule) const;
};

}  // namespace epiphyte::conformance
