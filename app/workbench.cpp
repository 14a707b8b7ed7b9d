// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard: the workbench.
#include <fmt/core.h>

#include <QApplication>
#include <QCommandLineParser>
#include <QEventLoop>
#include <QTimer>
#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "app/network_address.h"
#include "app/paths.h"
#include "app/workbench_options.h"
#include "backends/zmq/control.h"
#include "core/experiment/document.h"
#include "core/session/system/run_directory.h"
#include "ui/main_window.h"
#include "ui/theme/icons.h"

namespace {

using namespace trainyard;

QString text(const std::filesystem::path& path) { return QString::fromStdString(path.string()); }

std::vector<ui::OwnAddress> own_addresses() {
  std::vector<ui::OwnAddress> addresses;
  for (const app::InterfaceAddress& one : app::own_interfaces())
    addresses.push_back(
        {QString::fromStdString(one.address), QString::fromStdString(one.interface)});
  return addresses;
}

ui::Services services() {
  return {zmq::connect,
          text(app::program_directory() / "trainyard-cli"),
          text(session::default_runs_directory()),
          text(app::examples_directory()),
          text(app::manual_directory()),
          own_addresses};
}

void set_program_name() {
  QCoreApplication::setOrganizationName("trainyard");
  QCoreApplication::setApplicationName("trainyard");
  QCoreApplication::setApplicationVersion(TRAINYARD_VERSION);
}

// True if the arguments request only help or version text, which needs no display.
bool wants_text_only(int argc, char** argv) {
  const std::set<std::string_view> words{"-h", "--help", "--help-all", "-v", "--version"};
  return std::any_of(argv + 1, argv + argc,
                     [&](const char* argument) { return words.contains(argument); });
}

int print_text(int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  set_program_name();
  QCommandLineParser parser;
  app::describe(parser);
  parser.process(application);  // prints the text and exits
  return 0;
}

// Keeps Qt's messages from being printed before the application exists. If there is no display, Qt
// would print messages meant for programmers and abort.
std::string deferred;

void report_missing_display(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (type != QtFatalMsg) return void(deferred += text.toStdString() + "\n");
  const char* display = std::getenv("DISPLAY");
  const std::string why = display != nullptr ? fmt::format("no display answers at {}", display)
                                             : std::string("DISPLAY is not set");
  std::fprintf(stderr,
               "error: the workbench needs a display, and %s.\n"
               "On the command line, run an experiment with: trainyard-cli run EXPERIMENT.json\n"
               "Over SSH, use ssh -X to show the workbench on your display.\n"
               "The workbench can open recordings of such runs later, on any machine.\n",
               why.c_str());
  std::_Exit(2);
}

std::unique_ptr<QApplication> open_display(int& argc, char** argv) {
  const auto before = qInstallMessageHandler(report_missing_display);
  auto application = std::make_unique<QApplication>(argc, argv);
  // Sets the decimal point to ".", because Qt has set the user's locale. Files and numbers use a
  // point in every locale.
  std::setlocale(LC_NUMERIC, "C");
  qInstallMessageHandler(before);
  std::fputs(deferred.c_str(), stderr);
  set_program_name();
  QApplication::setApplicationDisplayName("Trainyard");
  QApplication::setDesktopFileName("trainyard");
  QApplication::setWindowIcon(ui::icon("trainyard"));
  return application;
}

int refuse(const std::string& why, int exit_code) {
  std::fprintf(stderr, "error: %s\n", why.c_str());
  return exit_code;
}

QStringList given(int argc, char** argv) {
  QStringList arguments;
  for (int i = 0; i < argc; ++i) arguments << QString::fromLocal8Bit(argv[i]);
  return arguments;
}

bool may_run(const ui::Document& document) {
  return experiment::validate(document.experiment(), document.directory().toStdString()).empty();
}

// Starts the run and waits until its data has been checked, which may take a while. Returns true if
// there were no errors.
bool starts_run(ui::MainWindow& window) {
  window.start_run();
  while (window.run_wanted()) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  return window.center().errors().isHidden();
}

// Applies the options as far as possible. Returns 0, or the exit code of the first option that
// failed.
int carry_out(ui::MainWindow& window, const app::WorkbenchOptions& options) {
  if (options.size) {
    window.resize(*options.size);
    window.workspace().reset();
  }
  if (!options.experiment.isEmpty() && !window.open(options.experiment))
    return refuse(window.center().errors().text().toStdString(), 2);
  if (!options.run_directory.isEmpty()) window.open(options.run_directory);
  if (options.run && !starts_run(window))
    return refuse(window.center().errors().text().toStdString(),
                  may_run(window.document()) ? 3 : 2);
  return 0;
}

// True if the recording is readable. Waits until some of the recording was read, or until its end
// was reached.
bool has_run(ui::MainWindow& window) {
  const ui::Run* run = window.runs().current();
  while (run && run->history().ranks() == 0 && !run->complete())
    QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  return run && run->history().ranks() > 0;
}

// Saves a screenshot of the window after everything is drawn, for the README and for tests.
int save_screenshot(ui::MainWindow& window, const app::WorkbenchOptions& options) {
  QEventLoop event_loop;
  QTimer::singleShot(options.wait_milliseconds, &event_loop, SLOT(quit()));
  event_loop.exec();
  if (!options.run_directory.isEmpty() && !has_run(window))
    return refuse(window.center().errors().text().toStdString(), 2);
  if (!window.grab().save(options.screenshot))
    return refuse(options.screenshot.toStdString() + " cannot be written", 3);
  return 0;
}

// Runs the workbench. Errors are shown in the window, which stays open. With --screenshot, an error
// ends the program instead.
int work(const app::WorkbenchOptions& options) {
  ui::Setup setup;
  setup.services = services();
  setup.settings_file = options.settings;
  ui::MainWindow window(setup);
  window.show();
  const int failed = carry_out(window, options);
  if (window.isHidden()) return failed;  // the user closed the window meanwhile
  if (!options.screenshot.isEmpty()) return failed != 0 ? failed : save_screenshot(window, options);
  window.offer_recoveries();
  return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
  if (wants_text_only(argc, argv)) return print_text(argc, argv);
  const auto options = trainyard::app::read_options(given(argc, argv));
  if (!options) return refuse(trainyard::base::to_string(options.error()), 2);
  const auto application = open_display(argc, argv);
  return work(*options);
}
