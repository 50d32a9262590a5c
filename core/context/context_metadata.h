// Context metadata: the entries in a context model's metadata that describe its contexts. This is the one place for
// their keys.
//
//   the provider's own string, as in ONNX Runtime: see CompatibilityInfo
//   epiphyte.context.version           "3"
//   epiphyte.context.payload.<n>.<h>   "<size> <xxh128> <provider> <plugin version> <file name, or - when embedded>"
//   epiphyte.context.initializers.<h>  "<size> <xxh128> <file name>", when plain nodes have their weights in a file
//   epiphyte.context.plain             "": the model says which providers had its plain nodes, and
//   epiphyte.context.plain.<provider>  "1": this one
//   epiphyte.context.seal.<xxh128>     the digest of the model itself, see seal.h
//
// <h> is a hash of the value. Everything that differs from model to model is in the key, because tools that join models
// (onnx.compose) refuse two values of one key. That way they keep the entries of both. Version 2 had neither hashes nor
// providers in its keys and is still read.
//
// A model without these entries comes from another tool and is accepted as it is.
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

// Version that this host writes: 1 has payload records, 2 has a seal too, 3 has keys that differ from model to model.
inline constexpr std::string_view kContextVersionKey = "epiphyte.context.version";
inline constexpr std::string_view kContextVersion = "3";
inline constexpr std::string_view kSealKey = "epiphyte.context.seal";

// Whether the key is one of this host's entries, which the model and its payloads are checked by.
bool IsRecordKey(std::string_view key);
bool HasRecords(const Metadata& metadata);
bool IsPayloadRecordKey(std::string_view key);
bool IsSealKey(std::string_view key);
// Whether the key holds a provider's own compatibility string.
bool IsCompatibilityKey(std::string_view key);
// Removes all entries about contexts: those of an earlier tool are not true of new contexts.
void ForgetContexts(Metadata* metadata);

// The provider's compatibility string; "" when there is none.
std::string CompatibilityInfo(const Metadata& metadata, const std::string& provider);
void SetCompatibilityInfo(const std::string& provider, std::string info, Metadata* metadata);

// Size and digest of some bytes as they were when the model was written.
struct FileRecord {
  uint64_t size = 0;
  std::string xxh128;
  std::string file;  // relative path; "" when embedded
};

struct PayloadRecord : FileRecord {
  std::string provider;
  std::string plugin_version;
};
// Throws INVALID_GRAPH when a record is malformed.
std::vector<PayloadRecord> ReadPayloadRecords(const Metadata& metadata);
void WritePayloadRecords(const std::vector<PayloadRecord>& records, Metadata* metadata);

// Records of the files that hold the initializers of plain nodes: one file, or several if another tool joined models.
// Throws INVALID_GRAPH when a record is malformed.
std::vector<FileRecord> ReadInitializersRecords(const Metadata& metadata);
// The record of `file`; null when there is none.
const FileRecord* FindRecord(const std::vector<FileRecord>& records, std::string_view file);
// Metadata entry of the record: key and value.
std::pair<std::string, std::string> InitializersEntry(const FileRecord& record);

// The providers that had the plain nodes of a context model when it was compiled. A session that loads the model gives
// them to the same providers. Empty when the model doesn't say.
std::optional<std::vector<std::string>> ReadPlainProviders(const Metadata& metadata);
void WritePlainProviders(const std::vector<std::string>& providers, Metadata* metadata);

}  // namespace epiphyte::core
