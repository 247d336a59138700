// The frame's command line and input files: what is taken, and how the rest is refused.
#include <catch2/generators/catch_generators.hpp>

#include "common/tests/program/copies.hpp"

using namespace tutorial;
using namespace tutorial::copies;

TEST_CASE("The options --list and --help", "[chapter]") {
  const Ended list = run_copies({"--list"}, {kRight, kElsewhere});
  CHECK(list.status == 0);
  CHECK(list.out ==
        "right      copies the right values\n"
        "elsewhere  for other GPUs  [needs sm_10a]\n");

  const Ended help = run_copies({"--help"});
  CHECK(help.status == 0);
  for (const char* part :
       {"Sizes:", "rows of C (default: 3)", "(default: 40 on a GPU, 4 on the CPU)",
        "that of --heads", "--mask", "the opposite of --full", "Tensors:", "--input", "--output",
        "--init", "uniform|normal|", "Run:", "--kernel", "--csv", "--list",
        "qkv (m, 3·heads): three in one"})
    CHECK_THAT(help.out, ContainsSubstring(part));
}

TEST_CASE("What a problem needs of the memory is the inputs, the output and scratch", "[chapter]") {
  // C and a have 5·10¹⁰ floats, qkv three times as many, b one.
  check_refused(run_copies({"--m", "50000000000", "--n", "1", "--k", "1", "--heads", "1"}),
                {"this problem needs 1.00 TB of global memory, and ", " are free; choose smaller"});
  const std::vector<ListedStep> none = {};
  check_refused(run_program({}, none,
                            [](const Options&, Table& table) {
                              table.problem("C", {.flop = 1, .bytes = 8}, {1000}, 3e15);
                            }),
                {"this problem needs 3.00 PB of global memory, and "});
}

TEST_CASE("The option --kernel chooses", "[chapter]") {
  const std::vector<Step<Launcher>> steps = {kRight, kOffByOne, kAlsoRight};
  for (const Words& arguments :
       {Words{"--kernel", "right,also_right"}, Words{"--kernel=right", "--kernel=also_right"}}) {
    const Ended ended = run_copies(arguments, steps);
    CHECK(ended.status == 0);
    CHECK_THAT(ended.out, ContainsSubstring("1 right") && ContainsSubstring("3 also_right") &&
                              !ContainsSubstring("off_by_one"));
    // Where no times are compared, who chose a kernel has chosen all rows.
    CHECK((ended.out.find("cuCopy") != std::string::npos) == device_has_clock());
  }
  CHECK_THAT(run_copies({}, {kRight}).out, ContainsSubstring("cuCopy"));
  check_refused(run_copies({"--kernel", "right,left"}, steps),
                {"there is no kernel \"left\" here; --kernel takes right, off_by_one, also_right"});
  check_refused(run_copies({"--kernel", "rihgt"}, steps),
                {"here; did you mean \"right\"? --kernel"});
  for (const Words& empty : {Words{"--kernel", ""}, Words{"--kernel", "right,"}})
    check_refused(run_copies(empty, steps), {"there is no kernel \"\" here; --kernel takes"});
  // A list is written with commas only.
  check_refused(run_copies({"--kernel", "[]"}, steps), {"there is no kernel \"[]\" here"});
  check_refused(run_copies({"--kernel", "[right]"}, steps),
                {"there is no kernel \"[right]\" here"});
}

