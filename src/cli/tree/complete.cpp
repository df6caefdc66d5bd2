#include "cli/tree/complete.hpp"

#include <algorithm>

#include "cli/tree/command_tree.hpp"

namespace cloche::cli {

namespace {

// Where a command line has got to.
struct Position {
  const CLI::App* command = nullptr;
  const CLI::Option* waiting = nullptr;  // an option whose value comes next
  std::size_t arguments = 0;             // positional ones that were given
  bool only_arguments = false;           // behind --
};

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : visible_options(*at)) {
      if (is_among(names_of(*option), name)) return option;
    }
  }
  return nullptr;
}

const CLI::App* find_command(const CLI::App& command, const std::string& name) {
  for (const CLI::App* each : visible_commands(command)) {
    if (each->get_name() == name) return each;
  }
  return nullptr;
}

void step(Position& position, const std::string& word) {
  if (position.waiting != nullptr) {
    position.waiting = nullptr;
    return;
  }
  if (!position.only_arguments) {
    if (word == "--") {
      position.only_arguments = true;
      return;
    }
    if (word.starts_with('-') && word.size() > 1) {
      const CLI::Option* option = find_option(*position.command, word);
      if (option != nullptr && takes_value(*option)) position.waiting = option;
      return;
    }
    if (const CLI::App* next = find_command(*position.command, word); next != nullptr && position.arguments == 0) {
      position.command = next;
      return;
    }
  }
  ++position.arguments;
}

class Collector {
 public:
  Collector(const std::vector<std::string>& words, const AskSessions& ask_sessions)
      : words_(words), ask_sessions_(ask_sessions) {}

  // Only candidates that continue what is typed.
  void offer(const std::string& typed, const std::string& text, const std::string& description) {
    if (text.starts_with(typed)) done_.candidates.push_back({text, description});
  }

  // `before` is put in front of each: the name of an option and its `=`.
  void offer_values(const CLI::Option& option, const std::string& typed, const std::string& before) {
    for (const std::string& value : values_of(option)) offer(before + typed, before + value, "");
    const std::string kind = kind_of(option);
    if (kind == "FILE" || kind == "PLACE") done_.files = Completion::Files::any;
    if (kind == "DIR") done_.files = Completion::Files::directories;
    if (kind != "SESSION" && kind != "PLACE") return;
    for (const std::string& session : ask_sessions_(words_)) {
      offer(before + typed, before + session + (kind == "PLACE" ? ":" : ""), "session");
    }
  }

  void offer_options(const CLI::App& command, const std::string& typed) {
    for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
      for (const CLI::Option* option : visible_options(*at)) {
        for (const std::string& name : names_of(*option)) {
          // A command's own option stands before one of the same name above it.
          const bool is_there = std::ranges::find(done_.candidates, name, &Candidate::text) != done_.candidates.end();
          if (name.starts_with("--") && !is_there) offer(typed, name, option->get_description());
        }
      }
    }
  }

  Completion take() { return std::move(done_); }

 private:
  const std::vector<std::string>& words_;
  const AskSessions& ask_sessions_;
  Completion done_;
};

}  // namespace

Completion complete(const CLI::App& app, const std::vector<std::string>& words, const AskSessions& ask_sessions) {
  Position position;
  position.command = &app;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) step(position, words[i]);
  const std::string typed = words.empty() ? std::string() : words.back();
  Collector collector(words, ask_sessions);
  const auto equals = typed.find('=');
  if (position.waiting != nullptr) {
    collector.offer_values(*position.waiting, typed, "");
  } else if (!position.only_arguments && typed.starts_with("--") && equals != typed.npos) {
    const CLI::Option* option = find_option(*position.command, typed.substr(0, equals));
    if (option != nullptr) collector.offer_values(*option, typed.substr(equals + 1), typed.substr(0, equals + 1));
  } else if (!position.only_arguments && typed.starts_with('-')) {
    collector.offer_options(*position.command, typed);
  } else {
    if (position.arguments == 0 && !position.only_arguments) {
      for (const CLI::App* each : visible_commands(*position.command)) {
        collector.offer(typed, each->get_name(), each->get_description());
      }
    }
    const auto arguments = positionals(*position.command);
    if (!arguments.empty()) {
      const CLI::Option* next = arguments[std::min(position.arguments, arguments.size() - 1)];
      if (position.arguments < arguments.size() || takes_many(*next)) collector.offer_values(*next, typed, "");
    }
  }
  return collector.take();
}

}  // namespace cloche::cli
