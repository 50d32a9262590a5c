// npusim: inspects, checks and runs blobs of the reference SDK from the command line.
//
//   npusim info resnet.blob
//   npusim check resnet.blob
//   npusim run resnet.blob --inputs image.bin --outputs . --counters --trace run.json
//
// The device is the one that the blob was compiled for. --option KEY=VALUE changes it, as a context's options do.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/npu/simulator/device/race.h"
#include "plugins/npu/simulator/device/trace.h"
#include "plugins/npu/simulator/sdk/objects.h"
#include "plugins/npu/simulator/sdk/program.h"
#include "plugins/npu/simulator/sdk/settings.h"
#include "plugins/npu/simulator/sdk/status.h"

namespace epiphyte::npusim {
namespace {

constexpr char kUsage[] =
    "usage: npusim info BLOB\n"
    "       npusim check BLOB [--option KEY=VALUE ...]\n"
    "       npusim run BLOB [--graph NAME] [--inputs FILE,...] [--outputs FOLDER] [--counters] [--trace FILE]\n"
    "                  [--option KEY=VALUE ...]\n"
    "\n"
    "  info      what is in a blob: graphs, their inputs and outputs, memory, commands\n"
    "  check     whether a device runs it, and whether its commands are ordered where they have to be\n"
    "  run       runs a graph (the first one) and prints a hash of each output\n"
    "  --inputs  raw bytes of each input, in the graph's order; without it inputs are pseudo-random, always the same\n"
    "  --outputs writes output_0.bin, output_1.bin, ... there\n"
    "  --counters  cycles, beats, MACs and stalls\n"
    "  --trace   the run's timeline, for ui.perfetto.dev; a cycle is shown as a microsecond\n"
    "  --option  of the device: ";

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw std::runtime_error("'" + path + "' can't be opened: " + std::strerror(errno));
    struct stat status {};
    const bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    size_ = regular ? static_cast<size_t>(status.st_size) : 0;
    if (size_ > 0) address_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (!regular) throw std::runtime_error("'" + path + "' is no regular file");
    if (address_ == MAP_FAILED) throw std::runtime_error("'" + path + "' can't be mapped: " + std::strerror(errno));
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (size_ > 0) munmap(address_, size_);
  }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  size_t size_ = 0;
};

struct Arguments {
  std::string command, blob, graph, outputs, trace;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, std::string>> options;
  bool counters = false;
};

Arguments Parse(const std::vector<std::string>& words) {
  Arguments arguments;
  std::vector<std::string> plain;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == words.size()) throw UsageError(word + " needs a value");
      return words[++i];
    };
    if (word == "--graph") {
      arguments.graph = value();
    } else if (word == "--outputs") {
      arguments.outputs = value();
    } else if (word == "--trace") {
      arguments.trace = value();
    } else if (word == "--counters") {
      arguments.counters = true;
    } else if (word == "--inputs") {
      std::string list = value();
      for (size_t at = 0; at <= list.size();) {
        const size_t comma = std::min(list.find(',', at), list.size());
        arguments.inputs.push_back(list.substr(at, comma - at));
        at = comma + 1;
      }
    } else if (word == "--option") {
      const std::string& option = value();
      const size_t equals = option.find('=');
      if (equals == std::string::npos) throw UsageError("--option is '" + option + "', expected KEY=VALUE");
      arguments.options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
    } else if (word.starts_with("-")) {
      throw UsageError("'" + word + "' is not known");
    } else {
      plain.push_back(word);
    }
  }
  if (plain.size() != 2) throw UsageError("expected a command and a blob");
  arguments.command = plain[0];
  arguments.blob = plain[1];
  if (arguments.command != "run" && (!arguments.graph.empty() || !arguments.inputs.empty() ||
                                     !arguments.outputs.empty() || !arguments.trace.empty() || arguments.counters)) {
    throw UsageError("'" + arguments.command + "' takes --option only");
  }
  return arguments;
}

