#include "core/context/context_metadata.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace epiphyte::core {
namespace {

constexpr std::string_view kRecordPrefix = "epiphyte.context.";
constexpr std::string_view kPayloadPrefix = "epiphyte.context.payload.";
constexpr std::string_view kInitializersKey = "epiphyte.context.initializers";
constexpr std::string_view kPlainKey = "epiphyte.context.plain";
constexpr std::string_view kPlainPrefix = "epiphyte.context.plain.";         // followed by the provider's name
constexpr std::string_view kCompatibilityPrefix = "ep_compatibility_info.";  // followed by the provider's name

// Short hash that keeps entries with different values apart.
std::string HashOf(std::string_view value) { return Xxh128(value.data(), value.size()).substr(0, 16); }

std::string CompatibilityKey(const std::string& provider) { return std::string(kCompatibilityPrefix) + provider; }

// Reads the words of a record one by one; the last word may hold spaces.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  std::string_view Next() {
    const size_t space = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, space);
    rest_.remove_prefix(std::min(space + 1, rest_.size()));
    return word;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Reads size and digest from the beginning of a record; false when they are missing.
bool ReadFingerprint(Words* words, FileRecord* record) {
  const std::string_view size = words->Next();
  const auto parsed = std::from_chars(size.data(), size.data() + size.size(), record->size);
  record->xxh128 = words->Next();
  return parsed.ec == std::errc() && parsed.ptr == size.data() + size.size() && record->xxh128.size() == 32;
}

// Replaces spaces, which end a record's words: a plugin's version may be any text.
std::string Word(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '_');
  return text.empty() ? "-" : text;
}

[[noreturn]] void Malformed(std::string_view key, std::string_view value, std::string_view expected) {
  Fail(StatusCode::kInvalidGraph, "metadata '{}' is '{}', expected '{}'; compile the model again", key,
       value.substr(0, 128), expected);
}

}  // namespace

bool IsRecordKey(std::string_view key) { return key.starts_with(kRecordPrefix); }

bool HasRecords(const Metadata& metadata) {
  const auto first = metadata.lower_bound(std::string(kRecordPrefix));
  return first != metadata.end() && IsRecordKey(first->first);
}

bool IsPayloadRecordKey(std::string_view key) { return key.starts_with(kPayloadPrefix); }

bool IsSealKey(std::string_view key) { return key == kSealKey || key.starts_with(fmt::format("{}.", kSealKey)); }

bool IsCompatibilityKey(std::string_view key) { return key.starts_with(kCompatibilityPrefix); }

void ForgetContexts(Metadata* metadata) {
  std::erase_if(*metadata,
                [](const auto& entry) { return IsRecordKey(entry.first) || IsCompatibilityKey(entry.first); });
}

std::string CompatibilityInfo(const Metadata& metadata, const std::string& provider) {
  const auto found = metadata.find(CompatibilityKey(provider));
  return found == metadata.end() ? std::string() : found->second;
}

void SetCompatibilityInfo(const std::string& provider, std::string info, Metadata* metadata) {
  (*metadata)[CompatibilityKey(provider)] = std::move(info);
}

std::vector<PayloadRecord> ReadPayloadRecords(const Metadata& metadata) {
  std::vector<PayloadRecord> records;
  for (auto entry = metadata.lower_bound(std::string(kPayloadPrefix));
       entry != metadata.end() && entry->first.starts_with(kPayloadPrefix); ++entry) {
    Words words(entry->second);
    PayloadRecord record;
    const bool fits = ReadFingerprint(&words, &record);
    record.provider = words.Next();
    record.plugin_version = words.Next();
    record.file = words.rest();
    if (!fits || record.file.empty()) {
      Malformed(entry->first, entry->second, "<size> <xxh128> <provider> <version> <file>");
    }
    if (record.file == "-") record.file.clear();
    records.push_back(std::move(record));
  }
  return records;
}

void WritePayloadRecords(const std::vector<PayloadRecord>& records, Metadata* metadata) {
  (*metadata)[std::string(kContextVersionKey)] = kContextVersion;
  for (size_t i = 0; i < records.size(); ++i) {
    const PayloadRecord& record = records[i];
    std::string value = fmt::format("{} {} {} {} {}", record.size, record.xxh128, Word(record.provider),
                                    Word(record.plugin_version), record.file.empty() ? "-" : record.file);
    // The number is zero-padded, so that the map's order is the records' order.
    std::string key = fmt::format("{}{:06}.{}", kPayloadPrefix, i, HashOf(value));
    (*metadata)[std::move(key)] = std::move(value);
  }
}

std::vector<FileRecord> ReadInitializersRecords(const Metadata& metadata) {
  std::vector<FileRecord> records;
  for (auto entry = metadata.lower_bound(std::string(kInitializersKey));
       entry != metadata.end() && entry->first.starts_with(kInitializersKey); ++entry) {
    Words words(entry->second);
    FileRecord record;
    const bool fits = ReadFingerprint(&words, &record);
    record.file = words.rest();
    if (!fits || record.file.empty()) Malformed(entry->first, entry->second, "<size> <xxh128> <file>");
    records.push_back(std::move(record));
  }
  return records;
}

const FileRecord* FindRecord(const std::vector<FileRecord>& records, std::string_view file) {
  const auto found =
      std::find_if(records.begin(), records.end(), [&](const FileRecord& record) { return record.file == file; });
  return found == records.end() ? nullptr : &*found;
}

std::pair<std::string, std::string> InitializersEntry(const FileRecord& record) {
  std::string value = fmt::format("{} {} {}", record.size, record.xxh128, record.file);
  std::string key = fmt::format("{}.{}", kInitializersKey, HashOf(value));
  return {std::move(key), std::move(value)};
}

std::optional<std::vector<std::string>> ReadPlainProviders(const Metadata& metadata) {
  const auto entry = metadata.find(std::string(kPlainKey));
  if (entry == metadata.end()) return std::nullopt;
  std::vector<std::string> providers;
  std::istringstream names(entry->second);  // version 2 lists the names in the value
  for (std::string name; std::getline(names, name, ',');) providers.push_back(std::move(name));
  for (auto one = metadata.lower_bound(std::string(kPlainPrefix));
       one != metadata.end() && one->first.starts_with(kPlainPrefix); ++one) {
    providers.push_back(one->first.substr(kPlainPrefix.size()));
  }
  return providers;
}

void WritePlainProviders(const std::vector<std::string>& providers, Metadata* metadata) {
  (*metadata)[std::string(kPlainKey)] = "";
  for (const std::string& provider : providers) (*metadata)[fmt::format("{}{}", kPlainPrefix, provider)] = "1";
}

}  // namespace epiphyte::core
