#include "language/language.hpp"

#include <algorithm>
#include <cctype>

#include "config/text.hpp"
#include "language/language_class.hpp"

namespace cloche {

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::size_t longest_name = 255;   // that a file system takes
constexpr std::size_t longest_class = 200;  // some of it is for the extension

using Values = std::map<std::string, std::string, std::less<>>;

std::unexpected<Error> refused(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

constexpr std::string_view directory_in_front = "{dir}/";
constexpr std::string_view all_sources = "{sources}";

// One pass: inserted values are never expanded again.
Result<std::string> fill(std::string_view pattern, const Values& values) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '{' && c != '}') {
      text += c;
      continue;
    }
    if (i + 1 < pattern.size() && pattern[i + 1] == c) {
      text += c;
      ++i;
      continue;
    }
    const auto end = c == '{' ? pattern.find('}', i) : pattern.npos;
    if (end == pattern.npos)
      return refused("single brace in " + config::shown(pattern) + "; double it to write a literal brace");
    const std::string_view name = pattern.substr(i + 1, end - i - 1);
    const auto value = values.find(name);
    if (value == values.end()) {
      std::string known;
      for (const auto& [key, unused] : values) known += (known.empty() ? "{" : ", {") + key + "}";
      return refused("unknown placeholder {" + config::printable(name) + "} in " + config::shown(pattern) +
                     "; known placeholders: " + known + ", and {sources} as a separate argument");
    }
    text += value->second;
    i = end;
  }
  return text;
}

std::string in_directory(std::string_view directory, const std::string& file) {
  return directory == here ? file : std::string(directory) + "/" + file;
}

// The values to insert, and the directory of the source.
struct Filling {
  Values values;
  const SourceNames& names;
  std::string_view directory;

  Status add(std::vector<std::string>& argv, const std::vector<std::string>& patterns) const {
    for (std::string_view pattern : patterns) {
      if (pattern == all_sources) {
        argv.push_back(in_directory(directory, names.file));
        argv.insert(argv.end(), names.others.begin(), names.others.end());
        continue;
      }
      // A program is searched in PATH unless its name contains a directory.
      const bool is_program = argv.empty();
      if (!is_program && directory == here && pattern.starts_with(directory_in_front)) {
        pattern.remove_prefix(directory_in_front.size());
      }
      CLOCHE_TRY(std::string text, fill(pattern, values));
      argv.push_back(std::move(text));
    }
    return {};
  }
};

bool is_identifier(std::string_view text) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) || c == '_' || c == '$' || c >= 0x80; };
  return !text.empty() && is_letter(static_cast<unsigned char>(text.front())) && !config::first_bad_character(text) &&
         std::ranges::all_of(text, [&](unsigned char c) { return is_letter(c) || std::isdigit(c); });
}

Status validate_class(const SourceNames& names) {
  if (!is_identifier(names.class_name) || names.class_name.size() > longest_class) {
    return refused("invalid class name: " + config::shown(names.class_name));
  }
  for (std::string_view rest = names.package; !rest.empty();) {
    const auto dot = rest.find('.');
    if (!is_identifier(rest.substr(0, dot)) || rest.size() > longest_name || dot + 1 == rest.size()) {
      return refused("invalid package name: " + config::shown(names.package));
    }
    rest.remove_prefix(dot == rest.npos ? rest.size() : dot + 1);
  }
  return {};
}

}  // namespace

Status validate_file_name(std::string_view name) {
  const auto bad = [&](const std::string& why) {
    return refused("invalid source file name: " + config::shown(name) + ": " + why);
  };
  if (name.empty()) return refused("source file name is empty");
  if (name.size() > longest_name) return bad("it is too long");
  const auto first = static_cast<unsigned char>(name.front());
  // A dash, a plus or an @ in front would be an option to one program or another, and a dot names directories.
  if (!std::isalnum(first) && first != '_' && first < 0x80) return bad("it must start with a letter, a digit or '_'");
  if (name.find('/') != name.npos) return bad("it must not contain a slash");
  if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    return bad("it must not contain control characters");
  }
  return {};
}

