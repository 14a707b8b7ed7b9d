// SPDX-License-Identifier: GPL-3.0-or-later
// sweep: runs one experiment with several rank counts and several algorithms, each as a separate
// run, and prints how training scales.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "app/cli/interrupts.h"
#include "app/cli/verbs.h"
#include "app/devices.h"
#include "app/paths.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/session/sweep/sweep_file.h"
#include "core/session/sweep/sweep_run.h"
#include "core/session/sweep/sweep_text.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;
using base::Json;
using session::Sweep;
using session::VariantState;

struct SweepArguments : ExperimentArguments {
  std::string ranks, algorithms, scaling = "weak", out;
  std::int64_t steps = 50;
};

std::string current_time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

base::Result<session::SweepRequest> read_request(const SweepArguments& arguments) {
  const auto of_option = [](base::Problem problem) {
    problem.where = "--" + problem.where;
    return problem;
  };
  session::SweepRequest request;
  request.scaling =
      arguments.scaling == "strong" ? experiment::Scaling::strong : experiment::Scaling::weak;
  request.steps = arguments.steps;
  if (!arguments.ranks.empty()) {
    auto ranks = session::read_ranks(arguments.ranks).map_error(of_option);
    if (!ranks) return base::fail(ranks.error());
    request.ranks = std::move(*ranks);
  }
  if (!arguments.algorithms.empty()) {
    auto algorithms = session::read_algorithms(arguments.algorithms).map_error(of_option);
    if (!algorithms) return base::fail(algorithms.error());
    request.algorithms = std::move(*algorithms);
  }
  return request;
}

// Marks variants as skipped if this data or the GPUs of this machine make them impossible. If no
// variant is left, returns the problems of the experiment.
base::Problems skip_invalid_variants(Sweep& sweep, const experiment::Experiment& whole,
                                     const fs::path& directory) {
  base::Problems first;
  bool any = false;
  for (session::SweepVariant& one : sweep.variants) {
    if (one.state != VariantState::waiting) continue;
    const auto document = experiment::variant(whole, one.wanted(sweep.scaling, sweep.steps));
    base::Problems problems =
        document ? experiment::validate(*document, directory) : base::Problems{document.error()};
    if (problems.empty()) problems = app::gpu_problems(document->topology);
    any = any || problems.empty();
    if (problems.empty()) continue;
    one.state = VariantState::left_out;
    one.reason = problems.front().where + ": " + problems.front().what;
    if (first.empty()) first = std::move(problems);
  }
  if (any) return {};
  if (first.empty())
    first = {{"no_variant_runs", base::ProblemCode::bad_input, "",
              fmt::format("no variant can run: {}", sweep.variants.front().reason), "",
              "Change the numbers of ranks or the algorithms of the sweep."}};
  return first;
}

Json variant_json(const Sweep& sweep, std::size_t i) {
  return session::to_json(sweep.variants[i], session::scaled(sweep)[i]);
}

Json result_json(const Sweep& sweep, const fs::path& directory) {
  Json json{{"type", "result"},
            {"status", base::name_of(sweep.state)},
            {"scaling", base::name_of(sweep.scaling)},
            {"steps", sweep.steps},
            {"warm_up_steps", sweep.warm_up_steps}};
  const auto against = session::baseline(sweep);
  json["baseline"] =
      against ? Json{{"ranks", sweep.variants[*against].ranks}, {"variant", *against}} : Json();
  json["variants"] = Json::array();
  for (std::size_t i = 0; i < sweep.variants.size(); ++i)
    json["variants"].push_back(variant_json(sweep, i));
  json["notes"] = session::caveats(sweep);
  json["sweep_directory"] = directory.string();
  return json;
}

// Prints a line when a variant starts, and a line when its result is known.
class ProgressPrinter {
 public:
  ProgressPrinter(bool json, std::size_t variants)
      : json_(json), printed_(variants, VariantState::waiting) {}

  void print_changes(const Sweep& sweep) {
    for (std::size_t i = 0; i < printed_.size(); ++i) {
      const session::SweepVariant& one = sweep.variants[i];
      if (one.state == printed_[i]) continue;
      printed_[i] = one.state;
      json_ ? print(sweep, i) : say(sweep, i);
    }
  }

 private:
  static void print(const Sweep& sweep, std::size_t i) {
    Json line = variant_json(sweep, i);
    line["type"] = "progress";
    line["variant"] = i;
    line["variants"] = sweep.variants.size();
    print_json(line);
  }

  static void say(const Sweep& sweep, std::size_t i) {
    const session::SweepVariant& one = sweep.variants[i];
    const std::string what = experiment::describe(one.wanted(sweep.scaling, sweep.steps));
    const session::SweepProgress so_far = session::progress(sweep, one.began_unix_seconds);
    const std::string left =
        so_far.seconds_left && *so_far.seconds_left > 0
            ? ", about " + base::format_seconds(std::ceil(*so_far.seconds_left)) + " left"
            : "";
    const std::string state =
        one.state == VariantState::left_out ? "left out" : std::string(base::name_of(one.state));
    std::fprintf(stderr, "%lld of %lld done%s: %s %s%s\n", static_cast<long long>(so_far.over),
                 static_cast<long long>(so_far.runs), left.c_str(), what.c_str(), state.c_str(),
                 one.reason.empty() ? "" : (": " + one.reason).c_str());
  }

  bool json_;
  std::vector<VariantState> printed_;
};