TEST_CASE("Options set what they say", "[chapter]") {
  Seen seen;
  SECTION("defaults") {
    CHECK(run_copies({}, {kRight}, &seen).status == 0);
    CHECK(seen.N == (device_has_clock() ? 40 : 4));
    CHECK((seen.heads == 2 && seen.kv_heads == 2 && !seen.full));
    CHECK((seen.mask == "none" && seen.beta == 0.5 && seen.seed == 1 && seen.repeats == 20));
    CHECK(seen.a.size() == 15);
    CHECK(seen.a[0] != seen.b[0]);  // another seed for each input
  }
  SECTION("all given") {
    const Words arguments = {"--m=7",  "--n",    "8",      "--heads", "6", "--full",    "--mask",
                             "causal", "--beta", "-1.5e1", "--seed",  "9", "--repeats", "3"};
    CHECK(run_copies(arguments, {kRight}, &seen).status == 0);
    CHECK((seen.M == 7 && seen.N == 8 && seen.K == 5 && seen.heads == 6 && seen.kv_heads == 6));
    CHECK((seen.full && seen.mask == "causal" && seen.beta == -15));
    CHECK((seen.seed == 9 && seen.repeats == 3));
  }
  SECTION("opposites, and a size that need not be like another") {
    seen.full = true;
    CHECK(run_copies({"--causal", "--kv-heads", "1"}, {kRight}, &seen).status == 0);
    CHECK((!seen.full && seen.heads == 2 && seen.kv_heads == 1));
  }
  SECTION("a flag twice says the same") {
    CHECK(run_copies({"--full", "--full"}, {kRight}, &seen).status == 0);
    CHECK(seen.full);
  }
  SECTION("the seed and the kind of values") {
    Seen other;
    CHECK(run_copies({"--seed", "2"}, {kRight}, &seen).status == 0);
    CHECK(run_copies({"--seed", "3"}, {kRight}, &other).status == 0);
    CHECK(seen.a != other.a);
    CHECK(run_copies({"--init", "identity"}, {kRight}, &seen).status == 0);
    CHECK((seen.a[0] == 1 && seen.a[1] == 0 && seen.a[6] == 1));
  }
}

