// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/machines/hosts_process.h"

#include <QProcess>
#include <QTimer>
#include <utility>

#include "core/base/stored_document.h"
#include "ui/model/runs/services.h"

namespace trainyard::ui {
namespace {

constexpr int kEndMilliseconds = 3000;  // time for the process to end after it was interrupted

// Problem in the result line.
struct ProblemLine {
  std::string id{}, code{}, where{}, what{}, accepted{}, advice{};
};

struct ResultLine {
  std::vector<ProblemLine> problems{};
};

}  // namespace
}  // namespace trainyard::ui

namespace trainyard::base {

template <>
struct Fields<ui::HostsLine> {
  using L = ui::HostsLine;
  static constexpr std::string_view title = "line of hosts";
  static auto table() {
    return std::tuple{
        field("type", &L::type, "", {}, "Type of the line"),
        field("subject", &L::subject, "", {}, "Subject of the question"),
        field("fingerprint", &L::fingerprint, "", {}, "Fingerprint of the host key"),
        field("kind", &L::kind, "", {}, "Kind of the host key"),
        field("name", &L::name, "", {}, "Name of the agent's build"),
        field("bytes", &L::bytes, "B", {0, 1e18}, "Size of the agent's archive"),
        field("sent_bytes", &L::sent_bytes, "B", {0, 1e18}, "Bytes that were sent"),
        field("total_bytes", &L::total_bytes, "B", {0, 1e18}, "Bytes to send"),
        field("host", &L::host, "", {}, "Name of the host"),
        field("check", &L::check, "", {}, "Name of the check"),
        field("text", &L::text, "", {}, "What was found"),
        field("passed", &L::passed, "", {}, "True if the check passed"),
        field("status", &L::status, "", {}, "Status of the verb"),
        field("destination", &L::destination, "", {}, "Destination for ssh"),
        field("architecture", &L::architecture, "", {}, "Architecture"),
        field("cores", &L::cores, "cores", {1, 1e6}, "Usable cores"),
        field("memory_bytes", &L::memory_bytes, "B", {0, 9e18}, "Memory"),
        field("joined", &L::joined, "", {}, "True if the machine has joined"),
        field("seconds", &L::seconds, "s", {0, 1e9}, "Time until it ends"),
        field("silent_seconds", &L::silent_seconds, "s", {0, 1e9}, "Time since anything arrived"),
        field("invitation", &L::invitation, "", {}, "Invitation"),
        field("machines", &L::machines, "", {0, 1e6}, "Machines to admit"),
        field("qr_code", &L::qr_code, "", {}, "Rows of the QR code")};
  }
};

template <>
struct Fields<ui::ProblemLine> {
  using P = ui::ProblemLine;
  static constexpr std::string_view title = "problem";
  static auto table() {
    return std::tuple{field("id", &P::id, "", {}, "Name of the kind of problem"),
                      field("code", &P::code, "", {}, "Class of problems"),
                      field("where", &P::where, "", {}, "Location"),
                      field("what", &P::what, "", {}, "What was found"),
                      field("accepted", &P::accepted, "", {}, "Accepted values"),
                      field("advice", &P::advice, "", {}, "What to do")};
  }
};

template <>
struct Fields<ui::ResultLine> {
  static constexpr std::string_view title = "result";
  static auto table() {
    return std::tuple{field("problems", &ui::ResultLine::problems, "", {}, "Problems")};
  }
};

}  // namespace trainyard::base

namespace trainyard::ui {
namespace {

base::ProblemCode code_of(const std::string& name) {
  using Code = base::ProblemCode;
  for (const Code code : {Code::bad_usage, Code::bad_input, Code::unavailable, Code::refused,
                          Code::failed, Code::canceled})
    if (base::name(code) == name) return code;
  return Code::failed;
}

base::Problems problems_in(const base::Json& json) {
  ResultLine result;
  base::Problems ignored, problems;
  base::read_present(json, result, "", ignored);
  for (const ProblemLine& line : result.problems)
    problems.push_back(
        {line.id, code_of(line.code), line.where, line.what, line.accepted, line.advice});
  return problems;
}

}  // namespace

session::Machine HostsLine::machine() const {
  return {destination, host, architecture, cores, memory_bytes, {}};
}

HostsProcess::~HostsProcess() {
  if (process_ == nullptr) return;
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(1000);
}

void HostsProcess::start(const Services& services, const QStringList& arguments) {
  cancel();
  completed_ = false;
  problems_.clear();
  process_ = new QProcess(this);
  connect(process_, &QProcess::readyReadStandardOutput, this, &HostsProcess::read_lines);
  connect(process_, &QProcess::finished, this, &HostsProcess::finish);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) fail_to_start();
  });
  process_->start(services.command_line_program, QStringList{"hosts"} + arguments);
}

void HostsProcess::answer(bool yes) {
  if (process_ != nullptr) process_->write(yes ? "yes\n" : "no\n");
}

// Interrupts the process, and kills it if it does not end soon.
void HostsProcess::cancel() {
  QProcess* process = std::exchange(process_, nullptr);
  if (process == nullptr) return;
  process->disconnect(this);
  process->setParent(nullptr);  // it may outlive this object
  connect(process, &QProcess::finished, process, &QObject::deleteLater);
  process->closeWriteChannel();
  process->terminate();
  QTimer::singleShot(kEndMilliseconds, process, &QProcess::kill);
}

void HostsProcess::read_lines() {
  // A receiver of `line_read` may cancel the process.
  while (process_ != nullptr && process_->canReadLine()) {
    const auto json = base::parse_json(process_->readLine().toStdString(), "trainyard-cli hosts");
    if (!json) continue;
    HostsLine line;
    base::Problems ignored;
    base::read_present(*json, line, "", ignored);
    if (line.type == "result") {
      completed_ = line.status == "completed";
      problems_ = problems_in(*json);
    }
    emit line_read(line);
  }
}

void HostsProcess::finish() {
  read_lines();
  QProcess* process = std::exchange(process_, nullptr);
  if (process == nullptr) return;
  process->deleteLater();
  if (!completed_ && problems_.empty())
    problems_.push_back(
        {"hosts_ended_early", base::ProblemCode::failed, "trainyard-cli hosts",
         "the process ended without a result: " +
             QString::fromUtf8(process->readAllStandardError()).trimmed().toStdString(),
         "", "Try again."});
  emit ended(problems_);
}

void HostsProcess::fail_to_start() {
  QProcess* process = std::exchange(process_, nullptr);
  process->deleteLater();
  emit ended(
      {{"program_not_started", base::ProblemCode::unavailable, process->program().toStdString(),
        "the program cannot be started: " + process->errorString().toStdString(), "",
        "Check that it is installed next to the workbench."}});
}

}  // namespace trainyard::ui
