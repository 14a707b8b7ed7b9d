// SPDX-License-Identifier: GPL-3.0-or-later
// Language models in real processes: learning and text generation with several strategies, and
// texts that cannot be trained on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "core/base/json.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::AllOf;
using testing::HasSubstr;

const std::string kGpt = example("two_devices_gpt_grammar");
const std::vector<std::string> kSmall{"model.layers[0].width=16",  "model.layers[1].blocks=1",
                                      "data.context=24",           "data.train_samples=600",
                                      "data.held_out_samples=100", "training.epochs=1000"};

std::vector<std::string> gpt(int steps, std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.begin(), kSmall.begin(), kSmall.end());
  std::vector<std::string> arguments{"run", kGpt, "--steps", std::to_string(steps), "--json"};
  for (const std::string& one : overrides) arguments.insert(arguments.end(), {"--set", one});
  return arguments;
}

TEST(LanguageModel, learns_to_foretell_and_makes_up_text_of_its_alphabet) {
  const Home home;
  const Json result = completed(gpt(200, {"run.sampled_characters=50"}));
  EXPECT_LT(result["held_out_loss"], 2.2) << "of 24 characters alike it would be 3.2";
  EXPECT_GT(result["held_out_accuracy"], 0.3);
  EXPECT_LT(result["held_out_accuracy"], 1);
  EXPECT_EQ(weights_of(result).size(), 1u);
  const std::string text = result["sampled_text"];
  EXPECT_THAT(text, HasSubstr("after step 199:\n"));
  EXPECT_EQ(text.size(), std::string("after step 199:\n").size() + 50);
}

TEST(LanguageModel, is_trained_by_every_kind_of_strategy) {
  const Home home;
  for (const std::string strategy : {"ddp", "data_parallel", "gossip", "local_sgd"}) {
    const Json result = completed(gpt(30, {"strategy.kind=" + strategy}));
    EXPECT_LT(result["train_loss"], 3.1) << strategy;
    EXPECT_TRUE(result.contains("sampled_text")) << strategy;
  }
}

// No rank has the full model: its shards are combined.
TEST(LanguageModel, makes_up_text_where_it_is_in_parts) {
  const Home home;
  for (const std::string strategy :
       {"model_parallel", "pipeline", "tensor_parallel", "fsdp", "hybrid"}) {
    SCOPED_TRACE(strategy);
    const Json result =
        completed(gpt(30, {"strategy.kind=" + strategy, "run.evaluate_every_steps=10"}));
    EXPECT_THAT(result["sampled_text"].get<std::string>(), HasSubstr("after step 29:\n"));
    EXPECT_FALSE(result.contains("committed_step")) << "no run can go on from it";
  }
}

TEST(LanguageModel, says_nothing_where_nothing_is_asked_for) {
  const Home home;
  EXPECT_FALSE(completed(gpt(3, {"run.sampled_characters=0"})).contains("sampled_text"));
}

TEST(LanguageModel, reads_a_text_and_refuses_what_is_none) {
  const Home home;
  const std::string book = (home / "book.txt").string();
  const auto with = [&](const std::string& text) {
    std::ofstream(book, std::ios::binary) << text;
    return gpt(20, {"data.kind=text", "data.file=" + book, "data.train_samples=0",
                    "data.held_out_samples=10", "data.context=8"});
  };
  std::string sea;
  for (int i = 0; i < 60; ++i) sea += "she sells sea shells, señor; ";
  EXPECT_LT(completed(with(sea))["train_loss"], 2.7);
  const Ran bytes = cli(with(sea + "\xfe"));
  EXPECT_EQ(bytes.exit_code, 2);
  EXPECT_THAT(bytes.out, AllOf(HasSubstr("data.file"), HasSubstr("not UTF-8")));
  const Ran short_one = cli(with("a few words"));
  EXPECT_EQ(short_one.exit_code, 2);
  EXPECT_THAT(short_one.out, HasSubstr("has 1 sample of 8 characters"));
}

TEST(LanguageModel, shows_a_terminal_no_character_that_would_steer_it) {
  const Home home;
  const std::string book = (home / "book.txt").string();
  std::ofstream(book) << [] {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "\x1b[31m\a\n";
    return text;
  }();
  auto arguments = gpt(20, {"data.kind=text", "data.file=" + book, "data.train_samples=0",
                            "data.held_out_samples=10", "data.context=8"});
  std::erase(arguments, "--json");
  const Ran shown = cli(arguments);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out.find_first_of("\x1b\a"), std::string::npos);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("\\x1b"), HasSubstr("made up after step 19:\n    | "),
                               HasSubstr("held-out loss       ")));
}

}  // namespace
}  // namespace trainyard::process
