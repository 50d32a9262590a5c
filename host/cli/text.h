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

// JSON with keys in the order in which they are set.
using Json = nlohmann::ordered_json;

// Prints with two spaces of indentation and a final line break. Control characters are escaped.
void PrintJson(const Json& json);
// Returns path and size of each file, for reports.
Json FilesJson(const std::vector<std::filesystem::path>& paths);

// Prints rows of cells in aligned columns, without trailing spaces.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void Print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Returns the columns of the terminal on standard output; 0: it is not a terminal, and lines have any length.
size_t TerminalWidth();
// Returns `text`, or its beginning and "..." if it has more than `width` characters. 0: no limit.
std::string CutTo(const std::string& text, size_t width);
// Splits `text` into lines of at most `width` characters, between words where possible. 0: one line.
std::vector<std::string> WrapText(const std::string& text, size_t width);
// Returns the number of characters, not bytes, of UTF-8 text.
size_t CharactersIn(std::string_view text);

// Names come from models and manifests. Characters that could steer a terminal are replaced, and long text is cut.
inline std::string Printable(std::string_view text) { return PrintableText(text); }
// Returns text for a table cell that is short unless there is a problem.
inline std::string PrintableCell(std::string_view text) { return PrintableText(text, 80); }
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string NumberText(double number);       // such as "0.126119"
std::string SizeText(uint64_t bytes);        // such as "1.5 MiB"
std::string MillisecondsText(double value);  // such as "12.3 ms" or "0.0012 ms"

// Returns the candidate nearest to `name` by edit distance, or "" when none is near enough.
std::string NearestTo(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace epiphyte::cli