// Prints left-aligned columns. The last column is not padded.
void print_table(const std::vector<std::vector<std::string>>& rows) {
  for (const auto& cells : rows) {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[column].size());
      const bool last = column + 1 == cells.size(),
                 words = column == static_cast<std::size_t>(session::SweepColumn::algorithm);
      const std::string pad(last ? 0 : width - cells[column].size(), ' ');
      line +=
          (column == 0 ? "" : "  ") + (words || last ? cells[column] + pad : pad + cells[column]);
    }
    std::printf("%s\n", line.c_str());
  }
}

void print_summary(const Sweep& sweep, const fs::path& directory) {
  std::vector<std::vector<std::string>> rows(1);
  for (int column = 0; column < session::kSweepColumns; ++column)
    rows[0].push_back(session::heading(static_cast<session::SweepColumn>(column)));
  const auto figures = session::scaled(sweep);
  for (std::size_t i = 0; i < sweep.variants.size(); ++i)
    rows.push_back(session::row(sweep.variants[i], figures[i]));
  print_table(rows);
  std::printf("\n%s\n%s\n", session::scaling_text(sweep).c_str(),
              session::measurement_text(sweep).c_str());
  if (const std::string against = session::baseline_text(sweep); !against.empty())
    std::printf("%s\n", against.c_str());
  for (const std::string& caveat : session::caveats(sweep))
    std::printf("note: %s\n", caveat.c_str());
  std::printf("sweep directory: %s\n", directory.c_str());
}

int exit_code_of(session::SweepState state) {
  return state == session::SweepState::completed  ? 0
         : state == session::SweepState::canceled ? 130
                                                  : 3;
}

base::Result<Sweep> carry_out(const SweepArguments& arguments, Sweep sweep,
                              const experiment::Experiment& whole, const fs::path& directory) {
  ProgressPrinter printer(arguments.json, sweep.variants.size());
  session::SweepParts parts;
  parts.sweep = std::move(sweep);
  parts.whole = whole;
  parts.directory = directory;
  parts.program = app::program_directory() / "trainyard-cli";
  parts.interrupts = interrupts;
  parts.job_control = catch_suspension();
  parts.observe = [&](const Sweep& now) { printer.print_changes(now); };
  return session::run_sweep(std::move(parts));
}

// Creates the sweep directory, locks it, writes the document there, and runs the variants.
int run_sweep_in_directory(const SweepArguments& arguments, Sweep sweep,
                           const experiment::Experiment& whole) {
  const auto directory = session::make_sweep_directory(arguments.out, whole.name);
  if (!directory) return complain({directory.error()}, arguments.json);
  const auto lock = session::SweepLock::take(*directory);
  if (!lock) return complain({lock.error()}, arguments.json);
  if (const auto saved = experiment::save(whole, *directory / "experiment.json"); !saved)
    return complain({saved.error()}, arguments.json);
  const auto over = carry_out(arguments, std::move(sweep), whole, *directory);
  if (!over) return complain({over.error()}, arguments.json);
  if (arguments.json) print_json(result_json(*over, *directory));
  else print_summary(*over, *directory);
  return exit_code_of(over->state);
}

int run_sweep(const SweepArguments& arguments) {
  catch_signals();
  const auto request = read_request(arguments);
  if (!request) return complain({request.error()}, arguments.json);
  const auto given = load(arguments);
  if (!given) return complain(given.error(), arguments.json);
  auto sweep = session::make_sweep(*given, *request);
  if (!sweep) return complain({sweep.error()}, arguments.json);
  sweep->started = current_time_text();
  const fs::path data = *arguments.directory();  // set, because the file was read before
  if (auto problems = skip_invalid_variants(*sweep, *given, data); !problems.empty())
    return complain(problems, arguments.json);
  if (interrupts() > 0)
    return complain({{"canceled", base::ProblemCode::canceled, "",
                      "canceled before the sweep started", "", ""}},
                    arguments.json);
  return run_sweep_in_directory(arguments, std::move(*sweep), experiment::located(*given, data));
}

}  // namespace

void add_sweep(Verb& program) {
  Verb verb = program.add_verb(
      "sweep",
      "Measure scaling: train on 1, 2, 4, ... ranks with one or more all-reduce algorithms");
  SweepArguments& arguments = verb.on_run(run_sweep);
  arguments.add_to(verb);
  verb.option("--ranks", arguments.ranks,
              "Numbers of ranks, for example 1,2,4; each run uses the first ranks of the drawing "
              "(default: 1, 2, 4, ... and all drawn ranks)")
      .type_name("LIST");
  verb.option("--algorithms", arguments.algorithms,
              "All-reduce algorithms, for example ring,direct, or all (default: the algorithm of "
              "the experiment)")
      .type_name("LIST");
  verb.option("--scaling", arguments.scaling,
              "Scaling; weak: constant batch per rank (default); strong: constant global batch, "
              "that of the full drawing")
      .one_of({"weak", "strong"});
  verb.option(
          "--steps", arguments.steps,
          "Steps per run (default: 50); the first fifth, at most 10, are warm-up and not measured")
      .range(2, 1'000'000'000);
  verb.option("--out", arguments.out,
              "Sweep directory (default: a new one under ~/.local/share/trainyard/sweeps)")
      .type_name("DIR");
  verb.examples(
      "Examples:\n"
      "  trainyard-cli sweep resources/experiments/four_devices_mirrored_digits.json\n"
      "  trainyard-cli sweep e.json --ranks 1,2,4 --algorithms ring,direct,star --steps 100\n"
      "  trainyard-cli sweep e.json --scaling strong --algorithms all --json\n"
      "Each run has its own directory in the sweep directory and can be opened in the workbench. "
      "Variants that are not possible are left out, with the reason.\n"
      "Exit codes: 0 all runs completed; 2 bad usage or bad input; 3 some runs failed, the others "
      "are kept; 130 canceled, finished runs are kept.");
}

}  // namespace trainyard::cli
