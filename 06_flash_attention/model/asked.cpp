#include "model/asked.hpp"

#include <algorithm>
#include <iostream>

#include "common/backend/backend.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"
#include "common/program/command_line.hpp"
#include "common/program/options.hpp"

namespace tutorial::flash_attention::model {
namespace {

template <class Kernel>
Kernel found(const std::string& option, const std::string& name, const std::vector<Kernel>& all) {
  const auto at = std::ranges::find(all, name, &Kernel::name);
  if (at != all.end()) return *at;
  std::vector<std::string> names;
  for (const Kernel& kernel : all) names.push_back(kernel.name);
  throw Error(option + " \"" + name + "\" is not known; " + did_you_mean(name, names) + option +
              " takes " + join(names));
}

template <class Kernel>
void print_names(const std::string& option, const std::vector<Kernel>& all) {
  std::vector<ListedStep> steps;
  for (const Kernel& kernel : all) steps.push_back({"  " + kernel.name, kernel.idea, kernel.needs});
  std::cout << option << '\n';
  print_list(steps);
}

}  // namespace

AskedText read_asked(int argc, char** argv) {
  // As many tokens in the simulator as come in some seconds.
  AskedText asked = {
      .prompt = "Each thread", .folder = TUTORIAL_MODEL, .tokens = device_has_clock() ? 200 : 40};
  std::string product = device_has_clock() ? "any_shape/short_k" : "coalesced";
  std::string attention = device_has_clock() ? "any_shape/by_shape" : "q_outer";
  bool help = false, list = false, per_head = false, checks = true;
  CommandLine line("a small language model that writes, on the kernels of this tutorial",
                   "06_flash_attention/model");
  line.group("Text");
  line.one("--prompt", "TEXT", "how the text begins (default: \"" + asked.prompt + "\")",
           [&](const std::string& text) { asked.prompt = text; });
  line.one(
      "--tokens", "N", "bytes to write (default: 200 on a GPU, 40 on the CPU)",
      [&](const std::string& text) { asked.tokens = parse_whole("--tokens", text, 1, 1 << 20); });
  line.one(
      "--texts", "N", "texts to write at a time (default: 1); with a temperature all differ",
      [&](const std::string& text) { asked.texts = parse_whole("--texts", text, 1, 1 << 16); });
  line.one("--temperature", "NUMBER",
           "draw each byte by softmax(logits / NUMBER); 0: take the best "
           "(default: 0)",
           [&](const std::string& text) {
             asked.temperature = parse_number("--temperature", text);
             if (asked.temperature < 0)
               throw Error("--temperature \"" + text + "\" is less than 0; give 0 or more");
           });
  line.one("--seed", "N", "seed of what is drawn (default: 1)", [&](const std::string& text) {
    asked.seed = static_cast<uint64_t>(parse_whole("--seed", text, 0, INT64_MAX));
  });
  line.group("Kernels");
  line.one("--attention", "NAME",
           "a step of chapter 06, or of its parts: any_shape/…, and in bf16 tensor_cores/… and "
           "few_queries/… (default: " +
               attention + ")",
           [&](const std::string& text) { attention = text; });
  line.one(
      "--product", "NAME",
      "a step of chapter 01 or 02, or of its parts: any_shape/…, and in bf16 tensor_cores/… and "
      "few_rows/… (default: " +
          product + ")",
      [&](const std::string& text) { product = text; });
  line.flag("--launch-per-head",
            "launch attention for each head, in place of once on copies of the keys", per_head);
  line.flag("--no-cache", "keep no keys and values: read all bytes again for each token",
            asked.cached, false);
  line.group("Run");
  line.file("--weights", "FOLDER", "another model, as train.py writes it", asked.folder);
  line.flag("--no-checks",
            "do not look for races, bounds and unwritten memory (on the CPU; a GPU never does)",
            checks, false);
  line.flag("--list", "list the kernels and stop", list);
  line.flag("-h,--help", "show this and stop", help);
  line.parse({argv, argv + argc});
  const auto all = cached_attentions(per_head ? Gaps::launch_per_head : Gaps::copy);
  if (help) std::cout << line.help();
  if (list) print_names("--product", products()), print_names("--attention", all);
  if (help || list) throw Finished();

  if (asked.prompt.empty())
    throw Error("--prompt \"\" is empty; the model needs a byte to go on from: give a word");
  asked.choice = {.product = found("--product", product, products()),
                  .attention = found("--attention", attention, all)};
  if (!checks) switch_checks(false);
  require_device();
  for (const auto& [option, name, needs] :
       {std::tuple("--product", product, asked.choice.product.needs),
        std::tuple("--attention", attention, asked.choice.attention.needs)})
    if (const std::string reason = why_not_here(needs); !reason.empty())
      throw Error(std::string(option) + " " + name + " " + reason);
  return asked;
}

void require_room(const AskedText& asked, const Sizes& sizes) {
  const auto prompt = static_cast<int64_t>(asked.prompt.size());
  if (prompt + asked.tokens - 1 > sizes.context)  // nothing reads the last one
    throw Error("a prompt of " + std::to_string(prompt) + " bytes and " +
                std::to_string(asked.tokens) + " tokens are too many; this model reads at most " +
                std::to_string(sizes.context) + ": give a shorter --prompt or fewer --tokens");
}

std::string described(const AskedText& asked, const Stored& stored) {
  const Sizes& sizes = stored.sizes;
  return count_text(weight_count(sizes)) + " weights: " + std::to_string(sizes.layers) +
         " layers, width " + std::to_string(sizes.width) + ", " + std::to_string(sizes.heads) +
         " heads. Products by " + asked.choice.product.name + ", attention by " +
         asked.choice.attention.name + ".";
}

}  // namespace tutorial::flash_attention::model
