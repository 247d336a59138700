// The words of a command line. CLI11 writes --help; the words are read here, so that every
// complaint says what is wrong with which of them, and nothing is taken that nobody means
// ("--list=3").
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tutorial {

class CommandLine {
 public:
  CommandLine(const std::string& summary, const std::string& program);
  ~CommandLine();

  // ---- what it may hold

  /// The heading of the options that follow, in --help.
  void group(const std::string& name);
  /// An option with a value; `type` stands for it in --help. parse() calls `set`, which may throw.
  void one(const std::string& name, const char* type, const std::string& help,
           const std::function<void(const std::string&)>& set);
  /// The same for a file's name, which must not be empty.
  void file(const std::string& name, const char* type, const std::string& help, std::string& path);
  /// An option that may come more than once, and with more than one value; with a comma as
  /// `delimiter` they may stand in one word.
  void many(const std::string& name, const char* type, const std::string& help,
            std::vector<std::string>& values, char delimiter = '\0');
  /// "--list"; "-h,--help"; or "--full,!--causal": two options that set one variable, true and
  /// false.
  void flag(const std::string& names, const std::string& help,
            const std::function<void(bool)>& set);
  /// The same where it sets `variable` to `value`.
  void flag(const std::string& names, const std::string& help, bool& variable, bool value = true);

  // ---- what it holds

  /// Reads the words, the first of which is the program. Throws Error.
  void parse(const std::vector<std::string>& words) const;
  std::string help() const;

 private:
  struct Option {
    std::vector<std::string> names;  // "-h", "--help"
    std::string type;                // what stands for its value; "": it takes none
    std::function<void(const std::string&)> set;
    bool repeats = false;
    std::string opposite = "";  // the option that cannot stand beside it
  };
  void add(const std::string& help, const Option& option);
  void add_flag(const std::vector<std::string>& names, const std::string& opposite,
                const std::string& help, const std::function<void(bool)>& set, bool value);
  const Option& find(const std::string& name) const;

  std::unique_ptr<CLI::App> app_;
  std::string group_;
  std::vector<Option> options_;
};

}  // namespace tutorial
