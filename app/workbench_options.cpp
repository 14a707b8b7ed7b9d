// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/workbench_options.h"

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSet>

#include "core/session/sweep/sweep_file.h"
#include "core/telemetry/recording.h"

namespace trainyard::app {
namespace {

// Default delay of a screenshot. After it, charts and the cost line have been drawn.
constexpr int kSettleMilliseconds = 1500;
constexpr int kMaxWaitMilliseconds = 3'600'000;
constexpr int kMinSide = 100, kMaxSide = 16'384;  // limits of a window's width and height in pixels

base::Problem bad(const char* id, const QString& where, const QString& what,
                  const QString& accepted, const QString& advice = {}) {
  return {id,
          base::ProblemCode::bad_usage,
          where.toStdString(),
          what.toStdString(),
          accepted.toStdString(),
          advice.toStdString()};
}

// Removes Qt's own options and their values. The list contains the options that take a value.
QStringList without_options_of_qt(const QStringList& arguments) {
  static const QSet<QString> with_value{
      "platform", "platformpluginpath", "platformtheme", "plugin",       "qwindowgeometry",
      "geometry", "qwindowicon",        "icon",          "qwindowtitle", "title",
      "style",    "stylesheet",         "display",       "session"};
  static const QSet<QString> alone{"reverse", "widgetcount", "nograb", "dograb"};
  QStringList left;
  for (int i = 0; i < arguments.size(); ++i) {
    const QString name = arguments[i].startsWith('-')
                             ? QString(arguments[i]).remove(QRegularExpression("^--?|=.*$"))
                             : QString();
    if (arguments[i] == "--") return left + arguments.mid(i);
    if (with_value.contains(name)) i += arguments[i].contains('=') ? 0 : 1;
    else if (!alone.contains(name)) left << arguments[i];
  }
  return left;
}

base::Result<QSize> read_size(const QString& text) {
  static const QRegularExpression form(R"(^(\d{1,5})x(\d{1,5})$)");
  const auto match = form.match(text);
  const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
  const auto fits = [](int side) { return side >= kMinSide && side <= kMaxSide; };
  if (match.hasMatch() && fits(size.width()) && fits(size.height())) return size;
  return base::fail(bad("bad_value", "--size", QString("unknown value: \"%1\"").arg(text),
                        QString("WIDTHxHEIGHT in pixels, each from %1 to %2, as in 1600x1000")
                            .arg(kMinSide)
                            .arg(kMaxSide)));
}

base::Result<int> read_wait(const QString& text) {
  bool whole = false;
  const int milliseconds = text.toInt(&whole);
  if (whole && milliseconds >= 0 && milliseconds <= kMaxWaitMilliseconds) return milliseconds;
  return base::fail(
      bad("bad_value", "--wait", QString("unknown value: \"%1\"").arg(text),
          QString("an integer from 0 to %1, in milliseconds").arg(kMaxWaitMilliseconds)));
}

bool contains_sweep(const QDir& directory) { return directory.exists(session::kSweepFile); }
bool contains_run(const QDir& directory) {
  return !contains_sweep(directory) &&
         (directory.exists(telemetry::kRecordingFile) || directory.exists("experiment.json"));
}

// Returns a problem if a file does not exist. An existing but invalid experiment is not a problem
// here, because the window shows its errors.
std::optional<base::Problem> missing(const WorkbenchOptions& options) {
  for (const QString& path : {options.experiment, options.run_directory}) {
    if (path.isEmpty()) continue;
    if (!QFileInfo::exists(path)) return bad("missing_file", path, "the file does not exist", "");
    const bool may_be_sweep = path == options.experiment && contains_sweep(path);
    if (QFileInfo(path).isDir() && !contains_run(path) && !may_be_sweep)
      return bad("not_a_run_directory", path, "the directory contains no run and no sweep",
                 "a directory with recording.try, experiment.json or sweep.json");
  }
  if (!options.run_directory.isEmpty() && !QFileInfo(options.run_directory).isDir())
    return bad("not_a_directory", options.run_directory, "this is a file",
               "the directory of a run");
  return {};
}

// Returns a problem if options exclude each other, or if an option lacks another that it needs.
std::optional<base::Problem> option_conflict(const QCommandLineParser& parser,
                                             const WorkbenchOptions& options) {
  const QStringList files = parser.positionalArguments();
  if (files.size() > 1)
    return bad("unexpected_argument", files.mid(1).join(" "), "only one experiment can be opened",
               "one file or directory", "Quote a name that contains spaces");
  if (options.run && !options.run_directory.isEmpty())
    return bad("conflicting_options", "--run", "cannot be combined with --run-directory",
               "one of them");
  if (options.run && (options.experiment.isEmpty() || QFileInfo(options.experiment).isDir()))
    return bad("missing_argument", "--run", "needs an experiment",
               "trainyard --run EXPERIMENT.json");
  if (parser.isSet("wait") && options.screenshot.isEmpty())
    return bad("missing_argument", "--wait",
               "sets the delay of a screenshot, but --screenshot is missing",
               "together with --screenshot FILE.png");
  if (!options.screenshot.isEmpty() && !options.screenshot.endsWith(".png", Qt::CaseInsensitive))
    return bad("bad_value", "--screenshot",
               QString("unknown value: \"%1\"").arg(options.screenshot),
               "a file name that ends in .png");
  return {};
}

// If the argument EXPERIMENT is a directory, treats it as a run directory.
void use_directory_as_run(WorkbenchOptions& options) {
  if (options.run_directory.isEmpty() && QFileInfo(options.experiment).isDir() &&
      !contains_sweep(options.experiment))
    options.experiment.swap(options.run_directory);
}

}  // namespace

void describe(QCommandLineParser& parser) {
  parser.setApplicationDescription(
      "Trainyard: a workbench for distributed training.\n\nExamples:\n  trainyard\n  trainyard "
      "resources/experiments/four_devices_mirrored_digits.json\n  "
      "trainyard ~/.local/share/trainyard/runs/2026-11-21_14-03-12_four-devices\n\n"
      "Theme (light, dark) and font size: menu View, Look in the workbench. It remembers both.\n\n"
      "Exit codes: 0 done, 2 bad usage or bad input, 3 failed.");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("experiment",
                               "Experiment file (JSON), or the directory of a run or of a sweep.",
                               "[experiment]");
  parser.addOption({"run-directory",
                    "Open a live or finished run in all views; may be combined with an experiment.",
                    "DIR"});
  parser.addOption({"run", "Start training the experiment immediately."});
  parser.addOption({"screenshot", "Save a screenshot of the window, and exit.", "FILE.png"});
  parser.addOption({"size", "Size of the window.", "WIDTHxHEIGHT"});
  parser.addOption({"wait", "With --screenshot: delay before the screenshot.", "MILLISECONDS",
                    QString::number(kSettleMilliseconds)});
  parser.addOption({"settings", "Settings file to use instead of the user's.", "FILE"});
}

base::Result<WorkbenchOptions> read_options(const QStringList& arguments) {
  QCommandLineParser parser;
  describe(parser);
  if (!parser.parse(without_options_of_qt(arguments)))
    return base::fail(bad("unknown_option", "trainyard",
                          parser.errorText().remove(QRegularExpression("\\.$")), "",
                          "See trainyard --help"));
  WorkbenchOptions options;
  options.experiment = parser.positionalArguments().value(0);
  options.run_directory = parser.value("run-directory");
  options.screenshot = parser.value("screenshot");
  options.settings = parser.value("settings");
  options.run = parser.isSet("run");
  const auto wait = read_wait(parser.value("wait"));
  if (!wait) return base::fail(wait.error());
  options.wait_milliseconds = *wait;
  if (parser.isSet("size")) {
    const auto size = read_size(parser.value("size"));
    if (!size) return base::fail(size.error());
    options.size = *size;
  }
  if (auto problem = option_conflict(parser, options)) return base::fail(*problem);
  if (auto problem = missing(options)) return base::fail(*problem);
  use_directory_as_run(options);
  return options;
}

}  // namespace trainyard::app
