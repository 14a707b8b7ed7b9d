// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/session/checkpoint/safetensors.h"
#include "tests/problem_matchers.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::Advises;
using base::DType;
using base::IsProblem;
using base::ProblemCode;
using base::Reports;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

model::Model small_model() {
  return *model::build(
      {{{model::LayerKind::linear, 5}, {model::LayerKind::relu, 0}, {model::LayerKind::linear, 3}}},
      4, 3);
}

// A flat parameter buffer of its own.
class Parameters {
 public:
  Parameters(const model::Model& model, DType dtype, int seed = 0)
      : dtype_(dtype), bytes_(static_cast<std::size_t>(model.elements * base::size_of(dtype))) {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      bytes_[i] = static_cast<std::byte>(31 * i + static_cast<std::size_t>(seed));
  }
  compute::Tensor tensor() {
    return {
        dtype_, {static_cast<std::int64_t>(bytes_.size()) / base::size_of(dtype_)}, bytes_.data()};
  }
  bool operator==(const Parameters&) const = default;

 private:
  DType dtype_;
  std::vector<std::byte> bytes_;
};

void overwrite(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class Checkpoint : public testing::Test {
 protected:
  Checkpoint() {
    std::string name = "/tmp/trainyard-checkpoint-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root_ = name;
    directory_ = root_ / "checkpoints";
  }
  ~Checkpoint() override {
    std::error_code error;
    fs::remove_all(root_, error);
  }

  base::Result<void> write(std::int64_t step, Parameters parameters) {
    return write_checkpoint(directory_, {step, "0123456789abcdef"}, model_, parameters.tensor());
  }
  // "step N" if the checkpoint that was written with seed N loads, else the id of the problem.
  // Keeps the problem and those of skipped checkpoints.
  std::string loaded(DType dtype = DType::fp32) {
    Parameters read(model_, dtype, 999);
    const auto loaded = read_checkpoint(directory_, model_, read.tensor());
    skipped_ = loaded ? loaded->skipped : base::Problems{};
    problem_ = loaded ? base::Problem{} : loaded.error();
    if (!loaded)
      return read == Parameters(model_, dtype, 999) ? problem_.id
                                                    : "changed the parameters before it failed";
    const std::int64_t step = loaded->info.step;
    return read == Parameters(model_, dtype, static_cast<int>(step))
               ? "step " + std::to_string(step)
               : "loaded other numbers";
  }
  Parameters numbered(int step, DType dtype = DType::fp32) { return {model_, dtype, step}; }
  fs::path of_step(int step) const { return directory_ / ("step-" + std::to_string(step)); }
  static std::vector<fs::path> files(const fs::path& directory) {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(directory)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  fs::path model_file(int step = 1) const {
    for (const fs::path& path : files(of_step(step)))
      if (path.extension() == ".safetensors") return path;
    return {};
  }

  model::Model model_ = small_model();
  fs::path root_, directory_;
  base::Problems skipped_;  // of the last load
  base::Problem problem_;   // of the last load
};

TEST_F(Checkpoint, restores_parameters_bit_for_bit_in_both_precisions) {
  for (const DType dtype : {DType::fp32, DType::fp64}) {
    ASSERT_TRUE(write(7, numbered(7, dtype)));
    EXPECT_EQ(loaded(dtype), "step 7");
  }
  Parameters read(model_, DType::fp64);
  EXPECT_EQ(read_checkpoint(directory_, model_, read.tensor())->info.plan_hash, "0123456789abcdef");
}

TEST_F(Checkpoint, restores_running_statistics) {
  model_ = *model::build({{{model::LayerKind::linear, 4},
                           {model::LayerKind::batch_norm, 0},
                           {model::LayerKind::linear, 3}}},
                         6, 3);
  std::vector<float> state{1, 2, 3, 4, 5, 6, 7, 8}, read_state(8);
  const auto flat = [](std::vector<float>& values) {
    return compute::Tensor{DType::fp32, {8}, reinterpret_cast<std::byte*>(values.data())};
  };
  Parameters written = numbered(3), read(model_, DType::fp32);
  ASSERT_TRUE(write_checkpoint(directory_, {3, "0123456789abcdef"}, model_,
                               {written.tensor(), flat(state)}));
  ASSERT_TRUE(read_checkpoint(directory_, model_, {read.tensor(), flat(read_state)}));
  EXPECT_EQ(read, written);
  EXPECT_EQ(read_state, state);
  EXPECT_THAT(base::read_file(model_file(3), 1 << 20)->substr(0, 1000), HasSubstr("1.running_var"));
  EXPECT_EQ(write_checkpoint(directory_, {4, ""}, model_, written.tensor()).error().code,
            ProblemCode::bad_usage)
      << "statistics must not be forgotten";
}

TEST_F(Checkpoint, model_file_has_every_parameter_by_name_and_shape) {
  ASSERT_TRUE(write(1, numbered(1)));
  const std::string content = *base::read_file(model_file(), 1 << 20);
  const auto tensors = read_safetensors(content, "");
  ASSERT_TRUE(tensors);
  ASSERT_EQ(tensors->size(), model_.parameters.size());
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    EXPECT_EQ((*tensors)[i].name, model_.parameters[i].name);
    EXPECT_EQ((*tensors)[i].shape, model_.parameters[i].shape);
  }
}

TEST_F(Checkpoint, keeps_the_newest_and_the_one_before_it) {
  for (int step = 1; step <= 4; ++step) {
    ASSERT_TRUE(write(step, numbered(step)));
    EXPECT_EQ(loaded(), "step " + std::to_string(step));
    EXPECT_THAT(skipped_, IsEmpty());
    EXPECT_EQ(files(of_step(step)).size(), 2U);
  }
  EXPECT_EQ(files(directory_), (std::vector<fs::path>{of_step(3), of_step(4)}));
}

TEST_F(Checkpoint, of_the_same_step_replaces_the_old_one_completely) {
  ASSERT_TRUE(write(1, numbered(77)));
  ASSERT_TRUE(write(1, numbered(1)));
  EXPECT_EQ(loaded(), "step 1");
  EXPECT_EQ(files(of_step(1)).size(), 2U);
}

TEST_F(Checkpoint, of_an_earlier_step_deletes_those_of_later_steps) {
  for (const int step : {10, 20, 30, 20}) ASSERT_TRUE(write(step, numbered(step)));
  EXPECT_EQ(loaded(), "step 20");
  EXPECT_EQ(files(directory_), std::vector<fs::path>{of_step(20)});
  ASSERT_TRUE(write(100, numbered(100)));
  EXPECT_EQ(loaded(), "step 100") << "steps are ordered as numbers";
}

TEST_F(Checkpoint, that_is_damaged_is_skipped_for_the_one_before_it) {
  ASSERT_TRUE(write(1, numbered(1)));
  ASSERT_TRUE(write(2, numbered(2)));
  overwrite(model_file(2), "not a model");
  EXPECT_EQ(loaded(), "step 1");
  EXPECT_THAT(skipped_, ElementsAre(AllOf(IsProblem("damaged_checkpoint", model_file(2).string()),
                                          Advises("step 1"))));
  fs::remove(of_step(2) / "manifest.json");
  EXPECT_EQ(loaded(), "step 1");
  EXPECT_THAT(skipped_,
              ElementsAre(IsProblem("missing_file", (of_step(2) / "manifest.json").string())));
}

TEST_F(Checkpoint, problem_names_every_damaged_checkpoint) {
  for (const int step : {1, 2}) ASSERT_TRUE(write(step, numbered(step)));
  for (const int step : {1, 2}) overwrite(model_file(step), "not a model");
  EXPECT_EQ(loaded(), "damaged_checkpoint");
  EXPECT_THAT(problem_, AllOf(IsProblem("damaged_checkpoint", model_file(2).string()),
                              Reports(model_file(1).string())));
}

// Never prune before verify: what is kept is the last whole one, not merely the last.
TEST_F(Checkpoint, that_is_damaged_is_not_the_one_kept_beside_the_new_one) {
  ASSERT_TRUE(write(1, numbered(1)));
  ASSERT_TRUE(write(2, numbered(2)));
  overwrite(model_file(2), "not a model");
  ASSERT_TRUE(write(3, numbered(3)));
  EXPECT_EQ(files(directory_), (std::vector<fs::path>{of_step(1), of_step(3)}));
  overwrite(model_file(3), "not a model");
  EXPECT_EQ(loaded(), "step 1");
}

TEST_F(Checkpoint, of_another_model_is_refused_even_if_an_older_one_would_fit) {
  ASSERT_TRUE(write(1, numbered(1, DType::fp64)));
  ASSERT_TRUE(write(2, numbered(2)));
  EXPECT_EQ(loaded(DType::fp64), "checkpoint_of_other_model");
  EXPECT_THAT(problem_, AllOf(IsProblem("checkpoint_of_other_model", model_file(2).string()),
                              Reports("dtype")));
}

TEST_F(Checkpoint, that_was_moved_to_another_step_is_refused) {
  ASSERT_TRUE(write(1, numbered(1)));
  fs::rename(of_step(1), of_step(5));
  EXPECT_EQ(loaded(), "damaged_checkpoint");
  EXPECT_THAT(problem_,
              AllOf(IsProblem("damaged_checkpoint", (of_step(5) / "manifest.json").string()),
                    Reports("step 1")));
}

TEST_F(Checkpoint, removes_leftovers_of_a_killed_writer) {
  ASSERT_TRUE(write(1, numbered(1)));
  for (const int step : {1, 2}) {
    fs::create_directories(of_step(step));
    overwrite(of_step(step) / "model-00.safetensors.new-1-1", "half");
    overwrite(of_step(step) / "manifest.json.new-1-1", "half");
    overwrite(of_step(step) / "notes.txt", "of a person");
  }
  EXPECT_EQ(loaded(), "step 1");
  ASSERT_TRUE(write(2, numbered(2)));
  EXPECT_EQ(files(of_step(2)).size(), 3U);
  EXPECT_TRUE(fs::exists(of_step(2) / "notes.txt"));
  overwrite(directory_ / "notes.txt", "of a person");
  ASSERT_TRUE(write(3, numbered(3)));
  EXPECT_EQ(files(directory_),
            (std::vector<fs::path>{directory_ / "notes.txt", of_step(2), of_step(3)}));
}

TEST_F(Checkpoint, with_a_changed_byte_anywhere_is_skipped) {
  ASSERT_TRUE(write(1, numbered(1)));
  ASSERT_TRUE(write(2, numbered(2)));
  for (const fs::path& path : files(of_step(2))) {
    const std::string good = *base::read_file(path, 1 << 20);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto put = [&file](std::size_t at, char byte) {
      file.seekp(static_cast<std::streamoff>(at)).put(byte).flush();
    };
    for (std::size_t i = 0; i < good.size(); ++i) {
      put(i, static_cast<char>(good[i] ^ (1 << i % 8)));
      ASSERT_EQ(loaded(), "step 1") << path << " byte " << i;
      ASSERT_THAT(skipped_, ElementsAre(Field("where", &base::Problem::where,
                                              StartsWith(of_step(2).string()))))
          << path << " byte " << i;
      put(i, good[i]);
    }
  }
  EXPECT_EQ(loaded(), "step 2");
}

TEST_F(Checkpoint, that_is_truncated_or_extended_anywhere_is_refused) {
  for (const char* name : {"manifest.json", "model"}) {
    ASSERT_TRUE(write(1, numbered(1)));
    const fs::path path = name == std::string("model") ? model_file() : of_step(1) / name;
    const std::uintmax_t whole = fs::file_size(path);
    for (std::uintmax_t length = whole + 2; length-- > 0;) {
      fs::resize_file(path, length);
      if (length == whole) continue;
      ASSERT_THAT(loaded(), Not(StartsWith("step "))) << path << " at " << length;
      ASSERT_THAT(problem_, IsProblem(Not(IsEmpty()), path.string())) << path << " at " << length;
    }
  }
}

TEST_F(Checkpoint, without_a_manifest_does_not_exist) {
  EXPECT_EQ(loaded(), "no_checkpoint");
  EXPECT_EQ(problem_.where, directory_.string());
  ASSERT_TRUE(write(1, numbered(1)));
  fs::remove(of_step(1) / "manifest.json");
  EXPECT_EQ(loaded(), "missing_file");
  EXPECT_EQ(problem_.where, (of_step(1) / "manifest.json").string());
}

TEST_F(Checkpoint, of_another_model_or_precision_is_refused) {
  ASSERT_TRUE(write(1, numbered(1)));
  EXPECT_EQ(loaded(DType::fp64), "checkpoint_of_other_model");
  EXPECT_THAT(problem_, AllOf(IsProblem("checkpoint_of_other_model", model_file().string()),
                              Reports("dtype")));
  model_ = *model::build({{{model::LayerKind::linear, 4}, {model::LayerKind::linear, 3}}}, 6,
                         3);  // as many tensors, other shapes
  EXPECT_EQ(loaded(), "checkpoint_of_other_model");
  EXPECT_THAT(problem_, AllOf(IsProblem("checkpoint_of_other_model", model_file().string()),
                              Reports("shape")));
  model_ = *model::build({{{model::LayerKind::linear, 3}}}, 100, 3);
  EXPECT_EQ(loaded(), "checkpoint_of_other_model");
  EXPECT_THAT(problem_, AllOf(IsProblem("checkpoint_of_other_model", model_file().string()),
                              Reports("4 tensors"), Reports("2")));
}

TEST_F(Checkpoint, refuses_a_buffer_of_another_size) {
  Parameters parameters(model_, DType::fp32);
  compute::Tensor tensor = parameters.tensor();
  tensor.shape = {model_.elements - 1};
  EXPECT_EQ(write_checkpoint(directory_, {}, model_, tensor).error().code, ProblemCode::bad_usage);
  EXPECT_EQ(read_checkpoint(directory_, model_, tensor).error().code, ProblemCode::bad_usage);
}

// A manifest with good checksums that names a file elsewhere, as only malice makes it.
TEST_F(Checkpoint, with_a_manifest_that_names_a_file_elsewhere_is_refused) {
  ASSERT_TRUE(write(1, numbered(1)));
  const fs::path path = of_step(1) / "manifest.json";
  std::string text = *base::read_file(path, 1 << 20);
  const std::string hash = text.substr(text.find("model-") + 6, 16);
  for (std::size_t at; (at = text.find(hash)) != std::string::npos;)
    text.replace(at, 16, "/../../../stolen");
  const std::size_t own = text.rfind("\"xxh64\": \"") + 10;
  const std::string unsigned_text = text.substr(0, own) + text.substr(own + 16);
  text.replace(own, 16, base::hex(base::xxh64(unsigned_text)));
  overwrite(path, text);
  EXPECT_EQ(loaded(), "damaged_checkpoint");
  EXPECT_THAT(problem_, AllOf(IsProblem("damaged_checkpoint", path.string()), Reports("manifest")));
}

TEST_F(Checkpoint, with_an_unreadable_name_is_refused_before_the_old_one_changes) {
  ASSERT_TRUE(write(1, numbered(1)));
  EXPECT_FALSE(
      write_checkpoint(directory_, {2, std::string(200, 'x')}, model_, numbered(2).tensor()));
  EXPECT_FALSE(write(-1, numbered(2)));
  EXPECT_EQ(loaded(), "step 1");
  EXPECT_EQ(files(directory_).size(), 1U);
}

TEST_F(Checkpoint, reports_a_directory_that_cannot_be_created) {
  directory_ = "/proc/nowhere/checkpoint";
  EXPECT_THAT(write(1, numbered(1)).error(),
              IsProblem("missing_file", "/proc/nowhere/checkpoint/step-1"));
}

// Runs `work` in a process of its own; its exit status, or 128 and the signal that ended it.
template <class Work>
int in_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Past the limit write() fails with EFBIG, after a short write where a part fits: what a full disk
// does.
TEST_F(Checkpoint, keeps_old_checkpoints_when_the_disk_is_full) {
  ASSERT_TRUE(write(1, numbered(1)));
  ASSERT_TRUE(write(2, numbered(2)));
  const auto size = fs::file_size(model_file(2));
  for (const std::uintmax_t limit :
       {std::uintmax_t{0}, std::uintmax_t{1}, std::uintmax_t{100}, size / 2, size - 1}) {
    const int status = in_child([&] {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit most{limit, limit};
      ::setrlimit(RLIMIT_FSIZE, &most);
      const auto written = write(3, numbered(3));
      return written ? 1 : written.error().id == "file_size_limit" ? 0 : 2;
    });
    EXPECT_EQ(status, 0) << limit;
    EXPECT_EQ(loaded(), "step 2");
    EXPECT_EQ(files(of_step(1)).size() + files(of_step(2)).size(), 4U);
  }
}

// Killed while it writes one after another: a whole one is there, and one before it, should the
// newest be damaged as well.
TEST_F(Checkpoint, of_a_writer_killed_at_any_time_leaves_two_complete_ones) {
  ASSERT_TRUE(write(1, numbered(1)));
  ASSERT_TRUE(write(2, numbered(2)));
  for (int trial = 0; trial < 60; ++trial) {
    const int next = std::stoi(loaded().substr(5)) + 1;
    const pid_t child = ::fork();
    if (child == 0) {
      for (int step = next;; ++step) static_cast<void>(write(step, numbered(step)));
    }
    ::usleep(static_cast<useconds_t>(137 * trial));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string newest = loaded();
    ASSERT_THAT(newest, StartsWith("step ")) << trial;
    const int step = std::stoi(newest.substr(5));
    fs::resize_file(model_file(step), 9);
    ASSERT_EQ(loaded(), "step " + std::to_string(step - 1)) << trial;
    ASSERT_TRUE(write(step, numbered(step)));
  }
}

}  // namespace
}  // namespace trainyard::session
