// Context metadata: what a context model says of itself, as entries of the model's metadata. The one place for their
// keys.
//
//   the provider's own string, as in ONNX Runtime: see CompatibilityInfo
//   epiphyte.context.version           "3"
//   epiphyte.context.payload.<n>.<h>   "<size> <xxh128> <provider> <plugin version> <file name, or - when embedded>"
//   epiphyte.context.initializers.<h>  "<size> <xxh128> <file name>", when plain nodes have their weights in a file
//   epiphyte.context.plain             "": the model says which providers had its plain nodes, and
//   epiphyte.context.plain.<provider>  "1": this one
//   epiphyte.context.seal.<xxh128>     the digest of the model itself, see seal.h
//
// <h> is a hash of the value: what differs from model to model is in the key, so that tools that join models and refuse
// two values of one key (onnx.compose) keep the entries of both. Version 2 had neither hashes nor providers in its keys
// and is still read.
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

// Of what this host writes: 1 has payload records, 2 has a seal too, 3 has keys that differ from model to model.
inline constexpr std::string_view kContextVersionKey = "epiphyte.context.version";
inline constexpr std::string_view kContextVersion = "3";
inline constexpr std::string_view kSealKey = "epiphyte.context.seal";

// Whether the key is of this host's entries, by which a model's payloads and the model itself are checked.
bool IsRecordKey(std::string_view key);
bool HasRecords(const Metadata& metadata);
bool IsPayloadRecordKey(std::string_view key);
bool IsSealKey(std::string_view key);
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

// Of the files that hold the initializers of plain nodes: one, or several in a model that another tool joined. Throws
// INVALID_GRAPH when one is malformed.
std::vector<FileRecord> ReadInitializersRecords(const Metadata& metadata);
// The record of that file; null when there is none.
const FileRecord* FindRecord(const std::vector<FileRecord>& records, std::string_view file);
// Key and value.
std::pair<std::string, std::string> InitializersEntry(const FileRecord& record);

// The providers that got the plain nodes of a context model when it was compiled: who loads it keeps to them. Nothing
// when the model doesn't say.
std::optional<std::vector<std::string>> ReadPlainProviders(const Metadata& metadata);
void WritePlainProviders(const std::vector<std::string>& providers, Metadata* metadata);

}  // namespace epiphyte::core
