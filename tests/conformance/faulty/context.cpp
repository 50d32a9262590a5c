// Contexts of the faulty plugin.
#include <thread>

#include "tests/conformance/faulty/faulty.h"

namespace {

constexpr uint32_t kMagic = 0x544C4146;
constexpr const char* kSdk = "faulty 1.0";
uint32_t g_length = 0;  // length of the payload written last

void Put(std::string* bytes, uint32_t number) { bytes->append(reinterpret_cast<const char*>(&number), sizeof(number)); }

uint32_t SumOf(const unsigned char* bytes, uint64_t size) {
  uint32_t sum = 1;
  for (uint64_t i = 0; i < size; ++i) sum = sum * 31 + bytes[i];
  return sum;
}

class Reader {
 public:
  Reader(const unsigned char* at, uint64_t left) : at_(at), left_(left) {}
  bool Take(void* to, uint64_t size) {
    if (size > left_) return false;
    std::memcpy(to, at_, size);
    at_ += size;
    left_ -= size;
    return true;
  }
  uint64_t left() const { return left_; }

 private:
  const unsigned char* at_;
  uint64_t left_;
};

// `user` is the provider that asks.
EpStatus* EP_CALL MakeWorkspace(void* user, void** workspace) {
  if (Has("905_asks_again")) return JoinGroup(static_cast<EpProvider*>(user), static_cast<EpProvider*>(user)->group);
  *workspace = new Workspace();
  return nullptr;
}
void EP_CALL FreeWorkspace(void* workspace) { delete static_cast<Workspace*>(workspace); }

}  // namespace

std::string Write(const Programs& programs) {
  std::string bytes;
  Put(&bytes, kMagic);
  Put(&bytes, 0);  // space for the length of the whole payload
  Put(&bytes, static_cast<uint32_t>(programs.size()));
  for (const auto& [name, program] : programs) {
    Put(&bytes, static_cast<uint32_t>(name.size()));
    bytes += name;
    Put(&bytes, program.operation);
    Put(&bytes, program.embedded);
    Put(&bytes, static_cast<uint32_t>(program.constant.size()));
    bytes.append(reinterpret_cast<const char*>(program.constant.data()), program.constant.size() * sizeof(float));
  }
  g_length = static_cast<uint32_t>(bytes.size()) + 4;
  std::memcpy(bytes.data() + 4, &g_length, sizeof(g_length));
  Put(&bytes, SumOf(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
  return bytes;
}

bool Read(const void* data, uint64_t size, Programs* programs) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const bool trusting = Has("820_trusts_bytes");
  if (size < 16) return false;
  uint32_t sum = 0;
  if (Has("819_trusts_sizes")) {
    std::memcpy(&sum, bytes + 4, sizeof(sum));
    if (sum == g_length && sum > size) {
      volatile unsigned char last = bytes[sum - 1];
      (void)last;
    }
  }
  if (!trusting) {
    std::memcpy(&sum, bytes + size - sizeof(sum), sizeof(sum));
    if (sum != SumOf(bytes, size - sizeof(sum))) return false;
  }
  Reader reader(bytes, trusting ? size : size - sizeof(sum));
  uint32_t magic = 0;
  uint32_t length_of_all = 0;
  uint32_t count = 0;
  if (!reader.Take(&magic, 4) || magic != kMagic || !reader.Take(&length_of_all, 4) || !reader.Take(&count, 4))
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (!reader.Take(&length, 4)) return false;
    if (length > reader.left()) return false;
    std::string name(length, '\0');
    Program program;
    uint32_t numbers = 0;
    if (!reader.Take(name.data(), length) || !reader.Take(&program.operation, 4) ||
        !reader.Take(&program.embedded, 4) || !reader.Take(&numbers, 4)) {
      return false;
    }
    if (numbers > reader.left() / sizeof(float)) return false;
    if (Has("820_trusts_bytes") && program.operation != kRelu && program.operation != kAddConstant) {
      // A plugin that uses the operation as an index into a table of functions, without a check, would crash like this.
      *reinterpret_cast<volatile int*>(static_cast<uintptr_t>(program.operation)) = 0;
    }
    program.constant.resize(numbers);
    if (!reader.Take(program.constant.data(), numbers * sizeof(float))) return false;
    if (program.operation == kAddConstant && program.constant.empty()) return false;
    (*programs)[name] = program;
  }
  return true;
}

EpStatus* JoinGroup(EpProvider* provider, EpShareGroup* group) {
  if (group == nullptr) return nullptr;
  const EpHostInfo* host = provider->plugin->host;
  const auto* api = static_cast<const EpShareApi*>(host->GetExtension(host, EP_SHARE_EXTENSION));
  if (api == nullptr) return nullptr;
  provider->group = group;
  provider->share.struct_size = sizeof(provider->share);
  if (EpStatus* status = api->GetInfo(group, &provider->share)) return status;
  static EpShareGroup* first = nullptr;
  static int joined = 0;
  if (Has("904_keeps_group") && ++joined > 2) return api->GetInfo(first, &provider->share);
  if (first == nullptr) first = group;
  void* workspace = nullptr;
  if (EpStatus* status = api->GetWorkspace(group, MakeWorkspace, provider, FreeWorkspace, &workspace)) return status;
  provider->workspace = static_cast<Workspace*>(workspace);
  return nullptr;
}

EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink, EpTask*) {
  const EpHostInfo* host = provider->plugin->host;
  const EpContextApi& api = *host->context;
  if (Has("802_fails_in_save")) return Refuse(host, EP_STATUS_EP_FAIL, "no room for contexts");
  const bool shares = provider->workspace != nullptr && provider->share.compiling != 0;
  const bool defers = shares && provider->share.last == 0 && !Has("901_writes_early");
  EpContextSinkInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = api.GetSinkInfo(sink, &info)) return status;
  EpContextWriter* payload = nullptr;
  Programs programs = provider->programs;
  for (auto& [name, program] : programs) program.embedded = info.embed;
  if (shares) {
    std::lock_guard lock(provider->workspace->mutex);
    if (defers && !Has("902_forgets_earlier")) provider->workspace->programs.insert(programs.begin(), programs.end());
    programs.insert(provider->workspace->programs.begin(), provider->workspace->programs.end());
  }
  if (!defers && !(shares && Has("903_never_writes"))) {
    std::string bytes = Write(programs);
    static int written = 0;
    if (Has("812_counts_in_payload")) {
      programs["count"].constant = {static_cast<float>(++written)};
      bytes = Write(programs);
    }
    if (EpStatus* status = api.BeginPayload(sink, &payload)) return status;
    if (Has("809_writes_on_another_thread")) {
      EpStatus* status = nullptr;
      std::thread([&] { status = api.Write(payload, bytes.data(), bytes.size()); }).join();
      if (status != nullptr) return status;
    } else if (EpStatus* status = api.Write(payload, bytes.data(), bytes.size())) {
      return status;
    }
    if (EpStatus* status = api.EndPayload(payload)) return status;
  }
  if (EpStatus* status = api.SetCompatibilityInfo(sink, kSdk)) return status;
  const EpKeyValue attribute = {Has("823_reserved_attribute") ? "ep_mine" : "faulty.mine", "1"};
  for (uint32_t i = 0; i < provider->names.size(); ++i) {
    EpContextNodeDesc node = {};
    node.struct_size = sizeof(node);
    node.partition = i;
    node.main_context = Has("811_main_context_two") ? 2 : i == 0 ? 1 : 0;
    node.payload = i == 0 || Has("810_payload_on_secondary") ? payload : nullptr;
    if (shares && Has("903_never_writes")) node.main_context = 0;
    node.ep_sdk_version = kSdk;
    node.attributes = &attribute;
    node.attribute_count = 1;
    if (EpStatus* status = api.AddNode(sink, &node)) return status;
  }
  return nullptr;
}

EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                              const EpContextBlob* const* blobs, uint64_t blob_count, EpTask*, EpKernel** kernels) {
  const EpHostInfo* host = provider->plugin->host;
  if (Has("814_cannot_load")) return Refuse(host, EP_STATUS_INVALID_GRAPH, "not mine");
  Programs programs;
  for (uint64_t i = 0; i < blob_count; ++i) {
    if (!Read(blobs[i]->data, blobs[i]->size, &programs)) {
      return Refuse(host, EP_STATUS_INVALID_GRAPH, "the payload is damaged; compile the model again");
    }
    if (Has("816_writes_blob")) *static_cast<char*>(const_cast<void*>(blobs[i]->data)) = 0;
    provider->plugin->blob = blobs[i]->data;
  }
  if (Has("812_counts_in_payload")) programs.erase("count");
  if (Has("906_first_session_owns") && provider->workspace != nullptr && provider->workspace->owner == nullptr)
    provider->workspace->owner = provider;
  static const char* kept = nullptr;
  if (Has("818_keeps_node_info") && kept != nullptr) {
    volatile char late = *kept;
    (void)late;
  }
  auto in_order = programs.begin();
  for (uint64_t i = 0; i < node_count; ++i) {
    kept = nodes[i]->partition_name;
    const bool is_only = *nodes[i]->partition_name == '\0' && programs.size() == 1 && !Has("825_wants_a_name");
    const auto found = Has("822_loads_in_order") ? in_order++
                       : is_only                 ? programs.begin()
                                                 : programs.find(nodes[i]->partition_name);
    if (found == programs.end())
      return Refuse(host, EP_STATUS_INVALID_GRAPH, "the payload doesn't hold the partition; compile the model again");
    kernels[i] = new EpKernel{provider, found->second, true};
    if (Has("815_loads_other_numbers"))
      kernels[i]->program.operation = kAddConstant, kernels[i]->program.constant = {2.5f};
  }
  return nullptr;
}

EpStatus* EP_CALL CheckContext(EpPlugin* plugin, const EpContextHeader* header, EpContextVerdict* verdict, char* reason,
                               uint64_t reason_capacity) {
  if (Has("831_throws_in_check")) throw 1;
  if (Has("832_verdict_nine")) {
    *verdict = 9;
    return nullptr;
  }
  if (Has("835_long_reason")) std::memset(reason, 'y', reason_capacity);
  const bool mine = std::strcmp(header->source, "FaultySource") == 0 || Has("834_takes_foreign");
  *verdict = !mine                                            ? EP_CONTEXT_NOT_APPLICABLE
             : std::strcmp(header->ep_sdk_version, kSdk) == 0 ? EP_CONTEXT_OPTIMAL
                                                              : EP_CONTEXT_UNSUPPORTED;
  if (Has("833_rejects_itself") && mine) *verdict = EP_CONTEXT_UNSUPPORTED;
  (void)plugin;
  return nullptr;
}
