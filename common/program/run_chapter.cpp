// A program from its command line to its exit status: which part it runs, and what becomes of an
// error.
#include <algorithm>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>

#include "common/data/text.hpp"
#include "common/kernel/error.hpp"
#include "common/program/chapter.hpp"

namespace tutorial {
namespace {

std::string names_of(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (const Part& part : parts)
    if (*part.name != '\0') names.push_back(part.name);
  return names.empty() ? "this chapter has no parts: leave --part out"
                       : "--part takes " + join(names);
}

/// Takes `--part NAME` out of the command line. Throws Error when there is no such part.
const Part& choose_part(std::vector<char*>& words, const std::vector<Part>& parts) {
  std::string wanted;
  for (size_t i = 1; i < words.size();) {
    const std::string word = words[i];
    const bool is_apart = word == "--part";  // its value is the next word
    if (!is_apart && !word.starts_with("--part=")) {
      ++i;
      continue;
    }
    if (!wanted.empty()) throw Error("--part is given more than once; give it once");
    if (is_apart && i + 1 == words.size()) throw Error("--part needs a name; " + names_of(parts));
    wanted = is_apart ? words[i + 1] : word.substr(7);
    if (wanted.empty()) throw Error("--part needs a name; " + names_of(parts));
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
    words.erase(first, first + (is_apart ? 2 : 1));
  }
  for (const Part& part : parts)
    if (part.name == wanted) return part;
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.name);
  throw Error("there is no part \"" + wanted + "\" here; " + did_you_mean(wanted, names) +
              names_of(parts));
}

/// What to do about a --kernel that is a step of other parts than the one that ran; "" if it is
/// not.
std::string say_which_part(const std::string& kernel, const std::vector<std::string>& having) {
  if (having.empty()) return "";
  if (std::ranges::count(having, "") > 0)
    return kernel + " is a step of the chapter itself; leave --part out";
  if (having.size() > 1)
    return kernel + " is a step of parts " + join(having) + "; choose one of them with --part";
  return kernel + " is a step of part " + having[0] + "; add --part " + having[0];
}

int stop(const std::string& sentence, int status) {
  std::cout << std::flush;
  std::cerr << printable(sentence) << std::endl;  // it may hold words of the user, or of a file
  return status;
}

/// The exit status, unless what was printed did not get through.
int end(int status) {
  if (std::cout.flush()) return status;
  return stop("not all of the output could be written; is the disk full?", 2);
}

}  // namespace

int run_chapter(int argc, char** argv, const char* name, const std::vector<Part>& parts) {
  const char* too_large = "the host has too little memory for these sizes; choose smaller ones";
  std::unique_ptr<Chapter> chapter;
  try {
    std::vector<char*> words(argv, argv + argc);
    const Part& part = choose_part(words, parts);
    chapter.reset(new Chapter(words, name, part, parts));
    part.body(*chapter);
    return end(chapter->finish());
  } catch (const Finished&) {
    return end(0);
  } catch (const UnknownKernel& error) {
    std::vector<std::string> having;
    for (const Part& part : parts)
      if (std::ranges::count(Chapter::steps_of(part), error.kernel) > 0)
        having.push_back(part.name);
    const std::string part = say_which_part(error.kernel, having);
    return stop(part.empty() ? error.what() : part, 2);
  } catch (const Error& error) {
    return stop(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return stop(too_large, 2);
  } catch (const std::length_error&) {  // what std::vector throws for more than it could ever hold
    return stop(too_large, 2);
  } catch (const std::exception& error) {  // a CudaError outside of a row, say: show what there is
    if (chapter) chapter->print_table();
    return stop(error.what(), 1);
  }
}

}  // namespace tutorial
