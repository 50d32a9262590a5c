#include "core/base/strict_yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/process_end.h"
#include "core/base/text.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxBytes = 64 * 1024;
constexpr size_t kMaxDepth = 8;
// Far above what kMaxDepth allows, because brackets inside scalars and comments count here too. The limit only keeps
// input that consists of nesting alone away from the parser.
constexpr size_t kMaxOpenBrackets = 64;

[[noreturn]] void RejectAt(std::string_view where, std::string_view message) {
  Fail(StatusCode::kInvalidArgument, "{}: {}", where, PrintableLine(message));
}

std::string Quoted(std::string_view text) { return "'" + PrintableLine(text, 64) + "'"; }

// Line and column of a byte, both from 1.
std::string PositionOf(std::string_view text, size_t offset, std::string_view file) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n');
  const size_t column = line_start == std::string_view::npos ? offset + 1 : offset - line_start;
  return fmt::format("{}:{}:{}", file, line, column);
}

// Removes the byte order mark and turns all line ends into '\n'.
std::string Normalize(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string normal;
  normal.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      normal += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      normal += '\n';
    }
  }
  return normal;
}

void CheckNesting(std::string_view text, std::string_view file) {
  size_t open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++open;
    if ((text[i] == ']' || text[i] == '}') && open > 0) --open;
    if (open > kMaxOpenBrackets) {
      RejectAt(PositionOf(text, i, file), fmt::format("nested more than {} levels deep", kMaxDepth));
    }
  }
}

// Builds the tree from yaml-cpp's events. Each event that takes the parser one level deeper comes here first, so
// throwing here bounds its recursion.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  YamlNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (document_seen_) RejectAt(Where(mark), "a second document found, one is allowed");
    document_seen_ = true;
    root_.where = Where(mark);
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckProperties(mark, "?", anchor);
    YamlNode node;
    node.where = Where(mark);
    Add(std::move(node), mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    RejectAt(Where(mark), "aliases ('*name') are not allowed; write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckProperties(mark, tag, anchor);
    // Escapes in quoted scalars can spell characters that the text itself may not contain.
    if (FindNonText(value) != value.size()) RejectAt(Where(mark), "a control character found, text expected");
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.quoted = tag == "!";
    node.scalar = value;
    node.where = Where(mark);
    Add(std::move(node), mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Enter(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Leave(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Enter(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Leave(); }

 private:
  struct Level {
    YamlNode node;
    YAML::Mark mark;
    bool has_key = false;
    std::string key;
    std::unordered_set<std::string> keys;  // keys of `node`, for fast duplicate checks in large maps
  };

  std::string Where(const YAML::Mark& mark) const {
    return fmt::format("{}:{}:{}", file_, mark.line + 1, mark.column + 1);
  }

  void CheckProperties(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != 0) RejectAt(Where(mark), "anchors ('&name') are not allowed; write the value out");
    // "?" and "!" stand for a plain and a quoted scalar without a tag. But "!" may also appear in the text.
    const auto offset = static_cast<size_t>(std::max(mark.pos, 0));
    const bool spelled = offset < text_.size() && text_[offset] == '!';
    if (spelled || (!tag.empty() && tag != "?" && tag != "!")) {
      RejectAt(Where(mark), "tags ('!name') are not allowed; quote what shall be a string");
    }
  }

  void Enter(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    CheckProperties(mark, tag, anchor);
    if (levels_.size() == kMaxDepth) {
      RejectAt(Where(mark), fmt::format("nested more than {} levels deep", kMaxDepth));
    }
    Level level;
    level.node.kind = kind;
    level.node.where = Where(mark);
    level.mark = mark;
    levels_.push_back(std::move(level));
  }

  void Leave() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    Add(std::move(level.node), level.mark);
  }

  void Add(YamlNode node, const YAML::Mark& mark) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& parent = levels_.back();
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      SetKey(&parent, node, mark);
    } else {
      parent.node.fields.emplace_back(std::move(parent.key), std::move(node));
      parent.has_key = false;
    }
  }

  void SetKey(Level* map, const YamlNode& node, const YAML::Mark& mark) const {
    if (node.kind != YamlNode::Kind::kScalar || node.scalar.empty()) {
      RejectAt(Where(mark), "a key that is no name found; expected 'name: value'");
    }
    if (node.scalar == "<<" && !node.quoted) RejectAt(Where(mark), "merge keys ('<<') are not allowed");
    if (!map->keys.insert(node.scalar).second) {
      RejectAt(Where(mark), fmt::format("key {} found twice in one map", Quoted(node.scalar)));
    }
    map->key = node.scalar;
    map->has_key = true;
  }

  std::string_view text_;
  std::string_view file_;
  bool document_seen_ = false;
  YamlNode root_;
  std::vector<Level> levels_;
};

