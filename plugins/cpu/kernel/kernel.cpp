#include "plugins/cpu/kernel/kernel.h"

#include <algorithm>

namespace epiphyte::cpu {

namespace {
std::string_view CanonicalDomain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }
}  // namespace

void KernelRegistry::Add(std::string_view op_type, std::string_view domain, Entry entry) {
  Operator& known = operators_[Key{std::string(CanonicalDomain(domain)), std::string(op_type)}];
  known.signatures = kit::FindSignatures(domain, op_type);
  known.entries.push_back(std::move(entry));
}

KernelRegistry::Choice KernelRegistry::Find(std::string_view domain, std::string_view op_type, int64_t since_version,
                                            std::span<const ArgumentType> inputs, std::span<const ArgumentType> outputs,
                                            std::string* why) const {
  const std::string_view canonical = CanonicalDomain(domain);
  const auto complain = [&](bool operator_known, ElementType type) {
    if (why == nullptr) return;
    *why = FormatText("no kernel for operator {}{}{}", canonical, canonical.empty() ? "" : ".", op_type);
    if (operator_known) *why += FormatText(" since version {}", since_version);
    if (type != EP_TYPE_UNDEFINED) *why += FormatText(" for {}", TypeName(type));
  };
  const auto found = operators_.find(Less::View(canonical, op_type));
  if (found == operators_.end()) {
    complain(false, EP_TYPE_UNDEFINED);
    return {};
  }
  Choice choice;
  for (const Signature& signature : found->second.signatures)
    if (signature.since_version <= since_version) choice.signature = &signature;
  const auto has_version = [&](const Entry& entry) {
    return choice.signature != nullptr && since_version >= entry.first_version && since_version <= entry.last_version;
  };
  const std::vector<Entry>& entries = found->second.entries;
  if (std::none_of(entries.begin(), entries.end(), has_version)) {
    complain(true, EP_TYPE_UNDEFINED);
    return {};
  }
  const kit::SignatureMatch match = kit::Match(*choice.signature, inputs, outputs, why);
  if (!match.fits) return choice;
  choice.certain = match.certain;
  for (const Entry& entry : entries) {
    if (!has_version(entry)) continue;
    if (match.dispatch != EP_TYPE_UNDEFINED && !Contains(entry.types, match.dispatch)) continue;
    choice.entry = &entry;
    choice.certain = choice.certain && (match.dispatch != EP_TYPE_UNDEFINED || entry.types == kAnyType);
    return choice;
  }
  complain(true, match.dispatch);
  return choice;
}

const KernelRegistry::Entry* KernelRegistry::FloatEntry(std::string_view domain, std::string_view op_type) const {
  const auto found = operators_.find(Less::View(CanonicalDomain(domain), op_type));
  if (found == operators_.end()) return nullptr;
  for (const Entry& entry : found->second.entries)
    if (Contains(entry.types, EP_TYPE_FLOAT)) return &entry;
  return nullptr;
}

void KernelRegistry::ForEach(const std::function<void(std::string_view, std::string_view, const Entry&)>& visit) const {
  for (const auto& [key, known] : operators_)
    for (const Entry& entry : known.entries) visit(key.domain, key.op_type, entry);
}

}  // namespace epiphyte::cpu