std::string Shape(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

void PrintIos(const char* kind, const std::vector<BlobIo>& ios) {
  for (const BlobIo& io : ios) {
    std::cout << "    " << kind << " '" << io.name << "' " << TypeName(io.type) << " " << Shape(io.dims) << ", "
              << io.size << " bytes";
    if (io.scale != 0) std::cout << ", scale " << io.scale << ", zero point " << io.zero_point;
    std::cout << "\n";
  }
}

void Info(const Blob& blob) {
  std::cout << "blob version " << blob.version << " of SDK " << blob.sdk_version << ", " << blob.size << " bytes\n"
            << "architecture " << blob.architecture << "\n"
            << "weights " << blob.weights.size() << " bytes\n";
  for (const BlobGraph& graph : blob.graphs) {
    std::cout << "graph '" << graph.name << "': " << graph.op_names.size() << " operators, " << graph.program.size()
              << " commands\n    weights " << graph.weights_size << " bytes, scratch " << graph.scratch_size
              << " bytes, scratchpad " << graph.scratchpad_peak << " bytes\n";
    PrintIos("input ", graph.inputs);
    PrintIos("output", graph.outputs);
  }
}

Settings SettingsFor(const Blob& blob, const Arguments& arguments) {
  Settings settings;
  settings.config = blob.config;
  for (const auto& [key, value] : arguments.options) SetOption(settings, key, value);
  Finish(settings);
  return settings;
}

int Check(const Blob& blob, const Arguments& arguments) {
  std::string why;
  const Settings settings = SettingsFor(blob, arguments);
  static constexpr const char* kVerdicts[] = {"optimal", "prefer recompile", "must recompile"};
  const Fit fit = FitOf(blob, settings.config, &why);
  std::cout << "verdict: " << kVerdicts[static_cast<int>(fit)] << (why.empty() ? "" : " (" + why + ")") << "\n";
  bool raced = false;
  for (const BlobGraph& graph : blob.graphs) {
    if (const auto race = FindRace(graph.program)) {
      std::cout << "graph '" << graph.name << "': " << race->what << "\n";
      raced = true;
    } else {
      std::cout << "graph '" << graph.name << "': its " << graph.program.size() << " commands are ordered\n";
    }
  }
  return fit == Fit::kMustRecompile || raced ? 1 : 0;
}

uint64_t HashOf(const std::vector<std::byte>& bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001b3u;
  return hash;
}

std::vector<std::byte> InputOf(const BlobIo& io, size_t index, const Arguments& arguments) {
  std::vector<std::byte> bytes(io.size);
  if (arguments.inputs.empty()) {
    std::mt19937 random(static_cast<uint32_t>(index) + 1);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    return bytes;
  }
  const MappedFile file(arguments.inputs[index]);
  if (file.bytes().size() != io.size) {
    throw std::runtime_error("'" + arguments.inputs[index] + "' has " + std::to_string(file.bytes().size()) +
                             " bytes, expected " + std::to_string(io.size) + " for input '" + io.name + "' " +
                             TypeName(io.type) + " " + Shape(io.dims));
  }
  std::copy(file.bytes().begin(), file.bytes().end(), bytes.begin());
  return bytes;
}

void Print(const CycleCounters& c, const Config& config) {
  const auto line = [](const char* name, uint64_t value) { std::cout << name << " " << value << "\n"; };
  line("npu_active_cycles", c.npu_active_cycles);
  line("npu_idle_cycles", c.npu_idle_cycles);
  line("npu_total_cycles", c.npu_total_cycles);
  line("axi_read_beats", c.axi_read_beats);
  line("axi_write_beats", c.axi_write_beats);
  line("axi_beat_bytes", c.axi_beat_bytes);
  line("macs", c.macs);
  line("mac_active_cycles", c.mac_active_cycles);
  line("stall_dma_cycles", c.stall_dma_cycles);
  line("stall_dependency_cycles", c.stall_dependency_cycles);
  line("scratchpad_peak", c.scratchpad_peak);
  const double most = static_cast<double>(c.npu_total_cycles) * config.Macs();
  std::cout << "mac_utilisation " << (most > 0 ? static_cast<double>(c.macs) / most : 0) << "\n";
}

int RunGraph(std::span<const std::byte> bytes, const Blob& blob, const Arguments& arguments) {
  size_t index = 0;
  if (!arguments.graph.empty()) {
    while (index < blob.graphs.size() && blob.graphs[index].name != arguments.graph) ++index;
  }
  if (index >= blob.graphs.size()) {
    throw std::runtime_error("there is no graph '" + arguments.graph + "'; npusim info lists the blob's graphs");
  }
  const BlobGraph& graph = blob.graphs[index];
  if (!arguments.inputs.empty() && arguments.inputs.size() != graph.inputs.size()) {
    throw UsageError("--inputs names " + std::to_string(arguments.inputs.size()) + " files, graph '" + graph.name +
                     "' has " + std::to_string(graph.inputs.size()) + " inputs");
  }
  NsdkContext context;
  context.settings = SettingsFor(blob, arguments);
  context.has_device = true;
  NsdkLoadOptions options{};
  options.flags = NSDK_BLOB_STAYS;
  const auto program = LoadProgram(context, bytes, options);
  NsdkExecution execution(*program, static_cast<uint32_t>(index));
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::vector<std::byte>> outputs;
  const auto bind = [&](uint32_t direction, size_t i, std::vector<std::byte>& memory) {
    NsdkBinding binding{};
    binding.host_address = memory.data();
    binding.size = memory.size();
    execution.Bind(direction, static_cast<uint32_t>(i), binding);
  };
  for (size_t i = 0; i < graph.inputs.size(); ++i) inputs.push_back(InputOf(graph.inputs[i], i, arguments));
  for (const BlobIo& io : graph.outputs) outputs.emplace_back(io.size);
  for (size_t i = 0; i < inputs.size(); ++i) bind(NSDK_INPUT, i, inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) bind(NSDK_OUTPUT, i, outputs[i]);
  execution.Run(nullptr);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::cout << "output '" << graph.outputs[i].name << "' " << std::hex << HashOf(outputs[i]) << std::dec << "\n";
    if (arguments.outputs.empty()) continue;
    const std::string path = arguments.outputs + "/output_" + std::to_string(i) + ".bin";
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(outputs[i].data()), static_cast<std::streamsize>(outputs[i].size()));
    if (!file.flush()) throw std::runtime_error("'" + path + "' can't be written");
  }
  if (arguments.counters) Print(execution.Counters(), context.settings.config);
  if (!arguments.trace.empty()) {
    std::ofstream file(arguments.trace);
    const TracedGraph traced{graph.name, graph.program, graph.op_names,
                             Simulate(graph.program, context.settings.config)};
    WriteTrace(file, {&traced, 1});
    if (!file.flush()) throw std::runtime_error("'" + arguments.trace + "' can't be written");
  }
  return 0;
}

int Main(const std::vector<std::string>& words) {
  if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
    std::cout << kUsage << KnownOptions() << "\n";
    return 0;
  }
  const Arguments arguments = Parse(words);
  if (arguments.command != "info" && arguments.command != "check" && arguments.command != "run") {
    throw UsageError("there is no command '" + arguments.command + "', expected info, check or run");
  }
  const MappedFile file(arguments.blob);
  const Blob blob = ReadBlob(file.bytes());
  if (arguments.command == "check") return Check(blob, arguments);
  if (arguments.command == "run") return RunGraph(file.bytes(), blob, arguments);
  Info(blob);
  return 0;
}

}  // namespace
}  // namespace epiphyte::npusim

int main(int argc, char** argv) {
  try {
    const int result = epiphyte::npusim::Main({argv + 1, argv + argc});
    std::cout.flush();
    return std::cout ? result : 1;
  } catch (const epiphyte::npusim::UsageError& e) {
    std::cerr << "npusim: " << e.what() << "; npusim --help says what there is\n";
    return 2;
  } catch (const std::exception& e) {
    std::cerr << "npusim: " << e.what() << "\n";
    return 1;
  }
}
