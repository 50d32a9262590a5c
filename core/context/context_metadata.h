// Context metadata: what a context model says of itself, as entries of the model's metadata. The one place for their
// keys.
//
//   the provider's own string, as in ONNX Runtime: see CompatibilityInfo
//   epiphyte.context.version           "2"
//   epiphyte.context.payload.<n>       "<size> <xxh128> <provider> <plugin version> <file name, or - when embedded>"
//   epiphyte.context.initializers      "<size> <xxh128> <file name>", when plain nodes have their weights in a file
//   epiphyte.context.plain             "cpu": the providers that had the plain nodes, separated by commas
//   epiphyte.context.seal              a digest over the model itself, see seal.h
//
// A model without them (another tool's) is accepted as it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace epiphyte::core {

using Metadata = std::map<std::string, std::string>;

// Of what this host writes: 1 has payload records, 2 has a seal too.
inline constexpr std::string_view kContextVersionKey = "epiphyte.context.version";
inline constexpr std::string_view kContextVersion = "2";
inline constexpr std::string_view kSealKey = "epiphyte.context.seal";

// Whether the key is of this host's entries, by which a model's payloads and the model itself are checked.
bool IsRecordKey(std::string_view key);
bool HasRecords(const Metadata& metadata);
// Whether the key is of a provider's own string.
bool IsCompatibilityKey(std::string_view key);
// What an earlier tool said of contexts is not true of new ones.
void ForgetContexts(Metadata* metadata);

// "" when there is none.
std::string CompatibilityInfo(const Metadata& metadata, const std::string& provider);
void SetCompatibilityInfo(const std::string& provider, std::string info, Metadata* metadata);

// What some bytes were when the model was written.
struct FileRecord {
  uint64_t size = 0;
  std::string xxh128;
  std::string file;  // relative; "" when embedded
};

struct PayloadRecord : FileRecord {
  std::string provider;
  std::string plugin_version;
};
// Throws INVALID_GRAPH when one is malformed.
std::vector<PayloadRecord> ReadPayloadRecords(const Metadata& metadata);
void WritePayloadRecords(const std::vector<PayloadRecord>& records, Metadata* metadata);

// Of the file that holds the initializers of plain nodes. Nothing when the model has none. Throws INVALID_GRAPH when it
// is malformed.
std::optional<FileRecord> ReadInitializersRecord(const Metadata& metadata);
// Key and value.
std::pair<std::string, std::string> InitializersEntry(const FileRecord& record);

// The providers that got the plain nodes of a context model when it was compiled: who loads it keeps to them. Nothing
// when the model doesn't say.
std::optional<std::vector<std::string>> ReadPlainProviders(const Metadata& metadata);
void WritePlainProviders(const std::vector<std::string>& providers, Metadata* metadata);

}  // namespace epiphyte::core
