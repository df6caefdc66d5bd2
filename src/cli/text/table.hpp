// Table: rows of text under titles, for people.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "cli/text/colour.hpp"

namespace cloche::cli {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  // Whatever is in the text, it takes one line and does nothing to a terminal.
  struct Cell {
    Cell(std::string t, Colour c = Colour::plain) : text(std::move(t)), colour(c) {}
    std::string text;
    Colour colour;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column.
  void add(std::vector<Cell> row);

  // One line each, the titles first; lines are cut at so many columns of a terminal.
  std::vector<std::string> lines(const Paint& paint, std::size_t width = no_limit) const;
  // The same with line feeds.
  std::string text(const Paint& paint, std::size_t width = no_limit) const;

  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

 private:
  std::string line_of(const std::vector<Cell>& row, const std::vector<std::size_t>& widths, const Paint& paint,
                      std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace cloche::cli
