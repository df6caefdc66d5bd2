#include "bench/report/svg.hpp"

#include <cstdio>

namespace cloche::bench {

namespace {

// The colors of lines can be distinguished with red-green color blindness, on white and on near black.
constexpr std::string_view style_sheet = R"(<style>
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#24292f}
.title{font-size:15px;font-weight:600}
.small{font-size:12px;fill:#57606a}
.page{fill:#fff}
.grid{stroke:#d8dee4;stroke-width:1}
.axis{stroke:#57606a;stroke-width:1}
.whisker{stroke:#24292f;stroke-width:1.5}
.ours{fill:#0969da}
.other{fill:#8c959f}
.line{fill:none;stroke-width:2}
.l0{stroke:#0969da}.l1{stroke:#bc4c00}.l2{stroke:#1a7f37}.l3{stroke:#8250df}.l4{stroke:#57606a}
.d0{fill:#0969da}.d1{fill:#bc4c00}.d2{fill:#1a7f37}.d3{fill:#8250df}.d4{fill:#57606a}
@media(prefers-color-scheme:dark){
text{fill:#e6edf3}.small{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#30363d}.axis{stroke:#9198a1}.whisker{stroke:#e6edf3}
.ours{fill:#4493f8}.other{fill:#6e7681}
.l0{stroke:#4493f8}.l1{stroke:#f0883e}.l2{stroke:#3fb950}.l3{stroke:#ab7df8}.l4{stroke:#9198a1}
.d0{fill:#4493f8}.d1{fill:#f0883e}.d2{fill:#3fb950}.d3{fill:#ab7df8}.d4{fill:#9198a1}
}
</style>
)";

std::string_view name_of(Anchor anchor) {
  switch (anchor) {
    case Anchor::start: return "start";
    case Anchor::middle: return "middle";
    case Anchor::end: return "end";
  }
  return "start";
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + escape_xml(value) + "\"";
}

std::string attribute(std::string_view name, double value) { return attribute(name, coordinate(value)); }

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string coordinate(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f", value);
  std::string text = buffer;
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

Svg::Svg(double width, double height, std::string_view title) {
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) + attribute("height", height) +
         attribute("viewBox", "0 0 " + coordinate(width) + " " + coordinate(height)) + attribute("role", "img") +
         attribute("aria-label", title) + ">\n";
  out_ += "<title>" + escape_xml(title) + "</title>\n";
  out_ += style_sheet;
  box(0, 0, width, height, "page");
  text(16, 24, title, Anchor::start, "title");
}

void Svg::text(double x, double y, std::string_view words, Anchor anchor, std::string_view style) {
  out_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("text-anchor", name_of(anchor)) +
          attribute("class", style) + ">" + escape_xml(words) + "</text>\n";
}

void Svg::upright_text(double x, double y, std::string_view words) {
  out_ += "<text" + attribute("transform", "translate(" + coordinate(x) + " " + coordinate(y) + ") rotate(-90)") +
          attribute("text-anchor", "middle") + attribute("class", "small") + ">" + escape_xml(words) + "</text>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view style) {
  out_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) +
          attribute("class", style) + "/>\n";
}

void Svg::box(double x, double y, double width, double height, std::string_view style) {
  out_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) + attribute("height", height) +
          attribute("class", style) + "/>\n";
}

void Svg::dot(double x, double y, std::string_view style) {
  out_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", 3) + attribute("class", style) + "/>\n";
}

void Svg::path(std::string_view steps, std::string_view style) {
  out_ += "<path" + attribute("d", steps) + attribute("class", style) + "/>\n";
}

std::string Svg::finish() && { return std::move(out_) + "</svg>\n"; }

}  // namespace cloche::bench
