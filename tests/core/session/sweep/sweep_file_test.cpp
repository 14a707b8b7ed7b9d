// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep/sweep_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/base/fields.h"
#include "core/base/file.h"
#include "tests/core/session/sweep/sweeps.h"
#include "tests/problem_matchers.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::IsProblem;
using base::Reports;
using testing::AllOf;
using testing::AnyOf;

class SweepFile : public testing::Test {
 protected:
  SweepFile() { fs::create_directories(directory_); }
  ~SweepFile() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  std::string text() const { return base::read_file(directory_ / kSweepFile, 1 << 20).value(); }
  void put(const std::string& text) const { std::ofstream(directory_ / kSweepFile) << text; }
  // The problem of reading the file, or one without an id when there is none.
  base::Problem refusal() const {
    const auto read = read_sweep(directory_);
    return read ? base::Problem{} : read.error();
  }
  std::string path() const { return (directory_ / kSweepFile).string(); }

  fs::path directory_ =
      fs::temp_directory_path() / ("trainyard-sweep-" + std::to_string(::getpid()));
};

TEST_F(SweepFile, reads_back_as_written) {
  Sweep sweep = measured_sweep();
  sweep.scaling = experiment::Scaling::strong;
  sweep.variants[2].median_step_seconds = 0.1 + 0.2;
  sweep.variants[3].state = VariantState::failed;
  sweep.variants[3].reason = "rank 2 died: signal 9 (Killed) – “ü”";
  ASSERT_TRUE(write_sweep(sweep, directory_));
  Sweep read = read_sweep(directory_).value();
  read.xxh64.clear();
  EXPECT_EQ(base::write_document(read), base::write_document(sweep));
}

TEST_F(SweepFile, that_is_truncated_anywhere_is_refused) {
  ASSERT_TRUE(write_sweep(measured_sweep(), directory_));
  const std::string whole = text();
  for (std::size_t length = 0; length < whole.size(); length += 37) {
    put(whole.substr(0, length));
    EXPECT_THAT(refusal(), IsProblem(AnyOf("bad_sweep_file", "bad_json"), path())) << length;
  }
}

TEST_F(SweepFile, that_was_edited_is_refused) {
  ASSERT_TRUE(write_sweep(measured_sweep(), directory_));
  std::string changed = text();
  const std::size_t at = changed.find("0.016");
  ASSERT_NE(at, std::string::npos);
  changed.replace(at, 5, "0.012");
  put(changed);
  EXPECT_THAT(refusal(), AllOf(IsProblem("bad_sweep_file", path()), Reports("checksum")));
}

TEST_F(SweepFile, of_another_format_or_version_is_refused) {
  put("{\"format\": \"trainyard checkpoint\", \"version\": 1}");
  EXPECT_THAT(refusal(), AllOf(IsProblem("bad_sweep_file", path()), Reports("manifest")));
  put("[1, 2]");
  EXPECT_THAT(refusal(), AllOf(IsProblem("bad_sweep_file", path()), Reports("manifest")));
  ASSERT_TRUE(write_sweep(measured_sweep(), directory_));
  std::string later = text();
  later.replace(later.find("\"version\": 1"), 12, "\"version\": 2");
  put(later);
  EXPECT_THAT(refusal(), AllOf(IsProblem("bad_sweep_file", path()), Reports("version")));
}

TEST_F(SweepFile, that_is_missing_is_a_problem) {
  EXPECT_THAT(refusal(), IsProblem("missing_file", path()));
}

TEST_F(SweepFile, requires_an_empty_directory) {
  EXPECT_EQ(make_sweep_directory(directory_, "x").value(), directory_);
  std::ofstream(directory_ / "experiment.json") << "{}";
  EXPECT_TRUE(make_sweep_directory(directory_, "x")) << "written by the workbench";
  std::ofstream(directory_ / "mine.txt") << "x";
  EXPECT_EQ(make_sweep_directory(directory_, "x").error().id, "directory_in_use");
  fs::remove(directory_ / "mine.txt");
  ASSERT_TRUE(write_sweep(measured_sweep(), directory_));
  EXPECT_EQ(make_sweep_directory(directory_, "x").error().id, "directory_in_use");
}

// A child takes the lock and is killed: then no process runs the sweep, whatever the manifest says.
TEST_F(SweepFile, is_locked_while_the_sweeping_process_lives) {
  EXPECT_FALSE(sweeping_process(directory_));
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = SweepLock::take(directory_);
    const char note = lock ? 'y' : 'n';
    if (::write(ready[1], &note, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char note = 0;
  ASSERT_EQ(::read(ready[0], &note, 1), 1);
  EXPECT_EQ(note, 'y');
  EXPECT_EQ(sweeping_process(directory_), child);
  const auto second = SweepLock::take(directory_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().id, "directory_in_use");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(sweeping_process(directory_));
  EXPECT_TRUE(SweepLock::take(directory_));
  for (const int end : ready) ::close(end);
}

}  // namespace
}  // namespace trainyard::session
