// SPDX-License-Identifier: GPL-3.0-or-later
// The workbench as a program: what it says of a command line that it cannot follow, and its exit
// codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>

namespace trainyard::ui {
namespace {

using testing::HasSubstr;
using testing::Not;

const QString kExample = TRAINYARD_SOURCE_DIR "/resources/experiments/one_device_digits.json";

struct Ended {
  int exit_code = -1;
  std::string said, printed;  // on standard error; on standard output
};

class CommandLine : public testing::Test {
 protected:
  // `display`: platform to use; empty: there is none, and opening a display fails.
  Ended run(const QStringList& arguments, const QString& display = "offscreen") {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* place : {"XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"})
      environment.insert(place, directory_.path());
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
      environment.remove(name);
    if (!display.isEmpty()) environment.insert("QT_QPA_PLATFORM", display);
    QProcess program;
    program.setProcessEnvironment(environment);
    program.start(TRAINYARD_BIN_DIR "/trainyard",
                  QStringList{"--settings", directory_.filePath("settings.ini")} + arguments);
    EXPECT_TRUE(program.waitForFinished(60'000)) << arguments.join(" ").toStdString();
    EXPECT_EQ(program.exitStatus(), QProcess::NormalExit);
    return {program.exitCode(), program.readAllStandardError().toStdString(),
            program.readAllStandardOutput().toStdString()};
  }
  QString write(const char* name, const char* text) {
    QFile file(directory_.filePath(name));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    return file.fileName();
  }
  QString picture() const { return directory_.filePath("window.png"); }

  QTemporaryDir directory_;
};

struct Bad {
  const char* name;
  QStringList arguments;
  const char* told;
};
void PrintTo(const Bad& row, std::ostream* out) { *out << row.name; }

class BadUsage : public CommandLine, public testing::WithParamInterface<Bad> {};

TEST_P(BadUsage, is_refused_in_words_before_a_display_is_opened) {
  const Ended ended = run(GetParam().arguments, "");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.said, HasSubstr("error: "));
  EXPECT_THAT(ended.said, HasSubstr(GetParam().told));
  EXPECT_THAT(ended.said, Not(HasSubstr("display")));
}

const Bad kBad[] = {
    {"option", {"--sice", "900x600"}, "sice"},
    {"option_without_value", {"--size"}, "size"},
    {"size_in_words", {"--size", "foo"}, "as in 1600x1000"},
    {"size_of_nothing", {"--size", "0x0"}, "as in 1600x1000"},
    {"size_of_one_side", {"--size", "1600"}, "as in 1600x1000"},
    {"size_with_a_tail", {"--size", "900x600x2"}, "as in 1600x1000"},
    {"wait_in_words", {kExample, "--screenshot", "a.png", "--wait", "long"}, "whole milliseconds"},
    {"wait_below_zero", {kExample, "--screenshot", "a.png", "--wait", "-1"}, "whole milliseconds"},
    {"wait_for_nothing", {kExample, "--wait", "10"}, "--screenshot"},
    {"two_experiments", {kExample, "second.json"}, "second.json: is one too many"},
    {"run_of_nothing", {"--run"}, "needs an experiment"},
    {"missing_experiment", {"nosuch.json"}, "nosuch.json: is not there"},
    {"missing_run", {"--run-directory", "/nowhere/run"}, "/nowhere/run: is not there"},
    {"directory_without_a_run", {"--run-directory", TRAINYARD_SOURCE_DIR}, "holds no run"},
    {"file_for_a_run", {"--run-directory", kExample}, "is no directory"},
    {"picture_of_no_kind", {kExample, "--screenshot", "a.txt"}, ".png"}};

INSTANTIATE_TEST_SUITE_P(all, BadUsage, testing::ValuesIn(kBad),
                         [](const auto& row) { return row.param.name; });

TEST_F(CommandLine, help_says_that_a_run_may_be_opened_and_where_the_look_is_set) {
  const Ended ended = run({"--help"}, "");
  EXPECT_EQ(ended.exit_code, 0) << ended.said;
  EXPECT_THAT(ended.printed,
              testing::AllOf(HasSubstr("or the directory of"), HasSubstr("menu View, Look")));
}

TEST_F(CommandLine, a_picture_is_taken_in_the_size_that_was_asked_for) {
  const Ended ended =
      run({kExample, "--screenshot", picture(), "--wait", "200", "--size", "1100x700"});
  EXPECT_EQ(ended.exit_code, 0) << ended.said;
  EXPECT_EQ(QImage(picture()).size(), QSize(1100, 700));
}

TEST_F(CommandLine, no_picture_is_taken_of_an_experiment_that_cannot_be_read) {
  const Ended ended =
      run({write("bad.json", R"({"version": 1, "trainig": {}})"), "--screenshot", picture()});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.said, HasSubstr("trainig"));
  EXPECT_FALSE(QFile::exists(picture()));
}

TEST_F(CommandLine, no_picture_is_taken_of_a_run_that_cannot_be_read_however_it_was_named) {
  ASSERT_TRUE(QDir(directory_.path()).mkdir("run"));
  write("run/recording.try", "this is not a recording, but long enough to have been one");
  for (const QStringList& named : {QStringList{directory_.filePath("run")},
                                   QStringList{"--run-directory", directory_.filePath("run")}}) {
    const Ended ended = run(named + QStringList{"--screenshot", picture(), "--wait", "0"});
    EXPECT_EQ(ended.exit_code, 2) << named.join(" ").toStdString();
    EXPECT_THAT(ended.said, HasSubstr("recording.try")) << "and why";
    EXPECT_FALSE(QFile::exists(picture()));
  }
}

TEST_F(CommandLine, no_picture_is_taken_of_a_run_that_cannot_start) {
  const Ended ended =
      run({"--run", write("empty.json", R"({"version": 1})"), "--screenshot", picture()});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.said, HasSubstr("nothing to train on"));
}

TEST_F(CommandLine, a_picture_that_cannot_be_written_is_a_failure) {
  const Ended ended = run({kExample, "--screenshot", "/proc/nothing/window.png", "--wait", "0"});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.said, HasSubstr("cannot be written"));
}

TEST_F(CommandLine, options_of_qt_pass) {
  const Ended ended = run({"-platform", "offscreen", "--style=fusion", kExample, "--screenshot",
                           picture(), "--wait", "0"},
                          "");
  EXPECT_EQ(ended.exit_code, 0) << ended.said;
}

}  // namespace
}  // namespace trainyard::ui