TEST_CASE("Bad options are refused with one sentence", "[chapter]") {
  struct Bad {
    Words arguments, parts;
  };
  const Bad bad = GENERATE(
      Bad{{"--quux", "4"}, {"there is no option \"--quux\" here; --help"}},
      Bad{{"--mm", "4"}, {"there is no option \"--mm\" here; did you mean \"--m\"? --help"}},
      Bad{{"--m", "4", "--ouptut=4"}, {"no option \"--ouptut\"", "did you mean \"--output\"?"}},
      Bad{{"-m", "4"}, {"no option \"-m\"", "did you mean \"--m\"?"}},
      Bad{{"--"}, {"no option \"--\""}}, Bad{{"stray"}, {"\"stray\" belongs to no option here"}},
      Bad{{"--m", "4", "5"}, {"\"5\" belongs to no option here"}},
      Bad{{"--m", "4", "--m", "5"}, {"--m is given more than once; give it once"}},
      Bad{{"--csv=a.csv", "--csv=b.csv"}, {"--csv is given more than once"}},
      Bad{{"--full", "--causal"}, {"--causal and --full are opposites; give one of them"}},
      Bad{{"--m"}, {"--m needs a value; write --m N"}},
      Bad{{"--output="}, {"--output needs a value; write --output FILE.npy"}},
      Bad{{"--m", "--n", "4"}, {"--m: its value is missing before --n; write --m N"}},
      Bad{{"--m", "many"}, {"--m \"many\" is not a whole number"}},
      Bad{{"--m", "12x"}, {"--m \"12x\" is not a whole number"}},
      Bad{{"--m", "1.5"}, {"--m \"1.5\" is not a whole number"}},
      Bad{{"--m", "1e3"}, {"--m \"1e3\" is not a whole number"}},
      Bad{{"--m", " 4"}, {"is not a whole number"}},
      Bad{{"--m", ""}, {"--m \"\" is not a whole number"}},
      Bad{{"--m", "-5"}, {"--m \"-5\" is too small; give 0 or more"}},
      Bad{{"--m", "-99999999999999999999"}, {"is too small"}},
      Bad{{"--m", "99999999999999999999"}, {"--m \"99999999999999999999\" is too large"}},
      Bad{{"--m", "9223372036854775807"}, {"is too large"}},
      Bad{{"--m", "1099511627776", "--k", "1099511627776"}, {"1099511627776"}},  // M·K overflows
      Bad{{"--m", "1099511627776"}, {"memory"}},
      Bad{{"--beta", "half"}, {"--beta \"half\" is not a number"}},
      Bad{{"--beta", "nan"}, {"--beta \"nan\" is not a number"}},
      Bad{{"--beta", "0.5x"}, {"--beta \"0.5x\" is not a number"}},
      Bad{{"--seed", "x"}, {"--seed \"x\""}}, Bad{{"--repeats", "-1"}, {"--repeats \"-1\"", "0"}},
      Bad{{"--init", "zeros"}, {"zeros", "identity"}},
      Bad{{"--init", "unifrom"}, {"did you mean \"uniform\"? choose one of uniform|normal"}},
      Bad{{"--input", "a"}, {"\"a\"", "name=file.npy", "a, b, qkv"}},
      Bad{{"--input", "w=w.npy"}, {"there is no input \"w\" here; --input takes a, b, qkv"}},
      Bad{{"--input", "qvk=w.npy"}, {"did you mean \"qkv\"?"}},
      Bad{{"--input", "a="}, {"--input \"a=\" names no file; write a=file.npy"}},
      Bad{{"--input"}, {"--input needs a value; write --input NAME=FILE.npy"}},
      Bad{{"--output", ""}, {"--output \"\" names no file"}},
      Bad{{"--csv", ""}, {"--csv \"\" names no file"}},
      Bad{{"--profile-csv", ""}, {"--profile-csv \"\" names no file"}},
      Bad{{"--sample-csv", ""}, {"--sample-csv \"\" names no file"}},
      Bad{{"--input", "a=/no/such/file.npy"}, {"/no/such/file.npy"}},
      Bad{{"--output", "/no/such/folder/c.npy"}, {"/no/such/folder"}},
      Bad{{"--csv", "/no/such/folder/c.csv"}, {"/no/such/folder"}},
      Bad{{"--list=3"}, {"--list takes no value; write --list without \"=3\""}},
      Bad{{"--help=1"}, {"--help takes no value"}},
      Bad{{"--full=false"}, {"--full takes no value"}},
      Bad{{"--m", "\x1b[31m4"}, {"--m \"\\x1b[31m4\" is not a whole number"}});
  bool ran = false;
  const auto main = [&](int argc, char** argv) {
    Usage usage = {
        .program = "99_copies",
        .sizes = {{"--m", {3, 3}, "rows"}, {"--n", {3, 3}, "not used"}, {"--k", {3, 3}, "columns"}},
        .flags = {{"--full,!--causal", false, "no mask, or the causal one"}},
        .numbers = {{"--beta", 0, "a factor"}},
        .steps = listed(std::vector{kRight})};
    for (const char* name : {"a", "b", "qkv"})
      usage.inputs.push_back({name, {"--m", "--k"}, "a matrix"});
    const Options options = read_options(argc, argv, usage);
    Table table(options);
    table.problem("C", {.flop = 1, .bytes = 1}, {options.size("--m"), options.size("--k")});
    ran = true;
    return table.finish();
  };
  check_refused(run_program(bad.arguments, main), bad.parts);
  CHECK(!ran);
}

TEST_CASE("Sizes come from the files", "[chapter]") {
  const Folder folder;
  const std::string a = "a=" + folder.tensor("a.npy", {5, 7});
  const std::string b = "b=" + folder.tensor("b.npy", {7, 2});
  Seen seen;
  for (const Words& arguments :
       {Words{"--input", a, b}, Words{"--input", a, "--input", b, "--k", "7"}}) {
    const Ended ended = run_copies(arguments, {kRight}, &seen);
    INFO(ended.err);
    CHECK(ended.status == 0);
    CHECK((seen.M == 5 && seen.K == 7 && seen.N == 2));
    CHECK(seen.a == std::vector<float>(35, 0.25f));
  }
  CHECK(
      run_copies({"--input", "qkv=" + folder.tensor("qkv.npy", {5, 12})}, {kRight}, &seen).status ==
      0);
  CHECK((seen.heads == 4 && seen.kv_heads == 4));
}

