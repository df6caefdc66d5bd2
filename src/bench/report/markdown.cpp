#include "bench/report/markdown.hpp"

#include <algorithm>
#include <cmath>

namespace cloche::bench {

namespace {

// A cell cannot hold a line end or a bar.
std::string cell(std::string text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c == '\n' || c == '\r' ? ' ' : c;
  }
  return safe;
}

std::string row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& text : cells) line += " " + cell(text) + " |";
  return line + "\n";
}

std::string head(const std::vector<std::string>& names) {
  std::string line = row(names) + "|";
  for (std::size_t i = 0; i < names.size(); ++i) line += i == 0 ? "---|" : "---:|";
  return line + "\n";
}

std::string machine_lines(const Report& report) {
  const Machine& machine = report.machine;
  std::string text = "Measured " + machine.date + " in " + number_text(report.seconds) + " s" +
                     (report.length == Length::quick ? ", quick: few measurements, rough figures" : "") + ".\n\n";
  std::vector<std::pair<std::string, std::string>> facts{
      {"cpu", machine.cpu + ", " + std::to_string(machine.cores) + " cores"},
      {"memory", number_text(machine.memory_gib) + " GiB"},
      {"kernel", machine.kernel},
      {"load before (1, 5, 15 min)", machine.load},
      {"build", machine.build}};
  if (!machine.label.empty()) facts.emplace_back("commit", machine.label);
  facts.insert(facts.end(), machine.versions.begin(), machine.versions.end());
  text += "| machine | |\n|---|---|\n";
  for (const auto& [name, value] : facts) text += row({name, value});
  return text + "\n";
}

std::string goal_lines(const Report& report) {
  std::string text;
  for (const Section& section : report.sections) {
    for (const Goal& goal : section.goals) {
      text += row({goal.what, goal.against.empty() ? "–" : goal.against, goal.wanted, goal.measured,
                   goal.met ? "met" : "**missed**"});
    }
  }
  if (text.empty()) return {};
  return "### Goals\n\n| what | against | goal | measured | |\n|---|---|---|---|---|\n" + text + "\n";
}

std::string ratio_text(double ratio) {
  return ratio >= 10 ? number_text(std::round(ratio)) + " x" : number_text(ratio) + " x";
}

std::string figure_table(const Section& section) {
  if (section.figures.empty()) return {};
  const Figure* reference = find_figure(section, section.reference);
  const bool has_samples = std::ranges::any_of(section.figures, [](const Figure& f) { return f.value.count > 1; });
  std::vector<std::string> names{"what", has_samples ? "p50" : "value"};
  if (has_samples) names.insert(names.end(), {"p99", "middle half", "samples"});
  if (reference != nullptr) names.emplace_back("to " + section.reference);
  std::string text = head(names);
  for (const Figure& figure : section.figures) {
    const Summary& value = figure.value;
    std::vector<std::string> cells{figure.how, number_text(value.p50) + " " + figure.unit};
    if (has_samples && value.count > 1) {
      cells.push_back(number_text(value.p99));
      cells.push_back(number_text(value.lower_quartile) + " – " + number_text(value.upper_quartile));
      cells.push_back(number_text(static_cast<double>(value.count)));
    } else if (has_samples) {
      cells.insert(cells.end(), 3, "");
    }
    if (reference != nullptr) {
      const bool comparable = figure.unit == reference->unit && reference->value.p50 > 0;
      cells.push_back(comparable ? ratio_text(value.p50 / reference->value.p50) : "");
    }
    text += row(cells);
  }
  return text + "\n";
}

std::string lack_lines(const std::vector<Lack>& lacks) {
  std::string text;
  for (const Lack& lack : lacks) text += "- Not measured: " + lack.thing + ": " + cell(lack.why) + "\n";
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string to_markdown(const Report& report, Plots plots) {
  std::string text = machine_lines(report) + lack_lines(report.lacks) + goal_lines(report);
  for (const Section& section : report.sections) {
    text +=
        "### " + section.title + "\n\n" + section.method + "\n\n" + figure_table(section) + lack_lines(section.lacks);
    if (plots == Plots::left_out) continue;
    for (const Plot& plot : section.plots) {
      const std::string title = std::visit([](const auto& content) { return content.title; }, plot.content);
      text += "![" + title + "](" + plot.name + ".svg)\n\n";
    }
  }
  return text;
}

}  // namespace cloche::bench
