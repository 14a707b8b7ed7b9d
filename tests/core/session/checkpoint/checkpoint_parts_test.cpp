// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints that several ranks write a part of: each when it likes, and one makes them a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "core/base/file.h"
#include "core/session/checkpoint/committer.h"
#include "core/session/checkpoint/part_writer.h"
#include "core/session/checkpoint/received_parts.h"
#include "core/session/checkpoint/safetensors.h"
#include "tests/problem_matchers.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::DType;
using base::IsProblem;
using base::ProblemCode;
using base::Reports;
using testing::AllOf;
using testing::HasSubstr;

model::Model normalized_model() {
  return *model::build({{{model::LayerKind::linear, 5},
                         {model::LayerKind::batch_norm, 0},
                         {model::LayerKind::relu, 0},
                         {model::LayerKind::linear, 3}}},
                       4, 3);
}

class CheckpointParts : public testing::Test {
 protected:
  CheckpointParts() {
    std::string name = "/tmp/trainyard-parts-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = name;
    for (auto* values : {&parameters_, &moment_})
      values->resize(static_cast<std::size_t>(model_.elements));
    state_.resize(static_cast<std::size_t>(model_.state_elements));
    float next = 0;
    for (auto* values : {&parameters_, &moment_, &state_})
      for (float& value : *values) value = ++next;
  }
  ~CheckpointParts() override {
    std::error_code error;
    fs::remove_all(directory_, error);
  }

  static compute::Tensor flat(std::vector<float>& values, std::size_t first = 0,
                              std::size_t count = std::string::npos) {
    count = std::min(count, values.size() - first);
    return {DType::fp32,
            {static_cast<std::int64_t>(count)},
            reinterpret_cast<std::byte*>(values.data() + first)};
  }
  // Spans of both the parameters and their moments.
  std::vector<CheckpointSpan> spans(std::size_t first, std::size_t count) {
    const auto at = static_cast<std::int64_t>(first);
    return {{CheckpointBuffer::parameters, at, flat(parameters_, first, count)},
            {CheckpointBuffer::moment1, at, flat(moment_, first, count)}};
  }
  CheckpointFile part(const std::string& name, const std::vector<CheckpointSpan>& spans,
                      std::int64_t step = 7) {
    return write_part(directory_, step, name, 3, model_, spans).value();
  }
  CheckpointFile state(std::int64_t step = 7) {
    return part("state", {{CheckpointBuffer::state, 0, flat(state_)}}, step);
  }

  // Returns "whole" if the checkpoint can be read, else the id of the problem, which is kept.
  std::string read(bool moments = true) {
    std::vector<float> parameters(parameters_.size()), moment(moment_.size()), state(state_.size());
    const auto loaded =
        read_checkpoint(directory_, model_,
                        {flat(parameters), flat(state),
                         moments ? std::vector{flat(moment)} : std::vector<compute::Tensor>{}});
    problem_ = loaded ? base::Problem{} : loaded.error();
    if (!loaded) return problem_.id;
    return parameters == parameters_ && state == state_ && (!moments || moment == moment_)
               ? "whole"
               : "other numbers";
  }

  model::Model model_ = normalized_model();
  fs::path directory_;
  std::vector<float> parameters_, moment_, state_;
  base::Problem problem_;  // of the last reading
};

// Cut anywhere, in the midst of a tensor as well.
TEST_F(CheckpointParts, are_one_checkpoint_wherever_they_are_split) {
  for (std::size_t cut = 0; cut <= parameters_.size(); ++cut) {
    const std::vector<CheckpointFile> files{
        part("server-0", spans(0, cut)), part("server-1", spans(cut, std::string::npos)), state()};
    ASSERT_TRUE(commit_checkpoint(directory_, {7, "plan"}, files));
    ASSERT_EQ(read(), "whole") << cut;
    ASSERT_EQ(read(false), "whole") << "without moments";
  }
  EXPECT_EQ(newest_checkpoint(directory_)->step, 7);
}

TEST_F(CheckpointParts, have_pieces_named_by_tensor_and_range) {
  const CheckpointFile file = part("server-1", spans(2, 5));
  const std::string content = *base::read_file(directory_ / "step-7" / file.name, 1 << 20);
  const auto tensors = read_safetensors(content, "").value();
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "0.weight[2:7]");
  EXPECT_EQ(tensors[1].name, "moment1/0.weight[2:7]");
}

