#include "cli/text/table.hpp"

#include <algorithm>

#include "cli/text/clean.hpp"

namespace cloche::cli {

namespace {

constexpr std::size_t gap = 2;

}  // namespace

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size(), Cell(""));
  for (Cell& cell : row) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<std::string> Table::lines(const Paint& paint, std::size_t width) const {
  std::vector<Cell> titles;
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    titles.emplace_back(column.title, Colour::bold);
    widths.push_back(display_width(column.title));
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i].text));
  }
  std::vector<std::string> all{line_of(titles, widths, paint, width)};
  for (const auto& row : rows_) all.push_back(line_of(row, widths, paint, width));
  return all;
}

std::string Table::line_of(const std::vector<Cell>& row, const std::vector<std::size_t>& widths, const Paint& paint,
                           std::size_t width) const {
  std::string line;
  std::size_t used = 0;
  for (std::size_t i = 0; i < row.size() && used < width; ++i) {
    const std::string text = cut_to_width(row[i].text, width - used);
    const std::size_t own = display_width(text);
    const std::size_t padding = std::min(widths[i] - std::min(widths[i], own), width - used - own);
    const bool is_last = i + 1 == row.size();
    if (columns_[i].align == Align::right) line.append(padding, ' ');
    line += paint(row[i].colour, text);
    // Nothing trails behind the last.
    if (columns_[i].align == Align::left && !is_last) line.append(padding, ' ');
    used += own + padding;
    if (is_last) break;
    const std::size_t between = std::min(gap, width - used);
    line.append(between, ' ');
    used += between;
  }
  return line;
}

std::string Table::text(const Paint& paint, std::size_t width) const {
  std::string all;
  for (const std::string& line : lines(paint, width)) all.append(line).append("\n");
  return all;
}

}  // namespace cloche::cli
