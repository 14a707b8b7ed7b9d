// SPDX-License-Identifier: GPL-3.0-or-later
// bench allreduce: times the all-reduce between real ranks. The ranks are processes, or threads
// with the transport inproc.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "app/cli/bench_allreduce.h"
#include "app/cli/verbs.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/collective/cost.h"
#include "core/experiment/engine.h"

namespace trainyard::cli {
namespace {

// Returns the duration of each repeat: from the start on the first rank to the end on the last.
// All ranks use one clock.
std::vector<double> seconds_of(const BenchAllTimes& all) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < all.front().begin_ns.size(); ++i) {
    std::int64_t begin = all.front().begin_ns[i], end = 0;
    for (const BenchTimes& rank : all) {
      begin = std::min(begin, rank.begin_ns[i]);
      end = std::max(end, rank.end_ns[i]);
    }
    seconds.push_back(static_cast<double>(end - begin) * 1e-9);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

double median_of(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

base::Json result(const BenchJob& job, const BenchAllTimes& all) {
  const std::vector<double> seconds = seconds_of(all);
  const double median = median_of(seconds), n = static_cast<double>(job.ranks);
  const double bandwidth = static_cast<double>(job.elements() * 4) / median;
  base::Json json{{"type", "result"},
                  {"status", "completed"},
                  {"algorithm", base::name_of(job.algorithm)},
                  {"transport", base::name_of(job.transport)},
                  {"engine", base::name_of(job.engine)},
                  {"reduction", base::name_of(job.reduction)},
                  {"ranks", job.ranks}};
  const bool own = job.engine == experiment::Engine::own;
  if (!own) json["algorithm"] = nullptr, json["transport"] = "tcp";
  json["bytes"] = job.elements() * 4;
  json["repeat"] = job.repeat;
  json["seconds"] = {{"median", median}, {"min", seconds.front()}, {"max", seconds.back()}};
  json["algorithm_bandwidth_bytes_per_second"] = bandwidth;
  json["bus_bandwidth_bytes_per_second"] = bandwidth * 2 * (n - 1) / n;
  if (own)
    for (const BenchTimes& rank : all)
      json["wire_bytes_per_rank"].push_back(rank.sent_payload_bytes);
  else json["wire_bytes_per_rank"] = nullptr;  // the engine reports no bytes
  return json;
}

void print(const base::Json& r) {
  const auto seconds = [&](const char* which) {
    return base::format_seconds(r["seconds"][which].get<double>());
  };
  const bool own = r["algorithm"].is_string();
  std::printf("all-reduce (%s) of %s over %s, %s, %s: verified\n",
              r["reduction"].get<std::string>().c_str(),
              base::format_bytes(r["bytes"].get<double>()).c_str(),
              (r["ranks"].dump() + (r["ranks"] == 1 ? " rank" : " ranks")).c_str(),
              r[own ? "algorithm" : "engine"].get<std::string>().c_str(),
              r["transport"].get<std::string>().c_str());
  std::printf("  time                 %s median, %s min, %s max of %s\n", seconds("median").c_str(),
              seconds("min").c_str(), seconds("max").c_str(), r["repeat"].dump().c_str());
  std::printf(
      "  algorithm bandwidth  %s\n",
      base::with_unit(r["algorithm_bandwidth_bytes_per_second"].get<double>(), "B/s").c_str());
  std::printf("  bus bandwidth        %s\n",
              base::with_unit(r["bus_bandwidth_bytes_per_second"].get<double>(), "B/s").c_str());
  std::printf("  sent by rank 0       %s\n",
              own ? base::format_bytes(r["wire_bytes_per_rank"][0].get<double>()).c_str()
                  : "not reported by the engine");
}

struct BenchArguments {
  BenchJob job;
  std::string algorithm{base::name_of(job.algorithm)}, transport{base::name_of(job.transport)},
      engine{base::name_of(job.engine)}, reduction{base::name_of(job.reduction)};
  bool json = false;
};

// Converts a name to its enum value. The command line parser has already checked that the name
// exists.
template <class Enum>
Enum named(const std::string& word) {
  Enum value{};
  for (const auto& [candidate, name] : base::Names<Enum>::table)
    if (name == word) value = candidate;
  return value;
}

// Chooses the algorithm for `ranks` devices on one host with default properties.
collective::Choice choose(const BenchJob& job) {
  topology::Topology drawing;
  drawing.hosts.emplace_back();
  drawing.hosts[0].devices.resize(static_cast<std::size_t>(job.ranks));
  for (std::size_t d = 0; d < drawing.hosts[0].devices.size(); ++d)
    drawing.hosts[0].devices[d].name = "cpu" + std::to_string(d);
  const topology::Network network(drawing);
  const std::int64_t elements =
      job.bucket_bytes > 0 ? std::min(job.bucket_bytes / 4, job.elements()) : job.elements();
  return collective::choose(job.segment_bytes,
                            {std::max<std::int64_t>(1, elements), 4, network.workers(),
                             std::vector<int>(static_cast<std::size_t>(job.ranks), 0)},
                            network)
      .value();
}

// Returns a problem for each option that the engine would ignore. Gloo, for example, chooses the
// algorithm and the segments itself.
base::Problems engine_problems(const BenchJob& job) {
  if (job.engine == experiment::Engine::own) return {};
  if (job.engine == experiment::Engine::nccl)
    return {{"engine_needs_gpus", base::ProblemCode::bad_usage, "--engine",
             "nccl works between GPUs, but the ranks of a bench are on CPUs", "own, gloo",
             "Choose another engine."}};
  base::Problems problems = experiment::absent_engine(job.engine);
  const std::string name(base::name_of(job.engine));
  if (job.algorithm != BenchJob().algorithm)
    problems.push_back({"option_not_supported", base::ProblemCode::bad_usage, "--algorithm",
                        name + " chooses its own algorithm", "", "Remove the option."});
  if (job.transport == BenchTransport::zmq)
    problems.push_back({"option_not_supported", base::ProblemCode::bad_usage, "--transport",
                        name + " uses its own transport (TCP)",
                        "inproc (ranks are threads), or no --transport (ranks are processes)",
                        "Remove the option."});
  if (job.segment_bytes > 0)
    problems.push_back({"option_not_supported", base::ProblemCode::bad_usage, "--segment-bytes",
                        name + " chooses its own segments", "", "Remove the option."});
  return problems;
}

int run_bench(const BenchArguments& arguments) {
  BenchJob job = arguments.job;
  job.algorithm = named<collective::Algorithm>(arguments.algorithm);
  job.transport = named<BenchTransport>(arguments.transport);
  job.engine = named<experiment::Engine>(arguments.engine);
  job.reduction = named<base::Reduction>(arguments.reduction);
  if (const base::Problems problems = engine_problems(job); !problems.empty())
    return complain(problems, arguments.json);
  if (job.segment_bytes == 0 && job.engine == experiment::Engine::own &&
      job.transport != BenchTransport::zmq)
    job.segment_bytes = collective::kSegmentBytesInMemory;
  std::string reason;
  if (job.algorithm == collective::Algorithm::automatic) {
    const collective::Choice choice = choose(job);
    job.algorithm = choice.algorithm;
    reason = choice.reason;
  }
  const auto all = measure_allreduce(job);
  if (!all) return complain({all.error()}, arguments.json);
  base::Json measured = result(job, *all);
  if (!reason.empty()) measured["chosen_because"] = reason;
  if (arguments.json) print_json(measured);
  else print(measured);
  return 0;
}

template <class Enum>
void add_choice(Verb& verb, const std::string& name, std::string& word, const std::string& help) {
  verb.option(name, word, help + " (default: " + word + ")").one_of(base::all_names<Enum>());
}

void add_allreduce(Verb& bench) {
  Verb verb = bench.add_verb("allreduce", "Measure an all-reduce between ranks on this machine");
  BenchArguments& arguments = verb.on_run(run_bench);
  BenchJob& job = arguments.job;
  verb.option("--ranks", job.ranks, "Number of ranks").required().range(1, 256);
  verb.option("--bytes", job.bytes,
              "Size of the fp32 buffer that is reduced, rounded down to a multiple of 4 bytes")
      .required()
      .range(4, std::int64_t{1} << 40);
  verb.option("--bucket-bytes", job.bucket_bytes, "Bucket size (default: one bucket)")
      .range(1, std::int64_t{1} << 40);
  verb.option("--segment-bytes", job.segment_bytes,
              "Segment size of larger buckets (default: 2 MiB between ranks that share memory, "
              "otherwise no segments)")
      .range(1, std::int64_t{1} << 40);
  add_choice<collective::Algorithm>(verb, "--algorithm", arguments.algorithm,
                                    "All-reduce algorithm");
  add_choice<BenchTransport>(
      verb, "--transport", arguments.transport,
      "Transport; shm: shared memory; zmq: sockets; inproc: threads of one process");
  verb.option("--engine", arguments.engine,
              "Collectives library; own: Trainyard's collectives; gloo: Gloo over TCP (default: " +
                  arguments.engine + ")")
      .one_of({"own", "gloo"});  // the ranks of a bench are on CPUs
  add_choice<base::Reduction>(verb, "--reduction", arguments.reduction,
                              "Reduction operation over the numbers of all ranks");
  verb.flag("--bind", job.bind, "Pin each process to a core, as mpirun does");
  verb.option("--repeat", job.repeat, "Number of timed repeats (default: 20)").range(1, 1'000'000);
  verb.json_flag(arguments.json);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli bench allreduce --ranks 2 --bytes 67108864\n"
      "  trainyard-cli bench allreduce --ranks 4 --bytes 1000000 --algorithm direct --transport "
      "zmq --json\n"
      "  trainyard-cli bench allreduce --ranks 4 --bytes 1000000 --engine gloo --reduction mean");
}

}  // namespace

void add_bench(Verb& program) {
  Verb verb = program.add_verb("bench", "Measure this machine with the code of real runs");
  verb.require_verb();
  verb.examples(
      "Examples:\n  trainyard-cli bench allreduce --ranks 2 --bytes 67108864 --repeat 50");
  add_allreduce(verb);
  add_bench_rank(program);
}

}  // namespace trainyard::cli