TEST_F(CheckpointParts, with_missing_or_duplicate_elements_are_no_checkpoint_of_the_model) {
  const auto all = std::string::npos;
  const auto refused = [&](const std::vector<CheckpointFile>& files) {
    EXPECT_TRUE(commit_checkpoint(directory_, {7, "plan"}, files));
    read();
    return problem_;
  };
  const auto other_model = IsProblem("checkpoint_of_other_model", (directory_ / "step-7").string());
  EXPECT_THAT(refused({part("server-0", spans(0, 10)), part("server-1", spans(11, all)), state()}),
              AllOf(other_model, Reports("0.weight")));
  EXPECT_THAT(refused({part("server-0", spans(0, 10)), part("server-1", spans(9, all)), state()}),
              AllOf(other_model, Reports("0.weight")));
  EXPECT_THAT(refused({part("server-0", spans(0, all))}),
              AllOf(IsProblem("checkpoint_of_other_model"), Reports("tensors")));
  EXPECT_THAT(
      refused({part("server-0", {{CheckpointBuffer::parameters, 0, flat(parameters_)}}), state()}),
      AllOf(IsProblem("checkpoint_without_moments", (directory_ / "step-7").string()),
            Reports("moment1")));
  EXPECT_EQ(refused({part("server-0", spans(0, all)), state()}), base::Problem{});
  EXPECT_EQ(read(), "whole");
}

TEST_F(CheckpointParts, without_a_commit_change_nothing) {
  ASSERT_TRUE(commit_checkpoint(directory_, {7, "plan"},
                                {part("server-0", spans(0, std::string::npos)), state()}));
  part("server-0", spans(0, std::string::npos), 9);
  EXPECT_EQ(newest_checkpoint(directory_)->step, 7);
  EXPECT_EQ(read(), "whole");
  ASSERT_TRUE(commit_checkpoint(directory_, {8, "plan"},
                                {part("server-0", spans(0, std::string::npos), 8), state(8)}));
  EXPECT_TRUE(fs::exists(directory_ / "step-9")) << "another process may be writing it";
  EXPECT_TRUE(fs::exists(directory_ / "step-7"));
  ASSERT_TRUE(commit_checkpoint(directory_, {10, "plan"},
                                {part("server-0", spans(0, std::string::npos), 10), state(10)}));
  EXPECT_FALSE(fs::exists(directory_ / "step-9")) << "it is never completed";
}

TEST_F(CheckpointParts, that_are_lost_leave_the_previous_checkpoint) {
  ASSERT_TRUE(commit_checkpoint(directory_, {7, "plan"},
                                {part("server-0", spans(0, std::string::npos)), state()}));
  const CheckpointFile lost = state(8);
  ASSERT_TRUE(commit_checkpoint(directory_, {8, "plan"},
                                {part("server-0", spans(0, std::string::npos), 8), lost}));
  fs::remove(directory_ / "step-8" / lost.name);
  EXPECT_EQ(newest_checkpoint(directory_)->step, 7);
  EXPECT_EQ(read(), "whole");
}

// The problem names the given directory, as it does for a damaged checkpoint.
TEST_F(CheckpointParts, that_are_lost_from_the_only_checkpoint_are_bad_input) {
  const CheckpointFile lost = state();
  ASSERT_TRUE(commit_checkpoint(directory_, {7, "plan"},
                                {part("server-0", spans(0, std::string::npos)), lost}));
  fs::remove(directory_ / "step-7" / lost.name);
  EXPECT_EQ(read_checkpoint(directory_, model_, {flat(parameters_), flat(state_), {}}).error().code,
            base::ProblemCode::bad_input);
}

TEST_F(CheckpointParts, that_are_named_twice_are_refused) {
  const CheckpointFile once = part("server-0", spans(0, std::string::npos));
  const auto committed = commit_checkpoint(directory_, {7, "plan"}, {once, once, state()});
  ASSERT_FALSE(committed);
  EXPECT_THAT(committed.error(),
              AllOf(IsProblem("damaged_checkpoint", (directory_ / "step-7/manifest.json").string()),
                    Reports("manifest")));
}

TEST_F(CheckpointParts, may_be_as_many_as_ranks) {
  std::vector<CheckpointFile> files;
  for (int rank = 0; rank < 4096; ++rank) files.push_back(part("part-" + std::to_string(rank), {}));
  const auto committed = commit_checkpoint(directory_, {7, "plan"}, files);
  EXPECT_TRUE(committed) << base::to_string(committed.error());
}

TEST_F(CheckpointParts, with_a_path_to_another_directory_are_refused) {
  for (const std::string name : {"", "../x", "a/b", "a.b"})
    EXPECT_EQ(write_part(directory_, 7, name, 0, model_, {}).error().code, ProblemCode::bad_usage);
}

// Returns the reports that come next.
std::vector<SavedPart> next_of(SavedQueue& box) {
  while (box.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return box.take();
}

// Asks until the committer has nothing to do; the steps that it made checkpoints of.
std::vector<std::int64_t> committed(Committer& committer) {
  std::vector<std::int64_t> steps;
  while (committer.busy()) {
    const auto outcome = committer.look();
    if (!outcome) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    else if (!outcome->problem) steps.push_back(outcome->step);
  }
  return steps;
}

// A copy is written: what training does to the numbers meanwhile is not in it.
TEST_F(CheckpointParts, are_written_as_they_were_at_the_request) {
  SavedQueue box;
  PartWriter writer(directory_, 4, "server-0", false, model_, nullptr, box);
  const auto before = parameters_;
  ASSERT_TRUE(writer.offer(7, 3, spans(0, std::string::npos)));
  for (float& value : parameters_) value = -1;
  const std::vector<SavedPart> saved = next_of(box);
  ASSERT_EQ(saved.size(), 1U);
  const Saved& report = saved[0].report;
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.step, 7);
  EXPECT_EQ(saved[0].content, "") << "it is in the directory";
  ASSERT_TRUE(
      commit_checkpoint(directory_, {7, "plan"},
                        {{report.file, report.xxh64, report.bytes, report.version}, state()}));
  parameters_ = before;
  EXPECT_EQ(read(), "whole");
}

