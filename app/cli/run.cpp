// SPDX-License-Identifier: GPL-3.0-or-later
// run: trains an experiment with real ranks. This process is the coordinator.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "app/cli/interrupts.h"
#include "app/cli/output_file.h"
#include "app/cli/run_summary.h"
#include "app/cli/verbs.h"
#include "app/devices.h"
#include "app/launch.h"
#include "app/machine_choice.h"
#include "backends/zmq/control.h"
#include "core/base/clock.h"
#include "core/base/descriptor_limit.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/machine.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/measured_partition.h"
#include "core/experiment/notes.h"
#include "core/experiment/placement.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/vertical.h"
#include "core/session/checkpoint/resume.h"
#include "core/session/coordinator/segment_times.h"
#include "core/session/protocol/status.h"
#include "core/session/replay/sample_order.h"
#include "core/session/system/run_directory.h"
#include "core/session/system/socket_directory.h"
#include "core/telemetry/summary.h"

namespace trainyard::cli {
namespace {

struct RunArguments : ExperimentArguments {
  std::int64_t steps = 0;
  std::string out, resume;
  std::string dump_order;      // file for the order of samples; empty: none
  std::int64_t ends_with = 0;  // process id whose end cancels the run; 0: none
};

// Number of steps to simulate. It is above 1, because only the first step has to fill the pipeline.
constexpr std::int64_t kSimulatedSteps = 3;
// Maximum number of ranks for which the run is simulated. With more ranks, the simulation would
// delay the run too much.
constexpr int kMaxSimulatedRanks = 64;

// True if a line of at most PIPE_BUF bytes can be written without blocking. The reader of the
// output may be stopped, such as a terminal after Ctrl-S. Ranks must not wait for it.
bool is_writable(int descriptor) {
  pollfd output{descriptor, POLLOUT, 0};
  return ::poll(&output, 1, 0) != 0;
}

// Prints progress on standard error: on a terminal a single line that is updated, otherwise a line
// every few seconds.
class ProgressLine {
 public:
  void show(const session::Status& status, const telemetry::History& history) {
    const auto may_print = [over = session::has_ended(status.state)] {
      return over || is_writable(STDERR_FILENO);
    };
    for (; faults_ < history.faults().size() && may_print(); ++faults_)
      tell(telemetry::words(history.faults()[faults_]));
    if (!may_print()) return;
    const std::int64_t now = base::now_nanoseconds();
    if (!terminal_ && now - shown_ns_ < 2'000'000'000 && status.state == session::RunState::running)
      return;
    shown_ns_ = now;
    const std::string text = line(status, history);
    if (text == last_) return;
    last_ = text;
    std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", base::printable_line(text).c_str());
  }
  void end() const {
    if (terminal_) std::fputc('\n', stderr);
  }

 private:
  // Prints a permanent line above the progress line.
  void tell(const std::string& text) {
    std::fprintf(stderr, terminal_ ? "\r\033[K%s\n" : "%s\n", base::printable_line(text).c_str());
    last_.clear();
    shown_ns_ = 0;
  }

  static std::string line(const session::Status& status, const telemetry::History& history) {
    std::string text =
        fmt::format("{}  {} of {} steps", base::name_of(status.state),
                    base::format_count(status.step), base::format_count(status.steps));
    if (const std::int64_t furthest = session::furthest_step(status);
        telemetry::is_asynchronous_gossip(history) && furthest > status.step)
      text += fmt::format(" by the slowest rank, {} by the fastest", base::format_count(furthest));
    if (!history.train_loss().empty())
      text +=
          fmt::format("  loss {}", base::number_text(history.train_loss().back().value, "%.4f"));
    if (!history.held_out_accuracy().empty())
      text +=
          fmt::format("  held-out accuracy {}",
                      base::number_text(100 * history.held_out_accuracy().back().value, "%.2f %%"));
    return text;
  }

  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::int64_t shown_ns_ = 0;
  std::string last_;
  std::size_t faults_ = 0;  // number of faults that were printed
};

void print_status(const session::Status& status, const telemetry::History& history) {
  base::Json line{{"type", "progress"},
                  {"state", base::name_of(status.state)},
                  {"step", status.step},
                  {"steps", status.steps}};
  if (telemetry::is_asynchronous_gossip(history))
    line["furthest_step"] = session::furthest_step(status);
  if (!history.train_loss().empty()) line["train_loss"] = history.train_loss().back().value;
  if (!history.held_out_accuracy().empty())
    line["held_out_accuracy"] = history.held_out_accuracy().back().value;
  if (!history.consensus_distance().empty())
    line["consensus_distance"] = history.consensus_distance().back().value;
  print_json(line);
}

int exit_code_of(const session::CoordinatorResult& outcome) {
  if (session::ended_well(outcome.state)) return 0;
  if (!outcome.problem) return 3;
  // The exit code is 3 (the run failed) if a rank could not get a resource, and 2 (bad input) if a
  // rank found bad input that only ranks can check.
  return outcome.problem->code == base::ProblemCode::unavailable
             ? 3
             : cli::exit_code_of(*outcome.problem);
}

// Opens the sockets of viewers and of ranks. Each rank has two connections. Leaves descriptors for
// files of the run.
base::Result<std::unique_ptr<session::ControlServer>> serve_control(
    const session::SocketDirectory& sockets, const std::string& run, int ranks) {
  constexpr std::int64_t kReserve = 64, kViewers = 64, kOfRank = 4;
  base::raise_descriptor_limit();
  const std::int64_t left = base::free_descriptors() - kReserve - kOfRank * ranks;
  if (left < 1)
    return base::fail(
        {"too_few_descriptors", base::ProblemCode::unavailable, "ulimit -n",
         fmt::format("{} more file descriptors are available, but a run of {} needs {}",
                     base::format_count(base::free_descriptors()), base::counted(ranks, "rank"),
                     kReserve + kOfRank * ranks + 1),
         "", "Raise the limit on open files (ulimit -n), or draw fewer devices."});
  const auto endpoint = [&](const char* name) {
    return "ipc://" + (sockets.path() / name).string();
  };
  zmq::ServeOptions options{run, 1, endpoint("ranks")};
  options.viewer_connections = static_cast<int>(std::min(left, kViewers));
  options.rank_connections = static_cast<int>(2 * ranks + 8);
  return zmq::serve(endpoint("control"), options);
}

base::Result<session::CoordinatorResult> coordinate(const RunArguments& arguments,
                                                    const experiment::Experiment& given,
                                                    experiment::Resolved resolved,
                                                    const base::Problems& skipped,
                                                    std::int64_t started_ns) {
  const auto sockets = session::SocketDirectory::make();
  if (!sockets) return base::fail(sockets.error());
  const auto run_directory = session::make_run_directory(
      arguments.out,
      given.name.empty() ? std::filesystem::path(arguments.file).stem().string() : given.name);
  if (!run_directory) return base::fail(run_directory.error());
  sockets->clean_also(*run_directory);
  const auto server = serve_control(*sockets, run_directory->filename().string(), resolved.world());
  if (!server) return base::fail(server.error());
  ProgressLine progress;
  session::CoordinatorParts parts;
  parts.given = given;
  parts.simulated_step_seconds = [resolved]() -> std::optional<double> {
    if (resolved.world() > kMaxSimulatedRanks) return std::nullopt;
    const auto outcome = simulate(resolved, kSimulatedSteps);
    return outcome ? std::optional(outcome->local_step_seconds) : std::nullopt;
  };
  parts.resolved = std::move(resolved);
  parts.run_directory = *run_directory;
  parts.server = server->get();
  parts.launch = app::launch;
  parts.interrupts = interrupts;
  parts.job_control = catch_suspension();
  parts.observe = [&](const session::Status& status, const telemetry::History& history) {
    if (!arguments.json) progress.show(status, history);
    else if (session::has_ended(status.state) || is_writable(STDOUT_FILENO))
      print_status(status, history);
  };
  parts.started_ns = started_ns;
  parts.skipped = skipped;
  parts.make_compute = app::make_compute;
  auto outcome = session::coordinate(std::move(parts));
  if (!arguments.json) progress.end();
  base::remove_unfinished(*run_directory);
  if (!sockets->has_cleanup())
    std::fprintf(stderr,
                 "warning: the cleanup process of the run is missing, so that a crash of the "
                 "coordinator would have left %s behind\n",
                 sockets->path().c_str());
  return outcome;
}

// If layers are assigned to stages by measured time, measures the times of the layers. Then checks
// the memory again, because the resulting assignment may need more memory.
base::Problems measure_layers(experiment::Resolved& resolved) {
  if (!experiment::needs_measured_times(resolved.document.strategy)) return {};
  auto times = session::measure_segments(resolved, app::make_compute);
  if (!times) return {times.error()};
  experiment::set_measured_times(resolved, std::move(*times));
  return memory_problems(resolved);
}

// Prints the caveats of the run before its measurements. `ends_at_steps`: the user limited the
// steps with --steps, so it is clear that training.epochs has no effect.
void print_notes(const experiment::Experiment& given, const experiment::Resolved& resolved,
                 bool ends_at_steps) {
  const experiment::Experiment& document = resolved.document;
  const auto note = [](const std::optional<std::string>& text) {
    if (text) std::fprintf(stderr, "note: %s\n", base::printable_line(*text).c_str());
  };
  if (const auto emulated = experiment::emulation_caveat(document.topology))
    note("EMULATED: " + *emulated);
  for (const experiment::Note& setting : experiment::all_notes(resolved)) note(to_string(setting));
  experiment::Experiment set = given;
  if (ends_at_steps) set.training.epochs = experiment::TrainingSpec{}.epochs;
  for (const std::string& unused : unused_setting_notes(set)) note(unused);
  note(experiment::shared_cores_caveat(document.topology, document.run, base::usable_cores()));
  note(experiment::shared_gpus_caveat(document.topology));
  note(experiment::equivalence_caveats(document));
  note(experiment::softsync_line(document));
  note(experiment::unused_restarts_line(document));
  note(experiment::paced_turns_note(document, document.run.seconds_per_step));
  if (document.strategy.stages.partition == experiment::Partition::measured)
    note(experiment::stages_line(resolved));
  if (resolved.first_step > 0)
    note(fmt::format("resumes from the checkpoint of step {}",
                     base::format_count(resolved.first_step)));
  if (experiment::shards_columns(resolved))
    note("every rank loads only its own feature columns (vertical sharding)");
}

// Changes problems of the field run.resume_from to name the option --resume, which sets that field.
base::Problems name_resume_option(base::Problems problems, const RunArguments& arguments) {
  for (base::Problem& problem : problems) {
    if (arguments.resume.empty() || problem.where != "run.resume_from") continue;
    problem.where = "--resume";
    if (problem.id != "resume_not_supported") continue;
    problem.accepted = "";
    problem.advice = "Leave --resume out, or use parameter_server with run.clock=machine.";
  }
  return problems;
}

base::Problem missing_resume_directory(const std::string& directory) {
  return {"missing_file",
          base::ProblemCode::bad_input,
          "--resume",
          fmt::format("{} is not a directory", directory),
          "the directory of a run with a checkpoint",
          "Check the path."};
}

// Returns a problem if the directory of the file for the order of samples is missing. It is
// reported before training, because the file is written afterwards.
base::Problems order_file_problems(const RunArguments& arguments) {
  std::error_code error;
  const auto directory = std::filesystem::absolute(arguments.dump_order, error).parent_path();
  if (std::filesystem::is_directory(arguments.dump_order, error))
    return {{"not_a_regular_file", base::ProblemCode::bad_usage, "--dump-order",
             fmt::format("{} is a directory", arguments.dump_order), "a file",
             "Add the name of a file."}};
  if (arguments.dump_order.empty() || std::filesystem::is_directory(directory, error)) return {};
  return {{"missing_directory", base::ProblemCode::bad_usage, "--dump-order",
           fmt::format("{} is not a directory", directory.string()), "a file in a directory",
           "Correct the path, or create the directory."}};
}

// Writes which sample each rank took, if requested. Returns `exit_code`, or the exit code of a
// problem if the run was fine.
int dump_order(const RunArguments& arguments, const base::Json& result, int exit_code) {
  if (arguments.dump_order.empty()) return exit_code;
  const std::string run_directory = result["run_directory"];
  const auto written = write_output_file(arguments.dump_order, [&](std::ostream& out) {
    return session::write_sample_order(run_directory, out);
  });
  if (written) return exit_code;
  std::fprintf(stderr, "error: %s\n", base::to_string(written.error()).c_str());
  return exit_code != 0 ? exit_code : cli::exit_code_of(written.error());
}

int run_experiment(const RunArguments& arguments) {
  const std::int64_t started_ns = base::now_nanoseconds();
  if (app::is_further_slurm_process(arguments.hosts)) return 0;
  catch_signals();
  // Reading data may take long, and leaves nothing behind.
  const base::Problem canceled{
      "canceled", base::ProblemCode::canceled, "", "canceled before the run started", "", ""};
  std::optional<ExitOnInterrupt> exit_on_interrupt;
  exit_on_interrupt.emplace(fmt::format("error: {}\n", base::to_string(canceled)),
                            arguments.json ? result_line_of({canceled}) + "\n" : std::string());
  base::set_log_name("coordinator");
  RunArguments effective = arguments;
  std::error_code error;
  if (!arguments.resume.empty() && !std::filesystem::is_directory(arguments.resume, error))
    return complain({missing_resume_directory(arguments.resume)}, arguments.json);
  if (const auto problems = order_file_problems(arguments); !problems.empty())
    return complain(problems, arguments.json);
  if (!arguments.resume.empty())
    effective.overrides.push_back("run.resume_from=" +
                                  std::filesystem::absolute(arguments.resume).string());
  if (arguments.steps > 0)
    effective.overrides.push_back("training.steps=" + std::to_string(arguments.steps));
  const auto given = load(effective);
  if (!given) return complain(given.error(), arguments.json);
  auto resolved = resolve(*given, effective);
  if (!resolved) return complain(name_resume_option(resolved.error(), arguments), arguments.json);
  if (const auto problems = memory_problems(*resolved); !problems.empty())
    return complain(problems, arguments.json);
  if (const auto problems = app::gpu_problems(resolved->document.topology); !problems.empty())
    return complain(problems, arguments.json);
  const auto skipped = session::resume(*resolved);
  if (!skipped) return complain(name_resume_option({skipped.error()}, arguments), arguments.json);
  for (const base::Problem& problem : *skipped)
    std::fprintf(stderr, "warning: %s\n", base::to_string(problem).c_str());
  exit_on_interrupt.reset();
  if (interrupts() > 0 || (arguments.ends_with > 0 && !end_with(arguments.ends_with)))
    return complain({canceled}, arguments.json);
  if (const auto problems = measure_layers(*resolved); !problems.empty())
    return complain(problems, arguments.json);
  if (!arguments.json) print_notes(*given, *resolved, arguments.steps > 0);
  const auto outcome = coordinate(effective, *given, std::move(*resolved), *skipped, started_ns);
  if (!outcome) return complain({outcome.error()}, arguments.json);
  if (arguments.json) print_json(outcome->result);
  else print_run_summary(outcome->result, *given);
  if (const auto step = outcome->result.find("diverged_step"); step != outcome->result.end())
    std::fprintf(stderr, "warning: %s\n", telemetry::divergence(step->get<std::int64_t>()).c_str());
  if (const auto bad = outcome->result.find("bad_gradients"); bad != outcome->result.end())
    std::fprintf(
        stderr, "warning: %s\n",
        telemetry::words(telemetry::BadGradients{(*bad)["step"], (*bad)["rank"], (*bad)["segment"],
                                                 (*bad)["skipped_updates"]})
            .c_str());
  if (outcome->problem)
    std::fprintf(stderr, "error: %s\n", base::to_string(*outcome->problem).c_str());
  return dump_order(arguments, outcome->result, exit_code_of(*outcome));
}

}  // namespace

void add_run(Verb& program) {
  Verb verb = program.add_verb("run", "Train an experiment, with one process per drawn device");
  RunArguments& arguments = verb.on_run(run_experiment);
  arguments.add_to(verb);
  verb.option("--steps", arguments.steps, "Stop after N steps, including the steps before --resume")
      .range(1, 1'000'000'000);
  verb.option("--resume", arguments.resume,
              "Resume from the newest checkpoint of the run in this directory (parameter_server)")
      .type_name("DIR");
  verb.option(
          "--out", arguments.out,
          "Run directory, new or empty (default: a new one under ~/.local/share/trainyard/runs)")
      .type_name("DIR");
  verb.option("--dump-order", arguments.dump_order,
              "After the run, write as CSV which rank took which sample in which step and "
              "micro-step")
      .type_name("FILE");
  verb.option("--ends-with", arguments.ends_with, "Stop cleanly when the parent process PID ends")
      .type_name("PID")
      .range(1, 1'000'000'000);
  verb.examples(
      "Examples:\n  trainyard-cli run resources/experiments/one_device_digits.json\n  "
      "trainyard-cli run e.json --set strategy.algorithm=direct --steps 200 "
      "--json\nCtrl-C stops the run properly and keeps the result (exit code 130); a second Ctrl-C "
      "stops "
      "immediately.");
}

}  // namespace trainyard::cli
