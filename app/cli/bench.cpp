// SPDX-License-Identifier: GPL-3.0-or-later
// bench allreduce: times the product's own all-reduce between real ranks: processes, or threads for inproc.
#include <algorithm>
#include <cstdio>

#include "app/cli/bench_allreduce.h"
#include "app/cli/verbs.h"
#include "core/base/units.h"

namespace trainyard::cli {
namespace {

// A repeat lasts from the first rank's begin to the last rank's end: all are on one clock.
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
  base::Json json{{"type", "result"}, {"status", "completed"}, {"algorithm", base::name_of(job.algorithm)}, {"transport", base::name_of(job.transport)},
                  {"engine", "own"},  {"ranks", job.ranks}};
  json["bytes"] = job.elements() * 4;
  json["repeat"] = job.repeat;
  json["seconds"] = {{"median", median}, {"min", seconds.front()}, {"max", seconds.back()}};
  json["algorithm_bandwidth_bytes_per_second"] = bandwidth;
  json["bus_bandwidth_bytes_per_second"] = bandwidth * 2 * (n - 1) / n;
  json["wire_bytes_per_rank"] = base::Json::array();
  for (const BenchTimes& rank : all) json["wire_bytes_per_rank"].push_back(rank.sent_payload_bytes);
  return json;
}

void print(const base::Json& r) {
  const auto seconds = [&](const char* which) { return base::format_seconds(r["seconds"][which].get<double>()); };
  std::printf("all-reduce of %s over %s ranks, %s, %s: sums verified\n", base::format_bytes(r["bytes"].get<double>()).c_str(), r["ranks"].dump().c_str(),
              r["algorithm"].get<std::string>().c_str(), r["transport"].get<std::string>().c_str());
  std::printf("  time                 %s median, %s min, %s max of %s\n", seconds("median").c_str(), seconds("min").c_str(), seconds("max").c_str(),
              r["repeat"].dump().c_str());
  std::printf("  algorithm bandwidth  %s\n", base::with_unit(r["algorithm_bandwidth_bytes_per_second"].get<double>(), "B/s").c_str());
  std::printf("  bus bandwidth        %s\n", base::with_unit(r["bus_bandwidth_bytes_per_second"].get<double>(), "B/s").c_str());
  std::printf("  sent by rank 0       %s\n", base::format_bytes(r["wire_bytes_per_rank"][0].get<double>()).c_str());
}

int run(const BenchJob& job, bool json) {
  const auto all = measure_allreduce(job);
  if (!all) return complain({all.error()}, json);
  if (json) print_json(result(job, *all));
  else print(result(job, *all));
  return 0;
}

template <class Enum>
CLI::Option* add_choice(CLI::App& verb, const std::string& name, Enum& value, const std::string& help) {
  std::map<std::string, Enum> names;
  for (const auto& [candidate, word] : base::Names<Enum>::table) names.emplace(word, candidate);
  return verb
      .add_option_function<std::string>(
          name, [&value, names](const std::string& word) { value = names.at(word); }, help + " (default: " + std::string(base::name_of(value)) + ")")
      ->check(CLI::IsMember(base::all_names<Enum>()));
}

struct BenchArguments {
  BenchJob job;
  std::string engine = "own";
  bool json = false;
};

void add_allreduce(CLI::App& bench, int& exit_code) {
  auto arguments = std::make_shared<BenchArguments>();
  BenchJob& job = arguments->job;
  CLI::App* verb = bench.add_subcommand("allreduce", "Time an all-reduce between real ranks of this machine");
  verb->add_option("--ranks", job.ranks, "Ranks that take part")->required()->check(CLI::Range(1, 256));
  verb->add_option("--bytes", job.bytes, "Size of the buffer that is summed: fp32 numbers, as many as fit whole")
      ->required()
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 40));
  verb->add_option("--bucket-bytes", job.bucket_bytes, "Reduce the buffer in buckets of this size (default: as one)")->check(CLI::PositiveNumber);
  add_choice(*verb, "--algorithm", job.algorithm, "All-reduce algorithm");
  add_choice(*verb, "--transport", job.transport, "How bytes travel: shared memory, sockets, or threads of one process");
  verb->add_option("--engine", arguments->engine, "Whose collectives: Trainyard's own")->check(CLI::IsMember({"own"}));
  verb->add_option("--repeat", job.repeat, "Timed repeats (default: 20)")->check(CLI::Range(1, 1'000'000));
  verb->add_flag("--json", arguments->json, "Print NDJSON on standard output; the last line is the result");
  verb->footer(
      "Examples:\n"
      "  trainyard-cli bench allreduce --ranks 2 --bytes 67108864\n"
      "  trainyard-cli bench allreduce --ranks 4 --bytes 1000000 --algorithm direct --transport zmq --json");
  verb->callback([arguments, &exit_code] { exit_code = run(arguments->job, arguments->json); });
}

}  // namespace

void add_bench(CLI::App& program, int& exit_code) {
  CLI::App* verb = program.add_subcommand("bench", "Measure this machine with the product's own code");
  verb->require_subcommand(1);
  verb->footer("Examples:\n  trainyard-cli bench allreduce --ranks 2 --bytes 67108864 --repeat 50");
  add_allreduce(*verb, exit_code);
  add_bench_rank(program, exit_code);
}

}  // namespace trainyard::cli
