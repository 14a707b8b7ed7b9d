// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep/sweep_run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/base/clock.h"
#include "core/experiment/document.h"
#include "core/session/sweep/sweep_file.h"
#include "core/session/sweep/sweep_measure.h"
#include "core/session/system/process.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLookEvery{20};

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Returns the directory name of a run, such as "03_ring-on-4-ranks".
std::string directory_name(std::size_t number, const experiment::Variant& variant) {
  std::string name = experiment::describe(variant);
  std::ranges::replace(name, ' ', '-');
  return (number < 10 ? "0" : "") + std::to_string(number) + "_" + name;
}

class Sweeping {
 public:
  explicit Sweeping(SweepParts parts) : p_(std::move(parts)) {}

  base::Result<Sweep> run() {
    if (const auto written = report(); !written) return base::fail(written.error());
    for (std::size_t i = 0; i < variants().size() && !interrupted(); ++i)
      if (variants()[i].state == VariantState::waiting)
        if (const auto done = run_one(i); !done) return base::fail(done.error());
    end();
    if (const auto written = report(); !written) return base::fail(written.error());
    return p_.sweep;
  }

 private:
  std::vector<SweepVariant>& variants() { return p_.sweep.variants; }
  int interrupts() const { return p_.interrupts ? p_.interrupts() : 0; }
  bool interrupted() const { return interrupts() > 0; }

  base::Result<void> report() {
    const auto written = write_sweep(p_.sweep, p_.directory);
    if (written && p_.observe) p_.observe(p_.sweep);
    return written;
  }

  base::Result<void> run_one(std::size_t i) {
    SweepVariant& one = variants()[i];
    one.state = VariantState::running;
    one.directory = directory_name(i + 1, one.wanted(p_.sweep.scaling, p_.sweep.steps));
    one.began_unix_seconds = unix_seconds();
    if (const auto written = report(); !written) return written;
    const std::int64_t began_ns = base::now_nanoseconds();
    const auto done =
        train(one).and_then([&] { return measure(one, p_.sweep, p_.directory / one.directory); });
    one.seconds = base::seconds(base::now_nanoseconds() - began_ns);
    one.state = done            ? VariantState::done
                : interrupted() ? VariantState::canceled
                                : VariantState::failed;
    if (one.state == VariantState::failed) one.reason = done.error().what;
    return report();
  }

  // Runs the variant and waits until its process exits. Returns a Problem if the run has no result.
  base::Result<void> train(const SweepVariant& one) {
    const fs::path directory = p_.directory / one.directory;
    const auto document =
        experiment::variant(p_.whole, one.wanted(p_.sweep.scaling, p_.sweep.steps));
    if (!document) return base::fail(document.error());
    std::error_code error;
    fs::create_directories(directory, error);
    if (error)
      return base::fail(base::system_problem(directory.string(),
                                             "cannot make a directory for the run", error.value()));
    const std::string file = directory / "experiment.json";
    if (const auto saved = experiment::save(*document, file); !saved) return saved;
    ProcessOptions options;
    options.program = p_.program;
    options.arguments = {"run",
                         file,
                         "--out",
                         directory.string(),
                         "--json",
                         "--ends-with",
                         std::to_string(::getpid())};
    options.log_file = directory / "console.log";
    auto process = Process::start(options);
    if (!process) return base::fail(process.error());
    const std::string how = wait_for(*process);
    if (fs::exists(directory / "result.json", error)) return {};
    return base::fail({"sweep_run_failed", base::ProblemCode::failed, directory.string(),
                       failure_reason(directory, how), "", ""});
  }

  std::string wait_for(Process& process) const {
    int passed_on = 0;
    for (;;) {
      if (const auto how = process.ended()) return *how;
      for (; passed_on < interrupts(); ++passed_on) process.kill(SIGINT);
      if (p_.job_control.requested()) suspend(process);
      std::this_thread::sleep_for(kLookEvery);
    }
  }

  void suspend(Process& process) const {
    process.kill(SIGTSTP);
    p_.job_control.suspend();
    process.kill(SIGCONT);
  }

  void end() {
    const auto any = [this](VariantState state) {
      return std::ranges::any_of(variants(),
                                 [&](const SweepVariant& one) { return one.state == state; });
    };
    for (SweepVariant& one : variants())
      if (one.state == VariantState::waiting) one.state = VariantState::canceled;
    p_.sweep.state = any(VariantState::canceled) ? SweepState::canceled
                     : any(VariantState::failed) ? SweepState::failed
                                                 : SweepState::completed;
  }

  SweepParts p_;
};

}  // namespace

base::Result<Sweep> run_sweep(SweepParts parts) { return Sweeping(std::move(parts)).run(); }

}  // namespace trainyard::session
