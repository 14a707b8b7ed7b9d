// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard: the workbench.
#include <QApplication>
#include <QCommandLineParser>
#include <QTextStream>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "app/paths.h"
#include "backends/zmq/control.h"
#include "core/session/run_directory.h"
#include "ui/main_window.h"
#include "ui/theme/icons.h"

namespace {

using namespace trainyard;

constexpr int kSettleMilliseconds = 1500;  // before a picture is taken: charts and cost line are drawn by then

QString text(const std::filesystem::path& path) { return QString::fromStdString(path.string()); }

ui::Services services() {
  return {zmq::connect, text(app::program_directory() / "trainyard-cli"), text(session::default_runs_directory()), text(app::examples_directory())};
}

// The window as it looks once everything is drawn, as a picture; for the README and for tests.
void take_picture(ui::MainWindow& window, const QString& file, int wait) {
  QTimer::singleShot(wait, &window, [&window, file] {
    const bool saved = window.grab().save(file);
    if (!saved) QTextStream(stderr) << "error: " << file << " cannot be written\n";
    QCoreApplication::exit(saved ? 0 : 3);
  });
}

void add_options(QCommandLineParser& parser) {
  parser.setApplicationDescription(
      "Trainyard: a workbench for distributed training.\n\nExamples:\n  trainyard\n  trainyard resources/experiments/four_devices_mirrored_digits.json\n  "
      "trainyard --run-directory ~/.local/share/trainyard/runs/2026-11-21_14-03-12_four-devices");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("experiment", "Experiment to open (JSON)", "[experiment]");
  parser.addOption({"run-directory", "Open a run, live or old, with all its views.", "DIR"});
  parser.addOption({"run", "Start training the experiment at once."});
  parser.addOption({"screenshot", "Save a picture of the window and leave.", "FILE.png"});
  parser.addOption({"size", "Size of the window.", "WIDTHxHEIGHT"});
  parser.addOption({"wait", "With --screenshot: wait so long before the picture.", "MILLISECONDS", QString::number(kSettleMilliseconds)});
  parser.addOption({"settings", "Use this settings file instead of the user's.", "FILE"});
}

void name_program() {
  QCoreApplication::setOrganizationName("trainyard");
  QCoreApplication::setApplicationName("trainyard");
  QCoreApplication::setApplicationVersion(TRAINYARD_VERSION);
}

// Words only: for these no display is opened.
bool asks_for_words(int argc, char** argv) {
  const std::set<std::string_view> words{"-h", "--help", "--help-all", "-v", "--version"};
  return std::any_of(argv + 1, argv + argc, [&](const char* argument) { return words.contains(argument); });
}

int say_words(int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  name_program();
  QCommandLineParser parser;
  add_options(parser);
  parser.process(application);  // leaves, once it has said them
  return 0;
}

// Without a display Qt would abort, with words for programmers. What it says before that is held back.
std::string held_back;

void say_no_display(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (type != QtFatalMsg) return void(held_back += text.toStdString() + "\n");
  const char* display = std::getenv("DISPLAY");
  std::fprintf(
      stderr,
      "error: the workbench needs a display, and %s%s.\nWithout one, train in the terminal:  trainyard-cli run EXPERIMENT.json  (see trainyard-cli --help)\n"
      "Over SSH, ssh -X brings the window to your screen. Recordings can be opened later, here or there.\n",
      display ? "none answers at " : "DISPLAY is not set", display ? display : "");
  std::_Exit(2);
}

std::unique_ptr<QApplication> open_display(int& argc, char** argv) {
  const auto before = qInstallMessageHandler(say_no_display);
  auto application = std::make_unique<QApplication>(argc, argv);
  qInstallMessageHandler(before);
  std::fputs(held_back.c_str(), stderr);
  name_program();
  QApplication::setApplicationDisplayName("Trainyard");
  QApplication::setDesktopFileName("trainyard");
  QApplication::setWindowIcon(ui::icon("trainyard"));
  return application;
}

void resize(ui::MainWindow& window, const QString& size) {
  const QStringList parts = size.split('x');
  if (parts.size() == 2) window.resize(parts[0].toInt(), parts[1].toInt());
  window.workspace().reset();
}

}  // namespace

int main(int argc, char** argv) {
  if (asks_for_words(argc, argv)) return say_words(argc, argv);
  const auto application = open_display(argc, argv);
  QCommandLineParser parser;
  add_options(parser);
  parser.process(*application);

  ui::Setup setup;
  setup.services = services();
  setup.settings_file = parser.value("settings");
  ui::MainWindow window(setup);
  window.show();
  if (parser.isSet("size")) resize(window, parser.value("size"));
  const QStringList files = parser.positionalArguments();
  if (!files.isEmpty() && !window.open(files.first())) QTextStream(stderr) << "error: " << window.errors().text() << "\n";
  if (parser.isSet("run-directory")) window.open(parser.value("run-directory"));
  if (parser.isSet("run")) window.start_run();
  if (parser.isSet("screenshot")) take_picture(window, parser.value("screenshot"), parser.value("wait").toInt());
  else window.offer_what_was_left();
  return QApplication::exec();
}
