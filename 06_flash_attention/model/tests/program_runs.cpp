// The part's program: what it writes, says and refuses.
#include <fstream>
#include <sstream>

#include "common/testing/folder.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/testing.hpp"
#include "model/asked.hpp"

namespace tutorial::flash_attention::model {
namespace {

/// A model's folder with these two files.
struct ModelFolder {
  Folder folder;
  ModelFolder(const std::string& text, const std::string& weights) {
    std::ofstream(folder / "weights.txt", std::ios::binary) << text;
    std::ofstream(folder / "weights.bin", std::ios::binary) << weights;
  }
  std::string name() const { return folder.path.string(); }
};
ProgramRun run_model(const Words& words) {
  return run_as_it_is(TUTORIAL_PROGRAM, words);
}

std::string text_of_model() {
  return contents(TUTORIAL_MODEL "/weights.txt");
}
std::string weights_of_model() {
  return contents(TUTORIAL_MODEL "/weights.bin");
}

TEST_CASE("model: the program writes, measures and judges", "[program]") {
  const ProgramRun run = run_model({"--prompt", "Each thread", "--tokens", "3", "--no-checks"});
  CHECK(run.status == 0);
  CHECK(run.err == "");
  const std::string written = contents(TUTORIAL_MODEL "/written.txt").substr(0, 14);
  CHECK_THAT(run.out, ContainsSubstring("\n" + written + "\n"));
  CHECK_THAT(run.out, ContainsSubstring("\n3 tokens, "));
  CHECK_THAT(run.out, ContainsSubstring("\nok: the farthest logit is "));
  // Layers have a layer norm each before attention and before the product up; one comes last.
  std::istringstream lines(run.out);
  bool saw_norm = false;
  double share = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("layer norm")) {
      saw_norm = true;
      CHECK_THAT(line, ContainsSubstring(" 9 ×"));
    }
    if (const size_t percent = line.find(" %"); percent != line.npos)
      share += std::stod(line.substr(line.rfind(' ', percent - 1)));
  }
  CHECK(saw_norm);
  CHECK(std::abs(share - 100) <= 6);  // twelve stages, each rounded to whole percents
}

TEST_CASE("model: without the cache, and with a launch a head, it writes the same", "[program]") {
  const Words words = {"--prompt", "The", "--tokens", "4", "--no-checks"};
  const auto line = [](const ProgramRun& run) {
    CHECK(run.status == 0);
    const size_t at = run.out.find("\nThe");
    return run.out.substr(at, run.out.find('\n', at + 1) - at);
  };
  const std::string written = line(run_model(words));
  CHECK(line(run_model(words + Words{"--no-cache"})) == written);
  CHECK(line(run_model(words + Words{"--launch-per-head"})) == written);
}

TEST_CASE("model: several texts at a time, drawn, differ, and are right", "[program]") {
  const Words words = {"--prompt", "The", "--tokens", "5", "--texts", "3", "--no-checks"};
  const ProgramRun same = run_model(words), drawn = run_model(words + Words{"--temperature", "2"});
  const auto texts = [](const ProgramRun& run) {
    std::vector<std::string> found;
    for (size_t at = 0; (at = run.out.find("\nThe", at)) != run.out.npos; ++at)
      found.push_back(run.out.substr(at + 1, run.out.find('\n', at + 1) - at - 1));
    return found;
  };
  CHECK(same.status == 0);
  CHECK(texts(same).size() == 1);
  CHECK(drawn.status == 0);
  const std::vector<std::string> three = texts(drawn);
  REQUIRE(three.size() == 3);
  CHECK((three[0] != three[1] && three[1] != three[2] && three[0] != three[2]));
  CHECK_THAT(drawn.out, ContainsSubstring("\n15 tokens, "));
}

TEST_CASE("model: --list names all kernels, and --help all options", "[program]") {
  const ProgramRun list = run_model({"--list"}), help = run_model({"--help"});
  CHECK(list.status == 0);
  for (const Product& product : products())
    CHECK_THAT(list.out, ContainsSubstring("\n  " + product.name + "  "));
  for (const CachedAttention& attention : cached_attentions(Gaps::copy))
    CHECK_THAT(list.out, ContainsSubstring("\n  " + attention.name + "  "));
  CHECK(help.status == 0);
  for (const std::string option :
       {"--prompt", "--texts", "--launch-per-head", "--no-cache", "--weights"})
    CHECK_THAT(help.out, ContainsSubstring(option));
}

