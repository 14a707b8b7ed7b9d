// SPDX-License-Identifier: GPL-3.0-or-later
// check: expands the plan of an experiment as ranks do, verifies it, and reports its costs. Reads
// no samples.
#include "core/check/check.h"

#include <cmath>
#include <cstdio>

#include "app/cli/verbs.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/collective/engine_cost.h"
#include "core/experiment/measured_partition.h"
#include "core/plan/engine_lane.h"
#include "core/run/bind/memory_use.h"
#include "core/run/input/row_counts.h"
#include "core/session/advice/memory_problems.h"
#include "core/session/advice/recording_estimate.h"
#include "core/strategy/strategy.h"

namespace trainyard::cli {
namespace {

using base::Json;
using check::Proof;

const char* meaning(Proof proof) {
  switch (proof) {
    case Proof::structure: return "all numbers, spans and dependencies are in range";
    case Proof::order: return "all members of a group use it in the same order";
    case Proof::deadlock: return "no deadlock, even if every send blocks until it is received";
    case Proof::matching: return "every send matches its receive";
    case Proof::races: return "no access overlaps an unordered write";
    case Proof::casting:
      return "16-bit ops use casts of the current parameters; gradients are divided by the loss "
             "scale";
    case Proof::meaning: return "reduced values contain every rank once and are equal on all ranks";
    case Proof::mixing:
      return "the parameters of each rank become the average of its own and its neighbors' by a "
             "doubly stochastic mixing matrix";
    case Proof::averaging:
      return "when ranks synchronize, parameters become the mean of all ranks, or move toward a "
             "center that moves toward the mean";
    case Proof::gossip_pairs:
      return "every average joins an active rank and a passive rank with equal weights; passive "
             "ranks never wait, so there is no deadlock";
    case Proof::sharding:
      return "forward and backward passes use full parameters; every shard is updated once with "
             "the gradient of all ranks; no other state is stored";
    case Proof::passing:
      return "every layer uses the outputs of earlier layers for the same micro-batch, and its "
             "full gradient; each value is used once";
    case Proof::recomputing:
      return "every recomputed output equals the first one, has the same inputs, and is ready for "
             "the backward pass";
    case Proof::versions:
      return "forward and backward of a micro-batch use the same weight version; updates are in "
             "order, each once";
    case Proof::offloading:
      return "fetched data equal the offloaded data, and arrive before they are used";
    case Proof::serving:
      return "every parameter is on one server, workers and servers agree on it, and the arrival "
             "rule cannot deadlock";
  }
  return "";
}

std::string engine_of(const plan::Plan& plan) { return plan::engine_of(plan.rank_plan(0)); }
std::int64_t engine_bytes(const plan::Plan& plan, std::int32_t rank) {
  return collective::step_engine_bytes(plan.rank_plan(rank), plan.groups, plan.schedule);
}

// Result of verifying a plan, with the memory that each rank will allocate.
struct Checked {
  const experiment::Resolved& experiment;
  const plan::Plan& plan;
  const check::Report& report;
  std::vector<run::MemoryUse> memory = session::memory_of(plan);  // by rank, like `excess_bytes`
  std::vector<std::int64_t> excess_bytes = session::excess_bytes(experiment, memory);
  session::RecordingEstimate recording = session::estimate_recording(experiment, plan);
};

Json rank_json(const Checked& checked, std::size_t rank) {
  const plan::Plan& plan = checked.plan;
  const check::Memory& memory = checked.report.memory[rank];
  const auto number = static_cast<std::int32_t>(rank);
  const bool meet_at_times = plan.schedule.synchronizes_periodically();
  const std::int64_t bytes =
      meet_at_times ? collective::step_sent_bytes(plan.rank_plan(number), plan.schedule)
      : checked.report.traffic.empty() ? 0
                                       : checked.report.traffic.front().bytes_from(number);
  const bool by_engine = !engine_of(plan).empty();
  const Json sent = by_engine ? Json() : Json(bytes);
  const run::MemoryUse& use = checked.memory[rank];
  Json parts;
  for (const auto& [part, name] : base::Names<run::MemoryPurpose>::table)
    parts[std::string(name)] = use.of(part);
  parts["padding"] = use.padding;
  Json json{{"rank", rank},
            {"sent_bytes", sent},
            {"buffer_bytes", memory.buffers},
            {"shared_bytes", memory.shared},
            {"peak_memory_bytes", memory.peak},
            {"memory_bytes", use.total()},
            {"memory_parts", parts},
            {"lacking_bytes", checked.excess_bytes[rank]}};
  if (by_engine) json["engine_bytes"] = engine_bytes(plan, number);
  return json;
}

void print_json_report(const Checked& checked, const base::Problems& shortages) {
  const plan::Plan& plan = checked.plan;
  const check::Report& report = checked.report;
  for (const Proof proof : report.proofs)
    print_json({{"type", "proof"}, {"name", check::name(proof)}, {"proved", true}});
  for (const check::ProgramTraffic& traffic : report.traffic) {
    Json line{{"type", "traffic"},
              {"program", traffic.program},
              {"rounds", traffic.rounds},
              {"sent", Json::array()}};
    for (const check::Sent& sent : traffic.sent)
      line["sent"].push_back({{"from", sent.from},
                              {"to", sent.to},
                              {"bytes", sent.bytes},
                              {"messages", sent.messages}});
    print_json(line);
  }
  Json result{{"type", "result"},
              {"status", "completed"},
              {"hash", plan::hash(plan)},
              {"ranks", Json::array()}};
  for (std::size_t rank = 0; rank < report.memory.size(); ++rank)
    result["ranks"].push_back(rank_json(checked, rank));
  result["recording"] = {{"bytes", std::llround(checked.recording.bytes)},
                         {"complete_bytes", std::llround(checked.recording.complete_bytes)},
                         {"thinned_from_step", checked.recording.thinned_from_step}};
  if (const auto awaited = experiment::times_pending_line(checked.experiment.document.strategy))
    result["notes"] = {*awaited};
  if (!shortages.empty()) result["problems"] = problems_json(shortages);
  print_json(result);
}

void print_traffic(const plan::Plan& plan, const check::ProgramTraffic& traffic) {
  std::printf("program %s: %d %s a bucket\n", traffic.program.c_str(), traffic.rounds,
              traffic.rounds == 1 ? "round" : "rounds");
  for (std::int32_t rank = 0; rank < plan.ranks; ++rank)
    std::printf("  rank %d sends %s%s\n", rank, run::names_rows(plan) ? "at most " : "",
                base::format_bytes(static_cast<double>(traffic.bytes_from(rank))).c_str());
}

// Prints the costs of a plan whose collectives run in an engine. The engine chooses its own
// algorithm.
void print_engine(const plan::Plan& plan, const std::string& engine) {
  std::printf(
      "%s runs full collectives and does not report their bytes. Lower bound per step, by "
      "formula:\n",
      engine.c_str());
  for (std::int32_t rank = 0; rank < plan.ranks; ++rank)
    std::printf("  rank %d sends %s\n", rank,
                base::format_bytes(static_cast<double>(engine_bytes(plan, rank))).c_str());
}

// Prints the memory of a rank. Only the total in the first line is compared with the memory of the
// device. It counts buffers that share memory once, so it is smaller than the sum of all buffers.
void print_memory(const Checked& checked, std::size_t rank) {
  const check::Memory& memory = checked.report.memory[rank];
  std::printf("  rank %zu takes %s\n", rank, run::describe(checked.memory[rank]).c_str());
  std::printf("    buffers without reuse of memory: %s; buffers that peers read: %s\n",
              base::format_bytes(static_cast<double>(memory.buffers)).c_str(),
              base::format_bytes(static_cast<double>(memory.shared)).c_str());
  if (const std::int64_t lacks = checked.excess_bytes[rank]; lacks > 0)
    std::printf("    does not fit: %s more than the memory of its device\n",
                base::format_bytes(static_cast<double>(lacks)).c_str());
}

void print_report(const Checked& checked) {
  const plan::Plan& plan = checked.plan;
  const check::Report& report = checked.report;
  for (const Proof proof : report.proofs)
    std::printf("proved: %-11s %s\n", std::string(check::name(proof)).c_str(), meaning(proof));
  for (const check::ProgramTraffic& traffic : report.traffic)
    if (!traffic.sent.empty()) print_traffic(plan, traffic);
  if (const std::string engine = engine_of(plan); !engine.empty()) print_engine(plan, engine);
  std::printf("memory\n");
  for (std::size_t rank = 0; rank < report.memory.size(); ++rank) print_memory(checked, rank);
  std::printf("recording of the run: %s\n", session::recording_line(checked.recording).c_str());
  if (const auto awaited = experiment::times_pending_line(checked.experiment.document.strategy))
    std::printf("note: %s\n", awaited->c_str());
  std::printf("plan %s\n", plan::hash(plan).c_str());
}

int run_check(const ExperimentArguments& arguments) {
  const auto resolved = load_resolved(arguments);
  if (!resolved) return complain(resolved.error(), arguments.json);
  const auto plan = strategy::make_plan(*resolved);
  if (!plan) return complain({plan.error()}, arguments.json);
  const check::Report report = check::examine(*plan);
  if (!report.findings.empty()) {
    if (!report.grid.empty()) std::fprintf(stderr, "%s\n", report.grid.c_str());
    return complain(report.problems(), arguments.json);
  }
  const Checked checked{*resolved, *plan, report};
  const base::Problems shortages = memory_problems(*resolved, checked.memory);
  arguments.json ? print_json_report(checked, shortages) : print_report(checked);
  std::fflush(stdout);
  for (const base::Problem& problem : shortages)
    std::fprintf(stderr, "warning: %s\n", base::to_string(problem).c_str());
  return 0;
}

}  // namespace

void add_check(Verb& program) {
  Verb verb = program.add_verb(
      "check",
      "Prove that a plan has no deadlock, no race and the correct sum; print its bytes and memory");
  ExperimentArguments& arguments = verb.on_run(run_check);
  arguments.add_to(verb);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli check resources/experiments/four_devices_mirrored_digits.json\n"
      "  trainyard-cli check experiment.json --set strategy.algorithm=direct --json\n"
      "Exit codes: 0 the plan is correct (a device that lacks memory is only a warning here, but "
      "an error of run and validate); 2 the plan is incorrect, or there is none.");
}

}  // namespace trainyard::cli
