#include "plugins/npu/simulator/device/trace.h"

#include <array>

namespace epiphyte::npusim {
namespace {

// The text as a JSON string. Bytes that aren't ASCII stay: valid names are UTF-8, and the viewer shows invalid ones.
std::string Quoted(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += std::string("\\u00") + kHex[byte >> 4] + kHex[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

constexpr std::array<const char*, kQueueCount> kQueueNames = {"load", "execute", "store"};

class Events {
 public:
  explicit Events(std::ostream& out) : out_(out) { out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["; }
  ~Events() { out_ << "\n]}\n"; }
  std::ostream& Next() {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
    return out_;
  }

 private:
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace

void WriteTrace(std::ostream& out, std::span<const TracedGraph> graphs) {
  Events events(out);
  for (size_t pid = 0; pid < graphs.size(); ++pid) {
    const TracedGraph& graph = graphs[pid];
    const std::string process = "\"pid\":" + std::to_string(pid);
    events.Next() << R"({"name":"process_name","ph":"M",)" << process << R"(,"args":{"name":)" << Quoted(graph.name)
                  << "}}";
    for (int queue = 0; queue < kQueueCount; ++queue) {
      events.Next() << R"({"name":"thread_name","ph":"M",)" << process << ",\"tid\":" << queue << R"(,"args":{"name":")"
                    << kQueueNames[queue] << "\"}}";
    }
    for (size_t i = 0; i < graph.program.size(); ++i) {
      const Command& command = graph.program[i];
      const Span& span = graph.timeline.spans[i];
      const std::string op = command.op < graph.op_names.size() ? graph.op_names[command.op] : "";
      events.Next() << "{\"name\":" << Quoted(op.empty() ? CommandName(command.work) : op) << ",\"cat\":\""
                    << CommandName(command.work) << "\",\"ph\":\"X\"," << process << ",\"tid\":" << +command.queue
                    << ",\"ts\":" << span.begin << ",\"dur\":" << span.end - span.begin << R"(,"args":{"command":)" << i
                    << ",\"kind\":\"" << CommandName(command.work) << "\"}}";
    }
  }
}

}  // namespace epiphyte::npusim
