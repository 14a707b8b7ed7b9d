// SPDX-License-Identifier: GPL-3.0-or-later
// The workbench as a program: messages of invalid command lines, and exit codes.
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
  std::string errors, output;  // on standard error, on standard output
};

class CommandLine : public testing::Test {
 protected:
  // `display`: platform to use; if empty, opening a display fails.
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
  const char* detail;  // a name or option in the message
};
void PrintTo(const Bad& row, std::ostream* out) { *out << row.name; }

class BadUsage : public CommandLine, public testing::WithParamInterface<Bad> {};

TEST_P(BadUsage, is_refused_before_a_display_is_opened) {
  const Ended ended = run(GetParam().arguments, "");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("error: "));
  EXPECT_THAT(ended.errors, HasSubstr(GetParam().detail));
  EXPECT_THAT(ended.errors, Not(HasSubstr("display")));
}

const Bad kBad[] = {
    {"option", {"--sice", "900x600"}, "sice"},
    {"option_without_value", {"--size"}, "size"},
    {"size_in_words", {"--size", "foo"}, "1600x1000"},
    {"size_of_nothing", {"--size", "0x0"}, "1600x1000"},
    {"size_of_one_side", {"--size", "1600"}, "1600x1000"},
    {"size_with_a_tail", {"--size", "900x600x2"}, "1600x1000"},
    {"wait_in_words", {kExample, "--screenshot", "a.png", "--wait", "long"}, "milliseconds"},
    {"wait_below_zero", {kExample, "--screenshot", "a.png", "--wait", "-1"}, "milliseconds"},
    {"wait_for_nothing", {kExample, "--wait", "10"}, "--screenshot"},
    {"two_experiments", {kExample, "second.json"}, "second.json"},
    {"run_of_nothing", {"--run"}, "experiment"},
    {"missing_experiment", {"nosuch.json"}, "nosuch.json"},
    {"missing_run", {"--run-directory", "/nowhere/run"}, "/nowhere/run"},
    {"directory_without_a_run", {"--run-directory", TRAINYARD_SOURCE_DIR}, "no run"},
    {"file_for_a_run", {"--run-directory", kExample}, "one_device_digits.json"},
    {"picture_of_no_kind", {kExample, "--screenshot", "a.txt"}, ".png"}};

INSTANTIATE_TEST_SUITE_P(all, BadUsage, testing::ValuesIn(kBad),
                         [](const auto& row) { return row.param.name; });

TEST_F(CommandLine, help_mentions_run_directories_and_the_theme_menu) {
  const Ended ended = run({"--help"}, "");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, testing::AllOf(HasSubstr("directory"), HasSubstr("View, Look")));
}

TEST_F(CommandLine, screenshot_has_the_requested_size) {
  const Ended ended =
      run({kExample, "--screenshot", picture(), "--wait", "200", "--size", "1100x700"});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(QImage(picture()).size(), QSize(1100, 700));
}

TEST_F(CommandLine, screenshot_of_an_unreadable_experiment_fails) {
  const Ended ended =
      run({write("bad.json", R"({"version": 1, "trainig": {}})"), "--screenshot", picture()});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("trainig"));
  EXPECT_FALSE(QFile::exists(picture()));
}

TEST_F(CommandLine, screenshot_of_an_unreadable_run_fails) {
  ASSERT_TRUE(QDir(directory_.path()).mkdir("run"));
  write("run/recording.try", "this is not a recording, but long enough to have been one");
  for (const QStringList& named : {QStringList{directory_.filePath("run")},
                                   QStringList{"--run-directory", directory_.filePath("run")}}) {
    const Ended ended = run(named + QStringList{"--screenshot", picture(), "--wait", "0"});
    EXPECT_EQ(ended.exit_code, 2) << named.join(" ").toStdString();
    EXPECT_THAT(ended.errors, HasSubstr("recording.try")) << "the message lacks the file";
    EXPECT_FALSE(QFile::exists(picture()));
  }
}

TEST_F(CommandLine, screenshot_of_a_run_that_cannot_start_fails) {
  const Ended ended =
      run({"--run", write("empty.json", R"({"version": 1})"), "--screenshot", picture()});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("nothing to train"));
}

TEST_F(CommandLine, screenshot_that_cannot_be_written_fails) {
  const Ended ended = run({kExample, "--screenshot", "/proc/nothing/window.png", "--wait", "0"});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.errors, HasSubstr("/proc/nothing/window.png"));
}

TEST_F(CommandLine, accepts_options_of_qt) {
  const Ended ended = run({"-platform", "offscreen", "--style=fusion", kExample, "--screenshot",
                           picture(), "--wait", "0"},
                          "");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
}

}  // namespace
}  // namespace trainyard::ui