// The last step may be one whose turn it is anyway.
TEST_F(CheckpointParts, are_not_written_twice) {
  SavedQueue box;
  PartWriter writer(directory_, 4, "server-0", false, model_, nullptr, box);
  ASSERT_TRUE(writer.offer(7, 3, spans(0, std::string::npos)));
  ASSERT_TRUE(writer.write_now(7, 3, spans(0, std::string::npos)));
  EXPECT_EQ(box.take().size(), 1U);
  ASSERT_TRUE(writer.write_now(8, 4, spans(0, std::string::npos)));
  ASSERT_TRUE(writer.offer(9, 5, spans(0, std::string::npos)));
  ASSERT_TRUE(writer.write_now(9, 6, spans(0, std::string::npos)))
      << "another version of the parameters";
  EXPECT_EQ(box.take().size(), 3U);
}

TEST_F(CheckpointParts, that_cannot_be_written_report_the_reason) {
  SavedQueue box;
  PartWriter writer("/proc/nowhere", 4, "server-0", false, model_, nullptr, box);
  EXPECT_FALSE(writer.write_now(7, 3, spans(0, std::string::npos)));
  ASSERT_TRUE(writer.offer(8, 3, spans(0, std::string::npos)));
  EXPECT_THAT(next_of(box).at(0).report.problem, HasSubstr("/proc/nowhere"));
}

// A rank on another machine sends its part in pieces.
TEST_F(CheckpointParts, of_another_machine_are_written_by_the_committer) {
  SavedQueue box;
  PartWriter writer("", 4, "server-0", false, model_, nullptr, box);
  ASSERT_TRUE(writer.write_now(7, 3, spans(0, std::string::npos)));
  const SavedPart sent = box.take().at(0);
  EXPECT_EQ(std::ssize(sent.content), sent.report.bytes);
  EXPECT_FALSE(fs::exists(directory_ / "step-7"));
  ReceivedParts received;
  const std::string first = sent.content.substr(0, 100), rest = sent.content.substr(100);
  EXPECT_EQ(received.add({4, "another", 0, "abandoned"}), 9);
  EXPECT_EQ(received.add({4, sent.report.file, 0, first}), 100);
  EXPECT_EQ(received.add({4, sent.report.file, 0, first}), 100) << "repeated";
  EXPECT_EQ(received.add({4, sent.report.file, 100, rest}), sent.report.bytes);
  Committer committer(directory_, "plan", 1, true);
  const CheckpointFile of_state = state();
  committer.take({0, 7, true, of_state.name, of_state.xxh64, of_state.bytes, 3, ""});
  committer.take(sent.report, received.take(4, sent.report.file));
  EXPECT_EQ(committed(committer), std::vector<std::int64_t>{7});
  EXPECT_EQ(read(), "whole");
  EXPECT_EQ(received.take(4, sent.report.file), "") << "taken once";
}

TEST_F(CheckpointParts, with_other_contents_than_reported_are_not_committed) {
  CheckpointPart part = encode_part("model", 7, model_, spans(0, std::string::npos));
  part.content.back() ^= 1;
  EXPECT_FALSE(store_part(directory_, 7, part));
  part.file.name = "../" + part.file.name;
  EXPECT_EQ(store_part(directory_, 7, part).error().id, "bad_checkpoint_part");
}

TEST_F(CheckpointParts, are_committed_when_all_of_the_newest_step_exist) {
  Committer committer(directory_, "plan", 2, true);
  const auto of = [](int rank, std::int64_t step, bool is_state, const CheckpointFile& file) {
    return Saved{rank, step, is_state, file.name, file.xxh64, file.bytes, file.version, ""};
  };
  committer.take(of(4, 7, false, part("server-0", spans(0, 11))));
  committer.take(of(4, 8, false, part("server-0", spans(0, 11), 8)));
  committer.take(of(0, 8, true, state(8)));
  EXPECT_FALSE(committer.busy());
  EXPECT_EQ(committer.committed_step(), -1);
  committer.take(of(5, 8, false, part("server-1", spans(11, std::string::npos), 8)));
  EXPECT_EQ(committed(committer), std::vector<std::int64_t>{8});
  EXPECT_EQ(committer.committed_step(), 8);
  EXPECT_EQ(read(), "whole");
  committer.take(of(5, 7, false, part("server-1", spans(11, std::string::npos))));
  committer.take(of(0, 7, true, state()));
  EXPECT_FALSE(committer.busy()) << "a part of step 7 was too late";
  committer.take({5, 9, false, "", "", 0, 0, "the disk is full"});
  EXPECT_FALSE(committer.busy());
}

}  // namespace
}  // namespace trainyard::session
