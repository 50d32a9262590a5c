// Text for people and JSON for programs, both to standard output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/text.hpp"

namespace epiphyte::cli {

// Keeps the order in which keys are set.
using Json = nlohmann::ordered_json;

// Two spaces of indentation and a line break at the end. What a terminal must not get is escaped.
void PrintJson(const Json& json);
// Path and size of each file, for reports.
Json FilesJson(const std::vector<std::filesystem::path>& paths);

// Rows of cells in aligned columns, each row without trailing spaces.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void Print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Columns of the terminal that standard output is; 0: it is none, and lines are as long as they are.
size_t TerminalWidth();
// `text`, or its beginning and "..." where it has more than `width` characters. 0: no limit.
std::string CutTo(const std::string& text, size_t width);
// `text` in lines of at most `width` characters, cut between words where that can be. 0: one line.
std::vector<std::string> WrapText(const std::string& text, size_t width);
// Characters, not bytes, of UTF-8 text.
size_t CharactersIn(std::string_view text);

// Names come from models and manifests. Characters that could steer a terminal are replaced, and long text is cut.
inline std::string Printable(std::string_view text) { return PrintableText(text); }
// For a table cell that is short unless there is a problem.
inline std::string PrintableCell(std::string_view text) { return PrintableText(text, 80); }
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string NumberText(double number);       // "0.126119"
std::string SizeText(uint64_t bytes);        // "1.5 MiB"
std::string MillisecondsText(double value);  // "12.3 ms", "0.0012 ms"

// The candidate nearest to `name` by edit distance, or "" when none is near enough to be meant.
std::string NearestTo(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace epiphyte::cli