TEST_CASE("model: another seed draws another text, the same one the same", "[program]") {
  const auto drawn = [](const std::string& seed) {
    const ProgramRun run = run_model(
        {"--prompt", "The", "--tokens", "6", "--temperature", "3", "--no-checks", "--seed", seed});
    CHECK(run.status == 0);
    const size_t at = run.out.find("\nThe");
    return run.out.substr(at, run.out.find(" tokens, ", at) - at);
  };
  CHECK(drawn("7") == drawn("7"));
  CHECK(drawn("7") != drawn("8"));
}

TEST_CASE("model: a near tie is said, and what a device cannot run", "[program]") {
  const Words words = {"--prompt",   "The", "--tokens", "3", "--product", "tensor_cores/by_shape",
                       "--no-checks"};
  const ProgramRun run = run_model(words);
  if (const std::string reason = why_not_here("sm_80"); !reason.empty()) {
    CHECK(run.status == 2);
    CHECK(run.err == "--product tensor_cores/by_shape " + reason + "\n");
    return;
  }
  CHECK(run.status == 0);
  CHECK_THAT(run.out, ContainsSubstring(" was nearly a tie: other kernels, whose sums round "));
}

TEST_CASE("model: logits farther off than allowed are an error", "[program]") {
  std::string text = text_of_model();
  text = text.substr(0, text.find("logit_error ")) + "logit_error 1e-12\nlogit_error_bf16 1e-11\n";
  const ModelFolder strict(text, weights_of_model());
  const Words words = {"--weights", strict.name(), "--tokens", "1", "--prompt", "a", "--no-checks"};
  const ProgramRun run = run_model(words);
  CHECK(run.status == 1);
  CHECK_THAT(run.out, ContainsSubstring("\nWRONG: the farthest logit is "));
  CHECK_THAT(run.out, ContainsSubstring(" (may be 4.0e-12: 4 times PyTorch's own error)\n"));
  if (!why_not_here("sm_80").empty()) return;
  const ProgramRun bf16 = run_model(words + Words{"--product", "tensor_cores/by_shape"});
  CHECK(bf16.status == 1);
  CHECK_THAT(bf16.out,
             ContainsSubstring(" (may be 2.0e-11: 2 times PyTorch's own error in bf16)\n"));
}

TEST_CASE("model: what the program refuses, in a sentence", "[program]") {
  const auto refused = [](const Words& words, const std::string& sentence) {
    const ProgramRun run = run_model(words);
    INFO(run.command);
    CHECK(run.status == 2);
    CHECK(run.out == "");
    CHECK_THAT(run.err, ContainsSubstring(sentence));
  };
  refused({"--prompt", ""}, "--prompt \"\" is empty");
  refused({"--prompt", std::string(100, 'x'), "--tokens", "158"},
          "a prompt of 100 bytes and 158 tokens are too many; this model reads at most 256");
  refused({"--attention", "q_outr"}, "did you mean \"q_outer\"? ");
  refused({"--product", "cublas"}, "--product \"cublas\" is not known");
  refused({"--temperature", "-1"}, "is less than 0");
  refused({"--temperature", "nan"}, "is not a number");
  refused({"--tokens", "0"}, "is too small; give 1 or more");
  refused({"--weights", "/nowhere"}, "/nowhere/weights.txt cannot be read");

  const std::string text = text_of_model(), weights = weights_of_model();
  refused({"--weights", ModelFolder(text, weights.substr(1)).name()}, "belong to the sizes");
  std::string other = weights;
  other[1000] ^= 1;
  refused({"--weights", ModelFolder(text, other).name()}, "has the checksum ");
  refused({"--weights", ModelFolder("layers 4\nwidth 191\nheads 6\ncontext 3\n", "").name()},
          "that its heads do not divide");
  for (const std::string width : {"-3", "wide", "1048577"})
    refused({"--weights", ModelFolder("layers 4\nalone\nwidth " + width + "\n", "").name()},
            "says \"width " + width + "\", which is no size");
  refused({"--weights", ModelFolder("layers 4\n", "").name()}, "no line that begins with");
  const std::string sizes = text.substr(0, text.find("logit_error "));
  for (const std::string error : {"much", "0", "-1", "nan"}) {
    const std::string first = "logit_error " + error + "\n";
    refused({"--weights", ModelFolder(sizes + first + "logit_error_bf16 1\n", weights).name()},
            "says \"logit_error " + error + "\", which is no error of logits");
    refused(
        {"--weights",
         ModelFolder(sizes + "logit_error 1\nlogit_error_bf16 " + error + "\n", weights).name()},
        "says \"logit_error_bf16 " + error + "\", which is no error of logits");
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::model