TEST_CASE("Files that do not fit are refused with one sentence", "[chapter]") {
  const Folder folder;
  const auto with = [&](const Words& arguments) { return run_copies(arguments); };
  const std::string a = "a=" + folder.tensor("a.npy", {5, 7});
  check_refused(with({"--input", a, "--m", "4"}),
                {"a.npy (5×7) makes --m 5", "the command line makes it 4"});
  check_refused(with({"--input", a, "b=" + folder.tensor("b.npy", {6, 2})}),
                {"b.npy (6×2) makes --k 6", "a.npy (5×7) makes it 7"});
  check_refused(with({"--input", "a=" + folder.tensor("flat.npy", {35})}),
                {"flat.npy has shape 35, but a must be (m, k)"});
  check_refused(with({"--input", "qkv=" + folder.tensor("qkv.npy", {5, 13})}),
                {"qkv.npy has shape 5×13", "(m, 3·heads)", "13 is not a multiple of 3"});
  check_refused(with({"--input", a, a}), {"--input gives a more than once"});
}

TEST_CASE("Two files of one run are not the same", "[chapter]") {
  const Folder folder;
  const std::string a = folder.tensor("a.npy", {5, 7}), same = folder / "same";
  std::filesystem::create_directory_symlink(folder.path, folder / "here");
  std::filesystem::create_symlink("a.npy", folder / "link.npy");
  check_refused(run_copies({"--output", same, "--csv", folder / "./same"}),
                {"--output and --csv both name ", "/./same; give them different files"});
  check_refused(run_copies({"--csv", same, "--output", folder / "here/same"}), {"both name"});
  check_refused(run_copies({"--input", "a=" + a, "--output", folder / "here/here/a.npy"}),
                {"--input and --output both name "});
  check_refused(run_copies({"--input", "a=" + a, "--csv", folder / "link.npy"}),
                {"--input and --csv both name "});
  check_refused(run_copies({"--mask", a, "--output", a}), {"--mask and --output both name"});
  CHECK(read_npy(a).shape == std::vector<int64_t>{5, 7});
  CHECK(!std::filesystem::exists(same));
  CHECK(run_copies({"--input", "a=" + a, "--csv", same}).status == 0);
}

TEST_CASE("The help of a part names the step that it goes on from", "[chapter]") {
  const auto main = [](int argc, char** argv) {
    read_options(argc, argv,
                 {.program = "99_copies/faster", .summary = "The same.", .after = "also_right"});
    return 1;
  };
  const Ended ended = run_program({"--help"}, main);
  CHECK(ended.status == 0);
  CHECK_THAT(ended.out, ContainsSubstring("99_copies/faster") &&
                            ContainsSubstring("The same.\n  goes on from also_right"));
}

TEST_CASE("A program asks for no option that it does not take", "[chapter]") {
  const auto asks = [](const std::function<void(const Options&)>& question) {
    return run_program({}, [&](int argc, char** argv) {
      question(read_options(argc, argv, usage_of_copies({kRight})));
      return 0;
    });
  };
  CHECK(asks([](const Options& given) { given.size("--m"), given.flag("--full"); }).status == 0);
  CHECK(asks([](const Options& given) { given.size("--full"); }).status == 1);
  CHECK(asks([](const Options& given) { given.flag("--causal"); }).status == 1);
  CHECK(asks([](const Options& given) { given.input("c"); }).status == 1);
  // Nor may an input's shape.
  const auto main = [](int argc, char** argv) {
    read_options(argc, argv, {.program = "99_copies", .inputs = {{"a", {"--q"}, "a row"}}});
    return 0;
  };
  CHECK(run_program({}, main).status == 1);
}

TEST_CASE("The option --columns all shows the rest of the table", "[chapter]") {
  CHECK_THAT(run_copies({}).out, !ContainsSubstring("max error    bound"));
  CHECK_THAT(run_copies({"--columns", "all"}).out, ContainsSubstring("max error    bound"));
  check_refused(run_copies({"--columns", "few"}), {"--columns \"few\"", "the only choice is all"});
}
