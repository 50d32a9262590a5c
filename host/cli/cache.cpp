// epiphyte cache: lists the context cache of --cache, verifies it, and removes entries.
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "epiphyte/context_cache.hpp"
#include "epiphyte/error.hpp"
#include "host/cli/commands.h"
#include "host/cli/program.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

constexpr size_t kShortKey = 12;
constexpr uint64_t kNothingStays = 1;  // size limit in bytes at which no entry stays; 0 means no limit

struct CacheFlags {
  std::string folder;
  uint64_t max_mb = 0;
  bool json = false;
};

std::string TimeText(int64_t seconds, const char* format, bool utc) {
  const std::time_t time = seconds;
  std::tm parts = {};
  const bool known = (utc ? gmtime_r(&time, &parts) : localtime_r(&time, &parts)) != nullptr;
  char text[64] = "";
  return known && std::strftime(text, sizeof text, format, &parts) != 0 ? text : "?";
}

std::string LocalTime(int64_t seconds) { return TimeText(seconds, "%Y-%m-%d %H:%M", /*utc=*/false); }
std::string IsoTime(int64_t seconds) { return TimeText(seconds, "%Y-%m-%dT%H:%M:%SZ", /*utc=*/true); }

std::string ModelText(const CacheEntry& entry) {
  if (!entry.model.empty()) return entry.model;
  return entry.problem.empty() ? "(from memory)" : "?";
}

Json Describe(const CacheEntry& entry) {
  Json json;
  json["key"] = entry.key;
  json["folder"] = entry.folder.string();
  json["model"] = entry.model;
  json["providers"] = entry.providers;
  json["size"] = entry.size;
  json["created"] = IsoTime(entry.created);
  json["last_used"] = IsoTime(entry.last_used);
  json["problem"] = entry.problem;
  return json;
}

Json Describe(const std::vector<CacheEntry>& entries) {
  Json list = Json::array();
  for (const CacheEntry& entry : entries) list.push_back(Describe(entry));
  return list;
}

uint64_t SizeOf(const std::vector<CacheEntry>& entries) {
  uint64_t size = 0;
  for (const CacheEntry& entry : entries) size += entry.size;
  return size;
}

std::string CountAndSize(const std::vector<CacheEntry>& entries) {
  const std::string count = entries.size() == 1 ? "1 entry" : std::to_string(entries.size()) + " entries";
  return count + ", " + SizeText(SizeOf(entries));
}

void PrintProblems(const std::vector<CacheEntry>& entries) {
  for (const CacheEntry& entry : entries) {
    if (entry.problem.empty()) continue;
    std::cout << entry.key.substr(0, kShortKey) << ": " << Printable(entry.problem) << '\n';
  }
}

void PrintFolderProblem(const std::string& problem) {
  if (!problem.empty()) std::cout << "sessions don't use this cache: " << Printable(problem) << '\n';
}

void List(const CacheFlags& flags) {
  const std::vector<CacheEntry> entries = ListCache(flags.folder);
  const std::string problem = CacheProblem(flags.folder);
  if (flags.json) {
    PrintJson(
        {{"folder", flags.folder}, {"problem", problem}, {"size", SizeOf(entries)}, {"entries", Describe(entries)}});
    return;
  }
  Table table({"KEY", "MODEL", "PROVIDERS", "SIZE", "LAST USED"});
  for (const CacheEntry& entry : entries) {
    table.Add({entry.key.substr(0, kShortKey), Printable(ModelText(entry)), Printable(Join(entry.providers, ", ")),
               SizeText(entry.size), LocalTime(entry.last_used)});
  }
  if (!entries.empty()) table.Print();
  std::cout << CountAndSize(entries) << '\n';
  PrintFolderProblem(problem);
  PrintProblems(entries);
}

void Verify(const CacheFlags& flags) {
  const std::vector<CacheEntry> entries = VerifyCache(flags.folder);
  const std::string problem = CacheProblem(flags.folder);
  size_t broken = 0;
  for (const CacheEntry& entry : entries) broken += entry.problem.empty() ? 0 : 1;
  if (flags.json) {
    PrintJson({{"folder", flags.folder}, {"problem", problem}, {"broken", broken}, {"entries", Describe(entries)}});
  } else {
    std::cout << CountAndSize(entries) << ", " << broken << " broken\n";
    PrintFolderProblem(problem);
    PrintProblems(entries);
  }
  if (broken != 0) {
    throw ReportedError(StatusCode::kInvalidGraph,
                        std::to_string(broken) + " of " + std::to_string(entries.size()) + " entries in '" +
                            flags.folder +
                            "' are broken; sessions compile them again, epiphyte cache gc DIR removes them");
  }
  if (!problem.empty()) {
    throw ReportedError(StatusCode::kInvalidGraph, "sessions don't use the cache '" + flags.folder + "': " + problem);
  }
}

void Collect(const CacheFlags& flags, uint64_t max_bytes) {
  const CacheRemoval removal = CollectCache(flags.folder, max_bytes);
  if (flags.json) {
    PrintJson({{"folder", flags.folder},
               {"broken", Describe(removal.broken)},
               {"evicted", Describe(removal.evicted)},
               {"leftovers", removal.leftovers}});
    return;
  }
  std::cout << "removed: broken " << CountAndSize(removal.broken) << "; least recently used "
            << CountAndSize(removal.evicted) << "; " << CountText(removal.leftovers, "leftover")
            << " of ended processes\n";
}

}  // namespace

Command AddCacheCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("cache", "Lists, verifies, cleans up or empties what --cache keeps");
  command->require_subcommand(1);
  auto flags = std::make_shared<CacheFlags>();
  auto add = [&](const char* name, const char* description) {
    CLI::App* action = command->add_subcommand(name, description);
    action->add_option("--cache,DIR", flags->folder, "Folder of the cache, by itself or behind the flag");
    action->add_flag("--json", flags->json, "Print JSON");
    return action;
  };
  CLI::App* list = add("list", "Shows the entries: model, providers, size, last use");
  CLI::App* verify = add("verify", "Compares every byte with its digest; fails when an entry is broken");
  CLI::App* collect = add("gc", "Removes broken entries, leftovers of ended processes, and what is beyond --max-mb");
  collect->add_option("--max-mb", flags->max_mb, "Size that stays, least recently used entries go first; default: any")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  CLI::App* clear = add("clear", "Removes every entry and leftovers of ended processes");
  return {command, [=] {
            if (flags->folder.empty()) {
              throw UsageError("no folder of a cache was given; name it, like: epiphyte cache list DIR");
            }
            if (list->parsed()) List(*flags);
            if (verify->parsed()) Verify(*flags);
            if (collect->parsed()) Collect(*flags, flags->max_mb << 20);
            if (clear->parsed()) Collect(*flags, kNothingStays);
          }};
}

}  // namespace epiphyte::cli
