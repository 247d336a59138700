#include "common/program/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "common/data/text.hpp"
#include "common/kernel/error.hpp"

namespace tutorial {
namespace {

/// "a,b" -> "a", "b"; "" -> "".
std::vector<std::string> split(const std::string& text, char delimiter) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(delimiter, begin)) != text.npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace

CommandLine::CommandLine(const std::string& summary, const std::string& program)
    : app_(std::make_unique<CLI::App>(summary, program)) {
  app_->set_help_flag();  // --help is an option like the others, to stand among them
}
CommandLine::~CommandLine() = default;

void CommandLine::group(const std::string& name) {
  group_ = name;
}

void CommandLine::add(const std::string& help, const Option& option) {
  const std::string names = CLI::detail::join(option.names);
  CLI::Option* const shown =
      option.type.empty() ? app_->add_flag(names, help) : app_->add_option(names, help);
  shown->group(group_)->type_name(option.type);
  options_.push_back(option);
}

void CommandLine::one(const std::string& name, const char* type, const std::string& help,
                      const std::function<void(const std::string&)>& set) {
  add(help, {.names = {name}, .type = type, .set = set});
}

void CommandLine::file(const std::string& name, const char* type, const std::string& help,
                       std::string& path) {
  one(name, type, help, [&path, name](const std::string& value) {
    if (value.empty()) throw Error(name + " \"\" names no file; give a path, or leave it out");
    path = value;
  });
}

void CommandLine::many(const std::string& name, const char* type, const std::string& help,
                       std::vector<std::string>& values, char delimiter) {
  const auto set = [&values, delimiter](const std::string& word) {
    if (delimiter == '\0')
      values.push_back(word);
    else
      for (const std::string& value : split(word, delimiter)) values.push_back(value);
  };
  add(help, {.names = {name}, .type = type, .set = set, .repeats = true});
}

void CommandLine::add_flag(const std::vector<std::string>& names, const std::string& opposite,
                           const std::string& help, const std::function<void(bool)>& set,
                           bool value) {
  const auto set_value = [set, value](const std::string&) { set(value); };
  add(help, {.names = names, .type = "", .set = set_value, .opposite = opposite});
}

void CommandLine::flag(const std::string& names, const std::string& help,
                       const std::function<void(bool)>& set) {
  const size_t comma = names.find(",!");
  const std::string name = names.substr(0, comma);
  const std::string opposite = comma == names.npos ? "" : names.substr(comma + 2);
  add_flag(split(name, ','), opposite, help, set, true);
  if (!opposite.empty()) add_flag({opposite}, name, "the opposite of " + name, set, false);
}

void CommandLine::flag(const std::string& names, const std::string& help, bool& variable,
                       bool value) {
  flag(names, help, [&variable, value](bool given) { variable = given == value; });
}

std::string CommandLine::help() const {
  return app_->help();
}

const CommandLine::Option& CommandLine::find(const std::string& name) const {
  std::vector<std::string> names;
  for (const Option& option : options_)
    for (const std::string& other : option.names) {
      if (name == other) return option;
      names.push_back(other);
    }
  throw Error("there is no option \"" + name + "\" here; " + did_you_mean(name, names) +
              "--help lists the options");
}

void CommandLine::parse(const std::vector<std::string>& words) const {
  std::set<const Option*> given;
  const Option* before = nullptr;  // whose values these words may be
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-') && before != nullptr && before->repeats) {
      before->set(word);
      continue;
    }
    if (!word.starts_with('-'))
      throw Error("\"" + word + "\" belongs to no option here; --help lists the options");

    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const Option& option = find(name);
    before = &option;
    if (!given.insert(&option).second && !option.repeats && !option.type.empty())
      throw Error(name + " is given more than once; give it once");
    if (!option.opposite.empty() && given.contains(&find(option.opposite)))
      throw Error(name + " and " + option.opposite + " are opposites; give one of them");

    if (option.type.empty()) {
      if (equals < word.size())
        throw Error(name + " takes no value; write " + name + " without \"" + word.substr(equals) +
                    "\"");
      option.set("");
      continue;
    }
    const std::string form = "; write " + name + " " + option.type;
    const bool is_apart = equals == word.size();  // its value is the next word
    if (is_apart ? i + 1 == words.size() : equals + 1 == word.size())
      throw Error(name + " needs a value" + form);
    // A value that starts with "--" is an option whose neighbour's value was forgotten.
    if (is_apart && words[i + 1].starts_with("--"))
      throw Error(name + ": its value is missing before " + words[i + 1] + form);
    option.set(is_apart ? words[++i] : word.substr(equals + 1));
  }
}

}  // namespace tutorial