Status validate_template(std::string_view pattern, TemplateOf use) {
  Values values{{"class", ""}};
  if (use == TemplateOf::command) {
    if (pattern == all_sources) return {};
    values.insert({{"filename", ""}, {"stem", ""}, {"dir", ""}});
  }
  CLOCHE_CHECK(fill(pattern, values));
  return {};
}

StepLimits over(const StepLimits& limits, StepLimits beneath) {
  if (limits.wall) beneath.wall = limits.wall;
  if (limits.cpu) beneath.cpu = limits.cpu;
  if (limits.memory) beneath.memory = limits.memory;
  if (limits.pids) beneath.pids = limits.pids;
  if (limits.file_size) beneath.file_size = limits.file_size;
  if (limits.output) beneath.output = limits.output;
  return beneath;
}

Result<SourceNames> names_of(const Language& language, std::string_view source) {
  SourceNames names;
  if (language.class_from == ClassFrom::java) {
    JavaClass found = find_java_class(source);
    SourceNames given{"", std::move(found.name), std::move(found.package)};
    // Names that cannot be are left to the compiler, whose errors are the author's to read.
    if (validate_class(given)) names = std::move(given);
  }
  CLOCHE_TRY(names.file, fill(language.file, {{"class", names.class_name}}));
  return names;
}

bool runs_what_it_compiled(const Language& language) {
  if (language.compile.empty() || language.run.empty()) return false;
  return language.run.front().starts_with("./") || language.run.front().starts_with(directory_in_front);
}

bool names_directory(const Language& language) {
  // Without a value for it, a pattern that contains it cannot be expanded.
  const Values others{{"filename", ""}, {"stem", ""}, {"class", ""}};
  const auto names_it = [&](const std::string& pattern) { return pattern == all_sources || !fill(pattern, others); };
  return std::ranges::any_of(language.compile, names_it) || std::ranges::any_of(language.run, names_it) ||
         std::ranges::any_of(language.arguments, names_it);
}

Result<Steps> expand(const Language& language, const SourceNames& names, std::string_view directory) {
  CLOCHE_CHECK(validate_file_name(names.file));
  CLOCHE_CHECK(validate_class(names));
  const auto dot = names.file.rfind('.');
  const std::string full_class = names.package.empty() ? names.class_name : names.package + "." + names.class_name;
  const Filling filling{{{"filename", names.file},
                         {"stem", names.file.substr(0, dot)},
                         {"class", full_class},
                         {"dir", std::string(directory)}},
                        names,
                        directory};

  Steps steps;
  steps.file = names.file;
  if (!language.compile.empty()) {
    steps.compile = Step{{}, language.env, language.compile_limits};
    CLOCHE_CHECK(filling.add(steps.compile->argv, language.compile));
  }
  CLOCHE_CHECK(filling.add(steps.run.argv, language.run));
  CLOCHE_CHECK(filling.add(steps.run.argv, language.arguments));
  steps.run.env = language.env;
  steps.run.limits = language.run_limits;
  if (language.zygote) {
    steps.zygote = language.zygote->name;
    steps.zygote_argv = {in_directory(directory, names.file)};
  }
  return steps;
}

std::string with_prefix(const Language& language, std::string_view source) {
  if (language.prefix.empty()) return std::string(source);
  const bool has_mark = source.starts_with(byte_order_mark);
  std::string text(has_mark ? byte_order_mark : "");
  text += language.prefix;
  text += source.substr(has_mark ? byte_order_mark.size() : 0);
  return text;
}

std::string missing_tool(const Language& language, const Tool& tool) {
  std::string text = language.title + " requires `" + tool.program + "`, which is not in this sandbox; ";
  if (!language.missing.empty()) return text + language.missing;
  if (!tool.package.empty()) return text + "install the Debian package " + tool.package;
  return text + "use an image or a root filesystem that contains it";
}

}  // namespace cloche
