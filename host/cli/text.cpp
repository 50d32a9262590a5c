#include "host/cli/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <numeric>

#include "epiphyte/text.hpp"

namespace epiphyte::cli {
namespace {

constexpr size_t kUsualWidth = 80;

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

// Columns must line up for UTF-8 names, too.
size_t CharactersIn(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

size_t TerminalWidth() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) == 0) return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : kUsualWidth;
}

std::string CutTo(const std::string& text, size_t width) {
  constexpr std::string_view kMore = "...";
  if (width == 0 || CharactersIn(text) <= width) return text;
  std::string cut;
  size_t characters = 0;
  for (const char c : text) {
    const bool begins = (c & 0xC0) != 0x80;
    if (begins && ++characters + kMore.size() > width) break;
    cut += c;
  }
  return cut + std::string(kMore);
}

std::vector<std::string> WrapText(const std::string& text, size_t width) {
  if (width == 0) return {text};
  std::vector<std::string> lines;
  std::string line;
  size_t characters = 0;
  size_t last_space = std::string::npos;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins = (text[i] & 0xC0) != 0x80;
    if (begins && characters == width) {
      const bool at_space = last_space != std::string::npos && text[i] != ' ';
      std::string rest = at_space ? line.substr(last_space + 1) : "";
      lines.push_back(line.substr(0, at_space ? last_space : line.size()));
      line = std::move(rest);
      characters = CharactersIn(line);
      last_space = std::string::npos;
      if (text[i] == ' ') continue;
    }
    if (text[i] == ' ') last_space = line.size();
    line += text[i];
    characters += begins ? 1 : 0;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

Json FilesJson(const std::vector<std::filesystem::path>& paths) {
  Json files = Json::array();
  for (const std::filesystem::path& path : paths) {
    files.push_back({{"path", path.string()}, {"size", std::filesystem::file_size(path)}});
  }
  return files;
}

void PrintJson(const Json& json) {
  std::cout << PrintableJson(json.dump(2, ' ', false, Json::error_handler_t::replace)) << '\n';
}

void Table::Print() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], CharactersIn(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] - CharactersIn(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << '\n';
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (!joined.empty()) joined += separator;
    joined += part;
  }
  return joined;
}

std::string NumberText(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

std::string SizeText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string MillisecondsText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1 ? "%.1f ms" : "%.4f ms", value);
  return text;
}

std::string NearestTo(std::string_view name, const std::vector<std::string>& candidates) {
  std::string nearest;
  size_t best = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    size_t distance = EditDistance(name, candidate);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace epiphyte::cli