std::string_view KindName(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull: return "nothing";
    case YamlNode::Kind::kScalar: return "a single value";
    case YamlNode::Kind::kList: return "a list";
    case YamlNode::Kind::kMap: return "a map";
  }
  return "";
}

std::string Found(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar ? Quoted(node.scalar) : std::string(KindName(node.kind));
}

}  // namespace

YamlNode::YamlNode() = default;
YamlNode::~YamlNode() = default;
YamlNode::YamlNode(const YamlNode&) = default;
YamlNode::YamlNode(YamlNode&&) noexcept = default;
YamlNode& YamlNode::operator=(const YamlNode&) = default;
YamlNode& YamlNode::operator=(YamlNode&&) noexcept = default;

const YamlNode* YamlNode::Find(std::string_view key) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == key; });
  return found == fields.end() ? nullptr : &found->second;
}

const YamlNode& YamlNode::Required(std::string_view key) const {
  if (kind != Kind::kMap) Reject(fmt::format("{} found, a map with the key '{}' expected", Found(*this), key));
  const YamlNode* node = Find(key);
  if (node == nullptr) Reject(fmt::format("key '{}' is missing", key));
  return *node;
}

std::string YamlNode::AsString() const {
  if (kind != Kind::kScalar) Reject(fmt::format("{} found, a string expected", KindName(kind)));
  return scalar;
}

int64_t YamlNode::AsInt() const {
  int64_t value = 0;
  if (kind == Kind::kScalar && !quoted) {
    const char* end = scalar.data() + scalar.size();
    const auto [stop, error] = std::from_chars(scalar.data(), end, value);
    if (error == std::errc() && stop == end) return value;
  }
  Reject(fmt::format("{} found, an integer expected", Found(*this)));
}

bool YamlNode::AsBool() const {
  if (kind == Kind::kScalar && !quoted) {
    if (scalar == "true") return true;
    if (scalar == "false") return false;
  }
  Reject(fmt::format("{} found, true or false expected", Found(*this)));
}

std::vector<std::string> YamlNode::AsStringList() const {
  if (kind != Kind::kList) Reject(fmt::format("{} found, a list of strings expected, like [a, b]", Found(*this)));
  std::vector<std::string> strings;
  strings.reserve(items.size());
  for (const YamlNode& item : items) strings.push_back(item.AsString());
  return strings;
}

void YamlNode::Reject(std::string_view found_and_expected) const { RejectAt(where, found_and_expected); }

YamlNode ParseStrictYaml(std::string_view text, std::string_view file) {
  const ProcessEnd::Call call;
  static const bool noticed = [] {
    YAML::Load("a: ['b', {c: \"d\"}]  # what makes most of the parser's static objects");
    ProcessEnd::Notice();
    return true;
  }();
  (void)noticed;
  if (text.size() > kMaxBytes) {
    RejectAt(fmt::format("{}:1:1", file), fmt::format("{} bytes found, at most {} allowed", text.size(), kMaxBytes));
  }
  if (const size_t bad = FindNonText(text); bad != text.size()) {
    RejectAt(PositionOf(text, bad, file),
             fmt::format("byte 0x{:02x} found, UTF-8 text expected", static_cast<uint8_t>(text[bad])));
  }
  const std::string normal = Normalize(text);
  CheckNesting(normal, file);

  TreeBuilder builder(normal, file);
  std::istringstream stream(normal);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const YAML::Mark mark = error.mark.is_null() ? YAML::Mark() : error.mark;
    RejectAt(fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1), "not valid YAML: " + error.msg);
  }
  YamlNode root = builder.TakeRoot();
  if (root.where.empty()) root.where = fmt::format("{}:1:1", file);
  return root;
}

}  // namespace epiphyte::core
